# SPDX-License-Identifier: Apache-2.0
"""Statistics of features that :func:`~fastrec.infer_features` collects, and their table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..columns import Bytes, Ragged
from ..features.column_spec import Feature
from ..features.raw import RawFeature
from ..features.spec import FixedLenFeature
from ..records.content import image_format

__all__ = ["FeatureStats", "Features"]

KINDS = ("bytes_list", "float_list", "int64_list")


class Shape(NamedTuple):
    """The features that hold the shape of arrays, and the shapes in some records."""

    names: str | tuple[str | int, ...]
    dtype: Any  # None when integers say it
    shapes: NDArray[np.int64]  # (records, dimensions)


class Found(NamedTuple):
    """A way to read bytes as arrays."""

    names: str | tuple[str | int, ...]
    dtype: Any
    item_size: int
    constant: tuple[int, ...] | None


class FeatureStats:
    """Statistics of one feature.

    Attributes
    ----------
    records : list of int
        In how many records it is without a kind, of bytes, of floats and of integers.
    fewest, most : int
        Values in a record that has it.
    low, high : number or None
        Of all values; of bytes, of their sizes.
    format : str or None
        Of images, when all bytes values begin like one.
    """

    def __init__(self) -> None:
        self.records = [0, 0, 0, 0]
        self.fewest, self.most = 2**63, 0
        self.low: float | int | None = None
        self.high: float | int | None = None
        self._formats: set[str | None] = set()
        self._shapes: dict[Any, list[Any]] = {}

    @property
    def kinds(self) -> list[str]:
        """The kinds that it is of."""
        return [kind for kind, count in zip(KINDS, self.records[1:], strict=True) if count]

    @property
    def present(self) -> int:
        """Records that have it."""
        return sum(self.records[1:])

    @property
    def format(self) -> str | None:
        """The image format of all its values."""
        return next(iter(self._formats)) if len(self._formats) == 1 else None

    def add_kinds(self, counts: tuple[int, ...]) -> None:
        """In how many more records it is of which kind."""
        self.records = [a + b for a, b in zip(self.records, counts, strict=True)]

    def add_values(self, column: Ragged) -> None:
        """The values of some records; rows are empty where it is missing, too."""
        lengths = column.row_lengths
        if len(lengths):
            self.fewest = min(self.fewest, int(lengths.min()))
            self.most = max(self.most, int(lengths.max()))
        values: Any = column.values
        if isinstance(values, Bytes):
            self._formats.update(image_format(values[i]) for i in range(len(values)))
            values = np.diff(values.offsets)
        if values.dtype.kind == "f":
            values = values[np.isfinite(values)]
        if len(values):
            low, high = values.min().item(), values.max().item()
            self.low = low if self.low is None else min(self.low, low)
            self.high = high if self.high is None else max(self.high, high)

    def is_one_string(self) -> bool:
        """Return True if every record so far has one bytes value."""
        return bool(self.kinds == ["bytes_list"] and self.fewest == self.most == 1)

    def add_shape(self, shape: Shape, sizes: NDArray[np.int64]) -> None:
        """Another feature may say of what shape its values are, of these sizes."""
        products = shape.shapes.astype(np.float64).prod(axis=1)
        sound = (shape.shapes > 0).all() and (sizes % np.maximum(products, 1) == 0).all()
        ratios = set((sizes / products).tolist()) if sound else set()
        rank = shape.shapes.shape[1]  # one that changes makes two, neither of all records
        seen = self._shapes.setdefault((shape.names, rank), [shape.dtype, 0, set(), set()])
        seen[1] += len(sizes)
        seen[2] |= ratios or {0.0}
        seen[3].update(map(tuple, shape.shapes.tolist()) if len(seen[3]) < 2 else ())

    def shape(self, total: int) -> Found | None:
        """Return how to read it as arrays, if that fits every record."""
        for (names, _), (dtype, records, ratios, shapes) in self._shapes.items():
            if records != total or len(ratios) != 1 or not self.is_one_string():
                continue
            item_size = next(iter(ratios))
            if item_size in (1, 2, 4, 8):
                constant = next(iter(shapes)) if len(shapes) == 1 else None
                return Found(names, dtype, int(item_size), constant)
        return None


def shape_sources(key: str, columns: Mapping[str, Ragged]) -> Iterator[Shape]:
    """Yield the columns that may hold the shape of the arrays in a feature."""
    stem = key.rsplit("/", 1)[0]
    for name in dict.fromkeys((f"{key}/shape", f"{key}_shape", "shape", f"{stem}/shape")):
        shape = _whole_shape(name, columns.get(name)) if name != key else None
        if shape is not None:
            yield shape
    for prefix in dict.fromkeys((f"{key}/", f"{key}_", f"{stem}/", f"{stem}_", "")):
        height = _scalar(columns.get(f"{prefix}height"))
        width = _scalar(columns.get(f"{prefix}width"))
        if height is None or width is None:
            continue
        names: list[str | int] = [f"{prefix}height", f"{prefix}width"]
        for name in (f"{prefix}channels", f"{prefix}depth"):
            channels = _scalar(columns.get(name))
            if channels is not None:
                yield Shape((*names, name), None, np.stack([height, width, channels], axis=1))
                break
        else:
            for count in (3, 1, 4):
                full = np.full(len(columns[key]), count)
                yield Shape((*names, count), None, np.stack([height, width, full], axis=1))


def _whole_shape(name: str, column: Ragged | None) -> Shape | None:
    if column is None or len(column) == 0:
        return None
    values, dtype = column.values, None
    rank = int(column.row_lengths[0])
    if (column.row_lengths != rank).any():
        return None
    if isinstance(values, Bytes) and rank == 1:
        sizes = np.diff(values.offsets)
        if (sizes != sizes[0]).any() or sizes[0] % 4:
            return None
        rank, dtype = int(sizes[0]) // 4, np.int32
        values = values.data.copy().view("<i4")
    if isinstance(values, Bytes) or values.dtype.kind not in "i" or not 2 <= rank <= 8:
        return None
    return Shape(name, dtype, values.reshape(-1, rank).astype(np.int64))


def _scalar(column: Ragged | None) -> NDArray[np.int64] | None:
    """The one integer that every record has."""
    if column is None or isinstance(column.values, Bytes) or column.values.dtype != np.int64:
        return None
    return column.values if (column.row_lengths == 1).all() else None


class Features(dict[str, Feature]):
    """Features by name, with what was seen of them; printing shows it as a table.

    Attributes
    ----------
    stats : dict of str to FeatureStats
    records : int
        How many records were looked at.
    """

    def __init__(
        self, features: Mapping[str, Feature], stats: Mapping[str, FeatureStats], records: int
    ) -> None:
        super().__init__(features)
        self.stats = dict(stats)
        self.records = records

    def __reduce__(self) -> Any:
        return type(self), (dict(self), self.stats, self.records)

    def rows(self) -> list[tuple[str, ...]]:
        """The cells of the table that printing shows, its headers first."""
        headers = ("name", "kind", "values", "present", "range", "read as")
        return [headers, *(self._row(name) for name in self)]

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        aligned = ("<", "<", ">", ">", "<", "<")
        return "\n".join(
            "  ".join(
                f"{cell:{side}{width}}"
                for cell, side, width in zip(row, aligned, widths, strict=True)
            ).rstrip()
            for row in rows
        )

    def _row(self, name: str) -> tuple[str, ...]:
        seen, feature = self.stats.get(name), self[name]
        shown = ascii(name)[1:-1]
        if seen is None:  # put in later
            return shown, "", "", "", "", _spell(feature)
        values = str(seen.most) if seen.fewest == seen.most else f"{seen.fewest} to {seen.most}"
        present = f"{100 * seen.present / self.records:.3g} %"
        return shown, seen.kinds[0], values, present, self._range(seen), _spell(feature)

    def _range(self, seen: FeatureStats) -> str:
        if seen.low is None or seen.high is None:
            return ""
        text = f"{seen.low:.6g}" if isinstance(seen.low, float) else str(seen.low)
        if seen.high != seen.low:
            text += f" to {seen.high:.6g}" if isinstance(seen.high, float) else f" to {seen.high}"
        if seen.kinds == ["bytes_list"]:
            text += " bytes" + (f", {seen.format}" if seen.format else "")
            found = seen.shape(self.records)
            if found is not None and found.item_size > 1:
                text += f", raw array of {found.item_size} bytes an element?"
        return text


def _spell(feature: Any) -> str:
    """A feature in one line, without what is as always."""
    dtype = "bytes" if feature.dtype is bytes else np.dtype(feature.dtype).name
    if isinstance(feature, FixedLenFeature):
        return f"FixedLenFeature({feature.shape}, {dtype})"
    if isinstance(feature, RawFeature):
        extra = (
            "" if feature.shape_dtype is None else f", shape_dtype={feature.shape_dtype.__name__}"
        )
        return f"RawFeature({feature.shape!r}, {dtype}{extra})"
    return f"{type(feature).__name__}({dtype})"
