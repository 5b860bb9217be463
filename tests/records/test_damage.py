# SPDX-License-Identifier: Apache-2.0
"""Going on after damage: what is lost is a record or a reported region, and nothing is made up."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import reference
from cost import check_proportion
from hypothesis import given
from hypothesis import strategies as st
from verbs import (
    feed,
    flip,
    gzipped,
    number_records,
    offsets_of,
    promise,
    read,
    write,
    zlibbed,
)

import fastrec
from fastrec import _core
from fastrec.records.content.files import explain_damage

RECORDS = number_records(6)
FRAMES = reference.write_frames(RECORDS)
OFFSETS = offsets_of(RECORDS)


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def without(number: int) -> list[bytes]:
    return RECORDS[:number] + RECORDS[number + 1 :]


def salvage(path: Path, **options: Any) -> tuple[list[bytes], list[fastrec.Skipped]]:
    """The records that iterating, batches, random access and a stream all give, and what was
    skipped."""
    reader = fastrec.Reader(path, on_error="skip", compression=None, **options)
    records = list(iter(reader))
    assert [record for batch in reader.blocks(2) for record in batch] == records
    assert reader[:] == records == [bytes(view) for view in reader.views()]
    with open(path, "rb") as file:
        stream = fastrec.Reader(file, on_error="skip", compression=None, **options)
        assert list(stream) == records
    regions = [[(lost.begin, lost.end) for lost in each.skipped] for each in (stream, reader)]
    assert regions[0] == regions[1]
    return records, reader.skipped


@pytest.mark.parametrize("number", range(len(RECORDS)))
def test_a_bad_data_checksum_costs_one_record(tmp_path: Path, number: int) -> None:
    begin, end = OFFSETS[number : number + 2]
    path = put(tmp_path / "file", flip(FRAMES, 8 * end - 1))
    records, report = salvage(path)
    assert records == without(number)
    (lost,) = report
    assert (lost.path, lost.begin, lost.end) == (str(path), begin, end)
    assert (lost.record, lost.kind, lost.size) == (number, "data-crc", end - begin)


def test_any_flipped_bit_costs_one_record(tmp_path: Path) -> None:
    for bit in range(8 * len(FRAMES)):
        number = max(i for i, offset in enumerate(OFFSETS[:-1]) if offset <= bit // 8)
        records, report = salvage(put(tmp_path / "file", flip(FRAMES, bit)))
        assert records == without(number), bit
        assert [(lost.begin, lost.end) for lost in report] == [tuple(OFFSETS[number : number + 2])]


def account(data: bytes, path: Path) -> list[bytes]:
    """Every byte is in a record or in a region that was reported."""
    records, report = salvage(put(path, data))
    regions = sum(lost.size or 0 for lost in report)
    assert sum(len(record) + 16 for record in records) + regions == len(data)
    return records


def is_subsequence(some: list[bytes], whole: list[bytes]) -> bool:
    rest = iter(whole)
    return all(each in rest for each in some)


@given(st.integers(0, len(FRAMES)), st.integers(0, 80), st.binary(max_size=80))
def test_records_that_damage_does_not_touch_are_read(
    tmp_path: Path, at: int, size: int, instead: bytes
) -> None:
    data = FRAMES[:at] + instead + FRAMES[at + size :]
    content = explain_damage(data, first=True, whole=True)
    if at == 0 and content is not None and not content.repairable:  # such as a snappy signature
        with pytest.raises(fastrec.CorruptRecordError, match="not a TFRecord file"):
            account(data, tmp_path / "file")
        return
    records = account(data, tmp_path / "file")
    before = [r for r, end in zip(RECORDS, OFFSETS[1:], strict=True) if end <= at]
    after = [r for r, begin in zip(RECORDS, OFFSETS, strict=False) if begin >= at + size]
    assert records[: len(before)] == before
    assert not after or records[-len(after) :] == after


@given(st.lists(st.tuples(st.integers(0, len(FRAMES) - 1), st.integers(0, 255)), max_size=8))
def test_no_damage_makes_records_up(tmp_path: Path, changes: list[tuple[int, int]]) -> None:
    data = bytearray(FRAMES)
    for at, value in changes:
        data[at] = value
    assert is_subsequence(account(bytes(data), tmp_path / "file"), RECORDS)


INNER = reference.write_frames([b"inner %d" % i for i in range(4)])
OUTER = [b"first", INNER, b"last"]


@pytest.mark.parametrize("tail", [b"", b"last"])
@pytest.mark.parametrize("damage", ["length", "length-crc", "header", "header and data"])
def test_a_record_file_inside_a_record_is_never_taken_for_records(
    tmp_path: Path, damage: str, tail: bytes
) -> None:
    outer = [b"first", INNER, tail] if tail else [b"first", INNER]
    data = bytearray(reference.write_frames(outer))
    at = offsets_of(outer)[1]
    spots = {"length": [1], "length-crc": [9], "header": [0, 10]}.get(damage, [2, 11, 12 + 40])
    for spot in spots:
        data[at + spot] ^= 0x55
    records, report = salvage(put(tmp_path / "file", bytes(data)))
    assert records == [b"first", *([tail] if tail else [])]
    assert report[0].begin == at


@pytest.mark.parametrize("spot", range(12))
def test_frames_among_other_data_are_not_taken_for_records(tmp_path: Path, spot: int) -> None:
    outer = [b"first", b"before" + INNER + b"after", b"last"]
    data = flip(reference.write_frames(outer), 8 * (offsets_of(outer)[1] + spot))
    records, report = salvage(put(tmp_path / "file", data))
    assert records == [b"first", b"last"]
    assert "its data is sound" in report[0].reason


def test_a_broken_record_file_inside_a_damaged_record_is_ambiguous_and_passed_over(
    tmp_path: Path,
) -> None:
    data = bytearray(reference.write_frames(OUTER))
    at = offsets_of(OUTER)[1]
    data[at + 1] ^= 1
    data[at + 9] ^= 1
    data[at + 12 + 13] ^= 1  # in the data of the first inner record
    records, report = salvage(put(tmp_path / "file", bytes(data)))
    assert records == [b"first", b"last"]
    assert [lost.ambiguous for lost in report] == [True]
    assert "passed over" in report[0].reason


def test_a_torn_record_that_was_appended_to_costs_itself_alone(tmp_path: Path) -> None:
    for cut in range(OFFSETS[2] + 1, OFFSETS[3]):
        records, report = salvage(put(tmp_path / "file", FRAMES[:cut] + FRAMES))
        assert records == RECORDS[:2] + RECORDS, cut
        assert [(lost.begin, lost.end) for lost in report] == [(OFFSETS[2], cut)]


@pytest.mark.parametrize("junk", [bytes(4096), b"\xff" * 4096, bytes(range(256)) * 16])
def test_junk_between_records_and_at_the_end_is_skipped(tmp_path: Path, junk: bytes) -> None:
    records, report = salvage(put(tmp_path / "file", FRAMES + junk + FRAMES + junk))
    assert records == RECORDS + RECORDS
    assert [lost.size for lost in report] == [4096, 4096]


@pytest.mark.parametrize("verify", [True, False])
def test_a_header_without_its_data_is_no_record(tmp_path: Path, verify: bool) -> None:
    junk = b"\xff" * 20 + reference.header(4) + b"fake" + bytes(4)
    reader = fastrec.Reader(
        put(tmp_path / "file", FRAMES + junk + FRAMES), on_error="skip", verify=verify
    )
    assert list(iter(reader)) == RECORDS + RECORDS
    assert [lost.size for lost in reader.skipped] == [len(junk)]


@pytest.mark.parametrize("length", [2**31, 2**62, 2**63, 2**64 - 16])
def test_a_promise_of_too_much_is_skipped(tmp_path: Path, length: int) -> None:
    data = FRAMES + promise(length, b"abc") + FRAMES
    records, report = salvage(put(tmp_path / "file", data))
    assert records == RECORDS + RECORDS
    assert [lost.kind for lost in report] == ["too-large"]


def test_a_record_above_the_limit_is_skipped(tmp_path: Path) -> None:
    path = write(tmp_path / "file", [b"small", b"large" * 100, b"small"])
    records, report = salvage(path, max_record_bytes=100)
    assert records == [b"small", b"small"]
    assert (report[0].kind, report[0].size) == ("too-large", 516)


@pytest.mark.parametrize("compress", [bytes, gzipped, zlibbed])
def test_streams_skip_as_files_do(tmp_path: Path, compress: Any) -> None:
    for number in range(len(RECORDS)):
        for spot in (3, 9, 12):
            data = flip(FRAMES, 8 * (OFFSETS[number] + spot))
            reader = fastrec.Reader(io.BytesIO(compress(data)), on_error="skip")
            assert list(reader) == without(number)
            region = tuple(OFFSETS[number : number + 2])
            assert [(lost.begin, lost.end) for lost in reader.skipped] == [region]


class Failing(io.BytesIO):
    """Bytes, and then an error that passes."""

    failures = 1

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        if not data and self.failures:
            self.failures -= 1
            raise OSError(5, "cable fell out")
        return data


def test_a_search_that_comes_upon_an_error_first_gives_what_is_before_it() -> None:
    data = flip(FRAMES, 8 * (OFFSETS[1] + 3) + 1)
    reader = iter(fastrec.Reader(io.BytesIO(gzipped(data)[:-4]), on_error="skip"))
    assert list(reader) == without(1)
    reader = iter(fastrec.Reader(Failing(data[:-1]), on_error="skip", compression=None))
    assert [next(reader) for _ in range(4)] == without(1)[:4]
    with pytest.raises(OSError, match="cable"):
        next(reader)


def test_a_pipe_is_searched_as_its_bytes_arrive() -> None:
    noise = os.urandom(3_000_000)
    receiver, sender = os.pipe()
    feeder = feed(sender, FRAMES + noise + FRAMES)
    with open(receiver, "rb") as file:
        reader = fastrec.Reader(file, on_error="skip")
        assert list(reader) == RECORDS + RECORDS
    feeder.join()
    assert [lost.size for lost in reader.skipped] == [len(noise)]


def test_a_stream_that_breaks_off_loses_its_rest_and_no_other_file(tmp_path: Path) -> None:
    paths = [tmp_path / "a", write(tmp_path / "b", RECORDS)]
    put(paths[0], gzipped(FRAMES)[:-20])
    reader = fastrec.Reader(paths, on_error="skip")
    found = list(reader)
    assert found[-6:] == RECORDS
    assert found[:-6] == RECORDS[: len(found) - 6]
    (lost,) = reader.skipped
    assert (lost.path, lost.end, lost.size) == (str(paths[0]), None, None)


# --- the end of a file ----------------------------------------------------------------------------


def test_a_torn_tail_is_tolerated_when_asked(tmp_path: Path) -> None:
    for size in range(len(FRAMES) + 1):
        path = put(tmp_path / "file", FRAMES[:size])
        whole = [r for r, end in zip(RECORDS, OFFSETS[1:], strict=True) if end <= size]
        reader = fastrec.Reader(path, on_error="tolerate_tail")
        assert list(iter(reader)) == whole == reader[:]
        at = offsets_of(whole)[-1]
        expected = [] if at == size else [(at, size)]
        assert [(lost.begin, lost.end) for lost in reader.skipped] == expected


@pytest.mark.parametrize("compress", [gzipped, zlibbed])
def test_a_torn_stream_is_a_torn_tail(tmp_path: Path, compress: Any) -> None:
    whole = compress(FRAMES)
    for size in range(2, len(whole)):
        name = "GZIP" if compress is gzipped else "ZLIB"
        path = put(tmp_path / "file", whole[:size])
        records, error = read(path, compression=name, on_error="tolerate_tail")
        assert error is None
        assert records == RECORDS[: len(records)]


@pytest.mark.parametrize("bit", [8 * 3, 8 * 9, 8 * 13])
def test_other_damage_is_not_a_torn_tail(tmp_path: Path, bit: int) -> None:
    path = put(tmp_path / "file", flip(FRAMES, 8 * OFFSETS[-2] + bit))
    records, error = read(path, on_error="tolerate_tail")
    assert records == RECORDS[:-1]
    assert isinstance(error, fastrec.CorruptRecordError)


def test_a_torn_record_with_records_after_it_is_no_tail(tmp_path: Path) -> None:
    path = put(tmp_path / "file", FRAMES + promise(2**40, b"abc") + FRAMES)
    records, error = read(path, on_error="tolerate_tail")
    assert records == RECORDS
    assert isinstance(error, fastrec.TruncatedFileError)


def test_zeros_at_the_end_are_no_torn_tail(tmp_path: Path) -> None:
    _, error = read(put(tmp_path / "file", FRAMES + bytes(4096)), on_error="tolerate_tail")
    assert isinstance(error, fastrec.CorruptRecordError)


# --- limits and callables -------------------------------------------------------------------------

TWICE = flip(flip(FRAMES, 8 * (OFFSETS[1] + 13)), 8 * (OFFSETS[4] + 13))


def test_more_regions_than_allowed_are_an_error(tmp_path: Path) -> None:
    path = put(tmp_path / "file", TWICE)
    assert read(path, on_error="skip", max_bad=2)[1] is None
    records, error = read(path, on_error="skip", max_bad=1)
    assert records == [RECORDS[0], *RECORDS[2:4]]
    assert isinstance(error, fastrec.CorruptRecordError)
    assert error.offset == OFFSETS[4]
    assert read(path, on_error="skip", max_bad=0)[0] == RECORDS[:1]


def test_the_limit_is_of_one_pass(tmp_path: Path) -> None:
    reader = fastrec.Reader(put(tmp_path / "file", TWICE), on_error="skip", max_bad=2)
    assert [list(iter(reader)) for _ in range(3)] == 3 * [[RECORDS[i] for i in (0, 2, 3, 5)]]
    assert len(reader.skipped) == 2, "each region once"


def test_a_callable_sees_each_error_and_may_stop(tmp_path: Path) -> None:
    path = put(tmp_path / "file", TWICE)
    seen: list[Any] = []
    reader = fastrec.Reader(path, on_error=seen.append)
    assert list(iter(reader)) == [RECORDS[i] for i in (0, 2, 3, 5)]
    assert [error.offset for error in seen] == [OFFSETS[1], OFFSETS[4]]

    def stop(error: fastrec.FastrecError) -> None:
        raise LookupError("enough") from error

    iterator = iter(fastrec.Reader(path, on_error=stop))
    assert next(iterator) == RECORDS[0]
    with pytest.raises(LookupError, match="enough"):
        next(iterator)


def test_a_callable_that_uses_its_iterator_is_told(tmp_path: Path) -> None:
    [reader] = fastrec.Reader(
        put(tmp_path / "file", TWICE), on_error=lambda _: next(reader)
    )._files.readers()
    with pytest.raises(ValueError, match="cannot be used by the function"):
        list(reader)


@pytest.mark.parametrize("options", [{"on_error": "ignore"}, {"on_error": None}])
def test_what_is_no_policy_is_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="on_error"):
        fastrec.Reader(write(tmp_path / "file", RECORDS), **options)


@pytest.mark.parametrize("options", [{"max_bad": 1}, {"on_error": "skip", "max_bad": -1}])
def test_a_limit_that_cannot_be_is_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="max_bad"):
        fastrec.Reader(write(tmp_path / "file", RECORDS), **options)


def test_a_file_that_shrinks_is_not_skipped(tmp_path: Path) -> None:
    path = write(tmp_path / "file", [bytes([i]) * 100_000 for i in range(40)])
    iterator = iter(fastrec.Reader(path, on_error="skip"))
    next(iterator)
    os.truncate(path, 2_000_000)
    with pytest.raises(fastrec.TruncatedFileError) as caught:
        list(iterator)
    assert caught.value.kind == "shrunk"


def test_an_error_of_the_system_is_not_skipped() -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() >= len(FRAMES):
                raise OSError(5, "Input/output error")
            return super().read(100)

    iterator = iter(fastrec.Reader(Failing(FRAMES + FRAMES[:7]), on_error="skip"))
    assert [next(iterator) for _ in RECORDS] == RECORDS
    with pytest.raises(OSError, match="Input/output"):
        next(iterator)


def test_a_record_file_inside_a_long_record_is_told_apart_from_records(tmp_path: Path) -> None:
    # The search through it takes several strides, and must not forget where it began.
    outer = bytes(9 << 20) + FRAMES
    rest = _core.frame(outer)[12:]
    for header in (bytes(12), b"\xff" * 12):
        frame = header + rest
        reader = fastrec.Reader(put(tmp_path / "file", FRAMES + frame + FRAMES), on_error="skip")
        assert list(reader) == 2 * RECORDS
        found = [(region.begin, region.size) for region in reader.skipped]
        assert found == [(len(FRAMES), len(frame))]
        assert "only the header is wrong" in reader.skipped[0].reason


def test_false_headers_cost_time_in_proportion_to_the_file(tmp_path: Path) -> None:
    # Each of 12 bytes promises data up to the end, with a checksum that takes all of it to refute.
    def reads(size: int) -> Callable[[], None]:
        hostile = b"\xff" + reference.header(size) * (size // 12)
        path = put(tmp_path / str(size), FRAMES + hostile + bytes(size) + FRAMES)

        def read_all() -> None:
            assert read(path, on_error="skip")[0] == RECORDS + RECORDS

        return read_all

    check_proportion(reads, 1_500_000)
