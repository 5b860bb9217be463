# SPDX-License-Identifier: Apache-2.0
"""Ray Datasets as record files."""

from __future__ import annotations

import contextlib
import os
import posixpath
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.fs
from ray.data.block import BlockAccessor
from ray.data.datasource import Datasink

import fastrec

from .. import _core
from ..records.compression import compressor, normalize
from ..records.paths import shard_paths

__all__ = ["TFRecordDatasink", "write_tfrecords"]

_ROWS_AT_ONCE = 8192


def write_tfrecords(
    dataset: Any,
    path: str,
    *,
    concurrency: int | None = None,
    ray_remote_args: dict[str, Any] | None = None,
    **options: Any,
) -> None:
    """Write a Ray Dataset as record files, each row as an Example.

    The files appear together when all are written, and none if that fails.

    Parameters
    ----------
    dataset : ray.data.Dataset
    path : str
        A directory, or a URL of one; it is made where it is missing.
    concurrency, ray_remote_args
        As for ``Dataset.write_datasink``.
    **options
        Of :class:`TFRecordDatasink`: ``features``, ``compression``, ``name``, ...

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
        A directory, or a URL of one; it is made where it is missing.
    features : mapping of str to feature, optional
        As for :class:`fastrec.Writer`.
    compression, level
        As for :class:`fastrec.Writer`.
    name : str
        ``part.tfrecord`` stands for ``part-00000-of-00007.tfrecord`` and so on.
    filesystem : pyarrow.fs.FileSystem, optional
    min_rows_per_file : int, optional
        Rows that a task is given at least.
    """

    def __init__(
        self,
        path: str,
        *,
        features: Mapping[str, Any] | None = None,
        compression: str | None = None,
        level: int | None = None,
        name: str = "part.tfrecord",
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
        self._features, self._packing = features, (normalize(compression), level)
        self._least = min_rows_per_file
        self._unfinished = posixpath.join(path, f"_unfinished-{uuid.uuid4().hex}")

    def get_name(self) -> str:
        """The name of the tasks."""
        return "TFRecord"

    @property
    def min_rows_per_write(self) -> int | None:
        """Rows that a task is given at least."""
        return self._least

    def on_write_start(self, schema: Any = None) -> None:
        """Make the directory of the files that are not finished."""
        self._filesystem.create_dir(self._unfinished, recursive=True)

    def write(self, blocks: Iterable[Any], ctx: Any) -> list[tuple[int, str]]:
        """Write one file; its number and where it is as yet."""
        path = posixpath.join(self._unfinished, f"{ctx.task_idx:05d}-{uuid.uuid4().hex}")
        kind, level = self._packing
        pack = None if kind is None else compressor(kind, level)
        rows = 0
        with self._filesystem.open_output_stream(path, compression=None) as file:
            for block in blocks:
                table = BlockAccessor.for_block(block).to_arrow()
                rows += table.num_rows
                for frames in self._frames(table):
                    file.write(frames if pack is None else pack.compress(frames))
            if pack is not None:
                file.write(pack.flush())
        if not rows:
            self._filesystem.delete_file(path)
        return [(ctx.task_idx, path)] if rows else []

    def _frames(self, table: Any) -> Iterator[Any]:
        if not table.num_columns or not table.num_rows:
            return
        for batch in table.to_batches(_ROWS_AT_ONCE):
            arrays = map(_storable, batch.columns)
            columns = dict(zip(batch.schema.names, arrays, strict=True))
            records = fastrec.encode_examples(columns, features=self._features, threads=1)
            for frames, _ in _core.Frames(records):
                yield memoryview(frames)  # type: ignore[arg-type]

    def on_write_complete(self, write_result: Any) -> None:
        """Give the files their names, or none of them if that fails."""
        found = sorted(each for part in write_result.write_returns for each in part)
        names = shard_paths(self._name, len(found))
        placed: list[str] = []
        try:
            for (_, path), name in zip(found, names, strict=True):
                target = posixpath.join(self._path, name)
                self._filesystem.move(path, target)
                placed.append(target)
        except BaseException:
            for target in placed:
                with contextlib.suppress(OSError):
                    self._filesystem.delete_file(target)
            raise
        self._filesystem.delete_dir(self._unfinished)

    def on_write_failed(self, error: Exception) -> None:
        """Remove what was written."""
        self._filesystem.delete_dir(self._unfinished)


def _storable(array: Any) -> Any:
    """The values of tensors, of which Ray has several types, as lists."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
        if pa.types.is_struct(array.type):  # tensors of different shapes
            array = array.field("data")
    return array
