# SPDX-License-Identifier: Apache-2.0
"""Keep whole objects from which records are requested repeatedly, also for worker processes."""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from multiprocessing.context import get_spawning_popen
from typing import TYPE_CHECKING, Any

with contextlib.suppress(ImportError):  # missing on Windows, where each worker keeps its own copies
    import fcntl

from ..errors import warn_caller
from ..storage.ahead import Job
from ..storage.options import StorageOptions
from ..threads.locks import ProcessLock

if TYPE_CHECKING:
    from .remote_dataset import Plan, RangedFile

__all__ = ["KeptObjects", "fetch"]

_MANY_REQUESTS = 1000  # random requests before a warning, at most
_SOME_REQUESTS = 64  # random requests before a warning, at least
_BATCH = 16  # records per call from which further such calls are expected
_FEW_REQUESTS = 4  # ranges of one object, fetched by calls for fewer records
_POLL_S = 0.02  # seconds between two checks for an object that another process fetches
_STALLED_S = 60.0  # the longest wait for an object that another process fetches


class SharedCopies:
    """One unnamed temporary file with copies of objects, for a process and those that it spawns.

    The file begins with one byte per object, which is 1 if the copy is complete. The process that
    fetches an object locks this byte; a lock ends with its process.

    Parameters
    ----------
    sizes : sequence of int
        Sizes of the objects, in bytes.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = sizes
        with tempfile.TemporaryFile(prefix="fastrec-") as file:
            os.ftruncate(file.fileno(), len(sizes) + sum(sizes))
            self._open(os.dup(file.fileno()))

    def _open(self, number: int) -> None:
        self._file = number
        weakref.finalize(self, os.close, number)
        self._begins = [*accumulate(self._sizes, initial=len(self._sizes))]
        self._view = memoryview(mmap.mmap(number, self._begins[-1], access=mmap.ACCESS_READ))

    def get(
        self, number: int, fetch: Callable[[], memoryview], pause: Callable[[float], None]
    ) -> memoryview:
        """Return an object, which the first process that needs it fetches."""
        began = time.monotonic()
        while not self._view[number]:
            if not self._lock(number):
                if time.monotonic() - began > _STALLED_S:
                    return fetch()
                pause(_POLL_S)
                continue
            try:
                if not self._view[number]:
                    data = fetch()
                    if not self._write(number, data):
                        return data
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, number)
        return self._view[self._begins[number] : self._begins[number + 1]]

    def _lock(self, number: int) -> bool:
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _write(self, number: int, data: memoryview) -> bool:
        """Store a copy; return False without enough space."""
        done = 0
        with contextlib.suppress(OSError):
            while done < len(data):
                done += os.pwrite(self._file, data[done:], self._begins[number] + done)
            return os.pwrite(self._file, b"\1", number) == 1
        return False

    def __getstate__(self) -> dict[str, Any]:
        from multiprocessing.reduction import DupFd

        return {"sizes": self._sizes, "file": DupFd(self._file)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._sizes = state["sizes"]
        self._open(state["file"].detach())


class KeptObjects:
    """Objects from which calls request records repeatedly, kept whole if all fit into the window.

    A call for a batch of records fetches the whole object if it is not the first range of the
    object, and so does each call after :meth:`expect_all`. A call for fewer records does so after
    four ranges. A process that ``multiprocessing`` spawns shares the objects with its siblings, and
    fetches whole objects only.
    """

    def __init__(self, files: Sequence[RangedFile], storage: StorageOptions, size: int) -> None:
        self._files, self._size = files, size
        self.fits: bool = size <= storage.window_bytes
        self._shared: SharedCopies | None = None
        self._reset()

    def _reset(self) -> None:
        self._whole: dict[int, memoryview] = {}
        self._used: Counter[int] = Counter()  # number of ranges fetched from each object
        self._locks = [ProcessLock() for _ in self._files] if self.fits else []
        self._requests = 0
        self._few = _FEW_REQUESTS

    def __contains__(self, number: int) -> bool:
        return number in self._whole

    def expect_all(self) -> None:
        """Expect requests for all records, also by calls for few records."""
        self._few = min(self._few, 1)

    @property
    def are_shared(self) -> bool:
        """Whether this process shares the objects with the processes of its parent."""
        return self._shared is not None and self._few == 0

    def __getstate__(self) -> dict[str, Any]:
        shared = None
        if self.fits and get_spawning_popen() is not None and os.name != "nt":
            with contextlib.suppress(OSError):  # no directory for temporary files
                shared = self._shared = self._shared or SharedCopies([f.size for f in self._files])
        return {"_files": self._files, "_size": self._size, "fits": self.fits, "_shared": shared}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()
        if self._shared is not None:
            self._few = 0

    def jobs(self, plan: Plan) -> Iterator[Job]:
        """Yield one job for each range of a plan."""
        self._warn_of_requests(len(plan.ranges))
        self._used.update(file for file, _, _ in plan.ranges)
        few = min(self._few, 1) if len(plan.numbers) >= _BATCH else self._few
        for file, begin, end in plan.ranges:
            whole = self.fits and self._used[file] > few
            part = partial(self._part, file) if whole else partial(fetch, self._files[file])
            yield Job(partial(part, begin, end), end - begin)

    def _part(self, number: int, begin: int, end: int, pause: Any) -> memoryview:
        with self._locks[number].current():
            data = self._whole.get(number)
            if data is None:
                file = self._files[number]
                whole = partial(fetch, file, 0, file.size, pause)
                data = self._shared.get(number, whole, pause) if self._shared else whole()
                self._whole[number] = data
        return data[begin:end]

    def _warn_of_requests(self, count: int) -> None:
        before, self._requests = self._requests, self._requests + count
        most = min(_MANY_REQUESTS, max(_SOME_REQUESTS, 2 * len(self._files)))
        if not self.fits and before < most <= self._requests:
            warn_caller(
                f"{self._requests} requests were made for records of {len(self._files)} objects in "
                f"random order; a Batcher, StorageOptions(cache=...) or a window_bytes of at least "
                f"{self._size} makes one or two for each object"
            )


def fetch(file: RangedFile, begin: int, end: int, pause: Any) -> memoryview:
    """Return a part of a file."""
    return memoryview(file.read(begin, end, pause))
