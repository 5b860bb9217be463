# SPDX-License-Identifier: Apache-2.0
"""Arrow data from batches and whole record files, for all libraries with Arrow's C interface.

pyarrow, polars, DuckDB, pandas, datafusion and nanoarrow accept the objects of this module
directly. None of these libraries is required.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import fastrec

from . import _core
from .arguments import check_int, check_types, shown
from .parsing.absent import UnseenColumns
from .parsing.column_parser import ColumnParser, Optional, Record, inferred_columns
from .parsing.infer import survey_features
from .records.record_files import RecordFiles
from .storage.stores import public

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .batches.option_types import TableOptions

__all__ = ["Optional", "Record", "RecordBatch", "Table", "batch", "table"]

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
        **table_options: Unpack[TableOptions],
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        options: dict[str, Any] = {**table_options}
        sequence = None
        self._is_described = features is not None
        if features is None:
            inferring = {name: options[name] for name in _OF_INFERRING if name in options}
            described = survey_features(source, None, for_table=True, **inferring)
            if not described:
                first = source[0] if isinstance(source, (list, tuple)) and source else source
                is_path = isinstance(first, (str, bytes, os.PathLike))
                name = ascii(public(os.fsdecode(first))) if is_path else shown(first)
                raise ValueError(f"{name} has no features: pass features")
            features = inferred_columns(described)
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
        unseen = self._parser.unseen()
        yield from self._read(unseen, complete=complete)
        if self._is_described and self._batcher is None and self._files.ranges is None:
            unseen.warn()

    def _read(
        self, unseen: UnseenColumns | None = None, *, complete: bool = False
    ) -> Iterator[RecordBatch]:
        """Yield the record batches without a warning; `unseen` notes the columns."""
        if self._batcher is None:
            yield from (part for _, part in self._parts(unseen, complete=complete))
            return
        for columns in map(self._parser.finish, self._batcher):
            yield RecordBatch(columns, self._tensors)

    def _parts(
        self, unseen: UnseenColumns | None = None, *, complete: bool = False
    ) -> Iterator[tuple[int, RecordBatch]]:
        """Yield the number of a file and a batch of its records, without options of a Batcher."""
        inspect = self._check_names if complete else None
        read = self._parser.read(self._files, self._batch_size, inspect=inspect, unseen=unseen)
        return ((number, RecordBatch(columns, self._tensors)) for number, columns in read)

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
