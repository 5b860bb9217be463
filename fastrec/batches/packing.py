# SPDX-License-Identifier: Apache-2.0
"""Documents packed into rows of one length, planned from the lengths of all documents.

The plan of an epoch follows from the seed and the lengths, before a token is read. So the number of
batches is known, a state is a position, and the rows are the same for any number of shards.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .. import _core
from ..columns import Ragged
from ..errors import ExampleParseError, FastrecError, IndexMismatchError, check_int
from ..parsing.index_columns import columns_of
from ..parsing.where import Name
from .checkpoint import Position, Start
from .order import Ordering, OrderSpec, Pass

__all__ = ["PackedFeed", "PackedPass", "Packing", "RowPlans", "Step", "check_lengths"]

_PLANS = 4  # windows whose plans are kept
_EPOCHS = 4  # epochs whose numbers of rows are kept
_GOLDEN = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Packing:
    """Rows of a fixed length, filled with whole documents: the `packing` of a :class:`Batcher`.

    A batch has `batch_size` rows of `length` tokens, under the name of the feature (``"tokens"`` if
    documents span several features), and

    - ``segment_ids``, int32: the number of the document in its row, from 1, and 0 for padding;
    - ``positions``, int32: the number of the token in its segment, from 0;
    - ``cu_seqlens``, int32: the first token of each segment, and of the padding of each row, among
      the ``batch_size * length`` tokens, and this number: the form that flash-attention takes;
    - ``loss_mask``, bool: with `loss`, whether the loss counts the token;
    - other features, which have one number for each token, aligned with the tokens.

    Parameters
    ----------
    tokens : str or sequence of str
        The ragged feature of integers that has the tokens, or several, which follow each other in
        each document, such as ``("prompt", "completion")``.
    length : int
        Tokens of a row, 1 to 2**24.
    fit : {"best", "first", "split"}
        ``"best"`` places the documents of a window from the longest to the shortest, each into the
        fullest row that has space for it. ``"first"`` places them in order, each into the first row
        with space. ``"split"`` writes them one after the other and cuts them where a row ends.
    window : int
        Documents that are placed together. More documents fill rows better.
    pad : int
        The token that fills the rest of a row.
    max_segments : int, optional
        Documents in a row, at most.
    overlong : {"split", "drop", "error"}
        Treatment of documents that are longer than a row.
    bos, eos : int, optional
        Tokens that begin and end each document.
    loss : str or sequence of str, optional
        The features of `tokens` whose tokens the loss counts; `eos` counts if the last one does.
    dtype : dtype of integers
        Type of the tokens in a batch. A token that is out of its range is an error.

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
        parts = (self.tokens,) if isinstance(self.tokens, str) else tuple(self.tokens)
        if not parts or not all(isinstance(part, str) for part in parts):
            raise TypeError(f"tokens must be a feature or several, got {self.tokens!r}")
        if len(set(parts)) < len(parts):
            raise ValueError(f"tokens must name each feature once, got {parts!r}")
        object.__setattr__(self, "tokens", parts)
        loss = (self.loss,) if isinstance(self.loss, str) else self.loss
        object.__setattr__(self, "loss", None if loss is None else tuple(loss))
        if wrong := set(self.loss or ()) - set(parts):
            raise ValueError(f"loss must name features of tokens {parts!r}, got {min(wrong)!r}")
        for name, choices in (("fit", ("best", "first", "split")),
                              ("overlong", ("split", "drop", "error"))):  # fmt: skip
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {choices}, got {getattr(self, name)!r}")
        token = (-(2**63), 2**63 - 1)
        for name, (least, most) in {
            "length": (1, 1 << 24), "window": (1, 1 << 26), "max_segments": (1, 1 << 24),
            "pad": token, "bos": token, "eos": token,
        }.items():  # fmt: skip
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check_int(name, value, least, most))
        dtype = np.dtype(self.dtype)
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
        """The features that a document consists of."""
        return self.tokens  # type: ignore[return-value]

    @property
    def key(self) -> str:
        """The name of the tokens in a batch."""
        return self.parts[0] if len(self.parts) == 1 else "tokens"

    @property
    def extra(self) -> int:
        """Number of tokens that `bos` and `eos` add to each document."""
        return (self.bos is not None) + (self.eos is not None)

    def describe(self) -> dict[str, Any]:
        """The options that the rows depend on, as JSON takes them."""
        fields = {name: getattr(self, name) for name in type(self).__dataclass_fields__}
        del fields["dtype"], fields["pad"]
        fields["loss"] = None
        return {**fields, "tokens": list(self.parts)}

    def check(self, features: Mapping[str, Any]) -> None:
        """Raise unless all features are ragged, and the tokens are integers."""
        for part in self.parts:
            if part not in features:
                raise ValueError(f"packing: {part!r} is not in features")
        for name, feature in features.items():
            kind = type(feature).__name__
            dtype = getattr(feature, "dtype", None)
            numbers = dtype is not None and np.dtype(dtype).kind in "iuf"
            if kind != "RaggedFeature" or not numbers or feature.partitions:
                raise TypeError(
                    f"packing: feature {name!r} must be a RaggedFeature of numbers, got {feature!r}"
                )
            if name in self.parts and np.dtype(dtype) != np.int64:
                raise TypeError(
                    f"packing: feature {name!r} must be RaggedFeature(np.int64), got {feature!r}"
                )

    def lengths(self, columns: Mapping[str, Any]) -> NDArray[np.uint32]:
        """Return the tokens of each document, from the columns of an index."""
        total: Any = 0
        for part in self.parts:
            total = total + columns[str(Name(part, "len"))].values.astype(np.int64)
        total = np.where(total > 0, total + self.extra, 0)
        if len(total) and total.max() >= 2**32:
            raise ValueError(f"a document must have fewer than 2**32 tokens, got {total.max()}")
        return total.astype(np.uint32)  # type: ignore[no-any-return]

    def batch(
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


class RowPlans:
    """The rows of each epoch of an order."""

    def __init__(self, ordering: Ordering, packing: Packing) -> None:
        self._ordering, self._packing = ordering, packing
        names = [Name(part, "len") for part in packing.parts]
        self.lengths = packing.lengths(columns_of(ordering.files, names, "packing="))
        self._ends: OrderedDict[int, NDArray[np.int64]] = OrderedDict()
        self._kept: OrderedDict[tuple[int, int], tuple[NDArray[np.uint64], _core.RowPlan]] = (
            OrderedDict()
        )
        self._lock = threading.RLock()

    def _order(self, epoch: int) -> _core.Order:
        spec: OrderSpec = replace(
            self._ordering.spec, shard=(0, 1), epochs=1, batch_size=self._packing.window,
            drop_remainder=False, batch_across_epochs=False,
        )  # fmt: skip
        return self._ordering.native(spec, epoch)

    def _plan(
        self, epoch: int, window: int, order: _core.Order | None = None
    ) -> tuple[NDArray[np.uint64], _core.RowPlan]:
        kept = self._kept.get((epoch, window))
        if kept is not None:
            return kept
        found = (order or self._order(epoch)).numbers(window)
        assert found is not None
        numbers, packing = found[1], self._packing
        drawn = epoch if self._ordering.spec.reshuffle else 0
        try:
            plan = _core.RowPlan(
                self.lengths[numbers],
                length=packing.length,
                fit=packing.fit,
                overlong=packing.overlong,
                max_segments=packing.max_segments or 0,
                seed=(self._ordering.spec.seed + _GOLDEN * (drawn * 2**20 + window + 1)) % 2**64,
            )
        except FastrecError as error:
            if error.record is None:
                raise
            raise _located(self._ordering, int(numbers[error.record]), str(error)) from None
        self._kept[epoch, window] = numbers, plan
        if len(self._kept) > _PLANS:
            self._kept.popitem(last=False)
        return numbers, plan

    def _row_ends(self, epoch: int) -> NDArray[np.int64]:
        """The number of rows up to the end of each window of an epoch, from 0 on."""
        ends = self._ends.get(epoch)
        if ends is None:
            order = self._order(epoch)
            windows = order.batches or 0
            rows = [len(self._plan(epoch, window, order)[1]) for window in range(windows)]
            ends = self._ends[epoch] = np.cumsum([0, *rows])
            if len(self._ends) > _EPOCHS:
                self._ends.popitem(last=False)
        return ends

    def row_count(self, epoch: int) -> int:
        """Return the number of rows of an epoch, over all shards."""
        with self._lock:
            return int(self._row_ends(epoch)[-1])

    def step(self, epoch: int, begin: int, end: int) -> Step:
        """Return the rows from `begin` to `end` of an epoch; rows after its last are its first."""
        with self._lock:
            ends = self._row_ends(epoch)
            total = int(ends[-1])
            parts = []
            while begin < end:
                row = begin % total
                window = int(np.searchsorted(ends, row, side="right")) - 1
                last = min(row + end - begin, int(ends[window + 1]))
                first = int(ends[window])
                numbers, plan = self._plan(epoch, window)
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


class PackedPass(Pass):
    """One ``iter()`` over packed rows: `used` of a position counts rows, not records.

    The rows of a global step, ``batch_size`` times the number of shards, are dealt out in equal
    runs, one for each shard.

    Parameters
    ----------
    ordering, spec, start
        As of :class:`Pass`.
    plans : RowPlans
    """

    def __init__(self, ordering: Ordering, spec: OrderSpec, start: Start, plans: RowPlans) -> None:
        super().__init__(ordering, spec, start)
        self._plans = plans

    @property
    def is_counted(self) -> bool:
        """Whether the number of batches is known: always."""
        return True

    @property
    def has_steps(self) -> bool:
        """Whether the number of batches delivered gives the position: always."""
        return True

    def _used(self, epoch: int) -> int:
        return self.first.used if epoch == self.first.epoch else 0

    def _left(self, epoch: int) -> tuple[int, int]:
        """Whole global steps that are left in an epoch, and rows after them."""
        left = max(self._plans.row_count(epoch) - self._used(epoch), 0)
        return divmod(left, self.spec.batch_size * self.spec.shard[1])

    def _run(self, rest: int, shard: int) -> tuple[int, int]:
        """The rows of a shard, from the first to the end, of a step of `rest` rows."""
        share, more = divmod(rest, self.spec.shard[1])
        if self.spec.uneven == "drop":
            return shard * share, (shard + 1) * share
        if self.spec.uneven == "pad":
            share += more > 0
            return shard * share, (shard + 1) * share
        return shard * share + min(shard, more), (shard + 1) * share + min(shard + 1, more)

    def _steps_in(self, epoch: int, shard: int) -> int:
        steps, rest = self._left(epoch)
        begin, end = self._run(rest, shard)
        return steps + (end > begin and not self.spec.drop_remainder)

    def _epochs(self) -> Iterator[int]:
        return self.spec.epochs_from(self.first.epoch)

    @property
    def steps_left(self) -> int:
        """Batches of this pass, which has an end."""
        return sum(self._steps_in(epoch, self.spec.shard[0]) for epoch in self._epochs())

    @property
    def most_steps_left(self) -> int:
        """Batches of this pass in shard 0, which has the most."""
        return sum(self._steps_in(epoch, 0) for epoch in self._epochs())

    def find(self, done: int) -> Position:
        """The position of this shard after a number of steps."""
        size = self.spec.batch_size * self.spec.shard[1]
        epoch = self.first.epoch
        for epoch in self._epochs():
            steps = self._steps_in(epoch, self.spec.shard[0])
            if done < steps:
                return Position(epoch, self._used(epoch) + done * size)
            done -= steps
            if self.spec.epochs == 0 and steps == 0:
                break
        return Position(epoch, self._plans.row_count(epoch))

    def start_after(self, done: int) -> Start:
        """The position of this run after a number of steps, as a state has it."""
        position = self.find(done)
        shards = (0, self.spec.shard[1] - 1, self.spec.shard[0])
        ended = position.used == 0 or position.used >= self._plans.row_count(position.epoch)
        uneven = any(
            len({self._steps_in(epoch, shard) for shard in shards}) > 1
            for epoch in range(self.first.epoch, position.epoch + 1)
        )
        return Start(self.start.begin, position, self.start.in_step and not (ended and uneven))

    def steps(self) -> Iterator[Step]:
        """The batches of this shard."""
        size, shard = self.spec.batch_size, self.spec.shard[0]
        for epoch in self._epochs():
            steps, rest = self._left(epoch)
            used = self._used(epoch)
            for step in range(self._steps_in(epoch, shard)):
                base = used + step * size * self.spec.shard[1]
                begin, end = (shard * size, shard * size + size)
                if step == steps:
                    begin, end = self._run(rest, shard)
                yield self._plans.step(epoch, base + begin, base + end)
            if self.spec.epochs == 0 and not self._plans.row_count(epoch):
                return


class PackedFeed(Iterator[Step]):
    """The steps of a pass, for the threads of a pipeline."""

    def __init__(self, run: PackedPass) -> None:
        self._steps = run.steps()

    def __next__(self) -> Step:
        return next(self._steps)

    def close(self) -> None:
        """Do nothing, since this feed starts no threads."""

    interrupt = close


def _located(ordering: Ordering, number: int, problem: str) -> ExampleParseError:
    path, record, offset = ordering.position_of(number, None)
    return ExampleParseError(problem).in_record(record, path, offset)


def check_lengths(
    ordering: Ordering, packing: Packing, step: Step, columns: Mapping[str, Ragged]
) -> None:
    """Raise if a document has another number of tokens than planned.

    Raises
    ------
    IndexMismatchError
        Naming the record and both numbers.
    """
    tokens: Any = sum(columns[part].row_lengths for part in packing.parts)
    tokens = np.where(tokens > 0, tokens + packing.extra, 0)
    if (wrong := np.flatnonzero(tokens != step.lengths)).size:
        place = int(wrong[0])
        path, record, _ = ordering.position_of(int(step.numbers[place]), None)
        error = IndexMismatchError(
            f"record {record} in {os.fsdecode(path)!a} has {tokens[place]} tokens, and the columns "
            f"of the index say {step.lengths[place]}; build them again with fastrec index --columns"
        )
        error.path, error.record = os.fsdecode(path), record
        raise error
