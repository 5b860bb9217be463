# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""``tf.io``: read and write files and records."""

from __future__ import annotations

from typing import Any

from .._tf import gfile as gfile
from .._tf.faces import functions_of as _functions_of
from .._tf.faces.codecs import ImageCodecs as _ImageCodecs
from .._tf.records import TFRecordCompressionType as TFRecordCompressionType
from .._tf.records import TFRecordOptions as TFRecordOptions
from .._tf.records import TFRecordWriter as TFRecordWriter
from .._tf.records import tf_record_iterator as tf_record_iterator
from .._tf.uncovered import uncovered
from ._ops import GRAPHS as _GRAPHS
from .decode_ops import decode_csv as decode_csv
from .decode_ops import decode_raw as decode_raw
from .file_ops import *
from .parsing_ops import *
from .queues import *
from .string_ops import encodings as _encodings

__path__: list[str] = []  # submodules are attributes, not files

_IMAGES = _functions_of(_ImageCodecs(_GRAPHS))
globals().update(_IMAGES | _functions_of(_encodings))


def __getattr__(name: str) -> Any:
    raise uncovered("v1", "io", name)
