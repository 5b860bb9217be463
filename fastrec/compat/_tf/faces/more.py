# SPDX-License-Identifier: Apache-2.0
"""Functions that both versions have under the same names, over the operations of the registry."""

from __future__ import annotations

import math
import zlib
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import as_dtype
from ..errors import DataLossError
from ..kernels.shaping import reduced
from ..ops import Op, invalid, reductions, same_spec, segments
from ..ops import arithmetic as rows
from ..ops.arithmetic import binary, unary
from ..tensor import as_array

__all__ = ["IN_BOTH", "IN_MATH", "Operations"]

#: What ``tf`` has of them in both versions, and what ``tf.math``.
IN_BOTH = frozenset(
    {
        "dynamic_partition",
        "dynamic_stitch",
        "scatter_nd",
        "reverse_sequence",
        "searchsorted",
        "norm",
        "unique_with_counts",
    }
)
IN_MATH = frozenset(
    {
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "expm1",
        "erf",
        "softplus",
        "reciprocal",
        "atan2",
        "divide_no_nan",
        "multiply_no_nan",
        "softmax",
        "log_softmax",
        "l2_normalize",
        "bincount",
        "count_nonzero",
        "invert_permutation",
        "segment_sum",
        "segment_prod",
        "segment_max",
        "segment_min",
        "segment_mean",
        "unsorted_segment_sum",
        "unsorted_segment_prod",
        "unsorted_segment_max",
        "unsorted_segment_min",
        "unsorted_segment_mean",
    }
)

UniqueWithCounts = namedtuple("UniqueWithCounts", ["y", "idx", "count"])
ListDiff = namedtuple("ListDiff", ["out", "idx"])

_ERF = np.vectorize(math.erf, otypes=[np.float64])


def _softmax(x: Any, axis: int, logarithm: bool) -> Any:
    along = (axis % x.ndim,)
    shifted = x - reduced(np.maximum, x, along, True)
    powers = np.exp(shifted)
    total = reduced(np.add, powers, along, True)
    return shifted - np.log(total) if logarithm else powers / total


def _no_nan(x: Any, y: Any) -> Any:
    quotient = np.true_divide(x, np.where(y == 0, 1, y)).astype(x.dtype)
    return np.where(y == 0, x.dtype.type(0), quotient)


def _product_no_nan(x: Any, y: Any) -> Any:
    return np.where(y == 0, x.dtype.type(0), x * np.where(y == 0, 0, y)).astype(x.dtype)


_UNARY = {
    "tan": unary("Tan", np.tan, "fc"),
    "asin": unary("Asin", np.arcsin, "fc"),
    "acos": unary("Acos", np.arccos, "fc"),
    "atan": unary("Atan", np.arctan, "fc"),
    "sinh": unary("Sinh", np.sinh, "fc"),
    "cosh": unary("Cosh", np.cosh, "fc"),
    "expm1": unary("Expm1", np.expm1, "fc"),
    "reciprocal": unary("Reciprocal", lambda x: (1 / x).astype(x.dtype), "fc"),
    "erf": unary("Erf", lambda x: np.asarray(_ERF(x)).astype(x.dtype), "f"),
    "softplus": unary("Softplus", lambda x: np.logaddexp(x, 0).astype(x.dtype), "f"),
    "relu": unary("Relu", lambda x: np.maximum(x, x.dtype.type(0)), "fiu"),
}
_BINARY = {
    "atan2": binary("Atan2", np.arctan2, "f"),
    "divide_no_nan": binary("DivNoNan", _no_nan, "f"),
    "multiply_no_nan": binary("MulNoNan", _product_no_nan, "f"),
}


class Operations:
    """The functions, for one of the versions.

    Parameters
    ----------
    apply : callable
        Of an operation, tensors, a name and attributes; gives the output, or a sequence of them.
    tensor : callable
        Of a value and, optionally, a type; gives a tensor.
    """

    def __init__(self, apply: Callable[..., Any], tensor: Callable[..., Any]) -> None:
        self._apply, self._tensor = apply, tensor
        for name, op in _UNARY.items():
            setattr(self, name, self._unary(op))
        for name, op in _BINARY.items():
            setattr(self, name, self._binary(op))
        for kind in segments.SEGMENT:
            setattr(self, f"segment_{kind.lower()}", self._segment(segments.SEGMENT[kind]))
            unsorted = self._unsorted_segment(segments.UNSORTED_SEGMENT[kind])
            setattr(self, f"unsorted_segment_{kind.lower()}", unsorted)

    def _unary(self, op: Op) -> Callable[..., Any]:
        def function(x: Any, name: str | None = None) -> Any:
            return self._apply(op, [self._tensor(x)], name)

        function.__doc__ = f"TensorFlow's ``{op.name}`` of each element."
        return function

    def _binary(self, op: Op) -> Callable[..., Any]:
        def function(x: Any, y: Any, name: str | None = None) -> Any:
            first = self._tensor(x)
            return self._apply(op, [first, self._tensor(y, first.dtype)], name)

        function.__doc__ = f"TensorFlow's ``{op.name}`` of each two elements."
        return function

    def _segment(self, op: Op) -> Callable[..., Any]:
        def function(data: Any, segment_ids: Any, name: str | None = None) -> Any:
            return self._apply(op, [self._tensor(data), self._tensor(segment_ids)], name)

        function.__doc__ = f"TensorFlow's ``{op.name}``: a row for each run of equal numbers."
        return function

    def _unsorted_segment(self, op: Op) -> Callable[..., Any]:
        def function(
            data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
        ) -> Any:
            inputs = [self._tensor(each) for each in (data, segment_ids, num_segments)]
            return self._apply(op, inputs, name)

        function.__doc__ = f"TensorFlow's ``{op.name}``: a row for each number."
        return function

    def softmax(self, logits: Any, axis: int | None = None, name: str | None = None) -> Any:
        """Powers of e, divided by their sum along a dimension."""
        return self._softmax(logits, axis, name, False)

    def log_softmax(self, logits: Any, axis: int | None = None, name: str | None = None) -> Any:
        """Logarithms of :meth:`softmax`."""
        return self._softmax(logits, axis, name, True)

    def _softmax(self, logits: Any, axis: int | None, name: str | None, logarithm: bool) -> Any:
        x = self._tensor(logits)
        last = -1 if axis is None else int(axis)
        if last >= 0:  # counted from the end, it is the same for many elements
            if x.shape.ndims is None:
                raise TypeError("softmax along a dimension counted from the first needs a rank")
            last -= x.shape.ndims
        return self._apply(_SOFTMAX, [x], name, axis=last, logarithm=logarithm)

    def norm(
        self,
        tensor: Any,
        ord: Any = "euclidean",
        axis: Any = None,
        keepdims: bool = False,
        name: str | None = None,
    ) -> Any:
        """Lengths of vectors: the root of the sum of squares, the sum, or the largest."""
        if ord not in ("euclidean", "fro", 1, 2, np.inf):
            raise NotImplementedError(f"norm covers ord='euclidean', 1, 2 and inf, got {ord!r}")
        x = self._tensor(tensor)
        dimensions = [] if axis is None else [self._tensor(np.array(axis, np.int32))]
        reduce, before = {1: (reductions.SUM, rows.ABS), np.inf: (reductions.MAX, rows.ABS)}.get(
            ord, (reductions.SUM, rows.SQUARE)
        )
        total = self._apply(
            reduce, [self._apply(before, [x], None), *dimensions], None, keep_dims=bool(keepdims)
        )
        return total if ord in (1, np.inf) else self._apply(rows.SQRT, [total], name)

    def l2_normalize(
        self, x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None
    ) -> Any:
        """Vectors divided by their lengths."""
        given = self._tensor(x)
        dimensions = [] if axis is None else [self._tensor(np.array(axis, np.int32))]
        squares = self._apply(rows.SQUARE, [given], None)
        total = self._apply(reductions.SUM, [squares, *dimensions], None, keep_dims=True)
        least = self._apply(rows.MAXIMUM, [total, self._tensor(epsilon, given.dtype)], None)
        return self._apply(rows.MUL, [given, self._apply(rows.RSQRT, [least], None)], name)

    def dynamic_partition(
        self, data: Any, partitions: Any, num_partitions: int, name: str | None = None
    ) -> list[Any]:
        """The rows of `data` of each part, as `partitions` numbers them."""
        inputs = [self._tensor(data), self._tensor(partitions)]
        return _listed(
            self._apply(segments.DYNAMIC_PARTITION, inputs, name, count=int(num_partitions))
        )

    def dynamic_stitch(
        self, indices: Sequence[Any], data: Sequence[Any], name: str | None = None
    ) -> Any:
        """The rows of several tensors, each at its index."""
        inputs = [self._tensor(each) for each in (*indices, *data)]
        return self._apply(segments.DYNAMIC_STITCH, inputs, name)

    def scatter_nd(self, indices: Any, updates: Any, shape: Any, name: str | None = None) -> Any:
        """Zeros of a shape, to which `updates` are added at `indices`."""
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
        """The first elements of each row the other way round, as many as `seq_lengths` says."""
        axis = seq_axis if seq_dim is None else seq_dim
        batch = (batch_axis if batch_dim is None else batch_dim) or 0
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
        """Where values would go in sorted rows."""
        if side not in ("left", "right"):
            raise ValueError(f"side must be either 'right' or 'left'. Saw: {side}.")
        row = self._tensor(sorted_sequence)
        inputs = [row, self._tensor(values, row.dtype)]
        return self._apply(
            segments.SEARCH_SORTED, inputs, name, side=side, dtype=as_dtype(out_type)
        )

    def unique_with_counts(self, x: Any, out_idx: Any = "int32", name: str | None = None) -> Any:
        """The different elements, the number of each element's, and how many there are of each."""
        found = self._apply(
            segments.UNIQUE_WITH_COUNTS, [self._tensor(x)], name, dtype=as_dtype(out_idx)
        )
        return UniqueWithCounts(*found)

    def setdiff1d(self, x: Any, y: Any, index_dtype: Any = "int32", name: str | None = None) -> Any:
        """The elements of `x` that `y` does not have, and where they are."""
        first = self._tensor(x)
        inputs = [first, self._tensor(y, first.dtype)]
        return ListDiff(*self._apply(segments.LIST_DIFF, inputs, name, dtype=as_dtype(index_dtype)))

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
        """How often each number from 0 on occurs."""
        if axis is not None or binary_output:
            raise NotImplementedError("bincount covers axis=None without binary_output")
        inputs = [self._tensor(arr)] + ([] if weights is None else [self._tensor(weights)])
        return self._apply(
            segments.BINCOUNT,
            inputs,
            name,
            least=minlength or 0,
            most=maxlength,
            dtype=as_dtype(dtype),
        )

    def count_nonzero(
        self,
        input: Any = None,
        axis: Any = None,
        keepdims: bool = False,
        dtype: Any = "int64",
        name: str | None = None,
        input_tensor: Any = None,
        keep_dims: bool | None = None,
    ) -> Any:
        """Number of elements that are not 0."""
        x = self._tensor(input if input_tensor is None else input_tensor)
        kind = as_dtype(dtype)
        zero = self._tensor(b"" if x.dtype.numpy.kind == "O" else x.dtype.numpy.type(0), x.dtype)
        there = self._apply(rows.NOT_EQUAL, [x, zero], None)
        ones = self._apply(rows.CAST, [there], None, DstT=kind)
        dimensions = [] if axis is None else [self._tensor(np.array(axis, np.int32))]
        keep = bool(keepdims or keep_dims)
        return self._apply(reductions.SUM, [ones, *dimensions], name, keep_dims=keep)

    def invert_permutation(self, x: Any, name: str | None = None) -> Any:
        """The permutation that undoes one."""
        return self._apply(segments.INVERT_PERMUTATION, [self._tensor(x)], name)

    def to_hash_bucket_fast(self, input: Any, num_buckets: int, name: str | None = None) -> Any:
        """The remainder of the fingerprints of strings, as FarmHash computes them."""
        if num_buckets < 1:
            raise ValueError(f"num_buckets must be >= 1, got {num_buckets}")
        op = segments.HASH_BUCKET
        return self._apply(op, [self._tensor(input, "string")], name, count=int(num_buckets))

    def decode_compressed(
        self, bytes: Any, compression_type: str = "", name: str | None = None
    ) -> Any:
        """Strings inflated: of ``"ZLIB"`` or ``"GZIP"``; with ``""`` they stay as they are."""
        if compression_type not in ("", "ZLIB", "GZIP"):
            raise invalid(
                f"compression_type must be '', 'ZLIB' or 'GZIP', got {compression_type!r}"
            )
        inputs = [self._tensor(bytes, "string")]
        return self._apply(_INFLATE, inputs, name, kind=compression_type)

    def space_to_depth(
        self, input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC"
    ) -> Any:
        """The pixels of each square as the channels of one."""
        _channels_last(data_format)
        return self._apply(segments.SPACE_TO_DEPTH, [self._tensor(input)], name, size=block_size)

    def depth_to_space(
        self, input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC"
    ) -> Any:
        """The channels of each pixel as the pixels of a square."""
        _channels_last(data_format)
        return self._apply(segments.DEPTH_TO_SPACE, [self._tensor(input)], name, size=block_size)

    def band_part(self, input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Any:
        """The matrix with zeros outside of a band around its diagonal."""
        inputs = [self._tensor(each) for each in (input, num_lower, num_upper)]
        return self._apply(segments.BAND_PART, inputs, name)

    def diag(self, diagonal: Any, name: str = "diag") -> Any:
        """Matrices with these diagonals."""
        return self._apply(segments.DIAG, [self._tensor(diagonal)], name)

    def diag_part(self, input: Any, name: str = "diag_part") -> Any:
        """The diagonals of square matrices."""
        return self._apply(segments.DIAG_PART, [self._tensor(input)], name)

    def trace(self, x: Any, name: str | None = None) -> Any:
        """The sums of diagonals."""
        return self._apply(segments.TRACE, [self._tensor(x)], name)

    def inv(self, input: Any, name: str | None = None) -> Any:
        """The inverses of square matrices."""
        return self._apply(segments.INVERSE, [self._tensor(input)], name)

    def det(self, input: Any, name: str | None = None) -> Any:
        """The determinants of square matrices."""
        return self._apply(segments.DETERMINANT, [self._tensor(input)], name)


_SOFTMAX = rows.elementwise(
    "Softmax", lambda x, *, axis, logarithm: _softmax(x, axis, logarithm), "f"
)


def _inflated(data: bytes, bits: int) -> bytes:
    machine = zlib.decompressobj(bits)
    try:
        found = machine.decompress(data, _MOST_BYTES)
    except zlib.error as error:
        text = f"Could not decompress a string of {len(data)} bytes: {error}"
        raise DataLossError(None, None, text) from error
    if not machine.eof:
        why = "holds too much" if machine.unconsumed_tail else "is truncated"
        raise DataLossError(None, None, f"A compressed string of {len(data)} bytes {why}")
    return found


def _inflate(x: Any, *, kind: str) -> Any:
    texts = as_array(x)
    if not kind:
        return texts
    bits = zlib.MAX_WBITS + (16 if kind == "GZIP" else 0)
    found = np.empty(texts.size, object)
    found[:] = [_inflated(each, bits) for each in texts.reshape(-1).tolist()]
    return found.reshape(texts.shape)


_MOST_BYTES = 2**31 - 1
_INFLATE = Op("DecodeCompressed", _inflate, same_spec)


def _listed(found: Any) -> list[Any]:
    return list(found) if isinstance(found, (tuple, list)) else [found]


def _channels_last(data_format: str) -> None:
    if data_format != "NHWC":
        raise NotImplementedError(f"data_format must be 'NHWC', got {data_format!r}")
