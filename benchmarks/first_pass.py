# SPDX-License-Identifier: Apache-2.0
"""Measure the first pass over a file in the page cache, by how the file was written.

    make -f tests/c/drivers.mk bench VARIANT=release
    python benchmarks/first_pass.py DIRECTORY [--tensorflow PYTHON]

The same records (raw images of 32 by 32 pixels and a label) are written by fastrec, by TensorFlow,
and in pieces of 8 KiB, 64 KiB and 2 MiB. The table gives processor time relative to `read(2)` in
pieces of 256 KiB with a checksum, and the ratios of benchmarks/first_pass.c.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import fastrec

ROWS = 30_000
FEATURES = {
    "image": fastrec.RawFeature((32, 32, 3), np.uint8),
    "label": fastrec.FixedLenFeature((), np.int64),
}
PIECES = {"8 KiB": 8 << 10, "64 KiB": 64 << 10, "2 MiB": 2 << 20}
TENSORFLOW = """
import sys, tensorflow as tf
with tf.io.TFRecordWriter(sys.argv[2]) as writer:
    for record in tf.data.TFRecordDataset(sys.argv[1]):
        writer.write(record.numpy())
"""


def make(folder: Path, tensorflow: str | None) -> dict[str, Path]:
    """Write the files that do not exist yet; return their paths by writer."""
    files = {name: folder / name.replace(" ", "") for name in ("fastrec", *PIECES)}
    if not files["fastrec"].exists():
        images = np.random.default_rng(1).integers(0, 256, (ROWS, 32, 32, 3), np.uint8)
        with fastrec.Writer(files["fastrec"]) as writer:
            for number, image in enumerate(images):
                writer.write({"image": image.tobytes(), "label": number % 10})
    data = files["fastrec"].read_bytes()
    for name, size in PIECES.items():
        if not files[name].exists():
            with open(files[name], "wb", buffering=0) as file:
                for start in range(0, len(data), size):
                    file.write(data[start : start + size])
                os.fsync(file.fileno())
    if tensorflow is not None:
        files["TensorFlow"] = folder / "TensorFlow"
        if not files["TensorFlow"].exists():
            command = [tensorflow, "-c", TENSORFLOW, files["fastrec"], files["TensorFlow"]]
            subprocess.run(command, check=True)
    return files


def best(job: Callable[[], object], rounds: int) -> float:
    """Return the least processor time of some calls, in milliseconds."""
    times = []
    for _ in range(rounds):
        before = time.process_time()
        job()
        times.append(time.process_time() - before)
    return min(times) * 1e3


def new_batcher(path: Path, rows: int) -> None:
    for _ in fastrec.Batcher(path, FEATURES, rows, threads=1):
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure first passes.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--driver", default="build/release/first_pass.exe")
    parser.add_argument("--tensorflow", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    print(
        "| written by | read(2), ms | verify | new Batcher, 128 | 1,024 | headers | once | twice |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, path in make(arguments.directory, arguments.tensorflow).items():
        command = [arguments.driver, path, str(arguments.rounds)]
        lines = subprocess.check_output(command, text=True).splitlines()
        least = {job: float(ms) for job, ms in map(str.split, lines)}
        times = [
            best(lambda path=path: fastrec.verify(path), arguments.rounds),  # type: ignore[misc]
            best(lambda path=path: new_batcher(path, 128), arguments.rounds),  # type: ignore[misc]
            best(lambda path=path: new_batcher(path, 1024), arguments.rounds),  # type: ignore[misc]
            min(least["headers"], least["headers2"]),
            least["once"],
            least["twice"],
        ]
        cells = " | ".join(f"{ms / least['read']:.2f}" for ms in times)
        print(f"| {name} | {least['read']:.1f} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
