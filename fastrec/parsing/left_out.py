# SPDX-License-Identifier: Apache-2.0
"""Leave records that cannot be used out of requests by number."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..errors import CorruptRecordError, ExampleParseError, FastrecError, with_remedy
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
        self._has_handler = callable(on_error)
        self._found: dict[tuple[Any, ...], Skipped] = {}
        self._damage = Damage("skip" if on_error == "raise" else on_error, None, self._found)
        self._unusable: set[int] = set()
        self._first: FastrecError | None = None
        self._requested, self._has_warned, self._has_usable = 0, False, False
        self._process_with_list = os.getpid()

    @property
    def regions(self) -> list[Skipped]:
        """The records left out so far, in this process."""
        return list(self._found.values())

    def read(
        self, read: Callable[[list[int]], T], numbers: Sequence[int], count: int
    ) -> tuple[T | None, list[int]]:
        """Return the result of `read` for the usable ones of some records, and their numbers.

        The result is None if no record is usable.

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
        IndexError
            If a number is too large.
        FastrecError
            If no record has been usable so far, and 100 records, or all, were left out. If the file
            of a record shrank or was overwritten after it was opened, because then its other
            records may be lost, too.
        """
        self._requested += len(numbers)
        kept = [number for number in numbers if number not in self._unusable]
        try:
            result = read(kept) if kept else None
        except (CorruptRecordError, ExampleParseError) as error:
            _raise_if_changed(error)
            known = len(self._found)
            kept = self._sift(read, kept)
            result = read(kept) if kept else None
            self._warn(self.regions[known:])
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
            _raise_if_changed(error)
            if len(numbers) == 1:
                self._unusable.add(numbers[0])
                self._first = self._first or error.with_traceback(None)
                self._damage.leave_out(error)
                return []
            half = len(numbers) // 2
            return self._sift(read, numbers[:half]) + self._sift(read, numbers[half:])
        return numbers

    def _warn(self, losses: list[Skipped]) -> None:
        """Warn once if more than a tenth of the requested records was left out.

        A worker process also warns at its first losses, because other processes cannot read its
        list.
        """
        left_out = len(self._unusable)
        process = os.getpid()
        if losses and process != self._process_with_list and not self._has_handler:
            self._process_with_list = process
            lost = losses[0]
            warnings.warn(
                f"on_error left out record {lost.record} of {lost.path!a} in worker process "
                f"{process}: {lost.reason}; further records are left out "
                f"without a warning, because {self._owner}.skipped is a list of this process: for "
                "all of them, use no worker processes, or a callable, which gets each error",
                RuntimeWarning,
                stacklevel=5,
            )
        if self._has_warned or not left_out * 10 > self._requested >= _JUDGED:
            return
        self._has_warned = True
        warnings.warn(
            f"on_error left out {left_out} of {self._requested} records; the first: "
            f"{self.regions[0].reason}; {self._owner}.skipped lists them",
            RuntimeWarning,
            stacklevel=5,
        )


def _raise_if_changed(error: FastrecError) -> None:
    """Raise an error that concerns the file, not one record.

    All headers were sound when the file was opened. Therefore only damage of its data concerns a
    single record; all other damage is a change since then.
    """
    if isinstance(error, CorruptRecordError) and error.kind != "data-crc":
        remedy = "the file was sound when it was opened: restore it, or open it again"
        raise with_remedy(error, remedy) from None
