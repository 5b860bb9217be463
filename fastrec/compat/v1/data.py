# SPDX-License-Identifier: Apache-2.0
"""``tf.data``: datasets that a graph defines."""

from __future__ import annotations

from typing import Any

from .._tf.data.options import Options, ThreadingOptions
from .._tf.data.pipeline import INFINITE, UNKNOWN
from .._tf.specs import RaggedTensorSpec, SparseTensorSpec, TensorSpec, TypeSpec
from .._tf.uncovered import uncovered
from . import data_experimental as experimental
from ._dataset_methods import Dataset
from ._datasets import AUTOTUNE
from ._file_datasets import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from .iterators import Iterator

__path__: list[str] = []  # submodules are attributes, not files

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "FixedLengthRecordDataset",
    "Iterator",
    "Options",
    "RaggedTensorSpec",
    "SparseTensorSpec",
    "TFRecordDataset",
    "TensorSpec",
    "TextLineDataset",
    "ThreadingOptions",
    "TypeSpec",
    "experimental",
    "get_output_classes",
    "get_output_shapes",
    "get_output_types",
    "make_initializable_iterator",
    "make_one_shot_iterator",
]

INFINITE_CARDINALITY = INFINITE
UNKNOWN_CARDINALITY = UNKNOWN


def make_one_shot_iterator(dataset: Any) -> Iterator:
    """Return an iterator over `dataset` that needs no initialization."""
    found: Iterator = dataset.make_one_shot_iterator()
    return found


def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> Iterator:
    """Return an iterator over `dataset` that each run of its ``initializer`` restarts."""
    found: Iterator = dataset.make_initializable_iterator(shared_name)
    return found


def get_output_types(dataset_or_iterator: Any) -> Any:
    """Return the types of the components of an element."""
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """Return the shapes of the components of an element."""
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """Return the classes of the components of an element."""
    return dataset_or_iterator.output_classes


def __getattr__(name: str) -> Any:
    raise uncovered("v1", "data", name)
