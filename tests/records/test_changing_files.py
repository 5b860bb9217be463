# SPDX-License-Identifier: Apache-2.0
"""Files that another process writes to, or cuts off, while they are read."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fastrec

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows locks mapped files")

COUNT, SIZE = 500, 3000
FEATURES = {"x": fastrec.FixedLenFeature((), bytes)}

REWRITE = """
import os, sys
one, other = (open(name, "rb").read() for name in sys.argv[1:3])
file = os.open(sys.argv[3], os.O_RDWR)
parent = os.getppid()
while os.getppid() == parent:
    os.pwrite(file, one, 0)
    os.pwrite(file, other, 0)
"""


@pytest.fixture
def rewritten(tmp_path: Path) -> Iterator[Path]:
    """A file that another process rewrites in place, with one of two versions after the other."""
    for name in "AB":
        with fastrec.Writer(tmp_path / name, fsync=False) as writer:
            writer.write_many([fastrec.encode_example({"x": name.encode() * SIZE})] * COUNT)
    path = tmp_path / "x.tfrecord"
    path.write_bytes((tmp_path / "A").read_bytes())
    command = [sys.executable, "-c", REWRITE, *map(str, (tmp_path / "A", tmp_path / "B", path))]
    with subprocess.Popen(command) as process:
        yield path
        process.kill()


def by_iterating(path: Path) -> list[bytes]:
    return list(fastrec.Reader(path))


def by_blocks(path: Path) -> list[bytes]:
    return [record for block in fastrec.Reader(path).blocks(50) for record in block]


def by_number(path: Path) -> list[bytes]:
    reader = fastrec.Reader(path)
    return [reader[number] for number in range(COUNT)]


def by_numbers(path: Path) -> list[bytes]:
    return list(fastrec.Reader(path).read_many(range(COUNT)))


def by_batches(path: Path) -> list[bytes]:
    return [record for batch in fastrec.Batcher(path, None, 64, threads=1) for record in batch]


def by_parsing(path: Path) -> list[bytes]:
    batches = fastrec.Batcher(path, FEATURES, 64, threads=1)
    return [value for batch in batches for value in batch["x"]]


@pytest.mark.parametrize(
    "read",
    [by_iterating, by_blocks, by_number, by_numbers, by_batches, by_parsing],
    ids=lambda function: function.__name__,
)
def test_a_record_is_one_of_the_versions_or_an_error(
    read: Callable[[Path], list[bytes]], rewritten: Path
) -> None:
    values = [name * SIZE for name in (b"A", b"B")]
    records = [fastrec.encode_example({"x": value}) for value in values]
    versions = values if read is by_parsing else records
    end = time.monotonic() + float(os.environ.get("FASTREC_RACE_SECONDS", "1"))
    while time.monotonic() < end:
        try:
            assert all(record in versions for record in read(rewritten))
        except fastrec.FastrecError:
            continue


TRUNCATE = """
import faulthandler, os, signal, sys, time
import fastrec
path, how, way = sys.argv[1:]
with fastrec.Writer(path, fsync=False) as writer:
    writer.write_many([fastrec.encode_example({"x": os.urandom(1000)}) for _ in range(5000)])
reader = fastrec.Reader(path)
len(reader), reader[0]
features = {"x": fastrec.FixedLenFeature((), bytes)}
batches = iter(fastrec.Batcher(path, features, 10, threads=1, prefetch=0))
records = iter(fastrec.Reader(path))
next(batches), next(records)
if how == "fork":
    pid = os.fork()
    if pid:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    signal.signal(signal.SIGBUS, signal.SIG_DFL)
elif how == "faulthandler":
    faulthandler.enable()
else:
    signal.signal(signal.SIGBUS, signal.SIG_DFL)
os.truncate(path, 100000)
time.sleep(0.001)
try:
    {
        "number": lambda: reader[4000],
        "numbers": lambda: list(reader.read_many(range(4000, 5000))),
        "iterator": lambda: list(records),
        "batches": lambda: [next(batches) for _ in range(400)],
    }[way]()
except fastrec.TruncatedFileError:
    os._exit(0)
os._exit(1)
"""


@pytest.mark.parametrize("way", ["number", "numbers", "iterator", "batches"])
@pytest.mark.parametrize("how", ["faulthandler", "signal", "fork"])
def test_a_file_that_shrinks_is_an_error_whatever_handler_was_installed(
    how: str, way: str, tmp_path: Path
) -> None:
    if how == "fork" and way == "batches":
        pytest.skip("the threads of a loader do not live in a child")
    command: list[Any] = [sys.executable, "-c", TRUNCATE, tmp_path / "x.tfrecord", how, way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "Fatal Python error" not in done.stderr


FOREIGN = """
import ctypes, faulthandler, mmap, os, sys, time
import fastrec
path = sys.argv[1]
with fastrec.Writer(path, fsync=False) as writer:
    writer.write_many([bytes(1000)] * 100)
reader = fastrec.Reader(path)
reader[0]
faulthandler.enable()
time.sleep(0.001)
reader[1]
with open(path + ".other", "w+b") as file:
    file.truncate(mmap.PAGESIZE)
    other = mmap.mmap(file.fileno(), mmap.PAGESIZE)
    file.truncate(0)
other[0]
"""


def test_a_fault_of_other_code_still_goes_to_its_handler(tmp_path: Path) -> None:
    command: list[Any] = [sys.executable, "-c", FOREIGN, tmp_path / "x.tfrecord"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode < 0
    assert "Bus error" in done.stderr
