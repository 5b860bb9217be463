# SPDX-License-Identifier: Apache-2.0
"""Functions that partition, combine, count and scatter parts of tensors by number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..composite import RaggedTensor, SparseTensor
from ..dtypes import as_dtype
from ..ops import Op, segments
from . import Faces, Version, one_of


class Unique(NamedTuple):
    """The distinct values, and the index of each element's value among them."""

    y: Any
    idx: Any


class UniqueWithCounts(NamedTuple):
    """Distinct values, the index of each element among them, and their counts."""

    y: Any
    idx: Any
    count: Any


class ListDiff(NamedTuple):
    """The values of one list that are missing from another, and their indices."""

    out: Any
    idx: Any


class Segments(Faces):
    """Functions on parts of a tensor, which are identified by numbers."""

    def __init__(self, version: Version) -> None:
        super().__init__(version)
        for kind, op in segments.SEGMENT.items():
            setattr(self, f"segment_{kind.lower()}", self._segment(op))
        for kind, op in segments.UNSORTED_SEGMENT.items():
            setattr(self, f"unsorted_segment_{kind.lower()}", self._unsorted_segment(op))

    def _segment(self, op: Op) -> Callable[..., Any]:
        def function(data: Any, segment_ids: Any, name: str | None = None) -> Any:
            return self._apply(op, [self._operand(op, data), self._tensor(segment_ids)], name)

        return function

    def _unsorted_segment(self, op: Op) -> Callable[..., Any]:
        def function(
            data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
        ) -> Any:
            numbers = [self._tensor(each) for each in (segment_ids, num_segments)]
            return self._apply(op, [self._operand(op, data), *numbers], name)

        return function

    def dynamic_partition(
        self, data: Any, partitions: Any, num_partitions: int, name: str | None = None
    ) -> list[Any]:
        """Partition the rows of `data`; `partitions` holds the part number of each row."""
        inputs = [self._tensor(data), self._tensor(partitions)]
        found: list[Any] = self._version.apply_all(
            segments.DYNAMIC_PARTITION, inputs, name, count=int(num_partitions)
        )
        return found

    def dynamic_stitch(
        self, indices: Sequence[Any], data: Sequence[Any], name: str | None = None
    ) -> Any:
        """Interleave the rows of several tensors, each at its index."""
        inputs = [self._tensor(each) for each in (*indices, *data)]
        return self._apply(segments.DYNAMIC_STITCH, inputs, name)

    def scatter_nd(self, indices: Any, updates: Any, shape: Any, name: str | None = None) -> Any:
        """Add `updates` at `indices` to zeros of the given shape."""
        inputs = [self._tensor(each) for each in (indices, updates, shape)]
        return self._apply(segments.SCATTER_ND, inputs, name)

    def reverse_sequence(
        self,
        input: Any,
        seq_lengths: Any,
        seq_axis: int | None = None,
        batch_axis: int | None = None,
        name: str | None = None,
        seq_dim: int | None = None,
        batch_dim: int | None = None,
    ) -> Any:
        """Reverse the first `seq_lengths` elements of each row."""
        axis = one_of("seq_dim", seq_dim, "seq_axis", seq_axis)
        batch = one_of("batch_dim", batch_dim, "batch_axis", batch_axis) or 0
        inputs = [self._tensor(input), self._tensor(seq_lengths)]
        if axis is None:
            raise ValueError("reverse_sequence requires seq_axis")
        op = segments.REVERSE_SEQUENCE
        return self._apply(op, inputs, name, seq_axis=axis, batch_axis=batch)

    def searchsorted(
        self,
        sorted_sequence: Any,
        values: Any,
        side: str = "left",
        out_type: Any = "int32",
        name: str | None = None,
    ) -> Any:
        """Return the indices at which values would be inserted into sorted rows."""
        if side not in ("left", "right"):
            raise ValueError(f"side must be either 'right' or 'left'. Saw: {side}.")
        row = self._tensor(sorted_sequence)
        inputs = [row, self._tensor(values, row.dtype)]
        return self._apply(
            segments.SEARCH_SORTED, inputs, name, side=side, dtype=as_dtype(out_type)
        )

    def unique(self, x: Any, out_idx: Any = "int32", name: str | None = None) -> Unique:
        """Return the distinct elements of a vector in order, and each element's index in them."""
        inputs = (self._tensor(x),)
        found = self._version.apply_all(segments.UNIQUE, inputs, name, out_idx=as_dtype(out_idx))
        return Unique(*found)

    def unique_with_counts(self, x: Any, out_idx: Any = "int32", name: str | None = None) -> Any:
        """Return the distinct elements, the index of each element's value, and the counts."""
        found = self._version.apply_all(
            segments.UNIQUE_WITH_COUNTS, [self._tensor(x)], name, dtype=as_dtype(out_idx)
        )
        return UniqueWithCounts(*found)

    def setdiff1d(self, x: Any, y: Any, index_dtype: Any = "int32", name: str | None = None) -> Any:
        """Return the elements of `x` that are not in `y`, and their indices."""
        first = self._tensor(x)
        inputs = [first, self._tensor(y, first.dtype)]
        found = self._version.apply_all(
            segments.LIST_DIFF, inputs, name, dtype=as_dtype(index_dtype)
        )
        return ListDiff(*found)

    def bincount(
        self,
        arr: Any,
        weights: Any = None,
        minlength: int | None = None,
        maxlength: int | None = None,
        dtype: Any = "int32",
        name: str | None = None,
        axis: Any = None,
        binary_output: bool = False,
    ) -> Any:
        """Count each integer from 0, or return whether it occurs; with axis=-1, in each row."""
        if weights is not None and binary_output:
            raise ValueError(
                "Arguments `binary_output` and `weights` are mutually exclusive. Please specify "
                "only one."
            )
        if axis not in (None, 0, -1):
            raise ValueError(
                f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently "
                "supported."
            )
        how = {"least": minlength or 0, "most": maxlength, "dtype": as_dtype(dtype)}
        how["binary"] = bool(binary_output)
        rows = _numbers_of_rows(arr)
        if rows is not None:
            arr, weights = (getattr(each, "values", each) for each in (arr, weights))
        given = [] if weights is None else [self._tensor(weights)]
        if rows is None or axis != -1:
            inputs, by_row = [self._tensor(arr), *given], axis == -1
            return self._apply(segments.BINCOUNT, inputs, name, by_row=by_row, **how)
        inputs = [self._tensor(each) for each in (arr, *rows)]
        return self._apply(segments.BINCOUNT_OF_ROWS, [*inputs, *given], name, **how)

    def invert_permutation(self, x: Any, name: str | None = None) -> Any:
        """Return the inverse of a permutation."""
        return self._apply(segments.INVERT_PERMUTATION, [self._tensor(x)], name)


def _numbers_of_rows(value: Any) -> tuple[Any, Any] | None:
    """Return the row of each value of a ragged or sparse tensor, and the number of rows."""
    if isinstance(value, RaggedTensor):
        return value.value_rowids(), value.nrows()
    if isinstance(value, SparseTensor):
        return value.indices[:, 0], value.dense_shape[0]
    return None


class Pixels(Faces):
    """The functions of ``tf.nn`` that move pixels into channels and back."""

    def space_to_depth(
        self, input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC"
    ) -> Any:
        """Move the pixels of each square block into the channels of one pixel."""
        _channels_last(data_format)
        return self._apply(segments.SPACE_TO_DEPTH, [self._tensor(input)], name, size=block_size)

    def depth_to_space(
        self, input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC"
    ) -> Any:
        """Move the channels of each pixel into the pixels of a square block."""
        _channels_last(data_format)
        return self._apply(segments.DEPTH_TO_SPACE, [self._tensor(input)], name, size=block_size)


def _channels_last(data_format: str) -> None:
    if data_format != "NHWC":
        raise NotImplementedError(f"data_format must be 'NHWC', got {data_format!r}")
