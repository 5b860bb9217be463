# SPDX-License-Identifier: Apache-2.0
"""Functions that sort, repeat and roll tensors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..ops import ordering as rows
from . import Faces

__all__ = ["Ordering"]


class TopK(NamedTuple):
    """The largest values and their indices."""

    values: Any
    indices: Any


def _how(axis: Any, direction: str) -> dict[str, Any]:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Argument `direction` should be ASCENDING or DESCENDING, not {direction}")
    return {"axis": int(np.asarray(axis)), "descending": direction == "DESCENDING"}


class Ordering(Faces):
    """The functions of ``tf`` that reorder elements by value or position."""

    def argsort(
        self,
        values: Any,
        axis: int = -1,
        direction: str = "ASCENDING",
        stable: bool = False,
        name: str | None = None,
    ) -> Any:
        """Return the indices that sort the elements along an axis."""
        how = _how(axis, direction)
        return self._apply(rows.ARGSORT, (self._operand(rows.ARGSORT, values),), name, **how)

    def sort(
        self, values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None
    ) -> Any:
        """Sort the elements along an axis."""
        how = _how(axis, direction)
        return self._apply(rows.SORT, (self._operand(rows.SORT, values),), name, **how)

    def top_k(self, input: Any, k: Any = 1, sorted: bool = True, name: str | None = None) -> TopK:
        """Return the `k` largest elements of each row and their indices."""
        inputs = (self._operand(rows.TOP_K, input),)
        return TopK(*self._version.apply_all(rows.TOP_K, inputs, name, k=int(np.asarray(k))))

    def repeat(
        self, input: Any, repeats: Any, axis: int | None = None, name: str | None = None
    ) -> Any:
        """Repeat each element a number of times, in the flattened tensor or along `axis`."""
        inputs = self._tensor(input), self._version.integers(repeats, "repeats", "Trepeats")
        return self._apply(rows.REPEAT, inputs, name, axis=axis)

    def roll(self, input: Any, shift: Any, axis: Any, name: str | None = None) -> Any:
        """Roll elements along dimensions; elements that leave at one end enter at the other."""
        places = self._version.integers(shift, "shift", "Tshift")
        along = self._version.integers(axis, "axis", "Taxis")
        return self._apply(rows.ROLL, (self._tensor(input), places, along), name)
