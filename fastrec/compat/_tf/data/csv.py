# SPDX-License-Identifier: Apache-2.0
"""Datasets of CSV files: ``CsvDataset``, and the plan of ``make_csv_dataset``.

The plan has files, column names and types, which it infers from rows.
"""

from __future__ import annotations

import contextlib
import glob
import io
import itertools
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

import numpy as np

from fastrec import Bytes, Ragged, _tensor
from fastrec.records.inflated import Inflated

from ..columns import flat_values
from ..dtypes import as_dtype
from ..errors import invalid, translated
from ..kernels.csv import Field, column_of, value_of
from ..records import compression_of
from ..specs import TensorSpec, TypeSpec
from ..structure import LEAF
from ..tensor import convert_to_tensor
from .dataset import Dataset
from .pipeline import UNKNOWN, Stage
from .sources import each_of_files, existing, names_of
from .streams import Attempted, Pull, Rows, Value, Values, chunks_of

_CHUNK = 1 << 16
_LEAST = 1 << 12  # bytes to search for plain rows after a row that was not plain
_QUOTE = b'"'


class _Damaged(list[Any]):
    """Row that has an exception in place of each malformed field."""


Row = list[bytes] | _Damaged
Lines = Ragged | list[Row]  # plain rows as arrays, or a single row of another kind


class _Rows:
    """Reader of the rows of one file, as lists of fields.

    As in TensorFlow, an error inside a row does not end the iteration: the next row follows.
    """

    def __init__(self, read: Callable[[int], bytes], delimiter: bytes, quoted: bool) -> None:
        self._read, self._delimiter, self._quoted = read, delimiter, quoted
        self._stop = re.compile(b"[\n\r" + re.escape(delimiter) + b"]")
        self._buffer, self._at, self._ended = b"", 0, False
        self._ahead = _LEAST

    def _more(self) -> bool:
        """Read more bytes, doubling the size for a long row to limit how often it is parsed."""
        rest = self._buffer[self._at :]
        data = b"" if self._ended else self._read(max(_CHUNK, len(rest)))
        self._ended = not data
        self._buffer, self._at = rest + data, 0
        return not self._ended

    def take(self) -> Lines:
        """Return the rows that can be parsed now, at least one; an empty list at the end."""
        if self._at == len(self._buffer) and not self._more():
            return []
        if (plain := self._plain()) is not None:
            return plain
        while (row := self._row()) is None:
            self._more()
        return [row]

    def _plain(self) -> Ragged | None:
        """Return complete rows with balanced quotes, or None if the next row has other quotes."""
        if self._delimiter in b'"\n\r':
            return None
        data = np.frombuffer(self._buffer, np.uint8)
        end = min(self._at + self._ahead, len(data))
        last = self._ended and end == len(data)
        parts, begins, splits, used = _tensor.cut_csv(
            data, np.array([self._at, end]), self._delimiter[0], self._quoted, False, last
        )
        self._at, self._ahead = self._at + used, max(_LEAST, 2 * used)
        return Ragged(Bytes(parts, begins), splits) if used else None

    def _row(self) -> Row | None:
        """Return the next row, or None if more bytes must be read first."""
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
        """Return a field, where it ends and its error; None if more bytes must be read first."""
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
    """Open a file and return ``read(size)`` for its decompressed content."""
    file: IO[bytes]
    with open(existing(path), "rb") as file:
        yield file.read if compression is None else Inflated(file.read, compression, path)


class _Csv(Stage):
    """Stage over the rows of files; each element is a tuple of column values."""

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

    def _of_file(self, path: str) -> Iterator[Lines]:
        with opened(path, self._compression) as read:
            rows = _Rows(read, self._delimiter, self._quoted)
            if self._header:
                first = rows.take()
                if isinstance(first, Ragged):
                    yield first[1:]
                elif not first or isinstance(first[0], _Damaged):
                    yield [_Damaged([invalid("Can't read header of file")])]
            while len(found := rows.take()):
                yield found

    def _rows(self) -> Iterator[Lines]:
        return each_of_files(iter(self._paths), self._of_file, translated)

    def start(self, ask: int) -> Pull:
        rows = chunks_of(Rows(len(each), [each]) for each in self._rows())
        return Attempted(rows, self._columns, self._each)

    def _each(self, values: Values) -> Values:
        return map(self._value, (row for (row,) in values))

    def _columns(self, found: Rows) -> Rows:
        """Return columns of rows that are all well-formed and have the same number of fields."""
        (rows,) = found.columns
        if not isinstance(rows, Ragged):
            raise ValueError("rows that are not plain")
        width = int(rows.row_lengths[0])
        if (rows.row_lengths != width).any():
            raise ValueError("rows that differ")
        chosen = self._chosen(width)
        if len(chosen) != len(self._fields):
            raise ValueError("rows of other columns")
        texts = flat_values(rows)
        pairs = zip(chosen, self._fields, strict=True)
        columns = [column_of(texts, n, width, field, self._missing) for n, field in pairs]
        return Rows(found.count, columns)

    def _value(self, row: Sequence[Any]) -> Value:
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
    """Return the types and defaults of columns.

    Raises
    ------
    InvalidArgumentError
        If a default has more than one value.
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
    """Return a function that selects the chosen columns of a row."""
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
    """Dataset of the rows of CSV files, each a tuple of scalars.

    Parameters
    ----------
    filenames : str, path, (nested) list of these, or tensor
    record_defaults : list
        The default of each column, or its type if a value is required.
    compression_type : {None, "", "GZIP", "ZLIB"}
    buffer_size : int, optional
        Has no effect.
    header : bool
        Whether each file begins with a header row.
    field_delim, use_quote_delim, na_value
        As in ``tf.io.decode_csv``.
    select_cols, exclude_cols : list of int, optional
        Numbers of the columns to keep, or to leave out.
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
        stage = _Csv(
            names_of(filenames),
            fields,
            compression_of(compression_type),
            bool(header),
            field_delim.encode(),
            bool(use_quote_delim),
            na_value.encode(),
            _chooser(_numbers(select_cols), _numbers(exclude_cols), len(fields)),
        )
        super().__init__(stage)


def _numbers(columns: Any) -> list[int]:
    return [] if columns is None else [int(number) for number in columns]


Buffer = tuple[int | None, int | None]  # the shuffle buffer's size and seed


class CsvPlan:
    """Arguments and files of ``make_csv_dataset`` of either version; builds its dataset."""

    def __init__(
        self,
        file_pattern: Any,
        column_names: Any,
        column_defaults: Any,
        label_name: str | None,
        select_columns: Any,
        field_delim: str,
        use_quote_delim: bool,
        na_value: str,
        header: bool,
        num_rows_for_inference: int | None,
        compression_type: Any,
        encoding: str,
    ) -> None:
        self.paths = self._matching(file_pattern)
        self._delimiter, self._quoted, self._missing = field_delim, use_quote_delim, na_value
        self._compression, self._encoding = compression_type, encoding
        self._header = header
        if column_names is None:
            if not header:
                raise ValueError(
                    "Expected `column_names` or `header` arguments. Neither is provided."
                )
            column_names = self._names()
        names = list(column_names)
        if len(names) != len(set(names)):
            raise ValueError("Cannot have duplicate column names.")
        chosen = list(range(len(names)))
        if select_columns is not None:
            chosen = _places(select_columns, names)
        if column_defaults is None:
            column_defaults = self._defaults(len(names), chosen, num_rows_for_inference)
        elif select_columns is not None and len(column_defaults) != len(chosen):
            raise ValueError(
                "If specified, `column_defaults` and `select_columns` must have the same length, "
                f"got {len(column_defaults)} and {len(chosen)}."
            )
        self.names = [names[number] for number in chosen]
        if label_name is not None and label_name not in self.names:
            raise ValueError("`label_name` provided must be one of the columns.")
        self.label = label_name
        self.options: dict[str, Any] = {
            "record_defaults": column_defaults,
            "select_cols": None if select_columns is None else chosen,
            "field_delim": field_delim,
            "use_quote_delim": use_quote_delim,
            "na_value": na_value,
            "header": header,
            "compression_type": compression_type,
        }

    @staticmethod
    def _matching(pattern: Any) -> list[str]:
        patterns = names_of(pattern)
        if not patterns:
            raise ValueError("Cannot have empty `file_pattern`.")
        found = sorted(name for each in patterns for name in glob.glob(each))
        if not found:
            raise ValueError(f"No files match `file_pattern` {pattern}.")
        return found

    def dataset(
        self,
        files: Any,
        reader: Any,
        batch_size: int,
        num_epochs: int | None,
        shuffle: Buffer,
        prefetch: int | None,
        reads: int | None,
        ignore: bool,
    ) -> Any:
        """Return batches of the rows of `files`, read by `reader`; `paths` is their dataset."""

        def rows(path: Any) -> Any:
            found = reader(path, **self.options)
            return found.ignore_errors() if ignore else found

        size, seed = shuffle
        if size:
            files = files.shuffle(len(self.paths), seed)
        found = files.interleave(rows, cycle_length=max(1, reads or 1))
        if size:
            found = found.shuffle(size, seed)
        if num_epochs != 1:
            found = found.repeat(num_epochs)
        found = found.batch(batch_size, drop_remainder=num_epochs is None)
        return found.map(self.element).prefetch(-1 if prefetch is None else prefetch)

    def element(self, *columns: Any) -> Any:
        """Convert a row to a dict, or to a (dict, label) pair if a label was chosen."""
        features = OrderedDict(zip(self.names, columns, strict=True))
        return features if self.label is None else (features, features.pop(self.label))

    def _rows(self, path: str) -> Iterator[list[str]]:
        """Yield the rows of a file as Python's csv module parses them."""
        import csv

        kind = compression_of(self._compression)
        if kind == "ZLIB":
            raise ValueError(
                f"`compression_type` {self._compression} is not supported for probing columns."
            )
        with opened(path, kind) as read:
            raw = io.BufferedReader(_Raw(read))
            text = io.TextIOWrapper(raw, self._encoding, newline="")
            if self._quoted:
                yield from csv.reader(text, delimiter=self._delimiter)
            else:
                yield from csv.reader(text, delimiter=self._delimiter, quoting=csv.QUOTE_NONE)

    def _names(self) -> list[str]:
        first: list[str] | None = None
        for path in self.paths:
            names = next(self._rows(path), [])
            if first is not None and names != first:
                raise ValueError(
                    "All input CSV files should have the same column names in the header row. "
                    f"File {path} has different column names."
                )
            first = names
        return first or []

    def _defaults(self, width: int, chosen: Sequence[int], most: int | None) -> list[Any]:
        """Return the default of each column: the narrowest type that fits its first values."""
        kinds: list[int | None] = [None] * len(chosen)
        for row in itertools.islice(self._body(width), most):
            for place, number in enumerate(chosen):
                if row[number] not in ("", self._missing):
                    kinds[place] = _kind(row[number], kinds[place] or 0)
        found = ["string" if kind is None else _KINDS[kind] for kind in kinds]
        return [convert_to_tensor([b"" if t == "string" else 0], t) for t in found]

    def _body(self, width: int) -> Iterator[list[str]]:
        for path in self.paths:
            rows = self._rows(path)
            if self._header:
                next(rows, None)
            for number, row in enumerate(rows):
                if len(row) != width:
                    raise ValueError(
                        f"Problem inferring types: CSV row {number + 1} has {len(row)} number of "
                        f"fields. Expected: {width}."
                    )
                yield row


class _Raw(io.RawIOBase):
    """Raw file object over a `read(size)` function."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


_KINDS = ("int32", "int64", "float32", "float64", "string")


def _kind(text: str, least: int) -> int:
    """Return the number of the first type in `_KINDS`, from `least` on, that fits a text."""
    for number in range(least, len(_KINDS) - 1):
        dtype = np.dtype(_KINDS[number])
        try:
            if dtype.kind == "i":
                if np.iinfo(dtype).min <= int(text) <= np.iinfo(dtype).max:
                    return number
            elif np.finfo(dtype).min < float(text) < np.finfo(dtype).max:
                return number
        except ValueError:
            continue
    return len(_KINDS) - 1


def _places(columns: Any, names: list[str]) -> list[int]:
    """Return the sorted column numbers of columns given by number or name.

    Raises
    ------
    ValueError
        If a column does not exist or is listed twice.
    """
    places = []
    for column in columns:
        if isinstance(column, str):
            if column not in names:
                raise ValueError(f"Invalid `column` name, got {column!r}; columns are {names}.")
            places.append(names.index(column))
        elif 0 <= int(column) < len(names):
            places.append(int(column))
        else:
            raise ValueError(f"column {column} is out of range (0 to {len(names) - 1})")
    if len(places) != len(set(places)):
        raise ValueError("`select_columns` contains duplicate columns.")
    return sorted(places)
