# SPDX-License-Identifier: Apache-2.0
"""The plan of ``make_csv_dataset``: files, column names and types, which it infers from rows."""

from __future__ import annotations

import glob
import io
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..records import compression_of
from ..tensor import convert_to_tensor
from .csv import opened
from .sources import names_of

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
        features = dict(zip(self.names, columns, strict=True))
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
