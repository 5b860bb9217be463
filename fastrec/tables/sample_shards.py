# SPDX-License-Identifier: Apache-2.0
"""Shards of samples, as MDS and LitData store them, in a directory with a list of shards.

A shard begins with the number of its samples and their offsets, 32-bit numbers with one more at the
end. A sample begins with the sizes of its values, as far as they vary.
"""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import os
import stat
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..errors import CorruptRecordError, FastrecError, TruncatedFileError
from ..records.byte_sources import NamedFile
from ..records.inflate import inflate
from ..records.targets import open_writer, write_file
from ..storage.options import StorageOptions
from .formats import INDEX, MOST_INDEX
from .sample_values import Decoder, Misfit

__all__ = [
    "BLOCK_BYTES",
    "SHARD_BYTES",
    "Input",
    "Layout",
    "Shard",
    "ShardWriter",
    "check_file",
    "columns_of_samples",
    "damaged",
    "entry",
    "load_index",
    "read_offsets",
    "sample_blocks",
    "shard_path",
    "write_index",
]

SHARD_BYTES = 1 << 26
"""Bytes of a new shard at most, unless it has a number of samples or one large sample."""

BLOCK_BYTES = 4 << 20
"""Bytes of samples that are decoded together, approximately."""

_PIECE = 1 << 20  # bytes that are read or copied at once
_BLOCK = 1024  # samples that are decoded together
_MOST_SAMPLES = 1 << 24  # samples of a shard, whose offsets are in memory
_MOST_SAMPLE = (1 << 31) - 1  # bytes of a sample, which bounds memory
_MOST_BETWEEN = 1 << 24  # bytes between the offsets and the samples
_MOST_SHARD = (1 << 32) - 1  # bytes that offsets can express
_SPOOLED = 1 << 24  # bytes of a new shard in memory, before it goes to a temporary file


class Shard(NamedTuple):
    """A shard that an index lists.

    Attributes
    ----------
    path : str
    samples : int
        Number of samples.
    size : int
        Size without compression, in bytes.
    stored : int or None
        Size of the file; None if the index does not state it.
    compression : str or None
        Compression of the whole file, as :func:`fastrec.records.inflate.inflate` names it.
    hashes : mapping of str to str
        Hashes of the file by algorithm.
    """

    path: str
    samples: int
    size: int
    stored: int | None
    compression: str | None = None
    hashes: Mapping[str, str] = {}


class Layout(NamedTuple):
    """The columns of samples.

    Attributes
    ----------
    names : list of str
    sizes : list of int or None
        Size of the values of each column; None if each sample states it.
    decoders : list of callable
    """

    names: list[str]
    sizes: list[int | None]
    decoders: list[Decoder]


# -- The list of shards ----------------------------------------------------------------------------


def damaged(path: str, text: str, record: int | None = None, offset: int = 0) -> CorruptRecordError:
    """Return the error for a damaged file."""
    place = "" if record is None else f"sample {record} at {offset}: "
    error = CorruptRecordError(f"{path!a}: {place}{text}")
    error.path, error.record, error.offset = path, record, offset
    return error


def load_index(folder: str, key: str) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
    """Return the path and the content of the index of a directory, and the entries of a list.

    Raises
    ------
    OSError
    CorruptRecordError
    """
    if not os.path.isdir(folder):
        raise NotADirectoryError(
            errno.ENOTDIR, f"not a directory with {INDEX}; name the directory of the shards", folder
        )
    path = os.path.join(folder, INDEX)
    if os.path.lexists(path) and not os.path.isfile(path):
        raise OSError(errno.EINVAL, "must be a regular file", path)
    with NamedFile(path) as file:
        data = Input(iter(partial(file.read, _PIECE), b"")).exactly(MOST_INDEX + 1)
    if len(data) > MOST_INDEX:
        raise damaged(path, f"must have at most {MOST_INDEX} bytes")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"is not JSON: {error}") from None
    entries = found.get(key) if isinstance(found, dict) else None
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise damaged(path, f"must be an object with a list {key!r} of objects")
    return path, found, entries


def entry(index: str, place: str, fields: Mapping[str, Any], name: str, kind: type) -> Any:
    """Return a field of an index after checking its type; an integer is not negative."""
    value = fields.get(name)
    is_wrong = not isinstance(value, kind) or isinstance(value, bool)
    if is_wrong or (kind is int and value < 0):  # type: ignore[operator]
        word = {int: "an integer, at least 0", str: "text", list: "a list", dict: "an object"}[kind]
        raise damaged(index, f"{place}: {name!r} must be {word}, got {value!a:.60}")
    return value


def shard_path(index: str, place: str, name: str) -> str:
    """Return the path of a shard, which must be in the directory of the index."""
    plain = name.replace("\\", "/")
    if not name or "\0" in name or "/" in plain or plain in (".", ".."):
        raise damaged(
            index, f"{place}: a shard must be a file of the same directory, got {name!a:.80}"
        )
    return os.path.join(os.path.dirname(index), name)


# -- Shards to columns -----------------------------------------------------------------------------


class Input:
    """Input that comes in pieces, and is read in other sizes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = memoryview(b"")

    def exactly(self, size: int) -> bytes:
        """Return `size` bytes, or fewer at the end."""
        parts = []
        while size:
            if not self._held:
                self._held = memoryview(next(self._pieces, b""))
            part = self._held[:size]
            if not part:
                # Some pieces are empty, before a read that may block.
                piece = next((each for each in self._pieces if each), None)
                if piece is None:
                    break
                self._held = memoryview(piece)
                continue
            parts.append(part)
            self._held = self._held[len(part) :]
            size -= len(part)
        return b"".join(parts)


def check_file(shard: Shard) -> None:
    """Raise unless a file has the size and the hashes that the index states."""
    there = os.stat(shard.path)
    if not stat.S_ISREG(there.st_mode):  # a pipe would block
        raise OSError(errno.EINVAL, "a shard must be a regular file", shard.path)
    size = there.st_size
    if shard.stored is not None and size != shard.stored:
        kind = TruncatedFileError if size < shard.stored else CorruptRecordError
        error = kind(f"{shard.path!a} has {size} bytes, and its index states {shard.stored}")
        error.path = shard.path
        raise error
    for name, stated in shard.hashes.items():
        digest = _hash(name)
        with NamedFile(shard.path) as file:
            while data := file.read(_PIECE):
                digest.update(data)
        if digest.hexdigest() != stated:
            raise damaged(
                shard.path,
                f"its {name} is {digest.hexdigest()}, and its index states {stated!a:.140}; copy "
                "the shard again",
            )


def _hash(name: str) -> Any:
    if name.startswith("xx"):
        try:
            import xxhash
        except ImportError:
            message = f"the hash {name!a:.40} requires a package: pip install xxhash"
            raise ModuleNotFoundError(message, name="xxhash") from None
        if name in xxhash.algorithms_available:
            return getattr(xxhash, name)()
    elif name in hashlib.algorithms_available and not name.startswith("shake"):
        return hashlib.new(name, usedforsecurity=False)
    raise ValueError(f"the hash {name!a:.40} is unknown: remove it from the index")


Opener = Callable[[Shard, NamedFile], "tuple[Any, Input] | None"]
"""Returns the offsets of samples, and the input from the first sample on."""


def sample_blocks(shard: Shard, *, ends: bool, framed: Opener | None = None) -> Iterator[Any]:
    """Yield the number of the first of some samples, its offset, and these samples.

    Parameters
    ----------
    shard : Shard
    ends : bool
        Whether the shard must end with the last sample.
    framed : callable, optional
        Opens shards of another structure; it returns None for a usual one.
    """
    check_file(shard)
    with NamedFile(shard.path) as file:
        opened = None if framed is None else framed(shard, file)
        offsets, source = opened or _opened(shard, file, ends)
        number = 0
        while number < shard.samples:
            begin = int(offsets[number])
            last = int(np.searchsorted(offsets, begin + BLOCK_BYTES, "right")) - 1
            last = max(number + 1, min(last, number + _BLOCK, shard.samples))
            size = int(offsets[last]) - begin
            if size > _MOST_SAMPLE:
                text = f"has {size} bytes, more than a record may have ({_MOST_SAMPLE})"
                raise damaged(shard.path, text, number, begin)
            data = source.exactly(size)
            if len(data) < size:
                error = TruncatedFileError(
                    f"{shard.path!a} ends in sample {number} at {begin}: it has "
                    f"{len(data)} of {size} bytes"
                )
                error.path, error.record, error.offset = shard.path, number, begin
                raise error
            places = (offsets[number : last + 1] - begin).tolist()
            yield number, offsets, [data[a:b] for a, b in itertools.pairwise(places)]
            number = last
        if ends and source.exactly(1):
            raise damaged(shard.path, "has bytes after its last sample")


def _opened(shard: Shard, file: NamedFile, ends: bool) -> tuple[Any, Input]:
    """Return the offsets of samples, and the input from the first sample on."""
    pieces: Iterator[bytes] = iter(partial(file.read, _PIECE), b"")
    if shard.compression is not None:
        pieces = inflate(file.read, shard.compression, shard.path, max_output=shard.size)
    source = Input(pieces)
    count = int.from_bytes(source.exactly(4), "little")
    if count != shard.samples:
        raise damaged(shard.path, f"has {count} samples, and its index states {shard.samples}")
    offsets = read_offsets(shard, source)
    begin, head = int(offsets[0]), 4 + 4 * (count + 1)
    if not head <= begin <= head + _MOST_BETWEEN:
        raise damaged(shard.path, f"its first sample begins at {begin}, after {head} bytes")
    end = int(offsets[-1])
    if end > shard.size or (ends and end != shard.size):
        raise damaged(shard.path, f"its last sample ends at {end}, and it has {shard.size} bytes")
    source.exactly(begin - head)
    return offsets, source


def read_offsets(shard: Shard, source: Input) -> Any:
    """Return the offsets of all samples, and of the end of the last one."""
    if shard.samples > _MOST_SAMPLES:
        raise ValueError(
            f"{shard.path!a} has {shard.samples} samples, at most {_MOST_SAMPLES} can be read; "
            "write smaller shards"
        )
    needed = 4 * (shard.samples + 1)
    table = source.exactly(needed)
    if len(table) < needed:
        raise damaged(shard.path, f"has {len(table)} of {needed} bytes of offsets")
    offsets = np.frombuffer(table, "<u4").astype(np.int64)
    if (np.diff(offsets) < 0).any():
        row = int((np.diff(offsets) < 0).argmax())
        raise damaged(shard.path, "ends before it begins", row, int(offsets[row]))
    return offsets


def columns_of_samples(
    shard: Shard, layout: Layout, samples: Sequence[bytes], first: int, offsets: Any
) -> dict[str, Any]:
    """Return the columns of some samples; `first` is the number of the first one."""
    values: list[list[bytes]] = [[] for _ in layout.names]
    head = struct.Struct(f"<{layout.sizes.count(None)}I")
    for row, sample in enumerate(samples):
        if len(sample) < head.size:
            text = f"has {len(sample)} bytes, fewer than the sizes of its values take"
            raise damaged(shard.path, text, first + row, int(offsets[first + row]))
        sizes = iter(head.unpack_from(sample))
        at = head.size
        for column, fixed in zip(values, layout.sizes, strict=True):
            end = at + (next(sizes) if fixed is None else fixed)
            column.append(sample[at:end])
            at = end
        if at != len(sample):
            text = f"has {len(sample)} bytes, and its values need {at}"
            raise damaged(shard.path, text, first + row, int(offsets[first + row]))
    columns = {}
    for name, decode, column in zip(layout.names, layout.decoders, values, strict=True):
        try:
            columns[name] = decode(column)
        except Misfit as error:
            number = first + error.row
            text = f"the value of {name!a} {error}"
            raise damaged(shard.path, text, number, int(offsets[number])) from None
        except FastrecError as error:
            raise damaged(shard.path, f"{name!a}: {error}", first, int(offsets[first])) from None
    return columns


# -- Columns to shards -----------------------------------------------------------------------------


class ShardWriter:
    """Writes samples to shards of a directory.

    Parameters
    ----------
    folder : str
    name : callable
        Returns the name of the shard with a number.
    between : bytes
        Bytes of each shard between the offsets and the samples.
    most : int, optional
        Number of samples of a shard; by default shards end at :data:`SHARD_BYTES`.
    algorithm : str, optional
        Algorithm of a hash of each shard.

    Attributes
    ----------
    shards : list of Shard
        The shards that were written.
    """

    def __init__(
        self,
        folder: str,
        name: Callable[[int], str],
        *,
        between: bytes = b"",
        most: int | None,
        algorithm: str | None = None,
    ) -> None:
        self._folder, self._name, self._between = folder, name, between
        self._most, self._algorithm = most, algorithm
        self.shards: list[Shard] = []
        self._begin()

    def _begin(self) -> None:
        self._body = tempfile.SpooledTemporaryFile(_SPOOLED, prefix="fastrec-")  # noqa: SIM115
        self._sizes: list[int] = []
        self._size = 8 + len(self._between)

    def write(self, sample: bytes) -> None:
        """Write a sample."""
        size = len(sample) + 4
        if self._sizes and (
            len(self._sizes) == self._most
            or (self._most is None and self._size + size > SHARD_BYTES)
        ):
            self._end()
            self._begin()
        self._size += size
        if self._size > _MOST_SHARD:
            raise ValueError(
                f"a shard of {len(self._sizes) + 1} samples has {self._size} bytes, at most "
                f"{_MOST_SHARD} fit; lower shard_records"
            )
        self._body.write(sample)
        self._sizes.append(len(sample))

    def _end(self) -> None:
        count = len(self._sizes)
        offsets = np.cumsum([8 + 4 * count + len(self._between), *self._sizes])
        head = struct.pack("<I", count) + offsets.astype("<u4").tobytes() + self._between
        path = os.path.join(self._folder, self._name(len(self.shards)))
        digest = None if self._algorithm is None else _hash(self._algorithm)
        writer = open_writer(path, StorageOptions())
        try:
            self._body.seek(0)
            for data in (head, *iter(partial(self._body.read, _PIECE), b"")):
                writer.write_frames(data, 0)
                if digest is not None:
                    digest.update(data)
            writer.close()
        finally:
            writer.abort()
        self._body.close()
        size = int(offsets[-1])
        if os.stat(path).st_size != size:
            raise OSError(errno.EIO, f"must have {size} bytes after writing", path)
        hashes = {} if digest is None else {str(self._algorithm): digest.hexdigest()}
        self.shards.append(Shard(path, count, size, size, None, hashes))

    def close(self) -> None:
        """Write the last shard."""
        if self._sizes:
            self._end()
        self.abort()

    def abort(self) -> None:
        """Discard what is not in a shard yet."""
        self._body.close()


def write_index(folder: str, content: Mapping[str, Any]) -> None:
    """Write the list of shards."""
    write_file(os.path.join(folder, INDEX), json.dumps(content, sort_keys=True).encode())
