# SPDX-License-Identifier: Apache-2.0
"""Measure how long calls on one record of 700 MiB stop another Python thread.

    chrt -f 50 python benchmarks/lock_held.py

A second thread wakes every half millisecond. Its longest delay during a call is the longest time
for which the call held the interpreter's lock, plus what the machine adds: the first row sleeps and
shows that part. Real-time priority (`chrt`, as root) keeps it small.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

import fastrec
from fastrec import RawFeature

SIZE = 700 << 20
PERIOD = 0.0005  # seconds between two wakings
TIMES = 3  # the smallest of the longest delays counts, for other programs can only add to them


class Watch:
    """The longest delay of a thread that only sleeps."""

    def __enter__(self) -> Watch:
        self.longest, self._ends = 0.0, False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        time.sleep(0.05)
        self.longest = 0.0
        return self

    def __exit__(self, *_: object) -> None:
        time.sleep(0.01)
        self._ends = True
        self._thread.join()

    def _run(self) -> None:
        before = time.perf_counter()
        while not self._ends:
            time.sleep(PERIOD)
            now = time.perf_counter()
            self.longest, before = max(self.longest, now - before), now


def write(path: str, record: Any) -> None:
    with fastrec.Writer(path, overwrite=True, fsync=False) as writer:
        writer.write(record)


def cases(folder: str) -> dict[str, Callable[[], Any]]:
    """Return the calls, of which earlier ones write the files of later ones."""
    data = os.urandom(1 << 20) * (SIZE >> 20)
    example = fastrec.encode_example({"image": data})
    plain, gzip, zstd, one = (f"{folder}/{name}" for name in ("a", "a.gz", "a.zst", "example"))
    write(one, example)
    features = {"image": RawFeature((SIZE,), "uint8")}
    calls: dict[str, Callable[[], Any]] = {
        "time.sleep(0.5)": lambda: time.sleep(0.5),
        "write(bytes)": lambda: write(plain, data),
        "write(memoryview)": lambda: write(plain, memoryview(data)),
        "encode_example": lambda: fastrec.encode_example({"image": data}),
        "parse_example": lambda: fastrec.parse_example([example], features),
        "Batcher": lambda: next(iter(fastrec.Batcher(one, features, 1))),
    }
    for path, kind in ((plain, ""), (gzip, ", GZIP"), (zstd, ", zstd")):
        reads: dict[str, Callable[[fastrec.Reader], Any]] = {
            "next(iter(reader))": lambda reader: next(iter(reader)),
            "reader[0]": lambda reader: reader[0],
            "reader.read_many([0])": lambda reader: reader.read_many([0]),
            "next(reader.blocks(1))": lambda reader: next(reader.blocks(1)),
            "next(reader.views())": lambda reader: next(reader.views()),
        }
        if kind:
            calls[f"write(bytes){kind}"] = lambda path=path: write(path, data)
        for name, read in reads.items():
            calls[name + kind] = lambda path=path, read=read: read(fastrec.Reader(path))
    return calls


def main() -> None:
    """Print a line per call: its time and the longest delay of the other thread."""
    sys.setswitchinterval(PERIOD)
    with tempfile.TemporaryDirectory() as folder:
        for name, call in cases(folder).items():
            delays, began = [], time.perf_counter()
            for _ in range(TIMES):
                with Watch() as watch:
                    result = call()
                    del result
                delays.append(watch.longest)
            seconds = (time.perf_counter() - began) / TIMES
            print(f"| `{name}` | {seconds:.2f} s | {min(delays) * 1e3:.0f} ms |", flush=True)


if __name__ == "__main__":
    main()
