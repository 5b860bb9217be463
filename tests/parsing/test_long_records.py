# SPDX-License-Identifier: Apache-2.0
"""Records that are longer than the cache: taken apart before their checksum is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
import wire
from verbs import offsets_of, write

import fastrec
from fastrec import Batcher, FixedLenFeature, RaggedFeature, RawFeature

SIZE = 40_000
FEATURES: dict[str, Any] = {
    "image": RawFeature((200, 200), np.uint8),
    "swapped": RawFeature((SIZE // 4,), np.float32, little_endian=False),
    "floats": FixedLenFeature((SIZE // 4,), np.float32),
    "halves": RaggedFeature(np.float16),
    "text": RaggedFeature(bytes),
    "ids": RaggedFeature(np.int64),
}


def row(number: int) -> dict[str, Any]:
    random = np.random.default_rng(number)
    floats = random.standard_normal(SIZE // 4, np.float32)
    return {
        "image": random.bytes(SIZE),
        "swapped": random.bytes(SIZE),
        "floats": floats,
        "halves": floats[: 5000 * number],
        "text": [random.bytes(size) for size in (0, 20_000, 5, 17_000)],
        "ids": random.integers(0, 2**40, 9000 * (number % 2)),
    }


RECORDS = [reference.encode(row(number)) for number in range(3)]


def assert_same(found: dict[str, Any], records: list[bytes]) -> None:
    expected = fastrec.parse_example(records, FEATURES, threads=1)
    for name, column in expected.items():
        if isinstance(column, fastrec.Ragged):
            assert found[name].row_splits.tolist() == column.row_splits.tolist()
            found[name], column = found[name].values, column.values
        if isinstance(column, fastrec.Bytes):
            assert found[name] == column
        else:
            assert found[name].tobytes() == column.tobytes()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("verify", [False, True])
def test_values_are_those_of_parsing_in_memory(tmp_path: Path, reverse: bool, verify: bool) -> None:
    """Also where they are asked for in another order than they stand in."""
    path = write(tmp_path / "a", RECORDS)
    features = dict(reversed(FEATURES.items())) if reverse else FEATURES
    (batch,) = Batcher(path, features, 3, verify=verify)
    assert_same(batch, RECORDS)


def test_values_that_stand_there_twice_or_in_pieces_are_verified_too(tmp_path: Path) -> None:
    images = [wire.entry(b"image", wire.bytes_feature(b"%d" % i * SIZE)) for i in range(2)]
    pieces = wire.sized(2, wire.sized(1, bytes(SIZE // 2))) * 2
    record = RECORDS[0] + wire.example(wire.entry(b"floats", pieces), *images)
    (batch,) = Batcher(write(tmp_path / "a", [record]), FEATURES, 1)
    assert_same(batch, [record])
    assert not batch["floats"].any()
    assert (batch["image"] == ord("1")).all()


def test_whole_records_are_copied_and_verified(tmp_path: Path) -> None:
    path = write(tmp_path / "a", RECORDS)
    (batch,) = Batcher(path, batch_size=3)
    assert batch.to_list() == RECORDS


@pytest.mark.parametrize("features", [None, FEATURES], ids=["whole", "parsed"])
def test_a_byte_that_changed_is_found_wherever_it_is(tmp_path: Path, features: Any) -> None:
    """Parsing may have stumbled over it before: the checksum has the last word."""
    good = write(tmp_path / "a", RECORDS).read_bytes()
    begin, end = offsets_of(RECORDS)[1:3]
    for offset in [*range(begin + 12, begin + 40), *range(begin + 50, end, 4999), end - 5, end - 1]:
        path = tmp_path / "b"
        path.write_bytes(good[:offset] + bytes([good[offset] ^ 0x10]) + good[offset + 1 :])
        batches = iter(Batcher(path, features, 1))
        next(batches)
        with pytest.raises(fastrec.CorruptRecordError) as caught:
            next(batches)
        error = caught.value
        assert (error.kind, error.record, error.offset) == ("data-crc", 1, begin)


def test_what_parsing_says_is_said_of_sound_records(tmp_path: Path) -> None:
    odd = reference.encode({**row(1), "floats": [1.0]})
    path = write(tmp_path / "a", [RECORDS[0], odd])
    with pytest.raises(fastrec.ExampleParseError, match="'floats': expected 10000 values, found 1"):
        list(Batcher(path, FEATURES, 2))
