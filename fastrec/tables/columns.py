# SPDX-License-Identifier: Apache-2.0
"""Convert records to record batches of a table, and rows of tables to records."""

from __future__ import annotations

import base64 as base64_codec
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import fastrec

from .. import arrow
from ..encoding.arrow_import import import_arrow
from ..errors import reworded
from ..features.raw import RawFeature
from ..parsing.absent import UnseenColumns
from ..parsing.column_parser import TableFeatures, inferred_columns
from ..parsing.infer import survey_features
from ..storage.stores import public
from . import arrow_files, csv_files
from .bytes_columns import as_images, embedded, has_bytes, is_list, with_images
from .conversion import Conversion, Done
from .formats import TEXTUAL
from .json_lines import json_rows
from .writers import TableWriter, write_lance

__all__ = ["Tables", "Types", "columns_of", "write_records", "write_table"]

RECORD = "record"
"""The column of whole records."""

_JSON_ROWS = 8192  # rows between two progress reports

Progress = Callable[[int, "int | None"], object]

_READERS: dict[str, Callable[..., Iterator[arrow_files.Part]]] = {
    "parquet": arrow_files.parquet,
    "arrow": arrow_files.ipc,
    "lance": arrow_files.lance,
    "csv": csv_files.csv,
}

# -- Records to tables -----------------------------------------------------------------------------


def columns_of(
    paths: list[Any], features: Any, raw: bool, **options: Any
) -> tuple[Any, int | None]:
    """Return the features to read, and the number of records if known."""
    if raw:
        return {RECORD: arrow.Record()}, None
    if isinstance(features, (Mapping, fastrec.SequenceFeatures)):
        return features, None
    described = survey_features(paths, None, for_table=True, **options)
    if not described:
        name = public(os.fsdecode(paths[0]))
        raise ValueError(f"{name!a} has no features: name the columns by features")
    if odd := [name for name in features or () if name not in described]:
        raise ValueError(f"features: {odd[0]!a} is in no record")
    found = inferred_columns(described)
    context = found.context if isinstance(found, TableFeatures) else found
    context = {
        name: fastrec.FixedLenFeature((), bytes) if isinstance(each, RawFeature) else each
        for name, each in context.items()
    }
    wanted = list(described) if features is None else list(features)
    kept = {name: context[name] for name in wanted if name in context}
    if not isinstance(found, TableFeatures):
        return kept, described.records
    lists = {name: found.sequence[name] for name in wanted if name in found.sequence}
    return TableFeatures(kept, lists), described.records


def write_table(
    job: Conversion, table: arrow.Table, types: Types, total: int | None, unseen: UnseenColumns
) -> Done:
    """Write record files to a table; return its number of rows and the paths of its files."""

    def batches() -> Iterator[Any]:
        rows = begun = 0
        file = None
        for number, part in table._parts(unseen):
            if number != file:
                begun, file = rows, number
            batch = types.batch(part, os.fsdecode(job.paths[number]), rows - begun)
            rows += batch.num_rows
            yield batch
            job.report(rows, total)

    if types.kind == "lance":
        return write_lance(job, types.written, batches())
    with TableWriter(job, types.kind, types.written) as sheet:
        for batch in batches():
            sheet.write(batch)
    return sheet.rows, sheet.paths


class Types:
    """The column types of a format, and conversion of record batches to these types.

    Attributes
    ----------
    kind : str
        The format.
    written : pyarrow.Schema
        Schema of the file.
    text, images : list of str
        Columns of bytes that become text, and images, in Parquet and Arrow.
    """

    def __init__(
        self,
        table: arrow.Table,
        kind: str,
        *,
        text: bool | Sequence[str],
        images: bool | Sequence[str],
        base64: bool,
        schema: Any,
    ) -> None:
        given = pa.schema(table)
        self.kind: str = kind
        self._encoded = base64
        self.images: list[str] = [
            name
            for name in _chosen("images", images, given)
            if pa.types.is_large_binary(given.field(name).type)
        ]
        self.text: list[str] = [
            name
            for name in _chosen("text", text, given)
            if name not in self.images and has_bytes(given.field(name).type)
        ]
        wanted = given.names if kind in TEXTUAL and not base64 else self.text
        self.asked: Any = pa.schema(
            [
                each.with_type(arrow.as_text(each.type)) if each.name in wanted else each
                for each in given
            ]
        )
        if kind == "csv":
            _check_flat(given)
            if base64:
                self.asked = given
        self.written: Any = self.asked
        if base64 and kind == "csv":
            text_types = [each.with_type(arrow.as_text(each.type)) for each in given]
            self.written = pa.schema(text_types)
        if self.images:
            self.written = with_images(self.asked, self.images)
        if schema is not None:
            if not isinstance(schema, pa.Schema):
                raise TypeError(f"schema must be a pyarrow.Schema, got {type(schema).__name__}")
            self.written = schema
            if schema.names != given.names:
                raise ValueError(f"schema must have the columns {given.names}, got {schema.names}")

    def batch(self, part: arrow.RecordBatch, path: str, first: int) -> Any:
        """Convert a record batch to these types; `first` is the number of its first record."""
        try:
            batch = pa.record_batch(part, schema=self.asked)
            if self._encoded and self.written is not self.asked:
                batch = _encoded(batch, self.written)
            if self.images:
                return pa.record_batch(
                    [
                        as_images(column) if name in self.images else column
                        for name, column in zip(batch.schema.names, batch.columns, strict=True)
                    ],
                    schema=self.written,
                )
            return batch if batch.schema.equals(self.written) else batch.cast(self.written)
        except (TypeError, ValueError, OverflowError) as error:
            where = f"{path!a}: records {first} to {first + len(part) - 1}"
            hint = ""
            if self.kind in TEXTUAL and "not UTF-8" in str(error):
                hint = (
                    f"; base64=True stores bytes in {self.kind}, and Parquet and Arrow have bytes"
                )
            raise ValueError(f"{where}: {error}{hint}") from error


def _chosen(option: str, names: bool | Sequence[str], schema: Any) -> list[str]:
    """Return the columns that an option of :func:`fastrec.convert` names."""
    if isinstance(names, (bool, np.bool_)):
        return list(schema.names) if names else []
    if odd := sorted(set(names) - set(schema.names)):
        raise ValueError(f"{option}: {odd[0]!a} is not a column")
    return [name for name in schema.names if name in set(names)]


def _check_flat(schema: Any) -> None:
    for each in schema:
        if pa.types.is_nested(each.type) or isinstance(each.type, pa.BaseExtensionType):
            raise TypeError(
                f"column {each.name!a} has lists, which CSV has not; name other features, or "
                f"convert to Parquet or JSON lines"
            )


def _encoded(batch: Any, schema: Any) -> Any:
    """Return the batch with its bytes encoded as base64."""
    columns = []
    for column, each in zip(batch.columns, schema, strict=True):
        if column.type == each.type:
            columns.append(column)
            continue
        texts = [
            None if value is None else base64_codec.b64encode(value).decode()
            for value in column.to_pylist()
        ]
        columns.append(pa.array(texts, each.type))
    return pa.record_batch(columns, schema=schema)


# -- Tables to records -----------------------------------------------------------------------------


class Tables:
    """Rows of table files, to be written as records."""

    def __init__(
        self, paths: list[str], kind: str, features: Any, *, raw: bool, base64: bool
    ) -> None:
        self._lists: set[str] = set()
        if isinstance(features, fastrec.SequenceFeatures):
            self._lists = set(features.sequence)
            features = {**features.context, **features.sequence}
        if base64 and kind not in TEXTUAL:
            raise ValueError("base64 requires CSV or JSON lines")
        self._paths, self._kind = paths, kind
        self._raw, self._base64 = raw, base64
        self._names = [RECORD] if raw else None if features is None else list(features)
        self._features = dict(features) if isinstance(features, Mapping) else {}

    @property
    def features(self) -> dict[str, Any] | None:
        """Features for a writer."""
        return {
            name: fastrec.RaggedFeature(each.dtype) if isinstance(each, arrow.Optional) else each
            for name, each in self._features.items()
            if name not in self._lists
        } or None

    def write(self, sink: fastrec.Writer) -> Iterator[int | None]:
        """Write all rows; yield the total number of rows after each batch, or None if unknown."""
        if self._kind == "jsonl":
            yield from self._write_json(sink)
            return
        types = {name: _arrow_type(each.dtype) for name, each in self._features.items()}
        given = {"types": types} if self._kind == "csv" else {}
        for part in _READERS[self._kind](self._paths, self._names, **given):
            try:
                self.write_batch(sink, part.batch)
            except (TypeError, ValueError, OverflowError) as error:
                if isinstance(error, fastrec.FastrecError):
                    raise
                where = f"{part.path!a}: rows {part.row} to {part.row + part.batch.num_rows - 1}"
                raise reworded(error, f"{where}: {error}") from error
            yield part.total

    def write_batch(self, sink: fastrec.Writer, batch: Any) -> None:
        """Write the rows of a record batch."""
        names = batch.schema.names
        if len(set(names)) != len(names):
            raise ValueError("two columns have the same name")
        columns = zip(names, batch.columns, strict=True)
        found = {name: embedded(name, column) for name, column in columns}
        if self._base64:
            found = {name: _decoded(name, column) for name, column in found.items()}
        if lists := [name for name, column in found.items() if self._is_list(name, column.type)]:
            empties = {name: _empty_of(column.type) for name, column in found.items()}
            for row in pa.table(found).to_pylist():
                sink.write(self._sequence(row, lists, empties))
            return
        if not self._raw:
            sink.write_batch(found)
            return
        records = import_arrow(RECORD, found[RECORD])
        if not isinstance(records, fastrec.Bytes):
            raise TypeError(f"column {RECORD!a} must be binary without nulls")
        sink.write_many(records)

    def _is_list(self, name: str, kind: Any) -> bool:
        """Return whether a column holds lists of lists, which are the frames of a feature list."""
        return name in self._lists or (is_list(kind) and is_list(kind.value_type))

    def _sequence(
        self, row: dict[str, Any], lists: Iterable[str], empties: Mapping[str, Any]
    ) -> bytes:
        """Encode a row as a SequenceExample; nulls are omitted.

        `empties` has an empty array of its type for each empty list that is not an array yet.
        """

        def typed(name: str, values: Any) -> Any:
            return empties.get(name) if isinstance(values, list) and not values else values

        frames = {
            name: [typed(name, frame) for frame in row[name]]
            for name in lists
            if row.get(name) is not None
        }
        context = {name: typed(name, value) for name, value in row.items() if name not in lists}
        return fastrec.encode_sequence_example(context, frames)

    def _write_json(self, sink: fastrec.Writer) -> Iterator[int | None]:
        floats = {
            name
            for name, each in self._features.items()
            if pa.types.is_floating(_arrow_type(each.dtype))
        }
        names = None if self._names is None else set(self._names)
        empties = {
            name: np.zeros(0, np.bytes_ if each.dtype in (bytes, str) else each.dtype)
            for name, each in self._features.items()
        }
        encoding = "base64" if self._base64 or self._raw else "text"
        for path, line, row in json_rows(self._paths, floats, names, encoding):
            try:
                if self._raw and not isinstance(row.get(RECORD), bytes):
                    raise TypeError(f"{RECORD!a} must be text in base64")
                lists = self._lists | {
                    name
                    for name, value in row.items()
                    if _has_lists(value)
                    or (names is None and isinstance(value, list) and not value)
                }
                if self._raw:
                    sink.write(row[RECORD])
                elif lists:
                    sink.write(self._sequence(row, lists, empties))
                else:
                    sink.write(row)
            except (TypeError, ValueError, OverflowError) as error:
                raise reworded(error, f"{path!a}: line {line}: {error}") from error
            if sink.count % _JSON_ROWS == 0:
                yield None
        yield None


def write_records(job: Conversion, tables: Tables, threads: int | None) -> Done:
    """Write tables to record files; return the number of records and the paths."""
    with job.record_writer(tables.features, threads) as sink:
        for total in tables.write(sink):
            job.report(sink.count, total)
    return sink.count, list(sink.paths)


def _decoded(name: str, column: Any) -> Any:
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    try:
        values = [
            None if value is None else base64_codec.b64decode(value, validate=True)
            for value in column.to_pylist()
        ]
    except ValueError as error:
        raise ValueError(f"column {name!a} is not base64: {error}") from None
    return pa.array(values, pa.large_binary())


def _empty_of(kind: Any) -> Any:
    """Return an empty array for an empty list of a type."""
    while is_list(kind):
        kind = kind.value_type
    if pa.types.is_floating(kind):
        return np.zeros(0, np.float32)
    is_int = pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    return np.zeros(0, np.int64 if is_int else np.bytes_)


def _has_lists(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, list) for item in value)


def _arrow_type(dtype: Any) -> Any:
    kind = np.dtype(object if dtype in (bytes, str) else dtype).kind
    return {"f": pa.float64(), "O": pa.string(), "S": pa.string(), "b": pa.bool_()}.get(
        kind, pa.int64()
    )
