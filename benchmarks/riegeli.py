# SPDX-License-Identifier: Apache-2.0
"""Records of array_record and Riegeli files: fastrec, and the package array_record.

    python benchmarks/riegeli.py >> section.md

Prints a section in Markdown for benchmarks/README.md. Requires array_record, zstandard, brotli and
cramjam. Each number comes from the least processor time of `ROUNDS` rounds, in which the two take
turns. Nothing is done with the records.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from array_record.python import array_record_module

import fastrec
from fastrec.bench.machine import cpu_name, memory_text
from fastrec.tables.riegeli import ArrayRecordWriter, RiegeliReader

ROUNDS = 5
LAYOUTS = (
    "zstd",
    "uncompressed",
    "snappy",
    "brotli:5",
    "transpose:true,zstd",
)


def examples(count: int) -> list[bytes]:
    """Return records of an id, text of 60 words and 700 bytes that do not compress."""
    rng = np.random.default_rng(1)
    words = [b"word%d" % number for number in range(5000)]
    return [
        fastrec.encode_example(
            {
                "id": [number],
                "text": [b" ".join(words[at] for at in rng.integers(0, 5000, 60))],
                "image": [rng.bytes(700)],
            }
        )
        for number in range(count)
    ]


class Sink:
    """A file of the sink that keeps nothing."""

    def write_frames(self, data: bytes, records: int) -> None:
        pass


def read_with_package(path: str) -> None:
    reader = array_record_module.ArrayRecordReader(path, "max_parallelism:0")
    for _ in range(reader.num_records()):
        reader.read()


def read(path: str) -> None:
    for _ in RiegeliReader(path, has_index=True):
        pass


def write_with_package(path: str, options: str, records: Sequence[bytes]) -> None:
    _write(array_record_module.ArrayRecordWriter(path, options), records)


def write(records: Sequence[bytes]) -> None:
    _write(ArrayRecordWriter(Sink(), 3), records)


def _write(writer: Any, records: Sequence[bytes]) -> None:
    for record in records:
        writer.write(record)
    writer.close()


def compare(label: str, size: int, *ways: Callable[[], None]) -> None:
    """Print a row of MB per core second of two ways, and their ratio."""
    least = [float("inf")] * len(ways)
    for _ in range(ROUNDS):
        for number, way in enumerate(ways):
            began = time.process_time()
            way()
            least[number] = min(least[number], time.process_time() - began)
    ours, theirs = (size / 1e6 / each for each in least)
    print(f"| {label} | {ours:,.0f} | {theirs:,.0f} | {ours / theirs:.2f} |")


def main() -> None:
    version = importlib.metadata.version("array_record")
    day = datetime.datetime.now(datetime.timezone.utc).date()
    print(f"`python benchmarks/riegeli.py`, array_record {version}, {cpu_name()}, ", end="")
    print(f"{memory_text()}, {day}; MB of records per core second.\n")
    print("| | fastrec | array_record | ratio |\n|---|--:|--:|--:|")
    images = [np.random.default_rng(2).bytes(100_000) for _ in range(400)]
    sets = (("1.2 kB", examples(20_000), 500), ("100 kB", images, 10))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.array_record")
        for size, records, group in sets:
            total = sum(map(len, records))
            for layout in LAYOUTS:
                for grouped in (1, group) if layout[0] in "zu" else (group,):
                    write_with_package(path, f"group_size:{grouped},{layout}", records)
                    label = f"read {size}, {layout}, {grouped} per chunk"
                    compare(label, total, partial(read, path), partial(read_with_package, path))
            compare(
                f"write {size}, zstd, 1 per chunk",
                total,
                partial(write, records),
                partial(write_with_package, path, "group_size:1,zstd:3", records),
            )


if __name__ == "__main__":
    main()
