# SPDX-License-Identifier: Apache-2.0
"""Transforms that worker processes import, and a program that is killed."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import fastrec


def keep(batch: Any) -> Any:
    return batch


def double(batch: Any) -> Any:
    """Return new arrays, a strided view of a new array, and an array of the batch."""
    x = batch["x"]
    return {"x": x, "double": 2 * x, "even": np.repeat(x, 2)[::2], "pid": os.getpid()}


def fail(batch: Any) -> Any:
    if 7 in batch["x"]:
        raise KeyError("seven is unwanted")
    return batch


class Peculiar(Exception):
    """An exception that cannot be made from its arguments."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def fail_peculiarly(batch: Any) -> Any:
    raise Peculiar(1, 2)


def stop(batch: Any) -> Any:
    raise StopIteration


def die(batch: Any) -> Any:
    if 7 in batch["x"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return batch


def leave(batch: Any) -> Any:
    os._exit(3)


def no_result(batch: Any) -> Any:
    return (i for i in range(3))


KEPT: list[Any] = []


def remember(batch: Any) -> Any:
    """Return the sum of all batches of this process so far, which it has kept."""
    KEPT.append(batch["x"])
    return sum(int(each.sum()) for each in KEPT)


def wait(batch: Any) -> Any:
    """Wait until the process is killed."""
    Path(os.environ["STARTED"], str(os.getpid())).touch()
    while True:
        time.sleep(1)


_sleep: Any = ctypes.PyDLL(None).usleep if sys.platform != "win32" else None  # holds the GIL


def meet(folder: str, batch: Any) -> Any:
    """Wait, with the GIL, until two processes are in this function at the same time."""
    Path(folder, str(os.getpid())).touch()
    deadline = time.monotonic() + 300
    while len(os.listdir(folder)) < 2 and time.monotonic() < deadline:
        _sleep(10_000)
    return batch


def main(path: str) -> None:
    features = {"x": fastrec.FixedLenFeature((), np.int64)}
    batcher = fastrec.Batcher(path, features, 4, transform=wait, transform_workers=2)
    next(iter(batcher))


if __name__ == "__main__":
    main(sys.argv[1])
