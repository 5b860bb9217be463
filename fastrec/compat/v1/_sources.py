# SPDX-License-Identifier: Apache-2.0
"""Sources of readers: the records of one work item with their keys, one by one or in blocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

import fastrec
from fastrec.errors import FastrecError
from fastrec.records.inflated import Inflated

from .._tf.errors import DataLossError, translated
from .._tf.record_errors import data_error
from .._tf.width import SOURCE, SOURCE_BYTES
from ._rows import Array

if TYPE_CHECKING:
    from fastrec.records.compression import Codec

_HEADER, _FRAMING = 12, 16  # bytes of a record's header, and of its whole frame
_CHUNK = 1 << 18


class Block(NamedTuple):
    """A block of records.

    Attributes
    ----------
    values : fastrec.Bytes
        The records.
    keys : callable
        A function that returns the array of their keys.
    """

    values: fastrec.Bytes
    keys: Callable[[], Array]


class Source(Protocol):
    """The records of one work item."""

    def read(self) -> tuple[bytes, bytes] | None:
        """Return the next key and value; None at the end."""

    def block(self, count: int) -> Block | None:
        """Return at least one and up to `count` available records; None at the end."""

    def close(self) -> None:
        """Release the file."""


def strings(values: list[bytes]) -> Array:
    """Return a vector of strings."""
    column = np.empty(len(values), object)
    column[:] = values
    return column


def opened(path: bytes) -> IO[bytes]:
    """Open a file for reading.

    Raises
    ------
    OpError
        If the file cannot be opened, with TensorFlow's class and message.
    """
    try:
        return open(path, "rb")
    except OSError as error:
        text = f"{os.fsdecode(path)}; {error.strerror}"
        raise translated(error, text) from error


class _OneByOne:
    """Blocks for sources that are read one record at a time."""

    def read(self) -> tuple[bytes, bytes] | None:
        raise NotImplementedError

    def block(self, count: int) -> Block | None:
        pairs: list[tuple[bytes, bytes]] = []
        while len(pairs) < count and (pair := self.read()) is not None:
            pairs.append(pair)
        if not pairs:
            return None
        keys = [key for key, _ in pairs]
        return Block(fastrec.Bytes.from_list([v for _, v in pairs]), lambda: strings(keys))

    def close(self) -> None:
        pass


class Records:
    """A TFRecord file. Keys are ``<file>:<offset>``.

    Damage is reported by every read, because reading cannot continue after it.
    """

    def __init__(self, path: bytes, compression: Codec | None) -> None:
        self._path, self._compressed = path, compression is not None
        with opened(path) as file:
            head = b"" if self._compressed else file.read(_HEADER)
        size = int.from_bytes(head[:8], "little") + _FRAMING
        count = max(1, min(SOURCE, SOURCE_BYTES // size))
        reader = fastrec.Reader(os.fsdecode(path), compression=compression, index=False)
        self._blocks = reader.blocks(count)
        self._block: fastrec.Bytes | None = None
        self._at = 0
        self._offset = 0
        self._error: Exception | None = None

    def _fill(self) -> fastrec.Bytes | None:
        if self._block is None and self._error is None:
            try:
                self._block = next(self._blocks, None)
            except (FastrecError, OSError) as error:
                self._error = error
            self._at = 0
        if self._error is not None:
            raise data_error(self._error, compressed=self._compressed) from self._error
        return self._block

    def read(self) -> tuple[bytes, bytes] | None:
        block = self._fill()
        if block is None:
            return None
        value = block[self._at]
        key = b"%b:%d" % (self._path, self._offset)
        self._offset += len(value) + _FRAMING
        self._at += 1
        if self._at == len(block):
            self._block = None
        return key, value

    def block(self, count: int) -> Block | None:
        block = self._fill()
        if block is None:
            return None
        start, stop = self._at, min(len(block), self._at + count)
        self._at = stop
        if stop == len(block):
            self._block = None
        taken = block if stop - start == len(block) else block[start:stop]
        sizes = np.diff(taken.offsets) + _FRAMING
        offsets = self._offset + np.cumsum(sizes) - sizes
        self._offset += int(sizes.sum())
        path = self._path
        return Block(taken, lambda: strings([b"%b:%d" % (path, at) for at in offsets.tolist()]))

    def close(self) -> None:
        self._blocks = iter(())
        self._block = None


class Lines(_OneByOne):
    """The lines of a file. Keys are ``<file>:<number>``, from 1."""

    def __init__(self, path: bytes, skip: int) -> None:
        self._path, self._number = path, 0
        self._file = opened(path)
        for _ in range(skip):
            if self.read() is None:
                break

    def read(self) -> tuple[bytes, bytes] | None:
        try:
            line = self._file.readline()
        except OSError as error:
            raise translated(error) from error
        whole = line.endswith(b"\n")
        if whole:
            line = line[:-1]
        if line.endswith(b"\r"):
            line = line[:-1]
        if not whole and not line:
            return None
        self._number += 1
        return b"%b:%d" % (self._path, self._number), line

    def close(self) -> None:
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):  # the constructor may have failed
            self._file.close()


class Fixed:
    """A file of records of one length. Keys are ``<file>:<number>``, from 0.

    Record `i` begins at ``header + i * hop`` and ends before the footer; an incomplete rest is not
    a record.
    """

    def __init__(
        self, path: bytes, record: int, header: int, footer: int, hop: int, compression: str | None
    ) -> None:
        self._path, self._number = path, 0
        self._record, self._footer, self._hop = record, footer, hop or record
        self._file = opened(path)
        read: Callable[[int], bytes] = self._file.read
        if compression is not None:
            read = Inflated(self._file.read, compression, os.fsdecode(path), close=self._file.close)
        self._read = read
        self._buffer = bytearray()
        self._ended = False
        self._skip = header
        if not self._fill(0):
            # TensorFlow reports the end of its queue here, and leaves the other files unread.
            size = header - self._skip
            self.close()
            raise DataLossError(
                None,
                None,
                f"{os.fsdecode(path)} is shorter than its header: {size} of {header} bytes",
            )

    def _fill(self, size: int) -> bool:
        """Skip pending bytes, then read `size` bytes; return whether they are available."""
        while (self._skip or len(self._buffer) < size) and not self._ended:
            dropped = min(self._skip, len(self._buffer))
            del self._buffer[:dropped]
            self._skip -= dropped
            if self._skip or len(self._buffer) < size:
                try:
                    more = self._read(max(_CHUNK, size - len(self._buffer)))
                except (FastrecError, OSError) as error:
                    raise data_error(error, compressed=True) from error
                self._ended = not more
                self._buffer += more
        return not self._skip and len(self._buffer) >= size

    def _take(self, count: int) -> Array | None:
        """Return up to `count` records, ``[n, record]``."""
        hop, record = self._hop, self._record
        if hop == 0:
            return np.empty((count, 0), np.uint8)
        self._fill((count - 1) * hop + record + self._footer)
        whole = len(self._buffer) - self._footer - record
        if self._skip or whole < 0:
            return None
        count = min(count, whole // hop + 1)
        flat = np.frombuffer(self._buffer, np.uint8)
        rows = np.lib.stride_tricks.as_strided(
            flat, (count, record), (hop, 1), writeable=False
        ).copy()
        del flat
        drop = min(count * hop, len(self._buffer))
        del self._buffer[:drop]
        self._skip = count * hop - drop
        return rows

    def read(self) -> tuple[bytes, bytes] | None:
        block = self.block(1)
        if block is None:
            return None
        return b"%b:%d" % (self._path, self._number - 1), block.values[0]

    def block(self, count: int) -> Block | None:
        count = max(1, min(count, SOURCE_BYTES // max(self._hop, self._record, 1)))
        rows = self._take(count)
        if rows is None:
            return None
        path, first = self._path, self._number
        self._number += len(rows)
        numbers = range(first, self._number)
        offsets = np.arange(len(rows) + 1, dtype=np.int64) * self._record
        values = fastrec.Bytes(rows.reshape(-1), offsets)
        return Block(values, lambda: strings([b"%b:%d" % (path, n) for n in numbers]))

    def close(self) -> None:
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):  # the constructor may have failed
            self._file.close()


class Once(_OneByOne):
    """A work item that is a record itself."""

    def __init__(self, key: bytes, value: bytes) -> None:
        self._pair: tuple[bytes, bytes] | None = (key, value)

    def read(self) -> tuple[bytes, bytes] | None:
        pair, self._pair = self._pair, None
        return pair


def whole_file(path: bytes) -> Once:
    """Return a file as one record, with its name as the key."""
    with opened(path) as file:
        try:
            return Once(path, file.read())
        except OSError as error:
            raise translated(error) from error


class Generated(_OneByOne):
    """The pairs that a user-defined reader yields for a work item."""

    def __init__(self, pairs: Iterator[tuple[Any, Any]]) -> None:
        self._pairs = pairs

    def read(self) -> tuple[bytes, bytes] | None:
        pair = next(self._pairs, None)
        return None if pair is None else (_as_bytes(pair[0]), _as_bytes(pair[1]))


def _as_bytes(text: Any) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)
