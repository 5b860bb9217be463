# SPDX-License-Identifier: Apache-2.0
"""Split, join, match and convert strings, and parse Examples and SequenceExamples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from .._tf.dtypes import int64, string
from .._tf.faces.parsing import Parsers
from .._tf.faces.strings import Encodings, Strings
from .._tf.ops import Array, Op
from .._tf.ops.cutting import SPLIT, Cut
from .._tf.ops.ragged_forms import SPARSE_PARTS
from ._composites import RaggedTensor, SparseTensor, applied
from ._nodes import Tensor, operators
from ._ops import GRAPHS, pure, record_all
from .constants import convert_to_tensor


class _Strings(Strings):
    """String functions with version 1's arguments."""

    _orders: ClassVar[dict[str, str]] = {
        "length": "input name unit",
        "reduce_join": "inputs axis keep_dims=keepdims separator name reduction_indices=axis",
        "substr": "input pos len name unit",
        "to_number": "string_tensor=input out_type name",
    }

    def split(
        self,
        input: Any = None,
        sep: Any = None,
        maxsplit: int = -1,
        result_type: str = "SparseTensor",
        source: Any = None,
        name: str | None = None,
    ) -> Any:
        """Split each string at every `sep`, or at white space."""
        given = source if input is None else input
        strings = given if isinstance(given, RaggedTensor) else convert_to_tensor(given, string)
        if strings.shape.ndims is None:
            raise ValueError("Rank of input must be known.")
        if strings.shape.ndims == 0:
            strings = operators["stack"]([strings], string, None)
        marks = convert_to_tensor("" if sep is None else sep, string)
        split = Cut(most=maxsplit)
        return _of_result_type(_split_all(strings, marks, split, name), result_type)


def string_split(
    source: Any = None,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """Split each string at any of the characters of `delimiter`; each string becomes a row.

    An empty delimiter splits between all bytes.
    """
    chosen = delimiter if sep is None else sep
    marks = convert_to_tensor(" " if chosen is None else chosen, string)
    if marks.shape.ndims not in (0, None):
        raise ValueError(
            f"delimiter must be a scalar. Received: rank {marks.shape.ndims} for 'StringSplit'"
        )

    split = Cut(any_of=True, skip_empty=skip_empty)
    found = _split("StringSplit", convert_to_tensor(source, string), marks, split, name)
    return _of_result_type(found, result_type)


def _split_all(strings: Any, marks: Tensor, split: Cut, name: str | None) -> RaggedTensor:
    """Split each string; the parts form rows with an additional dimension."""
    if isinstance(strings, RaggedTensor):
        return strings.with_flat_values(_split_all(strings.flat_values, marks, split, name))
    if strings.shape.ndims == 1:
        return _split("StringSplitV2", strings, marks, split, name)

    def rows_of(values: Array) -> Any:
        return np.arange(len(values) + 1, dtype=np.int64) * values.shape[1]

    def joined(values: Any) -> Any:
        return values.reshape(-1, *values.shape[2:])

    sizes = strings.shape.sizes
    splits = pure("RowSplits", rows_of, (strings,), int64, [None if not sizes[0] else sizes[0] + 1])
    inner = pure("Reshape", joined, (strings,), string, [None, *sizes[2:]])
    return RaggedTensor(_split_all(inner, marks, split, name), splits)


def _split(type: str, strings: Tensor, marks: Tensor, cut: Cut, name: str | None) -> RaggedTensor:
    if strings.shape.ndims not in (1, None):
        raise ValueError(f"Shape must be rank 1 but is rank {strings.shape.ndims} for '{type}'")
    return RaggedTensor(*record_all(SPLIT, (strings, marks), name, type, cut=cut))


def _of_result_type(rows: RaggedTensor, wanted: str) -> Any:
    if wanted not in ("SparseTensor", "RaggedTensor"):
        raise ValueError("result_type must be one of 'SparseTensor' or 'RaggedTensor'.")
    if wanted == "RaggedTensor":
        return rows
    if rows.ragged_rank > 1:
        return rows.to_sparse()
    return SparseTensor(*record_all(SPARSE_PARTS, (rows.values, rows.row_splits)))


strings: Final = _Strings(GRAPHS)
encodings: Final = Encodings(GRAPHS)


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
