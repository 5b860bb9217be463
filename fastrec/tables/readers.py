# SPDX-License-Identifier: Apache-2.0
"""Files of tables being read: Parquet, Arrow IPC, CSV and JSON lines."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

__all__ = ["READERS", "Rows", "json_rows"]

_ROWS = 8192
_BATCH_BYTES = 8 << 20
_BUFFER = 1 << 20
_TEXT_BLOCK = 4 << 20
_LONGEST_LINE = 1 << 28

Rows = Iterator[tuple[Any, "int | None"]]
"""Batches, and how many rows all files have where that is known."""


def _parquet(paths: Sequence[str], columns: list[str] | None) -> Rows:
    files = [pyarrow.parquet.ParquetFile(path, buffer_size=_BUFFER) for path in paths]
    total = sum(file.metadata.num_rows for file in files)
    for path, file in zip(paths, files, strict=True):
        _check_same(path, file.schema_arrow, files[0].schema_arrow)
        groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
        size = sum(group.total_byte_size for group in groups)
        rows = max(1, min(_ROWS, _BATCH_BYTES * file.metadata.num_rows // max(size, 1)))
        for number in range(file.num_row_groups):
            for batch in file.iter_batches(rows, row_groups=[number], columns=columns):
                yield batch, total
            pa.default_memory_pool().release_unused()  # it keeps row groups for a while


def _ipc(paths: Sequence[str], columns: list[str] | None) -> Rows:
    first = None
    for path in paths:
        with pa.OSFile(path) as opened, pa.ipc.open_file(opened) as file:
            first = first or file.schema
            _check_same(path, file.schema, first)
            for number in range(file.num_record_batches):
                batch = file.get_batch(number)
                batch = batch if columns is None else batch.select(columns)
                rows = max(1, min(_ROWS, _BATCH_BYTES * batch.num_rows // max(batch.nbytes, 1)))
                for begin in range(0, batch.num_rows, rows):
                    yield batch.slice(begin, rows), None


def _check_same(path: str, schema: Any, first: Any) -> None:
    if not schema.equals(first):
        raise ValueError(f"{path!a} has other columns than the files before it")


def _csv(paths: Sequence[str], columns: list[str] | None, types: Mapping[str, Any]) -> Rows:
    reading = pyarrow.csv.ReadOptions(block_size=_TEXT_BLOCK)
    known = dict(types)
    for path in paths:
        convert = pyarrow.csv.ConvertOptions(
            column_types=known,
            include_columns=columns,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        file = _open_csv(path, reading, convert)
        found = {each.name: each.type for each in file.schema}
        times = {name: pa.string() for name, kind in found.items() if pa.types.is_temporal(kind)}
        if times:  # what looks like a date is text
            known |= times
            convert.column_types = known
            file = _open_csv(path, reading, convert)
        known = {**found, **known}
        try:
            for batch in file:
                yield batch, None
        except pa.ArrowInvalid as error:
            raise ValueError(f"{path!a}: {error}; features gives the types of columns") from error


def _open_csv(path: str, reading: Any, convert: Any) -> Any:
    try:
        return pyarrow.csv.open_csv(
            pa.input_stream(path, compression="detect"),
            read_options=reading,
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
            convert_options=convert,
        )
    except (pa.ArrowInvalid, KeyError) as error:
        raise ValueError(f"{path!a}: {error}") from error


READERS: dict[str, Callable[..., Rows]] = {"parquet": _parquet, "arrow": _ipc, "csv": _csv}


class _Kinds:
    """Holds that a name has values of one kind in all lines."""

    def __init__(self, floats: set[str], names: set[str] | None, text: str) -> None:
        self._kinds: dict[str, type] = dict.fromkeys(floats, float)
        self._names, self._text = names, text

    def row(self, row: Any) -> dict[str, Any]:
        """The values that a row has, of the kinds that they have everywhere."""
        if not isinstance(row, dict):
            raise ValueError(f"must be an object, got {type(row).__name__}")
        return {
            name: self._value(name, value)
            for name, value in row.items()
            if value is not None and (self._names is None or name in self._names)
        }

    def _value(self, name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self._item(name, item) for item in value]
        return self._item(name, value)

    def _item(self, name: str, value: Any) -> Any:
        kind = int if isinstance(value, bool) else type(value)
        if kind not in (int, float, str):
            words: dict[Any, str] = {dict: "an object", list: "a list of lists"}
            word = words.get(kind, "null in a list")
            raise ValueError(f"feature {name!a}: {word} cannot be stored")
        known = self._kinds.setdefault(name, kind)
        if known is float and kind is int:
            return float(value)
        if known is float and value in ("NaN", "Infinity", "-Infinity"):
            return float(str(value).replace("inity", ""))
        if known is not kind:
            raise ValueError(
                f"feature {name!a} is {_spell(kind)} here and {_spell(known)} before; features "
                f"gives its type"
            )
        if kind is not str:
            return value
        return value.encode() if self._text != "base64" else _decoded(name, value)


def _spell(kind: type) -> str:
    return {int: "an integer", float: "a float", str: "text"}[kind]


def _decoded(name: str, value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"feature {name!a}: {value[:40]!a} is not base64") from None


def json_rows(
    paths: Sequence[str], floats: set[str], names: set[str] | None, encoding: str
) -> Iterator[dict[str, Any]]:
    """The objects of JSON lines, as mappings that can be encoded.

    Parameters
    ----------
    paths : list of str
    floats : set of str
        Names whose numbers are floats.
    names : set of str, optional
        Which are read.
    encoding : {"text", "base64"}
        Of strings.
    """
    kinds = _Kinds(floats, names, encoding)
    for path in paths:
        with pa.input_stream(path, compression="detect") as file:
            for number, line in enumerate(_lines(file), 1):
                try:
                    if line.strip():
                        yield kinds.row(json.loads(line, parse_constant=_constant))
                except (ValueError, RecursionError) as error:
                    text = " ".join(str(error).split())
                    raise ValueError(f"{path!a}: line {number}: {text}") from None


def _constant(word: str) -> float:
    return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}[word]


def _lines(file: Any) -> Iterator[bytes]:
    rest = b""
    while block := file.read(_TEXT_BLOCK):
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
        if len(rest) > _LONGEST_LINE:
            raise ValueError(f"a line must be at most {_LONGEST_LINE} bytes long")
    if rest:
        yield rest
