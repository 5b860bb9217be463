# SPDX-License-Identifier: Apache-2.0
"""The program of one fetch of a session: compiled once, run many times.

The program contains the operations that the fetches depend on, in the order of their creation.
Values that depend only on constants are computed when the program is compiled.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._tf.arrays import frozen
from .._tf.tensor import as_array
from .._tf.tracing.recording import Node
from .._tf.tracing.running import Program
from ._nodes import DEAD, Kernel, Operation, SessionOp, Tensor

if TYPE_CHECKING:
    from ._runtime import Step

_SLICE = 0.2  # seconds between two checks for cancellation by the caller's thread


def run_concurrently(plan: Plan, step: Step, slots: list[Any]) -> None:
    """Run `plan` with its values in `slots`, and with threads for operations that may block."""
    import queue  # few plans have operations that wait

    code, threads, failed = plan.code, list[threading.Thread](), list[BaseException]()
    ended: queue.SimpleQueue[tuple[int, Any, BaseException | None]] = queue.SimpleQueue()
    ops: list[Operation] = [one.node.view for one in code]
    numbers = {op: number for number, op in enumerate(ops)}
    ahead = [_ahead(op, numbers) for op in ops]
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
            op = ops[number]
            failed.append(op.named(error) if isinstance(error, Exception) else error)
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
        op, values = ops[number], list(code[number].inputs(slots))
        # If nothing else is running, all remaining operations depend on this one.
        if not op.node.op.blocking or not (running or ready):
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


def needed(targets: Iterable[Operation], fed: frozenset[Tensor]) -> list[Operation]:
    """Return the operations that `targets` depend on, in an order in which they can run."""
    found: dict[Operation, None] = {}
    ahead = list(targets)
    while ahead:
        op = ahead.pop()
        if op in found:
            continue
        found[op] = None
        ahead.extend(tensor.op for _, tensor in op.node.inputs if tensor not in fed)
        ahead.extend(op.control_inputs)
    return sorted(found, key=lambda op: op._id)


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
        fed = frozenset(feeds)
        wanted = [(isinstance(each, Tensor), each) for each in fetches]
        left = [each for each in fetches if each not in fed]
        targets = [each if isinstance(each, Operation) else each.op for each in left]
        nodes = [op.node for op in needed(targets, fed)]
        super().__init__(nodes, feeds, wanted, kernel_of, lambda operation: None, _folded)
        if _may_wait_for_each_other([one.node.view for one in self.code]):
            self.scheduler = run_concurrently

    def _raised(self, error: Exception, node: Node) -> Exception:
        found: Exception = node.view.named(error)
        return found


def kernel_of(node: Node) -> Kernel:
    """Return the kernel of a node as a function of the step and the inputs."""
    op, count = node.op, len(node.slots)
    if isinstance(op, SessionOp):
        kernel = op.kernel
    else:
        function = functools.partial(op.kernel, **node.attributes) if node.attributes else op.kernel

        def kernel(step: Any, *values: Any) -> tuple[Any, ...]:
            found = function(*values)
            if type(found) is np.ndarray:
                return (found,)
            return tuple(map(as_array, found)) if isinstance(found, tuple) else (as_array(found),)

    if not node.view.switched or op.name == "Merge":
        return kernel

    def alive(step: Any, *values: Any) -> tuple[Any, ...]:
        return (DEAD,) * count if any(each is DEAD for each in values) else kernel(step, *values)

    return alive


def _folded(node: Node, values: Sequence[Any]) -> list[Any] | None:
    """Return the outputs of an operation if all inputs are constants and it succeeds, or None."""
    if node.view.stateful or node.op.blocking or any(value is None for value in values):
        return None
    try:
        with np.errstate(all="ignore"):
            outputs = kernel_of(node)(None, *values)
    except Exception:  # each run raises it again
        return None
    if values and sum(getattr(value, "nbytes", 0) for value in outputs) > _FOLD_BYTES:
        return None
    return [frozen(value) for value in outputs]


def _may_wait_for_each_other(ops: Sequence[Operation]) -> bool:
    """Return whether two operations may block, and neither depends on the other."""
    if sum(op.node.op.blocking for op in ops) < 2:
        return False
    before: dict[Operation, int] = {}
    seen = 0
    for op in ops:
        ahead = 0
        for other in (*(tensor.op for tensor in op.inputs), *op.control_inputs):
            ahead |= before.get(other, 0)
        if op.node.op.blocking:
            if ahead != seen:
                return True
            bit = seen + 1
            ahead |= bit
            seen |= bit
        before[op] = ahead
    return False
