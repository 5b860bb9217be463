# SPDX-License-Identifier: Apache-2.0
"""``tf.io``: what reads and writes files and records."""

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
from .file_ops import match_filenames_once as match_filenames_once
from .file_ops import matching_files as matching_files
from .file_ops import read_file as read_file
from .file_ops import write_file as write_file
from .parsing_ops import FixedLenFeature as FixedLenFeature
from .parsing_ops import FixedLenSequenceFeature as FixedLenSequenceFeature
from .parsing_ops import RaggedFeature as RaggedFeature
from .parsing_ops import SparseFeature as SparseFeature
from .parsing_ops import VarLenFeature as VarLenFeature
from .parsing_ops import decode_json_example as decode_json_example
from .parsing_ops import parse_example as parse_example
from .parsing_ops import parse_sequence_example as parse_sequence_example
from .parsing_ops import parse_single_example as parse_single_example
from .parsing_ops import parse_single_sequence_example as parse_single_sequence_example
from .parsing_ops import parse_tensor as parse_tensor
from .parsing_ops import serialize_tensor as serialize_tensor
from .queue_base import QueueBase as QueueBase
from .queues import FIFOQueue as FIFOQueue
from .queues import PaddingFIFOQueue as PaddingFIFOQueue
from .queues import PriorityQueue as PriorityQueue
from .queues import RandomShuffleQueue as RandomShuffleQueue
from .string_ops import decode_base64 as decode_base64
from .string_ops import decode_compressed as decode_compressed
from .string_ops import encode_base64 as encode_base64

_IMAGES = _functions_of(_ImageCodecs(_GRAPHS))
globals().update(_IMAGES)


def __getattr__(name: str) -> Any:
    raise uncovered("v1", "io", name)
