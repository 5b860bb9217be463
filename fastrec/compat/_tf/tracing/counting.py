# SPDX-License-Identifier: Apache-2.0
"""Counting loops: values that depend only on the counter are computed for many rounds at once.

A round whose ``if`` changes nothing else is skipped entirely.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..columns import rows_of, taken
from ..ops import Block
from .recording import Node
from .running import as_column
from .trace import Trace

__all__ = ["Counted", "counted"]

_FIRST = 16  # first number of rounds per block, before their size is known
_MOST = 4096
_BYTES = 1 << 20  # maximum result bytes per block of rounds
_FEW = 3  # fewer rounds than this run one by one


class Counted:
    """Loop with a known number of rounds.

    Parameters
    ----------
    body : Trace
    width : int
        Number of loop variables.
    steps : dict
        Increment of each counter, by variable number.
    limit : tuple, optional
        A counter and its exclusive upper bound: the bound's position in the inputs of the test, or
        None and its value. Without a limit, only the maximum number of rounds ends the loop.
    """

    def __init__(
        self,
        body: Trace,
        width: int,
        steps: dict[int, int],
        limit: tuple[int, int | None, Any] | None,
    ) -> None:
        self._steps, self._limit = steps, limit
        own, outputs = body.given[:width], body.outputs
        self._same = [at for at in range(width) if outputs[at] == (True, own[at])]
        given = [*[own[at] for at in steps], *[own[at] for at in self._same], *body.given[width:]]
        ready = set(given)
        early: list[Node] = []
        late: list[Node] = []
        for node in body.nodes:
            if ready.issuperset(slot for is_slot, slot in node.inputs if is_slot):
                early.append(node)
                ready.update(node.slots)
            else:
                late.append(node)
        # Variables computed from the previous round, and variables that do not depend on it.
        changed = [at for at in range(width) if outputs[at][0] and outputs[at][1] not in ready]
        self._set = [at for at in range(width) if at not in changed and at not in self._same]
        self._changed = changed
        self._state = [at for at in range(width) if own[at] not in ready]
        used = {slot for node in late for is_slot, slot in node.inputs if is_slot}
        self._carried = sorted(ready & used)
        wanted = [(True, slot) for slot in self._carried]
        self._early = body.over(early, given, [*wanted, *[outputs[at] for at in self._set]])
        self._late = body.over(
            late,
            [*self._carried, *[own[at] for at in self._state]],
            [outputs[at] for at in changed],
        )
        self._nodes = late
        self._goals = [(outputs[at][1], own[at]) for at in changed]
        self._deciding = {
            node.slots: self._carried.index(node.inputs[0][1])
            for node in late
            if node.op.passes is not None and node.inputs[0] in wanted
        }

    @property
    def skips(self) -> bool:
        """Whether some rounds may be skipped."""
        return bool(self._deciding)

    def rounds(self, most: int, given: Sequence[Any]) -> int:
        """Return the number of rounds; `given` are the first inputs of the test."""
        if self._limit is None:
            return most
        counter, place, limit = self._limit
        end = limit if place is None else given[place]
        if np.ndim(end):
            return 0
        count = -((int(given[counter]) - int(end)) // self._steps[counter])
        return count if most < 0 else min(count, most)

    def run(
        self, most: int, state: Sequence[Any], before: Sequence[Any], outer: Sequence[Any]
    ) -> tuple[int, Sequence[Any]]:
        """Run the rounds, or those before a round that fails.

        Parameters
        ----------
        most : int
            Maximum number of rounds; unlimited if negative.
        state : sequence
            The loop variables.
        before, outer : sequence
            Additional inputs of the test and of the body.

        Returns
        -------
        left, state
            The remaining maximum, and the loop variables.
        """
        count = self.rounds(most, [*state, *before])
        if count < _FEW:
            return most, state
        left, size = list(state), _FIRST
        early = copy.copy(self._early)
        done, early.made = 0, 0
        while done < count:
            size = min(size, count - done)
            try:
                made = early.run_blocks(size, self._blocks(size, left, outer))
                rows = self._rows(size, made)
            except Exception:  # running the rounds one by one finds the one that fails
                break
            self._run(size, rows, made, left)
            done += size
            size = min(_MOST, max(1, _BYTES * done // max(early.made, 1)))
        return most - done, left

    def _blocks(self, size: int, state: Sequence[Any], outer: Sequence[Any]) -> list[Block]:
        numbers = np.arange(size)
        counters = [
            np.asarray(state[at] + step * numbers, state[at].dtype)
            for at, step in self._steps.items()
        ]
        others = [*[state[at] for at in self._same], *outer]
        return [*[Block(each, True) for each in counters], *[Block(each, False) for each in others]]

    def _rows(self, size: int, made: Sequence[Block]) -> list[int]:
        """Return the rounds that change any variable."""
        if not self._goals:
            return []
        columns = [np.asarray(as_column(made[at], size)).tolist() for at in self._deciding.values()]
        ways = list(zip(*columns, strict=True)) if columns else [()] * size
        changes = {way: self._changes(way) for way in set(ways)}
        return [row for row, way in enumerate(ways) if changes[way]]

    def _changes(self, way: tuple[Any, ...]) -> bool:
        """Return whether a round with these branch values changes any variable."""
        values = dict(zip(self._deciding, way, strict=True))
        origin: dict[Any, Any] = {}
        for node in self._nodes:
            if node.op.passes is not None and node.slots in values:
                places = node.op.passes(values[node.slots])
                for slot, place in zip(node.slots, places, strict=True):
                    is_slot, found = (False, None) if place is None else node.inputs[place]
                    origin[slot] = origin.get(found, found) if is_slot else None
        return any(origin.get(slot, slot) != own for slot, own in self._goals)

    def _run(self, size: int, rows: list[int], made: Sequence[Block], state: list[Any]) -> None:
        """Run some rounds and update `state`."""
        width, places = len(self._carried), np.array(rows, np.int64)
        given = [_of_rounds(block, None if len(rows) == size else places) for block in made[:width]]
        changed = list(zip(self._set, made[width:], strict=True))
        earlier = np.maximum(places - 1, 0)
        used = [(at, _of_rounds(block, earlier)) for at, block in changed if at in self._state]
        for row in rows:
            for at, column in used:
                value = next(column)
                state[at] = value if row else state[at]
            values = [*map(next, given), *[state[at] for at in self._state]]
            for at, value in zip(self._changed, self._late(values, together=True), strict=True):
                state[at] = value
        last = np.array([size - 1])
        for at, block in changed:
            state[at] = next(_of_rounds(block, last))


def _of_rounds(block: Block, rows: np.ndarray[Any, Any] | None) -> Iterator[Any]:
    """Yield the values of some rounds, or of all."""
    if not block.many:
        return itertools.repeat(block.value)
    return rows_of(block.value if rows is None else taken(block.value, rows))


def counted(test: Trace, body: Trace, width: int) -> Counted | None:
    """Return the counting loop for a test and a body; None if the loop does not count."""
    if body.is_large or not (body.is_pure and test.is_pure):
        return None
    makers = {slot: node for node in body.nodes for slot in node.slots}
    steps: dict[int, int] = {}
    for at, (is_slot, slot) in enumerate(body.outputs[:width]):
        node = makers.get(slot) if is_slot else None
        if node is None or node.op.name != "AddV2" or node.inputs[0] != (True, body.given[at]):
            continue
        late, step = node.inputs[1]
        spec = body.specs[at]
        if not late and step.ndim == 0 and spec.shape.ndims == 0 and spec.dtype.is_integer:
            steps[at] = int(step)
    is_slot, slot = test.outputs[0]
    if not is_slot:
        return Counted(body, width, steps, None) if steps and bool(slot) else None
    if len(test.nodes) != 1 or test.nodes[0].op.name != "Less":
        return None
    (late, slot), (late_limit, limit) = test.nodes[0].inputs
    at = test.given.index(slot) if late else width
    place = test.given.index(limit) if late_limit else None
    if steps.get(at, 0) < 1:
        return None
    if place is not None and place < width and body.outputs[place] != (True, body.given[place]):
        return None
    return Counted(body, width, steps, (at, place, limit))
