# SPDX-License-Identifier: Apache-2.0
"""Indexes: built, kept, read back, and refused when they are not what they should be."""

from __future__ import annotations

import os
import pickle
import shutil
import struct
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from verbs import assert_one_ascii_line, flip, number_records, offsets_of, outcome, write

import fastrec
from fastrec import cli

RECORDS = number_records(20)
OFFSETS = offsets_of(RECORDS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "file.tfrecord", RECORDS)


def beside(path: Path) -> Path:
    return path.with_name(path.name + ".frindex")


def table(offsets: list[int]) -> bytes:
    """What csrc/format/FORMAT.md says of the second version's body."""
    heads, groups = [], [offsets[at : at + 128] for at in range(0, len(offsets), 128)]
    words: list[int] = []
    for group in groups:
        steps = max(len(group) - 1, 1)
        rise = min((group[-1] - group[0]) * 256 // steps, 2**32 - 1)
        distances = [x - group[0] - (rise * i >> 8) for i, x in enumerate(group)]
        low = min(distances)
        width = (max(distances) - low).bit_length()
        bits = sum(x - low << i * width for i, x in enumerate(distances))
        begin = (group[0] + low) % 2**58
        heads.append(struct.pack("<QII", begin << 6 | width, rise, 2 * len(groups) + len(words)))
        count = (len(group) * width + 63) // 64
        words += [bits >> 64 * i & 2**64 - 1 for i in range(count)]
    return b"".join(heads) + struct.pack(f"<{len(words)}Q", *words) + bytes(8)


def forge(path: Path, offsets: list[int], **changes: int) -> Path:
    """An index whose checksums are right, whatever it says."""
    status = path.stat()
    fields = {
        "version": 1,
        "size": status.st_size,
        "mtime": status.st_mtime_ns,
        "count": len(offsets) - 1,
        **changes,
    }
    raw = fields["version"] == 1
    body = struct.pack(f"<{len(offsets)}Q", *offsets) if raw else table(offsets)
    head = b"\x89FRI\r\n\x1a\n" + struct.pack(
        "<IIQqQI",
        fields["version"],
        0,
        fields["size"],
        fields["mtime"],
        fields["count"] % 2**64,
        reference.crc32c(body),
    )
    beside(path).write_bytes(head + struct.pack("<I", reference.crc32c(head)) + body)
    return beside(path)


def test_an_index_says_where_records_begin(path: Path) -> None:
    index = fastrec.Index.build(path)
    assert len(index) == len(RECORDS)
    assert index.offsets.tolist() == OFFSETS
    assert (index.data_size, index.mtime_ns) == (path.stat().st_size, path.stat().st_mtime_ns)
    with pytest.raises(ValueError, match="read-only"):
        index.offsets[0] = 1


@pytest.mark.parametrize("count", [0, 1, 20, 127, 128, 129, 700])
def test_a_saved_index_is_to_the_byte_what_the_format_says(tmp_path: Path, count: int) -> None:
    records = number_records(count)
    path = write(tmp_path / "file.tfrecord", records)
    fastrec.Index.build(path).save()
    saved = beside(path).read_bytes()
    assert forge(path, offsets_of(records), version=2).read_bytes() == saved


@pytest.mark.parametrize("count", [0, 1, 20, 128, 700])
@pytest.mark.parametrize("version", [1, 2])
def test_an_index_of_any_version_is_read(tmp_path: Path, count: int, version: int) -> None:
    records = number_records(count)
    path = write(tmp_path / "file.tfrecord", records)
    forge(path, offsets_of(records), version=version)
    assert fastrec.Index.load(path).offsets.tolist() == offsets_of(records)
    reader = fastrec.Reader([path, path], index=True)
    assert reader[:] == 2 * records


@pytest.mark.parametrize("how", ["auto", True, "path", "object"])
def test_a_reader_takes_a_saved_index(path: Path, how: Any) -> None:
    index = fastrec.Index.build(path)
    index.save()
    given: Any = {"path": beside(path), "object": index}.get(how, how)
    reader = fastrec.Reader(path, index=given)
    assert len(reader) == len(RECORDS)
    assert reader[:] == RECORDS
    assert fastrec.Index.load(path) == index == pickle.loads(pickle.dumps(index))


def test_a_reader_that_needs_an_index_says_that_there_is_none(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        len(fastrec.Reader(path, index=True))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Files that are large enough to be indexed side by side, and a small one among them."""
    folder = tmp_path_factory.mktemp("large")
    sizes = np.random.default_rng(1).integers(0, 3000, 3000).tolist()
    paths = [folder / str(k) for k in range(4)]
    for k, path in enumerate(paths):
        with fastrec.Writer(path, fsync=False) as writer:
            writer.write_many(bytes([k]) * size for size in sizes[: 5 if k == 2 else None])
    return paths


def test_files_indexed_side_by_side_are_as_each_by_itself(large: list[Path]) -> None:
    assert [path.stat().st_size > 4 << 20 for path in large] == [True, True, False, True]
    reader = fastrec.Reader(large)
    alone = [fastrec.Reader(path) for path in large]
    assert len(reader) == sum(map(len, alone)) == 9005
    ends = np.cumsum([0, *map(len, alone)])
    for number in np.random.default_rng(2).integers(0, 9005, 200).tolist():
        which = int(np.searchsorted(ends, number, "right")) - 1
        assert reader[number] == alone[which][number - ends[which]]


def test_of_files_indexed_side_by_side_the_first_bad_one_is_named(
    large: list[Path], tmp_path: Path
) -> None:
    paths = [tmp_path / path.name for path in large]
    offsets = fastrec.Index.build(large[1]).offsets.tolist()
    for k, path in enumerate(paths):
        data = bytearray(large[k].read_bytes())
        if k == 1:  # its last header; every file after it is bad from the start
            data[offsets[2999]] ^= 1
        if k > 1:
            data[0] ^= 1
        path.write_bytes(data)
    for _ in range(5):
        with pytest.raises(fastrec.CorruptRecordError) as caught:
            len(fastrec.Reader(paths))
        error = caught.value
        assert (error.path, error.record, error.offset) == (str(paths[1]), 2999, offsets[2999])


def test_an_index_is_of_one_file(path: Path, tmp_path: Path) -> None:
    paths = [path, write(tmp_path / "other", RECORDS)]
    with pytest.raises(ValueError, match="single file"):
        len(fastrec.Reader(paths, index=fastrec.Index.build(path)))
    for each in paths:
        fastrec.Index.build(each).save()
    assert fastrec.Reader(paths, index=True)[:] == RECORDS + RECORDS


def test_an_index_of_a_damaged_file_is_not_made(path: Path) -> None:
    path.write_bytes(flip(path.read_bytes(), 8 * (OFFSETS[3] + 1)))
    with pytest.raises(fastrec.CorruptRecordError) as caught:
        fastrec.Index.build(path)
    assert caught.value.offset == OFFSETS[3]


def refused(path: Path) -> fastrec.IndexMismatchError:
    """The index beside the file is refused, and the file read all the same where that is asked."""
    with pytest.raises(fastrec.IndexMismatchError) as caught:
        fastrec.Reader(path, index=True)[:]
    with pytest.raises(fastrec.IndexMismatchError):
        fastrec.Index.load(path)
    with pytest.warns(RuntimeWarning, match="is refused"):
        assert fastrec.Reader(path)[:] == RECORDS
    assert fastrec.Reader(path, index=False)[:] == RECORDS
    assert_one_ascii_line(caught.value)
    return caught.value


def test_an_index_of_the_file_as_it_was_is_refused(path: Path) -> None:
    write(path, RECORDS[1:])
    fastrec.Index.build(path).save()
    write(path, RECORDS)
    assert "made from a file of" in str(refused(path))
    write(path, RECORDS[::-1])
    fastrec.Index.build(path).save()
    write(path, RECORDS)
    os.utime(path, ns=(1, 1))
    assert "made from another file: at 0 there is no record of" in str(refused(path))
    fastrec.Index.build(path).save()
    assert fastrec.Reader(path, index=True)[:] == RECORDS


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("compression", [None, "GZIP", "ZLIB"])
def test_an_index_follows_copies_of_its_file(tmp_path: Path, compression: Any) -> None:
    (tmp_path / "a").mkdir()
    path = tmp_path / "a" / "x.tfrecord"
    with fastrec.Writer(path, compression=compression, index=True) as writer:
        writer.write_many(RECORDS)
    for number in range(3):  # also a copy of a copy
        copied = path.parent.with_name(f"copy{number}") / path.name
        shutil.copytree(path.parent, copied.parent, copy_function=shutil.copyfile)
        os.utime(copied, ns=(number, number))
        for index in (True, "auto", fastrec.Index.load(copied)):
            reader = fastrec.Reader(copied, index=index)
            assert [reader[number] for number in (3, -1, 0)] == [
                RECORDS[3],
                RECORDS[-1],
                RECORDS[0],
            ]
            assert list(reader) == RECORDS
        assert fastrec.Index.load(copied) == fastrec.Index.load(path)
        [batch] = fastrec.Batcher(copied, None, len(RECORDS))
        assert list(batch) == RECORDS
        path = copied


@pytest.mark.parametrize("limit", [1, 8])
def test_an_index_follows_copies_of_many_files(tmp_path: Path, limit: int) -> None:
    paths = []
    for number in range(12):
        path = write(tmp_path / f"{number:02d}", number_records(number * 400, number))
        fastrec.Index.build(path).save()
        os.utime(path, ns=(number, number))
        paths.append(path)
    refusals: list[Exception] = []
    dataset = fastrec._core.Dataset(paths, beside=refusals.append, mapped=limit)
    assert refusals == []
    wanted = [record for number in range(12) for record in number_records(number * 400, number)]
    assert dataset.records(np.arange(len(wanted), dtype=np.uint64)) == wanted
    write(paths[5], number_records(2000, 5)[::-1])  # of the same size, in another order
    dataset = fastrec._core.Dataset(paths, beside=refusals.append, mapped=limit)
    assert "another file" in str(refusals[0])
    assert len(dataset) == len(wanted)


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_an_index_of_another_compressed_file_is_refused(tmp_path: Path, compression: Any) -> None:
    path, other = tmp_path / "x", tmp_path / "y"
    for number, each in enumerate((path, other)):  # stored, so of one size
        with fastrec.Writer(each, compression=compression, level=0, index=True) as writer:
            writer.write_many([b"%d" % number, *RECORDS])
    assert path.stat().st_size == other.stat().st_size
    os.utime(path, ns=(1, 1))
    shutil.copyfile(beside(other), beside(path))
    with pytest.raises(fastrec.IndexMismatchError, match="other bytes at its ends"):
        fastrec.Reader(path, index=True)[0]
    with pytest.warns(RuntimeWarning, match="is refused"):
        assert fastrec.Reader(path)[0] == b"0"


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=12),
    st.lists(st.integers(0, 9), min_size=1, max_size=12),
)
@pytest.mark.filterwarnings("ignore")
def test_an_index_of_any_other_file_gives_no_wrong_record(
    tmp_path: Path, before: list[int], after: list[int]
) -> None:
    path = write(tmp_path / "file.tfrecord", [bytes([size]) * size for size in before])
    fastrec.Index.build(path).save()
    records = [bytes([size]) * size for size in after]
    write(path, records)
    os.utime(path, ns=(1, 1))
    reader = fastrec.Reader(path)
    for number in range(len(reader)):
        found = outcome(partial(reader.__getitem__, number))
        assert found is fastrec.IndexMismatchError or found in records
    if len(after) <= 5:  # all headers were compared
        assert reader[:] == records


def test_a_command_says_in_one_line_that_an_index_is_stale(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fastrec.Index.build(path).save()
    write(path, RECORDS[:-1])
    assert cli.main(["count", str(path)]) == 0
    out, err = capsys.readouterr()
    assert out.split()[0] == str(len(RECORDS) - 1)
    assert err.startswith("fastrec: warning: the index of ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("version", [1, 2])
def test_any_flipped_bit_in_an_index_is_refused(path: Path, version: int) -> None:
    saved = forge(path, OFFSETS, version=version).read_bytes()
    for bit in range(8 * len(saved)):
        beside(path).write_bytes(flip(saved, bit))
        with pytest.raises(fastrec.IndexMismatchError):
            fastrec.Index.load(path)


@pytest.mark.parametrize("version", [1, 2])
def test_an_index_cut_anywhere_is_refused(path: Path, version: int) -> None:
    saved = forge(path, OFFSETS, version=version).read_bytes()
    for size in range(len(saved)):
        beside(path).write_bytes(saved[:size])
        with pytest.raises(fastrec.IndexMismatchError):
            fastrec.Index.load(path)


HOSTILE = {
    "beyond the end": [*OFFSETS[:-1], OFFSETS[-1] + 1],
    "not to the end": OFFSETS[:-1],
    "not from the start": OFFSETS[1:],
    "unsorted": [0, OFFSETS[2], OFFSETS[1], *OFFSETS[3:]],
    "overlapping": [0, OFFSETS[1], OFFSETS[1] + 3, *OFFSETS[2:]],
    "repeated": [0, 0, *OFFSETS[1:]],
    "huge": [0, 2**63, OFFSETS[-1]],
    "all ones": [0, 2**64 - 1, OFFSETS[-1]],
}


@pytest.mark.parametrize("offsets", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("version", [1, 2])
def test_offsets_that_cannot_be_are_refused(path: Path, offsets: list[int], version: int) -> None:
    forge(path, offsets, version=version)
    refused(path)


@pytest.mark.parametrize("count", [0, 19, 21, 10**8, 2**61, 2**64 - 1])
@pytest.mark.parametrize("version", [1, 2])
def test_a_wrong_count_is_refused_before_memory_is_asked_for(
    path: Path, count: int, version: int
) -> None:
    forge(path, OFFSETS, count=count, version=version)
    refused(path)


@pytest.mark.parametrize("change", [{"version": 3}, {"size": 3}])
def test_an_index_of_another_version_or_file_is_refused(path: Path, change: Any) -> None:
    forge(path, OFFSETS, **change)
    refused(path)


@given(st.lists(st.integers(1, OFFSETS[-1] - 1), max_size=6, unique=True), st.integers(1, 2))
def test_an_index_that_lies_gives_no_wrong_record(
    tmp_path: Path, inner: list[int], version: int
) -> None:
    path = write(tmp_path / "file.tfrecord", RECORDS)
    forge(path, [0, *sorted(inner), OFFSETS[-1]], version=version)
    reader = fastrec.Reader(path, index=True)
    try:
        numbers = range(len(reader))
    except fastrec.IndexMismatchError:
        return
    for number in numbers:
        alone = outcome(partial(reader.__getitem__, number))
        among = outcome(partial(reader.read_many, [number]))
        assert alone is fastrec.IndexMismatchError or alone in RECORDS
        assert among is fastrec.IndexMismatchError or among[0] in RECORDS


class Canary:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("canary",)


@pytest.mark.parametrize("make", [pickle.dumps, lambda x: np.array([x], object).dumps()])
def test_nothing_in_an_index_is_executed(
    path: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    beside(path).write_bytes(make(Canary()))
    refused(path)
    with pytest.raises(fastrec.IndexMismatchError):
        fastrec.Index.read_text(path, beside(path))
    assert not os.path.exists("canary")


def test_damage_in_the_data_is_not_blamed_on_the_index(path: Path) -> None:
    index = fastrec.Index.build(path)
    status = path.stat()
    path.write_bytes(flip(path.read_bytes(), 8 * (OFFSETS[3] + 13)))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(fastrec.CorruptRecordError) as caught:
        fastrec.Reader(path, index=index)[3]
    assert (caught.value.kind, caught.value.record) == ("data-crc", 3)


# --- text -----------------------------------------------------------------------------------------


def test_a_text_index_is_lines_of_offset_and_size(path: Path, tmp_path: Path) -> None:
    index = fastrec.Index.build(path)
    index.write_text(tmp_path / "file.idx")
    lines = (tmp_path / "file.idx").read_text().splitlines()
    assert lines[:2] == ["0 25", "25 34"]
    assert len(lines) == len(RECORDS)
    assert fastrec.Index.read_text(path, tmp_path / "file.idx") == index


@pytest.mark.parametrize(
    "text",
    [
        "0 25\n26 34\n",
        "0 25\n25\n",
        "0 -25\n",
        "0 25.0\n",
        "zero 25\n",
        "0 99999999999999999999999\n",
        "18446744073709551615 2\n",
        "0 25\n" * 5000,
        "",
    ],
)
def test_a_text_that_is_no_index_of_the_file_is_refused(path: Path, text: str) -> None:
    index = path.with_name("file.idx")
    index.write_text(text)
    with pytest.raises(fastrec.IndexMismatchError, match="is refused"):
        fastrec.Index.read_text(path, index)


def test_an_empty_file_has_an_empty_index(tmp_path: Path) -> None:
    path = write(tmp_path / "empty", [])
    index = fastrec.Index.build(path)
    assert (len(index), index.offsets.tolist()) == (0, [0])
    index.save()
    index.write_text(tmp_path / "text")
    assert fastrec.Index.read_text(path, tmp_path / "text") == index
    assert len(fastrec.Reader(path, index=True)) == 0
