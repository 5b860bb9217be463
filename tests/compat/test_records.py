# SPDX-License-Identifier: Apache-2.0
"""The writer and the readers of record files that ``tf.io`` and ``tf.python_io`` share."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path
from typing import Any

import pytest

import fastrec
from fastrec.compat._tf import errors
from fastrec.compat._tf import records as io

WORDS = [b"", b"a", b"few", b"words" * 1000]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "words.tfrecord")


def write(path: str, options: Any = None, records: list[bytes] = WORDS) -> None:
    with io.TFRecordWriter(path, options) as writer:
        for record in records:
            writer.write(record)


@pytest.mark.parametrize("options", [None, "", "GZIP", "ZLIB", 0, 1, 2, io.TFRecordOptions("GZIP")])
def test_what_is_written_is_read_back(path: str, options: Any) -> None:
    write(path, options)
    assert list(io.tf_record_iterator(path, options)) == WORDS
    assert list(fastrec.Reader(path)) == WORDS


def test_the_file_is_emptied_at_once_and_grows_with_flush(path: str) -> None:
    write(path)
    writer = io.TFRecordWriter(path)
    assert os.path.getsize(path) == 0
    writer.write("text")
    writer.flush()
    assert list(io.tf_record_iterator(path)) == [b"text"]
    writer.close()
    writer.close()
    with pytest.raises(errors.FailedPreconditionError, match=r"^Writer is closed\.$"):
        writer.write(b"more")


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_a_compressed_file_can_be_read_after_flush(path: str, kind: str) -> None:
    writer = io.TFRecordWriter(path, kind)
    writer.write(b"one")
    assert os.path.getsize(path) == 0
    writer.flush()
    assert next(io.tf_record_iterator(path, kind)) == b"one"
    writer.close()


def test_a_writer_that_was_forgotten_has_written(path: str) -> None:
    writer = io.TFRecordWriter(path)
    writer.write(bytearray(b"kept"))
    del writer
    assert list(fastrec.Reader(path)) == [b"kept"]


def test_an_exception_inside_with_keeps_what_was_written(path: str) -> None:
    with pytest.raises(RuntimeError), io.TFRecordWriter(path) as writer:  # noqa: PT012
        writer.write(b"kept")
        raise RuntimeError
    assert list(fastrec.Reader(path)) == [b"kept"]


@pytest.mark.parametrize("record", [None, 5, memoryview(b"x"), [b"x"]])
def test_only_bytes_and_text_are_records(path: str, record: Any) -> None:
    with io.TFRecordWriter(path) as writer, pytest.raises(TypeError):
        writer.write(record)


@pytest.mark.parametrize("kind", ["NONE", "gzip", "SNAPPY", 7])
def test_an_unknown_compression_is_refused_with_its_name(path: str, kind: Any) -> None:
    with pytest.raises(ValueError, match=f'^Not a valid compression_type: "{kind}"$'):
        io.TFRecordWriter(path, kind)


def test_options_of_zlib_reach_it(path: str) -> None:
    record = os.urandom(64) * 1000
    sizes = []
    for level in (0, 9):
        options = io.TFRecordOptions("ZLIB", compression_level=level, mem_level=8, window_bits=12)
        write(path, options, [record])
        sizes.append(os.path.getsize(path))
        assert zlib.decompress(Path(path).read_bytes(), 12)[12:-4] == record
    assert sizes[0] > len(record) > 10 * sizes[1]


def test_options_that_zlib_refuses_are_an_error(path: str) -> None:
    with pytest.raises(ValueError, match="Invalid initialization option"):
        io.TFRecordWriter(path, io.TFRecordOptions("GZIP", compression_level=10))


def test_a_gzip_file_begins_as_tensorflows_do(path: str) -> None:
    write(path, "GZIP", [])
    data = Path(path).read_bytes()
    assert len(data) == 20
    assert data[:10].hex() == "1f8b0800000000000003"


def test_a_missing_directory_and_a_directory_are_their_own_errors(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError) as caught:
        io.TFRecordWriter(str(tmp_path / "no" / "file"))
    assert isinstance(caught.value, OSError)
    with pytest.raises(errors.FailedPreconditionError):
        io.TFRecordWriter(str(tmp_path))
    with pytest.raises(errors.NotFoundError, match=r"; No such file or directory$"):
        io.tf_record_iterator(str(tmp_path / "none"))
    with pytest.raises(TypeError, match=r"^Expected binary or unicode string, got 5$"):
        io.TFRecordWriter(5)


def damage(path: str, at: int) -> None:
    data = bytearray(Path(path).read_bytes())
    data[at] ^= 1
    Path(path).write_bytes(data)


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (0, "corrupted record at 0 (Is this even a TFRecord file?)"),
        (16, "corrupted record at 16"),
        (16 + 12, "corrupted record at 28"),
    ],
)
def test_damage_is_told_in_tensorflows_words(path: str, at: int, text: str) -> None:
    write(path)
    damage(path, at)
    records = io.tf_record_iterator(path)
    for _ in range(at // 16):
        next(records)
    for _ in range(2):  # and again at the same place
        with pytest.raises(errors.DataLossError) as caught:
            next(records)
        assert caught.value.message == text
        assert isinstance(caught.value, fastrec.CorruptRecordError)


def test_reading_goes_on_where_a_file_grows(path: str) -> None:
    writer = io.TFRecordWriter(path)
    records = io.tf_record_iterator(path)
    for word in WORDS:
        with pytest.raises(StopIteration):
            next(records)
        writer.write(word)
        writer.flush()
        assert next(records) == word
    writer.close()


def test_a_torn_record_is_read_once_it_is_whole(path: str) -> None:
    write(path)
    data = Path(path).read_bytes()
    Path(path).write_bytes(data[:-1000])
    records = io.tf_record_iterator(path)
    assert [next(records) for _ in range(3)] == WORDS[:3]
    at = 16 * 3 + 4
    with pytest.raises(errors.DataLossError) as caught:
        next(records)
    text = f"truncated record at {at}' failed with Read less bytes than requested"
    assert caught.value.message == text
    Path(path).write_bytes(data)
    assert list(records) == WORDS[3:]


def test_a_torn_gzip_file_says_eof(path: str) -> None:
    write(path, None, [os.urandom(1000)])
    Path(path).write_bytes(gzip.compress(Path(path).read_bytes())[:-500])
    with pytest.raises(
        errors.DataLossError, match=r"^truncated record at 0' failed with EOF reached"
    ):
        list(io.tf_record_iterator(path, "GZIP"))


def test_a_closed_iterator_goes_on_when_it_is_opened_again(path: str) -> None:
    for options in (None, "GZIP"):
        write(path, options)
        records = io.tf_record_iterator(path, options)
        assert next(records) == WORDS[0]
        records.close()
        with pytest.raises(errors.FailedPreconditionError):
            next(records)
        records.reopen()
        assert list(records) == WORDS[1:]


def test_records_are_read_at_offsets(path: str) -> None:
    write(path)
    reader = io.tf_record_random_reader(path)
    offset, found = 0, []
    for _ in WORDS:
        record, offset = reader.read(offset)
        found.append(record)
    assert found == WORDS
    with pytest.raises(IndexError, match=f"^Out of range at reading offset {offset}$"):
        reader.read(offset)
    with pytest.raises(errors.DataLossError, match=r"^corrupted record at 5$"):
        reader.read(5)
    reader.close()
    with pytest.raises(errors.FailedPreconditionError, match=r"^Random TFRecord Reader is closed"):
        reader.read(0)
