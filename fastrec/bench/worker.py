# SPDX-License-Identifier: Apache-2.0
"""Run a contestant's process: read requests, one JSON object per line, and answer likewise.

The requests prepare a trial, which is run once to warm up and to describe its output; then run it a
number of times and report the duration; then drop it.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .cases import Case

__all__ = ["Gap", "Task", "Trial", "main"]


class Gap(Exception):
    """Raised if this contestant cannot take part, with the reason."""


@dataclass(frozen=True)
class Task:
    """The input of a trial. `path` contains the case's records; the trial may write to `out`."""

    job: str
    variant: str
    case: Case
    path: str
    out: str
    seed: int
    saved: str = ""  # path of the saved columns of the user's file
    threads: int = 2
    options: dict[str, Any] | None = None
    jpeg_driver: str = ""  # path of the compiled benchmarks/jpeg_ceiling.c

    @staticmethod
    def from_request(request: dict[str, Any]) -> Task:
        """Return the task that a request describes."""
        return Task(**{**request, "case": Case.from_json(request["case"])})


@dataclass(frozen=True)
class Trial:
    """A trial. `once` is timed; `digest`, which is not, describes the output of the same work."""

    once: Callable[[], Any]
    digest: Callable[[], dict[str, int]] | None = None
    records: int | None = None  # number of records per pass, if not all records of the case
    close: Callable[[], object] | None = None
    # If set, the trial returns its own seconds (or bytes, for memory), and `once` is not timed.
    measures_itself: bool = False
    # CPU time of the work; trials that use other processes replace this.
    cpu: Callable[[], float] = time.process_time


Start = Callable[[Task], Trial]


class _Stage:
    """The peer's module, and its prepared trials by variant."""

    def __init__(self, peer: str, folder: str) -> None:
        package = importlib.import_module(f"{__package__}.peers")
        package.__path__ = [*package.__path__, *filter(None, [folder])]
        self._module: Any = importlib.import_module(f"{package.__name__}.{peer}")
        self._trials: dict[str, Trial] = {}

    def hello(self) -> dict[str, Any]:
        jobs = {name: list(variants) for name, variants in self._module.JOBS.items()}
        return {"versions": self._module.versions(), "jobs": jobs}

    def prepare(self, task: dict[str, Any]) -> dict[str, Any]:
        made = Task.from_request(task)
        start: Start = self._module.JOBS[made.job][made.variant]
        self._trials[made.variant] = trial = start(made)
        return {
            "digest": None if trial.digest is None else trial.digest(),
            "records": made.case.records if trial.records is None else trial.records,
            "measures_itself": trial.measures_itself,
            **self.run(made.variant, 1),
        }

    def run(self, variant: str, passes: int) -> dict[str, Any]:
        trial = self._trials[variant]
        start, cpu = time.perf_counter(), trial.cpu()
        for _ in range(passes):
            value = trial.once()
        seconds = (time.perf_counter() - start) / passes
        busy = (trial.cpu() - cpu) / passes
        return {"seconds": float(value) if trial.measures_itself else seconds, "busy": busy}

    def drop(self) -> dict[str, Any]:
        trials, self._trials = self._trials, {}
        for trial in trials.values():
            if trial.close is not None:
                trial.close()
        gc.collect()
        return {}


def _requests() -> Iterator[dict[str, Any]]:
    for line in sys.stdin:
        yield json.loads(line)


def main(peer: str, folder: str = "") -> None:
    """Serve requests until standard input ends. Output of libraries goes to standard error.

    `folder` contains the modules of peers that are not part of the package.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(what: dict[str, Any]) -> None:
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    try:
        stage = _Stage(peer, folder)
    except ImportError as error:
        answer({"gap": f"not installed ({error})"})
        return
    for request in _requests():
        try:
            result = getattr(stage, request.pop("op"))(**request)
        except Gap as gap:
            result = {"gap": str(gap)}
        except Exception as error:  # any exception of a peer is its result
            traceback.print_exc()
            result = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
        answer({**result, "cpu": sum(os.times()[:4])})
