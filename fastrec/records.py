# SPDX-License-Identifier: Apache-2.0
"""Record files: reading, writing, verifying."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple, SupportsIndex, Union, overload

from . import _core, compression
from .arrays import Bytes
from .encoding import Encoding
from .errors import FastrecError
from .features import Feature
from .filesystem import PathLike, expand, is_path, shard_paths

__all__ = ["Reader", "Source", "Verified", "Writer", "count", "verify"]

Source = Union[PathLike, Iterable[PathLike], IO[bytes]]

_HEAD = 12


class _Stream:
    """A binary file object whose first bytes were looked at."""

    def __init__(self, file: Any) -> None:
        self._read = file.read
        self.head = b""
        while len(self.head) < _HEAD and (more := file.read(_HEAD - len(self.head))):
            self.head += more

    def __call__(self, size: int) -> bytes:
        if self.head:
            head, self.head = self.head, b""
            return head
        return self._read(size)  # type: ignore[no-any-return]


def _head_of(path: str | bytes) -> bytes:
    """The first bytes of a regular file; nothing of anything else, which can be read only once."""
    if not os.path.isfile(path):
        return b""
    with open(path, "rb", buffering=0) as file:
        return file.read(_HEAD)


class Reader(Sequence[bytes]):
    """The records of one file or of many, as a sequence of ``bytes``.

    Iterating streams through the files and needs no index. The first use of ``len()`` or of an
    index finds where every record begins, by going from header to header.

    Parameters
    ----------
    source : path, glob pattern, list of these, or binary file object
        A file object is read from where it stands, once, and stays the caller's to close.
    compression : {"auto", None, "GZIP", "ZLIB"}
        ``"auto"`` looks at each file's first bytes. Records of compressed files come one after
        the other only: no ``len()``, no index.
    verify : bool, default True
        Check the CRC32C of every record's data. That of its length is checked always.
    max_record_bytes : int, optional
        Refuse longer records. The default is 2 GiB where the input's size is unknown, and the
        size of the file elsewhere.

    Raises
    ------
    OSError
        When a file cannot be opened or read.
    CorruptRecordError, TruncatedFileError, LimitExceededError
        From reading: with path, record number and byte offset.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "words.tfrecord")
    >>> with Writer(path) as writer:
    ...     for word in (b"a", b"few", b"words"):
    ...         writer.write(word)
    >>> reader = Reader(path)
    >>> len(reader), reader[-1], list(reader)
    (3, b'words', [b'a', b'few', b'words'])
    """

    def __init__(
        self,
        source: Source,
        *,
        compression: str | None = "auto",
        verify: bool = True,
        max_record_bytes: int | None = None,
    ) -> None:
        self._file: Any = source if hasattr(source, "read") and not is_path(source) else None
        self.paths: list[str | bytes] = [] if self._file is not None else expand(source)  # type: ignore[arg-type]
        self._compression = compression if compression == "auto" else _normalize(compression)
        self._options = {"verify": verify, "max_record": _limit(max_record_bytes)}
        self._dataset: _core.Dataset | None = None
        self._closed = False

    def _open(self, path: str | bytes) -> _core.RecordReader:
        kind = self._compression
        if kind == "auto":
            kind = compression.detect(_head_of(path))
        if kind is None:
            return _core.RecordReader(path, **self._options)
        inflate = compression.inflate(open(path, "rb", buffering=0).read, kind, os.fsdecode(path))
        return _core.RecordReader(path, read=inflate, **self._options)

    def _open_file(self) -> _core.RecordReader:
        read: Any = _Stream(self._file)
        name = getattr(self._file, "name", None)
        path = name if is_path(name) else repr(type(self._file).__name__)
        kind = self._compression
        if kind == "auto":
            kind = compression.detect(read.head)
        if kind is not None:
            read = compression.inflate(read, kind, path)
        return _core.RecordReader(path, read=read, **self._options)

    def _readers(self) -> Iterator[_core.RecordReader]:
        self._check_open()
        if self._file is not None:
            return iter([self._open_file()])
        return map(self._open, self.paths)

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError("the reader is closed")

    def _index(self) -> _core.Dataset:
        self._check_open()
        if self._dataset is None:
            if self._file is not None or any(map(self.is_compressed, self.paths)):
                raise FastrecError(
                    "random access needs uncompressed files that are named by path; iterate instead"
                )
            self._dataset = _core.Dataset(self.paths, **self._options)
        return self._dataset

    def is_compressed(self, path: str | bytes) -> bool:
        """Whether records of that file can only be had one after the other."""
        if self._compression == "auto":
            return compression.detect(_head_of(path)) is not None
        return self._compression is not None

    def __iter__(self) -> Iterator[bytes]:
        return (record for reader in self._readers() for record in reader)

    def batches(self, count: int) -> Iterator[Bytes]:
        """Blocks of up to `count` records; no block spans two files.

        Yields
        ------
        Bytes
            One buffer and offsets; no Python object a record.
        """
        if count < 1:
            raise ValueError(f"count must be at least 1, not {count}")
        for reader in self._readers():
            while (block := reader.take(count)) is not None:
                yield block

    def __len__(self) -> int:
        return len(self._index())

    @overload
    def __getitem__(self, index: SupportsIndex) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: Any) -> Any:
        dataset = self._index()
        try:
            numbers = range(len(dataset))[index]
        except IndexError:
            raise IndexError(f"record {index} of {len(dataset)}") from None
        if isinstance(numbers, range):
            return [dataset.record(number) for number in numbers]
        return dataset.record(numbers)

    def path_of(self, index: int) -> str | bytes:
        """The path of the file that a record is in."""
        dataset = self._index()
        return dataset.path_of(range(len(dataset))[index])

    def close(self) -> None:
        """Let go of the files. Iterators and records that were handed out stay valid."""
        self._dataset = None
        self._closed = True

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __repr__(self) -> str:
        what = f"{len(self.paths)} files" if self._file is None else repr(self._file)
        return f"<fastrec.Reader of {what}>"


def _normalize(kind: str | None) -> str | None:
    return compression.normalize(kind)


def _limit(max_record_bytes: int | None) -> int:
    if max_record_bytes is None:
        return 0
    if max_record_bytes < 1:
        raise ValueError(f"max_record_bytes must be at least 1, not {max_record_bytes}")
    return max_record_bytes


class Verified(NamedTuple):
    """What :func:`verify` went through."""

    records: int
    bytes: int  # of data, without framing
    files: int


def verify(source: Source, *, compression: str | None = "auto") -> Verified:
    """Check every length and every checksum of record files.

    Raises
    ------
    CorruptRecordError, TruncatedFileError, OSError
        At the first damage.
    """
    records = size = files = 0
    for reader in Reader(source, compression=compression)._readers():
        walked, walked_size = reader.walk()
        records, size, files = records + walked, size + walked_size, files + 1
    return Verified(records, size, files)


def count(source: Source, *, compression: str | None = "auto") -> int:
    """Records in files, found by going from header to header; their data is not checked."""
    reader = Reader(source, compression=compression, verify=False)
    if reader._file is None and not any(map(reader.is_compressed, reader.paths)):
        return len(reader)
    return sum(part.walk()[0] for part in reader._readers())


class _Shard:
    """One file being written, and the compressor before it."""

    BLOCK = 1 << 18

    def __init__(
        self, path: Any, kind: str | None, level: int | None, exclusive: bool, sync: bool
    ) -> None:
        self._compressor = None if kind is None else compression.compressor(kind, level)
        self._frames = bytearray()
        self._waiting = 0
        self.file = _core.RecordWriter(path, exclusive=exclusive, sync=sync)

    def write(self, record: Any) -> None:
        if self._compressor is None:
            self.file.write(record)
        else:
            self.write_frames(_core.frame(record), 1)

    def write_frames(self, frames: Any, count: int) -> None:
        if self._compressor is None:
            self.file.write_frames(frames, count)
            return
        self._frames += frames
        self._waiting += count
        if len(self._frames) >= self.BLOCK:
            self._compress()

    def _compress(self) -> None:
        assert self._compressor is not None
        self.file.write_frames(self._compressor.compress(self._frames), self._waiting)
        self._frames.clear()
        self._waiting = 0

    def flush(self) -> None:
        if self._compressor is not None:
            self._compress()
        self.file.flush()

    def finish(self) -> None:
        """Hand over everything, so that what is left to do is to publish."""
        if self._compressor is not None:
            self._compress()
            self.file.write_frames(self._compressor.flush(), 0)
        self.file.flush()


class Writer:
    """Records into a file that appears whole, when the writer closes, or not at all.

    Parameters
    ----------
    path : path
        The file to make. With `shards`, ``train.tfrecord`` stands for
        ``train-00000-of-00004.tfrecord`` and so on.
    compression : {None, "GZIP", "ZLIB"}
    level : int, optional
        Of compression, 0 to 9.
    overwrite : bool, default True
        Whether a file that is there may be replaced. It is, when the writer closes.
    shards : int, optional
        Spread records over so many files, one record each in turn.
    fsync : bool, default True
        Have the file on the disk before it takes its name.
    features, shapes
        What mappings and columns have to be, as :func:`fastrec.encode_example` has it.
    threads : int, optional
        To encode columns with, as :func:`fastrec.encode_examples` has it.

    Raises
    ------
    OSError
        With errno and filename, on anything the system refuses. Then, and when the ``with`` block
        is left by an exception, nothing is published and a file that was there is as it was.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "train.tfrecord")
    >>> with Writer(path) as writer:
    ...     writer.write({"label": 3, "name": "cat.jpg"})
    ...     writer.write(b"any bytes")
    >>> writer.count
    2
    """

    def __init__(
        self,
        path: PathLike,
        *,
        compression: str | None = None,
        level: int | None = None,
        overwrite: bool = True,
        shards: int | None = None,
        fsync: bool = True,
        features: Mapping[str, Feature] | None = None,
        shapes: Mapping[str, str] | None = None,
        threads: int | None = None,
    ) -> None:
        self._shards: list[_Shard] = []
        self._open = False
        if shards is not None and not 1 <= shards <= 99999:
            raise ValueError(f"shards must be 1 to 99999, not {shards}")
        self.paths = [os.fsdecode(path)] if shards is None else shard_paths(path, shards)
        self._encoding = Encoding(features, shapes, threads)
        kind = _normalize(compression)
        if level is not None and kind is None:
            raise ValueError("level is of compression, and compression is None")
        try:
            for each in self.paths:
                self._shards.append(_Shard(each, kind, level, not overwrite, fsync))
        except BaseException:
            self.abort()
            raise
        self._open = True
        self.count = 0

    def _check_open(self) -> None:
        if not self._open:
            raise ValueError("the writer is closed")

    def write(self, record: bytes | bytearray | memoryview | Mapping[str, Any]) -> None:
        """Write one record: bytes as they are, a mapping as a ``tf.train.Example``.

        See :func:`fastrec.encode_example` for what a mapping may hold.
        """
        self._check_open()
        if type(record) is dict or isinstance(record, Mapping):
            record = self._encoding.row(record)
        elif isinstance(record, str):
            raise TypeError("a record is bytes or a mapping, not str; encode the text")
        self._shards[self.count % len(self._shards)].write(record)
        self.count += 1

    def write_batch(self, columns: Mapping[str, Any]) -> None:
        """Write one ``tf.train.Example`` a row of `columns`, all of them or none.

        See :func:`fastrec.encode_examples` for what columns may be. A value that cannot be stored
        is found before the first byte is written. What can happen after that, such as a full disk
        or Ctrl-C, ends the writer, and nothing is published.
        """
        self._check_open()
        values = self._encoding.columns(columns)
        values.check()
        shards = len(self._shards)
        try:
            for turn, frames, count in self._encoding.frames(values, shards):
                self._shards[(self.count + turn) % shards].write_frames(frames, count)
        except OSError:
            raise  # which the shard will go on to do
        except BaseException:
            self.abort()
            raise
        self.count += values.rows or 0

    def flush(self) -> None:
        """Hand what is buffered to the system. It stays invisible under its name until close."""
        self._check_open()
        for shard in self._shards:
            shard.flush()

    def close(self) -> None:
        """Publish. Closing twice is fine."""
        if not self._open:
            return
        self._open = False
        try:
            for shard in self._shards:
                shard.finish()
            for shard in self._shards:
                shard.file.close()
        except BaseException:
            self.abort()
            raise

    def abort(self) -> None:
        """Publish nothing of what is not published yet."""
        self._open = False
        for shard in self._shards:
            shard.file.abort()

    def __enter__(self) -> Writer:
        self._check_open()
        return self

    def __exit__(self, exc_type: object, *exc_info: object) -> None:
        if exc_type is None:
            self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        if getattr(self, "_open", False):
            self.abort()
            warnings.warn(
                f"a fastrec.Writer was dropped without close(): {self.paths[0]!a} is not written",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )

    def __repr__(self) -> str:
        return f"<fastrec.Writer of {self.paths[0]!a}, {self.count} records>"
