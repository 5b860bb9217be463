# SPDX-License-Identifier: Apache-2.0
"""Measure limits of the machine: moving the same bytes, or creating as many objects, alone."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import fastrec
from fastrec.records.compression import inflater_library
from fastrec.records.inflated_dataset import InflatedFile

from ..cases import Case
from ..worker import Gap, Start, Task, Trial
from . import isolated
from .cold import timed_cold
from .converted import spans_of
from .crc import size_of

__all__ = ["JOBS", "versions"]

_SLABS = 4
_READ = 1 << 20


def versions() -> dict[str, str]:
    """Return the versions to report for this peer."""
    return {"numpy": np.__version__}


def _row_bytes(case: Case) -> int:
    """Return the size of a row of the dense columns; other cases use the size of their file."""
    sizes = {"int64": 8, "float": 4, "raw": 1}
    total = 0
    for field in case.fields:
        if field.shape is None:
            return 0
        total += sizes.get(field.kind, 12) * int(np.prod(field.shape, dtype=np.int64))
    return total


def _file_bytes(task: Task) -> int:
    return os.path.getsize(task.path)


def memcpy(source: np.ndarray[Any, Any], piece: int) -> Callable[[], None]:
    """Copy all of `source`, which exceeds the caches, piece by piece into a few slabs."""
    slabs = np.zeros(_SLABS * piece, np.uint8)
    targets = [slabs.ctypes.data + i * piece for i in range(_SLABS)]
    begin, size, move = source.ctypes.data, source.nbytes, ctypes.memmove
    steps = [
        (targets[i % _SLABS], begin + at, min(piece, size - at))
        for i, at in enumerate(range(0, size, piece))
    ]

    def once() -> None:
        for target, at, length in steps:
            move(target, at, length)

    once.keeps = slabs, source  # type: ignore[attr-defined]
    return once


def _memcpy(task: Task) -> Trial:
    row = _row_bytes(task.case) or _file_bytes(task) // task.case.records
    source = np.ones(row * task.case.records, np.uint8)
    return Trial(memcpy(source, row * task.case.batch))


def _memcpy_scattered(task: Task) -> Trial:
    """Copy whole records of one size in random order, which no prefetcher predicts."""
    size, batch = _file_bytes(task) // task.case.records, task.case.batch
    source = np.ones((task.case.records, size), np.uint8)
    order = np.random.default_rng(0).permutation(task.case.records)
    slabs = np.zeros((_SLABS, batch, size), np.uint8)
    steps = [order[at : at + batch] for at in range(0, len(order), batch)]

    def once() -> None:
        for i, rows in enumerate(steps):
            np.take(source, rows, axis=0, out=slabs[i % _SLABS, : len(rows)], mode="clip")

    return Trial(once)


def _memcpy_file(task: Task) -> Trial:
    return Trial(memcpy(np.ones(_file_bytes(task), np.uint8), 1 << 18))


def _memcpy_written(task: Task) -> Trial:
    size = _file_bytes(task) * task.case.write_records // task.case.records
    return Trial(memcpy(np.ones(size, np.uint8), 1 << 18), records=task.case.write_records)


def _bandwidth(task: Task) -> Trial:
    words = np.ones(_file_bytes(task) // 8, np.uint64)
    return Trial(lambda: np.bitwise_xor.reduce(words))


def _crc_bandwidth(task: Task) -> Trial:
    words = np.ones(max(size_of(task) * task.case.records // 8, 1), np.uint64)
    return Trial(lambda: np.bitwise_xor.reduce(words))


def _read(task: Task) -> Trial:
    buffer = bytearray(_READ)

    def once() -> None:
        with open(task.path, "rb", buffering=0) as file:
            while file.readinto(buffer):
                pass

    return Trial(once)


def _inflate(task: Task) -> Trial:
    """Inflate from start to end with the library that fastrec uses."""
    library = inflater_library()

    def once() -> None:
        inflater = library.decompressobj(31)
        with open(task.path, "rb", buffering=0) as file:
            while piece := file.read(_READ):
                while piece:
                    inflater.decompress(piece, _READ)
                    piece = inflater.unconsumed_tail

    return Trial(once)


def _inflate_spans(task: Task) -> Trial:
    """Inflate from each checkpoint to the next on several threads."""
    file = InflatedFile(task.path, task.path, fastrec.Index.build(task.path))

    def once() -> None:
        with ThreadPoolExecutor(task.threads) as pool:
            for _ in pool.map(lambda number: len(file.read(*file.span(number))), spans):
                pass

    spans = [n for n in range(file.spans()) if file.span(n)[0] < file.span(n)[1]]
    return Trial(once)


def _read_cold(task: Task) -> Trial:
    return timed_cold(task, lambda: _read(task).once())


def _pread_cold(task: Task) -> Trial:
    """Read records one by one in random order, keeping one batch of records in memory."""
    spans = np.array(list(spans_of(task.path)))
    spans = spans[np.random.default_rng(task.seed).permutation(len(spans))]
    pairs = spans.tolist()

    def once() -> None:
        descriptor = os.open(task.path, os.O_RDONLY)
        batch = []
        for offset, size in pairs:
            batch.append(os.pread(descriptor, size, offset))
            if len(batch) == task.case.batch:
                batch.clear()
        os.close(descriptor)

    return timed_cold(task, once)


def _memcpy_encoded(task: Task) -> Trial:
    frames = 16 * task.case.records
    size = (_file_bytes(task) - frames) * task.case.write_records // task.case.records
    return Trial(np.ones(size, np.uint8).copy, records=task.case.write_records)


def _write(task: Task) -> Trial:
    size = _file_bytes(task) * task.case.write_records // task.case.records
    block = b"x" * min(size, _READ)

    def once() -> None:
        with open(task.out, "wb", buffering=0) as file:
            for _ in range(max(size // len(block), 1)):
                file.write(block)

    return Trial(once, records=task.case.write_records)


def _objects(task: Task) -> Trial:
    """Create and drop one bytes object of average size per record."""
    size = max(_file_bytes(task) // task.case.records - 16, 0)
    source = memoryview(bytes(size))

    def once() -> None:
        for _ in range(task.case.records):
            bytes(source)

    return Trial(once)


def _images_of(path: str) -> list[bytes]:
    import fastrec

    features = {"image/encoded": fastrec.FixedLenFeature((), bytes)}
    return list(fastrec.parse_example(fastrec.Reader(path)[:], features)["image/encoded"])


def _crop_of(number: int, data: bytes, seed: int) -> tuple[int, int, int, int]:
    """Draw a random resized crop, as fastrec does in the first epoch."""
    from fastrec import _core

    height, width, *_ = _core.jpeg_header(data)
    key = np.array([number], np.uint64)
    box = _core.draw_crop("resized", height, width, (0.08, 1.0), (3 / 4, 4 / 3), key, seed)[0]
    top, left, rows, columns = box.tolist()
    return top, left, rows, columns


def _decode_regions(task: Task) -> Trial:
    """Decode and drop the regions that random resized crops take from the same images."""
    from fastrec import _core

    images = _images_of(task.path)

    def decode(numbered: tuple[int, bytes]) -> None:
        number, data = numbered
        _core.decode_jpeg(data, 3, region=_crop_of(number, data, 1))

    def once() -> None:
        with ThreadPoolExecutor(task.threads) as pool:
            for _ in pool.map(decode, enumerate(images)):
                pass

    return Trial(once)


def _jpegs_in_c(task: Task) -> Trial:
    """Decode the same crops with benchmarks/jpeg_ceiling.c, half of them mirrored."""
    if not task.jpeg_driver:
        raise Gap("no --jpeg-driver")
    with open(task.out, "wb") as file:
        for number, data in enumerate(_images_of(task.path)):
            crop = _crop_of(number, data, 1)
            file.write(struct.pack("=6I", len(data), *crop, number % 2) + data)
    command = [task.jpeg_driver, task.out, str(task.threads)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    used = 0.0

    def once() -> None:
        nonlocal used
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
        used = float(process.stdout.readline())

    return Trial(once, cpu=lambda: used, close=process.communicate)


JOBS: dict[str, dict[str, Start]] = {
    "crc": {"read bandwidth": _crc_bandwidth},
    "iterate": {"n bytes objects": _objects, "read(2)": _read, "memcpy": _memcpy_file},
    "parse": {"memcpy": _memcpy, "read(2)": _read},
    "shuffle": {"memcpy": _memcpy, "memcpy, records in random order": _memcpy_scattered},
    "train images": {
        "C over libjpeg-turbo": _jpegs_in_c,
        "libjpeg-turbo, the same regions": _decode_regions,
    },
    "cold": {"pread(2)": _pread_cold, "read(2)": _read_cold},
    "encode": {"memcpy": _memcpy_encoded},
    "write": {"memcpy": _memcpy_written, "write(2)": _write},
    "gzip": {
        "inflating, 1 thread": _inflate,
        "inflating from checkpoints": _inflate_spans,
        "read(2)": _read,
    },
    "index": {"read bandwidth": _bandwidth, "read(2)": _read},
    "count": {"read bandwidth": _bandwidth, "read(2)": _read},
    "verify": {"read bandwidth": _bandwidth, "read(2)": _read},
    "import": {"numpy": isolated.importing("numpy")},
}
