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

from ._core import crc32c, crc32c_implementation, masked_crc32c
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
    "Augment",
    "Batcher",
    "Batches",
    "BlockShuffle",
    "Buckets",
    "Bytes",
    "CorruptRecordError",
    "ExampleParseError",
    "FastrecError",
    "FileReport",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "ImageFeature",
    "Index",
    "IndexMismatchError",
    "LimitExceededError",
    "Manifest",
    "ManifestFile",
    "MissingRecordsError",
    "Mixture",
    "Ragged",
    "RaggedFeature",
    "RandomAccessError",
    "RawFeature",
    "Reader",
    "Repaired",
    "ShuffleBuffer",
    "Skipped",
    "Sparse",
    "SparseFeature",
    "TruncatedFileError",
    "VarLenFeature",
    "Verified",
    "Writer",
    "count",
    "crc32c",
    "crc32c_implementation",
    "decode_raw",
    "encode_example",
    "encode_examples",
    "encode_sequence_example",
    "find_shard",
    "infer_features",
    "masked_crc32c",
    "pad",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "repair",
    "verify",
]

if TYPE_CHECKING:
    from . import image as image
    from . import train as train
    from .arrays import Arrays, Bytes, Ragged, Sparse
    from .augment import Augment
    from .batcher import Batcher
    from .batches import Batches
    from .checking import FileReport, Repaired, Verified, count, repair, verify
    from .damage import Skipped
    from .examples import (
        encode_example,
        encode_examples,
        encode_sequence_example,
        parse_example,
        parse_single_example,
    )
    from .features import (
        FixedLenFeature,
        FixedLenSequenceFeature,
        RaggedFeature,
        RawFeature,
        SparseFeature,
        VarLenFeature,
    )
    from .index import Index
    from .infer import infer_features
    from .manifest import Manifest, ManifestFile
    from .mixture import Mixture
    from .padding import Buckets, pad
    from .pictures import ImageFeature
    from .raw import decode_raw
    from .records import Reader
    from .sequences import parse_sequence_example, parse_single_sequence_example
    from .shards import find_shard
    from .shuffle import BlockShuffle, ShuffleBuffer
    from .writing import Writer

# Imported when they are first asked for; whoever only writes does without what reads.
_HOMES: dict[str, tuple[str, ...]] = {
    "arrays": ("Arrays", "Bytes", "Ragged", "Sparse"),
    "augment": ("Augment",),
    "batcher": ("Batcher",),
    "batches": ("Batches",),
    "checking": ("FileReport", "Repaired", "Verified", "count", "repair", "verify"),
    "damage": ("Skipped",),
    "examples": (
        "encode_example",
        "encode_examples",
        "encode_sequence_example",
        "parse_example",
        "parse_single_example",
    ),
    "features": (
        "FixedLenFeature",
        "FixedLenSequenceFeature",
        "RaggedFeature",
        "RawFeature",
        "SparseFeature",
        "VarLenFeature",
    ),
    "index": ("Index",),
    "infer": ("infer_features",),
    "manifest": ("Manifest", "ManifestFile"),
    "mixture": ("Mixture",),
    "padding": ("Buckets", "pad"),
    "pictures": ("ImageFeature",),
    "raw": ("decode_raw",),
    "records": ("Reader",),
    "sequences": ("parse_sequence_example", "parse_single_sequence_example"),
    "shards": ("find_shard",),
    "shuffle": ("BlockShuffle", "ShuffleBuffer"),
    "writing": ("Writer",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name in ("image", "train"):
        return importlib.import_module(f".{name}", __name__)
    if name not in _HOME_OF:
        text = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(text, name=name, obj=sys.modules[__name__])  # "Did you mean ...?"
    value = getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, "errors", "image", "train", *filter(_is_special, globals())})


def _is_special(name: str) -> bool:
    return name.startswith("__")
