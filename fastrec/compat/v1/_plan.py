# SPDX-License-Identifier: Apache-2.0
"""The program of one fetch of a session: compiled once, run many times.

The program contains the operations that the fetches depend on, in the order of their creation.
Values that depend only on constants are computed when the program is compiled.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastrec.errors import FastrecError

from .._tf.errors import OpError, ResourceExhaustedError, invalid, translated
from .._tf.tracing.running import Program
from ._nodes import Operation, Tensor

if TYPE_CHECKING:
    from ._runtime import Step

_SLICE = 0.2  # seconds between two checks for cancellation by the caller's thread


def run_concurrently(plan: Plan, step: Step, slots: list[Any]) -> None:
    """Run `plan` with its values in `slots`, and with threads for operations that may block."""
    import queue  # few plans have operations that wait

    code, threads, failed = plan.code, list[threading.Thread](), list[BaseException]()
    ended: queue.SimpleQueue[tuple[int, Any, BaseException | None]] = queue.SimpleQueue()
    numbers = {one.origin: number for number, one in enumerate(code)}
    ahead = [_ahead(one.origin, numbers) for one in code]
    after: list[list[int]] = [[] for _ in code]
    for number, others in enumerate(ahead):
        for other in others:
            after[other].append(number)
    ready = deque(number for number, others in enumerate(ahead) if not others)
    running = 0

    def call(number: int, values: Iterable[Any]) -> tuple[int, Any, BaseException | None]:
        try:
            with np.errstate(all="ignore"):
                return number, code[number].kernel(step, *values), None
        except BaseException as error:
            return number, None, error

    def finish(number: int, values: Any, error: BaseException | None) -> None:
        if failed:
            return
        if error is not None:
            op = code[number].origin
            failed.append(raised(error, op) if isinstance(error, Exception) else error)
            if failed[0] is not error:
                failed[0].__cause__ = error
            step.cancellation.cancel()
            return
        slots[code[number].outputs] = values
        for later in after[number]:
            ahead[later].discard(number)
            if not ahead[later]:
                ready.append(later)

    def collect() -> None:
        nonlocal running
        with contextlib.suppress(queue.Empty):
            found = ended.get(timeout=_SLICE)
            running -= 1
            finish(*found)

    def start(number: int) -> None:
        nonlocal running
        op, values = code[number].origin, list(code[number].inputs(slots))
        # If nothing else is running, all remaining operations depend on this one.
        if not op.blocking or not (running or ready):
            finish(*call(number, values))
            return
        running += 1
        thread = threading.Thread(
            target=lambda: ended.put(call(number, values)), name=f"fastrec-{op.name}", daemon=True
        )
        thread.start()
        threads.append(thread)

    try:
        while running or (ready and not failed):
            if ready and not failed:
                start(ready.popleft())
            else:
                collect()
    except BaseException as error:  # also Ctrl-C while waiting
        failed[:] = [error]
        step.cancellation.cancel()
        while running:
            collect()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def _ahead(op: Operation, numbers: dict[Operation, int]) -> set[int]:
    others = (*(tensor.op for tensor in op.inputs), *op.control_inputs)
    return {numbers[other] for other in others if other in numbers}


_FOLD_BYTES = 1 << 26


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


class Plan(Program):
    """The program from fed tensors to fetched ones.

    Parameters
    ----------
    fetches : sequence of Tensor or Operation
        The results. The result of an operation is None.
    feeds : sequence of Tensor
        The fed tensors.
    """

    __slots__ = ()

    def __init__(self, fetches: Sequence[Tensor | Operation], feeds: Sequence[Tensor]) -> None:
        super().__init__(feeds)
        fed, places = frozenset(feeds), self.places
        targets = [
            fetch if isinstance(fetch, Operation) else fetch.op
            for fetch in fetches
            if isinstance(fetch, Operation) or fetch not in fed
        ]
        for op in needed(targets, fed):
            inputs = [places[tensor] for tensor in op.inputs]
            outputs = None
            if not (op.stateful or op.blocking) and op.outputs and fed.isdisjoint(op.outputs):
                outputs = _folded(op, [self.values[place] for place in inputs])
            if outputs is None:
                self.add(op.kernel, inputs, op.outputs, op)
            else:
                places.update(zip(op.outputs, map(self.constant, outputs), strict=True))
        none = self.constant(None)  # the result of an operation
        self.finish([none if isinstance(each, Operation) else places[each] for each in fetches])
        if _may_wait_for_each_other([one.origin for one in self.code]):
            self.scheduler = run_concurrently

    def _raised(self, error: Exception, origin: Operation) -> Exception:
        return raised(error, origin)


def _folded(op: Operation, values: Sequence[Any]) -> list[Any] | None:
    """Return the outputs of an operation if all inputs are constants and it succeeds, or None."""
    if any(value is None for value in values):
        return None
    try:
        with np.errstate(all="ignore"):
            outputs = op.kernel(None, *values)
    except Exception:  # each run raises it again
        return None
    if values and sum(getattr(value, "nbytes", 0) for value in outputs) > _FOLD_BYTES:
        return None
    return [frozen(value) for value in outputs]


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
