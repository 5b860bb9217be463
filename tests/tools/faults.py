# SPDX-License-Identifier: Apache-2.0
"""Every system call of every job fails once, with every errno, and nothing worse comes of it.

    LD_PRELOAD=shim.so SHIM_UNDER=FOLDER python tests/tools/faults.py FOLDER [--most N] [JOB ...]

The shim is tests/c/shim.c. For each job (read in every way, write in every way, batches in every
order, index, repair, verify, the command line), each call and each number n, the n-th such call
fails. Then the job ends as it does without the fault, or with an OSError that has the errno and
names a file; never a hang, a wrong record, or one missing; no descriptor, thread or temporary
file is left; and what was there before is there, or the whole of what was to be.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
import faulthandler
import gc
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fault_jobs import JOBS, Found, armed, furnish

from fastrec import _core

HANG_S = 10

ERRNOS = {
    "open": [errno.EIO, errno.EACCES, errno.EMFILE, errno.EINTR],
    "read": [errno.EIO, errno.ESTALE, errno.EINTR],
    "pread": [errno.EIO, errno.EINTR],
    "mmap": [errno.ENOMEM, errno.ENODEV],
    "madvise": [errno.EIO],
    "stat": [errno.EIO, errno.ESTALE],
    "opendir": [errno.EACCES, errno.EIO],
    "close": [errno.EIO, errno.ENOSPC, errno.EINTR],
    "write": [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EINTR],
    "fsync": [errno.EIO, errno.ENOSPC],
    "rename": [errno.EIO, errno.ENOSPC, errno.EACCES],
    "link": [errno.EPERM, errno.EIO],
    "pthread_create": [errno.EAGAIN],
    "malloc": [errno.ENOMEM],
}
# These the core or the interpreter does without, or makes again; none may be seen from outside.
HARMLESS = {("madvise", errno.EIO)} | {
    (call, errno.EINTR) for call in ("open", "read", "pread", "write", "close")
}

# -- Faults ------------------------------------------------------------------------------------


class Fault(NamedTuple):
    """The `at`-th `call` fails with `code`, and all after it if it `stays`."""

    call: str
    code: int
    at: int
    stays: bool = False

    def __str__(self) -> str:
        name = errno.errorcode.get(self.code, "short")
        return f"{self.call} {self.at} {name}{' for good' if self.stays else ''}"


class Shim:
    """The calls of this process that fail."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self._arm, self._calls = library.shim_arm, library.shim_calls
        self._arm.argtypes = (
            ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_bool, ctypes.c_size_t,
        )  # fmt: skip
        core = ctypes.CDLL(_core.__file__)
        inside = ctypes.cast(core.PyInit__core, ctypes.c_void_p)
        if library.shim_own(inside) != 0:
            raise SystemExit("the core's place in memory is not known")

    @contextlib.contextmanager
    def armed(self, fault: Fault | None, limit: int = 0) -> Iterator[list[bool]]:
        """Within it the fault happens; afterwards, whether it did."""
        came = [False]
        armed.errno = fault.code if fault else 0
        at = fault or Fault("", 0, 0)
        self._arm(at.call.encode(), at.at, at.code, at.stays, limit)
        try:
            yield came
        finally:
            came[0] = self._calls() > at.at
            self._arm(b"", 0, 0, False, 0)
            armed.errno = 0


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def held() -> tuple[int, int]:
    """Open descriptors and threads, once those that are on their way out have gone."""
    until = time.monotonic() + 3
    while True:
        now = len(os.listdir("/proc/self/fd")), threads()
        if now <= at_rest or time.monotonic() > until:
            return now
        gc.collect()
        time.sleep(0.002)


at_rest = (0, 0)


def contents(folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def sound(name: str, data: bytes) -> bytes:
    """An index knows when its file was changed, which differs from run to run."""
    return name.encode() if name.endswith(".frindex") else data


class Run:
    """One job, with one fault after the other."""

    def __init__(self, shim: Shim, name: str, root: str) -> None:
        self.shim, self.name, self.job = shim, name, JOBS[name]
        self.template, self.folder = f"{root}/template", f"{root}/work"
        self.cases = 0
        self.problems: list[str] = []
        self.fresh()
        self.before = contents(self.folder)
        self.expected: Found = []
        self.job.run(self.folder, self.expected)
        self.after = contents(self.folder)

    def fresh(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.template, self.folder)

    def fault(self, fault: Fault | None, limit: int = 0) -> bool:
        """Whether there was such a call."""
        if self.job.writes:
            self.fresh()
        found: Found = []
        error: BaseException | None = None
        faulthandler.dump_traceback_later(HANG_S, exit=True)
        print(f"{self.name}: {fault or limit}", file=sys.__stderr__, flush=True)
        with self.shim.armed(fault, limit) as came:
            try:
                self.job.run(self.folder, found)
            except Exception as raised:
                error = raised.with_traceback(None)
                error.__context__ = error.__cause__ = None
            gc.collect()
        faulthandler.cancel_dump_traceback_later()
        if not came[0] and fault is not None:
            return False
        self.cases += 1
        for problem in [*self._of_outcome(fault, found, error), *self._of_files(error)]:
            self.problems.append(f"{self.name}: {fault or f'at most {limit} bytes'}: {problem}")
        if (now := held()) > at_rest:
            self.problems.append(f"{self.name}: {fault}: descriptors, threads {at_rest} -> {now}")
        return True

    def _of_outcome(
        self, fault: Fault | None, found: Found, error: BaseException | None
    ) -> Iterator[str]:
        if error is None:
            if found != self.expected:
                yield f"it found {found!s:.200}"
            return
        if found != self.expected[: len(found)]:
            yield f"before {error!r} it found {found!s:.200}"
        if fault is None or ((fault.call, fault.code) in HARMLESS and not fault.stays):
            yield f"it raised {error!r}"
        elif fault.call == "malloc":
            if not isinstance(error, MemoryError):
                yield f"it raised {error!r}"
        elif fault.call == "pthread_create":
            if not isinstance(error, (RuntimeError, OSError, MemoryError)):
                yield f"it raised {error!r}"
        elif not isinstance(error, OSError) or error.errno != fault.code:
            yield f"it raised {error!r}"
        elif not error.filename or not os.fsdecode(error.filename).startswith(self.folder):
            yield f"it raised {error!r} without the file's name"

    def _of_files(self, error: BaseException | None) -> Iterator[str]:
        if not self.job.writes:
            return
        now = {name: sound(name, data) for name, data in contents(self.folder).items()}
        before = {name: sound(name, data) for name, data in self.before.items()}
        after = {name: sound(name, data) for name, data in self.after.items()}
        if now == after and (error is None or "in its place" in str(error)):
            return
        kept = {name for name in now if name.endswith(".damaged") and now[name] in before.values()}
        if error is not None and {name: now[name] for name in now if name not in kept} == before:
            return
        left = sorted(now.keys() - before.keys())
        changed = [name for name in now if name in before and now[name] != before[name]]
        gone = sorted(before.keys() - now.keys())
        listed = all(ascii(f"{self.folder}/{name}") in str(error) for name in changed + left)
        if error is not None and "are replaced" in str(error) and listed:
            return
        yield f"after {error!r} there are {left}, changed {changed}, gone {gone}"

    def all(self, most: int, thorough: bool) -> None:
        for call, codes in ERRNOS.items():
            for code in codes if thorough else codes[:1] + codes[-1:]:
                for at in range(most):
                    if not self.fault(Fault(call, code, at)):
                        break
                    if thorough and code != errno.EINTR and call != "malloc":
                        self.fault(Fault(call, code, at, stays=True))
        for limit in (1001, 1 << 14) if thorough else (5003,):
            self.fault(None, limit)


def main() -> int:
    global at_rest
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--most", type=int, default=10_000, help="calls of a kind that fail")
    parser.add_argument("--thorough", action="store_true", help="every errno, also for good")
    parser.add_argument("--part", default="1/1", help="which part of the jobs, of how many")
    parser.add_argument("jobs", nargs="*")
    arguments = parser.parse_intermixed_args()
    template = f"{arguments.folder}/template"
    os.mkdir(template)
    furnish(template)
    shim = Shim()
    part, parts = map(int, arguments.part.split("/"))
    names = arguments.jobs or list(JOBS)[part - 1 :: parts]
    cases, problems = 0, []
    for name in names:
        Run(shim, name, arguments.folder)  # imports, caches, threads that stay
        at_rest = (1 << 30, 1 << 30)
        gc.collect()
        gc.freeze()
        at_rest = len(os.listdir("/proc/self/fd")), threads()
        run = Run(shim, name, arguments.folder)
        run.all(arguments.most, arguments.thorough)
        cases += run.cases
        problems += run.problems
        print(f"{name:30} {run.cases:6} faults, {len(run.problems)} problems", flush=True)
    for problem in problems:
        print(problem)
    print(f"{cases} faults, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
