# SPDX-License-Identifier: Apache-2.0
"""Writing record files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..features.spec import Feature
from ..records.paths import PathLike
from ..records.shard_writer import ShardWriter
from .encoder import Encoding
from .to_column import type_name

__all__ = ["Writer"]


def _check_bytes(record: Any) -> None:
    """Raise unless a record is bytes-like: arrays of other types have no bytes that one means."""
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


class Writer(ShardWriter):
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
        self._encoding = Encoding(features, shapes, threads)
        super().__init__(
            path,
            compression=compression,
            level=level,
            overwrite=overwrite,
            shards=shards,
            shard_bytes=shard_bytes,
            shard_records=shard_records,
            append=append,
            index=index,
            fsync=fsync,
            verify_after_write=verify_after_write,
        )
        # What encodes rows into the single file without a copy, where that is possible.
        self._direct = self._encoding.straight() if self._single is not None else None

    def write(self, record: bytes | bytearray | memoryview | Mapping[str, Any]) -> None:
        """Write one record: bytes as they are, a mapping as a ``tf.train.Example``.

        See :func:`fastrec.encode_example` for what a mapping may hold.
        """
        if type(record) is dict and self._direct is not None and self._open:
            assert self._single is not None
            self._direct.write(self._single, record)
            return
        if type(record) is not bytes:
            self._check_open()
            if isinstance(record, Mapping):
                record = self._encoding.row(record)
            else:
                _check_bytes(record)
        super().write(record)

    def write_batch(self, columns: Mapping[str, Any]) -> None:
        """Write one ``tf.train.Example`` a row of `columns`, all of them or none.

        See :func:`fastrec.encode_examples` for what columns may be. A value that cannot be stored
        is found before the first byte is written. What can happen after that, such as a full disk
        or Ctrl-C, ends the writer, and nothing is published.
        """
        self._check_open()
        values = self._encoding.columns(columns)
        values.check()
        self._write_frames(lambda shards: self._encoding.frames(values, shards), values.rows or 0)
