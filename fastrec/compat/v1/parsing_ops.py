# SPDX-License-Identifier: Apache-2.0
"""Parse Examples and SequenceExamples to tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from .._tf.dtypes import string
from .._tf.faces.parsing import Parsers
from .._tf.ops import Op
from ._composites import applied
from ._nodes import Tensor
from ._ops import GRAPHS
from .constants import convert_to_tensor


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


parsers: Final = _GraphParsers(GRAPHS)


def decode_raw(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
    *,
    fixed_length: int | None = None,
) -> Tensor:
    """Decode bytes as the elements of arrays, which adds one dimension."""
    if out_type is None:
        raise ValueError("decode_raw_v1() missing 1 positional argument: 'out_type'")
    given = bytes if input_bytes is None else input_bytes
    found: Tensor = parsers.decode_raw(given, out_type, little_endian, fixed_length, name)
    return found
