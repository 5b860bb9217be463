# SPDX-License-Identifier: Apache-2.0
"""Collect numbers about every record of a file, block by block, for the columns of an index."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..columns import Bytes, Ragged
from ..errors import ExampleParseError
from ..features.spec import RaggedFeature, plan_context, plan_frames
from ..records.paths import PathLike
from .conditions import Name

__all__ = ["Column", "ColumnBuilder", "narrowest"]

_MOST_LABELS = 1 << 16  # different strings of a column, which are stored as numbers
_KINDS: tuple[Any, ...] = (bytes, np.float32, np.int64)  # in the order of Survey's counts


class Column(NamedTuple):
    """One number for each record of a file."""

    values: NDArray[Any]
    """Integers or floats; for strings, their numbers in `labels`."""
    missing: NDArray[np.bool_] | None = None
    """Records without a value, whose number is 0; None if each record has one."""
    labels: Bytes | None = None
    """The different strings, of a feature of bytes."""

    def take(self, numbers: NDArray[Any]) -> Column:
        """Return the column of some records."""
        missing = None if self.missing is None else self.missing[numbers]
        return Column(self.values[numbers], missing, self.labels)


class ColumnBuilder:
    """Collects the columns of a file, block by block.

    Attributes
    ----------
    count : int
        Number of records added so far.
    """

    def __init__(self, path: PathLike, names: Sequence[Name]) -> None:
        self.count: int = 0
        self._path = os.fspath(path)
        self._names = names
        self._kinds: dict[str, int] = {}
        self._is_list: dict[str, bool] = {}
        self._seen: set[str] = set()
        self._parts: dict[str, list[tuple[NDArray[Any], NDArray[np.bool_] | None]]] = {
            str(name): [] for name in names
        }
        self._codes: dict[str, dict[bytes, int]] = {}
        self._context: _core.Schema | None = None
        self._lists: _core.Schema | None = None

    def add(self, block: Bytes) -> None:
        """Add the records of the next block."""
        try:
            if len(self._kinds) < len({name.name for name in self._names}):
                self._look_for_kinds(block)
            columns = self._parse(block)
        except ExampleParseError as error:
            if error.record is None:
                raise
            raise error.in_record(self.count + error.record, self._path) from None
        for name in self._names:
            self._parts[str(name)].append(self._numbers(name, columns.get(name.name), len(block)))
        self.count += len(block)

    def _look_for_kinds(self, block: Bytes) -> None:
        """Set the kind of each feature from the first block that has a value of it."""
        survey = _core.Survey()
        survey.add(block)
        before = len(self._kinds)
        for counts, is_list in zip(survey.counts(), (False, True), strict=True):
            for raw, (kinds, *_) in counts.items():
                key = raw.decode("utf-8", "surrogateescape")
                self._seen.add(key)
                kind = next((kind for kind in range(3) if kinds[kind + 1]), None)
                wanted = any(name.name == key for name in self._names)
                if wanted and kind is not None and key not in self._kinds:
                    self._kinds[key], self._is_list[key] = kind, is_list
        if len(self._kinds) > before:
            features = {key: RaggedFeature(_KINDS[kind]) for key, kind in self._kinds.items()}
            lists = {key: spec for key, spec in features.items() if self._is_list[key]}
            context = {key: spec for key, spec in features.items() if key not in lists}
            self._context = _core.Schema(plan_context(context))
            self._lists = _core.Schema(plan_frames(lists)) if lists else None

    def _parse(self, block: Bytes) -> dict[str, Ragged]:
        if self._lists is not None and self._context is not None:
            context, lists = _core.parse_sequences(self._context, self._lists, block)
            return {**context, **lists}
        return self._context.parse(block) if self._context is not None else {}

    def _numbers(
        self, name: Name, column: Ragged | None, count: int
    ) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        if column is None:
            absent = None if name.measure == "len" else np.ones(count, np.bool_)
            return np.zeros(count, np.int64), absent
        lengths = column.row_lengths
        if name.measure == "len":
            return lengths, None
        values, counts = column.values, lengths
        if isinstance(values, Ragged):  # frames of a feature list
            counts = np.diff(values.row_splits[column.row_splits])
            values = values.values
        if (many := np.flatnonzero(counts > 1)).size:
            record = int(many[0])
            problem = (
                f"{name} must be one number, got {counts[record]} values; "
                f"use {Name(name.name, 'len')}"
            )
            raise ExampleParseError(problem).in_record(self.count + record, self._path)
        if name.measure == "size":
            if not isinstance(values, Bytes):
                raise ExampleParseError(
                    f"{name} in {os.fsdecode(self._path)!a}: size() is of bytes, and the feature "
                    f"holds numbers; use {Name(name.name, 'len')}"
                )
            numbers: NDArray[Any] = np.diff(values.offsets)
        elif isinstance(values, Bytes):
            numbers = self._coded(name, values)
        else:
            numbers = values
        if len(numbers) == count:
            return numbers, None
        full = np.zeros(count, numbers.dtype)
        full[counts == 1] = numbers
        return full, counts == 0

    def _coded(self, name: Name, values: Bytes) -> NDArray[np.int64]:
        codes = self._codes.setdefault(str(name), {})
        numbers = [codes.setdefault(value, len(codes)) for value in values.to_list()]
        if len(codes) > _MOST_LABELS:
            raise ExampleParseError(
                f"{name} in {os.fsdecode(self._path)!a} must have at most {_MOST_LABELS} different "
                f"strings; use {Name(name.name, 'size')} or a feature of numbers"
            )
        return np.array(numbers, np.int64)

    def absent(self) -> ExampleParseError | None:
        """Return the error for a feature that is absent from all records, or None."""
        for name in self._names:
            if self.count and name.name not in self._kinds and name.name not in self._seen:
                return self._unknown(name)
        return None

    def finish(self) -> dict[str, Column]:
        """Return the columns of all records."""
        return {str(name): self._finished(name) for name in self._names}

    def _unknown(self, name: Name) -> ExampleParseError:
        close = difflib.get_close_matches(name.name, sorted(self._seen), 3)
        hint = f"; similar names: {', '.join(map(repr, close))}" if close else ""
        return ExampleParseError(
            f"no record of {os.fsdecode(self._path)!a} has the feature {name.name!r}{hint}"
        )

    def _finished(self, name: Name) -> Column:
        parts = self._parts[str(name)]
        if not parts:
            return Column(np.zeros(0, np.int8))
        dtype: Any = np.int64
        if any(values.dtype.kind == "f" for values, _ in parts):
            dtype = np.float32
        values = np.concatenate([values for values, _ in parts]).astype(dtype, copy=False)
        missing = None
        if any(absent is not None for _, absent in parts):
            missing = np.concatenate(
                [np.zeros(len(v), bool) if absent is None else absent for v, absent in parts]
            )
        if dtype == np.int64:
            values = narrowest(values)
        codes = self._codes.get(str(name))
        return Column(values, missing, None if codes is None else Bytes.from_list(list(codes)))


def narrowest(values: NDArray[Any]) -> NDArray[Any]:
    """Return integers as the smallest dtype that holds all of them."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    for dtype in (np.int8, np.int16, np.int32):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return values.astype(dtype)
    return values
