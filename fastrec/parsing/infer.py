# SPDX-License-Identifier: Apache-2.0
"""Infer feature specifications from record files."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arguments import check_int, check_types
from ..columns import Bytes
from ..errors import ExampleParseError, FastrecError, file_and_range
from ..features.column_spec import Feature
from ..features.raw import RawFeature
from ..features.spec import FixedLenFeature, RaggedFeature, plan_context, plan_frames
from ..records.byte_sources import check_rereadable
from ..records.compression import Compression
from ..records.content import message_content
from ..records.reader import Reader, Source
from ..records.record_files import RecordFiles
from ..records.recovery import OnError, skips_records
from ..records.shard_sets import Shards
from ..storage.options import StorageOptions
from .feature_stats import (
    KINDS,
    Features,
    FeatureStats,
    InferredSequence,
    shape_sources,
    source_names,
)
from .parse import Records

__all__ = ["Features", "InferredSequence", "infer_features", "kinds_of", "survey_features"]

_MAX_FEATURES = 65536  # different features of a file, which bounds memory for hostile names
_BLOCK_RECORDS = 1024  # records that are surveyed in one call
_PLAIN_BLOCK_RECORDS = 8192  # records per call if values are not checked
# Maximum features x records of a block, to avoid quadratic time with many names.
_MOST_CELLS = 1 << 18
_DTYPES: tuple[Any, ...] = (bytes, np.float32, np.int64)

Failures = list[tuple[int, FastrecError]]  # row of a block, error


class _Survey:
    """Statistics of the features and the feature lists of files.

    Attributes
    ----------
    total : int
        Number of the record after the last surveyed one.
    left_out : int
        Number of these records that are not Examples, which the policy of the files skips.
    """

    def __init__(self, files: RecordFiles, measures: bool) -> None:
        self.context: dict[str, FeatureStats] = {}
        self.lists: dict[str, FeatureStats] = {}
        self.total = self.left_out = 0
        self._files = files
        self._damage = files.policy()
        self._skips = skips_records(files.on_error)
        self._measures = measures
        self._shaped = True  # whether some feature may have its shape in other features
        self._starts: list[tuple[Any, int, list[int]]] = []
        self._first = b""  # the first record
        self._failure: FastrecError | None = None  # the first error of a record

    def read(self, limit: int | None) -> None:
        """Add up to `limit` records of the files."""
        survey = _core.Survey()
        for number, reader in enumerate(self._files.readers(self._damage)):
            self._starts.append((self._files.place(number), self.total, reader.gaps))
            while self.total != limit and self._add_block(survey, reader, limit):
                pass
            if self.total == limit:
                break
        self._merge(survey)

    def _add_block(
        self, survey: _core.Survey, reader: _core.RecordReader, limit: int | None
    ) -> bool:
        """Add some records of a file; return False at its end."""
        left = _PLAIN_BLOCK_RECORDS if limit is None else limit - self.total
        if self._measures or self._shaped:
            block = reader.take(min(left, _BLOCK_RECORDS))
            if block is None:
                return False
            self._first = self._first or block[0]
            self._measured(block)
            self._shaped = any(stats.has_shapes for stats in self.context.values())
            return True
        misfits: list[tuple[int, FastrecError, bytes]] = []
        try:
            count = survey.read(reader, min(left, _PLAIN_BLOCK_RECORDS), self.total, misfits)
        except ExampleParseError as error:  # too many different features
            if error.record is None:
                raise
            path, number = self._place(error.record)
            raise error.in_record(number, path) from None
        failures: Failures = [(row, self._located(error, record)) for row, error, record in misfits]
        if failures and not self._skips:
            raise failures[0][1]
        self._leave_out(failures)
        self.total += count
        return count > 0

    def check(self) -> None:
        """Raise if the records are messages of another type, or none can be used."""
        if self._failure is not None and self.left_out == self.total:
            assert self._damage is not None
            raise self._damage.useless(self._failure, self.total)
        if not self._first or self.context or self.lists:
            return
        content = message_content(self._first)
        if content.name != "Example":
            path, _ = self._place(0)
            cause = f"not a tf.train.Example: it is {content}"
            raise ExampleParseError(cause, kind="malformed").in_record(0, path)

    def _leave_out(self, failures: Failures) -> None:
        for _, failure in failures:
            assert self._damage is not None
            self._damage.leave_out(failure)
            self._failure = self._failure or failure
        self.left_out += len(failures)

    def _survey(self, survey: _core.Survey, block: Bytes, start: int) -> Failures:
        """Add a block whose first record has the number `start`; return what is left out."""
        failures: Failures = []
        try:
            survey.add(block, start, failures if self._skips else None)
        except ExampleParseError as error:
            if error.record is None:
                raise
            raise self._located(error, block[error.record - start]) from None
        return [(row, self._located(error, block[row])) for row, error in failures]

    def _located(self, error: Any, record: bytes) -> ExampleParseError:
        path, number = self._place(error.record)
        return _explained(error, record).in_record(number, path)

    def _measured(self, block: Bytes) -> None:
        """Add a block; split it in halves if it has too many names for one table."""
        survey = _core.Survey()
        failures = self._survey(survey, block, self.total)
        context, lists = survey.counts()
        if (len(context) + len(lists)) * len(block) > _MOST_CELLS and len(block) > 1:
            half = len(block) // 2
            self._measured(block[:half])
            self._measured(block[half:])
            return
        self._merge(survey)
        rows = np.delete(np.arange(len(block)), [row for row, _ in failures])
        failures += self._measure(block, rows, map(_name, context), map(_name, lists))
        self._leave_out(failures)
        self.total += len(block)

    def _merge(self, *surveys: _core.Survey) -> None:
        """Add the counts of surveys, and raise if a feature has two kinds."""
        counts = [survey.counts() for survey in surveys]
        for stats, parts in zip((self.context, self.lists), zip(*counts, strict=True), strict=True):
            names = set()
            for key, count in itertools.chain.from_iterable(part.items() for part in parts):
                names.add(name := _name(key))
                stats.setdefault(name, FeatureStats()).add_counts(*count)
            for name in sorted(names):
                if len(stats[name].kinds) > 1:
                    raise self._two_kinds(name, stats[name])
            if len(stats) > _MAX_FEATURES:
                raise ExampleParseError(
                    f"the records have more than {_MAX_FEATURES} different features"
                )

    def _two_kinds(self, name: str, stats: FeatureStats) -> ExampleParseError:
        seen = sorted(
            (first, kind)
            for first, kind in zip(stats.first[1:], KINDS, strict=True)
            if first is not None
        )
        (before, first), (path, number) = (self._place(total) for total, _ in seen[:2])
        where = "" if before == path else f" of {str(before)!a}"
        error = ExampleParseError(
            f"feature {name!a} is {' and '.join(stats.kinds)} in different records: it is "
            f"{seen[0][1]} in record {first}{where}, and {seen[1][1]} first in record {number} of "
            f"{str(path)!a}"
        )
        error.record = number
        error.path, error.file_range = file_and_range(path)
        return error

    def _place(self, number: int) -> tuple[Any, int]:
        """Return the file or range of a record, and the record's number in it."""
        path, start, gaps = max(
            (each for each in self._starts if each[1] <= number), key=lambda each: each[1]
        )
        return path, _core.number_of(number - start, gaps)

    def _measure(
        self, block: Bytes, rows: NDArray[np.int64], context: Iterable[str], lists: Iterable[str]
    ) -> Failures:
        """Collect the ranges of values, and find the shapes of arrays, in some rows of a block.

        Return the rows that cannot be parsed as SequenceExamples, with their errors.
        """
        features, frames = self._ragged(self.context, context), self._ragged(self.lists, lists)
        if not self._measures:
            frames = {}
            wanted = {
                name
                for key in features
                if self.context[key].is_one_string()
                for source in source_names(key)
                if source in features
                for name in (key, source)
            }
            features = {name: each for name, each in features.items() if name in wanted}
        records = block if len(rows) == len(block) else block.take(rows)
        columns = _core.Schema(plan_context(features)).parse(records) if features else {}
        failures: Failures = []
        found = self._frames(frames, records, rows, failures) if frames else {}
        if self._measures:
            for name, column in columns.items():
                self.context[name].add_values(column.values)
            for name, column in found.items():
                self.lists[name].add_values(column.flat_values)
        for name, column in columns.items():
            if self.context[name].is_one_string():
                sizes = np.diff(column.values.offsets)
                for shape in shape_sources(name, columns):
                    self.context[name].add_shape(shape, sizes)
        return failures

    def _frames(
        self,
        frames: dict[str, Feature],
        records: Bytes,
        rows: NDArray[np.int64],
        failures: Failures,
    ) -> dict[str, Any]:
        skips = self._skips
        schemas = (
            _core.Schema(plan_context({}), skips=skips),
            _core.Schema(plan_frames(frames), skips=skips),
        )

        def located(error: Any) -> ExampleParseError:
            path, number = self._place(self.total + int(rows[error.record]))
            located: ExampleParseError = error.in_record(number, path)
            return located

        misfits: Failures = []
        try:
            found = _core.parse_sequences(*schemas, records, misfits)[1]
        # The second field of the message may not be a map of feature lists.
        except ExampleParseError as error:
            if error.record is None:
                raise
            raise located(error) from None
        failures += [(int(rows[row]), located(error)) for row, error in misfits]
        return found

    @staticmethod
    def _ragged(found: dict[str, FeatureStats], names: Iterable[str]) -> dict[str, Feature]:
        return {
            name: RaggedFeature(_dtype(found[name])) for name in names if name and found[name].kinds
        }


def _explained(error: ExampleParseError, record: bytes) -> ExampleParseError:
    """Return the error for a record that is not an Example, with a description of its content."""
    found = message_content(record)
    if error.kind != "malformed" or found.name == "Example":
        return error
    cause = f"not a valid tf.train.Example: it is {found}"
    return ExampleParseError(cause, kind=error.kind).in_record(
        error.record or 0, error.path, error.offset
    )


def _name(key: bytes) -> str:
    return key.decode("utf-8", "surrogateescape")


def _dtype(stats: FeatureStats) -> Any:
    """Return the type of the values; bytes if all records lack values."""
    return _DTYPES[KINDS.index(stats.kinds[0])] if stats.kinds else bytes


def _feature(stats: FeatureStats, total: int) -> Feature:
    dtype = _dtype(stats)
    shape = stats.shape(total)
    if shape is not None and shape.item_size == 1:
        if shape.constant is not None:
            return RawFeature(shape.constant, np.uint8)
        return RawFeature(shape.names, np.uint8, shape_dtype=shape.dtype)
    array = stats.array
    if array is not None and stats.present == total:
        return RawFeature(array.shape, np.dtype(array.dtype).type, encoding=array.encoding)
    if stats.fewest != stats.most or stats.present < total or stats.most == 0:
        return RaggedFeature(dtype)
    return FixedLenFeature(() if stats.most == 1 else (stats.most,), dtype)


def infer_features(
    source: Source,
    limit: int | None = 1000,
    *,
    on_error: OnError = "raise",
    storage_options: StorageOptions | Mapping[str, Any] | None = None,
    compression: Compression = "auto",
    shards: Shards = "complete",
) -> Features | Any:
    """Describe the Examples in record files, ready for :class:`Batcher` or :func:`parse_example`.

    A feature with the same number of values in every record becomes a :class:`FixedLenFeature`;
    other features become a :class:`RaggedFeature`. Other features may hold the shape of a bytes
    feature: a feature named ``shape`` (or ``<name>/shape``, ``<name>_shape``) of integers or raw
    int32, or features named ``height``, ``width`` and, for channels, ``channels`` or ``depth``. If
    the length of the bytes agrees with this shape in every record, the bytes feature becomes a
    :class:`RawFeature` of uint8. Its shape is fixed if it is the same in all records, and is
    otherwise read from those features. If the bytes in every record are from
    ``tf.io.serialize_tensor`` or ``numpy.save``, the feature becomes a :class:`RawFeature` with
    that ``encoding``. A feature without values in all records becomes a :class:`RaggedFeature` of
    bytes.

    If records are SequenceExamples with feature lists, the result is a :class:`SequenceFeatures`,
    and each feature list is a :class:`RaggedFeature`.

    Parameters
    ----------
    source : path, glob pattern, list of these, or binary file object
    limit : int or None
        Number of records to examine, from the first on; None for all.
    on_error : {"raise", "tolerate_tail", "skip"} or callable
        As for :class:`Reader`. A record that is not an Example is left out, too.
    storage_options, compression, shards
        As for :class:`Reader`.

    Returns
    -------
    Features or SequenceFeatures
        A dict of features by name, sorted. ``print`` shows a table of statistics, and the attribute
        ``stats`` has them by name. ``skipped`` lists what was left out. For SequenceFeatures,
        `context` and `sequence` are such dicts.

    Raises
    ------
    ExampleParseError
        If a record is not an Example, or a feature has two kinds.

    Examples
    --------
    >>> import os, tempfile, numpy as np, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "one.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     for label in range(3):
    ...         image = np.zeros((2, 3), np.uint8)
    ...         writer.write({"image": image, "shape": image.shape, "label": label})
    >>> features = infer_features(path)
    >>> print(features)
    name   kind        values  present  range   read as
    image  bytes_list       1    100 %  6 bytes RawFeature((2, 3), uint8)
    label  int64_list       1    100 %  0 to 2  FixedLenFeature((), int64)
    shape  int64_list       2    100 %  2 to 3  FixedLenFeature((2,), int64)
    >>> next(iter(fastrec.Batcher(path, features, batch_size=3)))["image"].shape
    (3, 2, 3)
    """
    check_types(infer_features, locals())
    if limit is not None:
        limit = check_int("limit", limit, 1, 2**62)
    options: dict[str, Any] = {
        "on_error": on_error,
        "storage_options": storage_options,
        "compression": compression,
        "shards": shards,
    }
    return survey_features(source, limit, **options)


def survey_features(
    source: Source, limit: int | None, *, for_table: bool = False, **options: Any
) -> Features | InferredSequence:
    """Infer as :func:`infer_features` does.

    For a table, ranges and formats are not measured, and a source that can be read only once is
    refused, because the table reads it again.
    """
    files = Reader(source, **options)._files
    if for_table:
        check_rereadable(files, "its columns are inferred first, unless features describes them")
    survey = _Survey(files, not for_table)
    survey.read(limit)
    survey.check()
    total, seen = survey.total - survey.left_out, survey.context
    for name in survey.lists:  # an empty list of a table is written without values
        if name in seen and not seen[name].kinds:
            del seen[name]
    features = {key: _feature(seen[key], total) for key in sorted(seen)}
    context = Features(features, seen, total, skipped=files.skipped)
    if not survey.lists:
        return context
    lists = {key: RaggedFeature(_dtype(survey.lists[key])) for key in sorted(survey.lists)}
    return InferredSequence(context, Features(lists, survey.lists, total, of_lists=True))


def kinds_of(records: Records) -> dict[str, tuple[int, int, int, int]]:
    """Count, for each feature, the records without a kind, with bytes, floats and integers.

    Parameters
    ----------
    records : iterable of bytes-like, or Bytes
        Serialized Examples.

    Returns
    -------
    dict
        Counts by feature. If a record contains a feature several times, the last one counts.

    Raises
    ------
    ExampleParseError
        If a record is not an Example.

    Examples
    --------
    >>> import fastrec
    >>> kinds_of([fastrec.encode_example({"a": 1}), fastrec.encode_example({"a": [2.0, 3.0]})])
    {'a': (0, 0, 1, 1)}
    """
    survey = _core.Survey()
    survey.add(_core.as_records(records))
    return {
        key.decode("utf-8", "surrogateescape"): counts for key, counts in survey.sightings().items()
    }
