# SPDX-License-Identifier: Apache-2.0
"""Trials that need a separate interpreter: the cost of importing, and the use of memory."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import asdict

from ..worker import Start, Task, Trial

__all__ = ["importing", "memory"]

_IMPORT = """
import sys
sys.path[:0] = {paths!r}
from time import perf_counter
start = perf_counter()
import {module}
print(perf_counter() - start)
"""

# Peak of the process's private memory (mapped files belong to the system), minus the memory after
# the import. Where /proc does not report it, the peak of all memory.
_MEMORY = """
import json, os, resource, sys
sys.path[:0] = {paths!r}
import importlib.util
spec = importlib.util.spec_from_file_location(
    "fastrec_bench", {package!r} + "/__init__.py", submodule_search_locations=[{package!r}])
module = importlib.util.module_from_spec(spec)
sys.modules["fastrec_bench"] = module
spec.loader.exec_module(module)
from fastrec_bench.worker import Task
task = Task.from_request(json.loads({task!r}))

def own():
    try:
        with open("/proc/self/status") as file:
            return next(int(l.split()[1]) << 10 for l in file if l.startswith("RssAnon"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

class Watch:
    def __init__(self):
        self.base = self.peak = own()
    def look(self):
        self.peak = max(self.peak, own())

{code}
print(watch.peak - watch.base)
"""


def _run(code: str) -> float:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=environment,
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it failed"])[-1])
    return float(done.stdout.split()[-1])


def importing(module: str) -> Start:
    """Measure the seconds of ``import module`` in a new interpreter, including NumPy."""

    def start(task: Task) -> Trial:
        code = _IMPORT.format(paths=[p for p in sys.path if p], module=module)
        return Trial(lambda: _run(code), measures_itself=True, records=1)

    return start


def memory(body: str, *paths: str) -> Start:
    """Measure the peak memory of `body`, which creates a ``Watch`` and calls it for every batch."""

    def start(task: Task) -> Trial:
        import json

        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        request = json.dumps({**asdict(task), "case": task.case.to_json()})
        code = _MEMORY.format(
            paths=[p for p in (*paths, *sys.path) if p], package=package, task=request, code=body
        )
        return Trial(lambda: _run(code), measures_itself=True)

    return start
