# SPDX-License-Identifier: Apache-2.0
"""How records are read: the bytes that come from the disk, and other threads meanwhile."""

from __future__ import annotations

import os
import random
import re
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import _core

Read = Callable[[Path], object]

RECORD = 100_000
COUNT = 300
EVERY = list(range(COUNT))


def evict(path: Path) -> None:
    """Have the page cache let go of a file."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def bytes_from_disk() -> int:
    """Bytes that this process has had the disk read."""
    with open("/proc/self/io") as file:
        return int(next(line for line in file if line.startswith("read_bytes")).split()[1])


def cost_of(path: Path, read: Callable[[], object]) -> float:
    """Call `read` with a cold page cache; return the bytes from the disk per byte of the file."""
    evict(path)
    before = bytes_from_disk()
    read()
    return (bytes_from_disk() - before) / os.path.getsize(path)


@pytest.fixture(scope="module")
def cold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of long records, with an index beside it."""
    if not os.path.exists("/proc/self/io"):
        pytest.skip("the system does not count bytes from the disk")
    path = tmp_path_factory.mktemp("cold") / "a.tfrecord"
    generator = random.Random(0)
    with fastrec.Writer(path, index=True) as writer:
        for number in EVERY:
            record = {"x": number, "data": generator.randbytes(RECORD)}
            writer.write(fastrec.encode_example(record))
    if cost_of(path, path.read_bytes) < 0.9:
        pytest.skip("the page cache does not let go of files here")
    return path


def shuffled() -> list[int]:
    order = EVERY.copy()
    random.Random(1).shuffle(order)
    return order


FEATURES = {"x": fastrec.FixedLenFeature((), np.int64)}


def one_by_one(path: Path) -> None:
    reader = fastrec.Reader(path)
    for i in shuffled()[: COUNT // 4]:
        reader[i]


def in_lists(path: Path) -> None:
    reader = fastrec.Reader(path)
    for some in np.array_split(shuffled()[: COUNT // 4], 10):
        reader.__getitems__(some.tolist())


def in_blocks(path: Path) -> None:
    reader = fastrec.Reader(path)
    for some in np.array_split(shuffled()[: COUNT // 4], 10):
        reader.read_many(some)


def parsed(path: Path) -> None:
    fastrec.parse_many(fastrec.Reader(path), shuffled()[: COUNT // 4], FEATURES)


def whole(**options: Any) -> Read:
    def read(path: Path) -> None:
        for _ in fastrec.Batcher(path, FEATURES, 16, seed=0, threads=2, **options):
            pass

    return read


READS: dict[str, tuple[Read, float]] = {
    "one by one": (one_by_one, 0.25),
    "in lists": (in_lists, 0.25),
    "in blocks": (in_blocks, 0.25),
    "parsed": (parsed, 0.25),
    "shuffled": (whole(shuffle=True), 1),
    "shuffled in blocks": (whole(shuffle="blocks"), 1),
    "file order": (whole(), 1),
}


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("name", READS)
def test_a_cold_file_gives_no_more_bytes_than_its_records_have(
    cold: Path, tmp_path: Path, name: str, indexed: bool
) -> None:
    """Without an index, the headers are read as well."""
    read, share = READS[name]
    path = cold
    if not indexed:
        path = tmp_path / "without an index"
        path.hardlink_to(cold)
    assert cost_of(path, lambda: read(path)) <= 1.1 * share + (0 if indexed else 0.05)


NUMBERED: dict[str, Read] = {
    "an index": fastrec.Index.build,
    "a length": lambda path: len(fastrec.Reader(path)),
    "a count": fastrec.count,
}


@pytest.mark.parametrize("name", NUMBERED)
def test_only_headers_are_read_to_number_long_records(
    cold: Path, tmp_path: Path, name: str
) -> None:
    plain = tmp_path / "without an index"
    plain.hardlink_to(cold)
    assert cost_of(plain, lambda: NUMBERED[name](plain)) <= 0.05


LARGE = 128 << 20
TURNS = 60  # of another thread during one call


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of one large record."""
    path = tmp_path_factory.mktemp("large") / "a.tfrecord"
    with fastrec.Writer(path, index=True) as writer:
        writer.write(bytes(LARGE))
    return path


LONG_CALLS: dict[str, Read] = {
    "iteration": lambda path: next(iter(fastrec.Reader(path))),
    "views": lambda path: next(iter(fastrec.Reader(path).views())),
    "one record": lambda path: fastrec.Reader(path)[0],
    "a list": lambda path: fastrec.Reader(path).__getitems__([0]),
    "a block": lambda path: fastrec.Reader(path).read_many([0]),
    "a frame": lambda path: _core.frame(bytes(LARGE)),
    "frames": lambda path: next(_core.Frames([bytes(LARGE)])),
    "a string": lambda path: large_string()[0],
    "a list of strings": lambda path: large_string().to_list(),
    "an array of strings": lambda path: large_string().to_numpy(),
    "strings that are compared": lambda path: large_string() == large_string(),
}


def large_string() -> fastrec.Bytes:
    """Return a column of one large string."""
    return fastrec.Bytes(np.zeros(LARGE, np.uint8), np.array([0, LARGE]))


@pytest.mark.parametrize("name", LONG_CALLS)
def test_other_threads_run_while_a_large_record_is_read(large: Path, name: str) -> None:
    """This thread gives the interpreter away only where the core does."""
    turns, stop = 0, threading.Event()

    def run() -> None:
        nonlocal turns
        while not stop.is_set():
            turns += 1
            time.sleep(0)

    call, interval = LONG_CALLS[name], sys.getswitchinterval()
    other = threading.Thread(target=run)
    other.start()
    sys.setswitchinterval(60)
    try:
        most = 0
        for _ in range(50):
            before = turns
            call(large)
            most = max(most, turns - before)
            if most >= TURNS:
                break
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        other.join()
    assert most >= TURNS


def advised_ranges() -> list[range]:
    """Addresses of this process whose memory should be in huge pages."""
    ranges, addresses = [], range(0)
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            addresses = range(int(found[1], 16), int(found[2], 16))
        elif line.startswith("VmFlags:") and "hg" in line.split():
            ranges.append(addresses)
    return ranges


@pytest.mark.skipif(
    not os.path.exists("/sys/kernel/mm/transparent_hugepage"), reason="there are no huge pages"
)
def test_a_long_record_is_in_huge_pages(tmp_path: Path) -> None:
    """Freeing it in small pages would stop other threads: bytes are freed with the GIL held."""
    size = 64 << 20
    with fastrec.Writer(tmp_path / "a", fsync=False) as writer:
        writer.write(bytes(size))
    reader = fastrec.Reader(tmp_path / "a")
    reads: list[Callable[[], bytes]] = [
        lambda: reader[0], lambda: next(iter(reader)), lambda: reader[:][0],
    ]  # fmt: skip
    for read in reads:
        record = read()
        if "VmFlags" not in Path("/proc/self/smaps").read_text():
            pytest.skip("the system does not describe memory")
        assert len(record) == size
        assert any(id(record) + size // 2 in addresses for addresses in advised_ranges())
