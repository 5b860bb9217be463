# SPDX-License-Identifier: Apache-2.0
"""What an open dataset keeps of where its records are: 2.5 bytes a record, of every kind of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from index_memory import Stored, remote

import fastrec
from fastrec.records.inflated_dataset import InflatedDataset

COUNT = 200_000
MOST = 2.5

pytestmark = pytest.mark.unsanitized


def taken(kind: str, path: Path) -> float:
    """Bytes that a dataset holds for each record, in a process of its own: what the tests before
    these have freed would be used again."""
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc")
    script = Path(__file__).parents[1] / "helpers" / "index_memory.py"
    command = [sys.executable, str(script), str(COUNT), kind, str(path)]
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1"}  # else each thread leaves gaps of its own
    printed = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    return float(printed.stdout)


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


def test_the_measure_sees_eight_bytes_a_record(plain: Path) -> None:
    assert 7.5 < taken("numbers", plain) < 8.5


def test_plain_files(plain: Path) -> None:
    assert taken("file", plain) <= MOST
    assert len(fastrec.Reader(plain)) == COUNT


@pytest.mark.parametrize("beside", [False, True])
def test_compressed_files(records: list[bytes], tmp_path: Path, beside: bool) -> None:
    path = tmp_path / "a.tfrecord.gz"
    with fastrec.Writer(path, compression="GZIP", index=beside) as writer:
        writer.write_many(records)
    assert taken("file", path) <= MOST
    dataset = fastrec.Reader(path)._files.dataset()
    assert isinstance(dataset, InflatedDataset)
    assert len(dataset) == COUNT
    for number in (0, 12_345, COUNT - 1):
        assert dataset[number] == records[number]


def test_objects_in_stores(records: list[bytes], plain: Path) -> None:
    assert taken("object", plain) <= MOST
    file = Stored(plain, "s3://bucket/a.tfrecord")
    dataset = remote(file)
    numbers = np.array([COUNT - 1, 0, 12_345, 12_346, 0], np.uint64)
    assert dataset.records(numbers) == [records[number] for number in numbers.tolist()]
    sizes = dataset.sizes_of(np.arange(COUNT, dtype=np.uint64))
    assert sizes.tolist() == [len(record) + 16 for record in records]
    ends = np.cumsum(sizes).tolist()
    for number in (0, 12_345, COUNT - 1):
        assert dataset.position_of(number) == (file.name, number, ends[number] - int(sizes[number]))
        for offset in (ends[number] - 1, ends[number] - int(sizes[number])):
            assert dataset.record_at(0, offset) == number
