# SPDX-License-Identifier: Apache-2.0
"""Functions of matrices: their parts, inverses and determinants."""

from __future__ import annotations

from typing import Any

from ..ops import matrices as rows
from ..ops.arithmetic import DIV
from . import Faces
from .reductions import Reductions

__all__ = ["Matrices", "RareMatrices"]


class Matrices(Faces):
    """The functions of ``tf.linalg`` that operate on matrices."""

    def band_part(self, input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Any:
        """Set a matrix to zero outside of a band around its diagonal."""
        inputs = [self._tensor(each) for each in (input, num_lower, num_upper)]
        return self._apply(rows.BAND_PART, inputs, name)

    def diag(self, diagonal: Any, name: str = "diag") -> Any:
        """Return matrices with the given diagonals."""
        return self._apply(rows.DIAG, [self._tensor(diagonal)], name)

    def diag_part(self, input: Any, name: str = "diag_part") -> Any:
        """Return the diagonals of square matrices."""
        return self._apply(rows.DIAG_PART, [self._tensor(input)], name)

    def trace(self, x: Any, name: str | None = None) -> Any:
        """Compute the sums of the diagonals of matrices."""
        return self._apply(rows.TRACE, [self._tensor(x)], name)

    def inv(self, input: Any, name: str | None = None) -> Any:
        """Compute the inverses of square matrices."""
        return self._apply(rows.INVERSE, [self._operand(rows.INVERSE, input)], name)

    def det(self, input: Any, name: str | None = None) -> Any:
        """Compute the determinants of square matrices."""
        return self._apply(rows.DETERMINANT, [self._operand(rows.DETERMINANT, input)], name)


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
        return self._apply(rows.SWAP, [x], name, conjugate=bool(conjugate))

    def cholesky(self, input: Any, name: str | None = None) -> Any:
        """Compute the Cholesky factors of matrices, which are lower triangular."""
        return self._apply(rows.CHOLESKY, [self._tensor(input)], name)

    def cross(self, a: Any, b: Any, name: str | None = None) -> Any:
        """Compute the cross products of vectors of three elements."""
        return self._apply(rows.CROSS, self._version.pair("Cross", a, b), name)

    def logdet(self, matrix: Any, name: str | None = None) -> Any:
        """Compute the logarithms of the determinants of positive definite matrices."""
        return self._apply(rows.LOG_DET, [self._tensor(matrix)], name)

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
        return self._apply(rows.PINV, [x, *least], name)

    def set_diag(
        self, input: Any, diagonal: Any, name: str = "set_diag", k: int = 0, align: Any = None
    ) -> Any:
        """Replace the diagonals of matrices."""
        if k:
            raise NotImplementedError(
                "set_diag covers k=0: tf.where of band_part(ones, ...) sets other diagonals"
            )
        x = self._tensor(input)
        return self._apply(rows.SET_DIAG, [x, self._tensor(diagonal, x.dtype)], name)

    def solve(self, matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
        """Solve systems of linear equations: return x so that the matrix times x is `rhs`."""
        first, second = self._version.pair("MatrixSolve", matrix, rhs)
        self._version.checked(rows.SOLVE, first)
        return self._apply(rows.SOLVE, [first, second], name, adjoint=bool(adjoint))

    def normalize(
        self, tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
    ) -> tuple[Any, Any]:
        """Scale vectors to length 1, and return them and their previous lengths."""
        x = self._tensor(tensor)
        length = Reductions(self._version).norm(x, ord, axis, keepdims=True)
        return self._apply(DIV, [x, length], name), length
