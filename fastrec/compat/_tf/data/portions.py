# SPDX-License-Identifier: Apache-2.0
"""``take``, ``skip``, ``shard``, ``repeat``, ``concatenate`` and ``assert_cardinality``."""

from __future__ import annotations

import numpy as np

from .. import errors as _errors
from ..errors import invalid
from ..shape import common_shape
from ..specs import TypeSpec
from ..structure import pack
from ..width import READ
from .pipeline import INFINITE, UNKNOWN, Portion, Stage
from .streams import END, Each, Pull, Rows, Value, in_turn, skipped, steps


class Take(Portion):
    """Stage that yields the first elements."""

    def __init__(self, stage: Stage, count: int) -> None:
        super().__init__(stage)
        self._count = count

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if self._count < 0 or total == UNKNOWN:
            return total
        return self._count if total == INFINITE else min(total, self._count)

    def spend_seeds(self) -> None:
        if self._count:
            super().spend_seeds()

    def start(self, ask: int) -> Pull:
        left = self._count
        if left <= 0:
            return super().start(ask) if left else lambda _: END
        following = self.inputs[0].start(min(ask, left))

        def pull(ask: int) -> Rows:
            nonlocal left
            rows = following(min(ask, left)) if left else END
            left -= rows.count
            return rows

        return pull


class Skip(Portion):
    """Stage that skips the first elements."""

    def __init__(self, stage: Stage, count: int) -> None:
        super().__init__(stage)
        self._count = count

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if self._count < 0:
            return 0
        return total if total < 0 else max(total - self._count, 0)

    def spend_seeds(self) -> None:
        if self._count >= 0:
            super().spend_seeds()

    def start(self, ask: int) -> Pull:
        return skipped(super().start(ask), self._count) if self._count >= 0 else lambda _: END


class Shard(Portion):
    """Stage that yields every n-th element."""

    def __init__(self, stage: Stage, shards: int, index: int) -> None:
        super().__init__(stage)
        if shards < 1:
            raise invalid(
                f"Number of shards must be greater than zero (currently num_shards = {shards})."
            )
        if not 0 <= index < shards:
            raise invalid(f"Index must be between 0 and {shards - 1} (currently index = {index}).")
        self._shards, self._index = shards, index

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        return total if total < 0 else len(range(self._index, total, self._shards))

    def start(self, ask: int) -> Pull:
        every = self._shards
        following = super().start(min(READ, ask * every) if self.pure else 1)
        between, left = self._index, self._index  # rows before the next one that is kept

        def pull(ask: int) -> Rows:
            nonlocal between, left
            while True:
                rows = following(min(READ, left + (ask - 1) * every + 1) if self.pure else 1)
                if not rows:
                    return rows
                kept = rows.taken(np.arange(left, rows.count, every))
                if kept.count:
                    between = every - 1
                left += kept.count * every - rows.count
                if rows.error is not None:
                    left = between if left else 0  # consistent with `skipped`
                    return kept.with_error(rows.error)
                if kept.count:
                    return kept

        return pull


class Repeat(Portion):
    """Stage that repeats its input a positive number of times, or forever if it is negative."""

    def __init__(self, stage: Stage, count: int) -> None:
        super().__init__(stage)
        self._count = count

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if self._count < 0:
            return 0 if total == 0 else INFINITE
        return total * self._count if total >= 0 else total

    def start(self, ask: int) -> Pull:
        following = super().start(ask)
        epoch, empty, over = 1, True, False

        def pull(ask: int) -> Rows:
            nonlocal following, epoch, empty, over
            while not (rows := following(ask)):
                if epoch == self._count or (empty and self._count < 0):
                    if epoch > 1 and not over and not self.inputs[0].shuffles:
                        self.inputs[0].spend_seeds()  # seeds of one more epoch
                    over = True
                    return rows
                following, epoch, empty = self.inputs[0].start(ask), epoch + 1, True
            empty = empty and not rows.count
            return rows

        return pull


class Concatenate(Portion):
    """Stage that yields the elements of its inputs one after the other.

    A chain of concatenations is one stage with many inputs, so a program may append thousands.
    """

    def __init__(self, first: Stage, other: Stage) -> None:
        super().__init__(first, other)
        first, other = self.inputs
        self._specs = [
            one.reshaped(common_shape(one.shape, another.shape))
            for one, another in zip(first.specs, other.specs, strict=True)
        ]
        self.inputs = (*_parts(first), *_parts(other))
        self.depth = 1 + max(first.depth - _is_chain(first), other.depth - _is_chain(other))

    def spend_seeds(self) -> None:
        self.inputs[0].spend_seeds()

    def cardinality(self) -> int:
        totals = [stage.cardinality() for stage in self.inputs]
        return INFINITE if INFINITE in totals else UNKNOWN if UNKNOWN in totals else sum(totals)

    @property
    def specs(self) -> list[TypeSpec]:
        return self._specs

    def start(self, ask: int) -> Pull:
        def begun(stage: Stage) -> Pull:
            return stage.ahead(ask)

        return in_turn(map(begun, self.inputs))


def _is_chain(stage: Stage) -> bool:
    """Return whether a stage is a chain without options that may be extended."""
    return type(stage) is Concatenate and getattr(stage.dataset, "_options", None) is None


def _parts(stage: Stage) -> tuple[Stage, ...]:
    return stage.inputs if _is_chain(stage) else (stage,)


def check_alike(first: Stage, other: Stage) -> None:
    """Check that two stages have elements of one structure and of the same types.

    Raises
    ------
    TypeError
        If they do not.
    """
    pairs = list(zip(first.specs, other.specs, strict=False))
    if (
        first.structure != other.structure
        or len(first.specs) != len(other.specs)
        or any(type(a) is not type(b) or a.dtype != b.dtype for a, b in pairs)
    ):
        shown = " vs.   ".join(str(pack(stage.structure, stage.specs)) for stage in (first, other))
        raise TypeError(f"Incompatible dataset elements:\n  {shown}")


class Counted(Stage):
    """Stage that raises an error unless its input has the promised number of elements."""

    def __init__(self, stage: Stage, expected: int) -> None:
        super().__init__(stage)
        self._expected = expected

    def cardinality(self) -> int:
        return self._expected

    def start(self, ask: int) -> Pull:
        stream, count, ended = self.inputs[0].elements(), 0, False

        def step() -> Value:
            nonlocal count, ended
            try:
                value = next(stream)
            except StopIteration:
                if ended or count == self._expected:
                    raise
                ended = True
                raise self._wrong("only ", count) from None
            count += 1
            if count > self._expected >= 0:
                raise self._wrong("at least ", count)
            return value

        return Each(steps(step))

    def _wrong(self, how: str, count: int) -> Exception:
        wanted = (
            "an infinite number of elements" if self._expected < 0 else _elements(self._expected)
        )
        text = f"Input dataset was expected to contain {wanted} but contained {how}"
        return _errors.FailedPreconditionError(None, None, f"{text}{_elements(count)}.")


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count} elements"
