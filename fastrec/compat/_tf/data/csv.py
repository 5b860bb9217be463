# SPDX-License-Identifier: Apache-2.0
"""``tf.data.experimental.CsvDataset``: the fields of CSV files as tensors."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

import numpy as np

from fastrec.records.inflated import Inflated

from ..dtypes import as_dtype
from ..errors import translated
from ..kernels.csv import Field, column_of_texts, value_of
from ..record_options import compression_of
from ..specs import TensorSpec, TypeSpec
from ..structure import LEAF
from ..tensor import convert_to_tensor
from .dataset import Dataset
from .pipeline import UNKNOWN, Node, invalid
from .sources import each_of_files, existing, names_of
from .streams import Block, Blocks, Value, Values, in_blocks, steps

__all__ = ["CsvDataset", "defaults_of", "opened"]

_CHUNK = 1 << 18
_ROWS = 1024
_QUOTE = b'"'


class _Damaged(list[Any]):
    """A row in which errors stand in the places of the fields that are wrong."""


Row = list[bytes] | _Damaged


class _Rows:
    """The rows of one file: lists of fields.

    As in TensorFlow, what is wrong with a row does not end it: the next one begins after it.
    """

    def __init__(self, read: Callable[[int], bytes], delimiter: bytes, quoted: bool) -> None:
        self._read, self._delimiter, self._quoted = read, delimiter, quoted
        self._stop = re.compile(b"[\n\r" + re.escape(delimiter) + b"]")
        self._buffer, self._at, self._ended = b"", 0, False

    def _more(self) -> bool:
        """Read on; twice as much for a row that takes long, so that it is read once or twice."""
        rest = self._buffer[self._at :]
        data = b"" if self._ended else self._read(max(_CHUNK, len(rest)))
        self._ended = not data
        self._buffer, self._at = rest + data, 0
        return not self._ended

    def take(self, count: int) -> list[Row]:
        """Up to `count` rows that lie ready, and one at least; none at the end."""
        if self._at == len(self._buffer) and not self._more():
            return []
        if (plain := self._plain(count)) is not None:
            return plain
        while (row := self._row()) is None:
            self._more()
        return [row]

    def _plain(self, count: int) -> list[Row] | None:
        """Whole lines without quotes or carriage returns; None where there is no such line."""
        end = self._buffer.rfind(b"\n", self._at)
        if end < 0:
            return None
        ends = [self._buffer.find(b"\r", self._at, end)]
        if self._quoted:
            ends.append(self._buffer.find(_QUOTE, self._at, end))
        first = min((each for each in ends if each >= 0), default=-1)
        if first >= 0 and (end := self._buffer.rfind(b"\n", self._at, first)) < 0:
            return None
        lines = self._buffer[self._at : end].split(b"\n", count)
        if len(lines) > count:
            end -= len(lines.pop()) + 1
        self._at = end + 1
        return [line.split(self._delimiter) for line in lines]

    def _row(self) -> Row | None:
        """The next row; None where more has to be read first."""
        fields: list[Any] = []
        at = self._at
        while True:
            if self._quoted and self._buffer.startswith(_QUOTE, at):
                found = self._quoted_field(at + 1)
                if found is None:
                    return None
                field, stop, problem = found
            else:
                match = self._stop.search(self._buffer, at)
                if match is None and not self._ended:
                    return None
                stop = len(self._buffer) if match is None else match.start()
                field, problem = self._buffer[at:stop], None
                if self._quoted and _QUOTE in field:
                    problem = "Unquoted fields cannot have quotes inside"
            fields.append(field if problem is None else invalid(problem))
            if not self._buffer.startswith(self._delimiter, stop):
                break
            at = stop + 1
        if self._buffer.startswith(b"\r", stop):
            if stop + 1 == len(self._buffer) and not self._ended:
                return None  # a line feed may follow
            stop += self._buffer.startswith(b"\n", stop + 1)
        self._at = min(stop + 1, len(self._buffer))
        return _Damaged(fields) if any(isinstance(f, Exception) for f in fields) else fields

    def _quoted_field(self, at: int) -> tuple[bytes, int, str | None] | None:
        """A field, what ends it and what is wrong with it; None where more is to be read first."""
        parts: list[bytes] = []
        problem: str | None = None
        while True:
            stop = self._buffer.find(_QUOTE, at)
            after = self._buffer[stop + 1 : stop + 2]
            if (stop < 0 or not after) and not self._ended:
                return None
            if stop < 0:
                problem = "Reached end of file without closing quoted field in record"
                return b"", len(self._buffer), problem
            parts.append(self._buffer[at:stop])
            if not after or after in b"\n\r" + self._delimiter:
                return b"".join(parts), stop + 1, problem
            if after == _QUOTE:
                parts.append(_QUOTE)
            else:
                problem = "Quote inside a string has to be escaped by another quote"
            at = stop + 2


@contextlib.contextmanager
def opened(path: str, compression: str | None) -> Iterator[Callable[[int], bytes]]:
    """``read(size)`` of what a file holds."""
    file: IO[bytes]
    with open(existing(path), "rb") as file:
        yield file.read if compression is None else Inflated(file.read, compression, path)


class _Csv(Node):
    """The rows of files, each a tuple of the values of its columns."""

    def __init__(
        self,
        paths: Sequence[str],
        fields: Sequence[Field],
        compression: str | None,
        header: bool,
        delimiter: bytes,
        quoted: bool,
        missing: bytes,
        chosen: Callable[[int], Sequence[int]],
    ) -> None:
        super().__init__()
        self._paths, self._fields, self._compression = list(paths), list(fields), compression
        self._header, self._delimiter, self._quoted = header, delimiter, quoted
        self._missing, self._chosen = missing, chosen

    @property
    def structure(self) -> Any:
        return (LEAF,) * len(self._fields)

    @property
    def specs(self) -> list[TypeSpec]:
        return [TensorSpec((), as_dtype(field.dtype)) for field in self._fields]

    def cardinality(self) -> int:
        return UNKNOWN

    def _of_file(self, path: str, count: int) -> Iterator[list[Row]]:
        with opened(path, self._compression) as read:
            rows = _Rows(read, self._delimiter, self._quoted)
            if self._header and type(next(iter(rows.take(1)), None)) is not list:
                yield [_Damaged([invalid("Can't read header of file")])]
            yield from iter(lambda: rows.take(count), [])

    def _rows(self, count: int) -> Iterator[list[Row]]:
        read = lambda path: self._of_file(path, count)  # noqa: E731
        return each_of_files(iter(self._paths), read, translated)

    def values(self, fast: bool = True) -> Values:
        rows = self._rows(1)
        return steps(lambda: self._value(next(rows)[0]))

    def blocks(self, count: int) -> Blocks | None:
        rows = self._rows(min(count, _ROWS))

        def block() -> Block:
            found = next(rows)
            return len(found), [found]

        return in_blocks(steps(block), self._columns, self._each)

    def _each(self, values: Values) -> Values:
        def of_row(value: Value) -> Value:
            return self._value(value[0])

        return map(of_row, values)

    def _columns(self, count: int, columns: list[Any]) -> Block:
        """Columns of rows that are all alike, and right."""
        (rows,) = columns
        width = len(rows[0])
        if any(type(row) is not list or len(row) != width for row in rows):
            raise ValueError("rows that differ")
        chosen = self._chosen(width)
        if len(chosen) != len(self._fields):
            raise ValueError("rows of other columns")
        texts = list(zip(*rows, strict=True))
        pairs = zip(chosen, self._fields, strict=True)
        return count, [column_of_texts(texts[n], field, self._missing) for n, field in pairs]

    def _value(self, row: Row) -> Value:
        chosen, wanted = set(self._chosen(len(row))), len(self._fields)
        parts: list[Any] = []
        for number, text in enumerate(row):
            if isinstance(text, Exception):
                raise text
            if number not in chosen:
                continue
            if len(parts) == wanted:
                raise invalid(f"Expect {wanted} fields but have more in record")
            field = self._fields[len(parts)]
            value = value_of(text, field, self._missing, len(parts), "")
            parts.append(value if field.dtype.hasobject else np.asarray(value, field.dtype))
        if len(parts) < wanted:
            raise invalid(f"Expect {wanted} fields but have {len(parts)} in record")
        return tuple(parts)


def defaults_of(record_defaults: Any) -> list[Field]:
    """Types and defaults of columns.

    Raises
    ------
    InvalidArgumentError
        For a default that is more than one value.
    """
    fields = []
    for number, default in enumerate(record_defaults):
        if default.__class__.__name__ == "DType" or isinstance(default, type):
            fields.append(Field(as_dtype(default).numpy, None))
            continue
        array = convert_to_tensor(default).array
        if array.ndim > 1:
            raise invalid("Each record default should be at most rank 1")
        if array.size > 1:
            raise invalid(
                f"There should only be 1 default per field but field {number} has {array.size}"
            )
        fields.append(Field(array.dtype, array.reshape(-1)[0] if array.size else None))
    return fields


def _chooser(select: Any, exclude: Any, count: int) -> Callable[[int], Sequence[int]]:
    """Which of so many columns are chosen."""
    if select and exclude:
        raise invalid("Either select_cols or exclude_cols should be empty")
    for name, columns in (("select_cols", select), ("exclude_cols", exclude)):
        if any(a >= b for a, b in itertools.pairwise(columns or ())):
            raise invalid(f"{name} should be strictly increasing indices")
        if columns and columns[0] < 0:
            raise invalid(f"{name} should be non-negative indices")
    if exclude:
        without = frozenset(exclude)
        return lambda width: [n for n in range(width) if n not in without]
    if select:
        if len(select) != count:
            raise invalid("select_cols should match output size")
        picked = list(select)
        return lambda width: [n for n in picked if n < width]
    return range


class CsvDataset(Dataset):
    """The rows of files of comma-separated values, each a tuple of scalars.

    Parameters
    ----------
    filenames : str, path, (nested) list of these, or tensor
    record_defaults : list
        For each column its default, or its type where a value is required.
    compression_type : {None, "", "GZIP", "ZLIB"}
    buffer_size : int, optional
        Not looked at.
    header : bool
        Whether each file begins with a row that is none of them.
    field_delim, use_quote_delim, na_value
        As for ``tf.io.decode_csv``.
    select_cols, exclude_cols : list of int, optional
        Numbers of the columns to take, or to leave out.
    """

    def __init__(
        self,
        filenames: Any,
        record_defaults: Any,
        compression_type: Any = None,
        buffer_size: int | None = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Any = None,
        exclude_cols: Any = None,
    ) -> None:
        if buffer_size is not None and buffer_size <= 0:
            raise invalid("buffer_size should be positive")
        if len(field_delim.encode()) != 1:
            raise invalid("field_delim should be only 1 char")
        fields = defaults_of(record_defaults)
        node = _Csv(
            names_of(filenames),
            fields,
            compression_of(compression_type),
            bool(header),
            field_delim.encode(),
            bool(use_quote_delim),
            na_value.encode(),
            _chooser(_numbers(select_cols), _numbers(exclude_cols), len(fields)),
        )
        super().__init__(node)


def _numbers(columns: Any) -> list[int]:
    return [] if columns is None else [int(number) for number in columns]
