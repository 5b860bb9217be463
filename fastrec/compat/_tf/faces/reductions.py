# SPDX-License-Identifier: Apache-2.0
"""Reductions: sums, means, extremes, their indices, and counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..dtypes import as_dtype, int64
from ..methods import RaggedMethods
from ..ops import Op
from ..ops import arithmetic as elements
from ..ops import reductions as rows
from ..ops.segments import HISTOGRAM
from ..ops.shaping import SQUEEZE
from . import Faces, Version, one_of

_REDUCTIONS = {
    "reduce_all": rows.ALL,
    "reduce_any": rows.ANY,
    "reduce_logsumexp": rows.LOG_SUM_EXP,
    "reduce_max": rows.MAX,
    "reduce_mean": rows.MEAN,
    "reduce_min": rows.MIN,
    "reduce_prod": rows.PROD,
    "reduce_std": rows.STD,
    "reduce_sum": rows.SUM,
    "reduce_variance": rows.VARIANCE,
}


def accumulating(op: Op) -> Callable[..., Any]:
    """Return a function that applies an operation along a dimension."""

    def function(
        self: Faces,
        x: Any,
        axis: Any = 0,
        exclusive: bool = False,
        reverse: bool = False,
        name: str | None = None,
    ) -> Any:
        inputs = self._operand(op, x), self._version.integers(axis, "axis", "Tidx", 0)
        how = {"exclusive": bool(exclusive), "reverse": bool(reverse)}
        return self._apply(op, inputs, name, **how)

    return function


_AXIS = "'axis' must be None, an integer, or a tuple of 2 unique integers"


def _check_matrix_norm(ord: Any, axis: Sequence[Any]) -> None:
    if not all(isinstance(each, int) for each in axis) or axis[0] == axis[1]:
        raise ValueError(f"{_AXIS}, got {axis}")
    if ord not in (known := ["euclidean", "fro", 1, 2, np.inf]):
        raise ValueError(f"'ord' must be a supported matrix norm in {known}, got {ord}")


class Reductions(Faces):
    """The functions of ``tf`` and ``tf.math`` that reduce tensors."""

    def __init__(self, version: Version) -> None:
        super().__init__(version)
        for name, op in _REDUCTIONS.items():
            setattr(self, name, self._reduction(op))
        self.argmax: Final = self._place_of(rows.ARG_MAX)
        self.argmin: Final = self._place_of(rows.ARG_MIN)

    def _axes(self, axis: Any) -> list[Any]:
        return [] if axis is None else [self._version.integers(axis, "reduction_indices")]

    def _reduction(self, op: Op) -> Callable[..., Any]:
        apply, operand = self._apply, self._operand
        moments = op in (rows.STD, rows.VARIANCE)

        def reduce(
            input_tensor: Any,
            axis: Any = None,
            keepdims: bool | None = None,
            name: str | None = None,
            reduction_indices: Any = None,
            keep_dims: bool | None = None,
        ) -> Any:
            along = one_of("reduction_indices", reduction_indices, "axis", axis)
            keep = bool(one_of("keep_dims", keep_dims, "keepdims", keepdims))
            if isinstance(input_tensor, RaggedMethods):
                return input_tensor._reduced(op, along, keep, name)
            axes = self._axes(along)
            if moments:
                input_tensor = self._no_integers(input_tensor)
            return apply(op, (operand(op, input_tensor), *axes), name, keep_dims=keep)

        return reduce

    def _no_integers(self, value: Any) -> Any:
        tensor = self._tensor(value)
        if tensor.dtype.is_integer:
            raise TypeError(
                f"Input must be either real or complex. Received integer type <dtype: "
                f"'{tensor.dtype.name}'>."
            )
        return tensor

    def _place_of(self, op: Op) -> Callable[..., Any]:
        def find(
            input: Any, axis: Any = None, output_type: Any = int64, name: str | None = None
        ) -> Any:
            tensor = self._operand(op, input)
            place = self._version.integers(0 if axis is None else axis, "dimension", None, 0)
            return self._apply(op, (tensor, place), name, output_type=as_dtype(output_type))

        return find

    cumsum: Final = accumulating(rows.CUMSUM)

    def count_nonzero(
        self,
        input: Any = None,
        axis: Any = None,
        keepdims: bool | None = None,
        dtype: Any = int64,
        name: str | None = None,
        input_tensor: Any = None,
        keep_dims: bool | None = None,
    ) -> Any:
        """Count the elements that are not 0."""
        x = self._tensor(one_of("input_tensor", input_tensor, "input", input))
        zero = self._tensor(b"" if x.dtype.kind == "O" else x.dtype.numpy.type(0), x.dtype)
        there = self._apply(elements.NOT_EQUAL, [x, zero], None)
        ones = self._apply(elements.CAST, [there], None, DstT=as_dtype(dtype))
        keep = bool(one_of("keep_dims", keep_dims, "keepdims", keepdims))
        return self._apply(rows.SUM, [ones, *self._axes(axis)], name, keep_dims=keep)

    def histogram_fixed_width(
        self,
        values: Any,
        value_range: Any,
        nbins: Any = 100,
        dtype: Any = "int32",
        name: str | None = None,
    ) -> Any:
        """Count the values in each of `nbins` equal parts of a range."""
        tensor = self._tensor(values)
        inputs = tensor, self._tensor(value_range, tensor.dtype)
        how = {"nbins": int(np.asarray(nbins)), "dtype": as_dtype(dtype)}
        return self._apply(HISTOGRAM, inputs, name, **how)

    def norm(
        self,
        tensor: Any,
        ord: Any = "euclidean",
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        keep_dims: bool | None = None,
    ) -> Any:
        """Compute the norms of vectors or, along two dimensions, of matrices."""
        matrix = isinstance(axis, (list, tuple)) and len(axis) == 2
        if matrix:
            _check_matrix_norm(ord, axis)
        elif not (axis is None or isinstance(axis, int)):
            raise ValueError(f"{_AXIS}, got {axis}")
        elif ord != "euclidean" and (isinstance(ord, str) or ord <= 0):
            raise ValueError(f"'ord' must be a supported vector norm, got {ord}")
        keep = bool(one_of("keep_dims", keep_dims, "keepdims", keepdims))
        how, axes, x = {"keep_dims": keep}, self._axes(axis), self._tensor(tensor)
        if matrix and ord == 2:
            return self._apply(rows.MATRIX_NORM, [x, *axes], name, **how)
        if ord in ("euclidean", "fro", 2):
            squares = self._apply(elements.MUL, [x, self._apply(elements.CONJ, [x])])
            total = self._apply(rows.SUM, [squares, *axes], None, **how)
            return self._apply(elements.SQRT, [self._operand(elements.SQRT, total)], name)
        sizes = self._apply(elements.ABS, [self._operand(elements.ABS, x)])
        if matrix:
            along, across = axis if ord == 1 else (axis[1], axis[0])
            sums = self._apply(rows.SUM, [sizes, *self._axes(along)], None, keep_dims=True)
            most = self._apply(rows.MAX, [sums, *self._axes(across)], None, keep_dims=True)
            return most if keep else self._apply(SQUEEZE, [most], name, squeeze_dims=tuple(axis))
        if ord in (1, np.inf):
            return self._apply(rows.SUM if ord == 1 else rows.MAX, [sizes, *axes], name, **how)
        powers = self._apply(elements.POW, [sizes, self._tensor(ord, sizes.dtype)])
        total = self._apply(rows.SUM, [powers, *axes], None, **how)
        return self._apply(elements.POW, [total, self._tensor(1.0 / ord, sizes.dtype)], name)

    def l2_normalize(
        self,
        x: Any,
        axis: Any = None,
        epsilon: float = 1e-12,
        name: str | None = None,
        dim: Any = None,
    ) -> Any:
        """Divide vectors by their lengths."""
        given = self._operand(elements.SQUARE, x)
        squares = self._apply(elements.SQUARE, [given], None)
        axes = self._axes(one_of("dim", dim, "axis", axis))
        total = self._apply(rows.SUM, [squares, *axes], None, keep_dims=True)
        least = self._apply(elements.MAXIMUM, [total, self._tensor(epsilon, given.dtype)], None)
        scale = self._apply(elements.RSQRT, [least], None)
        return self._apply(elements.MUL, [given, scale], name)
