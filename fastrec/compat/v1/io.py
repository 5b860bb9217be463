# SPDX-License-Identifier: Apache-2.0
"""``tf.io``: what reads and writes files and records."""

from __future__ import annotations

from typing import Any

from .._tf import gfile as gfile
from .._tf.records import TFRecordCompressionType as TFRecordCompressionType
from .._tf.records import TFRecordOptions as TFRecordOptions
from .._tf.records import TFRecordWriter as TFRecordWriter
from .._tf.records import tf_record_iterator as tf_record_iterator
from . import _missing
from ._faces import codecs as _codecs
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
from .raw_ops import decode_csv as decode_csv
from .raw_ops import decode_raw as decode_raw
from .shared_ops import operations
from .string_ops import decode_base64 as decode_base64
from .string_ops import encode_base64 as encode_base64

decode_and_crop_jpeg = _codecs.decode_and_crop_jpeg
decode_bmp = _codecs.decode_bmp
decode_gif = _codecs.decode_gif
decode_image = _codecs.decode_image
decode_jpeg = _codecs.decode_jpeg
decode_png = _codecs.decode_png
encode_jpeg = _codecs.encode_jpeg
encode_png = _codecs.encode_png
extract_jpeg_shape = _codecs.extract_jpeg_shape
is_jpeg = _codecs.is_jpeg
decode_compressed = operations.decode_compressed


def __getattr__(name: str) -> Any:
    raise _missing.error("io", name)
