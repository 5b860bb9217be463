# SPDX-License-Identifier: Apache-2.0
"""Examples and SequenceExamples into tensors."""

from __future__ import annotations

from .._tf.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from ._faces import parsers

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "VarLenFeature",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
]

parse_example = parsers.parse_example
parse_single_example = parsers.parse_single_example
parse_sequence_example = parsers.parse_sequence_example
parse_single_sequence_example = parsers.parse_single_sequence_example
