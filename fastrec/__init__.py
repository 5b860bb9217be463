# SPDX-License-Identifier: Apache-2.0
"""Write, check, read, parse, shuffle and batch TFRecord files, without TensorFlow.

>>> import numpy as np, fastrec, os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "train.tfrecord")
>>> with fastrec.Writer(path) as writer:
...     writer.write_batch({"x": np.arange(6, dtype=np.float32).reshape(3, 2), "y": [0, 1, 0]})
>>> for batch in fastrec.Batcher(path, fastrec.infer_features(path), batch_size=2):
...     print(batch["x"].tolist(), batch["y"].tolist())
[[0.0, 1.0], [2.0, 3.0]] [0, 1]
[[4.0, 5.0]] [0]
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

try:
    from ._core import crc32c, crc32c_implementation, masked_crc32c
except ModuleNotFoundError as _error:
    if _error.name != "fastrec._core":
        raise
    raise ImportError(
        f"the extension of fastrec is not built for this Python in {__path__[0]!r}. If that is a "
        "checkout, it hides an installed fastrec: run `pip install -e .` there, or start Python in "
        "another directory",
        name=_error.name,
    ) from None
from .errors import (
    CorruptRecordError,
    ExampleParseError,
    FastrecError,
    IndexMismatchError,
    LimitExceededError,
    MissingRecordsError,
    RandomAccessError,
    TruncatedFileError,
)

__version__ = "0.1.0"

__all__ = [
    "Arrays",
    "AudioFeature",
    "Augment",
    "Batcher",
    "Batches",
    "BlockShuffle",
    "Buckets",
    "Bytes",
    "Converted",
    "CorruptRecordError",
    "DatasetIndex",
    "ExampleParseError",
    "FastrecError",
    "FileRange",
    "FileReport",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "Headroom",
    "ImageFeature",
    "Index",
    "IndexMismatchError",
    "JsonFeature",
    "LimitExceededError",
    "Manifest",
    "ManifestFile",
    "MissingRecordsError",
    "Mixture",
    "Packing",
    "Ragged",
    "RaggedFeature",
    "RandomAccessError",
    "RawFeature",
    "Reader",
    "Repaired",
    "Report",
    "Resharded",
    "SequenceFeatures",
    "ShuffleBuffer",
    "Skipped",
    "Sparse",
    "SparseFeature",
    "Split",
    "StorageOptions",
    "TruncatedFileError",
    "VarLenFeature",
    "Verified",
    "VideoFeature",
    "Writer",
    "convert",
    "count",
    "crc32c",
    "crc32c_implementation",
    "decode_raw",
    "encode_example",
    "encode_examples",
    "encode_sequence_example",
    "file_ranges",
    "find_shard",
    "headroom",
    "infer_features",
    "masked_crc32c",
    "pad",
    "parse_example",
    "parse_many",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "repair",
    "reshard",
    "show_versions",
    "verify",
]

if TYPE_CHECKING:
    from . import arrow as arrow
    from . import beam as beam
    from . import events as events
    from . import grain as grain
    from . import huggingface as huggingface
    from . import image as image
    from . import jax as jax
    from . import keras as keras
    from . import metrics as metrics
    from . import ray as ray
    from . import spark as spark
    from . import tables as tables
    from . import tensorflow as tensorflow
    from . import tfds as tfds
    from . import torch as torch
    from . import train as train
    from .batches.batcher import Batcher
    from .batches.block_shuffle import BlockShuffle
    from .batches.buckets import Buckets, pad
    from .batches.headroom import Headroom, headroom
    from .batches.iterator import Batches
    from .batches.mixture import Mixture
    from .batches.packing import Packing
    from .batches.report import Report
    from .batches.selection import Split
    from .batches.shard import find_shard
    from .batches.shuffle_buffer import ShuffleBuffer
    from .bench.versions import show_versions
    from .columns import Arrays, Bytes, Ragged, Sparse
    from .encoding.encode import encode_example, encode_examples, encode_sequence_example
    from .encoding.writer import Writer
    from .features.audio import AudioFeature
    from .features.image import ImageFeature
    from .features.json_values import JsonFeature
    from .features.spec import (
        FixedLenFeature,
        FixedLenSequenceFeature,
        RaggedFeature,
        RawFeature,
        SequenceFeatures,
        SparseFeature,
        VarLenFeature,
    )
    from .features.video import VideoFeature
    from .images.augment import Augment
    from .parsing.by_number import parse_many
    from .parsing.decode_raw import decode_raw
    from .parsing.infer import infer_features
    from .parsing.parse import parse_example, parse_single_example
    from .parsing.sequence import parse_sequence_example, parse_single_sequence_example
    from .records.dataset_index import DatasetIndex
    from .records.index import Index
    from .records.manifest import Manifest, ManifestFile
    from .records.reader import Reader
    from .records.recovery import Skipped
    from .records.reshard import reshard
    from .records.shard_layout import Resharded
    from .records.splitting import FileRange, file_ranges
    from .records.verify import FileReport, Repaired, Verified, count, repair, verify
    from .storage.options import StorageOptions
    from .tables.convert import Converted, convert

# Imported on first use, so that a program that only writes does not load the readers.
_HOMES: dict[str, tuple[str, ...]] = {
    "tables.convert": ("Converted", "convert"),
    "columns": ("Arrays", "Bytes", "Ragged", "Sparse"),
    "images.augment": ("Augment",),
    "batches.batcher": ("Batcher",),
    "batches.headroom": ("Headroom", "headroom"),
    "batches.iterator": ("Batches",),
    "batches.report": ("Report",),
    "records.verify": ("FileReport", "Repaired", "Verified", "count", "repair", "verify"),
    "records.recovery": ("Skipped",),
    "records.reshard": ("reshard",),
    "records.shard_layout": ("Resharded",),
    "records.splitting": ("FileRange", "file_ranges"),
    "storage.options": ("StorageOptions",),
    "parsing.by_number": ("parse_many",),
    "parsing.parse": ("parse_example", "parse_single_example"),
    "features.spec": (
        "FixedLenFeature",
        "FixedLenSequenceFeature",
        "RaggedFeature",
        "RawFeature",
        "SequenceFeatures",
        "SparseFeature",
        "VarLenFeature",
    ),
    "records.dataset_index": ("DatasetIndex",),
    "records.index": ("Index",),
    "parsing.infer": ("infer_features",),
    "records.manifest": ("Manifest", "ManifestFile"),
    "batches.mixture": ("Mixture",),
    "batches.packing": ("Packing",),
    "batches.selection": ("Split",),
    "batches.buckets": ("Buckets", "pad"),
    "features.audio": ("AudioFeature",),
    "features.image": ("ImageFeature",),
    "features.json_values": ("JsonFeature",),
    "features.video": ("VideoFeature",),
    "parsing.decode_raw": ("decode_raw",),
    "records.reader": ("Reader",),
    "parsing.sequence": ("parse_sequence_example", "parse_single_sequence_example"),
    "batches.shard": ("find_shard",),
    "batches.block_shuffle": ("BlockShuffle",),
    "batches.shuffle_buffer": ("ShuffleBuffer",),
    "encoding.encode": ("encode_example", "encode_examples", "encode_sequence_example"),
    "encoding.writer": ("Writer",),
    "bench.versions": ("show_versions",),
}
# Modules that are imported when they are first asked for.
_MODULES = ("arrow", "events", "image", "metrics", "tables", "tfds", "train")
# Each requires what it is for.
_FRAMEWORKS = (
    "beam", "grain", "huggingface", "jax", "keras", "ray", "spark", "tensorflow", "torch",
)  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name in _MODULES or name in _FRAMEWORKS:
        return importlib.import_module(f".{name}", __name__)
    if name not in _HOME_OF:
        text = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(text, name=name, obj=sys.modules[__name__])  # "Did you mean ...?"
    value = getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, "errors", *_MODULES, *filter(_is_special, globals())})


def _is_special(name: str) -> bool:
    return name.startswith("__")
