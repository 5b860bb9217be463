# SPDX-License-Identifier: Apache-2.0
"""Ranges of files: every record is in exactly one of them, or reading says that it is not."""

from __future__ import annotations

import os
import pickle
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from cost import processor_seconds
from hypothesis import given
from hypothesis import strategies as st
from verbs import gzipped, number_records

import fastrec
from fastrec.records.splitting import grouped

plain = st.binary(max_size=40)
hostile = st.recursive(
    plain,
    lambda inner: st.builds(
        lambda head, records, tail: head + reference.write_frames(records) + tail,
        st.sampled_from([b"", b"", b"x", b"\0" * 12]),
        st.lists(inner, max_size=5),
        st.sampled_from([b"", b"", b"y" * 3]),
    ),
    max_leaves=12,
)


def read(ranges: list[fastrec.FileRange], **options: Any) -> tuple[list[bytes], Any]:
    """The records up to the first error, and that error."""
    found: list[bytes] = []
    for part in ranges:
        try:
            for record in fastrec.Reader(part, compression=None, **options):
                found.append(record)
        except fastrec.CorruptRecordError as error:
            return found, error
    return found, None


def put(folder: str | Path, data: bytes) -> Path:
    path = Path(folder) / "file"
    path.write_bytes(data)
    return path


def check(data: bytes, size: int, on_error: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = put(folder, data)
        whole, failure = read([fastrec.FileRange(path)], on_error=on_error)
        parts = fastrec.file_ranges(path, size, compression=None)
        assert [part.begin for part in parts] == [0, *(part.end for part in parts)][: len(parts)]
        assert not data or parts[-1].end == len(data)
        found, error = read(parts, on_error=on_error)
    if error is None:
        assert found == whole
        assert failure is None
    else:  # what came before it is right; ranges that no record ends at are found out
        assert found == whole[: len(found)]
        tail = on_error == "tolerate_tail" and isinstance(error, fastrec.TruncatedFileError)
        assert failure is not None or error.kind == "cut" or tail


@given(st.lists(hostile, max_size=12), st.integers(1, 120))
def test_sound_files_are_read_whole_or_refused(records: list[bytes], size: int) -> None:
    check(reference.write_frames(records), size, "raise")


@given(st.lists(plain, max_size=20), st.integers(1, 120))
def test_files_without_files_in_them_are_never_refused(records: list[bytes], size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = put(folder, reference.write_frames(records))
        assert read(fastrec.file_ranges(path, size, compression=None)) == (records, None)


@given(st.lists(hostile, max_size=12), st.integers(1, 120))
def test_exact_cuts_are_between_records(records: list[bytes], size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = put(folder, reference.write_frames(records))
        parts = fastrec.file_ranges(path, size, exact=True, compression=None)
        assert read(parts) == (records, None)


@given(
    st.lists(hostile, min_size=1, max_size=12),
    st.integers(1, 120),
    st.sampled_from(["raise", "skip", "tolerate_tail"]),
    st.data(),
)
def test_damaged_files_are_read_as_they_are_at_once(
    records: list[bytes], size: int, on_error: str, draw: st.DataObject
) -> None:
    data = bytearray(reference.write_frames(records))
    for _ in range(draw.draw(st.integers(0, 3))):
        data[draw.draw(st.integers(0, len(data) - 1))] ^= 1 << draw.draw(st.integers(0, 7))
    if draw.draw(st.booleans()):
        del data[draw.draw(st.integers(0, len(data))) :]
    check(bytes(data), size, on_error)


def test_many_files_in_many_ranges(tmp_path: Path) -> None:
    draw = random.Random(0)
    records = [draw.randbytes(draw.choice([0, 1, 30, 300, 30000])) for _ in range(600)]
    with fastrec.Writer(tmp_path / "x.tfrecord", shards=3) as writer:
        writer.write_many(records)
    whole = list(fastrec.Reader(tmp_path))
    for size in (1 << 10, 1 << 14, 1 << 17, 1 << 30):
        parts = fastrec.file_ranges(tmp_path, size)
        assert list(fastrec.Reader(parts)) == whole
        assert [r for part in parts for b in fastrec.Reader(part).blocks(7) for r in b] == whole
        assert list(fastrec.Reader(pickle.loads(pickle.dumps(parts)))) == whole
        sizes = [part.end - part.begin for part in parts if part.end is not None]
        assert max(sizes) < size + 30016


def test_a_record_file_in_a_record_is_found_out_and_cut_around(tmp_path: Path) -> None:
    inner = reference.write_frames(number_records(1000))
    path = put(tmp_path, reference.write_frames([b"before", inner, b"after"]))
    parts = fastrec.file_ranges(path, 2000)
    with pytest.raises(fastrec.CorruptRecordError, match="exact=True") as caught:
        list(fastrec.Reader(parts))
    assert caught.value.kind == "cut"
    assert caught.value.path == str(path)
    parts = fastrec.file_ranges(path, 2000, exact=True)
    assert list(fastrec.Reader(parts)) == [b"before", inner, b"after"]
    fastrec.Index.build(path).save()
    assert fastrec.file_ranges(path, 2000) == parts


def test_a_file_that_changed_since_is_not_read_short(tmp_path: Path) -> None:
    records = number_records(100)
    path = put(tmp_path, data := reference.write_frames(records))
    parts = fastrec.file_ranges(path, 500)
    put(tmp_path, data + reference.write_frames([b"later"]))
    assert list(fastrec.Reader(parts)) == records
    for missing in (1, 30):  # whole records
        put(tmp_path, reference.write_frames(records[:-missing]))
        with pytest.raises(fastrec.TruncatedFileError, match="the file ends before") as caught:
            list(fastrec.Reader(parts))
        assert caught.value.kind == "shrunk"


@pytest.mark.parametrize("home", ["pyarrow.fs", "fsspec.implementations.local"])
def test_files_of_a_file_system_are_split_and_read_alike(tmp_path: Path, home: str) -> None:
    filesystem = pytest.importorskip(home).LocalFileSystem()
    records = number_records(500)
    path = put(tmp_path, reference.write_frames(records))
    parts = fastrec.file_ranges(str(path), 1000, filesystem=filesystem)
    local = fastrec.file_ranges(path, 1000)
    assert [(p.begin, p.end) for p in parts] == [(p.begin, p.end) for p in local]
    assert list(fastrec.Reader(pickle.loads(pickle.dumps(parts)))) == records
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    put(tmp_path, bytes(data))
    with pytest.raises(fastrec.CorruptRecordError) as caught:
        list(fastrec.Reader(parts))
    with pytest.raises(fastrec.CorruptRecordError) as wanted:
        list(fastrec.Reader(path))
    assert (caught.value.offset, caught.value.kind) == (wanted.value.offset, wanted.value.kind)
    put(tmp_path, gzipped(reference.write_frames(records)))
    (whole,) = fastrec.file_ranges(str(path), 100, filesystem=filesystem)
    assert list(fastrec.Reader(whole)) == records


def test_compressed_files_pipes_and_empty_files_are_not_cut(tmp_path: Path) -> None:
    records = number_records(500)
    path = put(tmp_path, gzipped(reference.write_frames(records)))
    parts = fastrec.file_ranges(path, 100)
    assert parts == [fastrec.FileRange(str(path))]
    assert list(fastrec.Reader(parts)) == records
    assert fastrec.file_ranges(put(tmp_path, b""), 100) == []
    os.mkfifo(tmp_path / "pipe")
    assert fastrec.file_ranges(tmp_path / "pipe", 100) == [
        fastrec.FileRange(str(tmp_path / "pipe"))
    ]


def test_false_headers_cost_no_more_with_many_cuts(tmp_path: Path) -> None:
    header = reference.header(1 << 20)  # of data that is not there
    path = put(tmp_path, b"x" + header * (1 << 17))
    few = fastrec.file_ranges(path, 1 << 20)
    once = processor_seconds(lambda: fastrec.file_ranges(path, 1 << 20))
    many = processor_seconds(lambda: fastrec.file_ranges(path, 1 << 12))
    assert many < 10 * once + 1  # with 256 times the cuts
    assert fastrec.file_ranges(path, 1 << 12) == few


def test_a_range_is_a_source_of_batches(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "x.tfrecord") as writer:
        writer.write_batch({"x": np.arange(1000)})
    parts = fastrec.file_ranges(tmp_path / "x.tfrecord", 2000)
    assert len(parts) > 5
    features = fastrec.infer_features(parts[1])
    batches = list(fastrec.Batcher(parts, features, batch_size=64))
    assert np.concatenate([batch["x"] for batch in batches]).tolist() == list(range(1000))
    with pytest.raises(ValueError, match="follow and ranges are mutually exclusive"):
        fastrec.Reader(parts, follow=True)
    with pytest.raises(fastrec.RandomAccessError, match="only be iterated over"):
        len(fastrec.Reader(parts))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x", 5), "begin must be at least 0 and requires end, got 5"),
        (("x", 5, 5), "end must be greater than begin, 5, got 5"),
        ((3,), "path must be a path, got 3"),
    ],
)
def test_a_range_that_cannot_be_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        fastrec.FileRange(*arguments)


def test_ranges_go_into_groups_of_about_one_size() -> None:
    def groups(sizes: list[int], size: int) -> list[list[int]]:
        parts = [fastrec.FileRange("x", number, 1 + number) for number in range(len(sizes))]
        found = [[part.begin for part in group] for group in grouped(parts, sizes, size)]
        assert [number for group in found for number in group] == list(range(len(sizes)))
        return [[sizes[number] for number in group] for group in found]

    assert groups([244, 244, 245, 245], 489) == [[244, 244], [245, 245]]
    assert groups([1] * 10, 5) == [[1] * 5] * 2
    assert groups([7, 1000, 7], 10) == [[7], [1000], [7]]
    assert groups([], 10) == []
    assert groups([0, 0], 10) == [[0, 0]]
    for sizes in ([3, 9, 4, 4, 1, 8, 2, 2, 7], [100, 1, 1, 1], [1, 1, 1, 100]):
        sums = [sum(group) for group in groups(sizes, 10)]
        assert max(sums) <= 10 + max(sizes)
        assert len(sums) <= -(-sum(sizes) // 10)
