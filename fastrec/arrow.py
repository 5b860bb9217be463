# SPDX-License-Identifier: Apache-2.0
"""Arrow data from batches and whole record files, for all libraries with Arrow's C interface.

pyarrow, polars, DuckDB, pandas, datafusion and nanoarrow accept the objects of this module
directly. None of these libraries is required.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

import fastrec

from . import _core
from .arguments import check_int, check_types, shown
from .features.column_spec import Presence
from .parsing.feature_stats import Features, FeatureStats, InferredSequence
from .parsing.infer import survey_features
from .records.record_files import RecordFiles

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .batches.option_types import TableOptions

__all__ = ["Optional", "Record", "RecordBatch", "Table", "batch", "table"]


@dataclass(frozen=True)
class Optional:
    """A feature with at most one value per record: a scalar column with nulls for absent values.

    Parameters
    ----------
    dtype : dtype-like
        As for :class:`fastrec.FixedLenFeature`.
    """

    dtype: Any


@dataclass(frozen=True)
class Record:
    """The whole record as a binary column, without parsing."""


Where = Callable[[fastrec.Bytes], NDArray[np.int64]]

# Features with a list in each record, which a record may lack.
_LISTS: Final = (fastrec.RaggedFeature, fastrec.VarLenFeature)

_OF_READING = {
    "threads",
    "verify",
    "on_error",
    "compression",
    "max_bad",
    "max_record_bytes",
    "shards",
    "storage_options",
}
_OF_INFERRING = ("on_error", "compression", "shards", "storage_options")


class RecordBatch:
    """Columns of equal length, which ``__arrow_c_array__`` exports any number of times.

    Use :func:`batch` to create one.
    """

    def __init__(self, columns: Mapping[str, Any], tensors: bool = True) -> None:
        if not isinstance(columns, Mapping):
            raise TypeError(f"columns must be a mapping, got {type(columns).__name__}")
        for name, column in columns.items():
            if not hasattr(column, "__len__"):
                raise TypeError(f"columns must be arrays, got {name!r}: {shown(column)}")
        self.columns: dict[str, Any] = dict(columns)
        self._tensors = tensors
        self._rows = len(next(iter(self.columns.values()))) if self.columns else 0

    def __len__(self) -> int:
        return self._rows

    def _node(self, requested: object) -> _core.ArrowNode:
        return _core.arrow_struct(self.columns, self._rows, requested, self._tensors)

    def __arrow_c_schema__(self) -> object:
        return _core.arrow_schema_capsule(self._node(None))

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return _core.arrow_array_capsules(self._node(requested_schema))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        node = self._node(requested_schema)
        return _core.arrow_stream_capsule(node, [node])

    def __repr__(self) -> str:
        return f"<fastrec.arrow.RecordBatch of {len(self)} rows: {', '.join(self.columns)}>"


def batch(columns: Mapping[str, Any], *, tensors: bool = True) -> RecordBatch:
    """Wrap columns, such as a batch of :class:`fastrec.Batcher`, for consumers of Arrow data.

    ======================================= ====================================================
    column                                  Arrow type
    ======================================= ====================================================
    ndarray, one dimension                  its number type or bool
    ndarray, more dimensions                fixed_size_list, as ``arrow.fixed_shape_tensor``
    ndarray, masked, one dimension          its number type, with nulls
    :class:`fastrec.Bytes`                  large_binary; binary, string or large_string on request
    :class:`fastrec.Ragged`                 large_list; list on request
    :class:`fastrec.Sparse`                 the same, for columns of a ``VarLenFeature``
    :class:`fastrec.Arrays`                 ``arrow.variable_shape_tensor``
    ======================================= ====================================================

    Memory is shared if the types allow it: bool is packed into bits, and a column that is requested
    with a narrower type gets new offsets.

    Parameters
    ----------
    columns : mapping of str to column
        Columns with the same number of rows.
    tensors : bool
        Whether to use the extension types. If False, arrays are plain lists.

    Raises
    ------
    TypeError, ValueError, OverflowError
        If Arrow lacks a type, columns have different numbers of rows, text is not UTF-8, or the
        requested type cannot count all elements. The error is raised when the batch is consumed,
        and names the column.

    Examples
    --------
    >>> import numpy as np, pyarrow
    >>> columns = {"label": np.array([3, 1]), "word": fastrec.Bytes.from_list([b"a", b"few"])}
    >>> pyarrow.table(batch(columns))["word"].to_pylist()
    [b'a', b'few']
    """
    check_types(batch, locals())
    return RecordBatch(columns, tensors)


class ColumnParser:
    """Parses blocks of records into columns that can be exported to Arrow.

    Parameters
    ----------
    features : mapping of str to feature, Optional or Record
    sequence : mapping of str to feature, optional
        Feature lists. If present, records are SequenceExamples, and `features` describes the
        context.
    threads : int, optional
        As for :func:`fastrec.parse_example`.

    Attributes
    ----------
    features, sequence : dict of str to feature
        The features to parse, with a :class:`~fastrec.RaggedFeature` for each :class:`Optional`,
        and the presence of each list, which tells an absent list from an empty one.
    names : list of str
        Names of the columns.
    """

    def __init__(
        self,
        features: Mapping[str, Any],
        sequence: Mapping[str, Any] | None = None,
        threads: int | None = None,
    ) -> None:
        if not isinstance(features, Mapping):
            raise TypeError(f"features must be a mapping, got {type(features).__name__}")
        if twice := sorted(set(features).intersection(sequence or ())):
            raise ValueError(f"{twice[0]!a} is a feature of the context and a feature list")
        self.names: list[str] = [*features, *(sequence or ())]
        if not self.names:
            raise ValueError("features is empty: name at least one feature")
        if others := [name for name in self.names if not isinstance(name, str)]:
            raise TypeError(f"the names of features must be str, got {others[0]!a}")
        if odd := [name for name in self.names if not _is_utf8(name)]:
            raise ValueError(
                f"feature {odd[0]!a} has a name that is not UTF-8, which Arrow requires; describe "
                f"other features"
            )
        if images := [n for n, each in features.items() if isinstance(each, fastrec.ImageFeature)]:
            raise TypeError(f"feature {images[0]!a}: an ImageFeature has no Arrow type; read bytes")
        self._whole = [name for name, each in features.items() if isinstance(each, Record)]
        self._optional = [name for name, each in features.items() if isinstance(each, Optional)]
        self.features: Final = {
            name: fastrec.RaggedFeature(each.dtype) if isinstance(each, Optional) else each
            for name, each in features.items()
            if not isinstance(each, Record)
        }
        self.sequence: dict[str, Any] | None = None if sequence is None else dict(sequence)
        self._presences: dict[str, str] = {}
        for some in (self.features, self.sequence or {}):
            for name, each in list(some.items()):
                if isinstance(each, _LISTS) and name not in self._optional:
                    self._presences[name] = key = _unused(f"has {name}", self.names)
                    some[key] = Presence(name, each)
        self._threads = threads
        self(fastrec.Bytes.from_list([]))  # raises immediately if the features cannot be read

    @property
    def reads_records(self) -> bool:
        """Whether a column holds whole records."""
        return bool(self._whole)

    def __call__(
        self, records: fastrec.Bytes, failures: list[fastrec.ExampleParseError] | None = None
    ) -> dict[str, Any]:
        """Parse records; the columns are in the order of the features.

        Without `failures`, a record that does not match the features raises an error. Otherwise it
        is left out, and `failures` receives the error.
        """
        columns = self._parsed(records, failures)
        if failures and self._whole:
            failed = np.array([failure.record for failure in failures], np.int64)
            records = records.take(np.delete(np.arange(len(records)), failed))
        return self.finish(columns, records)

    def _parsed(
        self, records: fastrec.Bytes, failures: list[fastrec.ExampleParseError] | None = None
    ) -> dict[str, Any]:
        on_error: Any = "raise" if failures is None else failures.append
        try:
            if self.sequence is not None:
                context, lists, _ = fastrec.parse_sequence_example(
                    records, self.features, self.sequence, on_error=on_error
                )
                return {**context, **lists}
            if not self.features:
                return {}
            return fastrec.parse_example(
                records, self.features, threads=self._threads, on_error=on_error
            )
        except fastrec.ExampleParseError:
            if not failures or len(failures) < len(records):
                raise
            return self._parsed(fastrec.Bytes.from_list([]))  # all of this block is left out

    def finish(
        self, columns: Mapping[str, Any], records: fastrec.Bytes | None = None
    ) -> dict[str, Any]:
        """Mask absent values and lists, and add columns of whole records."""
        found = dict(columns)
        for name, key in self._presences.items():
            absent = ~found.pop(key)
            if absent.any():
                found[name] = _core.Masked(found[name], absent)
        found |= {name: _masked(name, found[name]) for name in self._optional}
        found |= dict.fromkeys(self._whole, records)
        return {name: found[name] for name in self.names}

    def read(
        self,
        files: RecordFiles,
        batch_size: int,
        where: Where | None = None,
        inspect: Callable[[fastrec.Bytes], object] | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Read files in order, in blocks of up to `batch_size` records or 32 MiB.

        `where` returns the numbers, within a block, of the records to parse. `inspect` may raise an
        :class:`fastrec.ExampleParseError` about a block before it is parsed. Records that do not
        match the features are left out and listed in `files.skipped` if the policy of the files
        allows it, but not all records of the files.
        """
        damage = files.policy()
        failures: list[fastrec.ExampleParseError] = []
        first: fastrec.ExampleParseError | None = None
        left_out = kept = 0
        for reader in files.readers(damage):
            done = 0
            while (block := reader.take(batch_size)) is not None:
                rows = None
                failures.clear()
                try:
                    if inspect is not None:
                        inspect(block)
                    if where is not None:
                        rows = where(block)
                    chosen = block if rows is None else block.take(rows)
                    columns = self(chosen, None if damage is None else failures)
                except fastrec.ExampleParseError as error:
                    if error.record is None:
                        raise
                    raise _located(error, reader.path, done, rows) from None
                for each in failures:
                    failure = _located(each, reader.path, done, rows)
                    damage.leave_out(failure)  # type: ignore[union-attr]
                    first = first or failure
                left_out += len(failures)
                kept += len(chosen) - len(failures)
                if len(chosen) > len(failures):
                    yield columns
                done += len(block)
        if first is not None and not kept and files.ranges is None:
            raise fastrec.ExampleParseError(
                f"no record can be used: all {left_out} were left out. The first: {first}"
            ) from first


def _located(
    error: fastrec.ExampleParseError, path: Any, done: int, rows: NDArray[Any] | None
) -> fastrec.ExampleParseError:
    """Return an error about a row of a block as an error about a record of a file."""
    row = error.record or 0
    return error.in_record(done + (row if rows is None else int(rows[row])), path)


class Table:
    """Record files as a table that is read in bounded memory while it is consumed.

    Use :func:`table` to create one. ``__arrow_c_stream__`` may be called any number of times; each
    call reads the files from the beginning. ``description`` contains the features, and can be used
    to read other files in the same way.
    """

    def __init__(
        self,
        source: Any,
        features: Any = None,
        *,
        batch_size: int = 8192,
        tensors: bool = True,
        **options: Any,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        sequence = None
        if features is None:
            inferring = {name: options[name] for name in _OF_INFERRING if name in options}
            features = columns_of(survey_features(source, None, for_table=True, **inferring))
        self.description = features
        if isinstance(features, fastrec.SequenceFeatures):
            features, sequence = features.context, features.sequence
        threads = options.get("threads")
        self._parser = ColumnParser(features, sequence, threads)
        self._tensors, self._batch_size = tensors, batch_size
        self._batcher: Any = None
        if options.keys() <= _OF_READING:
            options.pop("threads", None)
            self._files = RecordFiles(source, **options)
        else:
            self._batcher = self._make_batcher(source, options)

    def _make_batcher(self, source: Any, options: Mapping[str, Any]) -> Any:
        parser = self._parser
        if parser.reads_records:
            raise TypeError("Record and options of Batcher are mutually exclusive")
        if parser.sequence is not None:
            raise TypeError("SequenceFeatures and options of Batcher are mutually exclusive")
        return fastrec.Batcher(source, parser.features, batch_size=self._batch_size, **options)

    def batches(self, *, complete: bool = False) -> Iterator[RecordBatch]:
        """Yield the record batches, in the order of the files.

        With `complete`, a record with a feature that is absent from the table raises an
        :class:`fastrec.ExampleParseError`.
        """
        check_types(Table.batches, locals())
        if self._batcher is None:
            inspect = self._check_names if complete else None
            found = self._parser.read(self._files, self._batch_size, inspect=inspect)
        else:
            found = map(self._parser.finish, self._batcher)
        for columns in found:
            yield RecordBatch(columns, self._tensors)

    def _check_names(self, block: fastrec.Bytes) -> None:
        survey = _core.Survey()
        survey.add(block)
        for seen in survey.counts():
            for key, (_, first, *_) in seen.items():
                name = key.decode("utf-8", "surrogateescape")
                if name not in self._parser.names:
                    error = fastrec.ExampleParseError(
                        f"feature {name!a} is not in the first records, from which the columns "
                        f"were inferred; pass a description that has it"
                    )
                    error.record = min(number for number in first if number >= 0)
                    raise error

    @property
    def skipped(self) -> list[fastrec.Skipped]:
        """Regions and records left out so far, in any pass; see the option ``on_error``."""
        source = self._files if self._batcher is None else self._batcher
        skipped: list[fastrec.Skipped] = source.skipped
        return skipped

    def empty(self) -> RecordBatch:
        """Return a batch without rows."""
        return RecordBatch(self._parser(fastrec.Bytes.from_list([])), self._tensors)

    def _schema(self, requested: object) -> _core.ArrowNode:
        return self.empty()._node(requested)

    def __arrow_c_schema__(self) -> object:
        return _core.arrow_schema_capsule(self._schema(None))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        nodes = (part._node(requested_schema) for part in self.batches())
        return _core.arrow_stream_capsule(self._schema(requested_schema), nodes)

    def __repr__(self) -> str:
        return f"<fastrec.arrow.Table: {', '.join(self._parser.names)}>"


def table(
    source: Any,
    features: Mapping[str, Any] | fastrec.SequenceFeatures | None = None,
    *,
    batch_size: int = 8192,
    tensors: bool = True,
    **options: Unpack[TableOptions],
) -> Table:
    """Read record files as one Arrow stream: every record, verified, in the order of the files.

    Parameters
    ----------
    source : path, glob pattern, list of these, FileRange, list of FileRange
        As for :class:`fastrec.Reader`.
    features : mapping of str to feature, or SequenceFeatures, optional
        Features to read: the features of :func:`fastrec.parse_example`, :class:`Optional` and
        :class:`Record`. By default, :func:`fastrec.infer_features` infers them from all records; a
        feature with at most one value that is absent from some records is an :class:`Optional`.
    batch_size : int
        Maximum number of rows in a record batch, which also ends at 32 MiB and at the end of a
        file.
    tensors : bool
        As for :func:`batch`.
    **options
        ``threads``, the number of parsing threads, and options of :class:`fastrec.Reader`:
        ``verify``, ``on_error``, ``max_bad``, ``compression``, ``max_record_bytes`` and
        ``storage_options``. If there are other options, such as ``shard``, all options are those of
        :class:`fastrec.Batcher`, which then makes the batches, each of `batch_size`.

    Returns
    -------
    Table
        Accepted by ``pyarrow.table(...)``, ``polars.DataFrame(...)``, a query of DuckDB, ...

    Raises
    ------
    FileNotFoundError, CorruptRecordError, ExampleParseError
        The latter two are also possible while the table is consumed. The consumer then raises its
        own error with their text.

    Examples
    --------
    >>> import os, tempfile, pyarrow
    >>> path = os.path.join(tempfile.mkdtemp(), "words.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write({"word": "one", "count": 1})
    ...     writer.write({"word": "two"})
    >>> pyarrow.table(table(path)).to_pylist()
    [{'count': 1, 'word': b'one'}, {'count': None, 'word': b'two'}]
    """
    check_types(table, locals())
    check_int("batch_size", batch_size, 1, 2**31 - 1)
    return Table(source, features, batch_size=batch_size, tensors=tensors, **options)


class TableFeatures(fastrec.SequenceFeatures):
    """Features of SequenceExamples whose context may have an :class:`Optional`."""

    def __post_init__(self) -> None:
        pass


def columns_of(described: Features | InferredSequence) -> dict[str, Any] | TableFeatures:
    """Return the columns of inferred features.

    A feature that has one value, or is absent from the record, is an :class:`Optional`.
    """
    if isinstance(described, InferredSequence):
        return TableFeatures(_with_optional(described.context), dict(described.sequence))
    return _with_optional(described)


def _with_optional(described: Features) -> dict[str, Any]:
    return {
        name: Optional(feature.dtype)
        if isinstance(feature, fastrec.RaggedFeature) and _is_optional(described.stats[name])
        else feature
        for name, feature in described.items()
    }


def _is_optional(stats: FeatureStats) -> bool:
    """Return whether a scalar column can represent the feature: no record has an empty list."""
    return stats.fewest == stats.most == 1 or not stats.kinds


def _is_utf8(name: str) -> bool:
    return name.encode("utf-8", "replace") == name.encode("utf-8", "surrogateescape")


def as_text(kind: Any) -> Any:
    """Convert a type of pyarrow: bytes become text."""
    import pyarrow as pa

    if pa.types.is_large_binary(kind):
        return pa.large_string()
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(as_text(kind.value_type)))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(as_text(kind.value_type)), kind.list_size)
    return kind


def _unused(name: str, names: Collection[str]) -> str:
    """Return a name that is not among `names`, and begins with `name`."""
    while name in names:
        name += "_"
    return name


def _masked(name: str, column: fastrec.Ragged) -> Any:
    """Return rows of at most one value as an array, masked where the value is absent."""
    lengths = column.row_lengths
    if len(lengths) and lengths.max() > 1:
        row = int(np.argmax(lengths > 1))
        raise ValueError(f"feature {name!a} has {lengths[row]} values in a record: not Optional")
    present = lengths == 1
    values = column.values
    if isinstance(values, fastrec.Bytes):
        rows = fastrec.Bytes(values.data, values.offsets[column.row_splits])
        return _core.Masked(rows, ~present)
    filled = np.zeros(len(lengths), values.dtype)
    filled[present] = values
    return np.ma.MaskedArray(filled, ~present)
