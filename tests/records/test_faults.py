# SPDX-License-Identifier: Apache-2.0
"""Damaged framing. There are three outcomes: a complete record, a clean end at a boundary, or an
exception that says where; never a record that was not written, never a silent short read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from verbs import (
    assert_one_ascii_line,
    feed,
    flip,
    gzipped,
    number_records,
    offsets_of,
    promise,
    read,
    write,
)

import fastrec

RECORDS = [b"first record", b"", b"and a third one"]
FRAMES = reference.write_frames(RECORDS)
OFFSETS = offsets_of(RECORDS)

TORN = ("torn-header", "torn-data", "torn-footer")

# Lengths that have broken readers, with what remains in the file where they are promised.
LEFT = 40
HOSTILE = [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 3, 2**40, 2**62, 2**63 - 1, 2**63]
HOSTILE += [2**63 + LEFT, 2**64 - 1, 2**64 - 4, *range(2**64 - 20, 2**64 - 11)]
HOSTILE += [LEFT - 5, LEFT - 4, LEFT - 3, LEFT - 1, LEFT, LEFT + 1]


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def check(path: Path, data: bytes, verify: bool = True) -> None:
    """Reads `data` in every way there is and compares with the reference."""
    put(path, data)
    expected, damage = reference.read_frames(data)
    records, error = read(path, verify=verify, compression=None)
    if damage is None or (not verify and damage.kind == "data-crc"):
        assert error is None
        assert records == expected or not verify
        return
    assert records == expected
    assert isinstance(error, fastrec.CorruptRecordError)
    torn = damage.kind in (*TORN, "too-large") or len(data) - damage.offset < 12
    assert isinstance(error, fastrec.TruncatedFileError) == torn
    place = (damage.kind, damage.record, damage.offset)
    assert (error.kind, error.record, error.offset) == place
    assert error.path == str(path)
    says = "truncated" if torn else "corrupted"
    if damage.offset == 0 and getattr(error, "content", None):
        says = "not a TFRecord file"
    else:
        says = f"{says} record at {damage.offset}"
    assert says in str(error)
    assert_one_ascii_line(error)
    with pytest.raises(fastrec.CorruptRecordError) as caught:
        fastrec.verify(path, compression=None) if verify else fastrec.count(path, compression=None)
    assert (caught.value.kind, caught.value.record, caught.value.offset) == place


@pytest.mark.parametrize("verify", [True, False])
def test_a_file_cut_anywhere_is_whole_up_to_the_cut(tmp_path: Path, verify: bool) -> None:
    for size in range(len(FRAMES) + 1):
        check(tmp_path / "cut", FRAMES[:size], verify)


@pytest.mark.parametrize("verify", [True, False])
def test_a_file_cut_at_a_boundary_ends_cleanly(tmp_path: Path, verify: bool) -> None:
    for count, size in enumerate(OFFSETS):
        records, error = read(put(tmp_path / "cut", FRAMES[:size]), verify=verify)
        assert (records, error) == (RECORDS[:count], None)


def test_every_flipped_bit_is_found_where_it_is(tmp_path: Path) -> None:
    for bit in range(8 * len(FRAMES)):
        check(tmp_path / "flipped", flip(FRAMES, bit))
        record = max(i for i in range(3) if OFFSETS[i] <= bit // 8)
        records, error = read(tmp_path / "flipped")
        assert isinstance(error, fastrec.CorruptRecordError)
        assert records == RECORDS[:record]
        in_header = bit // 8 < OFFSETS[record] + 12
        assert error.kind == ("length-crc" if in_header else "data-crc")


def test_without_verifying_a_flipped_bit_in_a_header_is_still_found(tmp_path: Path) -> None:
    for bit in range(8 * len(FRAMES)):
        check(tmp_path / "flipped", flip(FRAMES, bit), verify=False)


@given(
    st.lists(st.integers(0, 8 * len(FRAMES) - 1), min_size=1, max_size=6, unique=True),
    st.integers(0, len(FRAMES)),
    st.binary(max_size=30),
)
def test_any_damage_gets_the_verdict_of_the_reference(
    tmp_path: Path, bits: list[int], size: int, tail: bytes
) -> None:
    data = FRAMES
    for bit in bits:
        data = flip(data, bit)
    check(tmp_path / "damaged", data[:size] + tail)


@given(st.binary(max_size=200))
def test_any_bytes_get_the_verdict_of_the_reference(tmp_path: Path, data: bytes) -> None:
    check(tmp_path / "bytes", data)


@pytest.mark.parametrize("size", range(1, 12))
def test_stray_bytes_after_the_last_record_are_an_error(tmp_path: Path, size: int) -> None:
    records, error = read(put(tmp_path / "stray", FRAMES + b"stray bytes"[:size]))
    assert records == RECORDS
    assert isinstance(error, fastrec.TruncatedFileError)
    assert (error.kind, error.record, error.offset) == ("torn-header", 3, len(FRAMES))


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("size", [*range(1, 18), 4096])
def test_zeros_after_the_last_record_are_never_records(
    tmp_path: Path, size: int, verify: bool
) -> None:
    records, error = read(put(tmp_path / "zeros", FRAMES + bytes(size)), verify=verify)
    assert records == RECORDS
    assert isinstance(error, fastrec.CorruptRecordError)
    assert (error.kind, error.record, error.offset) == ("zero-fill", 3, len(FRAMES))


@pytest.mark.parametrize("length", HOSTILE)
def test_a_length_beyond_the_file_is_refused(tmp_path: Path, length: int) -> None:
    data = FRAMES + promise(length, bytes(range(LEFT)))
    for verify in (True, False):
        records, error = read(put(tmp_path / "hostile", data), verify=verify)
        # What fits is a record that was never written, unless its CRC is looked at.
        fits = length <= LEFT - 4
        assert records[:3] == RECORDS
        assert len(records) == (3 if verify or not fits else 4)
        if length == LEFT - 4 and not verify:
            assert error is None
            continue
        assert isinstance(error, fastrec.CorruptRecordError)
        if verify:
            check(tmp_path / "hostile", data)
            assert error.length == length


@pytest.mark.parametrize("length", HOSTILE)
@pytest.mark.parametrize("compress", [bytes, gzipped])
def test_a_length_beyond_a_pipe_is_refused(length: int, compress: type[bytes]) -> None:
    source, sink = os.pipe()
    feeder = feed(sink, compress(FRAMES + promise(length, bytes(range(LEFT)))))
    with open(source, "rb") as pipe:
        records, error = read(pipe)
    feeder.join()
    assert records == RECORDS
    assert isinstance(error, fastrec.CorruptRecordError | fastrec.LimitExceededError)
    kind = "too-large" if length > 2**31 - 1 else "torn-data"
    if length <= LEFT:
        kind = "torn-footer" if length > LEFT - 4 else "data-crc"
    assert (error.kind, error.record, error.offset) == (kind, 3, len(FRAMES))
    assert error.length == length
    assert_one_ascii_line(error)


def test_a_limit_of_the_callers_is_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "file", [bytes(10), bytes(11), bytes(12)])
    assert read(path, max_record_bytes=12)[1] is None
    records, error = read(path, max_record_bytes=10)
    assert records == [bytes(10)]
    assert isinstance(error, fastrec.LimitExceededError)
    assert (error.kind, error.record, error.offset, error.length) == ("too-large", 1, 26, 11)
    assert error.path == str(path)


# --- what an error tells ------------------------------------------------------------------------


def test_a_wrong_checksum_is_told_with_both_values(tmp_path: Path) -> None:
    stored = flip(FRAMES, 8 * 12)  # the first byte of the first record's data
    _, error = read(put(tmp_path / "file", stored))
    assert isinstance(error, fastrec.CorruptRecordError)
    assert error.length == 12
    assert error.stored_crc == reference.crc32c(RECORDS[0])
    assert error.computed_crc == reference.crc32c(stored[12:24])
    for number in (error.stored_crc, error.computed_crc):
        assert f"0x{number:08x}" in str(error)


def test_an_error_says_file_record_and_offset(tmp_path: Path) -> None:
    whole = write(tmp_path / "whole", RECORDS)
    damaged = put(tmp_path / "damaged", flip(FRAMES, 8 * (OFFSETS[2] + 12)))
    records, error = read([whole, damaged])
    assert records == RECORDS + RECORDS[:2]
    assert isinstance(error, fastrec.CorruptRecordError)
    # The record is numbered within its file, which is where one would look for it.
    assert (error.path, error.record, error.offset) == (str(damaged), 2, OFFSETS[2])
    assert f"corrupted record at {OFFSETS[2]} in" in str(error)
    assert "damaged" in str(error)
    assert "record 2" in str(error)


def test_damage_is_met_again_and_the_rest_stays_readable(tmp_path: Path) -> None:
    reader = fastrec.Reader(put(tmp_path / "file", flip(FRAMES, 8 * 12)))
    assert len(reader) == 3, "a wrong data checksum does not hide the records after it"
    for _ in range(2):
        with pytest.raises(fastrec.CorruptRecordError):
            reader[0]
    assert reader[1:] == RECORDS[1:]
    assert fastrec.Reader(tmp_path / "file", verify=False)[1:] == RECORDS[1:]


@pytest.mark.parametrize("how", ["records", "views", "blocks"])
@pytest.mark.parametrize("stored", [FRAMES[:-1], flip(FRAMES, 8 * (OFFSETS[1] + 12))])
def test_an_iterator_that_failed_never_ends_in_silence(
    tmp_path: Path, how: str, stored: bytes
) -> None:
    reader = fastrec.Reader([put(tmp_path / "a", stored), write(tmp_path / "b", RECORDS)])
    iterators: dict[str, Iterator[object]] = {
        "records": iter(reader),
        "views": reader.views(),
        "blocks": reader.blocks(1),
    }
    iterator = iterators[how]
    errors = []
    for _ in range(6):
        try:
            next(iterator)
        except fastrec.CorruptRecordError as error:
            errors.append(str(error))
    assert len(errors) >= 3
    assert len(set(errors)) == 1


def test_a_batch_gives_the_records_before_the_damage(tmp_path: Path) -> None:
    records = number_records(10)
    frames = reference.write_frames(records)
    reader = fastrec.Reader(put(tmp_path / "file", flip(frames, 8 * (offsets_of(records)[7] + 12))))
    seen: list[bytes] = []
    with pytest.raises(fastrec.CorruptRecordError) as caught:
        seen.extend(record for batch in reader.blocks(4) for record in batch)
    assert caught.value.record == 7
    assert seen in (records[:4], records[:7])


@pytest.mark.parametrize("error", ["CorruptRecordError", "LimitExceededError", "ExampleParseError"])
def test_data_errors_are_value_errors_and_not_os_errors(error: str) -> None:
    cls = getattr(fastrec, error)
    assert issubclass(cls, fastrec.FastrecError)
    assert issubclass(cls, ValueError)
    assert not issubclass(cls, OSError)


def test_a_truncated_file_is_also_an_eof_error() -> None:
    assert issubclass(fastrec.TruncatedFileError, fastrec.CorruptRecordError)
    assert issubclass(fastrec.TruncatedFileError, EOFError)
