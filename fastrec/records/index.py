# SPDX-License-Identifier: Apache-2.0
"""Indexes: the offset of every record of a file, stored next to it."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arguments import check_int, check_types
from ..errors import IndexMismatchError, RandomAccessError
from ..storage.options import StorageOptions
from ..storage.remote import find_files
from ..storage.sequential import stream_of
from ..storage.urls import local_path
from .byte_sources import NamedFile, head_of
from .checkpoints import MAGIC, Checkpoints, Marks, Stamp, ends_crc32c, mismatch
from .compression import detect
from .framing import FRAME_OVERHEAD
from .inflated import Inflated
from .output_rules import is_index
from .paths import PathLike, index_path, is_remote
from .targets import open_writer, write_file

__all__ = ["Index"]

_ONE_FILE = "an index describes one file; DatasetIndex.build() takes directories and patterns"

_LONGEST_LINE = 42  # two 64-bit numbers, a space and a line end


class Index:
    """The offsets of the records of one file.

    An index matches a file by content, so it also matches copies of the file: the sizes and the
    headers of a few records must agree. (If the modification time is equal too, the headers are not
    read.) An index is never trusted: each record is verified at the offset in the index. Offsets
    in a compressed file count inflated bytes. The index of a compressed file also has checkpoints,
    each of up to 32 KiB, from which the file can be inflated.

    Use :meth:`build`, :meth:`load`, :meth:`read_text` or ``Writer(index=True)`` to create an index.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "words.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     for word in (b"a", b"few", b"words"):
    ...         writer.write(word)
    >>> index = Index.build(path)
    >>> len(index), index.offsets.tolist()
    (3, [0, 17, 36, 57])
    >>> os.path.basename(index.save())
    'words.tfrecord.frindex'
    >>> fastrec.Reader(path, index=True)[1]
    b'few'
    """

    def __init__(
        self, path: PathLike, core: _core.FileIndex, checkpoints: Checkpoints | None = None
    ) -> None:
        check_types(Index.__init__, locals())
        self.path: str | bytes = os.fspath(local_path(path))
        self._core = core
        self.checkpoints = checkpoints
        self._columns: Any = None  # an IndexColumns

    @classmethod
    def build(
        cls,
        path: PathLike,
        *,
        max_record_bytes: int | None = None,
        columns: str | Iterable[str] | None = None,
    ) -> Index:
        """Index a file by reading its headers.

        A compressed file, an object in a store, and any file if `columns` are requested are read
        from start to end.

        Parameters
        ----------
        path : path or URL
        max_record_bytes : int, optional
            Maximum size of a record, in bytes.
        columns : str or iterable of str, optional
            Numbers to store for each record: features (``"label"``), value counts
            (``"len(tokens)"``) and sizes in bytes (``"size(image)"``).

        Raises
        ------
        OSError, CorruptRecordError, TruncatedFileError, LimitExceededError
            If the file cannot be read or is damaged.
        ExampleParseError
            If a column does not have exactly one number per record, or if the feature is absent
            from all records.
        """
        check_types(Index.build, locals())
        if max_record_bytes is not None:
            check_int("max_record_bytes", max_record_bytes, 1, 2**63 - 1)
        path = local_path(path)
        name = os.fsdecode(path)
        if os.path.isdir(name):
            raise IsADirectoryError(errno.EISDIR, _ONE_FILE, name)
        if not is_remote(name, None) and glob.has_magic(name) and not os.path.lexists(name):
            raise FileNotFoundError(errno.ENOENT, _ONE_FILE, name)
        index = cls._built(path, max_record_bytes)
        if columns is not None:
            index._columns = _columns_module().IndexColumns.build(path, columns)
            if len(index._columns) != len(index):
                raise mismatch(path, "it was changed while its index was built")
        return index

    @classmethod
    def _built(cls, path: PathLike, max_record_bytes: int | None) -> Index:
        if is_remote(path, None):
            [file] = find_files([os.fsdecode(path)], StorageOptions())
            limit = max_record_bytes or 0
            reader = _core.RecordReader(
                file.name, read=stream_of(file).read, verify=False, max_record=limit
            )
            return cls(path, reader.index())
        if (kind := detect(head_of(os.fspath(path)))) is not None:
            return cls._inflated(
                path, path, kind, {"max_record": max_record_bytes or 0, "verify": False}
            )
        return cls._of(path, path, max_record_bytes)

    @classmethod
    def _inflated(
        cls,
        path: PathLike,
        place: PathLike,
        kind: str,
        options: dict[str, Any],
        limits: dict[str, Any] | None = None,
        pause: Callable[[float], None] | None = None,
    ) -> Index:
        """Return the index of a compressed file, which is inflated from start to end.

        `options` and `limits` are passed to RecordReader and Inflated. An exception from
        ``pause(0)`` ends the operation.
        """
        marks = Marks(kind)
        with NamedFile(place, path) as file:
            status = os.fstat(file.fileno())

            def read(size: int) -> bytes:
                if pause is not None:
                    pause(0)
                return file.read(size)

            inflated = Inflated(
                read, kind, os.fsdecode(path), seek=file.seek, marks=marks, **(limits or {})
            )
            reader = _core.RecordReader(path, read=inflated, **options)
            found = reader.index()
            del reader
            stamp = Stamp(status.st_size, status.st_mtime_ns, ends_crc32c(file, status.st_size))
            return cls(path, found, marks.checkpoints(stamp))

    @classmethod
    def _of(cls, path: PathLike, place: PathLike, max_record_bytes: int | None = None) -> Index:
        """Return the index of a file that is temporarily at `place`."""
        limit = max_record_bytes or 0
        dataset = _core.Dataset([path], places=[place], verify=False, max_record=limit)
        return cls(path, dataset.index_of(0))

    @classmethod
    def load(cls, path: PathLike, index: PathLike | None = None) -> Index:
        """Load the index of the file at `path`, by default from the index file next to it.

        Raises
        ------
        OSError
            If the index cannot be read.
        IndexMismatchError
            If it is not a fastrec index, is damaged, or does not match the file.
        """
        check_types(Index.load, locals())
        path = local_path(path)
        return cls._load(path, path, index_path(path) if index is None else index)

    @classmethod
    def _load(cls, path: PathLike, place: PathLike, index: PathLike) -> Index:
        """Load an index, and compare it with the file at `place`."""
        found = cls._read(path, index)
        if found.checkpoints is None:
            found._core.compare(place, path)
        else:
            found.checkpoints.compare(place, path)
        return found

    @classmethod
    def _read(cls, path: PathLike, index: PathLike) -> Index:
        with NamedFile(local_path(index)) as file:
            return cls._parse(path, file.read())

    @classmethod
    def _parse(cls, path: PathLike, saved: bytes) -> Index:
        if saved.startswith(MAGIC):
            return cls(path, *Checkpoints.load(saved, path))
        return cls(path, _core.FileIndex.load(saved, path))

    def save(self, index: PathLike | None = None, *, overwrite: bool = False) -> str:
        """Write the index, by default next to the file, and return its path.

        Parameters
        ----------
        index : path, optional
            The new file. By default, ``.frindex`` is added to the file's name, and an older index
            there is replaced.
        overwrite : bool, default False
            Whether to replace an existing file, unless it holds records.

        Raises
        ------
        FileExistsError
        """
        check_types(Index.save, locals())
        writer = self._writer(index, overwrite, StorageOptions())
        writer.close()
        if self._columns is not None and index is None:
            self._columns.save()
        return os.fsdecode(writer.path)

    def _writer(self, index: PathLike | None, overwrite: bool, storage: StorageOptions) -> Any:
        """Return a finished writer of the index; its `close` publishes the index."""
        target = index_path(self.path) if index is None else index
        overwrite = overwrite or (index is None and is_index(target, storage))
        writer = open_writer(target, storage, overwrite=overwrite, index=True, inputs=[self.path])
        writer.write_frames(self._saved(), 0)
        writer.finish()
        return writer

    def _saved(self) -> Any:
        saved = self._core.save()
        return saved if self.checkpoints is None else self.checkpoints.save(saved)

    def __len__(self) -> int:
        return len(self._core)

    @property
    def offsets(self) -> NDArray[np.uint64]:
        """Start offset of each record, then the end of the last; uint64, shape (records + 1,)."""
        return np.frombuffer(self._core.offsets(), np.uint64)

    @property
    def columns(self) -> Any:
        """Columns of the index, an ``IndexColumns``, loaded on first use.

        Raises
        ------
        FileNotFoundError
            If the index was built without columns.
        IndexMismatchError
            If the columns are damaged, or belong to another file.
        """
        if self._columns is None:
            columns = _columns_module().IndexColumns.load(self.path)
            if len(columns) != len(self):
                raise mismatch(self.path, "its columns have another number of records")
            self._columns = columns
        return self._columns

    def table(self) -> Any:
        """Return a table of all records, which DuckDB and polars can query. Requires pyarrow.

        Returns
        -------
        pyarrow.Table
            ``record`` (number in the file), ``offset`` (in bytes), ``size`` (bytes of data), and
            the columns of the index, if it has any.
        """
        columns = None
        with contextlib.suppress(FileNotFoundError):
            columns = self.columns
        offsets = self.offsets
        return _columns_module().arrow_table(offsets, columns)

    @property
    def data_size(self) -> int:
        """Size of the file, in bytes."""
        return self._core.size if self.checkpoints is None else self.checkpoints.stamp.size

    @property
    def mtime_ns(self) -> int:
        """Modification time of the file that was indexed, in nanoseconds since 1970."""
        return self._core.mtime_ns if self.checkpoints is None else self.checkpoints.stamp.mtime_ns

    def write_text(self, index: PathLike, *, overwrite: bool = False) -> None:
        """Write lines of ``offset size``, which DALI and the ``tfrecord`` package read.

        `overwrite` replaces an existing file, unless it holds records.

        Raises
        ------
        FileExistsError
        RandomAccessError
            If the file is compressed.
        """
        check_types(Index.write_text, locals())
        if self.checkpoints is not None:
            raise RandomAccessError(
                f"an index as text requires an uncompressed file, got {os.fsdecode(self.path)!a}"
            )
        offsets = self.offsets
        rows = np.stack([offsets[:-1], np.diff(offsets)], axis=1).tolist()
        text = "".join([f"{offset} {size}\n" for offset, size in rows])
        write_file(index, text.encode("ascii"), overwrite=overwrite, inputs=[self.path])

    @classmethod
    def read_text(cls, path: PathLike, index: PathLike) -> Index:
        """Load the index of the file at `path` from lines of ``offset size``.

        Raises
        ------
        IndexMismatchError
            If the lines are not numbers that cover the file from start to end.
        """
        check_types(Index.read_text, locals())
        path = local_path(path)
        status = os.stat(path)
        try:
            offsets = _parse_text(local_path(index), status.st_size)
            return cls(path, _core.FileIndex(offsets, status.st_size, status.st_mtime_ns))
        except IndexMismatchError:
            raise mismatch(path, "its entries are not where records can begin") from None
        except (ValueError, OverflowError) as error:
            raise mismatch(path, str(error)) from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Index):
            return NotImplemented
        same = self.data_size == other.data_size
        return same and np.array_equal(self.offsets, other.offsets)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Index._parse, (self.path, bytes(memoryview(self._saved())))

    def __repr__(self) -> str:
        return f"<fastrec.Index of {self.path!a}, {len(self)} records>"


def _columns_module() -> Any:
    """Return the module of columns. It imports the records package, so it is imported lazily."""
    return import_module("fastrec.parsing.index_columns")


def _parse_text(index: PathLike, size: int) -> NDArray[np.uint64]:
    """Return the record offsets and the end; the file's maximum record count bounds the memory."""
    most = size // FRAME_OVERHEAD + 1
    with NamedFile(index) as file:
        text = file.read(most * _LONGEST_LINE)
        if file.read(1):
            raise ValueError(f"it has more lines than a file of {size} bytes has records")
    words = text.split()
    if text.translate(None, b"0123456789 \t\r\n") or len(words) % 2:
        raise ValueError("its lines are not two numbers each")
    numbers = np.array(list(map(int, words)), np.uint64).reshape(-1, 2)
    begins, sizes = numbers[:, 0], numbers[:, 1]
    ends = begins + sizes
    if np.any(ends < begins) or not np.array_equal(begins[1:], ends[:-1]):
        raise ValueError("its records do not follow each other")
    if len(begins) == 0:
        return np.zeros(1, np.uint64)
    return np.append(begins, ends[-1:])
