# SPDX-License-Identifier: Apache-2.0
"""Leave records that cannot be used out of requests by number."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TypeVar

from ..errors import CorruptRecordError, ExampleParseError, FastrecError
from ..records.recovery import Damage, Skipped
from .parse import Leniency, ParseOnError

__all__ = ["LeftOut"]

_JUDGED = 100  # records before their usability is judged

T = TypeVar("T")


class LeftOut:
    """The records that a map-style dataset leaves out, by the policy `on_error`.

    Parameters
    ----------
    on_error : {"raise", "skip"} or callable
    owner : str
        Name of the dataset, for the warning.
    """

    def __init__(self, on_error: ParseOnError, owner: str) -> None:
        self.is_active: bool = Leniency(on_error).skips
        self._owner = owner
        self._found: dict[tuple[str, int], Skipped] = {}
        self._damage = Damage("skip" if on_error == "raise" else on_error, None, self._found)
        self._unusable: set[int] = set()
        self._first: FastrecError | None = None
        self._requested, self._has_warned, self._has_usable = 0, False, False

    @property
    def regions(self) -> list[Skipped]:
        """The records left out so far, in this process."""
        return list(self._found.values())

    def read(
        self, read: Callable[[list[int]], T], numbers: Sequence[int], count: int
    ) -> tuple[T | None, list[int]]:
        """Return the result of `read` for the usable ones of some records, and their numbers.

        The result is None if all of these records are unusable.

        Parameters
        ----------
        read : callable
            Reads the records with some numbers; raises the error of an unusable record.
        numbers : sequence of int
            Numbers of records, which are at least 0.
        count : int
            Number of records of the dataset.

        Raises
        ------
        FastrecError
            If no record has been usable so far, and 100 records, or all, were left out.
        """
        self._requested += len(numbers)
        kept = [number for number in numbers if number not in self._unusable]
        try:
            result = read(kept) if kept else None
        except (CorruptRecordError, ExampleParseError):
            kept = self._sift(read, kept)
            result = read(kept) if kept else None
            self._warn()
        self._has_usable = self._has_usable or bool(kept)
        left_out = len(self._unusable)
        if left_out and not self._has_usable and left_out >= min(_JUDGED, count):
            raise self._damage.useless(self._first, left_out)
        return result, kept

    def _sift(self, read: Callable[[list[int]], object], numbers: list[int]) -> list[int]:
        """Return the numbers of the usable records, and leave the others out."""
        try:
            read(numbers)
        except (CorruptRecordError, ExampleParseError) as error:
            if len(numbers) == 1:
                self._unusable.add(numbers[0])
                self._first = self._first or error.with_traceback(None)
                self._damage.leave_out(error)
                return []
            half = len(numbers) // 2
            return self._sift(read, numbers[:half]) + self._sift(read, numbers[half:])
        return numbers

    def _warn(self) -> None:
        """Warn once if more than a tenth of the requested records was left out."""
        left_out = len(self._unusable)
        if self._has_warned or not left_out * 10 > self._requested >= _JUDGED:
            return
        self._has_warned = True
        warnings.warn(
            f"on_error left out {left_out} of {self._requested} records; the first: "
            f"{self.regions[0].reason}; {self._owner}.skipped lists them",
            RuntimeWarning,
            stacklevel=5,
        )
