# SPDX-License-Identifier: Apache-2.0
"""Start, query and end the processes of contestants."""

from __future__ import annotations

import glob
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import IO, Any

import fastrec

from .jobs import CEILING, FRAMEWORKS, OURS

__all__ = ["Contestant", "interpreters", "peers_folder"]

_START = """
import importlib.util, sys
sys.path[:] = sys.argv[4:] + [path for path in sys.path if path]
spec = importlib.util.spec_from_file_location(
    "fastrec_bench", sys.argv[1] + "/__init__.py", submodule_search_locations=[sys.argv[1]])
module = importlib.util.module_from_spec(spec)
sys.modules["fastrec_bench"] = module
spec.loader.exec_module(module)
from fastrec_bench.worker import main
main(sys.argv[2], sys.argv[3])
"""

_HERE = os.path.dirname(os.path.abspath(__file__))
_HOME = os.path.dirname(os.path.abspath(os.path.dirname(fastrec.__file__)))


def peers_folder() -> str:
    """Return the folder of the peers' programs; "" outside a checkout.

    The package omits these programs: few users have all of the libraries, and comparing speeds
    requires the sources anyway.
    """
    for root in (os.getcwd(), _HOME):
        folder = os.path.join(root, "benchmarks", "peers")
        if os.path.isdir(folder):
            return folder
    return ""


_HAS = """
from importlib.util import find_spec
import sys
def has(module):
    parent = module.rpartition(".")[0]
    return (not parent or has(parent)) and find_spec(module)
print(*(peer for peer in sys.argv[1:] if has({"dali": "nvidia.dali"}.get(peer, peer))))
"""


def interpreters(modules: Iterable[str], pattern: str) -> dict[str, str]:
    """Find an interpreter for each module that is installed.

    The candidates are this interpreter and those that match `pattern`, such as the environments
    that ``make bench`` creates.
    """
    found: dict[str, str] = {}
    wanted = list(modules)
    for python in (sys.executable, *sorted(glob.glob(pattern))):
        command = [python, "-c", _HAS, *wanted]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for module in done.stdout.split():
            found.setdefault(module, python)
    return found


class Contestant:
    """A worker process of `peer`, started by the first request and restarted after it has died.

    Its standard error goes to `log`, or to ours. `threads` is passed to libraries that need it at
    their start; 0 lets them choose.
    """

    def __init__(self, peer: str, python: str, log: IO[bytes] | None, threads: int = 0) -> None:
        self._peer, self._python, self._log, self._threads = peer, python, log, threads
        self._process: subprocess.Popen[bytes] | None = None
        self._pending = b""
        self._cpu_now = self._cpu_before = 0.0
        self.about: dict[str, Any] = self.ask("hello", timeout=120)

    @property
    def gap(self) -> str:
        return str(self.about.get("gap") or self.about.get("error") or "")

    def can(self, job: str, variant: str) -> bool:
        """Return whether the peer offers this variant of a job."""
        return variant in self.about.get("jobs", {}).get(job, ())

    def variants(self, job: str) -> list[str]:
        """Return the variants of a job that the peer offers."""
        return list(self.about.get("jobs", {}).get(job, ()))

    def _start(self) -> subprocess.Popen[bytes]:
        # A peer's interpreter may have another ABI, and does not need to find fastrec.
        paths = [_HOME] if self._peer in (OURS, CEILING, *FRAMEWORKS) else []
        threads = str(self._threads or "")
        environment = {**os.environ, "PYTHONHASHSEED": "0", "FASTREC_BENCH_THREADS": threads}
        if self._python != sys.executable:
            environment.pop("PYTHONPATH", None)
        return subprocess.Popen(
            [self._python, "-c", _START, _HERE, self._peer, peers_folder(), *paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
        )

    def ask(self, op: str, timeout: float = 600, **request: Any) -> dict[str, Any]:
        """Send a request and return the answer; ``{"error": ...}`` if it ends or times out."""
        try:
            if self._process is not None and self._process.poll() is not None:
                self.close()
            if self._process is None:
                self._process, self._pending = self._start(), b""
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps({"op": op, **request}).encode() + b"\n")
            self._process.stdin.flush()
            answer: dict[str, Any] = json.loads(self._line(time.monotonic() + timeout))
        except (OSError, EOFError, TimeoutError) as error:
            self.close()
            return {"error": str(error) or "its process ended"}
        self._cpu_now = answer.pop("cpu", self._cpu_now)
        return answer

    @property
    def cpu_seconds(self) -> float:
        """CPU time that its processes have used, as far as they reported it."""
        return self._cpu_before + self._cpu_now

    def _line(self, deadline: float) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._pending:
            ready, _, _ = select.select([descriptor], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise TimeoutError("it took too long")
            data = os.read(descriptor, 1 << 16)
            if not data:
                raise EOFError(f"its process ended with status {self._process.wait()}")
            self._pending += data
        line, self._pending = self._pending.split(b"\n", 1)
        return line

    def close(self) -> None:
        """End the process; the next request starts another one."""
        process, self._process = self._process, None
        if process is not None:
            self._cpu_before, self._cpu_now = self.cpu_seconds, 0.0
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
