# SPDX-License-Identifier: Apache-2.0
"""Places of a compressed file from which it can be inflated.

A checkpoint is where a block of a deflate stream begins, to the bit, with the 32 KiB of output
before it. Inflaters take these as a dictionary, but begin at whole bytes only: blocks of nothing in
front fill up the first byte.
"""

from __future__ import annotations

import os
import struct
import zlib
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import FastrecError, IndexMismatchError
from .byte_sources import NamedFile
from .compression import inflater_library
from .inflate import Resume
from .paths import PathLike

__all__ = ["MAGIC", "Checkpoints", "Marks", "Stamp", "ends_crc32c", "mismatch", "spacing_of"]

MAGIC = b"\x89FRZ\r\n\x1a\n"
_VERSION = 2
_HEAD = struct.Struct("<8sIIQqQQIII")
_HEAD_SIZE = _HEAD.size + 4  # and its own CRC
_KINDS = ("GZIP", "ZLIB")
_WINDOW = 1 << 15
_END = 1 << 12  # bytes at either end of a file that identify it
_EVERY = 1 << 19  # of output, between two checkpoints
_MOST = 4096  # checkpoints of a file; of longer ones they are further apart


def spacing_of(output: int) -> int:
    """Return the bytes between two checkpoints of a file, about, by the size of its output."""
    spacing = _EVERY
    while output > spacing * _MOST:
        spacing *= 2
    return spacing


class Stamp(NamedTuple):
    """What identifies a compressed file: its size, and its modification time or its two ends."""

    size: int
    mtime_ns: int
    ends: int
    """CRC32C of the first and the last 4 KiB, which has the checksum of all that it inflates to."""


def ends_crc32c(file: Any, size: int) -> int:
    """Return the CRC32C of the first and the last 4 KiB of an open file."""
    file.seek(0)
    crc = _core.crc32c(file.read(_END))
    file.seek(max(0, size - _END))
    return _core.crc32c(file.read(_END), crc)


class Marks:
    """Finds checkpoints while a file is inflated from end to end.

    Parameters
    ----------
    every : int
        The least output between two.
    """

    def __init__(self, every: int = _EVERY) -> None:
        self._every, self._next = every, 0
        self._found: list[tuple[int, int, bytes]] = []
        self._base = self._begin = self._size = 0
        self._walk = _core.DeflateWalk(0, 0)
        self._recent = b""  # the output of the member, as far back as a window may be cut from it
        self._waiting: list[tuple[int, int]] = []  # blocks whose windows are not there yet

    def begin(self, at: int, output: int) -> None:
        """A deflate stream begins at byte `at` of the file."""
        self._base, self._begin, self._size = output, at, 0
        self._recent = b""
        if output >= self._next:
            self._add(at * 8, output, b"")
        self._walk = _core.DeflateWalk(self._next - output, self._every)

    def add(self, piece: memoryview, data: bytes, last: bool) -> None:
        """The inflater has taken `piece` and given `data`; `last`: the stream has ended.

        Raises
        ------
        FastrecError
            When the piece is no part of a deflate stream of that output.
        """
        self._waiting += self._walk.feed(piece, last)
        self._size += len(data)
        self._recent += data
        start = self._size - len(self._recent)
        while self._waiting and self._waiting[0][1] <= self._size:
            bits, output = self._waiting.pop(0)
            window = self._recent[max(output - _WINDOW - start, 0) : output - start]
            self._add(self._begin * 8 + bits, self._base + output, window)
        if last and self._walk.output != self._size:
            raise FastrecError(f"its blocks have {self._walk.output} bytes, not {self._size}")
        keep = _WINDOW + max(self._size - self._walk.output, 0)
        self._recent = self._recent[-keep:]

    def _add(self, bits: int, output: int, window: bytes) -> None:
        if self._found and output <= self._found[-1][1]:
            return
        # isal's compress() needs 64 KiB of the thread's stack; a compressor allocates its memory.
        packer = inflater_library().compressobj(1)
        self._found.append((bits, output, packer.compress(window) + packer.flush()))
        if len(self._found) > _MOST:
            self._found = self._found[::2]
            self._every *= 2
        self._next = output + self._every

    def checkpoints(self, kind: str, stamp: Stamp) -> Checkpoints:
        """Those of the file, which was read to its end."""
        places = np.array([found[:2] for found in self._found], np.uint64).reshape(-1, 2)
        return Checkpoints(kind, stamp, places, [found[2] for found in self._found])


class Checkpoints:
    """Checkpoints of one file, in order; the first is where its first stream begins.

    Parameters
    ----------
    kind : {"GZIP", "ZLIB"}
    stamp : Stamp
        Of the file.
    places : ndarray of uint64, shape (n, 2)
        Bits of the file, and bytes of output.
    windows : list of bytes-like
        What comes before each, compressed.
    """

    def __init__(
        self, kind: str, stamp: Stamp, places: NDArray[np.uint64], windows: list[Any]
    ) -> None:
        self.kind, self.stamp = kind, stamp
        self.places, self._windows = places, windows
        self.outputs = places[:, 1]

    def __len__(self) -> int:
        return len(self.places)

    def find(self, output: int) -> int:
        """The last checkpoint at or before a byte of output."""
        return int(np.searchsorted(self.outputs, np.uint64(output), "right")) - 1

    def byte_after(self, number: int) -> int:
        """The byte of the file up to which what is between a checkpoint and the next one lies."""
        following = number + 1
        return int(self.places[following][0]) + 7 >> 3 if following < len(self) else self.stamp.size

    def resume(self, number: int) -> tuple[int, Resume]:
        """The byte of the file to read from, and what inflating from there takes.

        Raises
        ------
        zlib.error
            When the window is damaged.
        """
        bits = int(self.places[number][0])
        window = zlib.decompressobj().decompress(self._windows[number], _WINDOW)
        return bits >> 3, Resume(bits & 7, window)

    def compare(self, place: PathLike, path: PathLike) -> None:
        """Raise IndexMismatchError, which names `path`, unless these are of the file at `place`.

        The stamp becomes that of the file: a copy of a file has another modification time.
        """
        with NamedFile(place, path) as file:
            status = os.fstat(file.fileno())
            if status.st_size != self.stamp.size:
                raise mismatch(
                    path,
                    f"it was made from a file of {self.stamp.size} bytes, the file has "
                    f"{status.st_size}",
                )
            if status.st_mtime_ns == self.stamp.mtime_ns:
                return
            if ends_crc32c(file, status.st_size) != self.stamp.ends:
                raise mismatch(path, "it was made from another file, with other bytes at its ends")
        self.stamp = self.stamp._replace(mtime_ns=status.st_mtime_ns)

    # -- Beside the file -------------------------------------------------------------------------

    def save(self, index: Any) -> bytes:
        """These and the index of the output as one block (FORMAT.md)."""
        saved = bytes(memoryview(index))
        stops = np.cumsum([len(window) for window in self._windows], dtype=np.uint64)
        table = np.column_stack([self.places, stops]).astype("<u8")
        body = b"".join([saved, table.tobytes(), *self._windows])
        kind, (size, mtime_ns, ends) = _KINDS.index(self.kind), self.stamp
        counts = len(saved), len(self), _core.crc32c(body)
        head = _HEAD.pack(MAGIC, _VERSION, kind, size, mtime_ns, *counts, ends, 0)
        return head + _core.crc32c(head).to_bytes(4, "little") + body

    @classmethod
    def load(cls, data: bytes, path: Any) -> tuple[_core.FileIndex, Checkpoints]:
        """What :meth:`save` made: the index of the output, and the checkpoints.

        Raises
        ------
        IndexMismatchError
            For any other bytes.
        """

        def refuse_unless(right: bool, why: str) -> None:
            if not right:
                raise mismatch(path, why)

        refuse_unless(len(data) >= _HEAD_SIZE, "it ends inside its head")
        magic, version, kind, size, mtime_ns, saved, count, crc, ends, _ = _HEAD.unpack_from(data)
        refuse_unless(magic == MAGIC, "it is not an index of a compressed file")
        head_crc = int.from_bytes(data[_HEAD.size : _HEAD_SIZE], "little")
        refuse_unless(_core.crc32c(data[: _HEAD.size]) == head_crc, "its head is damaged")
        refuse_unless(version == _VERSION, f"its version is {version}, this is {_VERSION}")
        body = memoryview(data)[_HEAD_SIZE:]
        refuse_unless(_core.crc32c(body) == crc, "its body is damaged")
        refuse_unless(saved + 24 * count <= len(body) and kind < len(_KINDS), "its sizes are wrong")
        index = _core.FileIndex.load(body[:saved], path)
        table = np.frombuffer(body[saved : saved + 24 * count], "<u8").reshape(-1, 3)
        windows = body[saved + 24 * count :]
        cuts = [0, *table[:, 2].tolist()]
        places = table[:, :2].astype(np.uint64)
        bits, outputs = places[:, 0].tolist(), places[:, 1].tolist()
        refuse_unless(
            (outputs[0] == 0 if count else index.size == 0)
            and all(map(int.__lt__, outputs, outputs[1:]))
            and all(map(int.__lt__, bits, bits[1:]))
            and all(map(int.__le__, cuts, cuts[1:]))
            and outputs[-1:] <= [index.size]
            and bits[-1:] < [size * 8]
            and cuts[-1] == len(windows),
            "its checkpoints are not in order",
        )
        # Copies: a part of `data` would keep all of it, the index of the output a second time.
        pieces = [bytes(windows[begin:end]) for begin, end in pairwise(cuts)]
        return index, cls(_KINDS[kind], Stamp(size, mtime_ns, ends), places, pieces)


def mismatch(path: Any, what: str) -> IndexMismatchError:
    """The error that refuses an index."""
    name = os.fsdecode(path)
    error = IndexMismatchError(
        f"the index of {name!a} is refused: {what}; build it again with fastrec.Index.build"
    )
    error.path = name
    return error
