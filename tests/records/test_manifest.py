# SPDX-License-Identifier: Apache-2.0
"""Whole records and whole files that are gone, which nothing in the files themselves can say."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from verbs import number_records

import fastrec
from fastrec import Manifest, ManifestFile, MissingRecordsError


@pytest.fixture(params=[None, "GZIP"])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    folder = tmp_path / "set"
    folder.mkdir()
    path = folder / "train.tfrecord"
    with fastrec.Writer(path, shards=3, compression=request.param) as writer:
        writer.write_many(number_records(30))
    Manifest.build(folder).save(tmp_path / "manifest")
    return folder


def shard(folder: Path, number: int) -> Path:
    return folder / f"train-{number:05d}-of-00003.tfrecord"


def test_files_as_they_were_are_sound(folder: Path) -> None:
    manifest = Manifest.load(folder.parent / "manifest")
    assert manifest.records == 30
    assert len(manifest) == 3
    assert manifest[1].name == "train-00001-of-00003.tfrecord"
    assert fastrec.verify(folder, manifest=manifest).records == 30
    assert fastrec.verify(folder, manifest=folder.parent / "manifest").files == 3
    shutil.move(folder, folder.with_name("elsewhere"))
    assert fastrec.verify(folder.with_name("elsewhere"), manifest=manifest).files == 3


def test_a_shard_that_is_missing_is_named(folder: Path) -> None:
    shard(folder, 1).unlink()
    for source in (folder, str(folder / "*.tfrecord"), os.fsencode(folder)):
        for manifest in (folder.parent / "manifest", None):
            with pytest.raises(MissingRecordsError, match=r"00001-of-00003.*is missing") as e:
                fastrec.verify(source, manifest=manifest)
            assert e.value.path is not None
            assert e.value.path.endswith("train-00001-of-00003.tfrecord")
        assert fastrec.verify(source, shards="any").files == 2
    # Files that are named one by one are those that are meant.
    assert fastrec.verify([shard(folder, 0), shard(folder, 2)]).files == 2
    assert fastrec.verify(shard(folder, 0)).files == 1


def test_many_missing_shards_make_a_short_message(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "a-00007-of-99999.tfrecord") as writer:
        writer.write(b"x")
    with pytest.raises(MissingRecordsError, match="and 99995 more are missing") as caught:
        fastrec.verify(tmp_path)
    assert len(str(caught.value)) < 500


def test_a_file_cut_between_two_records_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "file.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_many([b"a"] * 10)
    manifest = Manifest.build(path)
    os.truncate(path, 9 * 17)
    assert fastrec.verify(path).records == 9
    with pytest.raises(MissingRecordsError, match="has 9 records, the manifest says 10"):
        fastrec.verify(path, manifest=manifest)


def test_a_shard_that_is_there_twice_is_noticed(folder: Path) -> None:
    shutil.copy(shard(folder, 0), shard(folder, 2))
    assert fastrec.verify(folder).records == 30
    with pytest.raises(MissingRecordsError, match=r"'train-00002-of-00003\.tfrecord' differs"):
        fastrec.verify(folder, manifest=folder.parent / "manifest")


def test_a_file_too_many_is_noticed(folder: Path) -> None:
    shutil.copy(shard(folder, 0), folder / "more.tfrecord")
    with pytest.raises(MissingRecordsError, match=r"'more\.tfrecord' is not in the manifest"):
        fastrec.verify(folder, manifest=folder.parent / "manifest")


def test_a_file_that_is_given_twice_is_noticed(folder: Path) -> None:
    with pytest.raises(MissingRecordsError, match=r"'train-00002-of-00003\.tfrecord' is listed 2"):
        fastrec.verify([folder, shard(folder, 2)], manifest=folder.parent / "manifest")


def test_damage_is_still_damage(folder: Path) -> None:
    data = bytearray(shard(folder, 1).read_bytes())
    data[len(data) // 2] ^= 1
    shard(folder, 1).write_bytes(data)
    with pytest.raises(fastrec.CorruptRecordError):
        fastrec.verify(folder, manifest=folder.parent / "manifest")


GOOD = {"name": "a", "records": 1, "size": 17, "crc32c": "0000abcd"}


@pytest.mark.parametrize(
    "change",
    [
        {"name": "../a"}, {"name": "/etc/passwd"}, {"name": ""}, {"name": 5}, {"name": None},
        {"records": -1}, {"records": 1.5}, {"records": True}, {"records": "1"},
        {"size": None}, {"crc32c": 5}, {"crc32c": "xyz"}, {"name": ".."}, {"name": "a\0b"},
        {"records": 2**63}, {"size": 10**400}, {"crc32c": "-1"}, {"crc32c": "123456789"},
    ],
)  # fmt: skip
def test_a_manifest_that_makes_no_sense_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    whole = {"format": "fastrec manifest", "version": 1, "files": [{**GOOD, **change}]}
    (tmp_path / "manifest").write_text(json.dumps(whole))
    with pytest.raises(fastrec.FastrecError, match="is not a manifest"):
        Manifest.load(tmp_path / "manifest")


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "5", "{}", "[" * 100_000, "\xff", '{"format": "fastrec manifest"}',
        '{"format": "fastrec manifest", "version": 2, "files": []}',
        '{"format": "fastrec manifest", "version": 1, "files": 5}',
        '{"format": "fastrec manifest", "version": 1, "files": [5]}',
        json.dumps({"format": "fastrec manifest", "version": 1, "files": [GOOD, GOOD]}),
    ],
    ids=range(11),
)  # fmt: skip
def test_what_is_no_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest").write_bytes(text.encode("latin-1"))
    with pytest.raises(fastrec.FastrecError, match="is not a manifest"):
        Manifest.load(tmp_path / "manifest")


def test_a_manifest_comes_back_as_it_was(tmp_path: Path) -> None:
    files = [ManifestFile("a", 0, 0, 0), ManifestFile("b\n\udc80", 2**40, 2**50, 2**32 - 1)]
    Manifest(files).save(tmp_path / "manifest")
    assert list(Manifest.load(tmp_path / "manifest")) == files


@pytest.mark.slow
def test_the_command_line_writes_manifests_and_holds_files_against_them(folder: Path) -> None:
    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "fastrec", "verify", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    path = folder.parent / "other manifest"
    assert run(folder, "--write-manifest", path).returncode == 0
    assert list(Manifest.load(path)) == list(Manifest.load(folder.parent / "manifest"))
    assert run(folder, "--manifest", path).returncode == 0
    shutil.copy(shard(folder, 0), shard(folder, 2))
    assert run(folder).returncode == 0
    done = run(folder, "--manifest", path)
    assert (done.returncode, "differs from the manifest" in done.stdout) == (1, True)
    shard(folder, 2).unlink()
    for options in ((), ("--manifest", path)):
        done = run(folder, *options, "--write-manifest", path.with_name("no"))
        assert (done.returncode, "00002-of-00003.tfrecord' is missing" in done.stderr) == (1, True)
    assert run(folder, "--manifest", path.with_name("absent")).returncode == 74
    assert not path.with_name("no").exists()


def test_an_entry_is_compared_by_what_is_known(tmp_path: Path) -> None:
    manifest = Manifest([ManifestFile("a.tfrecord", 3, 70, 0)])
    manifest.check_records(tmp_path / "a.tfrecord", 3)
    manifest.check_size(tmp_path / "a.tfrecord", 70)
    with pytest.raises(MissingRecordsError, match="has 2 records, the manifest says 3"):
        manifest.check_records(tmp_path / "a.tfrecord", 2)
    with pytest.raises(MissingRecordsError, match="has 69 bytes, the manifest says 70") as caught:
        manifest.check_size("/elsewhere/a.tfrecord", 69)
    assert caught.value.path == "a.tfrecord"
    with pytest.raises(MissingRecordsError, match=r"'b.tfrecord' is not in the manifest"):
        manifest.entry(tmp_path / "b.tfrecord")
