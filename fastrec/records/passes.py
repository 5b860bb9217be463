# SPDX-License-Identifier: Apache-2.0
"""One pass over record files: the next file to open, and streams of remote files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors import call_out
from ..storage.remote import RemoteFile
from .byte_sources import Summed
from .inflated_ahead import InflatedAhead
from .recovery import Damage

if TYPE_CHECKING:
    from .record_files import RecordFiles
    from .remote_indexes import Kept

__all__ = ["Pass"]


class Pass(Iterator[_core.RecordReader]):
    """The files of one pass. If a file cannot be opened, the next call tries the same file again.

    Attributes
    ----------
    kept : dict
        Bytes of remote files that were read after the pass was created, by file number.
        ``list(reader)`` first requests an iterator, then the length, and only then records.
    started : bool
        Whether a file has been requested.
    """

    def __init__(
        self, files: RecordFiles, damage: Damage | None, views: bool, *, summed: bool = False
    ) -> None:
        self._files, self._damage, self._views = files, damage, views
        self._next = 0
        self._remote: Iterator[Any] | None = None
        self._ahead: InflatedAhead | None = None
        self._summed: list[Summed] | None = [] if summed else None  # stream of the last file
        self.kept: dict[int, Kept] = {}
        self.started: bool = False

    def __next__(self) -> _core.RecordReader:
        files, number = self._files, self._next
        if number == len(files.paths):
            raise StopIteration
        self.started = True
        if self._remote is None and files.remote:
            kept, self.kept = self.kept, {}
            self._remote = _remote_streams(files, number, kept, self._summed)
        if self._summed is not None:
            self._summed.clear()
        self._ahead = self._ahead or InflatedAhead(files, len(files.paths))
        try:
            open_file = partial(files.open, remote=self._remote, ahead=self._ahead)
            reader = call_out(partial(open_file, number, self._damage, views=self._views))
        except BaseException:
            self._remote = self._ahead = None
            raise
        self._next += 1
        return reader

    def totals(self) -> Callable[[], tuple[int, int]] | None:
        """With `summed`, return a function for size and CRC32C of the last file, if a stream."""
        return self._summed[-1].totals if self._summed else None


def _remote_streams(
    files: RecordFiles, first: int, kept: dict[int, Kept], summed: list[Summed] | None
) -> Iterator[Any]:
    """Yield streams of the remote files from number `first` on, or paths of their copies.

    Files in `kept` are read from there. Other streams are added to `summed`, if it is a list.
    """
    left = [
        (number, place)
        for number, place in enumerate(files.places)
        if number >= first and isinstance(place, RemoteFile)
    ]
    fetched = files.streams([place for number, place in left if number not in kept])
    for number, _ in left:
        file: Any = kept.pop(number, None)
        if file is None:
            file = next(fetched)
        else:
            file.seek(0)
        if summed is not None and not isinstance(file, str):
            file = Summed(file)
            summed.append(file)
        yield file
