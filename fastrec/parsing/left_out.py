# SPDX-License-Identifier: Apache-2.0
"""Leave records that cannot be used out of requests by number."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import CorruptRecordError, FastrecError, detached, warn_caller, with_remedy
from ..records.recovery import JUDGED, Damage, Skipped, samples, warn_of_losses
from ..records.remote_dataset import RemoteDataset
from .parse import Leniency, Misfits, ParseOnError

if TYPE_CHECKING:
    from ..records.reader import Reader

__all__ = ["LeftOut"]

_REMEDY = "the file changed after its headers were read: restore it, or open it again"

_Result = TypeVar("_Result")
_Read = Callable[[list[int], Misfits], _Result]


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
        self._claims: dict[int, object] = {}  # by the number of each record that was left out
        self._first: FastrecError | None = None
        self._requested, self._has_warned, self._has_usable = 0, False, False
        self._process_with_list = os.getpid()

    @property
    def regions(self) -> list[Skipped]:
        """The records left out so far, in this process."""
        return list(self._found.values())

    def __contains__(self, number: int) -> bool:
        """Return whether the record with this number was left out."""
        return number in self._claims

    def read(
        self, read: _Read[_Result], numbers: Sequence[int], reader: Reader
    ) -> tuple[_Result | None, list[int]]:
        """Return the result of `read` for the usable ones of some records, and their numbers.

        The result is None if no record is usable.

        Parameters
        ----------
        read : callable
            Reads the records with some numbers. It leaves out those that cannot be used, and adds
            their places and errors to its second argument.
        numbers : sequence of int
            Numbers of records, which are at least 0.
        reader : Reader
            The records of the dataset.

        Raises
        ------
        IndexError
            If a number is too large.
        FastrecError
            If no record has been usable so far, 100 records, or all, were left out, and so would be
            others from all over the source. If the file of a record shrank or was overwritten after
            it was opened, because then its other records may be lost, too.
        """
        self._requested += len(numbers)
        kept = [*numbers]
        if self._claims:
            kept = [number for number in kept if number not in self._claims]
        result, misfits = _attempt(read, kept) if kept else (None, [])
        if misfits:
            for row, error in misfits:
                self._leave_out(kept[row], detached(error))
            rows = {row for row, _ in misfits}
            kept = [number for row, number in enumerate(kept) if row not in rows]
            self._warn(misfits[0][1])
        if kept:
            self._has_usable = True
        elif self._claims and not self._has_usable:
            self._judge(read, reader)
        return result if kept else None, kept

    def _leave_out(self, number: int, error: FastrecError) -> None:
        """Report a record that cannot be used, once for all threads and requests."""
        claim = object()
        if self._claims.setdefault(number, claim) is not claim:
            return
        try:
            self._damage.leave_out(error)
        except BaseException:  # of the callable, which therefore did not receive the error
            del self._claims[number]
            raise
        self._first = self._first or error

    def _judge(self, read: _Read[object], reader: Reader) -> None:
        """Raise if no record has been usable, and none elsewhere in the source is."""
        count, left_out = len(reader), len(self._claims)
        if left_out < min(JUDGED, count):
            return
        is_remote = isinstance(reader._files.dataset(), RemoteDataset)
        for numbers in samples(count, is_remote=is_remote):
            _, misfits = _attempt(read, numbers.tolist())
            if len(misfits) < len(numbers):
                self._has_usable = True
                return
        others = ", and so would be others from all over the source" if left_out < count else ""
        raise self._damage.useless(self._first, left_out, others=others)

    def _warn(self, error: FastrecError) -> None:
        """Warn once if more than a tenth of the requested records was left out.

        A worker process also warns at its first loss, because other processes cannot read its list.
        """
        process = os.getpid()
        if (
            process != self._process_with_list
            and multiprocessing.parent_process() is not None
            and not self._has_handler
        ):
            self._process_with_list = process
            warn_caller(
                f"on_error left out record {error.record} of {error.path!a} in worker process "
                f"{process}: {error.problem}; further records are left out "
                f"without a warning, because {self._owner}.skipped is a list of this process: for "
                "all of them, use no worker processes, or a callable, which gets each error"
            )
        if not self._has_warned and self._requested >= JUDGED:
            details = f"the first: {self.regions[0].reason}; {self._owner}.skipped lists them"
            self._has_warned = warn_of_losses(len(self._claims), self._requested, details)


def _attempt(read: _Read[_Result], numbers: list[int]) -> tuple[_Result, Misfits]:
    """Read records, and raise an error that concerns a file, not one record, with a remedy.

    Only damage of data concerns one record. All headers were sound when the index was built, so all
    other damage is a later change. A header that differs from a saved index is an
    IndexMismatchError.
    """
    misfits: Misfits = []
    try:
        return read(numbers, misfits), misfits
    except CorruptRecordError as error:
        raise with_remedy(error, _REMEDY) from None
