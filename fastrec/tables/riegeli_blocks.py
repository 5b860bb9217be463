# SPDX-License-Identifier: Apache-2.0
"""Read and write the chunks of Riegeli files, each with checksums of its header and its data."""

from __future__ import annotations

import os
from typing import Any

from .._core import riegeli_chunk, riegeli_chunks, riegeli_records
from ..errors import CorruptRecordError, FastrecError, LimitExceededError, TruncatedFileError
from ..records.byte_sources import NamedFile
from ..records.content import file_content
from .riegeli_chunks import PADDING, SIGNATURE, expand

__all__ = ["BLOCK", "Chunk", "ChunkReader", "ChunkWriter"]

BLOCK = 1 << 16
"""Bytes from one block header to the next one."""

Chunk = tuple[int, int, int, int, int, int, int]
"""Position, position after it, type, number and size of its records, begin and end of its data."""

_HEADER, _BLOCK_HEADER = 40, 24  # bytes of the headers of a chunk and of a block
_MOST = (1 << 31) - 1  # bytes of a chunk, and of its records, which bounds memory
_RECORD = 64  # bytes of memory that a record takes besides its own bytes
_PIECE = 1 << 20  # bytes that are read or written at once
_COPY = "copy the file again from its origin"
_EXAMINED = 1 << 14  # bytes that are read to name another format
_SIGNATURE = riegeli_chunk(SIGNATURE, 0, 0, b"", 0)
_KINDS = {"truncated": TruncatedFileError, "damaged": CorruptRecordError}


class ChunkReader:
    """Reads the chunks of a local file in order, and checks all checksums.

    Attributes
    ----------
    size : int
        Size of the file, in bytes.
    """

    def __init__(self, path: str, phrase: str) -> None:
        self.path: str = path
        self._phrase = phrase
        self._file = NamedFile(path)
        self.size: int = os.fstat(self._file.fileno()).st_size
        self._room = memoryview(bytearray())
        self._window = self._room  # its part that holds the chunks of the last call
        self._left, self._start = self._room, 0  # what follows them, and its position in the file

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def check_signature(self) -> None:
        """Raise unless the file begins as each Riegeli file does."""
        head = bytes(self._read(0, 0, _EXAMINED)[:_EXAMINED])
        if head.startswith(_SIGNATURE):
            return
        if _SIGNATURE.startswith(head):
            raise self.truncated(f"its {len(head)} bytes end within the signature")
        content = file_content(head)
        text, hint = "its signature is damaged", _COPY
        if content.name not in ("Riegeli", "data of an unknown format"):
            text, hint = f"it looks like {content}", ""
        raise self._error(CorruptRecordError, text, None, 0, hint)

    def chunks(self, begin: int, record: int | None, *, headers: bool = False) -> list[Chunk]:
        """Return the chunk at a position, and some that follow; `record` numbers its first record.

        Their data is valid until the next call. It is neither read nor verified with `headers`.
        """
        wanted = 0
        while True:
            window = self._read(begin, wanted, BLOCK if headers else _PIECE)
            if len(window) < wanted:
                raise self.truncated("the file became shorter", record, begin)
            found, wanted, fault = riegeli_chunks(window, begin, self.size, _MOST, headers)
            if found:
                self._start, self._window = found[-1][1], window
                # A damaged chunk was changed in part, and is read again.
                self._left = window[:0] if fault else window[self._start - begin :]
                return found
            if fault:
                raise self._fault(*fault, record, begin)

    def records(
        self, chunk: Chunk, record: int | None, *, name: str = "a chunk", first: bool = False
    ) -> list[bytes]:
        """Return the records of a chunk, or the first one; an error has the number of that one."""
        begin, _, kind, count, size, data, end = chunk
        memory = size + _RECORD * count
        if memory > _MOST and not first:
            text = f"a chunk takes {memory} bytes of memory, more than the limit of {_MOST}"
            raise self._fault("limit", text, record, begin)
        try:
            return riegeli_records(kind, count, size, self._window[data:end], expand, first)
        except FastrecError as error:
            raise self.damaged(f"{name} cannot be decoded: {error}", record, begin) from None

    def _read(self, begin: int, wanted: int, piece: int) -> memoryview:
        """Return bytes of the file, which the next call may replace; fewer only at its end.

        At least `wanted` bytes are returned. If no byte is in memory yet, `piece` bytes are read.
        """
        left = self._left if begin == self._start else self._left[:0]
        if len(left) < max(wanted, 1):
            size = min(max(wanted, piece), self.size - begin)
            room = self._room if size <= len(self._room) else memoryview(bytearray(size))
            filled = len(left)
            room[:filled] = left
            self._file.seek(begin + filled)
            while filled < size and (more := self._file.readinto(room[filled:size])):
                filled += more
            self._room, left = room, room[:filled]
        return left

    def damaged(self, text: str, record: int | None, offset: int) -> FastrecError:
        """Return the error for damage of a record or, without one, of the file."""
        return self._error(CorruptRecordError, text, record, offset)

    def truncated(self, text: str, record: int | None = None, offset: int = 0) -> FastrecError:
        """Return the error for a file that ends too early."""
        return self._error(TruncatedFileError, text, record, offset)

    def _fault(self, name: str, text: str, record: int | None, offset: int) -> FastrecError:
        if name != "limit":
            return self._error(_KINDS[name], text, record, offset)
        place = f"a chunk at {offset}" if record is None else f"record {record} at {offset}"
        message = f"{self.path!a}: {place}: {text}; write the file with smaller chunks"
        return self._located(LimitExceededError(message), record, offset)

    def _error(
        self,
        kind: type[FastrecError],
        text: str,
        record: int | None,
        offset: int,
        hint: str = _COPY,
    ) -> FastrecError:
        place = "" if record is None else f"record {record} at {offset}: "
        message = f"{self.path!a} is not a whole {self._phrase} file: {place}{text}"
        return self._located(kind(message, hint=hint), record, offset)

    def _located(self, error: FastrecError, record: int | None, offset: int) -> FastrecError:
        error.path, error.record, error.offset = self.path, record, offset
        return error


class ChunkWriter:
    """Writes chunks to a file of the sink.

    Attributes
    ----------
    position : int
        Size of the file so far.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self.position: int = 0
        self._held: list[bytes] = []
        self._held_size = 0
        self.add(SIGNATURE, 0, 0, b"")

    def add(self, kind: int, count: int, size: int, data: bytes) -> int:
        """Write a chunk with records of `size` bytes in all, and return its position."""
        begin = self.position
        chunk = riegeli_chunk(kind, count, size, data, begin)
        self._held.append(chunk)
        self._held_size += len(chunk)
        self.position += len(chunk)
        if self._held_size >= _PIECE:
            self.flush()
        return begin

    def pad(self) -> None:
        """Write a chunk without records that ends at the next multiple of 64 KiB."""
        room = -self.position % BLOCK
        if room:
            # A chunk that is longer than the block has a header of the next block in it.
            room += 0 if room >= _HEADER else BLOCK - _BLOCK_HEADER
            self.add(PADDING, 0, 0, bytes(room - _HEADER))

    def flush(self) -> None:
        """Pass on all bytes."""
        self._file.write_frames(b"".join(self._held), 0)
        self._held, self._held_size = [], 0
