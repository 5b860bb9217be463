# SPDX-License-Identifier: Apache-2.0
"""Write one file, with optional compression."""

from __future__ import annotations

import os
from typing import Any, Final

from .. import _core
from ..errors import FastrecError
from ..storage.options import StorageOptions
from .byte_sources import NamedFile
from .compression import compressor
from .framing import FRAME_OVERHEAD
from .inflated import Inflated
from .targets import open_writer
from .zstd import FrameCompressor

__all__ = ["Output"]


class Output:
    """A file being written, with an optional compressor."""

    BLOCK = 1 << 18

    def __init__(
        self,
        path: Any,
        kind: str | None,
        level: int | None,
        verify: bool,
        storage: StorageOptions,
        **options: Any,
    ) -> None:
        self._kind, self._verify = kind, verify
        self._compressor = None if kind is None else compressor(kind, level)
        self._frames = bytearray()  # frames that wait for the compressor, and their number
        self._waiting = 0
        self._compressed = 0  # bytes passed to the compressor
        self._finished = False
        self.file: Final = open_writer(path, storage, records=True, **options)
        if isinstance(self._compressor, FrameCompressor) and self.file.start:
            with NamedFile(path) as file:
                self._compressor.continue_file(file, self.file.start)
        self.core: _core.RecordWriter = getattr(
            self.file, "core", self.file
        )  # receives the written bytes

    @property
    def count(self) -> int:
        """Number of records."""
        return self.core.count + self._waiting

    @property
    def size(self) -> int:
        """Size before compression, in bytes."""
        if self._compressor is None:
            return self.core.size
        return self._compressed + len(self._frames)

    def write(self, record: Any) -> None:
        """Write a record."""
        if self._compressor is None:
            self.core.write(record)
        else:
            self.write_frames(_core.frame(record), 1)

    def write_many(
        self, records: Any, start: int = 0, stop: int | None = None, step: int = 1
    ) -> None:
        """Write the records that a slice selects."""
        if self._compressor is None:
            self.core.write_many(records, start, stop, step)
        else:
            for frames, count in _core.Frames(records, start, stop, step):
                self.write_frames(frames, count)

    def write_frames(self, frames: Any, count: int) -> None:
        """Write `count` records that are already framed."""
        if self._compressor is None:
            self.core.write_frames(frames, count)
            return
        # Iterating over the records may have closed the file.
        if self._finished or self.core.closed:
            raise ValueError("the writer is closed")
        self._waiting += count
        with memoryview(frames) as view:
            if len(view) >= self.BLOCK:  # a copy would hold the interpreter's lock
                self._compress(view)
                return
            self._frames += view
        if len(self._frames) >= self.BLOCK:
            self._compress()

    def _compress(self, further: bytes | memoryview = b"") -> None:
        """Compress the waiting frames, and further ones, so that Ctrl-C works.

        An interruption ends the file.
        """
        assert self._compressor is not None
        compress = self._compressor.compress
        try:
            for waiting in (self._frames, further):
                with memoryview(waiting) as frames:
                    for begin in range(0, len(frames), self.BLOCK):
                        self.core.write_frames(compress(frames[begin : begin + self.BLOCK]), 0)
            self.core.write_frames(b"", self._waiting)
            self._compressed += len(self._frames) + len(further)
            self._frames.clear()
            self._waiting = 0
        except BaseException:
            self.file.abort()
            raise

    def flush(self) -> None:
        """Write all buffered records to the file."""
        if self._finished:  # the writer has moved on to another file
            return
        if self._compressor is not None:
            self._compress()
        self.core.flush()

    def finish(self) -> None:
        """Write all data and close the file, so that only publishing remains."""
        if self._finished:
            return
        if self._compressor is not None:
            self._compress()
            self.core.write_frames(self._compressor.flush(), 0)
        self.file.finish()
        self._finished = True
        if self._verify:
            self._read_back()

    def _read_back(self) -> None:
        """Raise unless the file on the disk contains the written data."""
        place = self.file.place
        assert place is not None
        with NamedFile(place, self.file.path) as file:
            # Without this call, the data would be read from the page cache instead of the disk.
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            read = None
            if self._kind is not None:
                read = Inflated(file.read, self._kind, os.fsdecode(self.file.path))
            records, size = _core.RecordReader(self.file.path, place=place, read=read).walk()
        if (records, size + records * FRAME_OVERHEAD) != (self.count, self.size):
            raise FastrecError(
                f"{os.fsdecode(self.file.path)!a} has {records} records of {size} bytes when "
                f"read back, and {self.count} were written to it"
            )
