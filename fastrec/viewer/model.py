# SPDX-License-Identifier: Apache-2.0
"""Answer the requests of the viewer's page: summary, pages of records, one record, search."""

from __future__ import annotations

import io
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

from fastrec import _core
from fastrec.cli.report import bytes_text, explained
from fastrec.cli.rows import rows_of
from fastrec.cli.statistics import FeatureSummary, Summary, histogram, summarize
from fastrec.cli.stats import top_texts
from fastrec.cli.typed import common_types, typed_row
from fastrec.cli.values import number_text
from fastrec.columns import Bytes
from fastrec.errors import FastrecError
from fastrec.features.raw import RawFeature
from fastrec.features.spec import SequenceFeatures
from fastrec.parsing.conditions import WhereError
from fastrec.parsing.feature_stats import unusual
from fastrec.parsing.infer import infer_features
from fastrec.parsing.where import parse
from fastrec.storage.stores import public
from fastrec.viewer.cells import cell, cells, frames_of_media
from fastrec.viewer.source import Source
from fastrec.viewer.tokens import decoded

__all__ = ["Model"]

_BINS = 24  # bars of a histogram
_SEARCH_S = 0.5  # seconds of a search until the page shows its progress
_MOST_PAGE = 200  # records of one answer
_MOST_ORDERS = 4  # sorted or random orders that are kept
_MOST_DECODED = 400  # characters of decoded tokens in a card
_SORT_BLOCK = 2048  # records that are parsed in one call


class Model:
    """The displayed files, with everything that the page needs as JSON."""

    def __init__(self, files: Sequence[str], tokens: Sequence[str] = ()) -> None:
        self.files: list[str] = [public(path) for path in files]
        self.source: Final = Source(files)
        self.tokens = tokens
        self._orders: dict[tuple[str, str, bool, int], Sequence[int]] = {}
        self._shapes = self._array_shapes()
        self._summary: dict[str, Any] | None = None

    def _array_shapes(self) -> dict[str, tuple[int, ...]]:
        """Bytes features that are arrays of one shape."""
        records = next(self.source.some(), None)
        if records is None or not len(records):
            return {}
        try:
            found = infer_features(io.BytesIO(_framed(records[:200])))
        except (FastrecError, ValueError):
            return {}
        if isinstance(found, SequenceFeatures):
            found = found.context
        return {
            name: feature.shape
            for name, feature in found.items()
            if isinstance(feature, RawFeature) and isinstance(feature.shape, tuple)
            and all(isinstance(side, int) for side in feature.shape)
        }  # fmt: skip

    def summary(self) -> dict[str, Any]:
        """Return the features, with histograms, and the damage."""
        if self._summary is None:
            total, types = Summary(), common_types(self.source.paths)
            for seed, block in enumerate(self.source.some()):
                if len(block):
                    total.merge(summarize(block, seed, total.rare(), None, types))
            self._summary = self._described(total)
        return {**self._summary, "damage": self.source.damage}

    def _described(self, total: Summary) -> dict[str, Any]:
        return {
            "files": self.files,
            "records": self.source.count,
            "looked_at": total.records,
            "note": self.source.note,
            "others": total.others,
            "sizes": "" if not total.records else bytes_text(total.bytes / total.records),
            "features": [
                _feature(name, total.features[name, kind], total.records)
                for name, kind in sorted(total.features)
            ],
        }

    def page(
        self,
        begin: int,
        count: int,
        *,
        order: str = "file",
        by: str = "",
        descending: bool = False,
        seed: int = 0,
        inline: bool = False,
    ) -> dict[str, Any]:
        """Return `count` records of an order, starting at place `begin`.

        Parameters
        ----------
        order : {"file", "random", "sort"}
            Random and sorted orders contain all records, or a random sample of a large dataset.
        by : str
            The feature to sort by; records without a value come last.
        """
        numbers = self._order(order, by, descending, seed)
        begin = max(0, min(begin, len(numbers)))
        some = numbers[begin : begin + min(count, _MOST_PAGE)]
        return {
            "begin": begin,
            "total": len(numbers),
            "records": self.rows(some, inline=inline),
        }

    def _order(self, order: str, by: str, descending: bool, seed: int) -> Sequence[int]:
        if order == "file":
            return range(self.source.count)
        if order not in ("random", "sort"):
            raise WhereError(f"order must be file, random or sort, got {order!a}")
        key = (order, by, descending, seed)
        if key not in self._orders:
            while len(self._orders) >= _MOST_ORDERS:
                self._orders.pop(next(iter(self._orders)))
            if order == "random":
                self._orders[key] = self.source.sample(seed, shuffled=True)
            else:
                self._check_names([by])
                self._orders[key] = self._sorted_by(by, descending)
        return self._orders[key]

    def _sorted_by(self, name: str, descending: bool) -> list[int]:
        numbers = self.source.sample(0, shuffled=False)
        keys: list[tuple[Any, int]] = []
        missing = []
        for begin in range(0, len(numbers), _SORT_BLOCK):
            some = numbers[begin : begin + _SORT_BLOCK]
            read = zip(some, self.source.read(some), strict=True)
            sound = [(number, each) for number, each in read if isinstance(each, bytes)]
            rows = rows_of(Bytes.from_list([each for _, each in sound]), [name])
            for (number, _), row in zip(sound, rows, strict=True):
                value = None if row is None else _sort_key(row.get(name))
                if value is None:
                    missing.append(number)
                else:
                    keys.append((value, number))
        keys.sort(key=lambda each: each[0], reverse=descending)
        return [number for _, number in keys] + missing

    def _check_names(self, names: Iterable[str]) -> None:
        """Raise an error for a feature that does not exist, with the names of those that do."""
        known = [each["name"] for each in self.summary()["features"]]
        for name in names:
            if known and name not in known:
                some = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
                raise WhereError(f"no record has a feature {name!a}; the features are {some}")

    def rows(self, numbers: Sequence[int], *, inline: bool, full: bool = False) -> list[Any]:
        """Return the cells of several records."""
        found = []
        for number, each in zip(numbers, self.source.read(numbers), strict=True):
            path, record = self.source.place(number)
            row: dict[str, Any] = {"number": number, "path": path, "record": record}
            if isinstance(each, FastrecError):
                row["error"] = explained(each)
            else:
                row["size"] = len(each)
                [values] = rows_of(Bytes.from_list([each]))
                if values is None:
                    row["raw"] = cell(Bytes.from_list([each]), inline=inline, full=full)
                else:
                    values = typed_row(path, values, named=True)
                    found_cells = cells(values, self._shapes, inline=inline, full=full)
                    for name, value in values.items() if self.tokens else ():
                        if text := decoded(value, self.tokens):
                            found_cells[name]["text"] = text if full else text[:_MOST_DECODED]
                    row["cells"] = found_cells
            found.append(row)
        return found

    def record(self, number: int) -> dict[str, Any]:
        """Return one record with complete values."""
        self._check(number)
        [row] = self.rows([number], inline=False, full=True)
        return dict(row)

    def search(self, text: str, begin: int, count: int) -> dict[str, Any]:
        """Search for matching records for half a second; `next` is where to continue."""
        where = parse(text)
        self._check_names(where.names)
        until = time.monotonic() + _SEARCH_S
        numbers, reached = [], begin
        for place, number in self.source.search(where, max(0, begin), min(count, _MOST_PAGE)):
            reached = place
            if number is not None:
                numbers.append(number)
            elif time.monotonic() > until:
                break
        return {"records": self.rows(numbers, inline=False), "next": reached,
                "end": reached >= self.source.count}  # fmt: skip

    def media(self, number: int, name: str, index: int) -> bytes:
        """Return one bytes value."""
        self._check(number)
        [record] = self.source.read([number])
        if isinstance(record, FastrecError):
            raise record
        [row] = rows_of(Bytes.from_list([record]), [name])
        values = None if row is None else row.get(name)
        media = frames_of_media(values)
        if media is not None:
            values = media
        if not isinstance(values, Bytes) or not 0 <= index < len(values):
            raise LookupError(f"record {number} has no such value")
        return values[index]

    def _check(self, number: int) -> None:
        if not 0 <= number < self.source.count:
            raise LookupError(f"record {number} is out of range ({self.source.count} records)")


def _framed(records: Bytes) -> bytes:
    frames = (memoryview(part) for part, _ in _core.Frames(records))  # type: ignore[arg-type]
    return b"".join(frames)


def _feature(name: str, each: FeatureSummary, records: int) -> dict[str, Any]:
    counts, edges = histogram(each.values, _BINS)
    most = max(counts, default=1)
    return {
        "name": name,
        "kind": each.kind,
        "formats": dict(each.formats),
        "present": each.records / records if records else 0,
        "lengths": [each.lengths.low, each.lengths.high],
        "low": _text(each.values.low),
        "high": _text(each.values.high),
        "unusual": unusual(each.values.nan, each.values.infinite),
        "mean": number_text(each.values.mean) if each.values.finite else "",
        "distinct": ("" if each.distinct.exact else "about ") + str(each.distinct.count),
        "histogram": [count / most for count in counts],
        "edges": [number_text(edge) for edge in edges],
        "top": top_texts(each),
    }


def _sort_key(values: Any) -> Any:
    """Return the first value as a number, or the bytes of a string; None without values."""
    if isinstance(values, Bytes):
        return values[0] if len(values) else None
    if values is None or not hasattr(values, "dtype") or not len(values):
        return None
    number = float(values[0]) if values.dtype.kind == "f" else int(values[0])
    return None if number != number else number


def _text(value: Any) -> str:
    return "" if value is None else number_text(value, 6)
