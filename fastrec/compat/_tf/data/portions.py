# SPDX-License-Identifier: Apache-2.0
"""``take``, ``skip``, ``shard``, ``repeat``, ``concatenate`` and ``assert_cardinality``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from .. import errors as _errors
from ..errors import invalid
from ..shape import common_shape
from ..specs import TypeSpec
from ..structure import pack
from .pipeline import INFINITE, UNKNOWN, Node, Portion
from .streams import Blocks, Pieces, Value, Values, flattened, skipped, steps

T = TypeVar("T")


class Take(Portion):
    """Node that yields the first elements."""

    def __init__(self, node: Node, count: int) -> None:
        super().__init__(node)
        self._count = count

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if self._count < 0 or total == UNKNOWN:
            return total
        return self._count if total == INFINITE else min(total, self._count)

    def _is_empty(self) -> bool:
        return self._count == 0

    def _needed(self, count: int) -> int:
        return min(count, self._count) if self._count > 0 else count

    def _passed(self, stream: Iterator[T], pieces: Pieces) -> Iterator[T]:
        left = self._count
        if left < 0:
            return stream

        def step() -> T:
            nonlocal left
            if left <= 0:
                raise StopIteration
            piece = next(stream)
            end, left = left, left - pieces.count(piece)
            found: T = pieces.picked(piece, slice(end))
            return found

        return steps(step)


class Skip(Portion):
    """Node that skips the first elements."""

    def __init__(self, node: Node, count: int) -> None:
        super().__init__(node)
        self._count = count

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if self._count < 0:
            return 0
        return total if total < 0 else max(total - self._count, 0)

    def _is_empty(self) -> bool:
        return self._count < 0

    def _passed(self, stream: Iterator[T], pieces: Pieces) -> Iterator[T]:
        return skipped(stream, self._count, pieces)


class Shard(Portion):
    """Node that yields every n-th element."""

    def __init__(self, node: Node, shards: int, index: int) -> None:
        super().__init__(node)
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

    def _needed(self, count: int) -> int:
        return count * self._shards

    def _passed(self, stream: Iterator[T], pieces: Pieces) -> Iterator[T]:
        between, left = self._index, self._index

        def step() -> T:
            nonlocal between, left
            while True:
                try:
                    piece = next(stream)
                except Exception:
                    left = between if left else 0  # consistent with `skipped`
                    raise
                count = pieces.count(piece)
                picked = range(left, count, self._shards)
                if picked:
                    between = self._shards - 1
                    left = picked[-1] + self._shards - count
                    found: T = pieces.picked(piece, slice(picked[0], None, self._shards))
                    return found
                left -= count

        return steps(step)


class Repeat(Node):
    """Node that repeats its input a positive number of times, or forever if it is negative."""

    def __init__(self, node: Node, count: int) -> None:
        super().__init__(node)
        self._count = count

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if self._count < 0:
            return 0 if total == 0 else INFINITE
        return total * self._count if total >= 0 else total

    def _epochs(self, make: Callable[[], Iterator[T]]) -> Iterator[T]:
        stream, epoch, empty, over = make(), 1, True, False

        def step() -> T:
            nonlocal stream, epoch, empty, over
            while True:
                try:
                    found = next(stream)
                except StopIteration:
                    if epoch == self._count or (empty and self._count < 0):
                        if epoch > 1 and not over and not self.inputs[0].shuffles:
                            self.inputs[0].spend_seeds()  # seeds of one more epoch
                        over = True
                        raise
                    stream, epoch, empty = make(), epoch + 1, True
                else:
                    empty = False
                    return found

        return steps(step)

    def values(self) -> Values:
        return self._epochs(lambda: self.inputs[0].stream())

    def blocks(self, count: int) -> Blocks | None:
        first = self.inputs[0].blocks(count)
        if first is None:
            return None
        ready = [first]  # use the first epoch's stream instead of starting it again
        return self._epochs(
            lambda: ready.pop() if ready else self.inputs[0].blocks(count) or iter(())
        )


class Concatenate(Node):
    """Node that yields the elements of its inputs one after the other.

    A chain of concatenations is one node with many inputs, so a program may append thousands.
    """

    def __init__(self, first: Node, other: Node) -> None:
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
        totals = [node.cardinality() for node in self.inputs]
        return INFINITE if INFINITE in totals else UNKNOWN if UNKNOWN in totals else sum(totals)

    @property
    def specs(self) -> list[TypeSpec]:
        return self._specs

    def values(self) -> Values:
        def stream(node: Node) -> Values:
            return node.stream()

        return flattened(map(stream, self.inputs))


def _is_chain(node: Node) -> bool:
    """Return whether a node is a chain without options that may be extended."""
    return type(node) is Concatenate and getattr(node.dataset, "_options", None) is None


def _parts(node: Node) -> tuple[Node, ...]:
    return node.inputs if _is_chain(node) else (node,)


def check_alike(first: Node, other: Node) -> None:
    """Check that two nodes have elements of one structure and of the same types.

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
        shown = " vs.   ".join(str(pack(node.structure, node.specs)) for node in (first, other))
        raise TypeError(f"Incompatible dataset elements:\n  {shown}")


class Counted(Node):
    """Node that raises an error unless its input has the promised number of elements."""

    def __init__(self, node: Node, expected: int) -> None:
        super().__init__(node)
        self._expected = expected

    def cardinality(self) -> int:
        return self._expected

    def values(self) -> Values:
        stream, count, ended = self.inputs[0].stream(), 0, False

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

        return steps(step)

    def _wrong(self, how: str, count: int) -> Exception:
        wanted = (
            "an infinite number of elements" if self._expected < 0 else _elements(self._expected)
        )
        text = f"Input dataset was expected to contain {wanted} but contained {how}"
        return _errors.FailedPreconditionError(None, None, f"{text}{_elements(count)}.")


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count} elements"
