# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: positions in a compressed file from which it can be inflated.

A checkpoint is the bit position at which a block of a deflate stream begins, with the 32 KiB of
output before it. Inflaters take this output as a dictionary, but can only begin at whole bytes. The
bits before the block are therefore replaced by empty blocks.
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
from .compression import CODECS, inflater_library
from .inflate import Resume
from .paths import PathLike

__all__ = ["MAGIC", "Checkpoints", "Marks", "Stamp", "ends_crc32c", "mismatch", "spacing_of"]

MAGIC = b"\x89FRZ\r\n\x1a\n"
_VERSION = 2
_HEAD = struct.Struct("<8sIIQqQQIII")
_HEAD_SIZE = _HEAD.size + 4  # including its own CRC
_WINDOW = 1 << 15  # bytes of earlier output that a deflate block may refer to
_END = 1 << 12  # bytes at each end of a file that identify it
_EVERY = 1 << 19  # bytes of output between two checkpoints
_MOST = 4096  # maximum number per file; longer files have larger spacing
_MOST_FRAMES = 1 << 18  # the same for zstd, where checkpoints need little memory


def spacing_of(output: int) -> int:
    """Return the approximate spacing of a file's checkpoints, in bytes, from its output size."""
    spacing = _EVERY
    while output > spacing * _MOST:
        spacing *= 2
    return spacing


class Stamp(NamedTuple):
    """Identification of a compressed file: its size, and its modification time or its two ends."""

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
    """Finds checkpoints while a file is inflated from start to end.

    Parameters
    ----------
    kind : str
        Compression of the file.
    every : int
        Minimum output between two checkpoints, in bytes.
    """

    def __init__(self, kind: str, every: int = _EVERY) -> None:
        self._kind, self._every, self._next = kind, every, 0
        self._most = _MOST_FRAMES if kind == "ZSTD" else _MOST
        self._found: list[tuple[int, int, bytes]] = []
        self._base = self._begin = self._size = 0
        self._walk = _core.DeflateWalk(0, 0)
        self._recent = b""  # recent output of the member, from which windows are still to be cut
        self._waiting: list[tuple[int, int]] = []  # blocks whose windows are incomplete

    def begin(self, at: int, output: int) -> None:
        """Start a deflate stream at byte `at` of the file."""
        self._base, self._begin, self._size = output, at, 0
        self._recent = b""
        if output >= self._next:
            self._add(at * 8, output, b"")
        self._walk = _core.DeflateWalk(self._next - output, self._every)

    def add(self, piece: memoryview, data: bytes, last: bool) -> None:
        """Process an inflated `piece` and its output `data`; `last` means the end of the stream.

        Raises
        ------
        FastrecError
            If the piece is not part of a deflate stream with this output.
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
        # isal's compress() needs 64 KiB of thread stack, but a compressor object allocates its
        # memory.
        packer = inflater_library().compressobj(1)
        self._found.append((bits, output, packer.compress(window) + packer.flush()))
        if len(self._found) > self._most:
            self._found = self._found[::2]
            self._every *= 2
        self._next = output + self._every

    def checkpoints(self, stamp: Stamp) -> Checkpoints:
        """Return the checkpoints of the file, which must have been read to its end."""
        places = np.array([found[:2] for found in self._found], np.uint64).reshape(-1, 2)
        return Checkpoints(self._kind, stamp, places, [found[2] for found in self._found])


class Checkpoints:
    """Checkpoints of one file, in order; the first one is at the start of its first stream.

    Parameters
    ----------
    kind : {"GZIP", "ZLIB", "TAR", "ZSTD"}
    stamp : Stamp
        Identification of the file.
    places : ndarray of uint64, shape (n, 2)
        Position of each checkpoint: in bits of the file, and in bytes of output.
    windows : list of bytes-like
        Compressed output before each checkpoint.
    """

    def __init__(
        self, kind: str, stamp: Stamp, places: NDArray[np.uint64], windows: list[Any]
    ) -> None:
        self.kind: str = kind
        self.stamp: Stamp = stamp
        self.places: NDArray[np.uint64] = places
        self._windows = windows
        self.outputs: NDArray[np.uint64] = places[:, 1]

    def __len__(self) -> int:
        return len(self.places)

    def find(self, output: int) -> int:
        """Return the number of the last checkpoint at or before a byte of output."""
        return int(np.searchsorted(self.outputs, np.uint64(output), "right")) - 1

    def byte_after(self, number: int) -> int:
        """Return the file offset at which the compressed data of a checkpoint's span ends."""
        following = number + 1
        return int(self.places[following][0]) + 7 >> 3 if following < len(self) else self.stamp.size

    def resume(self, number: int) -> tuple[int, Resume]:
        """Return the file offset to read from, and the state to resume inflating with.

        Raises
        ------
        zlib.error
            If the window is damaged.
        """
        bits = int(self.places[number][0])
        window = zlib.decompressobj().decompress(self._windows[number], _WINDOW)
        return bits >> 3, Resume(bits & 7, window)

    def compare(self, place: PathLike, path: PathLike) -> None:
        """Raise IndexMismatchError unless these checkpoints match the file at `place`.

        The error names `path`. The file's stamp is adopted, since a copy of a file has another
        modification time.
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
        """Return these checkpoints and the index of the output as one block (FORMAT.md)."""
        saved = bytes(memoryview(index))
        stops = np.cumsum([len(window) for window in self._windows], dtype=np.uint64)
        table = np.column_stack([self.places, stops]).astype("<u8")
        body = b"".join([saved, table.tobytes(), *self._windows])
        kind, (size, mtime_ns, ends) = CODECS.index(self.kind), self.stamp
        counts = len(saved), len(self), _core.crc32c(body)
        head = _HEAD.pack(MAGIC, _VERSION, kind, size, mtime_ns, *counts, ends, 0)
        return head + _core.crc32c(head).to_bytes(4, "little") + body

    @classmethod
    def load(cls, data: bytes, path: Any) -> tuple[_core.FileIndex, Checkpoints]:
        """Return the index of the output and the checkpoints from the result of :meth:`save`.

        Raises
        ------
        IndexMismatchError
            If the data is not a valid result of :meth:`save`.
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
        refuse_unless(saved + 24 * count <= len(body) and kind < len(CODECS), "its sizes are wrong")
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
        # Copies: a view of `data` would keep all of it in memory, including the index of the
        # output.
        pieces = [bytes(windows[begin:end]) for begin, end in pairwise(cuts)]
        return index, cls(CODECS[kind], Stamp(size, mtime_ns, ends), places, pieces)


def mismatch(path: Any, what: str) -> IndexMismatchError:
    """Return the error that rejects an index."""
    name = os.fsdecode(path)
    error = IndexMismatchError(
        f"the index of {name!a} is refused: {what}; build it again with fastrec.Index.build"
    )
    error.path = name
    return error
