# SPDX-License-Identifier: Apache-2.0
"""Many records in one call, and views of records."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from verbs import flip, number_records, offsets_of, write

import fastrec

RECORDS = number_records(20)
OFFSETS = offsets_of(RECORDS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "file.tfrecord", RECORDS)


@given(st.lists(st.integers(-40, 39), max_size=50))
def test_many_records_are_those_one_by_one(tmp_path: Path, numbers: list[int]) -> None:
    both = [write(tmp_path / "a", RECORDS), write(tmp_path / "b", number_records(20, 20))]
    reader = fastrec.Reader(both)
    expected = [reader[number] for number in numbers]
    assert reader.__getitems__(numbers) == expected
    assert reader.read_many(numbers) == expected
    assert reader.read_many(np.array(numbers, np.int16)) == expected


@pytest.mark.parametrize("numbers", [[20], [-21], [0, 2**63 - 1], [2**64 - 1]])
def test_a_record_that_is_not_there_is_an_index_error(path: Path, numbers: list[int]) -> None:
    reader = fastrec.Reader(path)
    for use in (reader.__getitems__, reader.read_many):
        with pytest.raises(IndexError, match="record"):
            use(numbers)


@pytest.mark.parametrize("numbers", [[0.5], ["1"], [[1, 2]], 3])
def test_what_are_no_numbers_is_a_type_error(path: Path, numbers: Any) -> None:
    with pytest.raises(TypeError):
        fastrec.Reader(path).read_many(numbers)


def test_damage_among_many_is_told_with_its_record(path: Path) -> None:
    path.write_bytes(flip(path.read_bytes(), 8 * (OFFSETS[7] + 13)))
    reader = fastrec.Reader(path)
    assert reader.read_many([1, 2]) == RECORDS[1:3]
    for use in (reader.__getitems__, reader.read_many):
        with pytest.raises(fastrec.CorruptRecordError) as caught:
            use([1, 7, 2])
        assert (caught.value.record, caught.value.offset) == (7, OFFSETS[7])


def test_views_outlive_everything_and_cannot_be_written(path: Path) -> None:
    reader = fastrec.Reader(path)
    views = list(reader.views())
    reader.close()
    del reader
    path.unlink()
    assert list(map(bytes, views)) == RECORDS
    with pytest.raises(TypeError, match="read-only"):
        views[0][0] = 1


def test_views_of_a_file_that_shrinks_are_zeros_and_no_crash(tmp_path: Path) -> None:
    path = write(tmp_path / "file", [b"x" * 100_000 for _ in range(10)])
    views = list(fastrec.Reader(path).views())
    os.truncate(path, 300_000)
    assert bytes(views[1]) == b"x" * 100_000
    assert bytes(views[8]) == bytes(100_000)
