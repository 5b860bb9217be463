# SPDX-License-Identifier: Apache-2.0
"""The execution plan of one fetch of a session: compiled once, run many times.

The operations that the fetches depend on are in a flat list, in the order of their creation, in
which they can run. Each output has a place in a list of values. An operation reads its inputs with
a prepared ``itemgetter`` and writes its outputs with a prepared slice, so its overhead is two
subscriptions and one call. Values that depend only on constants are in the list from the start.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._tf.errors import invalid
from ._nodes import Operation

if TYPE_CHECKING:
    from ._runtime import Step
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from fastrec.errors import FastrecError

from .._tf.errors import OpError, ResourceExhaustedError, translated
from ._nodes import Kernel, Tensor

if TYPE_CHECKING:
    from ._runtime import Step

_SLICE = 0.2  # seconds between two checks for cancellation by the caller's thread


class _Run:
    def __init__(self, plan: Plan, step: Step, slots: list[Any]) -> None:
        self.step, self.slots = step, slots
        import queue  # few plans have operations that wait

        self.done: queue.SimpleQueue[tuple[Instruction, Any, BaseException | None]]
        self.done, self.empty = queue.SimpleQueue(), queue.Empty
        self.running = 0
        self.threads: list[threading.Thread] = []
        self.error: BaseException | None = None
        code = plan.code
        at = {one.op: i for i, one in enumerate(code)}
        self.waiting = [0] * len(code)
        self.after: list[list[int]] = [[] for _ in code]
        self.index = at
        for i, one in enumerate(code):
            for other in _ahead(one.op, at):
                self.waiting[i] += 1
                self.after[other].append(i)
        self.code: Sequence[Instruction] = code
        self.ready = deque(i for i, count in enumerate(self.waiting) if count == 0)

    def finish(self, one: Instruction, values: Any) -> None:
        self.slots[one.outputs] = values
        for later in self.after[self.index[one.op]]:
            self.waiting[later] -= 1
            if self.waiting[later] == 0:
                self.ready.append(later)

    def here(self, one: Instruction) -> None:
        try:
            values = one.kernel(self.step, *one.inputs(self.slots))
        except BaseException as error:
            self.fail(one, error)
        else:
            self.finish(one, values)

    def fail(self, one: Instruction, error: BaseException) -> None:
        if self.error is None:
            self.error = raised(error, one.op) if isinstance(error, Exception) else error
            if self.error is not error:
                self.error.__cause__ = error
            self.step.cancellation.cancel()

    def apart(self, one: Instruction) -> None:
        values = list(one.inputs(self.slots))

        def work() -> None:
            try:
                with np.errstate(all="ignore"):
                    result = one.kernel(self.step, *values)
            except BaseException as error:
                self.done.put((one, None, error))
            else:
                self.done.put((one, result, None))

        self.running += 1
        thread = threading.Thread(target=work, name=f"fastrec-{one.op.name}", daemon=True)
        self.threads.append(thread)
        thread.start()

    def collect(self) -> None:
        try:
            one, values, error = self.done.get(timeout=_SLICE)
        except self.empty:
            return
        self.running -= 1
        if error is not None:
            self.fail(one, error)
        elif self.error is None:
            self.finish(one, values)

    def loop(self) -> None:
        while self.running or (self.ready and self.error is None):
            if self.error is not None or not self.ready:
                self.collect()
                continue
            one = self.code[self.ready.popleft()]
            # If nothing else is running, all remaining operations depend on this one.
            if one.op.blocking and (self.running or self.ready):
                self.apart(one)
            else:
                self.here(one)


def _ahead(op: Operation, at: dict[Operation, int]) -> set[int]:
    others = (*(tensor.op for tensor in op.inputs), *op.control_inputs)
    return {at[other] for other in others if other in at}


def run_concurrently(plan: Plan, step: Step, slots: list[Any]) -> None:
    """Run `plan` with its values in `slots`, and with threads for operations that may block."""
    run = _Run(plan, step, slots)
    try:
        run.loop()
    except BaseException as error:  # also Ctrl-C while waiting
        run.error = error
        step.cancellation.cancel()
        while run.running:
            run.collect()
    for thread in run.threads:
        thread.join()
    if run.error is not None:
        raise run.error


_FOLD_BYTES = 1 << 26


class Instruction(NamedTuple):
    """One operation of a plan."""

    kernel: Kernel
    inputs: Callable[[list[Any]], Iterable[Any]]
    outputs: slice
    op: Operation


def frozen(value: Any) -> Any:
    """Return a read-only view of `value`."""
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value


def needed(targets: Iterable[Operation], fed: frozenset[Tensor]) -> list[Operation]:
    """Return the operations that `targets` depend on, in an order in which they can run."""
    found: dict[Operation, None] = {}
    ahead = list(targets)
    while ahead:
        op = ahead.pop()
        if op in found:
            continue
        found[op] = None
        ahead.extend(tensor.op for tensor in op.inputs if tensor not in fed)
        ahead.extend(op.control_inputs)
    return sorted(found, key=lambda op: op._id)


def _gather(places: Sequence[int]) -> Callable[[list[Any]], Iterable[Any]]:
    if len(places) > 1:
        return itemgetter(*places)
    start = places[0] if places else 0
    return itemgetter(slice(start, start + len(places)))


def raised(error: Exception, op: Operation) -> Exception:
    """Return the error that a session raises if the kernel of `op` raised `error`."""
    if isinstance(error, OpError):
        return error.at(op)
    if isinstance(error, (FastrecError, OSError)):
        return translated(error).at(op)
    if isinstance(error, MemoryError):
        return ResourceExhaustedError(None, None, str(error) or "out of memory").at(op)
    if type(error) is ValueError:
        return invalid(str(error)).at(op)
    return error


class Plan:
    """The execution plan from fed tensors to fetched ones.

    Parameters
    ----------
    fetches : sequence of Tensor or Operation
        The results. The result of an operation is None.
    feeds : sequence of Tensor
        The fed tensors.
    """

    __slots__ = ("_results", "_template", "code", "concurrent", "fed", "places")

    def __init__(self, fetches: Sequence[Tensor | Operation], feeds: Sequence[Tensor]) -> None:
        fed = frozenset(feeds)
        targets = [
            fetch if isinstance(fetch, Operation) else fetch.op
            for fetch in fetches
            if isinstance(fetch, Operation) or fetch not in fed
        ]
        ops = needed(targets, fed)
        self.places: dict[Tensor, int] = {tensor: i for i, tensor in enumerate(feeds)}
        self.fed = len(self.places)
        self._template: list[Any] = [None] * self.fed
        code = [self._placed(op) for op in ops]
        self._results = tuple(
            -1 if isinstance(fetch, Operation) else self.places[fetch] for fetch in fetches
        )
        self._template.append(None)  # the result of an operation, at -1
        self.code = [one for one in code if not self._folded(one, fed)]
        self.concurrent = _may_wait_for_each_other([one.op for one in self.code])

    def _placed(self, op: Operation) -> Instruction:
        start = len(self._template)
        inputs = [self.places[tensor] for tensor in op.inputs]
        for tensor in op.outputs:
            # A fed output keeps the fed value; the kernel's output is discarded.
            self.places.setdefault(tensor, len(self._template))
            self._template.append(None)
        return Instruction(op.kernel, _gather(inputs), slice(start, len(self._template)), op)

    def _folded(self, one: Instruction, fed: frozenset[Tensor]) -> bool:
        op = one.op
        if op.stateful or op.blocking or not op.outputs or not fed.isdisjoint(op.outputs):
            return False
        values = list(one.inputs(self._template))
        if any(value is None for value in values):
            return False
        try:
            with np.errstate(all="ignore"):
                outputs = op.kernel(None, *values)
        except Exception:  # each run raises it again
            return False
        if op.inputs and sum(getattr(value, "nbytes", 0) for value in outputs) > _FOLD_BYTES:
            return False
        self._template[one.outputs] = [frozen(value) for value in outputs]
        return True

    def run(self, step: Step, feeds: Sequence[Any]) -> list[Any]:
        """Return the values of the fetches for the values of the feeds."""
        slots = self._template.copy()
        slots[: self.fed] = feeds
        if self.concurrent:
            run_concurrently(self, step, slots)
        else:
            self._run_in_order(step, slots)
        return [slots[place] for place in self._results]

    def _run_in_order(self, step: Step, slots: list[Any]) -> None:
        one = None
        try:
            for one in self.code:
                slots[one[2]] = one[0](step, *one[1](slots))
        except Exception as error:
            assert one is not None
            changed = raised(error, one.op)
            if changed is error:
                raise
            raise changed from error


def _may_wait_for_each_other(ops: Sequence[Operation]) -> bool:
    """Return whether two operations may block, and neither depends on the other."""
    if sum(op.blocking for op in ops) < 2:
        return False
    before: dict[Operation, int] = {}
    seen = 0
    for op in ops:
        ahead = 0
        for other in (*(tensor.op for tensor in op.inputs), *op.control_inputs):
            ahead |= before.get(other, 0)
        if op.blocking:
            if ahead != seen:
                return True
            bit = seen + 1
            ahead |= bit
            seen |= bit
        before[op] = ahead
    return False
