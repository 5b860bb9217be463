# SPDX-License-Identifier: Apache-2.0
"""Splits, and the syntax that selects a part of them: ``train[:90%]+validation``.

Boundaries equal those of TFDS: percentages are rounded to the nearest record, half to even.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..arguments import check_fields, check_int, check_types

__all__ = [
    "Part",
    "ReadInstruction",
    "Span",
    "SplitInfo",
    "Splits",
    "even_splits",
    "split_for_jax_process",
]


@dataclass(frozen=True)
class Span:
    """A range of consecutive records of one file.

    Attributes
    ----------
    path : str
        The file.
    skip : int
        Number of records before the range.
    take : int
        Number of records in the range.
    length : int
        Number of records in the file.
    """

    path: str
    skip: int
    take: int
    length: int

    @property
    def is_whole(self) -> bool:
        """Whether the range covers the whole file."""
        return self.take == self.length


@dataclass(frozen=True)
class SplitInfo:
    """The files of a split, and their record counts.

    Attributes
    ----------
    name : str
    paths : tuple of str
        The files.
    shard_lengths : tuple of int
        Number of records in each file.
    num_bytes : int
        Size of all records in bytes; 0 if unknown.
    """

    name: str
    paths: tuple[str, ...]
    shard_lengths: tuple[int, ...]
    num_bytes: int = 0

    @property
    def num_examples(self) -> int:
        """Number of records."""
        return sum(self.shard_lengths)

    @property
    def num_shards(self) -> int:
        """Number of files."""
        return len(self.shard_lengths)

    def _spans(self, start: int, stop: int) -> Iterator[Span]:
        """Yield the ranges of files that hold the records from `start` to `stop`."""
        first = 0
        for path, length in zip(self.paths, self.shard_lengths, strict=True):
            begin, end = max(start - first, 0), min(stop - first, length)
            if begin < end:
                yield Span(path, begin, end - begin, length)
            first += length


class Part:
    """A selection of records of one or more splits; ``+`` joins two selections."""

    def _resolve(self, splits: Mapping[str, SplitInfo]) -> list[tuple[str, int, int]]:
        """Return the name, start and stop of each selected range of records.

        Raises
        ------
        ValueError
            If the split does not exist, or does not contain these records.
        """
        raise NotImplementedError

    def __add__(self, other: Part | str) -> Part:
        return _Sum((self, as_part(other)))

    def __radd__(self, other: str) -> Part:
        return _Sum((as_part(other), self))


@dataclass(frozen=True)
class _Sum(Part):
    parts: tuple[Part, ...]

    def _resolve(self, splits: Mapping[str, SplitInfo]) -> list[tuple[str, int, int]]:
        return [each for part in self.parts for each in part._resolve(splits)]


@dataclass(frozen=True)
class _All(Part):
    def _resolve(self, splits: Mapping[str, SplitInfo]) -> list[tuple[str, int, int]]:
        return [(name, 0, split.num_examples) for name, split in splits.items()]


@dataclass(frozen=True)
class ReadInstruction(Part):
    """A selection of records of one split.

    Parameters
    ----------
    split_name : str
    from_, to : int or float, optional
        Boundaries; negative values count from the end.
    unit : {"abs", "%", "shard"}
        The unit of boundaries: records, percent, or files.
    rounding : {"closest", "pct1_dropremainder"}
        How percentages become records: rounded to the nearest record, or such that each percent
        has the same number of records, with the remainder at the end left out.

    Examples
    --------
    >>> splits = Splits([SplitInfo("train", ("a", "b"), (60, 45))])
    >>> splits.resolve(ReadInstruction("train", to=10, unit="%"))
    [('train', 0, 10)]
    >>> splits.resolve("train[-10%:]+train[1shard]")
    [('train', 95, 105), ('train', 60, 105)]
    """

    split_name: str
    from_: float | None = None
    to: float | None = None
    unit: Literal["abs", "%", "shard"] = "abs"
    rounding: Literal["closest", "pct1_dropremainder"] = "closest"

    def __post_init__(self) -> None:
        check_fields(self)
        for bound in (self.from_, self.to):
            if bound is not None and self.unit == "%" and not abs(bound) <= 100:
                raise ValueError(f"per cent must be from -100 to 100, got {bound}")

    def _resolve(self, splits: Mapping[str, SplitInfo]) -> list[tuple[str, int, int]]:
        if self.split_name not in splits:
            raise ValueError(f"split must be one of {list(splits)}, got {self.split_name!a}")
        split = splits[self.split_name]
        count = split.num_examples
        start = 0 if self.from_ is None else self._first(self.from_, split)
        stop = count if self.to is None else self._last(self.to, split)
        if abs(start) > count or abs(stop) > count:
            raise ValueError(
                f"split {self.split_name!r} has {count} records, "
                f"and records from {start} to {stop} are asked for"
            )
        start += count if start < 0 else 0
        stop += count if stop < 0 else 0
        if start > stop:
            raise ValueError(f"split {self.split_name!r}: record {start} is behind record {stop}")
        return [(self.split_name, start, stop)]

    def _first(self, bound: float, split: SplitInfo) -> int:
        if self.unit == "shard":
            return sum(split.shard_lengths[: int(bound)])
        return self._records(bound, split.num_examples)

    def _last(self, bound: float, split: SplitInfo) -> int:
        if self.unit == "shard":
            # An upper boundary of 0 means the end, so "[-1shard]" selects the last file.
            files = int(bound) + split.num_shards if bound <= 0 else int(bound)
            return sum(split.shard_lengths[:files])
        return self._records(bound, split.num_examples)

    def _records(self, bound: float, count: int) -> int:
        if self.unit == "abs":
            return int(bound)
        if self.rounding == "closest":
            return round(bound * count / 100.0)
        if count < 100:
            raise ValueError(f"pct1_dropremainder requires at least 100 records, got {count}")
        return int(bound * math.trunc(count / 100.0))


@dataclass(frozen=True)
class _Even(Part):
    part: Part
    index: int
    count: int
    drop_remainder: bool

    def _resolve(self, splits: Mapping[str, SplitInfo]) -> list[tuple[str, int, int]]:
        found = []
        for name, start, stop in self.part._resolve(splits):
            each, left = divmod(stop - start, self.count)
            left = 0 if self.drop_remainder else left
            first, last = (
                start + each * index + min(index, left) for index in (self.index, self.index + 1)
            )
            found.append((name, first, last))
        return found


def even_splits(split: Part | str, n: int, *, drop_remainder: bool = False) -> list[Part]:
    """Divide a split into `n` parts whose sizes differ by at most one record.

    Parameters
    ----------
    split : str or Part
    n : int
        Number of parts.
    drop_remainder : bool
        Whether to leave out records so that all parts have the same size.

    Examples
    --------
    >>> splits = Splits([SplitInfo("train", ("a",), (11,))])
    >>> [splits.resolve(part) for part in even_splits("train", 3)]
    [[('train', 0, 4)], [('train', 4, 8)], [('train', 8, 11)]]
    """
    check_types(even_splits, locals())
    check_int("n", n, 1, 2**20)
    part = as_part(split)
    return [_Even(part, index, n, drop_remainder) for index in range(n)]


def split_for_jax_process(
    split: Part | str,
    *,
    process_index: int | None = None,
    process_count: int | None = None,
    drop_remainder: bool = False,
) -> Part:
    """Return this JAX process's part of :func:`even_splits` over all processes.

    Examples
    --------
    >>> splits = Splits([SplitInfo("train", ("a",), (10,))])
    >>> splits.resolve(split_for_jax_process("train", process_index=1, process_count=2))
    [('train', 5, 10)]
    """
    check_types(split_for_jax_process, locals())
    if process_index is None or process_count is None:
        jax: Any = sys.modules.get("jax")
        if jax is None:
            raise ValueError("process_index and process_count are required where jax is not loaded")
        process_index = jax.process_index() if process_index is None else process_index
        process_count = jax.process_count() if process_count is None else process_count
    check_int("process_count", process_count, 1, 2**20)
    check_int("process_index", process_index, 0, process_count - 1)
    return even_splits(split, process_count, drop_remainder=drop_remainder)[process_index]


def as_part(split: Part | str) -> Part:
    """Parse the syntax of a part; return a Part unchanged.

    Raises
    ------
    ValueError
        If the syntax is invalid.
    """
    if isinstance(split, Part):
        return split
    parts = [_parsed(text) for text in re.split(r"\s*\+\s*", str(split))]
    return parts[0] if len(parts) == 1 else _Sum(tuple(parts))


def _parsed(text: str) -> Part:
    found = re.fullmatch(r"([\w-]+)(?:\[([^\[\]]+)\])?\n?", text)
    if found is None:
        raise _refuse(text)
    name, selector = found.groups()
    if name == "all":
        if selector is not None:
            raise ValueError("split 'all' cannot be sliced: name the splits")
        return _All()
    if selector is None:
        return ReadInstruction(name)
    bounds = [_bound(each, text) for each in selector.split(":")]
    if len(bounds) == 1:
        value, unit = bounds[0]
        if unit != "shard" or value is None:
            raise ValueError(f"split {text!r}: only a shard is named by its number alone")
        return ReadInstruction(name, int(value), int(value) + 1, "shard")
    if len(bounds) != 2 or all(value is None for value, _ in bounds):
        raise _refuse(text)
    # As in TFDS, both boundaries have the same unit, and the first unit applies if they differ.
    counts: Any = bounds[0][1] or bounds[1][1] or "abs"
    try:
        start, stop = (
            None if value is None else float(value) if counts == "%" else int(value)
            for value, _ in bounds
        )
    except ValueError:
        raise _refuse(text) from None
    return ReadInstruction(name, start, stop, counts)


def _bound(text: str, whole: str) -> tuple[str | None, str]:
    found = re.fullmatch(r"(?:(-?[\d_.]+)(%|shard)?)?", text)
    if found is None:
        raise _refuse(whole)
    return found[1], found[2] or ""


def _refuse(text: str) -> ValueError:
    return ValueError(
        f"a split must be as 'train[10%:]', 'train[:100]' or 'train[0shard]', got {text!a}"
    )


class Splits(Mapping[str, SplitInfo]):
    """The splits of a dataset, by name or by syntax.

    Examples
    --------
    >>> splits = Splits([SplitInfo("train", ("a", "b"), (60, 40)), SplitInfo("test", ("c",), (7,))])
    >>> list(splits), splits["train"].num_examples, splits["train[:5%]+test"].num_examples
    (['train', 'test'], 100, 12)
    """

    def __init__(self, splits: Sequence[SplitInfo]) -> None:
        self._splits = {split.name: split for split in splits}

    def __getitem__(self, name: str) -> SplitInfo:
        if name in self._splits:
            return self._splits[name]
        spans = self.spans(name)
        return SplitInfo(
            str(name), tuple(span.path for span in spans), tuple(span.take for span in spans)
        )

    def __contains__(self, name: object) -> bool:
        return name in self._splits

    def __iter__(self) -> Iterator[str]:
        return iter(self._splits)

    def __len__(self) -> int:
        return len(self._splits)

    def resolve(self, split: Part | str) -> list[tuple[str, int, int]]:
        """Return the splits and records that `split` selects.

        Each item is the name of a split, its first record, and the end of the range.

        Raises
        ------
        ValueError
            If the split does not exist, or does not contain these records.
        """
        check_types(Splits.resolve, locals())
        return as_part(split)._resolve(self._splits)

    def spans(self, split: Part | str) -> list[Span]:
        """Return the ranges of files that hold the records of `split`."""
        check_types(Splits.spans, locals())
        return [
            span
            for name, start, stop in self.resolve(split)
            for span in self._splits[name]._spans(start, stop)
        ]

    def __repr__(self) -> str:
        return f"Splits({ {name: split.num_examples for name, split in self.items()} })"
