# SPDX-License-Identifier: Apache-2.0
"""Resharding from objects and into objects."""

from __future__ import annotations

import glob
import gzip
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from object_server import Fault, Objects, ObjectServer, Request

import fastrec
from fastrec import _core
from fastrec.storage.options import StorageOptions

RECORDS = [b"%d:" % n + bytes([n % 251]) * (n * 37 % 3000) for n in range(900)]
SHARES = [RECORDS[:400], RECORDS[400:401], [], RECORDS[401:]]
SMALL = 1 << 20  # bytes of memory, less than the records have


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory for temporary files, which is empty at the end."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert os.listdir(folder) == []


@pytest.fixture
def sources(memory: Any) -> list[str]:
    objects = [b"".join(map(_core.frame, share)) for share in SHARES]
    objects[3] = gzip.compress(objects[3])
    return [memory.put(f"in-{i}.tfrecord", data) for i, data in enumerate(objects)]


def local_copy(folder: Path) -> list[str]:
    paths = [str(folder / f"in-{i}.tfrecord") for i in range(len(SHARES))]
    for path, share in zip(paths, SHARES, strict=True):
        with fastrec.Writer(path, overwrite=True) as writer:
            writer.write_many(share)
    return paths


OPTIONS: list[dict[str, Any]] = [
    {},
    {"shards": 3},
    {"shard_records": 250},
    {"shard_bytes": 300_000, "compression": "GZIP"},
    {"shards": 2, "shuffle": True, "seed": 7},
    {"shards": 2, "shuffle": True, "seed": 7, "memory": SMALL},
]


@pytest.mark.parametrize("cached", [False, True], ids=["ranges", "cache"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_objects_are_those_files(
    sources: list[str], memory: Any, tmp_path: Path, options: dict[str, Any], cached: bool
) -> None:
    storage = StorageOptions(cache=tmp_path / "cache" if cached else None)
    target = f"{memory.url}/out/t.tfrecord"
    reports: list[tuple[int, int]] = []
    done = fastrec.reshard(
        sources,
        target,
        storage_options=storage,
        progress=lambda *report: reports.append(report),
        **options,
    )
    expected = fastrec.reshard(local_copy(tmp_path), tmp_path / "t.tfrecord", **options)
    assert done.records == expected.records == len(RECORDS)
    assert reports[-1][0] == reports[-1][1]
    stored: list[str] = memory.keys()
    found = [key for key in stored if key.startswith("out/")]
    assert done.paths == [f"{memory.url}/{key}" for key in found]
    assert [os.path.basename(path) for path in expected.paths] == [key[4:] for key in found]
    for key, path in zip(found, expected.paths, strict=True):
        assert list(fastrec.Reader(f"{memory.url}/{key}")) == list(fastrec.Reader(path))


def test_a_pattern_into_files_and_files_into_objects(
    sources: list[str], memory: Any, tmp_path: Path
) -> None:
    done = fastrec.reshard(f"{memory.url}/in-*", tmp_path / "all.tfrecord")
    assert list(fastrec.Reader(done.paths)) == RECORDS
    mixed = [sources[0], *local_copy(tmp_path)[1:]]
    options: dict[str, Any] = {"shuffle": True, "seed": 1, "memory": SMALL}
    fastrec.reshard(mixed, f"{memory.url}/mixed", **options)
    fastrec.reshard(local_copy(tmp_path), tmp_path / "mixed", **options)
    assert [*fastrec.Reader(f"{memory.url}/mixed")] == [*fastrec.Reader(tmp_path / "mixed")]


def test_indexes_beside_objects_save_a_pass(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "t.tfrecord", shards=3, index=True) as writer:
        writer.write_many(RECORDS)
    objects = {path.name: path.read_bytes() for path in tmp_path.glob("t-*")}
    shards = sorted(name for name in objects if name.endswith(".tfrecord"))
    with ObjectServer(Objects(objects)) as server:
        fastrec.reshard([f"{server.url}/{name}" for name in shards], tmp_path / "out.tfrecord")
        ranges = [r.range for r in server.requests if r.method == "GET" and r.path[1:] in shards]
        fetched = sum(r[1] + 1 - r[0] for r in ranges if r)
        assert fetched < sum(len(objects[name]) for name in shards) * 1.01
    assert list(fastrec.Reader(tmp_path / "out.tfrecord")) == list(fastrec.Reader(writer.paths))


def broken(shard: int) -> Any:
    """Faults of a server that does not take the object of one shard."""

    def faults(request: Request, number: int) -> Fault:
        wrong = request.method == "PUT" and f"t-{shard:05d}" in request.path
        return Fault("status", status=403) if wrong else Fault()

    return faults


def test_what_was_uploaded_is_deleted_when_a_shard_is_refused(sources: list[str]) -> None:
    backend = Objects()
    with ObjectServer(backend, broken(2)) as server:
        with pytest.raises(OSError, match="t-00002") as caught:
            fastrec.reshard(sources, f"{server.url}/t.tfrecord", shards=4)
        assert "replaced" not in str(caught.value)
        assert sum(request.method == "PUT" for request in server.requests) == 3
    assert backend.names() == []


def test_what_had_replaced_others_is_named_and_kept(
    sources: list[str], scratch: Path, tmp_path: Path
) -> None:
    backend = Objects({"t-00001-of-00003.tfrecord": b"old"})
    with ObjectServer(backend, broken(2)) as server:
        target = f"{server.url}/t.tfrecord"
        with pytest.raises(OSError, match=r"00003\.tfrecord'; all shards are in") as caught:
            fastrec.reshard(sources, target, shards=3, overwrite=True)
        assert backend.names() == ["t-00001-of-00003.tfrecord"]
        [folder] = glob.glob(f"{scratch}/*.reshard")
        assert repr(folder) in str(caught.value)
        server.faults = lambda request, number: Fault()
        done = fastrec.reshard(sources, target, shards=3, work=folder, resume=True, overwrite=True)
        assert list(fastrec.Reader(done.paths)) == RECORDS


def test_an_upload_goes_on_where_it_was_stopped(sources: list[str], tmp_path: Path) -> None:
    backend, work = Objects(), tmp_path / "work"
    options: dict[str, Any] = {"shards": 4, "shuffle": True, "work": work, "resume": True}
    with ObjectServer(backend, broken(2)) as server:
        with pytest.raises(OSError, match="t-00002"):
            fastrec.reshard(sources, f"{server.url}/t.tfrecord", **options)
        assert len(backend.names()) == 2
        with pytest.raises(ValueError, match="work of other arguments"):
            fastrec.reshard(sources, f"{server.url}/other.tfrecord", **options)
        server.faults = lambda request, number: Fault()
        before = len(server.requests)
        done = fastrec.reshard(sources, f"{server.url}/t.tfrecord", **options)
        assert sum(r.method == "PUT" for r in server.requests[before:]) == 2
        assert sorted(fastrec.Reader(done.paths)) == sorted(RECORDS)
    assert not work.exists()


def test_a_job_of_objects_goes_on_after_an_interruption(
    sources: list[str], memory: Any, tmp_path: Path
) -> None:
    target, work = f"{memory.url}/out.tfrecord", tmp_path / "work"
    options: dict[str, Any] = {"shuffle": True, "seed": 3, "memory": SMALL, "shards": 5}

    def stop(done: int, total: int) -> None:
        if done > 1.6 * len(RECORDS):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fastrec.reshard(sources, target, work=work, resume=True, progress=stop, **options)
    stored: list[str] = memory.keys()
    assert not any(key.startswith("out") for key in stored)
    state = (work / "state.json").read_text()
    assert sources[0] in state
    fastrec.reshard(sources, target, work=work, resume=True, **options)
    expected = fastrec.reshard(local_copy(tmp_path), tmp_path / "out.tfrecord", **options)
    found = fastrec.Reader(f"{memory.url}/out-*")
    assert list(found) == list(fastrec.Reader(expected.paths))
    with pytest.raises(KeyboardInterrupt):
        fastrec.reshard(sources, target, work=work, progress=stop, overwrite=True, **options)
    assert not work.exists()


def test_sources_that_changed_are_found(memory: Any, sources: list[str], tmp_path: Path) -> None:
    options: dict[str, Any] = {"work": tmp_path / "work", "resume": True, "shards": 3}

    def stop(done: int, total: int) -> None:
        memory.put("in-0.tfrecord", b"".join(map(_core.frame, RECORDS[:400][::-1])))
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        fastrec.reshard(sources, f"{memory.url}/out", progress=stop, **options)
    with pytest.raises(ValueError, match="other files"):
        fastrec.reshard(sources, f"{memory.url}/out", **options)


def test_a_state_has_no_credentials(memory: Any, tmp_path: Path) -> None:
    data = b"".join(map(_core.frame, RECORDS))

    def stop(done: int, total: int) -> None:
        raise RuntimeError("stopped")

    with ObjectServer(Objects({"a": data})) as server:
        source = f"{server.url}/a?signature=s3cr3t"
        with pytest.raises(RuntimeError, match="stopped"):
            fastrec.reshard(
                source, f"{memory.url}/out", work=tmp_path / "w", resume=True, progress=stop
            )
    assert "s3cr3t" not in (tmp_path / "w" / "state.json").read_text()


def test_existing_objects_are_kept(memory: Any, sources: list[str]) -> None:
    memory.put("out.tfrecord", b"old")
    with pytest.raises(FileExistsError, match=r"out\.tfrecord"):
        fastrec.reshard(sources, f"{memory.url}/out.tfrecord")
    assert memory.get("out.tfrecord") == b"old"


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_source_cannot_be_its_own_target(
    memory: Any, sources: list[str], overwrite: bool
) -> None:
    with pytest.raises(FileExistsError, match=r"in-0\.tfrecord"):
        fastrec.reshard(sources, sources[0], shuffle=True, seed=5, overwrite=overwrite)
    assert sorted(fastrec.Reader(sources)) == sorted(RECORDS)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"resume": True}, "resume requires work, a local directory, where the target is a URL"),
        ({"target": "out", "work": "w"}, "work requires a target that is a URL"),
    ],
    ids=str,
)
def test_options_that_do_not_go_together(
    memory: Any, sources: list[str], options: dict[str, Any], text: str
) -> None:
    target = options.pop("target", f"{memory.url}/out")
    with pytest.raises(ValueError, match=text):
        fastrec.reshard(sources, target, **options)
