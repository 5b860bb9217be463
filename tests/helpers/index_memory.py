# SPDX-License-Identifier: Apache-2.0
"""Memory that open datasets keep for each record, measured in a process that does nothing else:
``python index_memory.py COUNT KIND FILE`` prints it."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fastrec
from fastrec import _core
from fastrec.records.remote_dataset import IndexList, RemoteDataset
from fastrec.storage.options import StorageOptions

TIMES = 24


class Stored:
    """A local file in the place of an object of a store."""

    silent = False

    def __init__(self, path: Path, name: str) -> None:
        self.data, self.name = path.read_bytes(), name
        self.size = len(self.data)

    def read(self, begin: int, end: int, pause: Any) -> bytes:
        """Some of its bytes."""
        return self.data[begin:end]

    def identify(self, pause: Any) -> None:
        """Nothing: it has no versions."""


def remote(file: Stored) -> RemoteDataset:
    """A dataset of one object, which is indexed in one pass over it."""
    chunks = iter([file.data[start : start + 100_000] for start in range(0, file.size, 100_000)])

    def read(size: int) -> bytes:
        return next(chunks, b"")

    index = _core.RecordReader(file.name, read=read, verify=False).index()
    options = {"verify": True, "max_record": 0}
    return RemoteDataset([file], IndexList([index]), StorageOptions(), options)


def _held() -> int:
    """Memory of this process, but for files that it has mapped."""
    with contextlib.suppress(AttributeError):  # what was freed goes back to the system
        ctypes.CDLL(None).malloc_trim(0)
    found = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) << 10


def _taken(make: Callable[[], Any], count: int) -> float:
    """Bytes that each of some holds for a record, after two that may keep what the next needs."""
    made = [make(), make()]
    gc.collect()
    before = _held()
    made += [make() for _ in range(TIMES)]
    gc.collect()
    return (_held() - before) / (TIMES * count)


def main(count: int, kind: str, path: Path) -> None:
    """Print how many bytes a record takes in a dataset of this kind."""
    kinds: dict[str, Callable[[], Any]] = {
        "numbers": lambda: np.ones(count + 1, np.uint64),
        "file": lambda: fastrec.Reader(path)._files.dataset(),
    }
    if kind == "object":
        stored = Stored(path, "s3://bucket/a.tfrecord")
        kinds["object"] = lambda: remote(stored)
    print(_taken(kinds[kind], count))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
