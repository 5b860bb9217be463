# SPDX-License-Identifier: Apache-2.0
"""The functions of the ``tfrecord`` package, with checks and several times the speed.

``import fastrec.compat.tfrecord as tfrecord`` replaces ``import tfrecord``. docs/compat-tfrecord.md
lists the differences and their reasons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import iterator_utils, reader, tools, writer
from .iterator_utils import cycle, sample_iterators, shuffle_iterator
from .reader import (
    example_loader,
    extract_feature_dict,
    multi_tfrecord_loader,
    process_feature,
    sequence_loader,
    tfrecord_iterator,
    tfrecord_loader,
)
from .writer import TFRecordWriter

if TYPE_CHECKING:
    from . import example_pb2 as example_pb2
    from . import torch as torch

__all__ = [
    "TFRecordWriter",
    "cycle",
    "example_loader",
    "extract_feature_dict",
    "iterator_utils",
    "multi_tfrecord_loader",
    "process_feature",
    "reader",
    "sample_iterators",
    "sequence_loader",
    "shuffle_iterator",
    "tfrecord_iterator",
    "tfrecord_loader",
    "tools",
    "writer",
]


def __getattr__(name: str) -> object:
    if name in ("example_pb2", "torch"):  # protobuf and PyTorch are imported on use
        import importlib

        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}; it covers what the tfrecord package "
        "documents, see docs/compat-tfrecord.md"
    )
