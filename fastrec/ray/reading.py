# SPDX-License-Identifier: Apache-2.0
"""Read record files as Ray Datasets, with a task per byte range and filter pushdown."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.fs
import ray.data
from numpy.typing import NDArray
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasource, ReadTask

import fastrec

from .. import arrow
from ..parsing.column_parser import ColumnParser, Filter, inferred_columns
from ..parsing.infer import survey_features
from ..records.paths import expand, is_path, is_record_name
from ..records.record_files import RecordFiles
from ..records.recovery import OnError
from ..records.shard_sets import Shards, check_shards, check_shards_option
from ..records.splitting import grouped, spread
from ..storage.options import StorageOptions
from ..storage.remote import RemoteFile

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["TFRecordDatasource", "read_tfrecords"]

_LEAST_BYTES = 1 << 20  # bytes of a task; smaller tasks cost more than they read
_PATH = "path"


class DatasourceOptions(TypedDict, total=False):
    """Options of a :class:`TFRecordDatasource`."""

    features: Mapping[str, Any] | fastrec.SequenceFeatures | None
    columns: Sequence[str] | None
    include_paths: bool
    filesystem: Any
    storage_options: StorageOptions | Mapping[str, Any] | None
    batch_size: int
    tensors: bool
    exact: bool
    sample: int | None
    manifest: fastrec.Manifest | Any
    verify: bool
    on_error: OnError
    shards: Shards


def read_tfrecords(
    paths: Any,
    *,
    override_num_blocks: int | None = None,
    concurrency: int | None = None,
    ray_remote_args: dict[str, Any] | None = None,
    **options: Unpack[DatasourceOptions],
) -> Any:
    """Read record files into a Ray Dataset of Arrow blocks.

    Files are split into byte ranges (see :func:`fastrec.file_ranges`), so several tasks can read
    one large file. A task that is run again returns the same blocks. A following ``select_columns``
    or ``filter`` with an expression is applied while reading: columns that are not selected are not
    parsed, and for records that a filter drops, only the columns that it names are parsed.

    Parameters
    ----------
    paths : path, glob pattern, directory, list of these
        Files to read; may also be URLs of objects. With `filesystem`, a path or a list of paths in
        that file system.
    override_num_blocks, concurrency, ray_remote_args
        As for ``ray.data.read_datasource``.
    **options
        Options of :class:`TFRecordDatasource`: ``features``, ``columns``, ``include_paths``, ...

    Returns
    -------
    ray.data.Dataset

    Examples
    --------
    >>> import ray, fastrec.ray
    >>> ds = fastrec.ray.read_tfrecords("train-*.tfrecord")  # doctest: +SKIP
    >>> ds.select_columns(["label"]).groupby("label").count().show()  # doctest: +SKIP
    """
    return ray.data.read_datasource(
        TFRecordDatasource(paths, **options),
        override_num_blocks=override_num_blocks,
        concurrency=concurrency,
        ray_remote_args=ray_remote_args,
    )


class TFRecordDatasource(Datasource):  # type: ignore[misc]
    """The datasource of :func:`read_tfrecords`.

    Parameters
    ----------
    paths : path, glob pattern, directory, list of these
        As for :func:`read_tfrecords`.
    features : mapping of str to feature, or SequenceFeatures, optional
        As for :func:`fastrec.arrow.table`. By default, features are inferred from the first
        records; a record that does not match them raises an error when it is read.
    columns : list of str, optional
        Features to read. ``Dataset.select_columns`` has the same effect.
    include_paths : bool
        Whether to add a column ``path``.
    filesystem : pyarrow.fs.FileSystem, optional
    storage_options : StorageOptions or mapping, optional
        Options for URLs, as for :class:`fastrec.Reader`. They are sent to the tasks, so credentials
        are rejected; put them in the environment of each node. All tasks read the version of an
        object that exists when the datasource is created.
    batch_size : int
        Maximum number of rows per block.
    tensors : bool
        As for :func:`fastrec.arrow.batch`.
    exact : bool
        As for :func:`fastrec.file_ranges`.
    sample : int or None
        Number of records from which features are inferred; None for all.
    manifest : path or Manifest, optional
        Manifest of these files. Names and sizes are compared with it immediately. The record count
        of a file is compared after one task has read the whole file. With a manifest, or with an
        index next to each file, Ray knows the number of rows without reading the files.
    verify, on_error
        As for :class:`fastrec.Reader`; a callable must be picklable.
    shards : {"complete", "any"}
        As for :class:`fastrec.Reader`.

    Examples
    --------
    >>> source = fastrec.ray.TFRecordDatasource("train-*.tfrecord")  # doctest: +SKIP
    >>> dataset = ray.data.read_datasource(source)  # doctest: +SKIP
    """

    def __init__(
        self,
        paths: Any,
        *,
        features: Mapping[str, Any] | fastrec.SequenceFeatures | None = None,
        columns: Sequence[str] | None = None,
        include_paths: bool = False,
        filesystem: Any = None,
        storage_options: StorageOptions | Mapping[str, Any] | None = None,
        batch_size: int = 8192,
        tensors: bool = True,
        exact: bool = False,
        sample: int | None = 1000,
        manifest: fastrec.Manifest | Any = None,
        verify: bool = True,
        on_error: OnError = "raise",
        shards: Shards = "complete",
    ) -> None:
        super().__init__()
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        self._filesystem = filesystem
        self._storage = StorageOptions.of(storage_options)
        self._paths = _located(
            paths, filesystem, self._storage, shards if manifest is None else "any"
        )
        self._files = self._ranges(_NEVER)
        self._exact = exact
        self._options: dict[str, Any] = {"verify": verify, "on_error": on_error}
        if any(isinstance(path, RemoteFile) for path in self._paths):
            self._options["storage_options"] = self._storage
        self._include_paths, self._batch_size, self._tensors = include_paths, batch_size, tensors
        sequence: Mapping[str, Any] | None = None
        if features is None:
            if not self._files:
                raise ValueError("features is required: the files have no records to infer it from")
            features = inferred_columns(self._inferred(sample))
        if isinstance(features, fastrec.SequenceFeatures):
            sequence = features.sequence
            features = features.context
        self._features, self._sequence = dict(features), sequence and dict(sequence)
        self._manifest = None if manifest is None else self._held_against(manifest)
        self._predicate_expr: Any = None
        if include_paths and _PATH in self._names:
            raise ValueError(f"{_PATH!a} is a feature: include_paths requires that it is not read")
        self._projection_map: dict[str, str] | None = None
        if columns is not None:
            if odd := [name for name in columns if name not in self._names]:
                raise ValueError(f"columns: {odd[0]!a} is not in features")
            self._projection_map = {name: name for name in columns}
            if include_paths:
                self._projection_map[_PATH] = _PATH

    def _inferred(self, sample: int | None) -> Any:
        options = {"on_error": self._options["on_error"], "storage_options": self._storage}
        return survey_features(self._files, sample, for_table=True, **options)

    def _ranges(self, size: int, *, exact: bool = False) -> list[fastrec.FileRange]:
        return fastrec.file_ranges(
            self._paths,
            size,
            exact=exact,
            filesystem=self._filesystem,
            shards="any",
            storage_options=self._storage,
        )

    @property
    def _names(self) -> list[str]:
        return [*self._features, *(self._sequence or ())]

    def get_name(self) -> str:
        """Return the name of the tasks."""
        return "TFRecord"

    def supports_projection_pushdown(self) -> bool:
        """Return True: only requested columns are parsed."""
        return True

    def supports_predicate_pushdown(self) -> bool:
        """Return True if records are filtered before their other columns are parsed."""
        return True

    def apply_predicate(self, predicate_expr: Any) -> Any:
        """Return a datasource that filters, or this one if Ray must filter itself."""
        if not all(self._is_scalar(name) for name in _names_in(predicate_expr)):
            return self
        return super().apply_predicate(predicate_expr)

    def _is_scalar(self, name: str) -> bool:
        feature = self._features.get(name)
        shape = getattr(feature, "shape", None)
        return isinstance(feature, arrow.Optional) or (
            isinstance(feature, fastrec.FixedLenFeature) and shape == ()
        )

    def _held_against(self, manifest: Any) -> fastrec.Manifest:
        """Return the manifest after comparing its names and sizes with the files."""
        if self._options["on_error"] != "raise":
            raise ValueError("manifest and on_error are mutually exclusive")
        held = fastrec.Manifest.of(manifest, self._storage)
        held.check_names(self._paths)
        for path in self._paths:
            held.check_size(path, self._size(fastrec.FileRange(path)))
        return held

    def estimate_inmemory_data_size(self) -> int:
        """Return the size of the files, which is about the size of the columns in memory."""
        return sum(map(self._size, self._files))

    def _size(self, whole: fastrec.FileRange) -> int:
        if whole.end is not None:
            return whole.end - whole.begin
        if self._filesystem is not None:
            return int(self._filesystem.get_file_info(os.fsdecode(whole.path)).size or 0)
        if isinstance(whole.path, RemoteFile):
            return whole.path.size
        return os.stat(whole.path).st_size

    def get_read_tasks(
        self,
        parallelism: int,
        per_task_row_limit: int | None = None,
        data_context: Any = None,
    ) -> list[Any]:
        """Return tasks that each read about the same number of bytes."""
        total = self.estimate_inmemory_data_size()
        size = max(total // max(parallelism, 1), _LEAST_BYTES)
        names = {*self._names, _PATH} if self._projection_map is None else self._projection_map
        features = {name: each for name, each in self._features.items() if name in names}
        sequence = self._sequence and {n: f for n, f in self._sequence.items() if n in names}
        if not features and not sequence:
            features = dict(list(self._features.items())[:1])
        parser = ColumnParser(features, sequence, threads=1)
        with_path = self._include_paths and _PATH in names
        parts = self._ranges(size, exact=self._exact)
        read = _Reading(
            parser=parser,
            where=self._where(),
            options=self._options,
            batch_size=self._batch_size,
            tensors=self._tensors,
            with_path=with_path,
            sample=spread(parts),
        )
        schema = read.empty().schema
        return [
            ReadTask(
                partial(read, group, [self._listed(part) for part in group]),
                self._metadata(group),
                schema,
                per_task_row_limit,
            )
            for group in grouped(parts, list(map(self._size, parts)), size)
        ]

    def _where(self) -> Filter | None:
        if self._predicate_expr is None:
            return None
        named = _names_in(self._predicate_expr)
        features = {name: each for name, each in self._features.items() if name in named}
        parser = ColumnParser(features, self._sequence and {}, threads=1)
        return Filter(parser, partial(_matching, self._predicate_expr.to_pyarrow()))

    def _metadata(self, group: Sequence[fastrec.FileRange]) -> Any:
        counts = [self._count(part) for part in group]
        return BlockMetadata(
            num_rows=None if None in counts else sum(map(int, filter(None, counts))),
            size_bytes=sum(map(self._size, group)),
            exec_stats=None,
            input_files=tuple(dict.fromkeys(os.fsdecode(part.path) for part in group)),
        )

    def _count(self, part: fastrec.FileRange) -> int | None:
        """Return the number of records in a range if the manifest or an index file has it."""
        if self._predicate_expr is not None or self._options["on_error"] != "raise":
            return None
        if (listed := self._listed(part)) is not None:
            return listed.records
        if part.filesystem is not None or part.end is None or isinstance(part.path, RemoteFile):
            return None
        try:
            offsets = fastrec.Index.load(part.path).offsets
        except (OSError, fastrec.IndexMismatchError):
            return None
        begin, end = np.searchsorted(offsets, [part.begin, part.end])
        return int(end - begin)

    def _listed(self, part: fastrec.FileRange) -> fastrec.ManifestFile | None:
        """Return the manifest's entry of a file that is read as a whole."""
        if self._manifest is None:
            return None
        found = self._manifest.entry(part.path)
        return found if part.begin == 0 and part.end in (None, found.size) else None


_NEVER = 1 << 62  # larger than any file, so no file is split


def _located(paths: Any, filesystem: Any, storage: StorageOptions, shards: Shards) -> list[Any]:
    """Return the files that paths name, in a file system, on this machine or in stores."""
    if filesystem is None:
        return [
            # Paths become absolute because tasks run in other working directories.
            path if isinstance(path, RemoteFile) else os.path.abspath(path)
            for path in expand(paths, storage, shards=shards)
        ]
    listed = [paths] if is_path(paths) else list(paths)
    files: list[str] = []
    for path in map(os.fsdecode, listed):
        info = filesystem.get_file_info(path)
        if info.type is pyarrow.fs.FileType.NotFound:
            raise FileNotFoundError(2, "no such file", path)
        if info.type is pyarrow.fs.FileType.Directory:
            inside = filesystem.get_file_info(pyarrow.fs.FileSelector(path))
            files += sorted(i.path for i in inside if i.is_file and is_record_name(i.base_name))
        else:
            files.append(path)
    check_shards_option(shards)
    if shards == "complete":
        check_shards(files, {*map(os.fsdecode, listed)})
    return files


def _matching(predicate: Any, columns: Mapping[str, Any]) -> NDArray[np.int64]:
    """Return the numbers of the rows that satisfy a predicate."""
    table = pa.table(arrow.batch(columns, tensors=False))
    table = table.append_column("\0", pa.array(np.arange(len(table))))
    matching = table.filter(predicate).column(table.num_columns - 1)
    return np.sort(matching.to_numpy())  # pyarrow's threads do not keep the order


@dataclass(frozen=True)
class _Reading:
    """Reads the blocks of one task; every run yields the same blocks.

    `sample` are byte ranges from all parts of the source.
    """

    parser: ColumnParser
    where: Filter | None
    options: Mapping[str, Any]
    batch_size: int
    tensors: bool
    with_path: bool
    sample: Sequence[fastrec.FileRange]

    def __call__(
        self,
        parts: Sequence[fastrec.FileRange],
        listed: Sequence[fastrec.ManifestFile | None],
    ) -> Iterator[Any]:
        none = True
        for part, entry in zip(parts, listed, strict=True):
            files, rows = RecordFiles(part, **self.options), 0
            others = (RecordFiles(each, **self.options) for each in self.sample)
            for _, columns in self.parser.read(files, self.batch_size, self.where, others=others):
                none = False
                block = self.table(columns, os.fsdecode(part.path))
                rows += block.num_rows
                yield block
            if entry is not None and self.where is None:
                fastrec.Manifest([entry]).check_records(part.path, rows)
        if none:
            yield self.empty()

    def empty(self) -> Any:
        """Return a block without rows."""
        return self.table(self.parser(fastrec.Bytes.from_list([])), "")

    def table(self, columns: Mapping[str, Any], path: str) -> Any:
        """Return a table of the columns, with the path column if requested."""
        table = pa.table(arrow.batch(columns, tensors=self.tensors))
        if self.with_path:
            table = table.append_column(_PATH, pa.repeat(pa.scalar(path), table.num_rows))
        return table


def _names_in(expression: Any) -> set[str]:
    """Return the columns that an expression of Ray names."""
    # Older versions of Ray lack this module, and do not push filters down.
    from ray.data.expressions import ColumnExpr

    if isinstance(expression, (list, tuple)):
        return set().union(*map(_names_in, expression))
    if isinstance(expression, dict):
        return _names_in(list(expression.values()))
    if not dataclasses.is_dataclass(expression):
        return set()
    inner = [getattr(expression, field.name) for field in dataclasses.fields(expression)]
    found = _names_in(inner)
    return found | {expression.name} if isinstance(expression, ColumnExpr) else found
