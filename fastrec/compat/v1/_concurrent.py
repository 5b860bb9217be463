# SPDX-License-Identifier: Apache-2.0
"""Run a plan in which operations may wait for each other.

An operation that may block gets a thread for its duration; all others run in the caller's thread.
All threads have ended when the run ends, also after an error.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._nodes import Operation
from ._plan import Instruction, Plan, raised

if TYPE_CHECKING:
    from ._runtime import Step

__all__ = ["run_concurrently"]

_SLICE = 0.2  # seconds for which the caller's thread waits before it checks for cancellation


class _Run:
    def __init__(self, plan: Plan, step: Step, slots: list[Any]) -> None:
        self.step, self.slots = step, slots
        self.done: queue.SimpleQueue[tuple[Instruction, Any, BaseException | None]]
        self.done = queue.SimpleQueue()
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
        except queue.Empty:
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
