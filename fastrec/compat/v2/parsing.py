# SPDX-License-Identifier: Apache-2.0
"""Examples and SequenceExamples into tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._tf.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from .._tf.parsers import Parsers
from .._tf.tensor import convert_to_tensor
from .._tf.trace import Op, run

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


def _applied(op: Op, inputs: Sequence[Any], _: str | None) -> Sequence[Any]:
    found = run(op, inputs)
    return found if isinstance(found, tuple) else (found,)


_PARSERS = Parsers(_applied, convert_to_tensor)


def parse_single_example(
    serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> dict[Any, Any]:
    """One Example as tensors, by feature."""
    return _PARSERS.single_example(serialized, features)


def parse_example(
    serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> dict[Any, Any]:
    """Examples as tensors, by feature; a scalar is a single one."""
    return _PARSERS.example(serialized, features, example_names)


def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """One SequenceExample as tensors: those of its context, and those of its feature lists."""
    context, lists, _ = _PARSERS.sequence(
        serialized, context_features, sequence_features, example_name, single=True
    )
    return context, lists


def parse_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[Any, Any], dict[Any, Any], dict[Any, Any]]:
    """SequenceExamples as tensors: of contexts, of feature lists, and how long these are."""
    context, lists, lengths = _PARSERS.sequence(
        serialized, context_features, sequence_features, example_names, single=False
    )
    return context, lists, lengths
