# SPDX-License-Identifier: Apache-2.0
"""Read tables: Parquet, Arrow IPC, CSV and JSON lines, and directories of Lance."""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from ..errors import CorruptRecordError, one_line

__all__ = ["NAMES_OF_FLOATS", "READERS", "Part", "json_rows", "lance_module", "naming_lance"]

_ROWS = 8192  # rows of a batch at most
_BATCH_BYTES = 8 << 20  # bytes of a batch, approximately
_BUFFER = 1 << 20  # bytes of Parquet's read buffer
_LANCE_ROWS = 1 << 16  # rows of a scan of Lance at most
_TEXT_BLOCK = 4 << 20  # bytes of text that are parsed in one call
_LONGEST_LINE = 1 << 28  # bytes of a line of JSON, which bounds memory

NAMES_OF_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""The floats that JSON has no numbers for, by the names that protobuf gives them."""


class Part(NamedTuple):
    """A record batch of a file.

    Attributes
    ----------
    path : str
    row : int
        Number of the batch's first row in the file.
    batch : pyarrow.RecordBatch
    total : int or None
        Number of rows in all files, if known.
    """

    path: str
    row: int
    batch: Any
    total: int | None


def _parquet(paths: Sequence[str], columns: list[str] | None) -> Iterator[Part]:
    total = sum(pyarrow.parquet.read_metadata(path).num_rows for path in paths)
    first = None
    for path in paths:
        with pyarrow.parquet.ParquetFile(path, buffer_size=_BUFFER) as file:
            first = _same(path, file.schema_arrow, first)
            groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
            size = sum(group.total_byte_size for group in groups)
            rows = max(1, min(_ROWS, _BATCH_BYTES * file.metadata.num_rows // max(size, 1)))
            done = 0
            for number in range(file.num_row_groups):
                for batch in file.iter_batches(rows, row_groups=[number], columns=columns):
                    yield Part(path, done, batch, total)
                    done += batch.num_rows
                # Without this call, the pool keeps the memory of row groups for a while.
                pa.default_memory_pool().release_unused()


def _ipc(paths: Sequence[str], columns: list[str] | None) -> Iterator[Part]:
    first = None
    for path in paths:
        with pa.OSFile(path) as opened, pa.ipc.open_file(opened) as file:
            first = _same(path, file.schema, first)
            done = 0
            for number in range(file.num_record_batches):
                batch = file.get_batch(number)
                batch = batch if columns is None else batch.select(columns)
                rows = max(1, min(_ROWS, _BATCH_BYTES * batch.num_rows // max(batch.nbytes, 1)))
                for begin in range(0, batch.num_rows, rows):
                    yield Part(path, done + begin, batch.slice(begin, rows), None)
                done += batch.num_rows


def _same(path: str, found: Any, first: Any) -> Any:
    """Raise unless a file has the same columns as the first file."""
    if first is not None and found != first:
        raise ValueError(f"{path!a} has other columns than the files before it")
    return found if first is None else first


# -- Lance -----------------------------------------------------------------------------------------


def lance_module() -> Any:
    """Return the module of the package pylance.

    Raises
    ------
    ModuleNotFoundError
        With the remedy.
    """
    try:
        import lance
    except ImportError:
        message = "Lance requires a package: pip install 'fastrec-io[lance]'"
        raise ModuleNotFoundError(message, name="lance") from None
    return lance


@contextlib.contextmanager
def naming_lance(path: str) -> Iterator[None]:
    """Turn errors of the package, whose types vary, into an error that names the directory."""
    try:
        yield
    except BaseException as error:
        is_panic = type(error).__name__ == "PanicException"  # of Rust, and no Exception
        if not is_panic and not isinstance(error, (OSError, ValueError, RuntimeError)):
            raise
        text = f"{path!a} is not a whole Lance dataset: {one_line(error)}"
        damaged = CorruptRecordError(text)
        damaged.path = path
        raise damaged from None


def _lance(paths: Sequence[str], columns: list[str] | None) -> Iterator[Part]:
    module, counts = lance_module(), []
    for path in paths:
        with naming_lance(path):
            counts.append(module.dataset(path).count_rows())
    first = None
    for path, count in zip(paths, counts, strict=True):
        done = 0
        with naming_lance(path):
            dataset = module.dataset(path)
            schema = dataset.schema
        first = _same(path, schema, first)
        if columns is not None:
            _check_names(path, columns, schema.names)
        # One scan of the whole reads ahead on many threads, whose heaps fragment and grow with it.
        rows = max(1, min(_LANCE_ROWS, _BATCH_BYTES * count // max(_size_of(path), 1)))
        for begin in range(0, count, rows):
            with naming_lance(path):
                table = dataset.to_table(columns, offset=begin, limit=rows)
            for batch in table.to_batches(max_chunksize=_ROWS):
                yield Part(path, done, batch, sum(counts))
                done += batch.num_rows
        if done != count:
            error = CorruptRecordError(f"{path!a} has {done} rows, and states {count}")
            error.path = path
            raise error


def _check_names(path: str, columns: list[str], names: list[str]) -> None:
    if odd := [name for name in columns if name not in names]:
        raise ValueError(f"features: {odd[0]!a} is not a column of {path!a}")


def _size_of(folder: str) -> int:
    """Return the number of bytes of all files in a directory."""
    return sum(
        os.path.getsize(os.path.join(place, name))
        for place, _, names in os.walk(folder)
        for name in names
    )


# -- CSV -------------------------------------------------------------------------------------------

_INTEGER = r"^(0|-?[1-9]\d{0,18})$"  # integers that are printed unchanged
_FLOAT = (
    r"^[+-]?((0|[1-9]\d{0,17})(\.\d*)?|[1-9]\d*\.\d*|\.\d+)([eE][+-]?\d+)?$"
    r"|^-?([nN]a[nN]|inf|Infinity)$"
)
_KINDS = (
    ("^(true|false)$", pa.bool_()),
    (_INTEGER, pa.int64()),
    (_FLOAT, pa.float64()),
)


def _csv(
    paths: Sequence[str], columns: list[str] | None, types: Mapping[str, Any]
) -> Iterator[Part]:
    known = {**_csv_types(paths, columns), **types}
    for path, row, batch in _csv_batches(paths, columns, known):
        yield Part(path, row, batch, None)


def _csv_types(paths: Sequence[str], columns: list[str] | None) -> dict[str, Any]:
    """Return the column types: bool, integer or float if lossless for all values, else text.

    Fractions are rounded to float32, but integers among them must keep their digits.
    """
    names = pyarrow.csv.ConvertOptions(include_columns=columns)
    with _open_csv(paths[0], names) as file:
        found = file.schema.names
    left = {name: set(range(len(_KINDS))) for name in found}
    for _, _, batch in _csv_batches(paths, columns, dict.fromkeys(found, pa.string())):
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            for number in tuple(left[name]):
                if not _all_are(column, *_KINDS[number]):
                    left[name].discard(number)
    empty = set(range(len(_KINDS)))
    return {
        name: pa.string() if not kinds or kinds == empty else _KINDS[min(kinds)][1]
        for name, kinds in left.items()
    }


def _all_are(column: Any, pattern: str, kind: Any) -> bool:
    """Return whether all values match the pattern and fit into the type."""
    if not pc.all(pc.match_substring_regex(column, pattern), min_count=0).as_py():
        return False
    try:
        values = column.cast(kind)
    except pa.ArrowInvalid:
        return False
    return kind != pa.float64() or _are_float32(column, values.to_numpy(zero_copy_only=False))


def _are_float32(texts: Any, values: Any) -> bool:
    """Return whether float32 has the range for all values, and the digits for all integers."""
    with np.errstate(over="ignore"):
        beyond = np.isinf(values.astype(np.float32))
    named = pc.match_substring_regex(texts, "inf|Infinity").fill_null(False)
    if (beyond & ~named.to_numpy(zero_copy_only=False)).any():
        return False
    integers = pc.match_substring_regex(texts, r"^[+-]?\d+$").fill_null(False)
    large = integers.to_numpy(zero_copy_only=False) & (abs(values) > _EXACT)
    return all(keeps_digits(int(texts[int(place)].as_py())) for place in np.flatnonzero(large))


_EXACT = 1 << 24  # every integer up to here is a float32


def keeps_digits(value: int) -> bool:
    """Return whether float32 stores an integer so that printing it restores its digits.

    Examples
    --------
    >>> keeps_digits(123456790), keeps_digits(123456789)
    (True, False)
    """
    return abs(value) <= _EXACT or int(float(str(np.float32(value)))) == value


def _csv_batches(
    paths: Sequence[str], columns: list[str] | None, types: Mapping[str, Any]
) -> Iterator[tuple[str, int, Any]]:
    convert = pyarrow.csv.ConvertOptions(
        column_types=types,
        include_columns=columns,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        true_values=["true"],
        false_values=["false"],
    )
    first = None
    for path in paths:
        with _open_csv(path, convert) as file:
            first = _same(path, file.schema.names, first)
            done = 0
            try:
                for batch in file:
                    yield path, done, batch
                    done += batch.num_rows
            except pa.ArrowInvalid as error:
                raise ValueError(f"{path!a}: after row {done}: {error}") from error


def _open_csv(path: str, convert: Any) -> Any:
    try:
        return pyarrow.csv.open_csv(
            pa.input_stream(path, compression="detect"),
            read_options=pyarrow.csv.ReadOptions(block_size=_TEXT_BLOCK),
            parse_options=pyarrow.csv.ParseOptions(
                newlines_in_values=True,
                # In a single column, an empty line is a null.
                ignore_empty_lines=_columns_of(path) != 1,
            ),
            convert_options=convert,
        )
    except (pa.ArrowInvalid, KeyError) as error:
        raise ValueError(f"{path!a}: {error}") from error


def _columns_of(path: str) -> int:
    """Return the number of columns that the first line names; 0 for an empty file."""
    with pa.input_stream(path, compression="detect") as file:
        line, quoted, count = file.read(_TEXT_BLOCK), False, 0
    for byte in line.lstrip(b"\r\n"):
        if byte == 0x22:
            quoted = not quoted
        elif not quoted and byte in b"\r\n":
            break
        count += byte == 0x2C and not quoted
    return count + 1 if line else 0


READERS: dict[str, Callable[..., Iterator[Part]]] = {
    "parquet": _parquet,
    "arrow": _ipc,
    "csv": _csv,
    "lance": _lance,
}

# -- JSON lines ------------------------------------------------------------------------------------


_DTYPES: dict[type, Any] = {int: np.int64, float: np.float32, str: np.bytes_}


class _Kinds:
    """Checks that the values of each name have the same kind in all lines."""

    def __init__(
        self, paths: Sequence[str], floats: set[str], names: set[str] | None, text: str
    ) -> None:
        self._kinds: dict[str, type] = dict.fromkeys(floats, float)
        self._floats = floats
        self._paths, self._names, self._text = paths, names, text
        self._ahead: dict[str, tuple[bool, type | None]] | None = None

    def row(self, row: Any) -> dict[str, Any]:
        """Return the values of a row after checking their kinds."""
        if not isinstance(row, dict):
            raise ValueError(f"must be an object, got {type(row).__name__}")
        return {
            name: self._value(name, value)
            for name, value in row.items()
            if self._names is None or name in self._names
        }

    def _value(self, name: str, value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, list):
            return self._item(name, value)
        if not value:
            return self._empty(name)
        if any(isinstance(item, list) for item in value):
            return [self._frame(name, item) for item in value]
        return [self._item(name, item) for item in value]

    def _frame(self, name: str, frame: Any) -> list[Any]:
        """Return the values of a frame of a feature list."""
        if not isinstance(frame, list):
            raise ValueError(f"feature {name!a}: a list and {frame!a} are in one list")
        return [self._item(name, item) for item in frame] if frame else self._empty(name, True)

    def _empty(self, name: str, is_frame: bool = False) -> Any:
        """Return an empty list with the type that the name has in all lines.

        It is a list, for a writer that knows the type, or for a feature list without frames.
        """
        if self._names is not None:
            return []
        if self._ahead is None:
            self._ahead = _kinds_ahead(self._paths)
        has_frames, kind = self._ahead.get(name, (False, None))
        if has_frames and (kind is None or not is_frame):
            return []  # a frame without values, whose kind is unknown, or an empty list of frames
        if kind is None:
            raise ValueError(
                f"feature {name!a} has no value in any line, so the type of an empty list is "
                "unknown; describe its type by features, or name the other features"
            )
        return np.zeros(0, _DTYPES[kind])

    def _item(self, name: str, value: Any) -> Any:
        kind = int if isinstance(value, bool) else type(value)
        if kind not in (int, float, str):
            words: dict[Any, str] = {dict: "an object", list: "a list of lists of lists"}
            word = words.get(kind, "null in a list")
            raise ValueError(f"feature {name!a}: {word} cannot be stored")
        if name not in self._kinds and value in NAMES_OF_FLOATS:
            raise ValueError(
                f"feature {name!a} begins with {value!r}, which is a float or text; features gives "
                "its type"
            )
        known = self._kinds.setdefault(name, kind)
        if known is float and kind is int:
            if name not in self._floats and not (abs(value) < 2**127 and keeps_digits(value)):
                raise ValueError(
                    f"feature {name!a} is a float before, and float32 does not hold "
                    f"{str(value)[:40]}; "
                    "features gives its type"
                )
            return float(value)
        # The decoder returns an infinity for 1e999, too, but another object than for the name.
        if (
            kind is float
            and math.isinf(value)
            and not any(value is each for each in NAMES_OF_FLOATS.values())
        ):
            raise ValueError(f"feature {name!a}: a number is beyond float32; write Infinity")
        if known is float and value in NAMES_OF_FLOATS:
            return NAMES_OF_FLOATS[value]
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


def _kinds_ahead(paths: Sequence[str]) -> dict[str, tuple[bool, type | None]]:
    """Return whether each name has lists of lists, and the kind of its first value."""
    found: dict[str, tuple[bool, type | None]] = {}
    for path in paths:
        with pa.input_stream(path, compression="detect") as file:
            for line in _lines(path, file):
                try:
                    row = _loads(line) if line else {}
                except (ValueError, RecursionError):
                    continue  # the pass over the rows reports the line
                for name, value in row.items() if isinstance(row, dict) else ():
                    has_frames, kind = found.get(name, (False, None))
                    values = value if isinstance(value, list) else [value]
                    if any(isinstance(each, list) for each in values):
                        has_frames = True
                        values = [each for frame in values if isinstance(frame, list)
                                  for each in frame]  # fmt: skip
                    if kind is None:
                        kinds = (int if isinstance(each, bool) else type(each) for each in values)
                        kind = next((each for each in kinds if each in _DTYPES), None)
                    found[name] = has_frames, kind
    return found


def json_rows(
    paths: Sequence[str], floats: set[str], names: set[str] | None, encoding: str
) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Read the objects of JSON lines as mappings that can be encoded.

    Parameters
    ----------
    paths : list of str
    floats : set of str
        Names whose numbers are floats.
    names : set of str, optional
        Names to read, whose types the writer knows. Without them, an empty list is an array with
        the type that the name has in all lines.
    encoding : {"text", "base64"}
        Encoding of strings.

    Yields
    ------
    path, line, row
        Lines are counted from 1.
    """
    kinds = _Kinds(paths, floats, names, encoding)
    for path in paths:
        with pa.input_stream(path, compression="detect") as file:
            for number, line in enumerate(_lines(path, file), 1):
                try:
                    row = kinds.row(_loads(line)) if line else None
                except (ValueError, RecursionError) as error:
                    raise ValueError(f"{path!a}: line {number}: {one_line(error)}") from None
                if row is not None:
                    yield path, number, row


def _loads(line: bytes) -> Any:
    return json.loads(line, parse_constant=NAMES_OF_FLOATS.get, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object as a dict; raise if it has a name twice, as only the last would be kept."""
    values = dict(pairs)
    if len(values) < len(pairs):
        names: set[str] = set()
        for name, _ in pairs:
            if name in names:
                raise ValueError(f"name {name!a} occurs twice in an object")
            names.add(name)
    return values


def _lines(path: str, file: Any) -> Iterator[bytes]:
    rest = b""
    while block := file.read(_TEXT_BLOCK):
        *lines, rest = (rest + block).split(b"\n")
        yield from map(bytes.strip, lines)
        if len(rest) > _LONGEST_LINE:
            raise ValueError(f"{path!a}: a line must be at most {_LONGEST_LINE} bytes long")
    yield rest.strip()
