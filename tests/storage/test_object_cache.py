# SPDX-License-Identifier: Apache-2.0
"""Copies of objects on the local disk: complete, checked, shared, within their limit."""

from __future__ import annotations

import fcntl
import gzip
import multiprocessing
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from object_server import Fault, Link, Objects, ObjectServer
from remote_reading import count_in_a_process
from verbs import files_limited_to
from waiting import DEADLINE

import fastrec
from fastrec import _core
from fastrec.records.record_files import RecordFiles
from fastrec.storage import cache
from fastrec.storage.options import StorageOptions
from fastrec.storage.remote import RemoteFile

RECORDS = [random.Random(n).randbytes(n * 37 % 5000) for n in range(100)]
DATA = b"".join(map(_core.frame, RECORDS))


def read(url: Any, cache: Any, **options: Any) -> list[bytes]:
    reader = fastrec.Reader(url, storage_options=StorageOptions(cache=cache, **options))
    return list(iter(reader))


def copies(cache: Path) -> list[Path]:
    return sorted((cache / "objects").glob("*.object"))


def gets(server: ObjectServer) -> int:
    return sum(request.method == "GET" for request in server.requests)


def test_an_object_is_fetched_once(tmp_path: Path) -> None:
    with ObjectServer(Objects({"b": DATA})) as server:
        assert read(f"{server.url}/b", tmp_path) == RECORDS
        assert len(copies(tmp_path)) == 1
        before = gets(server)
        assert read(f"{server.url}/b", tmp_path) == RECORDS
        reader = fastrec.Reader(f"{server.url}/b", storage_options=StorageOptions(cache=tmp_path))
        assert reader[5] == RECORDS[5]
        assert gets(server) <= before + 1  # its first bytes
    assert os.stat(tmp_path / "objects").st_mode & 0o077 == 0


@pytest.mark.parametrize("compression", ["auto", "GZIP"])
@pytest.mark.parametrize("threads", [1, 3])
def test_copies_of_compressed_objects_are_inflated(
    compression: Any, threads: int, tmp_path: Path
) -> None:
    packed = gzip.compress(DATA)
    with ObjectServer(Objects({"a": packed, "b": packed})) as server:
        for names in ("b", "ab"):
            files = RecordFiles(
                [f"{server.url}/{name}" for name in names],
                compression=compression,
                storage_options=StorageOptions(cache=tmp_path),
            )
            files.threads = threads
            assert [bytes(r) for part in files.readers() for r in part] == RECORDS * len(names)


def test_a_copy_for_which_there_is_no_room_names_its_file(tmp_path: Path) -> None:
    with ObjectServer(Objects({"b": DATA})) as server:
        with (
            files_limited_to(len(DATA) // 2),
            pytest.raises(OSError, match="File too large") as caught,
        ):
            read(f"{server.url}/b", tmp_path)
        assert str(caught.value.filename).endswith(".object")
        names = {each.suffix for each in (tmp_path / "objects").iterdir()}
        assert names <= {".lock"}
        assert read(f"{server.url}/b", tmp_path) == RECORDS


def test_another_version_is_another_copy(tmp_path: Path) -> None:
    objects = Objects({"b": DATA})
    with ObjectServer(objects) as server:
        assert read(f"{server.url}/b", tmp_path) == RECORDS
        objects.put("b", DATA[: -len(RECORDS[-1]) - 16])
        assert read(f"{server.url}/b", tmp_path) == RECORDS[:-1]
        assert len(copies(tmp_path)) == 2


@pytest.mark.parametrize("damage", ["bit", "short", "empty", "note"])
def test_a_damaged_copy_is_fetched_again(tmp_path: Path, damage: str) -> None:
    with ObjectServer(Objects({"b": DATA})) as server:
        assert read(f"{server.url}/b", tmp_path) == RECORDS
        (copy,) = copies(tmp_path)
        data = bytearray(copy.read_bytes())
        if damage == "bit":
            data[len(data) // 2] ^= 1
        elif damage == "note":
            copy.with_suffix(".json").write_text("{")
        else:
            data = data[:100] if damage == "short" else data[:0]
        copy.write_bytes(data)
        before = gets(server)
        assert read(f"{server.url}/b", tmp_path) == RECORDS
        assert gets(server) > before
        assert copies(tmp_path)[0].read_bytes() == DATA


def test_a_copy_that_was_only_touched_stays(tmp_path: Path) -> None:
    with ObjectServer(Objects({"b": DATA})) as server:
        read(f"{server.url}/b", tmp_path)
        (copy,) = copies(tmp_path)
        os.utime(copy)
        before = gets(server)
        assert read(f"{server.url}/b", tmp_path) == RECORDS
        assert gets(server) == before


def test_the_least_recently_used_copy_goes(tmp_path: Path) -> None:
    names = ["a", "b", "c"]
    with ObjectServer(Objects(dict.fromkeys(names, DATA))) as server:
        limit = 2 * len(DATA) + 10
        for name in ("a", "b", "a", "c"):
            assert read(f"{server.url}/{name}", tmp_path, cache_bytes=limit) == RECORDS
            time.sleep(0.01)
        assert len(copies(tmp_path)) == 2
        before = gets(server)
        assert read(f"{server.url}/a", tmp_path, cache_bytes=limit) == RECORDS
        assert gets(server) == before
        assert read(f"{server.url}/b", tmp_path, cache_bytes=limit) == RECORDS
        assert gets(server) > before


def test_more_than_the_limit_can_be_read_in_sequence(tmp_path: Path) -> None:
    names = [f"t{n}" for n in range(6)]
    with ObjectServer(Objects(dict.fromkeys(names, DATA))) as server:
        urls = [f"{server.url}/{name}" for name in names]
        limit = 2 * len(DATA) + 10
        assert read(urls, tmp_path, cache_bytes=limit) == RECORDS * 6
        assert sum(copy.stat().st_size for copy in copies(tmp_path)) <= limit
        options = StorageOptions(cache=tmp_path, cache_bytes=limit)
        with pytest.raises(OSError, match="cache_bytes"):
            len(fastrec.Reader(urls, storage_options=options))
        with pytest.raises(OSError, match="cache_bytes") as caught:
            read(urls[0], tmp_path / "small", cache_bytes=100)
        assert caught.value.filename == urls[0]


def test_a_fetch_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with ObjectServer(
        Objects({"b": DATA}),
        lambda request, number: Fault("status", status=500) if number > 3 else Fault(),
    ) as server:
        with pytest.raises(OSError, match="500"):
            read(f"{server.url}/b", tmp_path, retries=1)
        left = [path.name for path in (tmp_path / "objects").iterdir()]
        assert [name for name in left if not name.endswith(".lock")] == []


def test_an_object_without_a_version_is_not_cached(tmp_path: Path) -> None:
    class Nameless(Objects):
        def __call__(self, request: Any) -> Any:
            answer = super().__call__(request)
            answer.headers.pop("ETag", None)
            return answer

    with ObjectServer(Nameless({"b": DATA})) as server:
        assert list(iter(fastrec.Reader(f"{server.url}/b"))) == RECORDS
        with pytest.raises(OSError, match="version"):
            read(f"{server.url}/b", tmp_path)


def test_processes_share_a_copy(tmp_path: Path) -> None:
    with ObjectServer(Objects({"b": DATA}), link=Link(latency_s=0.05)) as server:
        spawn = multiprocessing.get_context("spawn")
        results = spawn.Queue()
        url = f"{server.url}/b"
        processes = [
            spawn.Process(target=count_in_a_process, args=(url, str(tmp_path), results))
            for _ in range(3)
        ]
        for process in processes:
            process.start()
        assert [results.get(timeout=60) for _ in processes] == [len(RECORDS)] * 3
        for process in processes:
            process.join()
        assert len(copies(tmp_path)) == 1
        ranges = [request.range for request in server.requests if request.range]
        assert len(ranges) == len(set(ranges))


HOLDS = """
import sys
import fastrec

options = fastrec.StorageOptions(cache=sys.argv[2])
reader = fastrec.Reader(sys.argv[1], storage_options=options)
print(len(reader), flush=True)
sys.stdin.readline()
print(len(reader[7]), flush=True)
"""


def test_what_another_process_uses_is_not_deleted(tmp_path: Path) -> None:
    names = ["a", "b", "c"]
    with ObjectServer(Objects(dict.fromkeys(names, DATA))) as server:
        child = subprocess.Popen(
            [sys.executable, "-c", HOLDS, f"{server.url}/a", str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(fastrec.__file__).parents[1])},
        )
        with child:
            assert child.stdout is not None
            assert child.stdout.readline() == f"{len(RECORDS)}\n"
            held = copies(tmp_path)
            options: dict[str, Any] = {"cache_bytes": 2 * len(DATA) + 10}
            for name in ("b", "c"):  # a is the one that was used least recently
                assert read(f"{server.url}/{name}", tmp_path, **options) == RECORDS
            assert set(held) < set(copies(tmp_path))
            assert len(copies(tmp_path)) == 2
            before = gets(server)
            assert child.communicate("go\n", timeout=60)[0] == f"{len(RECORDS[7])}\n"
            assert gets(server) == before
        assert read(f"{server.url}/b", tmp_path, **options) == RECORDS  # now a may go
        assert not set(held) & set(copies(tmp_path))


# -- Processes that wait for each other --------------------------------------------------------


def held(url: str, folder: Path) -> fastrec.Reader:
    """A reader that uses the copy of an object."""
    reader = fastrec.Reader(url, storage_options=StorageOptions(cache=folder))
    assert reader[0] == RECORDS[0]
    return reader


@pytest.mark.parametrize("damage", ["delete", "change", "delete all"])
def test_a_damaged_copy_is_fetched_again_while_others_use_it(tmp_path: Path, damage: str) -> None:
    with ObjectServer(Objects({"b": DATA})) as server:
        url = f"{server.url}/b"
        first = held(url, tmp_path)
        [copy] = copies(tmp_path)
        if damage == "change":
            copy.unlink()
            copy.write_bytes(bytes(len(DATA)))
        else:
            for path in (tmp_path / "objects").iterdir() if damage == "delete all" else [copy]:
                path.unlink()
        second, third = held(url, tmp_path), held(url, tmp_path)
        assert list(second) == list(third) == RECORDS
        assert first[5] == RECORDS[5]


def test_many_threads_fetch_a_deleted_copy_once_or_twice(tmp_path: Path) -> None:
    with ObjectServer(Objects({"b": DATA})) as server:
        url = f"{server.url}/b"
        first = held(url, tmp_path)
        copies(tmp_path)[0].unlink()
        with ThreadPoolExecutor(8) as pool:
            readers = [pool.submit(held, url, tmp_path) for _ in range(16)]
            assert all(list(reader.result(timeout=DEADLINE)) == RECORDS for reader in readers)
        assert first[1] == RECORDS[1]
    assert len(copies(tmp_path)) == 1
    assert not list((tmp_path / "objects").glob("*.part*"))


def test_a_fetch_that_hangs_in_another_process_is_made_up_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_STALLED_S", 0.3)
    with ObjectServer(Objects({"b": DATA})) as server:
        url = f"{server.url}/b"
        held(url, tmp_path).close()
        [copy] = copies(tmp_path)
        copy.unlink()
        other = cache._Hold(str(copy.with_suffix(".lock")))
        assert other.take(fcntl.LOCK_EX)
        with pytest.warns(RuntimeWarning, match="another process has fetched nothing of it"):
            assert list(held(url, tmp_path)) == RECORDS
        other.close()


def test_locks_and_indexes_do_not_accumulate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = Objects({"b": DATA})
    with ObjectServer(objects) as server:
        for number in range(12):
            objects.put("b", DATA + _core.frame(b"%d" % number * 40))
            read(f"{server.url}/b", tmp_path, cache_bytes=3 * len(DATA))
        assert len(list((tmp_path / "objects").glob("*.lock"))) <= 4
        indexes = tmp_path / "indexes"
        indexes.mkdir(exist_ok=True)
        old = indexes / "0.frindex"
        old.write_bytes(b"")
        os.utime(old, (1, 1))
        cache._CLEANED.clear()
        options = StorageOptions(cache=tmp_path)
        assert cache.index_place(RemoteFile.open(f"{server.url}/b", options), options)
        assert not old.exists()


def test_nothing_is_printed_when_the_interpreter_ends(tmp_path: Path) -> None:
    program = """
import sys, fastrec
reader = fastrec.Reader(sys.argv[1], storage_options=fastrec.StorageOptions(cache=sys.argv[2]))
reader[0]
sys.modules["fastrec.storage.cache"].os = None  # as at the end of an interpreter
"""
    with ObjectServer(Objects({"b": DATA})) as server:
        run = subprocess.run(
            [sys.executable, "-c", program, f"{server.url}/b", str(tmp_path)],
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
    assert run.stderr == ""
