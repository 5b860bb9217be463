# SPDX-License-Identifier: Apache-2.0
"""What an open data set keeps of where its records are: 2.5 bytes a record, of every kind of it."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import _core
from fastrec.records.inflated_dataset import InflatedDataset
from fastrec.records.remote_dataset import RemoteDataset
from fastrec.storage.options import StorageOptions

COUNT = 200_000
TIMES = 24
MOST = 2.5


def held() -> int:
    """Memory of this process, but for files that it has mapped."""
    with contextlib.suppress(AttributeError):  # what was freed goes back to the system
        ctypes.CDLL(None).malloc_trim(0)
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("needs /proc")
    found = re.search(r"RssAnon:\s+(\d+) kB", status.read_text())
    assert found
    return int(found[1]) << 10


def taken(make: Callable[[], Any]) -> tuple[Any, float]:
    """What is made, and the bytes that it holds for each record: on the average of some, since
    what was needed to make one may be kept for the next."""
    made = [make(), make()]
    gc.collect()
    before = held()
    made += [make() for _ in range(TIMES)]
    gc.collect()
    return made[-1], (held() - before) / (TIMES * COUNT)


@pytest.fixture(scope="module")
def records() -> list[bytes]:
    sizes = np.random.default_rng(0).integers(20, 90, COUNT)
    return [bytes(size) for size in sizes.tolist()]


@pytest.fixture(scope="module")
def plain(records: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plain") / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_many(records)
    return path


@pytest.mark.unsanitized
def test_the_measure_sees_eight_bytes_a_record() -> None:
    offsets, each = taken(lambda: np.ones(COUNT + 1, np.uint64))
    assert 7.5 < each < 8.5
    assert len(offsets) == COUNT + 1


@pytest.mark.unsanitized
def test_plain_files(plain: Path) -> None:
    dataset, each = taken(lambda: fastrec.Reader(plain)._files.dataset())
    assert len(dataset) == COUNT
    assert each <= MOST


@pytest.mark.unsanitized
@pytest.mark.parametrize("beside", [False, True])
def test_compressed_files(records: list[bytes], tmp_path: Path, beside: bool) -> None:
    path = tmp_path / "a.tfrecord.gz"
    with fastrec.Writer(path, compression="GZIP", index=beside) as writer:
        writer.write_many(records)
    dataset, each = taken(lambda: fastrec.Reader(path)._files.dataset())
    assert isinstance(dataset, InflatedDataset)
    assert len(dataset) == COUNT
    assert each <= MOST
    for number in (0, 12_345, COUNT - 1):
        assert dataset[number] == records[number]


class _Object:
    """Of a store."""

    silent = False

    def __init__(self, path: Path, name: str) -> None:
        self.data, self.name = path.read_bytes(), name
        self.size = len(self.data)

    def read(self, begin: int, end: int, pause: Any) -> bytes:
        return self.data[begin:end]

    def identify(self, pause: Any) -> None:
        pass


@pytest.mark.unsanitized
def test_objects_in_stores(records: list[bytes], plain: Path) -> None:
    file = _Object(plain, "s3://bucket/a.tfrecord")
    options = {"verify": True, "max_record": 0}

    def make() -> RemoteDataset:
        index = _core.RecordReader(file.name, read=_chunks(file), verify=False).index()
        return RemoteDataset([file], [index], StorageOptions(), options)

    dataset, each = taken(make)
    assert each <= MOST
    numbers = np.array([COUNT - 1, 0, 12_345, 12_346, 0], np.uint64)
    assert dataset.records(numbers) == [records[number] for number in numbers.tolist()]
    sizes = dataset.sizes_of(np.arange(COUNT, dtype=np.uint64))
    assert sizes.tolist() == [len(record) + 16 for record in records]
    ends = np.cumsum(sizes).tolist()
    for number in (0, 12_345, COUNT - 1):
        assert dataset.position_of(number) == (file.name, number, ends[number] - int(sizes[number]))
        for offset in (ends[number] - 1, ends[number] - int(sizes[number])):
            assert dataset.record_at(0, offset) == number


def _chunks(file: _Object) -> Callable[[int], bytes]:
    position = 0

    def read(size: int) -> bytes:
        nonlocal position
        data = file.data[position : position + size]
        position += len(data)
        return data

    return read


def test_bounds_are_those_of_the_offsets() -> None:
    random = np.random.default_rng(1)
    for count in (0, 1, 127, 128, 129, 1000):
        offsets = np.append(0, np.cumsum(random.integers(16, 100_000, count))).astype(np.uint64)
        index = _core.FileIndex(offsets, int(offsets[-1]), 0)
        numbers = random.integers(0, max(count, 1), 300 if count else 0).astype(np.uint64)
        begins, ends = (np.frombuffer(each, np.uint64) for each in index.bounds(numbers))
        assert np.array_equal(begins, offsets[:-1][numbers.astype(np.intp)])
        assert np.array_equal(ends, offsets[1:][numbers.astype(np.intp)])
        for offset in random.integers(0, int(offsets[-1]) + 1, 100).tolist():
            assert index.find(offset) == np.searchsorted(offsets, offset, "right") - 1
        with pytest.raises(IndexError, match=f"record index {count} is out of range"):
            index.bounds(np.array([count], np.uint64))
