# SPDX-License-Identifier: Apache-2.0
"""A million batches of every kind, and what the process has in hand meanwhile.

    python tests/tools/soak.py [BATCHES]

After a tenth of a kind's batches, memory, threads and descriptors are what they stay at; it fails
where they are not.
"""

from __future__ import annotations

import gc
import gzip
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fastrec

FEATURES = {
    "i": fastrec.FixedLenFeature((), np.int64),
    "x": fastrec.RawFeature((16, 16, 3), np.uint8),
    "words": fastrec.RaggedFeature(bytes),
    "tokens": fastrec.RaggedFeature(np.int64),
}
RECORDS, BATCH, GROWTH = 2000, 8, 4 << 20

KINDS: dict[str, dict[str, Any]] = {
    "shuffled": {"shuffle": True},
    "through a buffer": {"shuffle": 500},
    "transformed": {"shuffle": True, "transform": len},
    "augmented": {
        "augment": {"x": fastrec.Augment((12, 12), "random", flip=True, standardize=True)}
    },
    "in buckets": {"buckets": fastrec.Buckets("tokens", [4, 8])},
    "compressed": {"shuffle": 100},
    "begun anew every 20 batches": {"shuffle": "blocks"},
}


class Look(NamedTuple):
    """Bytes that are the process's own, threads, descriptors."""

    memory: int
    threads: int
    descriptors: int

    @classmethod
    def now(cls) -> Look:
        gc.collect()
        status = Path("/proc/self/status").read_text().splitlines()
        own = next(int(line.split()[1]) << 10 for line in status if line.startswith("RssAnon"))
        return cls(own, len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")))


def make_files(folder: Path) -> tuple[Path, Path]:
    random = np.random.default_rng(1)
    plain = folder / "plain.tfrecord"
    with fastrec.Writer(plain) as writer:
        for i in range(RECORDS):
            image = random.integers(0, 256, (16, 16, 3), np.uint8)
            words = [b"word"] * int(random.integers(0, 6))
            tokens = random.integers(0, 1000, random.integers(1, 12))
            writer.write({"i": i, "x": image, "words": words, "tokens": tokens})
    packed = folder / "packed.tfrecord.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes(), 1))
    return plain, packed


def batches_of(path: Path, options: dict[str, Any], anew: bool) -> Iterator[Any]:
    batcher = fastrec.Batcher(path, FEATURES, BATCH, seed=1, epochs=None, threads=2, **options)
    while anew:
        iterator = iter(batcher)
        for _ in range(20):
            yield next(iterator)
    yield from batcher


def soak(path: Path, options: dict[str, Any], anew: bool, count: int) -> tuple[Look, Look]:
    batches = batches_of(path, options, anew)
    for _ in range(count // 10):
        next(batches)
    before = Look.now()
    for _ in range(count - count // 10):
        next(batches)
    return before, Look.now()


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    count //= len(KINDS)
    failed = 0
    print(f"{'kind':30}{'batches':>10}{'seconds':>9}{'memory after a tenth':>22}{'in the end':>12}"
          f"{'threads':>9}{'descriptors':>13}")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        plain, packed = make_files(Path(folder))
        for kind, options in KINDS.items():
            path = packed if kind == "compressed" else plain
            began = time.perf_counter()
            before, after = soak(path, options, kind.startswith("begun"), count)
            seconds = time.perf_counter() - began
            print(f"{kind:30}{count:10,}{seconds:9.1f}{before.memory / 2**20:18.1f} MiB"
                  f"{after.memory / 2**20:8.1f} MiB{f'{before.threads} {after.threads}':>9}"
                  f"{f'{before.descriptors} {after.descriptors}':>13}", flush=True)  # fmt: skip
            flat = after.memory - before.memory < GROWTH and after[1:] == before[1:]
            failed += not flat
    return failed


if __name__ == "__main__":
    sys.exit(main())
