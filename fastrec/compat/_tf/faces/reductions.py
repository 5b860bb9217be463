# SPDX-License-Identifier: Apache-2.0
"""One value of many: sums, means, extremes and where these are, and numbers of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..composite import RaggedMethods
from ..dtypes import as_dtype, int64
from ..ops import Op
from ..ops import arithmetic as elements
from ..ops import reductions as rows
from . import Faces, Version, one_of

__all__ = ["Reductions"]

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


class Reductions(Faces):
    """The functions of ``tf`` and ``tf.math`` that take elements together."""

    def __init__(self, version: Version) -> None:
        super().__init__(version)
        for name, op in _REDUCTIONS.items():
            setattr(self, name, self._reduction(op))
        self.argmax, self.argmin = self._place_of(rows.ARG_MAX), self._place_of(rows.ARG_MIN)

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

        reduce.__doc__ = f"TensorFlow's ``{op.name}`` over `axis`, or over everything."
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

        find.__doc__ = f"TensorFlow's ``{op.name}`` along `axis`."
        return find

    def cumsum(
        self,
        x: Any,
        axis: Any = 0,
        exclusive: bool = False,
        reverse: bool = False,
        name: str | None = None,
    ) -> Any:
        """Sums of what comes before and of the element itself; without it when `exclusive`."""
        inputs = self._operand(rows.CUMSUM, x), self._version.integers(axis, "axis", "Tidx", 0)
        how = {"exclusive": bool(exclusive), "reverse": bool(reverse)}
        return self._apply(rows.CUMSUM, inputs, name, **how)

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
        """Number of elements that are not 0."""
        x = self._tensor(one_of("input_tensor", input_tensor, "input", input))
        zero = self._tensor(b"" if x.dtype.numpy.kind == "O" else x.dtype.numpy.type(0), x.dtype)
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
        """Number of values in each of `nbins` equal parts of a range."""
        tensor = self._tensor(values)
        inputs = tensor, self._tensor(value_range, tensor.dtype)
        how = {"nbins": int(np.asarray(nbins)), "dtype": as_dtype(dtype)}
        return self._apply(elements.HISTOGRAM, inputs, name, **how)

    def norm(
        self,
        tensor: Any,
        ord: Any = "euclidean",
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        keep_dims: bool | None = None,
    ) -> Any:
        """Lengths of vectors: the root of the sum of squares, the sum, or the largest."""
        if ord not in ("euclidean", "fro", 1, 2, np.inf):
            raise NotImplementedError(f"norm covers ord='euclidean', 1, 2 and inf, got {ord!r}")
        kinds = {1: (rows.SUM, elements.ABS), np.inf: (rows.MAX, elements.ABS)}
        reduce, before = kinds.get(ord, (rows.SUM, elements.SQUARE))
        changed = self._apply(before, [self._operand(before, tensor)], None)
        keep = bool(one_of("keep_dims", keep_dims, "keepdims", keepdims))
        total = self._apply(reduce, [changed, *self._axes(axis)], None, keep_dims=keep)
        return total if ord in (1, np.inf) else self._apply(elements.SQRT, [total], name)

    def l2_normalize(
        self,
        x: Any,
        axis: Any = None,
        epsilon: float = 1e-12,
        name: str | None = None,
        dim: Any = None,
    ) -> Any:
        """Vectors divided by their lengths."""
        given = self._operand(elements.SQUARE, x)
        squares = self._apply(elements.SQUARE, [given], None)
        axes = self._axes(one_of("dim", dim, "axis", axis))
        total = self._apply(rows.SUM, [squares, *axes], None, keep_dims=True)
        least = self._apply(elements.MAXIMUM, [total, self._tensor(epsilon, given.dtype)], None)
        scale = self._apply(elements.RSQRT, [least], None)
        return self._apply(elements.MUL, [given, scale], name)
