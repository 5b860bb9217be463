# SPDX-License-Identifier: Apache-2.0
"""One wrong bit costs at most one record, whatever the records' sizes are.

Where frames are of one size that divides a power of two, a length with a wrong bit leads to another
record: what lies between must not be taken for its data.
"""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import reference
from cost import check_proportion
from hypothesis import given, settings
from hypothesis import strategies as st
from verbs import flip

import fastrec
from fastrec import _core

pytestmark = pytest.mark.slow

COUNT = 300


def records_of(size: int, count: int = COUNT) -> list[bytes]:
    rng = random.Random(size)
    return [rng.randbytes(size) for _ in range(count)]


def lost(found: list[bytes], expected: list[bytes]) -> list[int]:
    """The numbers of those that are missing; what was found must be the others, in order."""
    if found == expected:
        return []
    pairs = enumerate(zip(found, expected, strict=False))
    first = next((i for i, (a, b) in pairs if a != b), len(found))
    gone = len(expected) - len(found)
    assert found[first:] == expected[first + gone :], "records that were not there"
    return list(range(first, first + gone))


@pytest.mark.parametrize("size", [0, 1, 16, 48, 112, 113, 240, 496, 1008, 2032, 4080])
def test_any_bit_of_any_header_costs_at_most_its_record(tmp_path: Path, size: int) -> None:
    records = records_of(size)
    whole = b"".join(map(_core.frame, records))
    path = tmp_path / "file"
    for number in (0, 1, COUNT // 2, COUNT - 2, COUNT - 1):
        for bit in range(96):
            data = flip(whole, 8 * number * (size + 16) + bit)
            path.write_bytes(data)
            for source in (path, io.BytesIO(data)):
                reader = fastrec.Reader(source, on_error="skip", compression=None)
                blocks = [record for block in reader.blocks(100) for record in block]
                if size:
                    assert lost(blocks, records) == [number], (number, bit)
                else:
                    assert len(blocks) == COUNT - 1
                (region,) = reader.skipped
                assert (region.begin, region.end) == (
                    number * (size + 16),
                    (number + 1) * (size + 16),
                ), (number, bit)


@pytest.mark.parametrize(("size", "bit"), [(112, 15), (1008, 20), (496, 17), (240, 12)])
def test_repair_saves_all_the_others(tmp_path: Path, size: int, bit: int) -> None:
    records = records_of(size, 3000)
    path = tmp_path / "file.tfrecord"
    path.write_bytes(flip(b"".join(map(_core.frame, records)), 8 * 1000 * (size + 16) + bit))
    repaired = fastrec.repair(path)
    assert repaired.records == 2999
    assert lost(list(fastrec.Reader(repaired.path)), records) == [1000]
    (region,) = repaired.skipped
    assert (region.size, region.ambiguous) == (size + 16, False)


SIZES = st.lists(
    st.one_of(
        st.integers(0, 40),
        st.sampled_from([112, 240, 496, 1008, 2032]),
        st.integers(0, 3000),
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=200, deadline=None)
@given(sizes=SIZES, seed=st.integers(0, 2**32), where=st.floats(0, 1, exclude_max=True))
def test_any_bit_of_any_file_costs_at_most_one_record(
    sizes: list[int], seed: int, where: float
) -> None:
    rng = random.Random(seed)
    records = [rng.randbytes(size) for size in sizes]
    whole = b"".join(map(_core.frame, records))
    data = flip(whole, int(where * 8 * len(whole)))
    reader = fastrec.Reader(io.BytesIO(data), on_error="skip", compression=None)
    found = list(reader)
    assert len(found) == len(records) - 1
    assert len(lost(found, records)) == 1
    (region,) = reader.skipped
    assert region.end is not None
    assert region.begin <= int(where * len(whole)) < region.end


@settings(max_examples=100, deadline=None)
@given(outer=SIZES, inner=SIZES, seed=st.integers(0, 2**32), bit=st.integers(0, 95))
def test_records_inside_of_a_record_are_never_given(
    outer: list[int], inner: list[int], seed: int, bit: int
) -> None:
    rng = random.Random(seed)
    inside = b"".join(_core.frame(b"in" + rng.randbytes(size)) for size in inner)
    records = [b"out" + rng.randbytes(size) for size in outer]
    at = rng.randrange(len(records) + 1)
    records.insert(at, inside)
    whole = b"".join(map(_core.frame, records))
    begin = sum(len(record) + 16 for record in records[:at])
    data = flip(whole, 8 * begin + bit)
    found = list(fastrec.Reader(io.BytesIO(data), on_error="skip", compression=None))
    assert found == records[:at] + records[at + 1 :]


def test_a_file_of_damaged_headers_that_all_lead_to_its_end_is_read_in_linear_time(
    tmp_path: Path,
) -> None:
    # Each of these headers says in its checksum that its data ends where the file does.
    piece = _core.frame(b"")

    def verifies(count: int) -> Callable[[], None]:
        path = tmp_path / str(count)
        size = count * (12 + len(piece)) + len(piece)
        data = bytearray()
        for _ in range(count):
            left = size - len(piece) - len(data) - 16
            header = bytearray(reference.header(left))
            header[0] ^= 1
            data += header + piece
        path.write_bytes(bytes(data) + piece)

        def verify() -> None:
            assert fastrec.verify(path, on_error="skip").records >= count

        return verify

    check_proportion(verifies, 40_000)
