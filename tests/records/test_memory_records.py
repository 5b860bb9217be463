# SPDX-License-Identifier: Apache-2.0
"""Records whose frames are in memory: parts of remote objects and of inflated files."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

import fastrec
from fastrec import _core

FILES = ("s3://bucket/a", "s3://bucket/b")


def table_of(records: list[bytes], first: int = 7) -> np.ndarray:
    """Return a table for records of the second file, which begin at byte 1000 there."""
    sizes = np.array([len(record) + 16 for record in records], np.uint64)
    places = np.cumsum(sizes, dtype=np.uint64) - sizes
    numbers = np.arange(first, first + len(records), dtype=np.uint64)
    files = np.ones(len(records), np.uint64)
    return np.stack([files, numbers, places + np.uint64(1000), places, sizes], axis=1)


@given(
    records=st.lists(st.binary(max_size=50), min_size=1, max_size=30),
    cuts=st.sets(st.integers(1, 29)),
    data=st.data(),
)
def test_records_are_taken_from_any_pieces(
    records: list[bytes], cuts: set[int], data: st.DataObject
) -> None:
    bounds = sorted({0, len(records)} | {cut for cut in cuts if cut < len(records)})
    pieces = [reference.write_frames(records[a:b]) for a, b in pairwise(bounds)]
    made = _core.MemoryRecords(FILES, pieces, table_of(records))
    numbers = data.draw(st.lists(st.integers(0, len(records) - 1), max_size=80))
    assert len(made) == len(records)
    assert list(made.take(np.array(numbers, np.uint64))) == [records[i] for i in numbers]


def test_an_error_has_the_place_of_the_record_in_its_file() -> None:
    records = [b"one", b"two", b"three"]
    data = bytearray(reference.write_frames(records))
    data[19 + 12] ^= 1
    made = _core.MemoryRecords(FILES, [data], table_of(records))
    assert list(made.take(np.array([0, 2], np.uint64))) == [b"one", b"three"]
    with pytest.raises(
        fastrec.CorruptRecordError, match=r"at 1019 in 's3://bucket/b' \(record 8\)"
    ) as raised:
        made.take(np.array([0, 1], np.uint64))
    assert (raised.value.path, raised.value.record, raised.value.offset) == (FILES[1], 8, 1019)
    lax = _core.MemoryRecords(FILES, [data], table_of(records), verify=False)
    assert lax.take(np.array([1], np.uint64))[0] != b"two"
    small = _core.MemoryRecords(FILES, [data], table_of(records), max_record=4)
    with pytest.raises(
        fastrec.LimitExceededError, match=r"at 1038 in 's3://bucket/b' \(record 9\)"
    ):
        small.take(np.array([2], np.uint64))


@pytest.mark.parametrize("column", range(5))
@pytest.mark.parametrize("value", [1, 19, 20, 54, 55, 2**31, 2**32 + 1, 2**63, 2**64 - 1])
def test_a_hostile_table_is_refused_or_read_within_the_pieces(column: int, value: int) -> None:
    records = [b"one", b"two", b"three"]
    table = table_of(records)
    table[1, column] = value
    pieces = [reference.write_frames(records[:2]), reference.write_frames(records[2:])]
    try:
        made = _core.MemoryRecords(FILES, pieces, table)
        assert made.take(np.array([1], np.uint64))[0] in records
    except (ValueError, fastrec.FastrecError):
        pass


def test_arguments_are_checked() -> None:
    data = reference.write_frames([b"one"])
    with pytest.raises(ValueError, match="table must have 5 columns, got 4"):
        _core.MemoryRecords(FILES, [data], np.zeros((1, 4), np.uint64))
    with pytest.raises(IndexError, match="record index 1 is out of range"):
        _core.MemoryRecords(FILES, [data], table_of([b"one"])).take(np.array([1], np.uint64))
    empty = _core.MemoryRecords((), [], np.zeros((0, 5), np.uint64))
    assert len(empty) == 0
    assert len(empty.take(np.array([], np.uint64))) == 0
