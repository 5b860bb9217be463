# SPDX-License-Identifier: Apache-2.0
"""Compute statistics of every feature of whole files, in one pass with bounded memory.

Each block of records has separate statistics, which are merged in order, so that the result does
not depend on the number of threads. Counts, ranges, means and deviations are exact. Quantiles are
those of a uniform sample of 16,384 values, and exact for fewer values. The number of distinct
values is exact up to 2,048, and otherwise an estimate within a few percent.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fastrec import _core
from fastrec.cli.rows import pieces, sequence_mask
from fastrec.cli.typed import Types
from fastrec.columns import Bytes, Ragged
from fastrec.parsing.infer import kinds_of
from fastrec.records.content import image_format, image_size

__all__ = ["FeatureSummary", "Numbers", "Summary", "histogram", "summarize"]

KINDS = ("bytes", "float", "int64")
_SAMPLE = 1 << 14  # values of the sample for quantiles and histograms
_DISTINCT = 2048  # distinct values that are counted exactly; more are estimated
_TOP = 4096  # values whose counts are kept; the rarer half is dropped beyond it
_RARE = 1000  # a list is dropped if its most common value is rarer than 1 in 1000
_TEXT = 256  # bytes of the longest string that is counted as a common value
_FEATURES = 4096  # features with statistics, which bounds memory for hostile names

U64 = NDArray[np.uint64]


class Sample:
    """A uniform sample of values: those with the smallest random priorities."""

    def __init__(self, values: NDArray[Any], draw: np.random.Generator) -> None:
        count = len(values)
        if count <= _SAMPLE:
            self.values: NDArray[Any] = values.copy()
            self.priorities: NDArray[np.float64] = draw.random(count)
            return
        # These are the smallest of `count` uniform numbers, without drawing the others.
        steps = draw.exponential(size=_SAMPLE).cumsum()
        self.priorities = steps / (steps[-1] + draw.gamma(count + 1 - _SAMPLE))
        self.values = values[draw.choice(count, _SAMPLE, replace=count > 4 * _SAMPLE)]

    def merge(self, other: Sample) -> None:
        """Add another sample; the result is a uniform sample of the values of both."""
        values = np.concatenate([self.values, other.values])
        priorities = np.concatenate([self.priorities, other.priorities])
        if len(values) > _SAMPLE:
            kept = np.argpartition(priorities, _SAMPLE)[:_SAMPLE]
            values, priorities = values[kept], priorities[kept]
        self.values, self.priorities = values, priorities


class Numbers:
    """Statistics of numbers.

    Attributes
    ----------
    count, zeros, nan, infinite : int
        Numbers of all values, of zeros, of NaN, and of infinities.
    low, high : number or None
        Smallest and largest finite value.
    mean, deviation : float
        Mean and standard deviation of the finite values.
    sample : Sample
        A sample of the finite values.
    """

    def __init__(self, values: NDArray[Any], draw: np.random.Generator) -> None:
        self.count: int = len(values)
        self.infinite: int = 0
        self.nan: int = 0
        if values.dtype.kind == "f":
            self.nan = int(np.isnan(values).sum())
            finite = values[np.isfinite(values)]
            self.infinite = self.count - self.nan - len(finite)
            values = finite
        self.zeros: int = self.count - self.nan - self.infinite - int(np.count_nonzero(values))
        self.low: Any = values.min().item() if len(values) else None
        self.high: Any = values.max().item() if len(values) else None
        self.mean: float = float(values.mean(dtype=np.float64)) if len(values) else 0.0
        self._squares = float(((values.astype(np.float64) - self.mean) ** 2).sum())
        self.sample: Final = Sample(values, draw)

    @property
    def finite(self) -> int:
        return self.count - self.nan - self.infinite

    @property
    def deviation(self) -> float:
        return math.sqrt(self._squares / self.finite) if self.finite else 0.0

    def merge(self, other: Numbers) -> None:
        """Add the statistics of other values."""
        ours, theirs = self.finite, other.finite
        if theirs:
            step = other.mean - self.mean
            self._squares += other._squares + step * step * ours * theirs / (ours + theirs)
            self.mean += step * theirs / (ours + theirs)
            self.low = other.low if self.low is None else min(self.low, other.low)
            self.high = other.high if self.high is None else max(self.high, other.high)
        for name in ("count", "zeros", "nan", "infinite"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.sample.merge(other.sample)

    def quantiles(self, points: Iterable[float]) -> list[float]:
        """Return quantiles at the given fractions; empty if there are no values."""
        values = self.sample.values
        if not len(values):
            return []
        return [float(each) for each in np.quantile(values.astype(np.float64), list(points))]


class Distinct:
    """The smallest hashes of values, from which the number of distinct values is estimated."""

    def __init__(self, hashes: U64) -> None:
        self.smallest: NDArray[np.uint64] = np.unique(hashes)[: _DISTINCT + 1]

    def merge(self, other: Distinct) -> None:
        """Add the hashes of other values."""
        self.smallest = np.union1d(self.smallest, other.smallest)[: _DISTINCT + 1]

    @property
    def exact(self) -> bool:
        return len(self.smallest) <= _DISTINCT

    @property
    def count(self) -> int:
        if self.exact:
            return len(self.smallest)
        return round((_DISTINCT - 1) / (float(self.smallest[_DISTINCT - 1]) / 2.0**64))


class Top:
    """The most common values; counts are exact unless there are very many distinct values."""

    def __init__(self, counts: Counter[Any]) -> None:
        self.counts: Counter[Any] | None = counts
        self.exact: bool = True

    def merge(self, other: Top, total: int) -> None:
        """Add the counts of other values; `total` is the number of values of both."""
        if self.counts is None or other.counts is None:
            self.counts = None
            return
        self.counts.update(other.counts)
        self.exact &= other.exact
        if len(self.counts) > _TOP:
            kept = self.counts.most_common(_TOP // 2)
            self.exact = False
            # If even the most common value is rare, the list is empty.
            self.counts = None if kept[0][1] * _RARE < total else Counter(dict(kept))


class FeatureSummary:
    """Statistics of one feature of one kind.

    Attributes
    ----------
    kind : {"bytes", "float", "int64", "none"}
        ``"none"`` for a feature without values.
    of_frames : bool
        Whether this is a feature list; its lengths are numbers of frames.
    records : int
        Number of records with the feature.
    lengths : Numbers
        Numbers of values, over the records that have some.
    values : Numbers
        The values; for bytes, their sizes.
    distinct, top
        Distinct and most common values.
    formats : Counter
        Number of images of each format.
    widths, heights : Numbers or None
        Sizes of images whose header contains them.
    connector : Connector or None
        The feature connector of TFDS.
    """

    def __init__(
        self,
        kind: str,
        records: int,
        column: Ragged,
        draw: np.random.Generator,
        top: bool,
        connector: Any = None,
    ) -> None:
        self.kind: str = kind
        self.records: int = records
        self.connector: Final = connector
        self.of_frames: bool = isinstance(column.values, Ragged)
        lengths = column.row_lengths
        values: Any = column.flat_values
        self.lengths: Final = Numbers(lengths[lengths > 0], draw)
        self.formats: Counter[str] = Counter()
        self.widths: Numbers | None = None
        self.heights: Numbers | None = None
        if isinstance(values, Bytes):
            self._bytes(values, draw, top)
            return
        if connector is not None and connector.dtype == np.uint64 and kind == "int64":
            values = values.view(np.uint64)
        self.values: Numbers = Numbers(values, draw)
        unsigned = values.view(np.uint32 if values.dtype.itemsize == 4 else np.uint64)
        self.distinct: Distinct = Distinct(_mixed(unsigned.astype(np.uint64)))
        self.top: Top = Top(Counter())
        if top:
            numbers = values[values == values]  # leaves out NaN, because NaN != NaN
            different, counts = np.unique(numbers, return_counts=True)
            self.top = Top(Counter(dict(zip(different.tolist(), counts.tolist(), strict=True))))
        else:
            self.top.counts = None

    def _bytes(self, values: Bytes, draw: np.random.Generator, top: bool) -> None:
        sizes = np.diff(values.offsets)
        self.values = Numbers(sizes, draw)
        items = list(values)
        hashes = np.fromiter(map(_core.crc32c, items), np.uint64, len(items))
        self.distinct = Distinct(_mixed(hashes ^ (sizes.astype(np.uint64) << np.uint64(32))))
        self.top = Top(Counter(item for item in items if len(item) <= _TEXT))
        if not top or (len(sizes) and int(sizes.min()) > _TEXT):
            self.top.counts = None
        extents = []
        for item in items:
            kind = image_format(item)
            extent = image_size(item) if kind else None
            if kind and (extent or kind in ("JPEG", "PNG", "GIF")):
                self.formats[kind] += 1
                extents += [extent] if extent else []
        if extents:
            widths, heights = np.array(extents, np.int64).T
            self.widths, self.heights = Numbers(widths, draw), Numbers(heights, draw)

    def merge(self, other: FeatureSummary) -> None:
        """Add the statistics of the same feature in other records."""
        self.records += other.records
        self.lengths.merge(other.lengths)
        self.values.merge(other.values)
        self.distinct.merge(other.distinct)
        self.top.merge(other.top, self.values.count)
        self.formats.update(other.formats)
        for name in ("widths", "heights"):
            ours, theirs = getattr(self, name), getattr(other, name)
            if ours is not None and theirs is not None:
                ours.merge(theirs)
            elif ours is None:
                setattr(self, name, theirs)


class Summary:
    """Statistics of records.

    Attributes
    ----------
    records, bytes : int
        Number and size of the records.
    others : int
        Number of records that are not Examples.
    sequences : int
        Number of records with feature lists.
    features : dict
        Statistics by name and kind, for at most 4,096 features.
    left_out : bool
        Whether there are more features.
    """

    def __init__(self) -> None:
        self.records = self.bytes = self.others = self.sequences = 0
        self.sizes: Numbers | None = None
        self.left_out: bool = False
        self.features: dict[tuple[str, str], FeatureSummary] = {}

    def rare(self) -> frozenset[tuple[str, str]]:
        """The features whose values are too diverse for a list of common ones."""
        return frozenset(key for key, each in self.features.items() if each.top.counts is None)

    def merge(self, other: Summary) -> None:
        """Add the statistics of other records."""
        for name in ("records", "bytes", "others", "sequences"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if self.sizes is None or other.sizes is None:
            self.sizes = self.sizes or other.sizes
        else:
            self.sizes.merge(other.sizes)
        self.left_out |= other.left_out
        for key, feature in other.features.items():
            self.add(key, feature)

    def add(self, key: tuple[str, str], feature: FeatureSummary) -> None:
        """Add statistics of more values of a feature."""
        if key in self.features:
            self.features[key].merge(feature)
        elif len(self.features) < _FEATURES:
            self.features[key] = feature
        else:
            self.left_out = True


def summarize(
    records: Bytes, seed: int, rare: frozenset[tuple[str, str]] = frozenset(),
    names: tuple[str, ...] | None = None, types: Types = MappingProxyType({}),
) -> Summary:  # fmt: skip
    """Return statistics of one block of records; `seed` determines its samples."""
    draw = np.random.default_rng(seed)
    found = Summary()
    found.records, found.bytes = len(records), records.nbytes
    found.sizes = Numbers(np.diff(records.offsets), draw)
    for piece in pieces(records, names):
        if piece.columns is None:
            found.others += 1
            continue
        found.sequences += int(sequence_mask(piece.records).sum())
        present = kinds_of(piece.records)
        for name, column in piece.columns.items():
            frames = isinstance(column.values, Ragged)
            key = name, _kind_of(column, (0,) * 4 if frames else present[name])
            if key not in found.features and len(found.features) >= _FEATURES:
                found.left_out = True
                continue
            records_of = (
                int(np.count_nonzero(column.row_lengths)) if frames else sum(present[name][1:])
            )
            top, connector = key not in rare, types.get(name)
            found.add(key, FeatureSummary(key[1], records_of, column, draw, top, connector))
    return found


def _kind_of(column: Ragged, present: tuple[int, ...]) -> str:
    """Return the kind of a column's values, or ``"none"`` without values."""
    values: Any = column.flat_values
    if not isinstance(column.values, Ragged) and not any(present[1:]):
        return "none"
    return "bytes" if isinstance(values, Bytes) else KINDS[1 + (values.dtype.kind != "f")]


def histogram(numbers: Numbers, bins: int) -> tuple[list[int], list[float]]:
    """Return counts and edges, computed from the values or scaled from their sample."""
    values = numbers.sample.values.astype(np.float64)
    if not len(values):
        return [], []
    low, high = values.min(), values.max()
    # The values are too close for this number of bins.
    if not (np.diff(np.linspace(low, high, bins + 1)) > 0).all():
        return [len(values)], [float(low), float(high)]
    counts, edges = np.histogram(values, bins)
    return counts.tolist(), edges.tolist()


def _mixed(values: U64) -> U64:
    """Hash numbers, as splitmix64 does."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)), np.uint64)
