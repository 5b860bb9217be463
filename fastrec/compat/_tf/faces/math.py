# SPDX-License-Identifier: Apache-2.0
"""Elementwise arithmetic, comparisons and casts; products of tensors; functions of matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from fastrec import _tensor

from ..dtypes import as_dtype, float32
from ..kernels.shaping import reduced
from ..methods import Methods, RaggedMethods, SparseMethods, of_values
from ..ops import Op, filling, matrices
from ..ops import arithmetic as rows
from ..ops import matrices as matrix_rows
from ..ops.arithmetic import DIV, binary, unary
from . import Faces, Version
from .reductions import Reductions


def _no_nan(x: Any, y: Any) -> Any:
    return rows.selected(y == 0, x.dtype.type(0), np.true_divide(x, y))


def _product_no_nan(x: Any, y: Any) -> Any:
    return rows.selected(y == 0, x.dtype.type(0), np.multiply(x, y))


def _angle(y: Any, x: Any) -> Any:
    if y.dtype != np.float32:
        return np.arctan2(y, x)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = np.asarray(np.true_divide(y, x))
    angle = _tensor.elementwise("atan", quotient)
    if np.signbit(x).any():  # the other half of the plane
        angle += np.copysign(np.where(np.signbit(x), np.float32(np.pi), np.float32(0)), y)
    if np.isnan(quotient).any():  # of two zeros, infinities, or NaN
        angle = np.where(np.isnan(quotient), np.arctan2(y, x), angle)
    return angle


_UNARY = {
    "abs": rows.ABS,
    "acos": rows.float_function("Acos", np.arccos),
    "asin": rows.float_function("Asin", np.arcsin),
    "atan": rows.float_function("Atan", np.arctan),
    "ceil": rows.CEIL,
    "cos": rows.COS,
    "cosh": rows.float_function("Cosh", np.cosh),
    "erf": rows.float_function("Erf", lambda x: _tensor.special("erf", x), "f"),
    "exp": rows.EXP,
    "expm1": rows.float_function("Expm1", np.expm1),
    "floor": rows.FLOOR,
    "identity": rows.IDENTITY,
    "is_finite": rows.IS_FINITE,
    "is_inf": rows.IS_INF,
    "is_nan": rows.IS_NAN,
    "log": rows.LOG,
    "log1p": rows.LOG1P,
    "logical_not": rows.LOGICAL_NOT,
    "negative": rows.NEG,
    "reciprocal": unary("Reciprocal", lambda x: (1 / x).astype(x.dtype), "fc"),
    "rint": rows.RINT,
    "round": rows.ROUND,
    "rsqrt": rows.RSQRT,
    "sigmoid": rows.SIGMOID,
    "sign": rows.SIGN,
    "sin": rows.SIN,
    "sinh": rows.float_function("Sinh", np.sinh),
    "sqrt": rows.SQRT,
    "square": rows.SQUARE,
    "tan": rows.float_function("Tan", np.tan),
    "tanh": rows.TANH,
}
_BINARY = {
    "add": rows.ADD,
    "atan2": binary("Atan2", _angle, "f"),
    "divide_no_nan": binary("DivNoNan", _no_nan, "f"),
    "equal": rows.EQUAL,
    "floordiv": rows.FLOOR_DIV,
    "floormod": rows.FLOOR_MOD,
    "greater": rows.GREATER,
    "greater_equal": rows.GREATER_EQUAL,
    "less": rows.LESS,
    "less_equal": rows.LESS_EQUAL,
    "logical_and": rows.LOGICAL_AND,
    "logical_or": rows.LOGICAL_OR,
    "logical_xor": rows.LOGICAL_XOR,
    "maximum": rows.MAXIMUM,
    "minimum": rows.MINIMUM,
    "multiply": rows.MUL,
    "multiply_no_nan": binary("MulNoNan", _product_no_nan, "f"),
    "not_equal": rows.NOT_EQUAL,
    "pow": rows.POW,
    "squared_difference": rows.SQUARED_DIFFERENCE,
    "subtract": rows.SUB,
    "truediv": rows.DIV,
    "truncatediv": rows.TRUNCATE_DIV,
}
_BITWISE = {
    "bitwise_and": rows.BITWISE_AND,
    "bitwise_or": rows.BITWISE_OR,
    "bitwise_xor": rows.BITWISE_XOR,
    "left_shift": rows.LEFT_SHIFT,
    "right_shift": rows.RIGHT_SHIFT,
}


class Elementwise(Faces):
    """Functions that are created only from the rows of a table."""

    _composite: type = Methods  # whose values the functions take

    def _unary(self, op: Op) -> Callable[..., Any]:
        apply, operand, composite = self._apply, self._operand, self._composite

        def function(x: Any, name: str | None = None) -> Any:
            if isinstance(x, composite):
                return of_values(function, x)
            return apply(op, (operand(op, x),), name)

        return function

    def _binary(self, op: Op, type: str | None = None) -> Callable[..., Any]:
        version, apply, kind = self._version, self._apply, type or op.name
        pair, checked, composite = version.pair, version.checked, self._composite

        def of_bools(x: Any, y: Any, name: str | None = None) -> Any:
            if isinstance(x, composite) or isinstance(y, composite):
                return of_values(of_bools, x, y)
            return apply(op, (self._operand(op, x), self._operand(op, y)), name, kind)

        def function(x: Any, y: Any, name: str | None = None) -> Any:
            if isinstance(x, composite) or isinstance(y, composite):
                return of_values(function, x, y)
            first, second = pair(kind, x, y)
            return apply(op, (checked(op, first), second), name, kind)

        return of_bools if op.kinds == "b" else function


class Bitwise(Elementwise):
    """The functions of ``tf.bitwise``."""

    def __init__(self, version: Version) -> None:
        super().__init__(version)
        self.invert: Final = self._unary(rows.INVERT)
        for name, op in _BITWISE.items():
            setattr(self, name, self._binary(op))


class Math(Elementwise):
    """The elementwise functions of ``tf.math``."""

    def __init__(self, version: Version) -> None:
        super().__init__(version)
        for name, op in _UNARY.items():
            setattr(self, name, self._unary(op))
        for name, op in _BINARY.items():
            setattr(self, name, self._binary(op))
        self.divide: Final = self.truediv
        self.mod: Final = self.floormod

    def cast(self, x: Any, dtype: Any, name: str | None = None) -> Any:
        """Cast `x` to another type; a cast from floats to integers truncates."""
        wanted = as_dtype(dtype)
        if isinstance(x, (RaggedMethods, SparseMethods)):
            return x._cast(wanted)
        tensor = self._tensor(x)
        return (
            tensor
            if tensor.dtype is wanted
            else self._apply(rows.CAST, (tensor,), name, DstT=wanted)
        )

    def saturate_cast(self, value: Any, dtype: Any, name: str | None = None) -> Any:
        """Cast `value` to another type, and clip values that are out of range to its limits."""
        tensor, wanted = self._tensor(value), as_dtype(dtype)
        for each in (tensor.dtype, wanted):
            if each.kind in "bO":
                raise TypeError(f"Cannot find minimum value of {each}.")
        return self._apply(rows.SATURATE_CAST, (tensor,), name, DstT=wanted)

    def clip_by_value(
        self, t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None
    ) -> Any:
        """Clip each element to the given limits."""
        tensor = self._tensor(t)
        below = self.minimum(tensor, clip_value_max)
        clipped = self.maximum(below, clip_value_min, name)
        for made in (below, clipped):
            tensor.shape.assert_is_compatible_with(made.shape)
        return clipped

    def add_n(self, inputs: Sequence[Any], name: str | None = None) -> Any:
        """Add several tensors of one shape."""
        if not inputs:
            raise ValueError(
                "Inputs must be an iterable of at least one Tensor with the same dtype."
            )
        first, *others = self._version.alike("AddN", inputs)
        return self._apply(rows.ADD_N, (self._version.checked(rows.ADD_N, first), *others), name)

    def matmul(
        self,
        a: Any,
        b: Any,
        transpose_a: bool = False,
        transpose_b: bool = False,
        name: str | None = None,
    ) -> Any:
        """Multiply two matrices."""
        first, second = self._version.pair("MatMul", a, b)
        inputs = self._version.checked(matrices.MATMUL, first), second
        turned = {"transpose_a": bool(transpose_a), "transpose_b": bool(transpose_b)}
        return self._apply(matrices.MATMUL, inputs, name, **turned)


class Products(Faces):
    """The functions of ``tf`` that compute products along dimensions."""

    def einsum(self, equation: str, *inputs: Any, **_: Any) -> Any:
        """Compute the sum of products that an Einstein summation equation describes."""
        return self._apply(matrices.EINSUM, [self._tensor(x) for x in inputs], equation=equation)

    def tensordot(self, a: Any, b: Any, axes: Any, name: str | None = None) -> Any:
        """Contract two tensors: compute sums of products along the given axes of both."""
        along: Any = axes if isinstance(axes, int) else np.asarray(axes).tolist()
        inputs = self._version.pair("Tensordot", a, b)
        return self._apply(matrices.TENSORDOT, inputs, name, axes=along)

    def meshgrid(self, *args: Any, indexing: str = "xy", name: str | None = None) -> list[Any]:
        """Return the coordinates of a grid, one tensor for each dimension."""
        if indexing not in ("xy", "ij"):
            raise ValueError("Argument `indexing` parameter must be either 'xy' or 'ij'")
        tensors = [self._tensor(each) for each in args]
        found: list[Any] = self._version.apply_all(
            filling.MESHGRID, tensors, name, indexing=indexing
        )
        return found

    def eye(
        self,
        num_rows: int,
        num_columns: int | None = None,
        batch_shape: Any = None,
        dtype: Any = float32,
        name: str | None = None,
    ) -> Any:
        """Return an identity matrix: ones on the diagonal and zeros elsewhere."""
        whole = np.eye(num_rows, num_columns, dtype=as_dtype(dtype).numpy)
        found = np.broadcast_to(whole, (*(batch_shape or ()), *whole.shape)).copy()
        return self._tensor(found, None, name)


def _along(x: Any, *, axis: int, logarithm: bool) -> Any:
    along = (axis % x.ndim,)
    shifted = x - reduced(np.maximum, x, along, True)
    powers = _tensor.elementwise("exp", shifted) if x.dtype == np.float32 else np.exp(shifted)
    total = reduced(np.add, powers, along, True)
    return shifted - np.log(total) if logarithm else powers / total


_SOFTMAX = rows.elementwise("Softmax", _along, "f")
_SOFTPLUS = rows.float_function("Softplus", lambda x: np.logaddexp(x, 0), "f")
_RELU = unary("Relu", lambda x: rows.MAXIMUM.kernel(x, np.zeros((), x.dtype)), "fiu")


class Activations(Elementwise):
    """The elementwise functions that are only in ``tf.nn``."""

    def __init__(self, version: Version) -> None:
        super().__init__(version)
        self.relu: Final = self._unary(_RELU)
        self.softplus: Final = self._unary(_SOFTPLUS)

    def softmax(self, logits: Any, axis: int | None = None, name: str | None = None) -> Any:
        """Compute ``exp(logits)``, divided by its sum along a dimension."""
        return self._softmax(logits, axis, name, False)

    def log_softmax(self, logits: Any, axis: int | None = None, name: str | None = None) -> Any:
        """Compute the logarithm of :meth:`softmax`."""
        return self._softmax(logits, axis, name, True)

    def _softmax(self, logits: Any, axis: int | None, name: str | None, logarithm: bool) -> Any:
        x = self._operand(_SOFTMAX, logits)
        last = -1 if axis is None else int(axis)
        if last >= 0:  # an axis counted from the end remains valid for many elements at once
            if x.shape.ndims is None:
                raise TypeError("softmax along a dimension counted from the first needs a rank")
            last -= x.shape.ndims
        return self._apply(_SOFTMAX, [x], name, axis=last, logarithm=logarithm)


class Matrices(Faces):
    """The functions of ``tf.linalg`` that operate on matrices."""

    def band_part(self, input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Any:
        """Set a matrix to zero outside of a band around its diagonal."""
        inputs = [self._tensor(each) for each in (input, num_lower, num_upper)]
        return self._apply(matrix_rows.BAND_PART, inputs, name)

    def diag(self, diagonal: Any, name: str = "diag") -> Any:
        """Return matrices with the given diagonals."""
        return self._apply(matrix_rows.DIAG, [self._tensor(diagonal)], name)

    def diag_part(self, input: Any, name: str = "diag_part") -> Any:
        """Return the diagonals of square matrices."""
        return self._apply(matrix_rows.DIAG_PART, [self._tensor(input)], name)

    def trace(self, x: Any, name: str | None = None) -> Any:
        """Compute the sums of the diagonals of matrices."""
        return self._apply(matrix_rows.TRACE, [self._tensor(x)], name)

    def inv(self, input: Any, name: str | None = None) -> Any:
        """Compute the inverses of square matrices."""
        return self._apply(matrix_rows.INVERSE, [self._operand(matrix_rows.INVERSE, input)], name)

    def det(self, input: Any, name: str | None = None) -> Any:
        """Compute the determinants of square matrices."""
        return self._apply(
            matrix_rows.DETERMINANT, [self._operand(matrix_rows.DETERMINANT, input)], name
        )


class RareMatrices(Faces):
    """The rarely used functions of ``tf.linalg``."""

    def matrix_transpose(
        self, a: Any, name: str = "matrix_transpose", conjugate: bool = False
    ) -> Any:
        """Swap the rows and columns of matrices."""
        return self._swap(a, name, conjugate)

    def adjoint(self, matrix: Any, name: str | None = None) -> Any:
        """Swap the rows and columns of matrices, and conjugate the elements."""
        return self._swap(matrix, name, True)

    def _swap(self, matrix: Any, name: str | None, conjugate: bool) -> Any:
        x = self._tensor(matrix)
        if x.shape.ndims is not None and x.shape.ndims < 2:
            raise ValueError(
                f"Argument `a` should be a (batch) matrix with rank >= 2. Received {x}"
            )
        return self._apply(matrix_rows.SWAP, [x], name, conjugate=bool(conjugate))

    def cholesky(self, input: Any, name: str | None = None) -> Any:
        """Compute the Cholesky factors of matrices, which are lower triangular."""
        return self._apply(matrix_rows.CHOLESKY, [self._tensor(input)], name)

    def cross(self, a: Any, b: Any, name: str | None = None) -> Any:
        """Compute the cross products of vectors of three elements."""
        return self._apply(matrix_rows.CROSS, self._version.pair("Cross", a, b), name)

    def logdet(self, matrix: Any, name: str | None = None) -> Any:
        """Compute the logarithms of the determinants of positive definite matrices."""
        return self._apply(matrix_rows.LOG_DET, [self._tensor(matrix)], name)

    def pinv(
        self, a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None
    ) -> Any:
        """Compute the pseudo-inverses of matrices."""
        x = self._tensor(a)
        if not x.dtype.is_floating:
            raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {x.dtype.name}).")
        if (rank := x.shape.ndims) is not None and rank < 2:
            raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {rank}).")
        least = [] if rcond is None else [self._tensor(rcond, x.dtype)]
        return self._apply(matrix_rows.PINV, [x, *least], name)

    def set_diag(
        self, input: Any, diagonal: Any, name: str = "set_diag", k: int = 0, align: Any = None
    ) -> Any:
        """Replace the diagonals of matrices."""
        if k:
            raise NotImplementedError(
                "set_diag covers k=0: tf.where of band_part(ones, ...) sets other diagonals"
            )
        x = self._tensor(input)
        return self._apply(matrix_rows.SET_DIAG, [x, self._tensor(diagonal, x.dtype)], name)

    def solve(self, matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
        """Solve systems of linear equations: return x so that the matrix times x is `rhs`."""
        first, second = self._version.pair("MatrixSolve", matrix, rhs)
        self._version.checked(matrix_rows.SOLVE, first)
        return self._apply(matrix_rows.SOLVE, [first, second], name, adjoint=bool(adjoint))

    def normalize(
        self, tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
    ) -> tuple[Any, Any]:
        """Scale vectors to length 1, and return them and their previous lengths."""
        x = self._tensor(tensor)
        length = Reductions(self._version).norm(x, ord, axis, keepdims=True)
        return self._apply(DIV, [x, length], name), length
