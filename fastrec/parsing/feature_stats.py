# SPDX-License-Identifier: Apache-2.0
"""Statistics of features that :func:`~fastrec.infer_features` collects, and their table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..columns import Bytes, Ragged
from ..features.column_spec import Feature
from ..features.raw import RawFeature
from ..features.spec import FixedLenFeature, SequenceFeatures
from ..records.content import value_content
from ..records.content.arrays import ArrayEncoding, array_header
from ..records.recovery import Skipped

__all__ = ["FeatureStats", "Features", "InferredSequence", "unusual"]

_ENCODINGS: dict[str, ArrayEncoding] = {"TensorProto": "tensor", "NPY": "npy"}
_ARRAYS = tuple(_ENCODINGS)
# Element types of arrays that a specification may use on every machine.
_READABLE = frozenset(
    {"bool", "complex64", "complex128", "float16", "float32", "float64"}.union(
        f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
    )
)
_PLAIN = ("bytes", "text", "path", "URL", "raw pixels")  # formats that are only guesses
KINDS = ("bytes_list", "float_list", "int64_list")


class Shape(NamedTuple):
    """The features that hold the shape of arrays, and the shapes in some records."""

    names: str | tuple[str | int, ...]
    dtype: Any  # None if integers hold the shape
    shapes: NDArray[np.int64]  # shape (records, dimensions)


class Found(NamedTuple):
    """A specification for reading bytes as arrays."""

    names: str | tuple[str | int, ...]
    dtype: Any
    item_size: int
    constant: tuple[int, ...] | None


class Array(NamedTuple):
    """A specification for reading bytes as arrays that include their type and shape."""

    encoding: ArrayEncoding
    dtype: str
    shape: tuple[int, ...] | None  # None if shapes differ between records


class FeatureStats:
    """Statistics of one feature or feature list.

    Attributes
    ----------
    records : list of int
        Number of records without a kind, with bytes, with floats and with integers. For a feature
        list, the number of frames.
    first : list of int or None
        Number of the first record of each kind.
    named : int
        Number of records that have the feature, with or without a kind.
    fewest, most : int
        Minimum and maximum number of values in a record, or in a frame, that has a kind.
    frames : tuple of int
        Minimum and maximum number of frames in a record that has the feature list; 1 and 1 for a
        feature.
    low, high : number or None
        Range of all finite values; for bytes, range of their sizes.
    nan, infinite : int
        Number of NaN values, and number of infinite values.
    format : str or None
        Format that all bytes values share, such as an image or array format.
    """

    def __init__(self) -> None:
        self.records: list[int] = [0, 0, 0, 0]
        self.first: list[int | None] = [None] * 4
        self.named: int = 0
        self.fewest: int = 2**64 - 1
        self.most: int = 0
        self.frames: tuple[int, int] = (2**64 - 1, 0)
        self.low: float | int | None = None
        self.high: float | int | None = None
        self.infinite: int = 0
        self.nan: int = 0
        self._formats: set[str | None] = set()
        self._details: set[str] = set()
        self._arrays: set[tuple[ArrayEncoding, str]] = set()
        self._array_shapes: set[tuple[int, ...]] = set()
        self._ranks: set[int] = set()
        self._has_empty = False
        self._shapes: dict[Any, list[Any]] = {}

    @property
    def kinds(self) -> list[str]:
        """Kinds of the feature's values."""
        return [kind for kind, count in zip(KINDS, self.records[1:], strict=True) if count]

    @property
    def present(self) -> int:
        """Number of records, or of frames, that have values of a kind."""
        return sum(self.records[1:])

    @property
    def format(self) -> str | None:
        """Name of the common format of all values, with the shape and type of arrays."""
        if len(self._formats) != 1:
            return None
        name = next(iter(self._formats))
        detail = next(iter(self._details)) if len(self._details) == 1 else ""
        return f"{name} {detail}" if name in _ARRAYS and detail else name

    @property
    def array(self) -> Array | None:
        """Specification for reading the values as arrays that include their type, or None."""
        same = len(self._formats) == len(self._arrays) == len(self._ranks) == 1
        if not same or self._has_empty or not self.is_one_string():
            return None
        encoding, name = next(iter(self._arrays))
        if name not in _READABLE:
            return None
        shape = next(iter(self._array_shapes)) if len(self._array_shapes) == 1 else None
        return Array(encoding, name, shape)

    def _add_array(self, name: str, value: bytes) -> None:
        header = array_header(_ENCODINGS[name], value)
        if header is None or len(self._arrays) > 1:
            return
        self._arrays.add((_ENCODINGS[name], header.name))
        self._ranks.add(len(header.shape))
        if len(self._array_shapes) < 2:
            self._array_shapes.add(header.shape)

    def _add_formats(self, values: Bytes) -> None:
        for value in values:
            found = value_content(value)
            if found.name == "empty":
                self._has_empty = True
                continue
            named = found.name not in _PLAIN
            self._formats.add(found.name if named else None)
            if found.name in _ARRAYS and len(self._details) < 2:
                self._details.add(found.detail)
            if found.name in _ENCODINGS:
                self._add_array(found.name, value)

    @property
    def has_shapes(self) -> bool:
        """Whether another feature may hold the shape of this one."""
        return bool(self._shapes)

    def add_counts(
        self,
        records: tuple[int, ...],
        first: tuple[int, ...],
        named: int,
        fewest: int,
        most: int,
        least_frames: int,
        most_frames: int,
    ) -> None:
        """Add the counts of other records."""
        self.records = [a + b for a, b in zip(self.records, records, strict=True)]
        self.first = [
            old if new < 0 else new if old is None else min(old, new)
            for old, new in zip(self.first, first, strict=True)
        ]
        self.named += named
        self.fewest, self.most = min(self.fewest, fewest), max(self.most, most)
        self.frames = min(self.frames[0], least_frames), max(self.frames[1], most_frames)

    def add_values(self, values: Any) -> None:
        """Add the values of some records to the range."""
        if isinstance(values, Bytes):
            self._add_formats(values)
            values = np.diff(values.offsets)
        if values.dtype.kind == "f":
            finite = values[np.isfinite(values)]
            nan = int(np.isnan(values).sum())
            self.nan += nan
            self.infinite += len(values) - len(finite) - nan
            values = finite
        if len(values):
            low, high = values.min().item(), values.max().item()
            self.low = low if self.low is None else min(self.low, low)
            self.high = high if self.high is None else max(self.high, high)

    def is_one_string(self) -> bool:
        """Return True if every record so far has one bytes value."""
        return bool(self.kinds == ["bytes_list"] and self.fewest == self.most == 1)

    def add_shape(self, shape: Shape, sizes: NDArray[np.int64]) -> None:
        """Compare the shapes in another feature with the `sizes` of this feature's values."""
        products = shape.shapes.astype(np.float64).prod(axis=1)
        sound = (shape.shapes > 0).all() and (sizes % np.maximum(products, 1) == 0).all()
        ratios = set((sizes / products).tolist()) if sound else set()
        # If the rank changes between records, no rank applies to all of them.
        rank = shape.shapes.shape[1]
        seen = self._shapes.setdefault((shape.names, rank), [shape.dtype, 0, set(), set()])
        seen[1] += len(sizes)
        seen[2] |= ratios or {0.0}
        seen[3].update(map(tuple, shape.shapes.tolist()) if len(seen[3]) < 2 else ())

    def shape(self, total: int) -> Found | None:
        """Return a specification for reading arrays if it is valid for every record."""
        for (names, _), (dtype, records, ratios, shapes) in self._shapes.items():
            if records != total or len(ratios) != 1 or not self.is_one_string():
                continue
            item_size = next(iter(ratios))
            if item_size in (1, 2, 4, 8):
                constant = next(iter(shapes)) if len(shapes) == 1 else None
                return Found(names, dtype, int(item_size), constant)
        return None


def source_names(key: str) -> Iterator[str]:
    """Yield the names of the features that :func:`shape_sources` examines for a feature."""
    yield from _names_of_shape(key)
    for prefix in _prefixes(key):
        yield from (f"{prefix}{side}" for side in ("height", "width", "channels", "depth"))


def _names_of_shape(key: str) -> list[str]:
    stem = key.rsplit("/", 1)[0]
    names = dict.fromkeys((f"{key}/shape", f"{key}_shape", "shape", f"{stem}/shape"))
    return [name for name in names if name != key]


def _prefixes(key: str) -> list[str]:
    stem = key.rsplit("/", 1)[0]
    return list(dict.fromkeys((f"{key}/", f"{key}_", f"{stem}/", f"{stem}_", "")))


def shape_sources(key: str, columns: Mapping[str, Ragged]) -> Iterator[Shape]:
    """Yield the columns that may hold the shape of the arrays in a feature."""
    for name in _names_of_shape(key):
        shape = _whole_shape(name, columns.get(name))
        if shape is not None:
            yield shape
    for prefix in _prefixes(key):
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
    """Return the integers of a column if every record has exactly one."""
    if column is None or isinstance(column.values, Bytes) or column.values.dtype != np.int64:
        return None
    return column.values if (column.row_lengths == 1).all() else None


class Features(dict[str, Feature]):
    """Features by name, with statistics; printing shows a table.

    Attributes
    ----------
    stats : dict of str to FeatureStats
    records : int
        Number of records in the survey.
    of_lists : bool
        Whether these are feature lists of SequenceExamples.
    skipped : list of Skipped
        Damaged regions, and records that are not Examples, that were left out of the survey.
    """

    def __init__(
        self,
        features: Mapping[str, Feature],
        stats: Mapping[str, FeatureStats],
        records: int,
        of_lists: bool = False,
        skipped: Sequence[Skipped] = (),
    ) -> None:
        super().__init__(features)
        self.stats: Final = dict(stats)
        self.records: int = records
        self.of_lists: bool = of_lists
        self.skipped: Final = list(skipped)

    def __reduce__(self) -> Any:
        return type(self), (dict(self), self.stats, self.records, self.of_lists, self.skipped)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of the printed table, beginning with its headers."""
        headers = ("name", "kind", "values", "present", "range", "read as")
        return [headers, *(self._row(name) for name in self)]

    def __str__(self) -> str:
        return table_text(self.rows())

    def _row(self, name: str) -> tuple[str, ...]:
        seen, feature = self.stats.get(name), self[name]
        shown = ascii(name)[1:-1]
        if seen is None:  # the feature was added later
            return shown, "", "", "", "", _spell(feature)
        fewest = 0 if seen.fewest > seen.most or seen.named < self.records else seen.fewest
        values = _extent(fewest, seen.most)
        present = seen.present
        if self.of_lists:
            inner = _extent(min(seen.fewest, seen.most), seen.most)
            values = f"{_extent(*seen.frames)} frames of {inner}"
            present = seen.named
        kind = seen.kinds[0] if seen.kinds else "none"
        share = f"{100 * present / self.records:.3g} %"
        return shown, kind, values, share, self._range(seen), _spell(feature)

    def _range(self, seen: FeatureStats) -> str:
        if seen.low is None or seen.high is None:
            return unusual(seen.nan, seen.infinite)
        text = f"{seen.low:.6g}" if isinstance(seen.low, float) else str(seen.low)
        if seen.high != seen.low:
            text += f" to {seen.high:.6g}" if isinstance(seen.high, float) else f" to {seen.high}"
        if seen.kinds == ["bytes_list"]:
            text += " bytes" + (f", {seen.format}" if seen.format else "")
            found = seen.shape(self.records)
            if found is not None and found.item_size > 1:
                text += f", raw array of {found.item_size} bytes an element?"
        more = unusual(seen.nan, seen.infinite)
        return f"{text}, {more}" if more else text


class InferredSequence(SequenceFeatures):
    """Features of SequenceExamples, with statistics; printing shows a table.

    Reading works as for a mapping from the names of the context and the feature lists.

    Attributes
    ----------
    context, sequence : Features
        The features of the context, and the feature lists.
    records : int
        Number of records in the survey.
    skipped : list of Skipped
        As for :class:`Features`.
    """

    context: Features
    sequence: Features

    @property
    def skipped(self) -> list[Skipped]:
        return self.context.skipped

    @property
    def records(self) -> int:
        return self.context.records

    def keys(self) -> list[str]:
        """Return the names of the context, then the names of the feature lists."""
        return [*self.context, *self.sequence]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __contains__(self, name: object) -> bool:
        return name in self.context or name in self.sequence

    def __getitem__(self, name: str) -> Feature:
        return self.sequence[name] if name in self.sequence else self.context[name]

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of the printed table, beginning with its headers."""
        return [*self.context.rows(), *self.sequence.rows()[1:]]

    def __str__(self) -> str:
        return table_text(self.rows())


def _extent(low: int, high: int) -> str:
    return str(high) if low == high else f"{low} to {high}"


def unusual(nan: int, infinite: int) -> str:
    """Return the counts of nonfinite values as text, such as ``1 NaN, 2 inf``."""
    counts = ((nan, "NaN"), (infinite, "inf"))
    return ", ".join(f"{count:,} {name}" for count, name in counts if count)


def table_text(rows: list[tuple[str, ...]]) -> str:
    """Align the cells of a table; its first row contains the headers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = ("<", "<", ">", ">", "<", "<")
    return "\n".join(
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(row, aligned, widths, strict=True)
        ).rstrip()
        for row in rows
    )


def _spell(feature: Any) -> str:
    """Return a feature as one line, without default arguments."""
    dtype = "bytes" if feature.dtype is bytes else np.dtype(feature.dtype).name
    if isinstance(feature, FixedLenFeature):
        return f"FixedLenFeature({feature.shape}, {dtype})"
    if isinstance(feature, RawFeature):
        extra = (
            "" if feature.shape_dtype is None else f", shape_dtype={feature.shape_dtype.__name__}"
        )
        if feature.encoding is not None:
            extra += f', encoding="{feature.encoding}"'
        return f"RawFeature({feature.shape!r}, {dtype}{extra})"
    return f"{type(feature).__name__}({dtype})"
