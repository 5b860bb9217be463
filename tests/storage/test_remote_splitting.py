# SPDX-License-Identifier: Apache-2.0
"""Byte ranges of objects: units of work that any process can read by itself."""

from __future__ import annotations

import errno
import gzip
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
import reference
from object_server import Fault, Objects, ObjectServer
from verbs import number_records

import fastrec
from fastrec import _core

RECORDS = [random.Random(n).randbytes(n * 37 % 5000) for n in range(200)]
DATA = b"".join(map(_core.frame, RECORDS))


def ends(parts: list[fastrec.FileRange]) -> list[tuple[int, int | None]]:
    return [(part.begin, part.end) for part in parts]


def test_objects_are_cut_where_files_are(memory: Any, tmp_path: Path) -> None:
    (tmp_path / "a.tfrecord").write_bytes(DATA)
    local = fastrec.file_ranges(tmp_path / "a.tfrecord", 20_000)
    urls = [memory.put("a.tfrecord", DATA), memory.put("b.tfrecord", DATA)]
    parts = fastrec.file_ranges(urls, 20_000)
    assert len(local) > 10
    assert ends(parts) == ends(local) * 2
    assert list(fastrec.Reader(parts)) == RECORDS * 2
    for part in parts:
        assert str(part) == f"{fastrec.FileRange(str(part.path.name), part.begin, part.end)}"
    assert [len(list(fastrec.Reader(p))) for p in parts[:3]] == [
        len(list(fastrec.Reader(p))) for p in local[:3]
    ]


def test_ranges_are_sources_of_batches_and_whole_objects_too(memory: Any) -> None:
    url = memory.put("a.tfrecord", b"")
    with fastrec.Writer(url, overwrite=True) as writer:
        writer.write_batch({"x": list(range(1000))})
    features = {"x": fastrec.FixedLenFeature((), "int64")}
    for size in (2000, 1 << 30):
        parts = fastrec.file_ranges(url, size)
        found = [x for b in fastrec.Batcher(parts, features, 64) for x in b["x"].tolist()]
        assert found == list(range(1000))


def test_compressed_and_empty_objects_are_not_cut(memory: Any) -> None:
    (part,) = fastrec.file_ranges(memory.put("a.tfrecord.gz", gzip.compress(DATA)), 10_000)
    assert part.end is None
    assert list(fastrec.Reader(part)) == RECORDS
    assert fastrec.file_ranges(memory.put("empty", b""), 100) == []
    (part,) = fastrec.file_ranges(memory.put("b", DATA), 100, exact=True)
    assert list(fastrec.Reader(part)) == RECORDS


def test_damage_has_the_offset_that_it_has_in_a_file(memory: Any, tmp_path: Path) -> None:
    data = bytearray(DATA)
    data[len(data) // 2] ^= 1
    (tmp_path / "a").write_bytes(data)
    for source in (str(tmp_path / "a"), memory.put("a", bytes(data))):
        parts = fastrec.file_ranges(source, 20_000)
        with pytest.raises(fastrec.CorruptRecordError) as caught:
            list(fastrec.Reader(parts))
        found = list(fastrec.Reader(parts, on_error="skip"))
        assert found == [r for r in RECORDS if r in found]
        assert len(found) == len(RECORDS) - 1
        if source == str(tmp_path / "a"):
            wanted = caught.value
    assert (caught.value.offset, caught.value.kind) == (wanted.offset, wanted.kind)


def test_a_cut_in_a_record_of_records_is_an_error(memory: Any) -> None:
    inner = reference.write_frames(number_records(300))
    url = memory.put("a", reference.write_frames([b"x", inner, b"y"]))
    parts = fastrec.file_ranges(url, 1000)
    assert len(parts) > 2
    with pytest.raises(fastrec.CorruptRecordError) as caught:
        list(fastrec.Reader(parts))
    assert caught.value.kind == "cut"


def test_another_process_reads_the_version_that_was_cut() -> None:
    objects = Objects({"a": DATA})
    with ObjectServer(objects) as server:
        parts = fastrec.file_ranges(f"{server.url}/a", 20_000)
        stored = pickle.dumps(parts)
        assert list(fastrec.Reader(pickle.loads(stored))) == RECORDS
        objects.put("a", DATA[:-1] + b"x")
        with pytest.raises(OSError, match="has changed") as caught:
            list(fastrec.Reader(pickle.loads(stored)))
        assert caught.value.errno == errno.ESTALE


def test_credentials_stay_out_of_pickles(memory: Any) -> None:
    url = memory.put("a", DATA)
    parts = fastrec.file_ranges(url, 20_000, storage_options={"secret_access_key": "s3cr3t"})
    with pytest.raises(TypeError, match=r"secret_access_key.*cannot be pickled"):
        pickle.dumps(parts)


def test_what_a_range_does_not_have_is_not_fetched() -> None:
    with ObjectServer(Objects({"a": DATA})) as server:
        parts = fastrec.file_ranges(f"{server.url}/a", len(DATA) // 2)
        assert len(parts) == 2
        for part in parts:
            server.requests.clear()
            assert list(fastrec.Reader(part))
            fetched = [request.range for request in server.requests if request.range]
            assert min(first for first, _ in fetched) == part.begin
            assert max(last for _, last in fetched) + 1 == part.end


def test_failures_that_pass_are_tried_again() -> None:
    broken = Fault("truncate", after=1000)
    with ObjectServer(Objects({"a": DATA}), lambda r, n: broken if n % 3 == 1 else Fault()) as s:
        parts = fastrec.file_ranges(f"{s.url}/a", 20_000)
        assert list(fastrec.Reader(parts)) == RECORDS
