# SPDX-License-Identifier: Apache-2.0
"""A million batches of every kind, and what the process has in hand meanwhile.

    python tests/tools/soak.py [BATCHES [KIND...]]

After a tenth of a kind's batches, memory, threads and descriptors are what they stay at; it fails
where they are not.
"""

from __future__ import annotations

import gc
import gzip
import io
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fastrec
from fastrec.image import ColorJitter, Flip, Normalize, RandomResizedCrop

FEATURES = {
    "i": fastrec.FixedLenFeature((), np.int64),
    "x": fastrec.RawFeature((16, 16, 3), np.uint8),
    "words": fastrec.RaggedFeature(bytes),
    "tokens": fastrec.RaggedFeature(np.int64),
}
IMAGES = {
    "image": fastrec.ImageFeature(
        transforms=[RandomResizedCrop(32), Flip(), ColorJitter(0.4, 0.4, 0.4, 0.1),
                    Normalize((0.5, 0.5, 0.5), (0.2, 0.2, 0.2))],
    ),
    "original": fastrec.ImageFeature(),
}  # fmt: skip
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
    "images": {"shuffle": True},
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


def make_images(path: Path) -> None:
    """JPEGs of many sizes, baseline and progressive, a tenth of them CMYK."""
    from PIL import Image

    random = np.random.default_rng(2)
    with fastrec.Writer(path) as writer:
        for i in range(RECORDS // 4):
            height, width = (int(side) for side in random.integers(16, 80, 2))
            pixels = random.integers(0, 256, (height, width, 3), np.uint8)
            image, file = Image.fromarray(pixels), io.BytesIO()
            image = image.convert("CMYK") if i % 10 == 0 else image
            image.save(file, "JPEG", quality=70, progressive=bool(i % 2))
            writer.write({"image": file.getvalue(), "original": file.getvalue()})


def make_files(folder: Path) -> dict[str, Path]:
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
    make_images(folder / "images.tfrecord")
    return {"compressed": packed, "images": folder / "images.tfrecord", "": plain}


def batches_of(kind: str, path: Path) -> Iterator[Any]:
    features, options = IMAGES if kind == "images" else FEATURES, KINDS[kind]
    batcher = fastrec.Batcher(path, features, BATCH, seed=1, epochs=None, threads=2, **options)
    while kind.startswith("begun"):
        iterator = iter(batcher)
        for _ in range(20):
            yield next(iterator)
    yield from batcher


def soak(kind: str, path: Path, count: int) -> tuple[Look, Look]:
    batches = batches_of(kind, path)
    for _ in range(count // 10):
        next(batches)
    before = Look.now()
    for _ in range(count - count // 10):
        next(batches)
    return before, Look.now()


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    kinds = sys.argv[2:] or list(KINDS)
    count //= len(kinds)
    failed = 0
    print(f"{'kind':30}{'batches':>10}{'seconds':>9}{'memory after a tenth':>22}{'in the end':>12}"
          f"{'threads':>9}{'descriptors':>13}")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        files = make_files(Path(folder))
        for kind in kinds:
            began = time.perf_counter()
            before, after = soak(kind, files.get(kind, files[""]), count)
            seconds = time.perf_counter() - began
            print(f"{kind:30}{count:10,}{seconds:9.1f}{before.memory / 2**20:18.1f} MiB"
                  f"{after.memory / 2**20:8.1f} MiB{f'{before.threads} {after.threads}':>9}"
                  f"{f'{before.descriptors} {after.descriptors}':>13}", flush=True)  # fmt: skip
            flat = after.memory - before.memory < GROWTH and after[1:] == before[1:]
            failed += not flat
    return failed


if __name__ == "__main__":
    sys.exit(main())
