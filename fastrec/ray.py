# SPDX-License-Identifier: Apache-2.0
"""Record files as data sets of Ray Data, and data sets as record files.

Requires the extra ``ray``: ``pip install 'fastrec-io[ray]'``.
"""

from __future__ import annotations

import os
import posixpath
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import fastrec

try:
    import ray.data
except ModuleNotFoundError as error:
    if error.name not in ("ray", "ray.data"):
        raise
    message = "fastrec.ray requires ray: pip install 'fastrec-io[ray]'"
    raise ModuleNotFoundError(message, name=error.name) from None

import pyarrow as pa
import pyarrow.fs
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasink, Datasource, ReadTask

from . import _core, arrow
from .records.compression import compressor, normalize
from .records.paths import is_path
from .records.record_files import RecordFiles
from .records.splitting import grouped

__all__ = ["TFRecordDatasink", "TFRecordDatasource", "read_tfrecords", "write_tfrecords"]

_LEAST_BYTES = 1 << 20
_MOST_BYTES = 128 << 20
_PATH = "path"


def read_tfrecords(
    paths: Any,
    *,
    features: Mapping[str, Any] | fastrec.SequenceFeatures | None = None,
    columns: Sequence[str] | None = None,
    include_paths: bool = False,
    filesystem: Any = None,
    batch_size: int = 8192,
    tensors: bool = True,
    exact: bool = False,
    sample: int | None = 1000,
    verify: bool = True,
    on_error: Any = "raise",
    **options: Any,
) -> Any:
    """Read record files into a Ray Dataset of Arrow blocks.

    Files are split into byte ranges, see :func:`fastrec.file_ranges`, so that one large file is
    read by many tasks. A task that is run again gives the same blocks again.

    Parameters
    ----------
    paths : path, glob pattern, directory, list of these
        With `filesystem`, a path or a list of paths there. A URL such as ``"s3://bucket/x"``
        stands for the file system that pyarrow has for it.
    features : mapping of str to feature, or SequenceFeatures, optional
        As for :func:`fastrec.arrow.table`. By default inferred from the first records; one that
        does not fit is an error when it is read.
    columns : list of str, optional
        Which of the features are read. ``Dataset.select_columns`` has the same effect.
    include_paths : bool
        Add a column ``path``.
    filesystem : pyarrow.fs.FileSystem, optional
    batch_size : int
        Most rows of a block.
    tensors : bool
        As for :func:`fastrec.arrow.batch`.
    exact : bool
        As for :func:`fastrec.file_ranges`.
    sample : int or None
        Records that features are inferred from; None for all.
    verify, on_error
        As for :class:`fastrec.Reader`; a callable has to be one that can be pickled.
    **options
        Of ``ray.data.read_datasource``: ``override_num_blocks``, ``concurrency``, ...

    Returns
    -------
    ray.data.Dataset

    Examples
    --------
    >>> import ray, fastrec.ray
    >>> ds = fastrec.ray.read_tfrecords("train-*.tfrecord")  # doctest: +SKIP
    >>> ds.select_columns(["label"]).groupby("label").count().show()  # doctest: +SKIP
    """
    source = TFRecordDatasource(
        paths,
        features=features,
        columns=columns,
        include_paths=include_paths,
        filesystem=filesystem,
        batch_size=batch_size,
        tensors=tensors,
        exact=exact,
        sample=sample,
        verify=verify,
        on_error=on_error,
    )
    return ray.data.read_datasource(source, **options)


class TFRecordDatasource(Datasource):  # type: ignore[misc]
    """The datasource of :func:`read_tfrecords`, with its parameters."""

    def __init__(
        self,
        paths: Any,
        *,
        features: Mapping[str, Any] | fastrec.SequenceFeatures | None = None,
        columns: Sequence[str] | None = None,
        include_paths: bool = False,
        filesystem: Any = None,
        batch_size: int = 8192,
        tensors: bool = True,
        exact: bool = False,
        sample: int | None = 1000,
        verify: bool = True,
        on_error: Any = "raise",
    ) -> None:
        super().__init__()
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        self._filesystem, self._paths = _located(paths, filesystem)
        self._files = fastrec.file_ranges(self._paths, _NEVER, filesystem=self._filesystem)
        self._exact, self._options = exact, {"verify": verify, "on_error": on_error}
        self._include_paths, self._batch_size, self._tensors = include_paths, batch_size, tensors
        sequence: Mapping[str, Any] | None = None
        if isinstance(features, fastrec.SequenceFeatures):
            sequence = features.sequence
            features = features.context
        elif features is None:
            if not self._files:
                raise ValueError("features is required: the files have no records to infer it from")
            features = arrow.with_optional(fastrec.infer_features(self._files, sample))
        self._features, self._sequence = dict(features), sequence and dict(sequence)
        if include_paths and _PATH in self._names:
            raise ValueError(f"{_PATH!a} is a feature: include_paths requires that it is not read")
        self._projection_map: dict[str, str] | None = None
        if columns is not None:
            if odd := [name for name in columns if name not in self._names]:
                raise ValueError(f"columns: {odd[0]!a} is not in features")
            self._projection_map = {name: name for name in columns}
            if include_paths:
                self._projection_map[_PATH] = _PATH

    @property
    def _names(self) -> list[str]:
        return [*self._features, *(self._sequence or ())]

    def get_name(self) -> str:
        """The name of the tasks."""
        return "TFRecord"

    def supports_projection_pushdown(self) -> bool:
        """Only what is asked for is parsed."""
        return True

    def estimate_inmemory_data_size(self) -> int:
        """The size of the files, which columns in memory have about."""
        return sum(map(self._size, self._files))

    def _size(self, whole: fastrec.FileRange) -> int:
        if whole.end is not None:
            return whole.end - whole.begin
        if self._filesystem is not None:
            return int(self._filesystem.get_file_info(os.fsdecode(whole.path)).size or 0)
        return os.stat(whole.path).st_size

    def get_read_tasks(
        self,
        parallelism: int,
        per_task_row_limit: int | None = None,
        data_context: Any = None,
    ) -> list[Any]:
        """Tasks that read about as many bytes each."""
        total = self.estimate_inmemory_data_size()
        size = min(max(total // max(parallelism, 1), _LEAST_BYTES), _MOST_BYTES)
        names = self._projection_map or dict.fromkeys(self._names)
        features = {name: each for name, each in self._features.items() if name in names}
        sequence = self._sequence and {n: f for n, f in self._sequence.items() if n in names}
        if not features and not sequence:
            features = dict(list(self._features.items())[:1])
        parser = arrow.ColumnParser(features, sequence, threads=1)
        with_path = self._include_paths and _PATH in (self._projection_map or {_PATH})
        read = partial(_read, parser, self._options, self._batch_size, self._tensors, with_path)
        parts = fastrec.file_ranges(
            self._paths, size, exact=self._exact, filesystem=self._filesystem
        )
        schema = _table(parser(fastrec.Bytes.from_list([])), self._tensors, "", with_path).schema
        return [
            ReadTask(partial(read, group), self._metadata(group), schema, per_task_row_limit)
            for group in grouped(parts, map(self._size, parts), size)
        ]

    def _metadata(self, group: Sequence[fastrec.FileRange]) -> Any:
        counts = [self._count(part) for part in group]
        return BlockMetadata(
            num_rows=None if None in counts else sum(map(int, filter(None, counts))),
            size_bytes=sum(map(self._size, group)),
            exec_stats=None,
            input_files=tuple(dict.fromkeys(os.fsdecode(part.path) for part in group)),
        )

    def _count(self, part: fastrec.FileRange) -> int | None:
        """Records of a range, where an index beside the file tells."""
        if part.filesystem is not None or part.end is None or self._options["on_error"] != "raise":
            return None
        try:
            offsets = fastrec.Index.load(part.path).offsets
        except (OSError, fastrec.IndexMismatchError):
            return None
        begin, end = np.searchsorted(offsets, [part.begin, part.end])
        return int(end - begin)


_NEVER = 1 << 62  # larger than a file: it is not cut


def _located(paths: Any, filesystem: Any) -> tuple[Any, Any]:
    """The file system, None for that of this machine, and paths on it."""
    listed = [paths] if is_path(paths) else list(paths)
    if filesystem is None:
        if not any("://" in os.fsdecode(path) for path in listed):
            return None, listed
        found = [pyarrow.fs.FileSystem.from_uri(os.fsdecode(path)) for path in listed]
        filesystem, listed = found[0][0], [path for _, path in found]
    files: list[str] = []
    for path in map(os.fsdecode, listed):
        info = filesystem.get_file_info(path)
        if info.type is pyarrow.fs.FileType.NotFound:
            raise FileNotFoundError(2, "no such file", path)
        if info.type is pyarrow.fs.FileType.Directory:
            inside = filesystem.get_file_info(pyarrow.fs.FileSelector(path))
            files += sorted(i.path for i in inside if i.is_file and ".tfrecord" in i.base_name)
        else:
            files.append(path)
    return filesystem, files


def _read(
    parser: arrow.ColumnParser,
    options: Mapping[str, Any],
    batch_size: int,
    tensors: bool,
    with_path: bool,
    parts: Sequence[fastrec.FileRange],
) -> Iterator[Any]:
    """The blocks of one task, the same in every run."""
    none = True
    for part in parts:
        for columns in parser.read(RecordFiles(part, **options), batch_size):
            none = False
            yield _table(columns, tensors, os.fsdecode(part.path), with_path)
    if none:
        yield _table(parser(fastrec.Bytes.from_list([])), tensors, "", with_path)


def _table(columns: Mapping[str, Any], tensors: bool, path: str, with_path: bool) -> Any:
    table = pa.table(arrow.batch(columns, tensors=tensors))
    if with_path:
        table = table.append_column(_PATH, pa.repeat(pa.scalar(path), table.num_rows))
    return table


# -- Writing ---------------------------------------------------------------------------------------


def write_tfrecords(
    dataset: Any,
    path: str,
    *,
    features: Mapping[str, Any] | None = None,
    compression: str | None = None,
    level: int | None = None,
    name: str = "part.tfrecord",
    filesystem: Any = None,
    min_rows_per_file: int | None = None,
    **options: Any,
) -> None:
    """Write a Ray Dataset as record files, each row as an Example.

    The files appear together when all are written, and none if that fails.

    Parameters
    ----------
    dataset : ray.data.Dataset
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
    **options
        Of ``Dataset.write_datasink``: ``concurrency``, ...
    """
    sink = TFRecordDatasink(
        path,
        features=features,
        compression=compression,
        level=level,
        name=name,
        filesystem=filesystem,
        min_rows_per_file=min_rows_per_file,
    )
    dataset.write_datasink(sink, **options)


class TFRecordDatasink(Datasink):  # type: ignore[misc]
    """The datasink of :func:`write_tfrecords`, with its parameters."""

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
                table = ray.data.block.BlockAccessor.for_block(block).to_arrow()
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
        """Give the files their names."""
        found = sorted(each for part in write_result.write_returns for each in part)
        root, suffix = posixpath.splitext(self._name)
        for number, (_, path) in enumerate(found):
            name = f"{root}-{number:05d}-of-{len(found):05d}{suffix}"
            self._filesystem.move(path, posixpath.join(self._path, name))
        self._filesystem.delete_dir(self._unfinished)

    def on_write_failed(self, error: Exception) -> None:
        """Remove what was written."""
        self._filesystem.delete_dir(self._unfinished)


_ROWS_AT_ONCE = 8192


def _storable(array: Any) -> Any:
    """The values of tensors, of which Ray has several types, as lists."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
        if pa.types.is_struct(array.type):  # tensors of different shapes
            array = array.field("data")
    return array
