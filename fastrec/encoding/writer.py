# SPDX-License-Identifier: Apache-2.0
"""The writer of record files: bytes, mappings and columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ..arguments import checked_arguments
from ..columns import Bytes
from ..features.spec import Feature
from ..records.compression import Compression
from ..records.paths import PathLike
from ..records.shard_writer import ShardWriter
from ..records.targets import Writable
from ..storage.options import StorageOptions
from .encoder import Encoding
from .to_column import type_name

__all__ = ["Writer"]


def _check_bytes(record: Any) -> None:
    """Raise an error unless a record is bytes-like; a numeric array is more likely a mistake."""
    if isinstance(record, str):
        raise TypeError("a record must be bytes or a mapping, got str; encode the text")
    try:
        view = memoryview(record)
    except TypeError:
        kind = type(record).__name__
        raise TypeError(f"a record must be bytes or a mapping, got {kind}") from None
    if view.ndim != 1 or view.format not in ("B", "b", "c"):
        raise TypeError(
            f"a record must be bytes or a mapping, got {type_name(record)}; pass tobytes() of it, "
            f"or a mapping such as {{'values': ...}}, which is stored as an Example"
        )


def _is_message(record: Any) -> bool:
    """Return True for a mapping and for a protobuf message, which are not bytes yet."""
    return isinstance(record, Mapping) or hasattr(record, "SerializeToString")


class Writer(ShardWriter):
    """Writes records to a file that is published completely on close, or not at all.

    Parameters
    ----------
    path : path, URL or binary file object
        The file to write. A URL is uploaded on close, whole or not at all; until then its data is
        in the directory for temporary files. An open stream receives data immediately and is not
        closed. With `shards`, ``train.tfrecord`` means ``train-00000-of-00004.tfrecord`` and so
        on.
    compression : {"auto", None, "GZIP", "ZLIB", "ZSTD"}
        By default GZIP for a name that ends in ``.gz``, ZSTD for ``.zst``, and none for others.
        None writes a plain file under any name. ZSTD requires Python 3.14 or the extra ``zstd``.
    level : int, optional
        Compression level, 0 to 9, or -131072 to 22 for ZSTD; requires compression.
    overwrite : bool, default False
        Replace an existing file on close. With `shards`, `shard_bytes` or `shard_records`, the
        shards of an earlier set of this name are replaced, and removed where the new set has
        another number of shards. By default, any such file is an error.
    shards : int, optional
        Number of files, which take records in turn.
    shard_bytes, shard_records : int, optional
        Start a new file at this size (before compression) or number of records. File names contain
        the final number of files.
    append : bool, default False
        Append to the file in place. An incomplete last record is an error, which
        :func:`fastrec.repair` fixes. An exception in the ``with`` block, and :meth:`abort`,
        truncate the file to its previous size; a killed process does not. Other appending writers
        are locked out. GZIP files get another member, and zstd files more frames.
    index : bool or "dataset", default False
        True: write an :class:`Index` next to each file. ``"dataset"``: write one
        :class:`DatasetIndex` of all files instead; for ``train.tfrecord`` it is
        ``train.frdataset``.
    fsync : bool, default True
        Sync the file to the disk before it is renamed into place. Without it, a power failure soon
        after may leave an empty or incomplete file.
    verify_after_write : bool, default False
        Read each file back before it is published (with `fsync` from the disk, not the page cache)
        and raise unless all records are there and every checksum is right. Excludes `append`.
    features, shapes
        Specification of mappings and columns, as for :func:`fastrec.encode_example`.
    threads : int, optional
        Threads that encode columns, as for :func:`fastrec.encode_examples`.
    storage_options : StorageOptions or mapping, optional
        How URLs are reached, and options of the store; see :class:`StorageOptions`.

    Raises
    ------
    FileExistsError
        If the file, or a shard of a set of this name, exists.
    OSError
        With errno and filename, for errors of the operating system. Then, and after an exception in
        the ``with`` block, nothing is published and an existing file is unchanged.

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
        path: PathLike | Writable,
        *,
        compression: Compression = "auto",
        level: int | None = None,
        overwrite: bool = False,
        shards: int | None = None,
        shard_bytes: int | None = None,
        shard_records: int | None = None,
        append: bool = False,
        index: bool | Literal["dataset"] = False,
        fsync: bool = True,
        verify_after_write: bool = False,
        features: Mapping[str, Feature] | None = None,
        shapes: Mapping[str, str] | None = None,
        threads: int | None = None,
        storage_options: StorageOptions | Mapping[str, Any] | None = None,
    ) -> None:
        options = checked_arguments(Writer.__init__, locals())
        self._encoding = Encoding(
            options.pop("features"), options.pop("shapes"), options.pop("threads")
        )
        super().__init__(**options)
        # The encoder that writes rows directly to a single file, where this is possible.
        self._direct = self._encoding.straight() if self._single is not None else None

    def write(self, record: bytes | bytearray | memoryview | Mapping[str, Any] | Any) -> None:
        """Write one record: bytes unchanged, a mapping as a ``tf.train.Example``.

        A protobuf message, or any object with a method ``SerializeToString``, is serialized.

        :func:`fastrec.encode_example` lists the values that a mapping may contain.
        """
        if type(record) is dict and self._direct is not None and self._open:
            assert self._single is not None
            self._direct.write(self._single, record)
            return
        if type(record) is not bytes:
            self._check_open()
            if _is_message(record):
                record = self._encoded(record)
            else:
                _check_bytes(record)
        super().write(record)

    def _encoded(self, record: Any) -> Any:
        """Encode a mapping, or serialize a message; return other records as they are."""
        if isinstance(record, Mapping):
            return self._encoding.row(record)
        return record.SerializeToString() if _is_message(record) else record

    def _write_some(self, records: Any) -> None:
        if not isinstance(records, Bytes) and len(records) and _is_message(records[0]):
            records = list(map(self._encoded, records))
        super()._write_some(records)

    def write_batch(self, columns: Mapping[str, Any]) -> None:
        """Write one ``tf.train.Example`` per row of `columns`, all of them or none.

        See :func:`fastrec.encode_examples` for the types of columns. All values are checked before
        the first byte is written. A later failure, such as a full disk or Ctrl-C, ends the writer,
        and nothing is published.
        """
        self._check_open()
        values = self._encoding.columns(columns)
        values.check()
        self._write_frames(lambda shards: self._encoding.frames(values, shards), values.rows or 0)
