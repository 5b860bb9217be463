# SPDX-License-Identifier: Apache-2.0
"""Parse Examples and SequenceExamples to tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .._tf.dtypes import string
from .._tf.faces.parsing import Parsers
from .._tf.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from .._tf.ops import Op
from ._composites import applied
from ._nodes import Tensor
from ._ops import GRAPHS
from .constants import convert_to_tensor

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "VarLenFeature",
    "decode_json_example",
    "deserialize_many_sparse",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
]


class _GraphParsers(Parsers):
    """Parsers for graphs, where composite tensors consist of several tensors."""

    _orders: ClassVar[dict[str, str]] = {
        "decode_csv": "records record_defaults field_delim use_quote_delim name na_value "
        "select_cols",
        "parse_example": "serialized features name example_names",
        "parse_single_example": "serialized features name example_names",
    }

    def _outputs(
        self, op: Op, inputs: Sequence[Any], name: str | None, **attributes: Any
    ) -> Sequence[Any]:
        return applied(op, inputs, name or op.name, **attributes)

    def _serialized(self, value: Any) -> Tensor:
        tensor = convert_to_tensor(value, name="serialized")
        if tensor.dtype is not string:
            raise TypeError(
                f"Input 'serialized' of 'ParseExampleV2' Op has type {tensor.dtype.name} that does "
                f"not match expected type of string."
            )
        return tensor


parsers = _GraphParsers(GRAPHS)
decode_json_example = parsers.decode_json_example
deserialize_many_sparse = parsers.deserialize_many_sparse
parse_example = parsers.parse_example
parse_sequence_example = parsers.parse_sequence_example
parse_single_example = parsers.parse_single_example
parse_single_sequence_example = parsers.parse_single_sequence_example
parse_tensor = parsers.parse_tensor
serialize_many_sparse = parsers.serialize_many_sparse
serialize_sparse = parsers.serialize_sparse
serialize_tensor = parsers.serialize_tensor
