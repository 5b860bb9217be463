# SPDX-License-Identifier: Apache-2.0
"""Samples of a tar archive: fastrec, webdataset and Python's tarfile, and an index.

    python benchmarks/archives.py >> section.md

Prints a section in Markdown for benchmarks/README.md. Requires webdataset. Each number comes from
the least processor time of `ROUNDS` rounds, in which the ways take turns. Files are not decoded.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import io
import os
import tarfile
import tempfile
import time
from collections.abc import Callable

import numpy as np
import webdataset

import fastrec
from fastrec.bench.machine import cpu_name, memory_text

ROUNDS = 5
SAMPLES = 50_000
SIZE = 2000  # bytes of the larger file of a sample
FEATURES = {
    "jpg": fastrec.FixedLenFeature((), bytes),
    "cls": fastrec.FixedLenFeature((), np.int64),
}


def make(path: str) -> None:
    """Write an archive of samples of a file of random bytes and a label."""
    content = os.urandom(SIZE)
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for number in range(SAMPLES):
            for name, data in (("jpg", content), ("cls", b"%d" % (number % 10))):
                member = tarfile.TarInfo(f"{number:06d}.{name}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))


def batches(path: str) -> int:
    batcher = fastrec.Batcher(path, FEATURES, 128, threads=1)
    return sum(len(batch["cls"]) for batch in batcher)


def samples(path: str) -> int:
    return sum(1 for _ in webdataset.WebDataset(path, shardshuffle=False))


def members(path: str) -> int:
    with tarfile.open(path) as tar:
        return sum(1 for _ in tar) // 2


WAYS: dict[str, Callable[[str], int]] = {
    "`Index.build`, 2 members per sample": lambda path: len(fastrec.Index.build(path)),
    "`Reader`, one Example per sample": lambda path: sum(1 for _ in fastrec.Reader(path)),
    "`Batcher`, one thread, batches of 128": batches,
    "webdataset": samples,
    "`tarfile`, headers only": members,
}


def main() -> None:
    least = dict.fromkeys(WAYS, float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "samples.tar")
        make(path)
        for _ in range(ROUNDS):
            for name, way in WAYS.items():
                began = time.process_time()
                if way(path) != SAMPLES:
                    raise AssertionError(f"{name} did not deliver {SAMPLES} samples")
                least[name] = min(least[name], time.process_time() - began)
    peer = least["webdataset"]
    print(f"## Tar archives: {SAMPLES:,} samples of {SIZE:,} bytes and a label\n")
    print(
        f"`python benchmarks/archives.py`, webdataset {importlib.metadata.version('webdataset')}, "
        f"{cpu_name()}, {memory_text()}, {datetime.date.today()}; processor time, least of "
        f"{ROUNDS} rounds.\n"
    )
    print("| | samples per core second | times webdataset |\n|---|--:|--:|")
    for name, seconds in least.items():
        print(f"| {name} | {SAMPLES / seconds:,.0f} | {peer / seconds:.1f} |")


if __name__ == "__main__":
    main()
