# SPDX-License-Identifier: Apache-2.0
"""A file is read back before it is published."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from verbs import number_records

import fastrec

RECORDS = number_records(3000)


@contextlib.contextmanager
def meddling(
    monkeypatch: pytest.MonkeyPatch, folder: Path, meddle: Callable[[Path], Any]
) -> Iterator[None]:
    """`meddle` is called with each temporary file once it is complete, before it is read back."""
    real = open

    def opened(name: Any, *arguments: Any, **options: Any) -> Any:
        path = Path(os.fsdecode(name))
        if path.parent == folder:
            meddle(path)
        return real(name, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr("fastrec.records.byte_sources.open", opened, raising=False)
        yield


def flip_a_byte(path: Path) -> None:
    with open(path, "r+b") as file:
        file.seek(path.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))


def cut_between_records(path: Path) -> None:
    os.truncate(path, 16 + len(RECORDS[0]))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fsync": False},
        {"compression": "GZIP"},
        {"compression": "ZLIB"},
        {"shards": 3},
        {"shard_records": 1000},
        {"overwrite": False},
    ],
)
@pytest.mark.parametrize("way", ["one by one", "many", "columns"])
def test_what_was_written_well_is_published(
    tmp_path: Path, options: dict[str, Any], way: str
) -> None:
    with fastrec.Writer(tmp_path / "file", verify_after_write=True, **options) as writer:
        if way == "one by one":
            for record in RECORDS:
                writer.write(record)
        elif way == "many":
            writer.write_many(RECORDS)
        else:
            writer.write_batch({"a": list(range(3000))})
    assert fastrec.verify(writer.paths).records == 3000


@pytest.mark.parametrize("compression", [None, "GZIP"])
@pytest.mark.parametrize("shards", [None, 2])
def test_a_byte_that_changed_on_the_way_to_the_disk_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: str | None, shards: int | None
) -> None:
    (tmp_path / "file").write_bytes(b"old")
    options: dict[str, Any] = {"compression": compression, "shards": shards}
    with (
        meddling(monkeypatch, tmp_path, flip_a_byte),
        pytest.raises(fastrec.CorruptRecordError, match="file") as caught,
        fastrec.Writer(
            tmp_path / "file", verify_after_write=True, **options, overwrite=True
        ) as writer,
    ):
        writer.write_many(RECORDS)
    assert ".tmp" not in str(caught.value)
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_records_that_are_gone_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        meddling(monkeypatch, tmp_path, cut_between_records),
        pytest.raises(fastrec.FastrecError, match=r"1 records .* 3000 were written"),
        fastrec.Writer(tmp_path / "file", verify_after_write=True) as writer,
    ):
        writer.write_many(RECORDS)
    assert os.listdir(tmp_path) == []


def test_without_asking_nothing_is_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    with (
        meddling(monkeypatch, tmp_path, read.append),
        fastrec.Writer(tmp_path / "file") as writer,
    ):
        writer.write_many(RECORDS)
    assert read == []


def test_appending_is_not_read_back(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="mutually exclusive"):
        fastrec.Writer(tmp_path / "file", append=True, verify_after_write=True)
