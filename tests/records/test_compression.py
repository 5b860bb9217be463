# SPDX-License-Identifier: Apache-2.0
"""Compressed files: streams of the same records, and their own ways of being damaged."""

from __future__ import annotations

import contextlib
import gzip
import io
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from verbs import flip, gzipped, number_records, offsets_of, promise, read, write, zlibbed

import fastrec
from fastrec.records.output_file import Output

RECORDS = number_records(5)
FRAMES = reference.write_frames(RECORDS)


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", ["GZIP", "ZLIB"])
def test_what_a_writer_compresses_the_standard_library_expands(tmp_path: Path, name: Any) -> None:
    path = tmp_path / "file"
    with fastrec.Writer(path, compression=name) as writer:
        for record in RECORDS:
            writer.write(record)
    expand = gzip.decompress if name == "GZIP" else zlib.decompress
    assert expand(path.read_bytes()) == FRAMES
    assert read(path) == read(path, compression=name) == (RECORDS, None)


@pytest.mark.parametrize("name", ["GZIP", "ZLIB"])
def test_long_and_short_records_are_compressed_in_order(tmp_path: Path, name: Any) -> None:
    generator, block = np.random.default_rng(0), Output.BLOCK
    sizes = [3, 2 * block, 5, block - 17, block - 16, 0, block, 7]
    records = [generator.bytes(size) for size in sizes]
    with fastrec.Writer(tmp_path / "file", compression=name) as writer:
        for record in records:
            writer.write(record)
        writer.write_many(records)
    assert writer.count == 2 * len(records)
    assert read(tmp_path / "file") == (2 * records, None)


@pytest.mark.parametrize("name", ["GZIP", "ZLIB"])
def test_a_compressed_file_of_no_records_is_empty(tmp_path: Path, name: Any) -> None:
    with fastrec.Writer(tmp_path / "file", compression=name):
        pass
    assert read(tmp_path / "file") == ([], None)
    assert fastrec.count(tmp_path / "file") == 0


def test_the_level_makes_a_difference(tmp_path: Path) -> None:
    for level in (1, 9):
        with fastrec.Writer(tmp_path / str(level), compression="GZIP", level=level) as writer:
            for record in number_records(2000):
                writer.write(record)
        assert read(tmp_path / str(level)) == (number_records(2000), None)
    assert (tmp_path / "9").stat().st_size < (tmp_path / "1").stat().st_size


@pytest.mark.parametrize("name", ["gzip9", "SNAPPY", "NONE", 1])
def test_an_unknown_compression_is_refused(tmp_path: Path, name: Any) -> None:
    path = put(tmp_path / "file", FRAMES)
    for use in (fastrec.Reader, fastrec.Writer):
        with pytest.raises((ValueError, TypeError), match="compression"):
            use(path, compression=name)
    assert path.read_bytes() == FRAMES


def test_compression_none_takes_the_bytes_as_they_are(tmp_path: Path) -> None:
    records, error = read(put(tmp_path / "file", gzipped(FRAMES)), compression=None)
    assert records == []
    assert isinstance(error, fastrec.CorruptRecordError)
    assert error.kind == "length-crc"
    assert "GZIP" in str(error), "the error says what the file looks like"


@pytest.mark.parametrize("cut", range(0, len(FRAMES), 7))
def test_a_record_may_lie_in_several_gzip_members(tmp_path: Path, cut: int) -> None:
    path = put(tmp_path / "file", gzipped(FRAMES[:cut]) + gzipped(FRAMES[cut:]))
    assert read(path) == (RECORDS, None)


def test_many_small_members_are_one_stream(tmp_path: Path) -> None:
    members = b"".join(gzipped(FRAMES[i : i + 1]) for i in range(len(FRAMES)))
    assert read(put(tmp_path / "file", members)) == (RECORDS, None)


@pytest.mark.parametrize("where", ["front", "middle", "back"])
def test_an_empty_member_does_not_end_the_stream(tmp_path: Path, where: str) -> None:
    half, empty = offsets_of(RECORDS)[2], gzipped(b"")
    front, back = gzipped(FRAMES[:half]), gzipped(FRAMES[half:])
    parts = {
        "front": [empty, front, back],
        "middle": [front, empty, back],
        "back": [front, back, empty],
    }
    assert read(put(tmp_path / "file", b"".join(parts[where]))) == (RECORDS, None)


def test_gzip_headers_may_carry_a_name_and_a_comment(tmp_path: Path) -> None:
    stored = io.BytesIO()
    with gzip.GzipFile("train.tfrecord", "wb", fileobj=stored) as file:
        file.write(FRAMES)
    assert read(put(tmp_path / "file", stored.getvalue())) == (RECORDS, None)


def test_a_zlib_stream_may_have_a_small_window(tmp_path: Path) -> None:
    compress = zlib.compressobj(9, zlib.DEFLATED, 9)
    data = compress.compress(FRAMES) + compress.flush()
    assert read(put(tmp_path / "file", data), compression="ZLIB") == (RECORDS, None)


def test_zeros_after_a_gzip_stream_are_padding_as_gunzip_has_it(tmp_path: Path) -> None:
    assert read(put(tmp_path / "file", gzipped(FRAMES) + bytes(512))) == (RECORDS, None)


@pytest.mark.parametrize("compress", [gzipped, zlibbed])
def test_garbage_after_a_stream_is_never_passed_over(tmp_path: Path, compress: Any) -> None:
    records, error = read(put(tmp_path / "file", compress(FRAMES) + b"garbage"))
    assert records == RECORDS
    assert isinstance(error, fastrec.CorruptRecordError)


def test_a_second_zlib_stream_is_read_or_refused_but_not_dropped(tmp_path: Path) -> None:
    records, error = read(put(tmp_path / "file", zlibbed(FRAMES) + zlibbed(FRAMES)))
    assert records == 2 * RECORDS or isinstance(error, fastrec.CorruptRecordError)


@pytest.mark.parametrize("compress", [gzipped, zlibbed])
def test_a_stream_cut_anywhere_is_an_error_after_a_prefix(tmp_path: Path, compress: Any) -> None:
    whole = compress(FRAMES)
    for size in range(2, len(whole)):
        name = "GZIP" if compress is gzipped else "ZLIB"
        records, error = read(put(tmp_path / "file", whole[:size]), compression=name)
        assert isinstance(error, fastrec.TruncatedFileError), size
        assert records == RECORDS[: len(records)]
        assert error.record == len(records)


@pytest.mark.parametrize("compress", [gzipped, zlibbed])
def test_a_flipped_bit_never_gives_a_wrong_record(tmp_path: Path, compress: Any) -> None:
    whole = compress(FRAMES)
    name = "GZIP" if compress is gzipped else "ZLIB"
    for bit in range(0, 8 * len(whole), 3):
        records, error = read(put(tmp_path / "file", flip(whole, bit)), compression=name)
        assert records == RECORDS[: len(records)]
        # Some bits of the headers (time, system, name) say nothing.
        assert isinstance(error, fastrec.FastrecError) or records == RECORDS


def test_a_wrong_gzip_checksum_is_an_error(tmp_path: Path) -> None:
    whole = gzipped(FRAMES)
    for at in (-8, -4):  # CRC32, size
        damaged = flip(whole, 8 * (len(whole) + at))
        records, error = read(put(tmp_path / "file", damaged))
        assert records == RECORDS[: len(records)]
        assert isinstance(error, fastrec.CorruptRecordError)


@given(st.integers(0, 8 * len(FRAMES) - 1))
def test_damage_inside_a_stream_is_found_at_its_uncompressed_place(
    tmp_path: Path, bit: int
) -> None:
    damaged = flip(FRAMES, bit)
    expected, damage = reference.read_frames(damaged)
    records, error = read(put(tmp_path / "file", gzipped(damaged)))
    assert records == expected
    assert isinstance(error, fastrec.CorruptRecordError | fastrec.LimitExceededError)
    assert damage is not None
    assert (error.kind, error.record, error.offset) == (damage.kind, damage.record, damage.offset)
    assert str(tmp_path / "file") == error.path


@pytest.mark.parametrize("compress", [gzipped, zlibbed])
def test_a_stream_that_ends_inside_a_record_is_torn(tmp_path: Path, compress: Any) -> None:
    for size in range(len(FRAMES) + 1):
        expected, damage = reference.read_frames(FRAMES[:size])
        records, error = read(put(tmp_path / "file", compress(FRAMES[:size])))
        assert records == expected
        if damage is None:
            assert error is None
        else:
            assert isinstance(error, fastrec.TruncatedFileError)
            assert (error.kind, error.offset) == (damage.kind, damage.offset)


def before_the_damage(raw: bytes) -> bytes:
    """The contents of a deflate stream up to its damage, by zlib, a byte at a time."""
    inflater, found = zlib.decompressobj(-15), bytearray()
    with contextlib.suppress(zlib.error):
        for byte in raw:
            rest = bytes([byte])
            while piece := inflater.decompress(rest, 1):
                found += piece
                rest = inflater.unconsumed_tail
    return bytes(found)


@pytest.mark.parametrize(("compress", "head", "tail"), [(gzipped, 10, 8), (zlibbed, 2, 4)])
def test_damage_inside_a_deflate_stream_costs_no_record_before_it(
    tmp_path: Path, compress: Any, head: int, tail: int
) -> None:
    random = np.random.default_rng(5)
    records = [random.integers(0, 9, 500, np.uint8).tobytes() for _ in range(300)]
    whole = compress(reference.write_frames(records))
    raw = [bit // 8 for bit in random.integers(8 * head, 8 * (len(whole) - tail), 12)]
    for at in (len(whole) // 2, *raw):
        damaged = bytearray(whole)
        damaged[at : at + 8] = b"\xff" * 8
        expected, _ = reference.read_frames(before_the_damage(bytes(damaged[head:-tail])))
        found, error = read(put(tmp_path / "file", bytes(damaged)))
        assert found == expected
        assert isinstance(error, fastrec.CorruptRecordError)


@pytest.mark.parametrize("name", ["GZIP", "ZLIB"])
def test_a_plain_file_opened_as_compressed_is_an_error(tmp_path: Path, name: Any) -> None:
    records, error = read(put(tmp_path / "file", FRAMES), compression=name)
    assert records == []
    assert isinstance(error, fastrec.CorruptRecordError)


@pytest.mark.parametrize("name", ["GZIP", "ZLIB"])
def test_an_empty_file_opened_as_compressed_has_no_records(tmp_path: Path, name: Any) -> None:
    assert read(put(tmp_path / "file", b""), compression=name) == ([], None)


@pytest.mark.parametrize("compress", [gzipped, zlibbed])
def test_compressed_files_have_random_access(tmp_path: Path, compress: Any) -> None:
    reader = fastrec.Reader(put(tmp_path / "file", compress(FRAMES)))
    assert (len(reader), reader[0], reader[1:]) == (len(RECORDS), RECORDS[0], RECORDS[1:])
    assert list(reader) == list(reader) == RECORDS


@pytest.mark.parametrize("compress", [gzipped, zlibbed])
def test_batches_count_and_verify_stream(tmp_path: Path, compress: Any) -> None:
    path = put(tmp_path / "file", compress(FRAMES))
    batches = [batch.to_list() for batch in fastrec.Reader(path).blocks(2)]
    assert batches == [RECORDS[0:2], RECORDS[2:4], RECORDS[4:]]
    assert fastrec.count(path) == 5
    assert fastrec.verify(path).records == 5


def test_a_limit_on_records_holds_inside_a_stream(tmp_path: Path) -> None:
    path = put(tmp_path / "file", gzipped(FRAMES + reference.frame(bytes(1001))))
    records, error = read(path, max_record_bytes=1000)
    assert records == RECORDS
    assert isinstance(error, fastrec.LimitExceededError)
    assert (error.kind, error.record, error.length) == ("too-large", 5, 1001)


def test_a_huge_promise_inside_a_stream_is_refused(tmp_path: Path) -> None:
    for length in (2**31, 2**40, 2**62, 2**63, 2**64 - 1):
        records, error = read(put(tmp_path / "file", gzipped(FRAMES + promise(length, b"abc"))))
        assert records == RECORDS
        assert isinstance(error, fastrec.LimitExceededError | fastrec.TruncatedFileError)
        assert (error.kind, error.record, error.length) == ("too-large", 5, length)


def test_writing_on_the_fly_matches_writing_plain(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "file", compression="GZIP") as writer:
        writer.write(RECORDS[0])
        writer.flush()
        for record in RECORDS[1:]:
            writer.write(record)
        assert writer.count == 5
    assert read(tmp_path / "file") == read(write(tmp_path / "plain", RECORDS))


@pytest.mark.parametrize("head", [b"\x1f\x8b\x08", b"\x1f\x8b\x08\x01", b"\x78\x9c", b"\x78\x01"])
def test_a_length_whose_bytes_are_the_header_of_a_codec_is_a_length(
    tmp_path: Path, head: bytes
) -> None:
    path = tmp_path / "plain.tfrecord"
    records = [bytes(int.from_bytes(head, "little")), b"next"]
    with fastrec.Writer(path) as writer:
        writer.write_many(records)
    assert path.read_bytes().startswith(head)
    reader = fastrec.Reader(path)
    assert list(reader) == records
    assert reader[1] == b"next"
    with path.open("rb") as file:
        assert list(fastrec.Reader(file)) == records
