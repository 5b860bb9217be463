# SPDX-License-Identifier: Apache-2.0
"""What one pass over remote files has learned is not fetched a second time."""

from __future__ import annotations

import gzip
import pickle
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_server import Objects, ObjectServer

import fastrec
from fastrec import _core
from fastrec.cli import main
from fastrec.storage import sequential
from fastrec.storage.options import StorageOptions
from fastrec.storage.remote import RemoteFile

RECORDS = [random.Random(n).randbytes(n * 37 % 5000) for n in range(400)]
DATA = b"".join(map(_core.frame, RECORDS))
SLACK = 30_000  # heads of files, and the records that are asked for by number


class Counted(ObjectServer):
    """A server that knows how many bytes it was asked for."""

    @property
    def fetched(self) -> int:
        ranges = [each.range for each in self.requests if each.method == "GET"]
        return sum(found[1] + 1 - found[0] for found in ranges if found)


@pytest.fixture
def server() -> Iterator[Counted]:
    objects = {"a": DATA, "b": DATA, "empty": b"", "z": gzip.compress(DATA)}
    found = Counted(Objects(objects))
    with found:
        yield found


PASSES: dict[str, Callable[[fastrec.Reader], int]] = {
    "records": lambda reader: sum(1 for _ in reader),
    "views": lambda reader: sum(1 for _ in reader.views()),
    "blocks": lambda reader: sum(map(len, reader.blocks(64))),
    "list": lambda reader: len(list(reader)),
}


@pytest.mark.parametrize("name", ["records", "views", "blocks", "list"])
def test_a_pass_leaves_an_index(server: Counted, name: str) -> None:
    urls = [f"{server.url}/{name}" for name in ("a", "empty", "b")]
    reader = fastrec.Reader(urls)
    assert PASSES[name](reader) == 800
    assert 2 * len(DATA) <= server.fetched < 2 * len(DATA) + SLACK
    assert len(reader) == 800
    assert reader[401] == RECORDS[1]
    assert list(reader.read_many([7, -1])) == [RECORDS[7], RECORDS[-1]]
    assert server.fetched < 2 * len(DATA) + SLACK
    again = fastrec.Reader(urls)  # in any process: it is in the cache of indexes
    assert again[399] == RECORDS[399]
    assert server.fetched < 2 * len(DATA) + SLACK


def test_records_are_those_of_the_length(server: Counted) -> None:
    """The bytes that the length was made from are those of the iterator that waits."""
    reader = fastrec.Reader([f"{server.url}/a", f"{server.url}/b"])
    records = iter(reader)
    assert len(reader) == 800
    fetched = server.fetched
    assert list(records) == RECORDS * 2
    assert server.fetched == fetched
    assert list(iter(reader)) == RECORDS * 2  # which are not kept for longer
    assert server.fetched >= fetched + 2 * len(DATA)


LARGE = b"".join(_core.frame(bytes([n])) + _core.frame(bytes(1 << 19)) for n in range(4))
NARROW = StorageOptions(window_bytes=1 << 20)


def test_a_list_of_more_than_the_window_is_read_once() -> None:
    found = Counted(Objects({"a": LARGE, "b": LARGE, "c": DATA}))
    with found as server:
        urls = [f"{server.url}/{name}" for name in "abc"]
        listed = list(fastrec.Reader(urls, storage_options=NARROW))
        assert len(listed) == 416
        assert [len(record) for record in listed[:16]] == [1, 1 << 19] * 8
        assert listed[16:] == RECORDS
        assert found.fetched < 2 * len(LARGE) + len(DATA) + SLACK
        asked = [(each.path, each.range) for each in server.requests if each.range]
        assert len(asked) == len(set(asked))


def test_without_room_on_the_disk_it_is_read_twice(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = memory.put("large", LARGE)
    monkeypatch.setattr("shutil.disk_usage", lambda path: shutil._ntuple_diskusage(0, 0, 0))
    reader = fastrec.Reader(url, storage_options=NARROW)
    records = iter(reader)
    assert len(reader) == 8
    assert [len(record) for record in records] == [1, 1 << 19] * 4


def test_an_unfinished_pass_leaves_none(server: Counted) -> None:
    reader = fastrec.Reader(f"{server.url}/a")
    records = iter(reader)
    for expected in RECORDS[:100]:
        assert next(records) == expected
    assert len(reader) == 400
    assert list(records) == RECORDS[100:]
    assert reader[399] == RECORDS[399]


def test_damage_leaves_the_index_that_a_second_pass_makes(memory: Any) -> None:
    data = bytearray(DATA)
    data[len(data) // 2] ^= 1
    url = memory.put("bad", bytes(data))
    with pytest.raises(fastrec.CorruptRecordError):
        list(iter(fastrec.Reader(url)))
    expected = fastrec.Reader(url, on_error="skip")
    reader = fastrec.Reader(url, on_error="skip")
    assert len(list(iter(reader))) == 399
    assert len(reader) == len(expected) == 399
    assert reader[:] == expected[:] == list(iter(reader))
    assert len(reader.skipped) == 1
    assert len(fastrec.Reader(url)) == 400  # nothing of it was stored for those who do not skip
    with pytest.raises(fastrec.CorruptRecordError):
        fastrec.Reader(url)[:]


def test_an_index_is_of_one_version(server: Counted) -> None:
    objects = server.backend
    assert isinstance(objects, Objects)
    assert len(list(fastrec.Reader(f"{server.url}/a"))) == 400
    objects.put("a", b"".join(map(_core.frame, RECORDS[::-1])))
    assert fastrec.Reader(f"{server.url}/a")[0] == RECORDS[-1]


def test_without_a_folder_the_reader_has_the_index(
    server: Counted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    reader = fastrec.Reader(f"{server.url}/a")
    assert len(list(iter(reader))) == len(reader) == 400
    assert server.fetched < len(DATA) + SLACK
    assert pickle.loads(pickle.dumps(reader))[3] == RECORDS[3]


def test_an_epoch_in_sequence_is_the_index_of_one_that_is_shuffled(server: Counted) -> None:
    url = f"{server.url}/a"
    assert sum(map(len, fastrec.Batcher(url, None, 50))) == 400
    batcher = fastrec.Batcher(url, None, 50, shuffle="blocks", seed=1)
    assert len(batcher) == 8
    assert server.fetched < len(DATA) + SLACK
    assert sorted(record for batch in batcher for record in batch) == sorted(RECORDS)


def test_infer_features_leaves_an_index(server: Counted) -> None:
    objects = server.backend
    assert isinstance(objects, Objects)
    examples = b"".join(_core.frame(fastrec.encode_example({"n": n})) for n in range(500))
    objects.put("e", examples)
    features = fastrec.infer_features(f"{server.url}/e")
    batcher = fastrec.Batcher(f"{server.url}/e", features, 50, shuffle="blocks", seed=1)
    before = server.fetched
    assert len(batcher) == 10
    assert server.fetched <= before + 512
    found = np.concatenate([batch["n"] for batch in batcher])
    assert sorted(found.tolist()) == list(range(500))


# -- Manifests -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "z", "empty"])
def test_a_manifest_takes_one_pass(server: Counted, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(data := server.backend.get(name))  # type: ignore[attr-defined]
    manifest = fastrec.Manifest.build(f"{server.url}/{name}")
    assert list(manifest) == list(fastrec.Manifest.build(tmp_path / name))
    assert server.fetched <= len(data) + 600
    before = server.fetched
    fastrec.verify(f"{server.url}/{name}", manifest=manifest)
    assert server.fetched <= before + len(data) + 600


def test_bytes_that_no_record_is_in_are_in_the_sum(memory: Any, tmp_path: Path) -> None:
    """Damage that is skipped, compressed and not; and a change that the records do not show."""
    for kind, data in (("plain", DATA), ("packed", gzip.compress(DATA))):
        damaged = bytearray(data)
        damaged[len(data) // 2] ^= 255
        (tmp_path / kind).write_bytes(damaged)
        url = memory.put(kind, bytes(damaged))
        entry = fastrec.ManifestFile(kind, 0, len(data), _core.crc32c(damaged))
        found = fastrec.verify(url, on_error="skip").records
        manifest = fastrec.Manifest([entry._replace(records=found)])
        for source in (url, tmp_path / kind):
            fastrec.verify(source, manifest=manifest, on_error="skip")
            wrong = fastrec.Manifest([entry._replace(records=found, crc32c=entry.crc32c ^ 1)])
            with pytest.raises(fastrec.MissingRecordsError, match="contents"):
                fastrec.verify(source, manifest=wrong, on_error="skip")


def test_the_command_takes_one_pass(server: Counted, tmp_path: Path) -> None:
    urls = [f"{server.url}/a", f"{server.url}/z"]
    size = len(DATA) + len(gzip.compress(DATA))
    target = str(tmp_path / "m.json")
    assert main(["verify", *urls, "--write-manifest", target]) == 0
    assert server.fetched <= size + 2000
    before = server.fetched
    assert main(["verify", *urls, "--manifest", target]) == 0
    assert server.fetched <= before + size + 2000
    entries = fastrec.Manifest.load(target)
    assert [(entry.name, entry.records) for entry in entries] == [("a", 400), ("z", 400)]


def test_an_empty_object_that_another_pass_opens_has_no_bytes_of_the_next(
    server: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Now(Iterator[Any]):
        """Run each job when its result is taken, so that the order of events is certain."""

        def __init__(self, jobs: Any, **options: Any) -> None:
            self._jobs = iter(jobs)

        def __next__(self) -> Any:
            return next(self._jobs).run(lambda seconds: None)

    monkeypatch.setattr(sequential, "Ahead", Now)
    storage = StorageOptions()
    files = [RemoteFile(f"{server.url}/{n}", storage, n, None) for n in ("empty", "a")]
    run = sequential._Pass(files, storage)
    assert not run.is_at_end(0, 0)  # the pass does not know its size, and so takes its first part
    files[0].identify()
    assert bytes(run.part(0, 0)) == b""
    assert bytes(run.part(1, 0)) == DATA[: 1 << 14]
