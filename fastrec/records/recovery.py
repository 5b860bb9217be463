# SPDX-License-Identifier: Apache-2.0
"""Handle damage by policy, and report lost regions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Union

import numpy as np
from numpy.typing import NDArray

from ..arguments import check_int, shown
from ..errors import CorruptRecordError, FastrecError, TruncatedFileError, call_out, warn_caller
from .content import UNKNOWN

__all__ = [
    "JUDGED",
    "Damage",
    "OnError",
    "Skipped",
    "samples",
    "skips_records",
    "spread",
    "warn_of_losses",
]

JUDGED = 100
"""Records before the share of those that were left out is judged."""

_AT_ONCE = 32  # records of a sample that are read together
_MOST_SAMPLED = 1000  # records that represent a source

OnError = Union[Literal["raise", "tolerate_tail", "skip"], Callable[[FastrecError], Any]]  # noqa: UP007

FRAME_OVERHEAD = 16  # bytes of a record's header and footer

MODES = ("raise", "tolerate_tail", "skip")


@dataclass(frozen=True)
class Skipped:
    """A region of a file that was skipped.

    Attributes
    ----------
    path : str
    begin, end : int
        File positions, in bytes. `end` is None if a compressed stream ends early, and for a valid
        record that cannot be parsed. `begin` is -1 if a stream has no positions.
    record : int
        Number of the first lost record in the file, or in the range. Each earlier region counts as
        one record. This is exact unless the end of a region was found by searching, because such a
        region may contain several records.
    kind : str
        For damage, as in :class:`CorruptRecordError`. For a valid record that cannot be parsed,
        ``"malformed"``, ``"schema"`` or ``"image"``.
    reason : str
        Description of the error, and how the end of the region was found.
    ambiguous : bool
        Whether the region contains valid frames. They may belong to a record file that was stored
        inside the damaged record, so they are not treated as records.
    file_range : tuple of int, or None
        Begin and end, in bytes, of the :class:`FileRange` that was read; None for a whole file.
        `record` counts from the start of the range, because earlier records were not read.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_many([b"one", b"two", b"three"])
    >>> with open(path, "r+b") as file:
    ...     _ = file.seek(19 + 12), file.write(b"T")  # in the second record
    >>> reader = fastrec.Reader(path, on_error="skip")
    >>> list(reader)
    [b'one', b'three']
    >>> [(lost.record, lost.begin, lost.end, lost.kind) for lost in reader.skipped]
    [(1, 19, 38, 'data-crc')]
    """

    path: str
    begin: int
    end: int | None
    record: int
    kind: str
    reason: str
    ambiguous: bool = False
    file_range: tuple[int, int] | None = None

    @property
    def size(self) -> int | None:
        """Number of lost bytes."""
        return None if self.end is None else self.end - self.begin

    def __str__(self) -> str:
        size = "an unknown number of" if self.size is None else f"{self.size}"
        part = "" if self.file_range is None else " of [{}:{}]".format(*self.file_range)
        which = f"record {self.record}{part}"
        return f"{self.path!a}: {size} bytes at {self.begin} ({which}): {self.reason}"


class Damage:
    """The policy of one pass over the files; called by the extension.

    Parameters
    ----------
    on_error : {"tolerate_tail", "skip"} or callable
    max_bad : int or None
        Maximum number of regions to skip; the next region raises.
    found : dict
        Receives the regions, by path, range and position.
    """

    def __init__(
        self, on_error: OnError, max_bad: int | None, found: dict[tuple[Any, ...], Skipped]
    ) -> None:
        self._on_error = on_error
        self._left = max_bad
        self._found = found

    def __call__(self, error: Any, skipped: tuple[Any, ...]) -> bool:
        """Record the region; return True to continue after it, or False to end the file."""
        begin, end, searched, whole, ambiguous, last = skipped
        if self._on_error == "tolerate_tail" and not _is_tail(error, last):
            raise error
        if self._on_error == "skip" and _is_of_foreign_file(error, begin, last):
            raise error
        if self._left is not None and self._left == 0:
            raise error
        if callable(self._on_error):
            call_out(self._on_error, error)
        if self._left is not None:
            self._left -= 1
        reason = error.problem + _how(searched, whole, ambiguous, last)
        path = str(error.path)
        part = error.file_range
        self._found[path, part, begin] = Skipped(
            path, begin, end, error.record or 0, error.kind, reason, ambiguous, part
        )
        return not last

    def leave_out(self, error: FastrecError) -> None:
        """Report a record that cannot be used, or raise the error."""
        if self._on_error == "tolerate_tail" or self._left == 0:
            raise error
        if callable(self._on_error):
            call_out(self._on_error, error)
        path, record = error.path or "", error.record or 0
        begin = -1 if error.offset is None else error.offset
        place = path, error.file_range, begin if begin >= 0 else -1 - record
        if place not in self._found and self._left is not None:
            self._left -= 1
        kind, end, reason = getattr(error, "kind", ""), None, error.problem
        if isinstance(error, CorruptRecordError) and error.length is not None:
            end = begin + error.length + FRAME_OVERHEAD
            reason += _how(False, False, False, False)
        self._found[place] = Skipped(
            path, begin, end, record, kind, reason, file_range=error.file_range
        )

    def useless(
        self,
        first: FastrecError | None,
        count: int,
        *,
        others: str = "",
        which: str = "The first",
    ) -> FastrecError:
        """Return the error for a source without any usable record.

        `first` is the error of a record, None if all records are damaged, and `which` names it.
        `count` is the number of records that were left out; `others` tells of further records.
        """
        reason: object = first
        if first is None:
            region = reason = self.regions[0]
            first = CorruptRecordError()
            first.kind, first.path, first.record = region.kind, region.path, region.record
            first.offset, first.file_range = region.begin, region.file_range
        error = type(first)(
            f"no record can be used: all of the first {count} were left out{others}. "
            f"{which}: {reason}; on_error leaves out single records, not all: correct the "
            "features or the source"
        )
        error.__dict__.update(first.__dict__)
        return error

    @property
    def regions(self) -> list[Skipped]:
        """All regions skipped so far, in this pass and in other passes over the same files."""
        return list(self._found.values())


def warn_of_losses(left_out: int, count: int, details: str) -> bool:
    """Warn if more than a tenth of `count` records was left out, and return whether that is so."""
    is_much = left_out * 10 > count
    if is_much:
        warn_caller(f"on_error left out {left_out} of {count} records; {details}")
    return is_much


def spread(total: int, count: int) -> NDArray[np.uint64]:
    """Return up to `count` numbers of `total` records, at equal distances."""
    return np.unique(np.linspace(0, max(total - 1, 0), count).astype(np.uint64))[:total]


def samples(total: int, *, is_remote: bool) -> Iterator[NDArray[np.uint64]]:
    """Yield the numbers of records that represent a source of `total` records, in a few parts.

    Each part comes from all over the source. A remote source has one part, because each remote
    record takes a request.
    """
    numbers = spread(total, _AT_ONCE if is_remote else _MOST_SAMPLED)
    steps = -(-len(numbers) // _AT_ONCE)
    return (numbers[first::steps] for first in range(steps))


def _is_of_foreign_file(error: Any, begin: int, last: bool) -> bool:
    """Return True if no record of the file can be read because it is not a record file."""
    content = getattr(error, "content", "")
    return bool(content) and (content != UNKNOWN or (begin == 0 and last))


def _is_tail(error: FastrecError, last: bool) -> bool:
    kind = getattr(error, "kind", "")
    is_torn = isinstance(error, TruncatedFileError) and kind != "shrunk" and not error.content
    return last and is_torn


def _how(searched: bool, whole: bool, ambiguous: bool, last: bool) -> str:
    if ambiguous:
        return "; sound frames in it look like data of that record and were passed over"
    if whole:
        return "; its data is sound, only the header is wrong"
    if not searched:
        return "" if last else "; its length is sound, so this is one record"
    return "; no record follows" if last else "; the next record was found by searching"


def skips_records(on_error: OnError) -> bool:
    """Return whether the policy skips single records that cannot be used."""
    return on_error == "skip" or callable(on_error)


def check_policy(on_error: object, max_bad: int | None) -> None:
    """Raise unless the policy is valid."""
    if not callable(on_error) and not (isinstance(on_error, str) and on_error in MODES):
        names = ", ".join(map(repr, MODES))
        raise ValueError(f"on_error must be {names} or callable, got {shown(on_error)}")
    if max_bad is not None:
        check_int("max_bad", max_bad, 0, 2**62)
    if max_bad is not None and on_error in MODES and on_error != "skip":
        raise ValueError("max_bad requires on_error='skip' or a callable")
