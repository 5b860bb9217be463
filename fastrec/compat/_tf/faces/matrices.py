# SPDX-License-Identifier: Apache-2.0
"""Matrices: parts of them, inverses and determinants."""

from __future__ import annotations

from typing import Any

from ..ops import segments
from . import Faces

__all__ = ["Matrices"]


class Matrices(Faces):
    """The functions of ``tf.linalg`` that work on matrices."""

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
        return self._apply(segments.INVERSE, [self._operand(segments.INVERSE, input)], name)

    def det(self, input: Any, name: str | None = None) -> Any:
        """The determinants of square matrices."""
        return self._apply(segments.DETERMINANT, [self._operand(segments.DETERMINANT, input)], name)
