# SPDX-License-Identifier: Apache-2.0
"""``tf.data``: eager datasets over ndarrays."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .._tf.data.dataset import AUTOTUNE, Dataset
from .._tf.data.file_datasets import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from .._tf.data.iterating import DatasetIterator
from .._tf.data.options import Options, ThreadingOptions
from .._tf.data.pipeline import INFINITE, UNKNOWN, set_lowering
from .._tf.specs import DatasetSpec, RaggedTensorSpec, SparseTensorSpec, TensorSpec, TypeSpec
from .._tf.uncovered import uncovered

__path__: list[str] = []  # submodules are attributes, not files

if TYPE_CHECKING:
    from . import data_experimental as experimental

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetSpec",
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
    "set_lowering",
]

INFINITE_CARDINALITY = INFINITE
UNKNOWN_CARDINALITY = UNKNOWN
Iterator = DatasetIterator


def __getattr__(name: str) -> Any:
    if name == "experimental":  # imported on first use
        return importlib.import_module(".data_experimental", __package__)
    raise uncovered("v2", "data", name)
