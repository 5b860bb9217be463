# SPDX-License-Identifier: Apache-2.0
"""Whole files that are damaged, or of another kind: checked, repaired, named."""

from __future__ import annotations

import dataclasses
import os
import pickle
from pathlib import Path

import pytest
import reference
from verbs import assert_one_ascii_line, flip, gzipped, number_records, offsets_of, read, write

import fastrec
from fastrec.cli import main

RECORDS = number_records(6)
FRAMES = reference.write_frames(RECORDS)
OFFSETS = offsets_of(RECORDS)
TWICE = flip(flip(FRAMES, 8 * (OFFSETS[1] + 13)), 8 * (OFFSETS[4] + 13))


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_verify_goes_on_when_asked_and_reports_each_file(tmp_path: Path) -> None:
    paths = [put(tmp_path / "a", TWICE), write(tmp_path / "b", RECORDS)]
    with pytest.raises(fastrec.CorruptRecordError):
        fastrec.verify(paths)
    found = fastrec.verify(paths, on_error="skip")
    size = sum(map(len, RECORDS)) * 2 - len(RECORDS[1]) - len(RECORDS[4])
    assert (found.records, found.bytes, found.files) == (10, size, 2)
    assert hash(found) != hash(dataclasses.replace(found, reports=found.reports[:1]))
    assert pickle.loads(pickle.dumps(found)) == found
    assert [(report.records, len(report.skipped)) for report in found.reports] == [(4, 2), (6, 0)]
    assert [report.path for report in found.reports] == list(map(str, paths))


def test_repair_saves_the_rest_and_keeps_the_damaged_file(tmp_path: Path) -> None:
    path = put(tmp_path / "file.tfrecord", TWICE)
    done = fastrec.repair(path)
    assert done.path == str(tmp_path / "file.repaired.tfrecord")
    assert read(done.path) == ([RECORDS[i] for i in (0, 2, 3, 5)], None)
    assert path.read_bytes() == TWICE
    assert (done.original, done.records, len(done.skipped)) == (str(path), 4, 2)
    with pytest.raises(FileExistsError):
        fastrec.repair(path)
    assert fastrec.repair(path, overwrite=True).records == 4


def test_repair_in_place_keeps_the_damaged_file_under_another_name(tmp_path: Path) -> None:
    path = put(tmp_path / "file", TWICE)
    done = fastrec.repair(path, in_place=True)
    assert read(path) == ([RECORDS[i] for i in (0, 2, 3, 5)], None)
    assert Path(done.original).read_bytes() == TWICE
    assert sorted(os.listdir(tmp_path)) == ["file", "file.damaged"]
    assert fastrec.repair(path, in_place=True).skipped == ()
    assert sorted(os.listdir(tmp_path)) == ["file", "file.damaged"]


def test_the_command_repairs_and_says_what_was_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = put(tmp_path / "file.tfrecord", TWICE)
    assert main(["repair", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["lost", "lost", "saved"]
    assert main(["repair", str(tmp_path / "file.repaired.tfrecord"), "--in-place"]) == 0
    assert main(["repair", str(path), "--in-place", "--output", "x"]) == 2


def test_repair_of_a_compressed_file_is_compressed(tmp_path: Path) -> None:
    path = put(tmp_path / "file.gz", gzipped(TWICE))
    done = fastrec.repair(path, tmp_path / "saved")
    assert (tmp_path / "saved").read_bytes()[:2] == b"\x1f\x8b"
    assert read(done.path) == ([RECORDS[i] for i in (0, 2, 3, 5)], None)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"\xfd7zXZ\0\0\4", "xz"),
        (b"PAR1\x15\x04\x15\x10", "Parquet"),
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (b"PK\x03\x04", "ZIP"),
        (bytes(257) + b"ustar\x0000", "tar"),
        (b"a text of more than one line\n", "text"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
    ],
)
def test_a_file_of_another_kind_is_named(tmp_path: Path, head: bytes, name: str) -> None:
    path = put(tmp_path / "file", head + b"\n" * 600)
    _, error = read(path)
    assert isinstance(error, fastrec.CorruptRecordError)
    assert f"it looks like {name}" in str(error) or f"a {name}" in str(error)
    assert_one_ascii_line(error)
    with pytest.raises(fastrec.CorruptRecordError, match=name):
        len(fastrec.Reader(path))
