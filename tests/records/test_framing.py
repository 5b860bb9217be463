# SPDX-License-Identifier: Apache-2.0
"""Sound files: the same records whatever they come from, and a Sequence of them."""

from __future__ import annotations

import collections.abc
import io
import os
from pathlib import Path
from typing import Any

import pytest
import reference
from hypothesis import example, given
from hypothesis import strategies as st
from verbs import feed, gzipped, number_records, read, write, zlibbed

import fastrec
from fastrec.records.framing import FRAME_OVERHEAD, HEADER_SIZE

# Frames that TensorFlow wrote.
GOLDEN = {
    b"": "0000000000000000 29039807 d8ea82a2",
    b"a": "0100000000000000 0175de41 61 786ee428",
    b"hello": "0500000000000000 eab2043e 68656c6c6f bb1f1c19",
    bytes(8): "0800000000000000 ff86240f 0000000000000000 29039807",
}
RECORDS = number_records(7)

some_records = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.builds(
            lambda byte, size: byte * size, st.binary(min_size=1, max_size=1), st.integers(0, 5000)
        ),
    ),
    max_size=12,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "seven.tfrecord", RECORDS)


@pytest.mark.parametrize("record", GOLDEN)
def test_a_record_is_written_as_tensorflow_writes_it(tmp_path: Path, record: bytes) -> None:
    with fastrec.Writer(tmp_path / "one") as writer:
        writer.write(record)
    assert (tmp_path / "one").read_bytes() == bytes.fromhex(GOLDEN[record])


@pytest.mark.parametrize("record", GOLDEN)
def test_a_frame_of_tensorflows_is_read(tmp_path: Path, record: bytes) -> None:
    (tmp_path / "one").write_bytes(bytes.fromhex(GOLDEN[record]))
    assert list(fastrec.Reader(tmp_path / "one")) == [record]


@pytest.mark.parametrize("record", GOLDEN)
def test_the_reference_agrees_with_tensorflow(record: bytes) -> None:
    assert reference.frame(record) == bytes.fromhex(GOLDEN[record])


@given(some_records)
@example([])
@example([b""])
@example([b"", b"", b""])
def test_what_fastrec_writes_the_reference_reads(tmp_path: Path, records: list[bytes]) -> None:
    with fastrec.Writer(tmp_path / "file", overwrite=True) as writer:
        for record in records:
            writer.write(record)
    assert reference.read_frames((tmp_path / "file").read_bytes()) == (records, None)


@given(some_records)
@example([])
@example([b""])
def test_what_the_reference_writes_fastrec_reads(tmp_path: Path, records: list[bytes]) -> None:
    path = write(tmp_path / "file", records)
    assert read(path) == (records, None)
    assert read(path, verify=False) == (records, None)
    assert fastrec.count(path) == len(records)
    verified = fastrec.verify(path)
    size = sum(map(len, records))
    assert (verified.records, verified.bytes, verified.files) == (len(records), size, 1)


@given(some_records, st.sampled_from([gzipped, zlibbed]))
def test_compressed_files_are_known_by_their_first_bytes(
    tmp_path: Path, records: list[bytes], compress: Any
) -> None:
    (tmp_path / "file").write_bytes(compress(reference.write_frames(records)))
    assert read(tmp_path / "file") == (records, None)


@pytest.mark.parametrize("size", [0, 1, 2**16 - 1, 2**20, 2**20 + 1, 5_000_000])
def test_a_record_may_be_of_any_size(tmp_path: Path, size: int) -> None:
    record = bytes(range(256)) * (size // 256) + bytes(size % 256)
    with fastrec.Writer(tmp_path / "large") as writer:
        writer.write(record)
        writer.write(b"next")
    assert list(fastrec.Reader(tmp_path / "large")) == [record, b"next"]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_record_may_be_any_bytes_like_object(tmp_path: Path, kind: Any) -> None:
    with fastrec.Writer(tmp_path / "file") as writer:
        writer.write(kind(b"record"))
    assert list(fastrec.Reader(tmp_path / "file")) == [b"record"]


# --- sources ------------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [str, Path, lambda path: os.fspath(path)])
def test_a_source_may_be_a_path(path: Path, convert: Any) -> None:
    assert list(fastrec.Reader(convert(path))) == RECORDS


def test_a_source_may_be_a_list_of_paths_in_its_order(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / name, number_records(3, start)) for name, start in (("b", 0), ("a", 3))
    ]
    with fastrec.Reader(paths) as reader:
        assert list(reader) == number_records(6)
        assert [os.fspath(p) for p in reader.paths] == [os.fspath(p) for p in paths]


def test_a_source_may_be_a_pattern_in_order_of_names(tmp_path: Path) -> None:
    for start in (6, 0, 3):
        write(tmp_path / f"part-{start}.tfrecord", number_records(3, start))
    write(tmp_path / "other.tfrecord", [b"no"])
    assert list(fastrec.Reader(str(tmp_path / "part-*.tfrecord"))) == number_records(9)
    assert list(fastrec.Reader(str(tmp_path / "part-[03].tfrecord"))) == number_records(6)


def test_a_list_may_hold_patterns(tmp_path: Path) -> None:
    for start in (0, 3):
        write(tmp_path / f"part-{start}", number_records(3, start))
    last = str(write(tmp_path / "last", number_records(1, 6)))
    assert list(fastrec.Reader([str(tmp_path / "part-*"), last])) == number_records(7)


def test_a_name_that_looks_like_a_pattern_is_still_a_name(tmp_path: Path) -> None:
    path = write(tmp_path / "data[1]*.tfrecord", RECORDS)
    assert list(fastrec.Reader(str(path))) == RECORDS
    assert list(fastrec.Reader(path)) == RECORDS


@pytest.mark.parametrize("buffering", [0, -1])
def test_a_source_may_be_an_open_file(path: Path, buffering: int) -> None:
    with open(path, "rb", buffering=buffering) as file:
        assert list(fastrec.Reader(file)) == RECORDS


def test_a_file_that_the_caller_opened_stays_open(path: Path) -> None:
    with open(path, "rb") as file:
        with fastrec.Reader(file) as reader:
            list(reader)
        assert not file.closed


def test_an_open_file_is_read_from_where_it_stands(path: Path) -> None:
    with open(path, "rb") as file:
        file.seek(len(reference.frame(RECORDS[0])))
        assert list(fastrec.Reader(file)) == RECORDS[1:]


@pytest.mark.parametrize("compress", [bytes, gzipped, zlibbed])
def test_a_source_may_be_bytes_in_memory(path: Path, compress: Any) -> None:
    assert list(fastrec.Reader(io.BytesIO(compress(path.read_bytes())))) == RECORDS


@pytest.mark.parametrize("compress", [bytes, gzipped])
@pytest.mark.parametrize("count", [0, 1, 7, 3000])
def test_a_source_may_be_a_pipe(compress: Any, count: int) -> None:
    records = number_records(count)
    source, sink = os.pipe()
    feeder = feed(sink, compress(reference.write_frames(records)))
    with open(source, "rb") as pipe:
        assert list(fastrec.Reader(pipe)) == records
    feeder.join()


def test_a_source_may_trickle_in(path: Path) -> None:
    class Trickle(io.RawIOBase):
        def __init__(self, data: bytes) -> None:
            self.file = io.BytesIO(data)

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            return self.file.readinto(memoryview(buffer)[:3])

    assert list(fastrec.Reader(io.BufferedReader(Trickle(path.read_bytes())))) == RECORDS
    assert list(fastrec.Reader(Trickle(path.read_bytes()))) == RECORDS


def test_a_text_file_object_is_refused() -> None:
    with pytest.raises(TypeError):
        list(fastrec.Reader(io.StringIO("text")))


@pytest.mark.parametrize("source", [None, 3, 2.5, [None]])
def test_what_is_no_source_is_refused(source: Any) -> None:
    with pytest.raises(TypeError):
        fastrec.Reader(source)


# --- a Sequence ---------------------------------------------------------------------------------


def test_a_reader_is_a_sequence(path: Path) -> None:
    reader = fastrec.Reader(path)
    assert isinstance(reader, collections.abc.Sequence)
    assert len(reader) == 7
    assert [reader[i] for i in range(7)] == RECORDS
    assert [reader[i] for i in range(-7, 0)] == RECORDS
    assert list(reversed(reader)) == RECORDS[::-1]
    assert RECORDS[3] in reader
    assert b"absent" not in reader
    assert reader.index(RECORDS[2]) == 2


@given(st.slices(9))
def test_a_slice_is_a_list_of_records(tmp_path: Path, where: slice) -> None:
    reader = fastrec.Reader(write(tmp_path / "nine", number_records(9)))
    assert reader[where] == number_records(9)[where]


@pytest.mark.parametrize("index", [7, -8, 10**6, 2**63, -(2**63) - 1, 2**70])
def test_an_index_outside_is_an_index_error(path: Path, index: int) -> None:
    with pytest.raises(IndexError):
        fastrec.Reader(path)[index]


@pytest.mark.parametrize("index", ["1", 1.0, None, b"1"])
def test_an_index_that_is_no_number_is_a_type_error(path: Path, index: Any) -> None:
    with pytest.raises(TypeError):
        fastrec.Reader(path)[index]


def test_iteration_may_be_repeated_and_interleaved(path: Path) -> None:
    reader = fastrec.Reader(path)
    assert list(reader) == list(reader) == RECORDS
    assert list(zip(reader, reader, strict=True)) == list(zip(RECORDS, RECORDS, strict=True))


def test_reading_at_random_does_not_disturb_iteration(path: Path) -> None:
    reader = fastrec.Reader(path)
    seen = [(record, reader[-1]) for record in reader]
    assert seen == [(record, RECORDS[-1]) for record in RECORDS]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 1000])
def test_batches_hold_every_record_in_turn(path: Path, size: int) -> None:
    batches = list(fastrec.Reader(path).blocks(size))
    assert all(isinstance(batch, fastrec.Bytes) for batch in batches)
    assert [batch.to_list() for batch in batches] == [
        RECORDS[i : i + size] for i in range(0, 7, size)
    ]


@pytest.mark.parametrize("size", [0, -1])
def test_a_batch_of_no_records_is_refused(path: Path, size: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        list(fastrec.Reader(path).blocks(size))


def test_many_files_are_one_sequence(tmp_path: Path) -> None:
    sizes = [3, 0, 1, 0, 0, 5]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    paths = [
        write(tmp_path / str(i), number_records(size, start))
        for i, (size, start) in enumerate(zip(sizes, starts, strict=True))
    ]
    reader = fastrec.Reader(paths)
    assert len(reader) == 9
    assert reader[:] == list(reader) == number_records(9)
    homes = [os.fspath(reader.path_of(i)) for i in range(-9, 9)]
    assert homes == 2 * [str(paths[i]) for i, size in enumerate(sizes) for _ in range(size)]
    batches = [batch.to_list() for batch in reader.blocks(2)]
    assert [record for batch in batches for record in batch] == number_records(9)
    assert [len(batch) for batch in batches] == [2, 1, 1, 2, 2, 1], "no batch spans two files"


def test_path_of_a_record_that_is_not_there_is_an_index_error(path: Path) -> None:
    with pytest.raises(IndexError):
        fastrec.Reader(path).path_of(7)


def test_plain_and_compressed_files_may_be_mixed(tmp_path: Path) -> None:
    plain = write(tmp_path / "a", number_records(3))
    (tmp_path / "b").write_bytes(gzipped(reference.write_frames(number_records(3, 3))))
    (tmp_path / "c").write_bytes(zlibbed(reference.write_frames(number_records(3, 6))))
    assert list(fastrec.Reader([plain, tmp_path / "b", tmp_path / "c"])) == number_records(9)


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    path = write(tmp_path / "empty", [])
    reader = fastrec.Reader(path)
    assert len(reader) == 0
    assert list(reader) == reader[:] == list(reader.blocks(3)) == []
    with pytest.raises(IndexError):
        reader[0]


def test_a_closed_reader_says_so(path: Path) -> None:
    reader = fastrec.Reader(path)
    reader.close()
    reader.close()
    for use in (lambda: reader[0], lambda: len(reader), lambda: list(reader)):
        with pytest.raises(ValueError, match="closed"):
            use()


def test_the_sizes_of_a_frame_are_those_that_the_core_writes() -> None:
    assert len(fastrec._core.frame(b"")) == FRAME_OVERHEAD
    head = fastrec._core.frame(b"data")[:HEADER_SIZE]
    assert head[8:] == fastrec.masked_crc32c(head[:8]).to_bytes(4, "little")
