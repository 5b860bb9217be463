# SPDX-License-Identifier: Apache-2.0
"""Reading compressed record files: GZIP and zstd, in sequence and by number.

    python benchmarks/compressed.py >> section.md

Prints a section in Markdown for benchmarks/README.md. Each number is the least processor time of
`ROUNDS` rounds; a record is read from a part of the file that was not read before.

    python benchmarks/compressed.py threads

Compares the times on one processor and on two, each in new processes, which take turns.
"""

from __future__ import annotations

import datetime
import gzip
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import fastrec
from fastrec.bench.cases import CASES, columns_of
from fastrec.bench.machine import cpu_name, memory_text
from fastrec.records import zstd

ROUNDS = 5
PLACES = 60  # records that are read by number, in different parts of a file
FORMS: dict[str, dict[str, Any]] = {
    "plain": {"compression": None},
    "GZIP, level 6": {"compression": "GZIP", "level": 6},
    "zstd, level 3": {"compression": "ZSTD"},
}


def seconds_of_pass(path: str) -> float:
    """Return the processor time of reading all records."""
    began = time.process_time()
    for _ in fastrec.Reader(path).blocks(1024):
        pass
    return time.process_time() - began


def seconds_of_gzip(path: str) -> float:
    """Return the processor time that Python's gzip, which uses zlib, needs for a file."""
    began = time.process_time()
    with gzip.open(path) as file:
        while file.read(1 << 20):
            pass
    return time.process_time() - began


def seconds_of_records(path: str) -> list[float]:
    """Return the processor time of one record in each part of the file."""
    reader = fastrec.Reader(path)
    count = len(reader)
    places = [count * (2 * place + 1) // (2 * PLACES) for place in range(PLACES)]
    random.Random(0).shuffle(places)
    least = []
    for place in places:
        began = time.process_time()
        reader[place]
        least.append(time.process_time() - began)
    return least


def print_pass(cpus: int, paths: list[str]) -> None:
    """Print the median time, and processor time, of passes with so many inflating threads."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cpus])
    passes = []
    for _ in range(5 * ROUNDS):
        began, used = time.perf_counter(), time.process_time()
        for _ in fastrec.Reader(paths).blocks(1024):
            pass
        passes.append((time.perf_counter() - began, time.process_time() - used))
    print(*map(statistics.median, zip(*passes, strict=True)))


def compare_threads() -> None:
    """Print a table of 8 files, and of one indexed file, on one processor and on two."""
    print("| | one processor | two | processor time | relative to one | in the rounds |")
    print("|---|--:|--:|--:|--:|--:|")
    words = [b"%x" % (i * i * 7919 % 100_003) for i in range(2000)]
    rng = random.Random(0)
    records = [b" ".join(rng.choices(words, range(2000, 0, -1), k=110)) for _ in range(64_000)]
    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {"compression": "GZIP", "level": 6}
        paths = [os.path.join(folder, f"{number}.gz") for number in range(8)]
        for number, path in enumerate(paths):
            with fastrec.Writer(path, **options) as writer:
                writer.write_many(records[number::8])
        one = os.path.join(folder, "one.gz")
        with fastrec.Writer(one, index=True, **options) as writer:
            writer.write_many(records)
        for name, files in (("8 files", paths), ("1 file with an index", [one])):
            found: dict[int, list[list[float]]] = {1: [], 2: []}
            for _ in range(ROUNDS):
                for cpus, times in found.items():
                    words_of = [sys.executable, __file__, str(cpus), *files]
                    printed = subprocess.run(words_of, stdout=subprocess.PIPE, check=True).stdout
                    times.append([*map(float, printed.split())])
            alone, both = (statistics.median(wall for wall, _ in found[cpus]) for cpus in (1, 2))
            used = statistics.median(each for _, each in found[2])
            ratios = [pair[1][0] / pair[0][0] for pair in zip(found[1], found[2], strict=True)]
            print(
                f"| {name} | {alone * 1e3:.0f} ms | {both * 1e3:.0f} ms | {used * 1e3:.0f} ms | "
                f"{both / alone:.2f} | {min(ratios):.2f} to {max(ratios):.2f} |",
                flush=True,
            )


def main() -> None:
    print("## Compressed files: GZIP and zstd\n")
    print(
        f"`python benchmarks/compressed.py`, {zstd.library().name}, {cpu_name()}, "
        f"{memory_text()}, {datetime.date.today()}; processor time, least of {ROUNDS} rounds.\n"
    )
    print("| | | size | MB per core second | times GZIP | a record by number |")
    print("|---|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("tabular", "tokens"):
            columns = columns_of(CASES[name], 0)
            passes, sizes, records = {}, {}, {}
            for form, options in FORMS.items():
                path = os.path.join(folder, f"{name}-{form[:4]}")
                with fastrec.Writer(path, **options) as writer:
                    writer.write_batch(columns)
                sizes[form] = os.path.getsize(path)
                passes[form] = min(seconds_of_pass(path) for _ in range(ROUNDS))
                rounds = [seconds_of_records(path) for _ in range(ROUNDS)]
                records[form] = statistics.median(map(min, *rounds))
            form, content = "GZIP, with zlib", sizes["plain"]
            sizes[form] = sizes["GZIP, level 6"]
            passes[form] = seconds_of_gzip(os.path.join(folder, f"{name}-GZIP"))
            for form, seconds in passes.items():
                by_number = f"{records[form] * 1e3:.2f} ms" if form in records else ""
                print(
                    f"| {name} | {form} | {sizes[form] / content:.1%} | "
                    f"{content / seconds / 1e6:,.0f} | {passes['GZIP, level 6'] / seconds:.1f} | "
                    f"{by_number} |"
                )


if __name__ == "__main__":
    if sys.argv[1:] == ["threads"]:
        compare_threads()
    elif sys.argv[1:]:
        print_pass(int(sys.argv[1]), sys.argv[2:])
    else:
        main()
