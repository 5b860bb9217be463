# SPDX-License-Identifier: Apache-2.0
"""Functions of ``tf`` that few programs use, of both versions."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import as_dtype, float64
from ..ops import Array, Op, arithmetic, invalid, reductions, shaping
from ..ops.arithmetic import broadcast_sizes
from ..specs import TensorSpec
from .picking import scattered
from .special import Special

__all__ = ["Various"]


def _joint(x: Array, y: Array) -> Array:
    try:
        return np.array(np.broadcast_shapes(tuple(x.tolist()), tuple(y.tolist())), x.dtype)
    except ValueError:
        raise invalid(f"Incompatible shapes: {x.tolist()} vs. {y.tolist()}") from None


_TIME = Op(
    "Timestamp", lambda: np.array(time.time()), lambda *_: [TensorSpec([], float64)], pure=False
)
_JOINT = Op("BroadcastArgs", _joint, lambda specs, *_: [TensorSpec([None], specs[0].dtype)])
_REMAINDER = arithmetic.binary("TruncateMod", np.fmod, "fi")


_SCATTERED = {
    "tensor_scatter_nd_max": scattered("TensorScatterMax", np.maximum.at),
    "tensor_scatter_nd_min": scattered("TensorScatterMin", np.minimum.at),
    "tensor_scatter_nd_sub": scattered("TensorScatterSub", np.subtract.at),
}


class Various(Special):
    """The functions, and those of :class:`Special` that ``tf`` has, too."""

    def __init__(self, version: Any) -> None:
        super().__init__(version)
        for name, op in _SCATTERED.items():
            setattr(self, name, self._scatter(op))

    def _scatter(self, op: Op) -> Callable[..., Any]:
        def function(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Any:
            x = self._tensor(tensor)
            return self._apply(op, [x, self._tensor(indices), self._tensor(updates, x.dtype)], name)

        return function

    def timestamp(self, name: str | None = None) -> Any:
        """Seconds since 1970."""
        return self._apply(_TIME, [], name)

    def identity_n(self, input: Sequence[Any], name: str | None = None) -> list[Any]:
        """The same tensors."""
        return [self._apply(arithmetic.IDENTITY, [self._tensor(each)]) for each in input]

    def shape_n(
        self, input: Sequence[Any], out_type: Any = "int32", name: str | None = None
    ) -> list[Any]:
        """The shape of each tensor."""
        how = {"out_type": as_dtype(out_type)}
        tensors = self._version.alike("ShapeN", input)
        return [self._apply(shaping.SHAPE, [each], None, **how) for each in tensors]

    def broadcast_static_shape(self, shape_x: Any, shape_y: Any) -> Any:
        """The shape of what two tensors of known shapes give together."""
        specs = [TensorSpec(shape, "int32") for shape in (shape_x, shape_y)]
        return type(shape_x)(broadcast_sizes("Broadcast", specs))

    def broadcast_dynamic_shape(self, shape_x: Any, shape_y: Any) -> Any:
        """The shape of what two tensors give together, of tensors of their sizes."""
        return self._apply(_JOINT, self._version.pair("BroadcastArgs", shape_x, shape_y))

    def realdiv(self, x: Any, y: Any, name: str | None = None) -> Any:
        """The quotient."""
        return self._apply(arithmetic.DIV, self._version.pair("RealDiv", x, y), name)

    def truncatemod(self, x: Any, y: Any, name: str | None = None) -> Any:
        """The remainder of a division that is cut off towards 0."""
        first, second = self._version.pair("TruncateMod", x, y)
        self._version.checked(_REMAINDER, first)
        return self._apply(_REMAINDER, [first, second], name)

    def clip_by_norm(
        self, t: Any, clip_norm: Any, axes: Any = None, name: str | None = None
    ) -> Any:
        """Vectors that are made shorter where they are longer than `clip_norm`."""
        x = self._tensor(t)
        most = self._tensor(clip_norm, x.dtype)
        along = [] if axes is None else [self._version.integers(axes, "reduction_indices")]
        squares = self._apply(arithmetic.MUL, [x, x])
        total = self._apply(reductions.SUM, [squares, *along], None, keep_dims=True)
        length = self._apply(arithmetic.SQRT, [total])
        longer = self._apply(arithmetic.MAXIMUM, [length, most])
        return self._apply(arithmetic.DIV, [self._apply(arithmetic.MUL, [x, most]), longer], name)
