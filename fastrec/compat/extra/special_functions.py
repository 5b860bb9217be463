# SPDX-License-Identifier: Apache-2.0
"""Public functions of both versions for rarely used operations on numbers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from .._tf.dtypes import as_dtype, float32, float64, int32
from .._tf.errors import invalid
from .._tf.faces import Version
from .._tf.faces.math import Elementwise
from .._tf.faces.picking import scattering
from .._tf.faces.reductions import accumulating
from .._tf.methods import RaggedMethods
from .._tf.ops import Array, Op, arithmetic, reductions, segments, shaping
from .._tf.ops.arithmetic import broadcast_sizes
from .._tf.specs import TensorSpec
from . import special as rows


class Special(Elementwise):
    """Rarely used functions of ``tf.math`` and ``tf.nn`` for a version."""

    _composite = RaggedMethods  # zeros would not remain zeros

    def __init__(self, version: Version) -> None:
        super().__init__(version)
        for name, op in rows.UNARY.items():
            setattr(self, name, self._unary(op))
        for name, op in rows.BINARY.items():
            setattr(self, name, self._binary(op))

    def _of(self, op: Op, x: Any, name: str | None) -> Any:
        return self._apply(op, [self._operand(op, x)], name)

    def betainc(self, a: Any, b: Any, x: Any, name: str | None = None) -> Any:
        """Compute the regularized incomplete beta function."""
        first, second = self._version.pair(rows.BETAINC.name, a, b)
        self._version.checked(rows.BETAINC, first)
        third = self._version.pair(rows.BETAINC.name, first, x)[1]
        return self._apply(rows.BETAINC, [first, second, third], name)

    def lbeta(self, x: Any, name: str | None = None) -> Any:
        """Compute the logarithm of the beta function of each row."""
        return self._of(rows.LOG_BETA, x, name)

    def real(self, input: Any, name: str | None = None) -> Any:
        """Return the real part of each number."""
        return self._of(rows.REAL, input, name)

    def imag(self, input: Any, name: str | None = None) -> Any:
        """Return the imaginary part of each number."""
        return self._of(rows.IMAG, input, name)

    def angle(self, input: Any, name: str | None = None) -> Any:
        """Return the angle of each complex number."""
        return self._of(rows.ANGLE, input, name)

    def conj(self, x: Any, name: str | None = None) -> Any:
        """Return the complex conjugate of each number."""
        return self._apply(arithmetic.CONJ, [self._tensor(x)], name)

    def complex(self, real: Any, imag: Any, name: str | None = None) -> Any:
        """Create complex numbers from real and imaginary parts."""
        first, second = self._tensor(real), self._tensor(imag)
        if first.dtype is not second.dtype or first.dtype.name not in ("float32", "float64"):
            raise TypeError(
                "The `real` and `imag` components have incorrect types: "
                f"{first.dtype.name} {second.dtype.name}. They must be consistent, and one of "
                "[tf.float32, tf.float64]"
            )
        return self._apply(rows.COMPLEX, [first, second], name)

    def silu(self, features: Any, beta: Any = 1.0) -> Any:
        """Compute ``features * sigmoid(beta * features)``."""
        x = self._tensor(features)
        if isinstance(beta, (int, float)) and beta == 1:
            return self._of(rows.SILU, x, None)
        factor = self._tensor(beta, x.dtype)
        inner = self._apply(arithmetic.MUL, [x, factor])
        return self._apply(arithmetic.MUL, [x, self._apply(arithmetic.SIGMOID, [inner])])

    swish = silu

    def gelu(self, features: Any, approximate: bool = False, name: str | None = None) -> Any:
        """Compute the Gaussian error linear unit: ``x * P(X <= x)`` for a normal X."""
        return self._of(rows.GELU[bool(approximate)], features, name)

    def leaky_relu(self, features: Any, alpha: Any = 0.2, name: str | None = None) -> Any:
        """Multiply elements below 0 by `alpha`."""
        x = self._tensor(features)
        less = self._apply(arithmetic.MUL, [x, self._tensor(alpha, x.dtype)])
        return self._apply(arithmetic.MAXIMUM, [x, less], name)

    cumprod: Final = accumulating(rows.CUMPROD)
    cumulative_logsumexp: Final = accumulating(rows.CUMULATIVE_LOGSUMEXP)

    def reduce_euclidean_norm(
        self, input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
    ) -> Any:
        """Compute the square root of the sum of squares over dimensions."""
        x = self._tensor(input_tensor)
        squares = self._apply(arithmetic.SQUARE, [x])
        dimensions = [] if axis is None else [self._tensor(np.array(axis, np.int32))]
        how = {"keep_dims": bool(keepdims)}
        total = self._apply(reductions.SUM, [squares, *dimensions], None, **how)
        if x.dtype.kind in "fc":
            return self._apply(arithmetic.SQRT, [total], name)
        wide = self._apply(arithmetic.CAST, [total], None, DstT=as_dtype("float64"))
        return self._apply(
            arithmetic.CAST, [self._apply(arithmetic.SQRT, [wide])], name, DstT=x.dtype
        )

    def is_non_decreasing(self, x: Any, name: str | None = None) -> Any:
        """Return whether each element is at least as large as the previous one."""
        return self._apply(rows.IS_NON_DECREASING, [self._tensor(x)], name)

    def is_strictly_increasing(self, x: Any, name: str | None = None) -> Any:
        """Return whether each element is greater than the previous one."""
        return self._apply(rows.IS_STRICTLY_INCREASING, [self._tensor(x)], name)

    def zero_fraction(self, value: Any, name: str | None = None) -> Any:
        """Return the fraction of elements that are 0."""
        return self._apply(rows.ZERO_FRACTION, [self._tensor(value)], name)

    def in_top_k(self, targets: Any, predictions: Any, k: Any, name: str | None = None) -> Any:
        """Return whether the prediction for each target is among the `k` largest of its row."""
        inputs = [self._tensor(predictions, float32), self._given(targets, int32)]
        return self._apply(rows.IN_TOP_K, [*inputs, self._given(k, int32)], name)

    def confusion_matrix(
        self,
        labels: Any,
        predictions: Any,
        num_classes: Any = None,
        weights: Any = None,
        dtype: Any = "int32",
        name: str | None = None,
    ) -> Any:
        """Compute the confusion matrix: counts of each pair of label and prediction."""
        inputs = [self._given(each, int32) for each in (labels, predictions)]
        inputs += [] if weights is None else [self._tensor(weights)]
        classes = None if num_classes is None else int(num_classes)
        op = rows.CONFUSION_MATRIX
        return self._apply(op, inputs, name, classes=classes, dtype=as_dtype(dtype))

    def polyval(self, coeffs: Sequence[Any], x: Any, name: str | None = None) -> Any:
        """Evaluate a polynomial, whose coefficients start with the highest power."""
        if not isinstance(coeffs, list):
            raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
        point = self._tensor(x)
        if not coeffs:
            return self._apply(arithmetic.MUL, [point, self._tensor(0, point.dtype)], name)
        found = self._tensor(coeffs[0], point.dtype)
        for each in coeffs[1:]:
            product = self._apply(arithmetic.MUL, [found, point])
            found = self._apply(arithmetic.ADD, [self._tensor(each, point.dtype), product])
        return found

    def scalar_mul(self, scalar: Any, x: Any, name: str | None = None) -> Any:
        """Multiply a tensor by one number."""
        tensor = self._tensor(x)
        factor = self._tensor(scalar, tensor.dtype)
        if factor.shape.ndims != 0:
            raise ValueError(f"Only scalar multiply works, got shape {factor.shape}")
        return self._apply(arithmetic.MUL, [factor, tensor], name)

    def accumulate_n(
        self,
        inputs: Sequence[Any],
        shape: Any = None,
        tensor_dtype: Any = None,
        name: str | None = None,
    ) -> Any:
        """Add tensors of one shape."""
        if not inputs or not isinstance(inputs, (list, tuple)):
            raise ValueError(
                "inputs must be a list of at least one Tensor/IndexedSlices with the same dtype "
                "and shape."
            )
        return self._apply(arithmetic.ADD_N, self._version.alike("AddN", inputs), name)

    def unsorted_segment_sqrt_n(
        self, data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
    ) -> Any:
        """Sum the rows of each segment, and divide by the square root of their number."""
        x = self._tensor(data)
        ids, count = (self._given(each, int32) for each in (segment_ids, num_segments))
        total = self._apply(segments.UNSORTED_SEGMENT["Sum"], [x, ids, count])
        return self._apply(rows.OVER_ROOT_OF_COUNT, [total, ids], name)

    def unravel_index(self, indices: Any, dims: Any, name: str | None = None) -> Any:
        """Convert flat indices to coordinates in a tensor of the given dimensions."""
        inputs = [self._given(each, int32) for each in (indices, dims)]
        return self._apply(rows.UNRAVEL_INDEX, inputs, name)

    def bitcast(self, input: Any, type: Any, name: str | None = None) -> Any:
        """Reinterpret the bytes of a tensor as another type."""
        return self._apply(rows.BITCAST, [self._tensor(input)], name, type=as_dtype(type))


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


class Various(Special):
    """The functions of ``tf``, including the ones that it shares with :class:`Special`."""

    tensor_scatter_nd_max: Final = scattering("TensorScatterMax", np.maximum.at)
    tensor_scatter_nd_min: Final = scattering("TensorScatterMin", np.minimum.at)
    tensor_scatter_nd_sub: Final = scattering("TensorScatterSub", np.subtract.at)

    def __init__(self, version: Any) -> None:
        super().__init__(version)
        self.truncatemod: Final = self._binary(_REMAINDER)

    def timestamp(self, name: str | None = None) -> Any:
        """Return the time in seconds since 1970."""
        return self._apply(_TIME, [], name)

    def identity_n(self, input: Sequence[Any], name: str | None = None) -> list[Any]:
        """Return the same tensors."""
        return [self._apply(arithmetic.IDENTITY, [self._tensor(each)]) for each in input]

    def shape_n(
        self, input: Sequence[Any], out_type: Any = "int32", name: str | None = None
    ) -> list[Any]:
        """Return the shape of each tensor."""
        how = {"out_type": as_dtype(out_type)}
        tensors = self._version.alike("ShapeN", input)
        return [self._apply(shaping.SHAPE, [each], name, **how) for each in tensors]

    def broadcast_static_shape(self, shape_x: Any, shape_y: Any) -> Any:
        """Return the shape that two static shapes broadcast to."""
        specs = [TensorSpec(shape, "int32") for shape in (shape_x, shape_y)]
        return type(shape_x)(broadcast_sizes("Broadcast", specs))

    def broadcast_dynamic_shape(self, shape_x: Any, shape_y: Any) -> Any:
        """Return the shape that two shapes, given as tensors, broadcast to."""
        return self._apply(_JOINT, self._version.pair("BroadcastArgs", shape_x, shape_y))

    def realdiv(self, x: Any, y: Any, name: str | None = None) -> Any:
        """Divide two tensors element by element."""
        return self._apply(arithmetic.DIV, self._version.pair("RealDiv", x, y), name)

    def clip_by_norm(
        self, t: Any, clip_norm: Any, axes: Any = None, name: str | None = None
    ) -> Any:
        """Scale vectors down to the length `clip_norm` if they are longer."""
        x = self._tensor(t)
        most = self._tensor(clip_norm, x.dtype)
        along = [] if axes is None else [self._version.integers(axes, "reduction_indices")]
        squares = self._apply(arithmetic.MUL, [x, x])
        total = self._apply(reductions.SUM, [squares, *along], None, keep_dims=True)
        length = self._apply(arithmetic.SQRT, [total])
        longer = self._apply(arithmetic.MAXIMUM, [length, most])
        return self._apply(arithmetic.DIV, [self._apply(arithmetic.MUL, [x, most]), longer], name)
