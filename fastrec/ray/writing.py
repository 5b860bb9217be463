# SPDX-License-Identifier: Apache-2.0
"""Write Ray Datasets as record files."""

from __future__ import annotations

import contextlib
import os
import posixpath
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

import pyarrow as pa
import pyarrow.fs
from ray.data.block import BlockAccessor
from ray.data.datasource import Datasink

import fastrec

from .. import _core
from ..records.compression import Compression, normalize
from ..records.output_rules import check_set, exists_error, remove_shards, stale_shards
from ..records.paths import shard_paths
from ..records.shard_writer import ShardWriter
from ..storage.options import StorageOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["TFRecordDatasink", "write_tfrecords"]

_ROWS_AT_ONCE = 8192  # rows that are encoded in one call


class DatasinkOptions(TypedDict, total=False):
    """Options of a :class:`TFRecordDatasink`."""

    features: Mapping[str, Any] | None
    compression: Compression
    level: int | None
    name: str
    overwrite: bool
    filesystem: Any
    min_rows_per_file: int | None


def write_tfrecords(
    dataset: Any,
    path: str,
    *,
    concurrency: int | None = None,
    ray_remote_args: dict[str, Any] | None = None,
    **options: Unpack[DatasinkOptions],
) -> None:
    """Write a Ray Dataset as record files, each row as an Example.

    The files appear together after all are written. If writing fails, no file appears.

    Parameters
    ----------
    dataset : ray.data.Dataset
    path : str
        A directory or its URL; it is created if missing.
    concurrency, ray_remote_args
        As for ``Dataset.write_datasink``.
    **options
        Options of :class:`TFRecordDatasink`: ``features``, ``compression``, ``name``, ...

    Examples
    --------
    >>> import ray, fastrec.ray
    >>> ds = ray.data.range(1000)  # doctest: +SKIP
    >>> fastrec.ray.write_tfrecords(ds, "numbers/", compression="GZIP")  # doctest: +SKIP
    """
    sink = TFRecordDatasink(path, **options)
    dataset.write_datasink(sink, concurrency=concurrency, ray_remote_args=ray_remote_args)


class TFRecordDatasink(Datasink):  # type: ignore[misc]
    """The datasink of :func:`write_tfrecords`.

    Parameters
    ----------
    path : str
        A directory or its URL; it is created if missing.
    features : mapping of str to feature, optional
        As for :class:`fastrec.Writer`.
    compression, level
        As for :class:`fastrec.Writer`.
    name : str
        Base name; ``part.tfrecord`` becomes ``part-00000-of-00007.tfrecord`` and so on.
    overwrite : bool, default False
        Whether to replace existing files, and to remove shards of an earlier dataset with this
        name from a local directory.
    filesystem : pyarrow.fs.FileSystem, optional
    min_rows_per_file : int, optional
        Minimum number of rows per task.

    Examples
    --------
    >>> sink = fastrec.ray.TFRecordDatasink("out", compression="GZIP")  # doctest: +SKIP
    >>> dataset.write_datasink(sink)  # doctest: +SKIP
    """

    def __init__(
        self,
        path: str,
        *,
        features: Mapping[str, Any] | None = None,
        compression: Compression = None,
        level: int | None = None,
        name: str = "part.tfrecord",
        overwrite: bool = False,
        filesystem: Any = None,
        min_rows_per_file: int | None = None,
    ) -> None:
        if level is not None and normalize(compression) is None:
            raise ValueError("level requires compression")
        if filesystem is None:
            if "://" in path:
                filesystem, path = pyarrow.fs.FileSystem.from_uri(path)
            else:
                filesystem, path = pyarrow.fs.LocalFileSystem(), os.path.abspath(path)
        self._filesystem, self._path, self._name = filesystem, path, name
        self._is_local = isinstance(filesystem, pyarrow.fs.LocalFileSystem)
        self._features, self._packing = features, (normalize(compression), level)
        self._least, self._overwrite = min_rows_per_file, overwrite
        self._unfinished = posixpath.join(path, f"_unfinished-{uuid.uuid4().hex}")

    def get_name(self) -> str:
        """Return the name of the tasks."""
        return "TFRecord"

    @property
    def min_rows_per_write(self) -> int | None:
        """Minimum number of rows per task."""
        return self._least

    def on_write_start(self, schema: Any = None) -> None:
        """Make the directory of unfinished files, unless the target files exist."""
        self._check_targets([shard_paths(self._name, 1)[0]])
        self._filesystem.create_dir(self._unfinished, recursive=True)

    def write(self, blocks: Iterable[Any], ctx: Any) -> list[tuple[int, str]]:
        """Write one file; return its number and temporary path, or nothing without rows."""
        path = posixpath.join(self._unfinished, f"{ctx.task_idx:05d}-{uuid.uuid4().hex}")
        kind, level = self._packing
        storage = StorageOptions(filesystem=None if self._is_local else self._filesystem)
        with ShardWriter(path, compression=kind, level=level, storage_options=storage) as writer:
            rows = 0
            for block in blocks:
                table = BlockAccessor.for_block(block).to_arrow()
                rows += table.num_rows
                for records in self._encoded(table):
                    writer.write_many(records)
            if not rows:
                writer.abort()
                return []
        return [(ctx.task_idx, path)]

    def _encoded(self, table: Any) -> Iterator[fastrec.Bytes]:
        if not table.num_columns or not table.num_rows:
            return
        for batch in table.to_batches(_ROWS_AT_ONCE):
            arrays = map(_storable, batch.columns)
            columns = dict(zip(batch.schema.names, arrays, strict=True))
            yield fastrec.encode_examples(columns, features=self._features, threads=1)

    def _check_targets(self, names: list[str]) -> None:
        """Raise FileExistsError if a file exists and `overwrite` is False."""
        if self._is_local:
            target = posixpath.join(self._path, self._name)
            check_set(target, True, overwrite=self._overwrite, records=True)
        elif not self._overwrite:
            targets = [posixpath.join(self._path, name) for name in names]
            for info in self._filesystem.get_file_info(targets):
                if info.type != pyarrow.fs.FileType.NotFound:
                    raise exists_error(info.path)

    def _move(self, path: str, target: str) -> None:
        if self._is_local:
            _core.move(path, target, self._overwrite)
        else:
            self._filesystem.move(path, target)

    def on_write_complete(self, write_result: Any) -> None:
        """Rename the files to their final names. If that fails, remove the new names again."""
        found = sorted(each for part in write_result.write_returns for each in part)
        names = shard_paths(self._name, len(found))
        self._check_targets(names)
        placed: list[str] = []
        stale: list[str] = []
        if self._is_local:
            stale = stale_shards(posixpath.join(self._path, self._name), names)
        try:
            for (_, path), name in zip(found, names, strict=True):
                target = posixpath.join(self._path, name)
                self._move(path, target)
                placed.append(target)
        except BaseException:
            for target in [] if self._overwrite else placed:
                with contextlib.suppress(OSError):
                    self._filesystem.delete_file(target)
            raise
        remove_shards(stale)
        self._filesystem.delete_dir(self._unfinished)

    def on_write_failed(self, error: Exception) -> None:
        """Remove the temporary files."""
        self._filesystem.delete_dir(self._unfinished)


def _storable(array: Any) -> Any:
    """Convert Ray's various tensor types to lists of values."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
        if pa.types.is_struct(array.type):  # tensors of different shapes
            array = array.field("data")
    return array
