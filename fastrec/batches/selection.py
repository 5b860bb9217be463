# SPDX-License-Identifier: Apache-2.0
"""Subsets, weights and orders of records, planned from the columns of an index.

A :class:`Selection` contains the options of a Batcher. :meth:`Selection.resolve` converts them and
the columns that they name to record numbers and a table of weights.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, Union

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arguments import check_fields, check_int, is_number, shown
from ..columns import Bytes
from ..errors import FastrecError
from ..parsing.column_builder import Column
from ..parsing.conditions import Name
from ..parsing.dataset_columns import ColumnTerms
from ..parsing.index_columns import names_of
from ..parsing.where import Where, parse
from ..records.paths import PathLike

__all__ = ["Selected", "Selection", "Split", "Weights"]

Numbers = NDArray[np.uint64]
Weights = Union[str, tuple[str, Mapping[Any, float]], NDArray[Any]]  # noqa: UP007
"""A column, a column with the weight of each of its values, or one weight per record."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Split:
    """One of several disjoint parts of the records, chosen by a hash: the `split` of a Batcher.

    A record's part depends only on the name of its file and its number in the file, or on the value
    of a column. The parts therefore stay the same if files are added, in every order, and on every
    machine, and files need not be rewritten.

    Parameters
    ----------
    part : str or int
        The part to read: a name in `parts`, or the number of a fold, from 0.
    parts : mapping of str to float, or int
        Share of each part, with a sum of 1; or the number of equal folds.
    by : str, optional
        A column, such as a patient or a document: records with the same value are in the same part.
    complement : bool
        Whether to read the records of all other parts instead, as in cross-validation training.
    seed : int
        Seed of the hash; another seed gives other parts.

    Examples
    --------
    >>> Split("train", {"train": 0.9, "val": 0.1})
    Split(part='train', parts={'train': 0.9, 'val': 0.1}, by=None, complement=False, seed=0)
    >>> Split(3, 5, by="patient", complement=True)
    Split(part=3, parts=5, by='patient', complement=True, seed=0)
    """

    part: str | int
    parts: Mapping[str, float] | int
    by: str | None = None
    complement: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        if isinstance(self.parts, Mapping):
            shares = list(self.parts.values())
            if not shares or not all(is_number(s) and s > 0 for s in shares):
                raise ValueError(f"parts must have shares above 0, got {dict(self.parts)!r}")
            if abs(sum(shares) - 1) > 1e-6:
                raise ValueError(f"the shares of parts must add up to 1, got {sum(shares)!r}")
            if self.part not in self.parts:
                raise ValueError(f"part must be one of {list(self.parts)!r}, got {self.part!r}")
        else:
            check_int("parts", self.parts, 2, 2**20)
            object.__setattr__(self, "part", check_int("part", self.part, 0, self.parts - 1))
        object.__setattr__(self, "seed", check_int("seed", self.seed, 0, 2**64 - 1))

    @classmethod
    def _of(cls, split: Any) -> Split | None:
        """Convert a Split, a tuple of its arguments, or None to a Split or None."""
        if split is None or isinstance(split, Split):
            return split
        if isinstance(split, (tuple, list)) and len(split) == 2:
            return cls(*split)
        raise TypeError(f"split must be a Split or (part, parts), got {shown(split)}")

    def _mask(self, hashes: Numbers) -> NDArray[np.bool_]:
        """Return a mask of the records in the part, given the hash of each record."""
        low, high = self._bounds()
        inside = (hashes >= low) & (hashes <= high)
        return ~inside if self.complement else inside

    def _bounds(self) -> tuple[np.uint64, np.uint64]:
        """Return the smallest and the largest hash of the part."""
        if isinstance(self.parts, Mapping):
            names, shares = list(self.parts), list(self.parts.values())
            number = names.index(self.part)  # type: ignore[arg-type]
        else:
            number, shares = int(self.part), [1 / self.parts] * self.parts
        begin, end = sum(shares[:number]) / sum(shares), sum(shares[: number + 1]) / sum(shares)
        last = number == len(shares) - 1
        high = 2**64 - 1 if last else min(int(end * 2**64), 2**64) - 1
        return np.uint64(int(begin * 2**64)), np.uint64(high)

    def describe(self) -> list[Any]:
        """Return the split in JSON types."""
        parts: Any = self.parts
        if isinstance(parts, Mapping):
            parts = [list(item) for item in parts.items()]
        return [self.part, parts, self.by, self.complement, self.seed]


class Selected(NamedTuple):
    """The records that a selection contains."""

    numbers: Numbers | None
    """Numbers of the records in the order in which they are read; None for all, in file order."""
    counts: list[int]
    """Records of each file; of one group if an order mixes the files."""
    draws: _core.Draws | None
    """Weights of the records; None if each comes once."""
    subset: _core.Subset | None


@dataclass(frozen=True)
class Selection:
    """Options that select records by the columns of an index.

    Attributes
    ----------
    where : str or None
        A condition, in the language of ``fastrec cat --where``.
    weights : Weights or None
        Weights for drawing records with replacement, each in proportion to its weight.
    balance : str, (str, mapping) or None
        A column: records are drawn so that each value is equally frequent, or has its given share.
    order : str or None
        A column: records are read from its lowest to its highest value, or in reverse with ``-``.
    split : Split or None
    """

    where: str | None = None
    weights: Weights | None = None
    balance: str | tuple[str, Mapping[Any, float]] | None = None
    order: str | None = None
    split: Split | None = None

    def __post_init__(self) -> None:
        check_fields(self, skip=("weights", "balance"))
        object.__setattr__(self, "split", Split._of(self.split))
        if self.weights is not None and self.balance is not None:
            raise ValueError("weights and balance are mutually exclusive")
        if self.order is not None and self.is_weighted:
            raise ValueError("order, and weights or balance, are mutually exclusive")
        for name in ("weights", "balance"):
            self._check_weights(name, getattr(self, name))
        self.names  # noqa: B018 - refuses those that cannot be parsed

    def _check_weights(self, name: str, option: Any) -> None:
        """Raise unless an option is a column, a column with a mapping, or for weights an array."""
        if option is None or isinstance(option, str):
            return
        if isinstance(option, tuple) and len(option) == 2:
            column, table = option
            if isinstance(column, str) and isinstance(table, Mapping):
                return
        elif name == "weights" and not isinstance(option, (tuple, Mapping)):
            try:
                array = np.asarray(option, np.float64)
            except (TypeError, ValueError):
                array = np.zeros(())
            if array.ndim == 1:
                object.__setattr__(self, name, array)
                return
        raise TypeError(
            f"{name} must be a column, (column, mapping of its values)"
            f"{' or a vector of numbers' if name == 'weights' else ''}, got {option!r}"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Exclude the parsed condition, which cannot be pickled and is parsed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __bool__(self) -> bool:
        values = (self.where, self.weights, self.balance, self.order, self.split)
        return any(value is not None for value in values)

    @property
    def is_weighted(self) -> bool:
        """Whether records are drawn with replacement."""
        return self.weights is not None or self.balance is not None

    @property
    def option(self) -> str:
        """The first option that needs a column, for messages."""
        for name in ("where", "weights", "balance", "order"):
            if getattr(self, name) is not None:
                return f"{name}="
        return "split="

    @cached_property
    def _where(self) -> Where | None:
        return None if self.where is None else parse(self.where)

    @cached_property
    def names(self) -> list[Name]:
        """The columns that are needed."""
        names = []
        order = None if self.order is None else self.order.lstrip("-")
        by = None if self.split is None else self.split.by
        option = "where"  # option named in the message
        try:
            if self._where is not None:
                for name, measure in self._where.terms:
                    names.append(Name(name, measure if measure in ("len", "size") else ""))
            options = {"weights": self.weights, "balance": self.balance, "order": order, "by": by}
            for option, value in options.items():  # noqa: B007 - the message names it
                column = value[0] if isinstance(value, tuple) else value
                if isinstance(column, str):
                    names.append(_one_name(column))
        except ValueError as error:
            raise type(error)(f"{option} must name columns: {error}") from None
        return list(dict.fromkeys(names))

    def describe(self) -> dict[str, Any]:
        """Return the options that affect the records, in JSON types."""
        described: dict[str, Any] = {}
        for name in ("where", "order"):
            if getattr(self, name) is not None:
                described[name] = getattr(self, name)
        for name in ("weights", "balance"):
            option = getattr(self, name)
            if isinstance(option, np.ndarray):
                option = _core.crc32c(np.ascontiguousarray(option, np.float64).tobytes())
            elif isinstance(option, tuple):
                option = [option[0], sorted([repr(k), float(v)] for k, v in option[1].items())]
            if option is not None:
                described[name] = option
        if self.split is not None:
            described["split"] = self.split.describe()
        return described

    def resolve(
        self, columns: Mapping[str, Column], paths: Sequence[PathLike], counts: Sequence[int]
    ) -> Selected:
        """Return the selected records, and their weights.

        Parameters
        ----------
        columns : mapping of str to Column
            The columns of `names`, for all records.
        paths : sequence of path
            The files.
        counts : sequence of int
            Number of records in each file.

        Raises
        ------
        FastrecError
            If the selection is empty, or a record lacks a weight.
        """
        total = sum(counts)
        for name, column in columns.items():
            if len(column.values) != total:
                raise FastrecError(
                    f"the index must have {total} numbers of {name}, got {len(column.values)}; "
                    "build it again with fastrec index --columns"
                )
        mask = np.ones(total, np.bool_)
        if self._where is not None:
            mask &= self._where.mask_of(ColumnTerms(dict(columns), total))
        if self.split is not None:
            mask &= self.split._mask(self._hashes(columns, paths, counts))
        numbers = np.flatnonzero(mask).astype(np.uint64)
        if not len(numbers):
            given = {field.name: getattr(self, field.name) for field in fields(self)}
            options = ", ".join(
                f"{name}={value!r}" for name, value in given.items() if value is not None
            )
            raise FastrecError(f"{options} must leave a record, got none of {total}")
        draws = None
        if self.is_weighted:
            draws = _core.Draws(self._weights(columns, numbers, total))
        ends = np.cumsum(counts)
        own = np.diff(np.searchsorted(numbers, np.concatenate([[0], ends]).astype(np.uint64)))
        if self.order is not None:
            return self._ordered(columns[str(_one_name(self.order.lstrip("-")))], numbers, total)
        if len(numbers) == total:
            return Selected(None, list(counts), draws, None)
        return Selected(numbers, own.tolist(), draws, _core.Subset(numbers, total))

    def _ordered(self, column: Column, numbers: Numbers, total: int) -> Selected:
        assert self.order is not None
        keys = column.values[numbers].astype(
            np.float64 if column.values.dtype.kind == "f" else np.int64
        )
        if column.labels is not None:
            ranks = np.argsort(np.argsort(np.array(column.labels.to_list(), object)))
            keys = ranks[keys]
        places = np.argsort(keys, kind="stable")
        if self.order.startswith("-"):  # highest value first; equal values in file order
            places = len(keys) - 1 - np.argsort(keys[::-1], kind="stable")[::-1]
        if column.missing is not None:  # records without a value come last
            places = places[np.argsort(column.missing[numbers][places], kind="stable")]
        ordered = numbers[places]
        return Selected(ordered, [len(ordered)], None, _core.Subset(ordered, total))

    def _hashes(
        self, columns: Mapping[str, Column], paths: Sequence[PathLike], counts: Sequence[int]
    ) -> Numbers:
        assert self.split is not None
        salt = self.split.seed % 2**64
        if self.split.by is not None:
            return _value_hashes(columns[str(_one_name(self.split.by))], salt)
        parts = [
            _mixed(
                np.arange(count, dtype=np.uint64) * _GOLDEN
                + _hash(os.path.basename(os.fsencode(path)), salt)
            )
            for path, count in zip(paths, counts, strict=True)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, np.uint64)

    def _weights(
        self, columns: Mapping[str, Column], numbers: Numbers, total: int
    ) -> NDArray[np.float64]:
        """Return the weight of each selected record."""
        option = self.weights if self.balance is None else self.balance
        if isinstance(option, np.ndarray):
            if option.shape != (total,):
                raise ValueError(
                    f"weights must be one number per record, shape ({total},), got {option.shape}"
                )
            return option[numbers].astype(np.float64)
        text, table = option if isinstance(option, tuple) else (option, None)
        column = columns[str(_one_name(str(text)))].take(numbers)
        if column.missing is not None and column.missing.any():
            raise FastrecError(
                f"{self.option[:-1]} must find a value of {text} in every record, got "
                f"{int(column.missing.sum())} records without one; "
                f"where={text!r} leaves them out"
            )
        if table is None and self.balance is None:
            if column.labels is not None:
                raise FastrecError(f"weights must be numbers, got the strings of {text}")
            return column.values.astype(np.float64)
        return self._by_value(str(text), column, table)

    def _by_value(
        self, text: str, column: Column, table: Mapping[Any, float] | None
    ) -> NDArray[np.float64]:
        values, places, counts = _grouped(column.values)
        named = values.tolist()
        if column.labels is not None:
            named = [column.labels[code] for code in named]
        weights = np.ones(len(named))
        if table is not None:
            given = {_plain(key): weight for key, weight in table.items()}
            lacking = [name for name in named if name not in given]
            if lacking:
                raise FastrecError(
                    f"{self.option[:-1]} must have a number for each value of {text}, got none for "
                    f"{lacking[:5]!r}"
                )
            weights = np.array([given[name] for name in named], np.float64)
        if self.balance is not None:
            weights = weights / counts
        return np.take(weights, places)


def _grouped(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the distinct values, the number of each value in that list, and their counts."""
    if values.dtype.itemsize > 2 or values.dtype.kind != "i":
        return np.unique(values, return_inverse=True, return_counts=True)
    low = int(values.min())  # the range is small, so counting is faster than sorting
    shifted = values.astype(np.int32) - low
    counts = np.bincount(shifted)
    present = np.flatnonzero(counts)
    numbers = np.cumsum(counts > 0) - 1
    return present + low, numbers[shifted], counts[present]


def _one_name(text: str) -> Name:
    names = names_of(text)
    if len(names) != 1:
        raise ValueError(f"one column was expected, got {text!r}")
    return names[0]


def _plain(key: Any) -> Any:
    """Convert a key of a mapping to the type of column values: strings become bytes."""
    return key.encode() if isinstance(key, str) else key


def _hash(data: bytes, salt: int) -> np.uint64:
    digest = hashlib.blake2b(data, digest_size=8, salt=salt.to_bytes(8, "little")).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def _mixed(numbers: Numbers) -> Numbers:
    """Return the result of splitmix64's finalizer for each number."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _value_hashes(column: Column, salt: int) -> Numbers:
    labels: Bytes | None = column.labels
    if labels is not None:
        hashes = np.array([_hash(label, salt) for label in labels.to_list()], np.uint64)
        return np.take(hashes, column.values)
    if column.values.dtype.kind == "f":
        bits = column.values.astype(np.float64).view(np.uint64)
    else:
        bits = column.values.astype(np.int64).view(np.uint64)
    return _mixed(_mixed(bits + _GOLDEN) ^ _hash(b"", salt))
