# SPDX-License-Identifier: Apache-2.0
"""Pack documents into rows of one length, planned from the lengths of all documents.

The plan of an epoch depends only on the seed and the lengths, and is made before tokens are read.
The number of batches is therefore known, a state is a position, and the rows are the same for any
number of shards.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .. import _core
from ..arguments import check_fields, check_int, shown
from ..columns import Ragged
from ..errors import ExampleParseError, FastrecError
from ..features.spec import SequenceFeatures
from ..parsing.column_builder import Column
from ..parsing.conditions import Name
from .checkpoint import Start
from .order import Ordering, OrderSpec
from .planned import PlannedPass, Plans, check_lengths

__all__ = ["PackedPass", "Packing", "RowPlans", "Step"]


@dataclass(frozen=True)
class Packing:
    """Rows of a fixed length, filled with whole documents: the `packing` of a :class:`Batcher`.

    A batch has `batch_size` rows of `length` tokens, under the name of the feature (``"tokens"`` if
    documents span several features), and

    - ``segment_ids``, int32: the number of the document in its row, from 1, and 0 for padding;
    - ``positions``, int32: the number of the token in its segment, from 0;
    - ``cu_seqlens``, int32: the offset of each segment, and of the padding of each row, among the
      ``batch_size * length`` tokens, then this number, as flash-attention requires;
    - ``loss_mask``, bool: with `loss`, whether the loss counts the token;
    - other features with one number per token, aligned with the tokens.

    Parameters
    ----------
    tokens : str or sequence of str
        The ragged feature of integers that holds the tokens, or several features that are joined in
        each document, such as ``("prompt", "completion")``. For SequenceExamples, feature lists:
        ``FixedLenSequenceFeature((), np.int64)``.
    length : int
        Number of tokens per row, 1 to 2**24.
    fit : {"best", "first", "split"}
        ``"best"`` places the documents of a window from the longest to the shortest, each into the
        fullest row that has space for it. ``"first"`` places them in order, each into the first row
        with space. ``"split"`` concatenates them and splits them at the ends of rows.
    window : int
        Number of documents that are placed together. A larger window fills rows better.
    pad : int
        The token that fills the rest of a row.
    max_segments : int, optional
        Maximum number of documents in a row.
    overlong : {"split", "drop", "error"}
        Treatment of documents that are longer than a row.
    bos, eos : int, optional
        Tokens that begin and end each document.
    loss : str or sequence of str, optional
        The features of `tokens` whose tokens count in the loss; `eos` counts if the last feature
        does.
    dtype : dtype of integers
        Type of the tokens in a batch. A token outside of its range is an error.

    Examples
    --------
    >>> Packing("tokens", length=2048, eos=0)
    Packing('tokens', length=2048, eos=0)
    """

    tokens: str | Sequence[str]
    length: int
    fit: Literal["best", "first", "split"] = "best"
    window: int = 1 << 16
    pad: int = 0
    max_segments: int | None = None
    overlong: Literal["split", "drop", "error"] = "split"
    bos: int | None = None
    eos: int | None = None
    loss: str | Sequence[str] | None = None
    dtype: DTypeLike = np.int32

    def __post_init__(self) -> None:
        check_fields(self, skip=("tokens", "loss"))
        parts = _names("tokens", self.tokens)
        if not parts:
            raise TypeError(f"tokens must be a feature or several, got {self.tokens!r}")
        if len(set(parts)) < len(parts):
            raise ValueError(f"tokens must name each feature once, got {parts!r}")
        object.__setattr__(self, "tokens", parts)
        object.__setattr__(self, "loss", None if self.loss is None else _names("loss", self.loss))
        if wrong := set(self.loss or ()) - set(parts):
            raise ValueError(f"loss must name features of tokens {parts!r}, got {min(wrong)!a}")
        token = (-(2**63), 2**63 - 1)
        for name, (least, most) in {
            "length": (1, 1 << 24), "window": (1, 1 << 26), "max_segments": (1, 1 << 24),
            "pad": token, "bos": token, "eos": token,
        }.items():  # fmt: skip
            value = getattr(self, name)
            if value is not None or name in ("length", "window", "pad"):
                object.__setattr__(self, name, check_int(name, value, least, most))
        try:
            dtype = np.dtype(self.dtype)
        except TypeError:
            raise TypeError(f"dtype must be of integers, got {shown(self.dtype)}") from None
        if dtype.kind not in "iu" or not dtype.isnative:
            raise TypeError(f"dtype must be of native integers, got {dtype}")
        object.__setattr__(self, "dtype", dtype)

    def __repr__(self) -> str:
        tokens = self.parts[0] if len(self.parts) == 1 else self.parts
        fields = [repr(tokens), f"length={self.length}"]
        for name, default in type(self).__dataclass_fields__.items():
            value = getattr(self, name)
            if name not in ("tokens", "length") and value != default.default:
                fields.append(f"{name}={value!r}")
        return f"Packing({', '.join(fields)})"

    @property
    def parts(self) -> tuple[str, ...]:
        """The features that form a document."""
        return self.tokens  # type: ignore[return-value]

    @property
    def key(self) -> str:
        """Name of the tokens in a batch."""
        return self.parts[0] if len(self.parts) == 1 else "tokens"

    @property
    def extra(self) -> int:
        """Number of tokens that `bos` and `eos` add to each document."""
        return (self.bos is not None) + (self.eos is not None)

    def describe(self) -> dict[str, Any]:
        """Return the options that affect the rows, in JSON types."""
        fields = {name: getattr(self, name) for name in type(self).__dataclass_fields__}
        del fields["dtype"], fields["pad"]
        fields["loss"] = None
        return {**fields, "tokens": list(self.parts)}

    def _check(self, features: Any) -> None:
        """Raise unless all features are lists of numbers, and the tokens are integers.

        For SequenceExamples, the lists are feature lists with one number per frame.
        """
        lists: tuple[str, Any] = ("RaggedFeature", features)
        if isinstance(features, SequenceFeatures):
            if features.context:
                raise ValueError(
                    f"packing reads feature lists, got the context {list(features.context)}"
                )
            lists = ("FixedLenSequenceFeature", features.sequence)
        self._check_lists(*lists)

    def _check_lists(self, wanted: str, features: Mapping[str, Any]) -> None:
        for part in self.parts:
            if part not in features:
                raise ValueError(f"packing: {part!r} is not in features")
        for name, feature in features.items():
            kind = type(feature).__name__
            dtype = getattr(feature, "dtype", None)
            numbers = dtype is not None and np.dtype(dtype).kind in "iuf"
            is_flat = not getattr(feature, "partitions", ()) and not getattr(feature, "shape", ())
            if kind != wanted or not numbers or not is_flat:
                raise TypeError(
                    f"packing: feature {name!r} must be a {wanted} of single numbers, got "
                    f"{feature!r}"
                )
            if name in self.parts and np.dtype(dtype) != np.int64:
                raise TypeError(
                    f"packing: feature {name!r} must have dtype np.int64, got {feature!r}"
                )

    def _lengths(self, columns: Mapping[str, Any]) -> NDArray[np.uint32]:
        """Return the number of tokens in each document, from the columns of an index."""
        total: Any = 0
        for part in self.parts:
            total = total + columns[str(Name(part, "len"))].values.astype(np.int64)
        total = np.where(total > 0, total + self.extra, 0)
        if len(total) and total.max() >= 2**32:
            raise ValueError(f"a document must have fewer than 2**32 tokens, got {total.max()}")
        return total.astype(np.uint32)  # type: ignore[no-any-return]

    def _check_batch(self, ordering: Ordering, step: Step, columns: Mapping[str, Ragged]) -> None:
        """Raise if the number of tokens in a document differs from the plan."""
        tokens: Any = sum(columns[part].row_lengths for part in self.parts)
        tokens = np.where(tokens > 0, tokens + self.extra, 0)
        check_lengths(ordering, step.numbers, step.lengths, tokens)

    def _batch(
        self,
        columns: Mapping[str, Ragged],
        segments: NDArray[Any],
        splits: NDArray[Any],
        count: int,
    ) -> dict[str, Any]:
        """Return the rows of a batch, given the columns of its `count` documents."""
        loss = set(self.loss or ())
        parts: list[Any] = []
        for part in self.parts:
            ragged = columns[part]
            parts.append(((ragged.values, ragged.row_splits), part in loss))
        if self.bos is not None:
            parts.insert(0, (self.bos, False))
        if self.eos is not None:
            parts.append((self.eos, self.parts[-1] in loss))
        layout = _core.RowLayout(segments, splits, self.length, count, parts)
        ids, positions = layout.segments()
        batch = {
            self.key: layout.tokens(self.dtype, self.pad),
            "segment_ids": ids,
            "positions": positions,
            "cu_seqlens": layout.boundaries(),
        }
        if self.loss is not None:
            batch["loss_mask"] = layout.loss()
        for name, column in columns.items():
            if name not in self.parts:
                batch[name] = layout.aligned(column.values, column.row_splits, 0)
        return batch


def _names(option: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    is_list = isinstance(value, Collection) and not isinstance(value, (bytes, Mapping, np.ndarray))
    if not is_list or not all(isinstance(name, str) for name in value):
        raise TypeError(f"{option} must be a feature or several, got {shown(value)}")
    return tuple(value)


class Step(NamedTuple):
    """One batch of rows, before its documents are read."""

    numbers: NDArray[np.uint64]
    """Numbers of its records."""
    lengths: NDArray[np.uint32]
    """Planned tokens of each."""
    segments: NDArray[np.uint32]
    """Document (a place in `numbers`), first token and number of tokens of each segment."""
    splits: NDArray[np.uint32]
    """First segment of each row, and the number of all."""


class RowPlans(Plans[_core.RowPlan]):
    """The rows of each epoch of an order."""

    def __init__(self, ordering: Ordering, packing: Packing) -> None:
        self._packing = packing
        names = [Name(part, "len") for part in packing.parts]
        super().__init__(ordering, packing.window, names, "packing=")

    def lengths_of(self, columns: dict[str, Column]) -> NDArray[np.uint32]:
        """Return the number of tokens in each document."""
        return self._packing._lengths(columns)

    def units(self, plan: _core.RowPlan) -> int:
        """Return the number of rows in a plan."""
        return len(plan)

    def make(self, numbers: NDArray[np.uint64], seed: int) -> _core.RowPlan:
        """Plan the rows of a window of documents."""
        packing = self._packing
        try:
            return _core.RowPlan(
                self.lengths[numbers],
                length=packing.length,
                fit=packing.fit,
                overlong=packing.overlong,
                max_segments=packing.max_segments or 0,
                seed=seed,
            )
        except FastrecError as error:
            if error.record is None:
                raise
            number = int(numbers[error.record])
            problem = (
                f"a document must have at most {packing.length} tokens, got "
                f"{self.lengths[number]}; overlong='split' cuts it, and 'drop' leaves it out"
            )
            raise _located(self.ordering, number, problem) from None

    def step(self, epoch: int, begin: int, end: int) -> Step:
        """Return the rows from `begin` to `end` of an epoch; the first rows follow the last row."""
        with self.lock:
            ends = self.ends(epoch)
            total = int(ends[-1])
            parts = []
            while begin < end:
                row = begin % total
                window = int(np.searchsorted(ends, row, side="right")) - 1
                last = min(row + end - begin, int(ends[window + 1]))
                first = int(ends[window])
                numbers, plan = self.plan(epoch, window)
                segments, splits = plan.rows(row - first, last - first)
                parts.append((numbers[segments[:, 0]], segments, splits))
                begin += last - row
        return self._joined(parts)

    def _joined(self, parts: list[tuple[Any, Any, Any]]) -> Step:
        records = np.concatenate([part[0] for part in parts])
        segments = np.concatenate([part[1] for part in parts])
        splits, placed = [np.zeros(1, np.uint32)], 0
        for _, own, begins in parts:
            splits.append(begins[1:] + np.uint32(placed))
            placed += len(own)
        numbers, segments[:, 0] = np.unique(records, return_inverse=True)
        return Step(numbers, self.lengths[numbers], segments, np.concatenate(splits))


class PackedPass(PlannedPass):
    """One ``iter()`` over packed rows. Its positions count rows.

    Parameters
    ----------
    ordering, spec, start
        As for :class:`Pass`.
    plans : RowPlans
    """

    def __init__(self, ordering: Ordering, spec: OrderSpec, start: Start, plans: RowPlans) -> None:
        super().__init__(ordering, spec, start)
        self._plans = plans

    def total(self, epoch: int) -> int:
        """Return the number of rows in an epoch."""
        return self._plans.total(epoch)

    def step_units(self, steps: int) -> int:
        """Return the number of rows in some steps."""
        return steps * self.spec.batch_size * self.spec.shard[1]

    def step_rows(self, epoch: int, used: int) -> NDArray[np.int64]:
        """Return the number of rows in each step of an epoch, after `used` rows."""
        whole, rest = divmod(self.total(epoch) - used, self.step_units(1))
        rows = np.full(whole, self.step_units(1), np.int64)
        return rows if self.spec.drop_remainder or not rest else np.append(rows, rest)

    def step(self, epoch: int, used: int, begin: int, end: int) -> Step:
        """Return rows `begin` to `end` of the next step, after `used` rows of the epoch."""
        return self._plans.step(epoch, used + begin, used + end)


def _located(ordering: Ordering, number: int, problem: str) -> ExampleParseError:
    path, record, offset = ordering.position_of(number, None)
    return ExampleParseError(problem).in_record(record, path, offset)
