# SPDX-License-Identifier: Apache-2.0
"""Access to the records of a prepared dataset by number, in order, and in batches."""

from __future__ import annotations

import bisect
import itertools
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import fastrec

from ..arguments import check_types
from ..columns import Bytes
from ..errors import ExampleParseError, MissingRecordsError
from ..storage.options import StorageOptions
from ..threads.locks import ProcessLock
from .columns import Structure
from .features import FeaturesDict, Tensor
from .info import DatasetInfo
from .rows import RowFile
from .splits import Part, Span, Splits

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..batches.option_types import TransformedOptions
    from .statistics import Statistics, StatisticsOptions
    from .steps import StepOptions

__all__ = ["Dataset"]

_OPEN_FILES = 64  # readers that stay open
_BLOCK = 64  # records that are parsed together during iteration
_IMAGES = 8  # the same for records with images, which are decoded together
_NEEDS_FILES = (
    "augment", "balance", "buckets", "interleave", "on_error", "order", "weights", "where"
)  # fmt: skip


class Dataset(Sequence[Any]):
    """The records of a split, or of a part of one, as nested dictionaries.

    Use :func:`load` to create one. A Dataset can be pickled, and several threads can read from it.

    Attributes
    ----------
    info : DatasetInfo
        The description of the whole dataset.
    features : FeaturesDict
        The feature connectors, by name.
    split : str
        The name or expression of the split.
    """

    def __init__(
        self,
        info: DatasetInfo,
        split: str,
        spans: Sequence[Span],
        structure: Structure,
        *,
        with_id: bool = False,
    ) -> None:
        self.info = info
        self.features: Final = structure.features
        self.split = split
        self._spans = list(spans)
        self._structure = structure
        self._with_id = with_id
        self._ends = list(itertools.accumulate(span.take for span in self._spans))
        self._readers: OrderedDict[str, fastrec.Reader] = OrderedDict()
        self._lock = ProcessLock()

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @property
    def files(self) -> list[Span]:
        """The files, with the range of records that this dataset uses from each."""
        return list(self._spans)

    # --- records ----------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        """Return one record as NumPy values; for a slice, return the dataset of its records."""
        if isinstance(index, slice):
            rows = range(len(self))[index]
            if rows.step != 1:
                raise ValueError(f"a dataset is sliced in steps of 1, got {rows.step}")
            return self._part(rows.start, max(rows.start, rows.stop))
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """Return several records. PyTorch and Grain call this method."""
        places = [self._place(index) for index in indices]
        found: list[Any] = [None] * len(places)
        by_file: dict[str, list[int]] = {}
        for row, (span, _) in enumerate(places):
            by_file.setdefault(span.path, []).append(row)
        for path, rows in by_file.items():
            numbers = [places[row][1] for row in rows]
            records = self._reader(places[rows[0]][0]).read_many(numbers)
            for row, value in zip(rows, self._parsed(records, path, numbers), strict=True):
                found[row] = value
        return found

    def _part(self, start: int, stop: int) -> Dataset:
        spans, first = [], 0
        for span in self._spans:
            begin, end = max(start - first, 0), min(stop - first, span.take)
            if begin < end:
                spans.append(Span(span.path, span.skip + begin, end - begin, span.length))
            first += span.take
        split = f"{self.split}[{start}:{stop}]"
        return Dataset(self.info, split, spans, self._structure, with_id=self._with_id)

    def _place(self, index: int) -> tuple[Span, int]:
        """Return the file that holds a record, and the number of the record in that file."""
        count = len(self)
        number = index + count if index < 0 else index
        if not 0 <= number < count:
            raise IndexError(f"record {index} is out of range ({count} records)")
        file = bisect.bisect_right(self._ends, number)
        span = self._spans[file]
        return span, span.skip + int(number) - (self._ends[file] - span.take)

    def tfds_id(self, index: int) -> str:
        """Return file name and record number: ``mnist-train.tfrecord-00000-of-00001__7``."""
        check_types(Dataset.tfds_id, locals())
        span, number = self._place(index)
        return f"{os.path.basename(span.path)}__{number}"

    def _open(self, source: str | list[str]) -> fastrec.Reader:
        return fastrec.Reader(source, storage_options=self.info.storage)

    def _reader(self, span: Span) -> fastrec.Reader:
        """Return a reader of the file, after checking its record count against the metadata."""
        with self._lock.current():
            if span.path in self._readers:
                self._readers.move_to_end(span.path)
                return self._readers[span.path]
        reader = self._open(span.path)
        check_length(span, len(reader))
        with self._lock.current():
            self._readers[span.path] = reader
            while len(self._readers) > _OPEN_FILES:
                self._readers.popitem(last=False)
        return reader

    def _parsed(self, records: Bytes, path: str, numbers: Sequence[int]) -> Iterator[Any]:
        """Parse records of one file; `numbers` are used in error messages and ids."""
        columns = parse_located(records, self._structure.batch_spec, path, numbers)
        for row, number in enumerate(numbers):
            try:
                value = self._structure.row(columns, row)
            except ExampleParseError as error:
                raise error.in_record(number, path) from error
            if self._with_id:
                value["tfds_id"] = f"{os.path.basename(path)}__{number}".encode()
            yield value

    def __iter__(self) -> Iterator[Any]:
        """Yield the records, file by file."""
        for span in self._spans:
            done = span.skip
            for records in self._blocks(span):
                yield from self._parsed(records, span.path, range(done, done + len(records)))
                done += len(records)

    def _blocks(self, span: Span) -> Iterator[Bytes]:
        count = _IMAGES if self._structure.has_images else _BLOCK
        if not span.is_whole:
            reader, stop = self._reader(span), span.skip + span.take
            for first in range(span.skip, stop, count):
                yield reader.read_many(range(first, min(first + count, stop)))
            return
        found = 0
        for records in self._open(span.path).blocks(count):
            found += len(records)
            if found > span.length:
                break
            yield records
        check_length(span, found)

    # --- batches ----------------------------------------------------------------------------

    def batches(
        self,
        batch_size: int | None = 1,
        *,
        transform: Callable[[Any], Any] | None = None,
        **options: Unpack[TransformedOptions],
    ) -> fastrec.Batcher:
        """Return a :class:`~fastrec.Batcher` that yields nested columns.

        Parameters
        ----------
        batch_size : int
            Records per batch.
        transform : callable, optional
            A function that is called with each batch.
        **options
            Options of :class:`~fastrec.Batcher`, such as shuffle, seed, epochs and shard.
            Options that refer to files or features (augment, buckets, interleave, on_error)
            require a dataset of whole files.

        Returns
        -------
        Batcher
            Values of one shape become an array with a leading dimension, strings a
            :class:`~fastrec.Bytes`, sequences of varying length a :class:`~fastrec.Ragged`, and
            images of varying size a :class:`~fastrec.Arrays`. Any other feature becomes a list with
            one value per record.

        Raises
        ------
        MissingRecordsError
            If a file holds fewer records than the metadata states.
        """
        if self._with_id:
            raise ValueError("tfds_id and batches are mutually exclusive: it names single records")
        if not len(self):
            raise ValueError(f"{self!r} has none to make batches of")
        structure, further = self._structure, dict[str, Any](options)
        if all(span.is_whole for span in self._spans):
            for span in self._spans:
                check_length(span, len(self._open(span.path)))
            paths = [span.path for span in self._spans]
            nest = None if structure.is_plain else structure.batch
            function = _Chain(nest, transform) if nest is not None else transform
            return fastrec.Batcher(
                paths,
                structure.batch_spec,
                batch_size,
                transform=function,
                storage_options=self.info.storage,
                **further,
            )
        if given := [name for name in _NEEDS_FILES if further.get(name) not in (None, "raise")]:
            raise ValueError(f"{given[0]} requires whole files, and {self.split!r} is part of one")
        return self._numbered(batch_size, transform, further)

    def _numbered(
        self,
        batch_size: int | None,
        transform: Callable[[Any], Any] | None,
        options: dict[str, Any],
    ) -> fastrec.Batcher:
        """Yield batches of selected records of one file, identified by their record numbers."""
        paths = list(dict.fromkeys(span.path for span in self._spans))
        first, starts = 0, {}
        for path in paths:
            span = next(each for each in self._spans if each.path == path)
            starts[path] = first
            first += span.length
            self._reader(span)
        parts = (
            np.arange(span.skip, span.skip + span.take, dtype="<u8") + np.uint64(starts[span.path])
            for span in self._spans
        )
        rows = RowFile.write(parts, np.dtype("<u8"), [*paths, self.split])
        fetch = _Fetch(rows, self._open(paths), self._structure)
        function = _Chain(fetch, transform)
        return fastrec.Batcher(rows.path, None, batch_size, transform=function, **options)

    def as_data_source(self) -> Dataset:
        """Return this dataset, which Grain and PyTorch accept as a random-access data source."""
        return self

    def steps(self, batch_size: int = 1, **options: Unpack[StepOptions]) -> fastrec.Batcher:
        """Yield the steps of all episodes. See :func:`fastrec.tfds.steps.make_steps`."""
        from .steps import make_steps

        return make_steps(self, batch_size, **options)

    def statistics(
        self, features: Sequence[str] | None = None, **options: Unpack[StatisticsOptions]
    ) -> dict[str, Statistics]:
        """Return statistics of numbers. See :func:`fastrec.tfds.statistics.make_statistics`."""
        check_types(Dataset.statistics, {"features": features})
        from .statistics import make_statistics

        return make_statistics(self, features, **options)

    # --- life -------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_readers": OrderedDict()}

    def __repr__(self) -> str:
        name = self.info.full_name or os.path.basename(self.info.directory)
        return f"<fastrec.tfds.Dataset of {name}, split {self.split!r}, {len(self)} records>"


class _Chain:
    """The composition of two functions; the second may be None."""

    def __init__(self, first: Callable[[Any], Any], second: Callable[[Any], Any] | None) -> None:
        self.first = first
        self.second = second

    def __call__(self, batch: Any) -> Any:
        batch = self.first(batch)
        return batch if self.second is None else self.second(batch)


class _Fetch:
    """A function that returns the records with given numbers as one batch."""

    def __init__(self, rows: RowFile, reader: fastrec.Reader, structure: Structure) -> None:
        self.rows = rows  # The reference keeps the file open.
        self.structure = structure
        self.reader = reader
        self.spec = structure.batch_spec

    def __call__(self, rows: Bytes) -> Any:
        records = self.reader.read_many(RowFile.as_array(rows, np.dtype("<u8")))
        return self.structure.batch(fastrec.parse_example(records, self.spec, threads=1))


def check_length(span: Span, found: int) -> None:
    """Check the record count of a file against the metadata.

    Raises
    ------
    MissingRecordsError
        If the counts differ. The message names the file.
    """
    if found == span.length:
        return
    count = f"more than {span.length}" if found > span.length else str(found)
    error = MissingRecordsError(
        f"{span.path!a} must have {span.length} records by dataset_info.json, got {count}"
    )
    error.path = span.path
    raise error


def check_empty(splits: Splits, part: str | Part) -> None:
    """Check that local files without records by the metadata are empty.

    Raises
    ------
    MissingRecordsError
        If such a file of a selected split has a record.
    """
    for name in dict.fromkeys(name for name, _, _ in splits.resolve(part)):
        split = splits[name]
        for path, length in zip(split.paths, split.shard_lengths, strict=True):
            if not length and os.path.isfile(path):
                with fastrec.Reader(path) as reader:
                    if next(iter(reader), None) is not None:
                        check_length(Span(path, 0, 0, 0), 1)


def parse_located(
    records: Bytes, spec: Mapping[str, Any], path: str, numbers: Sequence[int]
) -> dict[str, Any]:
    """Parse as :func:`fastrec.parse_example`, with errors that name the file and the record."""
    try:
        return fastrec.parse_example(records, spec)
    except ExampleParseError as error:
        if error.record is None:
            raise
        raise error.in_record(numbers[error.record], path) from error


def inferred(paths: Sequence[str], storage: StorageOptions) -> FeaturesDict:
    """Infer the features from the records of a dataset whose metadata does not list them."""
    found = fastrec.infer_features(list(paths), storage_options=storage)
    features: dict[str, Any] = {}
    if isinstance(found, fastrec.SequenceFeatures):
        names = ", ".join(map(ascii, found.sequence))
        raise ValueError(f"records of TFDS are Examples, got SequenceExamples with lists {names}")
    for name, feature in found.items():
        # A raw feature is only a guess, so its values are returned as stored.
        if isinstance(feature, fastrec.RawFeature):
            features[name] = Tensor((), bytes)
        else:
            shape = getattr(feature, "shape", (None,))
            features[name] = Tensor(shape, getattr(feature, "dtype", bytes))
    return FeaturesDict(features)
