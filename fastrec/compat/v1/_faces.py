# SPDX-License-Identifier: Apache-2.0
"""The functions of each topic that version 2 has, too; here they add operations to graphs."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

from .._tf.faces import functions_of, in_order, topic
from .._tf.faces.images import Images
from ._composites import RaggedTensor
from ._ops import GRAPHS
from .array_ops import (
    activations,
    arrays,
    bitwise,
    math,
    matrices,
    ordering,
    picking,
    pixels,
    products,
    reductions,
    segments,
)
from .composite_ops import ragged_functions as ragged
from .composite_ops import sparse_functions as sparse
from .string_ops import encodings, parsers, strings

__all__ = [
    "activations",
    "arrays",
    "bitwise",
    "encodings",
    "images",
    "math",
    "matrices",
    "ordering",
    "parsers",
    "picking",
    "pixels",
    "products",
    "ragged",
    "reductions",
    "segments",
    "sparse",
    "strings",
]

# Parameters that differ from those of version 2.
_ORDERS = {
    "assert_all_finite": "t=x msg=message name x message",
    "confusion_matrix": "labels predictions num_classes dtype name weights",
    "extract_patches": "images ksizes=sizes strides rates padding name",
    "in_top_k": "predictions targets k name",
    "to_hash_bucket": "string_tensor=input num_buckets name",
}
_REST = ("data", "summarize", "message", "name")  # the last parameters of a check


class _Images(Images):
    """Image functions with version 1's arguments."""

    _orders: ClassVar[dict[str, str]] = {
        "crop_and_resize": "image boxes box_ind=box_indices crop_size method extrapolation_value "
        "name",
        "draw_bounding_boxes": "images boxes name colors",
    }


images = _Images(GRAPHS)


def _as_before(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the parameters of version 1."""
    order, known = _ORDERS.get(function.__name__), inspect.signature(function).parameters
    if order is None and set(_REST) <= set(known):
        order = " ".join([*(name for name in known if name not in _REST), *_REST])
    return function if order is None else in_order(function, order)


@functools.cache
def __getattr__(name: str) -> Any:
    if name == "keras":
        from .._tf.keras import Backend

        return Backend(sys.modules[__package__])
    if name == "experimental":
        from .._tf.data.experimental import Experimental
        from ._datasets import CsvDataset, Dataset, TFRecordDataset, adapted

        kinds = Dataset, TFRecordDataset, CsvDataset
        return Experimental(*kinds, parsers.parse_example, Dataset._made, adapted)
    functions = functions_of(topic(name, GRAPHS, RaggedTensor))
    return SimpleNamespace(**{name: _as_before(each) for name, each in functions.items()})
