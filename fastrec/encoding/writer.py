# SPDX-License-Identifier: Apache-2.0
"""Writing record files."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from .. import _core
from ..columns import Bytes
from ..features.spec import Feature
from ..records.compression import normalize
from ..records.index import Index
from ..records.output_file import Output
from ..records.paths import PathLike, shard_paths
from ..records.record_files import RecordFiles
from .encoder import Encoding

__all__ = ["Writer"]


def _check_bytes(record: Any) -> None:
    if isinstance(record, str):
        raise TypeError("a record is bytes or a mapping, not str; encode the text")
    try:
        memoryview(record)
    except TypeError:
        kind = type(record).__name__
        raise TypeError(f"a record is bytes or a mapping, not {kind}") from None


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
    shard_bytes, shard_records : int, optional
        Go on to the next file once one has so many bytes (before compression) or records. The
        names say how many there are in the end. A batch of columns is not divided.
    append : bool, default False
        Write behind what the file holds, in the file itself, which must be sound up to its end: a
        torn tail is refused, and :func:`fastrec.repair` cures it. Leaving the ``with`` block by an
        exception, and :meth:`abort`, take back what was appended; being killed does not. Other
        appending writers are kept away meanwhile. GZIP files get another member.
    index : bool, default False
        Keep an :class:`Index` beside each file.
    fsync : bool, default True
        Have the file on the disk before it takes its name. Without it a power failure in the next
        half minute or so may leave an empty or incomplete file under that name.
    verify_after_write : bool, default False
        Read each file back before it takes its name, with `fsync` from the disk rather than from
        memory, and raise unless every checksum holds and every record is there. Not for `append`.
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
        shard_bytes: int | None = None,
        shard_records: int | None = None,
        append: bool = False,
        index: bool = False,
        fsync: bool = True,
        verify_after_write: bool = False,
        features: Mapping[str, Feature] | None = None,
        shapes: Mapping[str, str] | None = None,
        threads: int | None = None,
    ) -> None:
        self._shards: list[Output] = []
        self._open = False
        self._alone: _core.RecordWriter | None = None  # the only file, uncompressed
        self._straight: _core.ExampleEncoder | None = None  # of rows for it
        self._lock = threading.RLock()  # of everything but writing to a file that is alone
        self._turn = 0  # of shards that take records in turn
        self._pid = os.getpid()
        given = [shards, shard_bytes, shard_records]
        for name, value in zip(("shards", "shard_bytes", "shard_records"), given, strict=True):
            if value is not None and not 1 <= value <= (99999 if name == "shards" else 2**63 - 1):
                raise ValueError(f"{name} must be at least 1, not {value}")
        if sum(value is not None for value in given) + append > 1:
            raise ValueError("of shards, shard_bytes, shard_records and append give one")
        self._path = os.fsdecode(path)
        self._most = (shard_bytes, shard_records)
        self._rolls = shard_bytes is not None or shard_records is not None
        self.paths = [self._path] if shards is None else shard_paths(path, shards)
        self._encoding = Encoding(features, shapes, threads)
        kind = normalize(compression)
        if level is not None and kind is None:
            raise ValueError("level is of compression, and compression is None")
        if append and kind == "ZLIB":
            raise ValueError("TensorFlow reads the first stream of a ZLIB file: none is appended")
        if index and kind is not None:
            raise ValueError("index is of uncompressed files")
        if append and verify_after_write:
            raise ValueError("verify_after_write is of files that are written anew")
        self._index = index
        self._verify = verify_after_write
        self._options = {"exclusive": not (overwrite or append), "sync": fsync, "append": append}
        self._compression = kind, level
        try:
            for each in shard_paths(path, 1, 0) if self._rolls else self.paths:
                self._add(each)
            if append:
                self._check_tail()
        except BaseException:
            self.abort()
            raise
        self._open = True
        if kind is None and len(self._shards) == 1 and not self._rolls:
            self._alone = self._shards[0].file
            self._straight = self._encoding.straight()

    def _add(self, path: str) -> None:
        kind, level = self._compression
        self._shards.append(Output(path, kind, level, self._verify, **self._options))

    def _check_tail(self) -> None:
        """Raise unless the file that is appended to ends at the end of a record."""
        if self._shards[0].file.start:
            files = RecordFiles(self._path, compression=self._compression[0], verify=False)
            for part in files.readers():
                part.walk()

    @property
    def count(self) -> int:
        """Records written."""
        return sum(shard.count for shard in self._shards)

    def _next_shard(self) -> Output:
        """The one for the next record."""
        if not self._rolls:
            return self._shards[self._turn % len(self._shards)]
        shard = self._shards[-1]
        most_bytes, most_records = self._most
        full = most_bytes is not None and shard.size >= most_bytes
        if full or (most_records is not None and shard.count >= most_records):
            shard.finish()
            self._add(shard_paths(self._path, 1, len(self._shards))[0])
            shard = self._shards[-1]
        return shard

    def _check_open(self) -> None:
        if not self._open:
            raise ValueError("the writer is closed")

    def _locked(self) -> Any:
        """The lock, which in a child made by fork() may be that of a thread that is not there."""
        if self._pid != os.getpid():
            raise ValueError("the writer works only in the process that made it")
        return self._lock

    def write(self, record: bytes | bytearray | memoryview | Mapping[str, Any]) -> None:
        """Write one record: bytes as they are, a mapping as a ``tf.train.Example``.

        See :func:`fastrec.encode_example` for what a mapping may hold.
        """
        if type(record) is dict and self._straight and self._alone and self._open:
            self._straight.write(self._alone, record)
            return
        self._check_open()
        if isinstance(record, Mapping):
            record = self._encoding.row(record)
        elif type(record) is not bytes:
            _check_bytes(record)
        if self._alone is not None:
            self._alone.write(record)
            return
        with self._locked():
            self._check_open()  # for somebody may have closed it meanwhile
            self._next_shard().write(record)
            self._turn += 1

    def write_many(self, records: Bytes | Iterable[bytes | bytearray | memoryview]) -> None:
        """Write records that are bytes already, in one native call without the GIL."""
        self._check_open()
        if self._alone is not None:
            self._alone.write_many(records)
        elif len(self._shards) == 1 and not self._rolls:
            with self._locked():
                self._check_open()
                self._shards[0].write_many(records)
        else:
            for record in records:
                self.write(record)

    def write_batch(self, columns: Mapping[str, Any]) -> None:
        """Write one ``tf.train.Example`` a row of `columns`, all of them or none.

        See :func:`fastrec.encode_examples` for what columns may be. A value that cannot be stored
        is found before the first byte is written. What can happen after that, such as a full disk
        or Ctrl-C, ends the writer, and nothing is published.
        """
        self._check_open()
        values = self._encoding.columns(columns)
        values.check()
        with self._locked():
            self._check_open()
            try:
                self._write_values(values)
            except OSError:
                raise  # which the shard will go on to do
            except BaseException:
                self.abort()
                raise

    def _write_values(self, values: _core.Values) -> None:
        shards, first = (1 if self._rolls else len(self._shards)), self._turn
        for turn, frames, count in self._encoding.frames(values, shards):
            shard = self._next_shard() if self._rolls else self._shards[(first + turn) % shards]
            shard.write_frames(frames, count)
        self._turn += values.rows or 0

    def flush(self) -> None:
        """Hand what is buffered to the system. It stays invisible under its name until close."""
        with self._locked():
            self._check_open()
            for shard in self._shards:
                shard.flush()

    def close(self) -> None:
        """Publish. Closing twice is fine."""
        with self._locked():
            if self._open:
                self._open = False
                self._publish()

    def _publish(self) -> None:
        try:
            for shard in self._shards:
                shard.finish()
            if self._rolls:
                self.paths = shard_paths(self._path, len(self._shards))
                for shard, path in zip(self._shards, self.paths, strict=True):
                    shard.file.rename(path)
            for shard in self._shards:
                shard.file.close()
        except BaseException:
            self.abort()
            raise
        if self._index:
            for path in self.paths:
                Index.build(path).save()

    def abort(self) -> None:
        """Publish nothing of what is not published yet."""
        self._open = False
        for shard in self._shards:
            shard.file.abort()  # in a child made by fork() leaves the parent's file alone

    def __enter__(self) -> Writer:
        self._check_open()
        return self

    def __exit__(self, exc_type: object, *exc_info: object) -> None:
        if exc_type is None:
            self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        if getattr(self, "_open", False) and self._pid == os.getpid():
            self.abort()
            warnings.warn(
                f"a fastrec.Writer was dropped without close(): {self.paths[0]!a} is not written",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )

    def __repr__(self) -> str:
        state = "" if self._open else ", closed"
        records = "1 record" if self.count == 1 else f"{self.count} records"
        return f"<fastrec.Writer of {self.paths[0]!a}, {records}{state}>"
