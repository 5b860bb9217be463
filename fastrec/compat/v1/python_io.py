# SPDX-License-Identifier: Apache-2.0
"""``tf.python_io``: record files, without a graph."""

from __future__ import annotations

from typing import Any

from .._tf.records import TFRecordCompressionType as TFRecordCompressionType
from .._tf.records import TFRecordOptions as TFRecordOptions
from .._tf.records import TFRecordWriter as TFRecordWriter
from .._tf.records import tf_record_iterator as tf_record_iterator
from .._tf.uncovered import uncovered


def __getattr__(name: str) -> Any:
    raise uncovered("v1", "python_io", name)
