# SPDX-License-Identifier: Apache-2.0
"""Tensors sorted, repeated and rolled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..ops import ordering as rows
from . import Faces

__all__ = ["Ordering"]


class TopK(NamedTuple):
    """The largest values, and where they are."""

    values: Any
    indices: Any


def _how(axis: Any, direction: str) -> dict[str, Any]:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Argument `direction` should be ASCENDING or DESCENDING, not {direction}")
    return {"axis": int(np.asarray(axis)), "descending": direction == "DESCENDING"}


class Ordering(Faces):
    """The functions of ``tf`` that move elements by their size or place."""

    def argsort(
        self,
        values: Any,
        axis: int = -1,
        direction: str = "ASCENDING",
        stable: bool = False,
        name: str | None = None,
    ) -> Any:
        """Indices that sort the elements."""
        how = _how(axis, direction)
        return self._apply(rows.ARGSORT, (self._operand(rows.ARGSORT, values),), name, **how)

    def sort(
        self, values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None
    ) -> Any:
        """The elements in the order of their size."""
        how = _how(axis, direction)
        return self._apply(rows.SORT, (self._operand(rows.SORT, values),), name, **how)

    def top_k(self, input: Any, k: Any = 1, sorted: bool = True, name: str | None = None) -> TopK:
        """The `k` largest of each row, and where they are."""
        inputs = (self._operand(rows.TOP_K, input),)
        return TopK(*self._version.apply_all(rows.TOP_K, inputs, name, k=int(np.asarray(k))))

    def repeat(
        self, input: Any, repeats: Any, axis: int | None = None, name: str | None = None
    ) -> Any:
        """Each element so many times, of all or along `axis`."""
        inputs = self._tensor(input), self._version.integers(repeats, "repeats", "Trepeats")
        return self._apply(rows.REPEAT, inputs, name, axis=axis)

    def roll(self, input: Any, shift: Any, axis: Any, name: str | None = None) -> Any:
        """Elements moved along dimensions; those that leave come in on the other side."""
        places = self._version.integers(shift, "shift", "Tshift")
        along = self._version.integers(axis, "axis", "Taxis")
        return self._apply(rows.ROLL, (self._tensor(input), places, along), name)
