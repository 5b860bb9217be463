# SPDX-License-Identifier: Apache-2.0
"""Map-style datasets leave unusable records out of requests by number."""

from __future__ import annotations

import gzip
import multiprocessing
import os
import struct
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec.images.keyed import KeyedParser
from fastrec.parsing.left_out import LeftOut

pytestmark = pytest.mark.filterwarnings("ignore:on_error left out")

FEATURES = {"id": fastrec.FixedLenFeature((), np.int64)}


def write(path: Path, count: int, unusable: set[int], first: int = 0) -> Path:
    """Write records of which some lack the feature; every second one of these is damaged."""
    records = [
        fastrec.encode_example({"other" if number in unusable else "id": first + number})
        for number in range(count)
    ]
    with fastrec.Writer(path) as writer:
        writer.write_many(records)
    ends = np.cumsum([len(record) + 16 for record in records])
    data = bytearray(path.read_bytes())
    for number in sorted(unusable)[::2]:
        data[ends[number] - 5] ^= 1
    path.write_bytes(data)
    return path


def bitmap(grey: int) -> bytes:
    """Return a BMP file of one pixel."""
    header = struct.pack("<2sIHHI", b"BM", 58, 0, 0, 54)
    return (
        header
        + struct.pack("<IiiHHIIiiII", 40, 1, 1, 1, 24, 0, 4, 0, 0, 0, 0)
        + bytes([grey, grey, grey, 0])
    )


class Source:
    """Reads records by number through a LeftOut, and counts the reads."""

    def __init__(self, source: Any, on_error: Any = "skip") -> None:
        self.left_out = LeftOut(on_error, "Source")
        self.reader = fastrec.Reader(source)
        self.parse = KeyedParser(FEATURES, None)
        self.reads = 0

    def __call__(self, *numbers: int) -> list[int]:
        def read(some: list[int], misfits: Any) -> Any:
            self.reads += 1
            return self.parse(self.reader, some, 0, None, misfits)["id"].tolist()

        ids, kept = self.left_out.read(read, numbers, self.reader)
        assert (ids or []) == kept
        return kept


@pytest.mark.parametrize("is_compressed", [False, True])
def test_a_batch_with_unusable_records_takes_one_read(tmp_path: Path, is_compressed: bool) -> None:
    unusable = set(range(7, 1024, 20))
    path = write(tmp_path / "a", 1024, unusable)
    if is_compressed:
        path.write_bytes(gzip.compress(path.read_bytes(), 1))
    source = Source(path)
    for reads in (1, 2):
        kept = source(*reversed(range(1024)))
        assert kept == [number for number in reversed(range(1024)) if number not in unusable]
        assert source.reads == reads
    kinds = {lost.record: lost.kind for lost in source.left_out.regions}
    assert kinds == {
        number: ("data-crc", "schema")[place % 2] for place, number in enumerate(sorted(unusable))
    }


def test_a_shard_without_usable_records_is_no_error_if_another_has_some(tmp_path: Path) -> None:
    paths = [write(tmp_path / "a", 150, set(range(150))), write(tmp_path / "b", 1000, set(), 150)]
    source = Source(paths)
    assert sum(len(source(number)) for number in range(1150)) == 1000
    alone = Source(paths[0])
    assert [alone(number) for number in range(99)] == [[]] * 99
    with pytest.raises(fastrec.FastrecError, match="others from all over the source"):
        alone(99)


def test_a_callable_gets_the_error_of_a_record_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a", 10, {3, 5})
    errors: list[Any] = []
    source = Source(path, errors.append)
    for _ in range(2):
        assert source(3, 3, 4, 3, 5) == [4]
    assert [error.record for error in errors] == [3, 5]
    assert 3 in source.left_out
    assert 4 not in source.left_out

    def refuse(error: Exception) -> None:
        raise KeyError

    source = Source(path, refuse)
    for _ in range(2):
        with pytest.raises(KeyError):
            source(3)


def test_an_error_that_is_kept_refers_to_no_frames(tmp_path: Path) -> None:
    path = write(tmp_path / "a", 10, {3, 5})
    errors: list[Any] = []
    for packed in (path.read_bytes(), gzip.compress(path.read_bytes())):
        path.write_bytes(packed)
        try:
            raise KeyError
        except KeyError:
            source = Source(path, errors.append)
            source(*range(10))
            fastrec.parse_many(source.reader, range(10), FEATURES, on_error=errors.append)
        errors.append(source.left_out._first)
    assert len(errors) == 10
    for error in errors:
        assert error.__traceback__ is error.__context__ is error.__cause__ is None


def test_an_image_that_cannot_be_decoded_is_left_out_with_its_row(tmp_path: Path) -> None:
    pytest.importorskip("PIL.Image")  # names contents that are not images
    path = tmp_path / "a"
    with fastrec.Writer(path) as writer:
        for number in range(10):
            image = b"no image" if number in (4, 8) else bitmap(number)
            writer.write({"image": image, "other" if number in (2, 5) else "id": number})
    parse = KeyedParser({**FEATURES, "image": fastrec.ImageFeature(shape=(1, 1))}, 0)
    reader, left_out = fastrec.Reader(path), LeftOut("skip", "Source")
    order = [9, 8, 5, 4, 2, 1, 0]
    columns, kept = left_out.read(
        lambda some, misfits: parse(reader, some, 0, None, misfits), order, reader
    )
    assert columns is not None
    assert columns["id"].tolist() == columns["image"][:, 0, 0, 0].tolist() == kept == [9, 1, 0]
    assert {(lost.record, lost.kind) for lost in left_out.regions} == {
        (2, "schema"),
        (4, "image"),
        (5, "schema"),
        (8, "image"),
    }
    with pytest.raises(fastrec.ExampleParseError, match=f"record 4 in {str(path)!a}"):
        parse(reader, [0, 4], 0)


def test_a_header_that_differs_from_a_saved_index_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a", 10, {3})
    index = fastrec.Index.build(path)
    index.save()
    data = bytearray(path.read_bytes())
    data[index.offsets[5] + 1] ^= 1
    path.write_bytes(data)
    source = Source(path)
    assert source(0, 1, 2, 3, 4, 6, 7, 8, 9) == [0, 1, 2, 4, 6, 7, 8, 9]
    with pytest.raises(fastrec.IndexMismatchError, match="the header is damaged"):
        source(5)
    assert [lost.record for lost in source.left_out.regions] == [3]


def test_only_a_worker_process_is_told_that_its_list_is_separate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a", 10, {3})
    process = os.getpid()
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: process + 1)  # as if it came from another process
        sources = [Source(path) for _ in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sources[0](3)
    monkeypatch.setattr(multiprocessing, "parent_process", object)
    with pytest.warns(RuntimeWarning, match=f"record 3 of .* in worker process {process}"):
        sources[1](3)


SHARE: list[Callable[[Path], Any]] = [
    lambda path: Source(path)(*range(200)),
    lambda path: fastrec.parse_many(fastrec.Reader(path), range(200), FEATURES, on_error="skip"),
    lambda path: fastrec.parse_example(fastrec.Reader(path), FEATURES, on_error="skip"),
    lambda path: list(fastrec.Batcher(path, FEATURES, 8, on_error="skip")),
]


@pytest.mark.parametrize("read", SHARE)
def test_more_than_a_tenth_is_a_warning_at_the_line_of_the_caller(
    tmp_path: Path, read: Callable[[Path], Any]
) -> None:
    path = tmp_path / "a"
    with fastrec.Writer(path) as writer:
        for number in range(200):
            writer.write({"id" if number % 5 else "other": number})
    with pytest.warns(RuntimeWarning, match=r"left out \d+ of \d+ records; the") as caught:
        read(path)
    assert [warning.filename for warning in caught] == [__file__]
