# SPDX-License-Identifier: Apache-2.0
"""Methods of version 1's datasets that equal those of version 2, for tensors and a graph."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .._tf.data import dataset as _base
from .._tf.data.chaining import Chain
from .._tf.data.functions import DatasetSignature
from .._tf.data.interleaving import Interleave
from .._tf.data.pipeline import Node
from .._tf.specs import TypeSpec
from ._datasets import Dataset, adapted
from ._functions import GraphFunction

__all__ = ["Dataset"]

_FUNCTIONS = (
    "map_func",
    "predicate",
    "element_length_func",
    "key_func",
    "reduce_func",
    "scan_func",
    "window_size_func",
    "cond",
    "class_func",
)


def _method(name: str) -> Callable[..., Dataset]:
    """Return a method of version 1's datasets that calls the method of the underlying dataset."""
    below = getattr(Chain, name)
    signature = inspect.signature(below)

    @functools.wraps(below)
    def method(self: Dataset, *arguments: Any, **named: Any) -> Dataset:
        bound = signature.bind(self, *arguments, **named).arguments
        bound.pop("self")
        given = {k: adapted(v) if k in _FUNCTIONS else v for k, v in bound.items()}

        def make(dataset: _base.Dataset, /, **resolved: Any) -> _base.Dataset:
            made: _base.Dataset = getattr(dataset, name)(**resolved)
            if isinstance(made._node, Interleave):
                _declare(made._node, dataset._node, given["map_func"])
            return made

        return Dataset._made(make, self, **given)

    return method


def _declare(node: Interleave, before: Node, function: GraphFunction) -> None:
    """Tell `node` the signature of the datasets that the graph of its function describes."""
    if node.known is None and all(isinstance(spec, TypeSpec) for spec in before.specs):
        dataset = function.sampled(before.structure, before.specs)
        if not isinstance(dataset, Dataset):
            raise TypeError("`map_func` must return a `Dataset` object.")
        node.known = DatasetSignature.of(dataset._node)


for _name in (
    "batch", "bucket_by_sequence_length", "cache", "concatenate", "enumerate", "filter",
    "flat_map", "group_by_window", "ignore_errors", "interleave", "map", "padded_batch",
    "prefetch", "ragged_batch", "rebatch", "rejection_resample", "repeat", "scan", "shard",
    "shuffle", "skip", "sparse_batch",
    "take", "take_while", "unbatch", "unique", "window",
):  # fmt: skip
    setattr(Dataset, _name, _method(_name))


def _static(name: str) -> Any:
    below = getattr(_base.Dataset, name)

    @functools.wraps(below)
    def made(*arguments: Any, **named: Any) -> Dataset:
        return Dataset._made(below, *arguments, **named)

    return staticmethod(made)


for _name in ("choose_from_datasets", "counter", "random", "sample_from_datasets"):
    setattr(Dataset, _name, _static(_name))
