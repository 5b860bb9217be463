# SPDX-License-Identifier: Apache-2.0
"""Random access and batches of remote records: those of the same local files."""

from __future__ import annotations

import json
import pickle
import random
import re
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_server import Answer, Fault, Objects, ObjectServer, Request
from waiting import until

import fastrec
from fastrec import _core
from fastrec.storage.options import StorageOptions

DRAW = random.Random(1)
SIZES = (300, 1, 0, 211)
FEATURES = {"n": fastrec.FixedLenFeature((), np.int64), "x": fastrec.FixedLenFeature((), np.bytes_)}


@pytest.fixture
def sets(memory: Any, tmp_path: Path) -> tuple[list[str], list[str]]:
    """The same Examples in local files and in objects."""
    paths, urls, number = [], [], 0
    for part, size in enumerate(SIZES):
        path = tmp_path / f"part-{part}.tfrecord"
        with fastrec.Writer(path) as writer:
            for _ in range(size):
                writer.write({"n": number, "x": DRAW.randbytes(DRAW.randrange(3000))})
                number += 1
        paths.append(str(path))
        urls.append(memory.put(path.name, path.read_bytes()))
    return paths, urls


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(np.array_equal(np.asarray(one), np.asarray(other)))


def rows(batcher: fastrec.Batcher) -> list[list[int]]:
    return [batch["n"].tolist() for batch in batcher]


# -- Records by number ---------------------------------------------------------------------------


@pytest.mark.parametrize("cached", [False, True])
def test_records_by_number(sets: Any, tmp_path: Path, cached: bool) -> None:
    paths, urls = sets
    options = StorageOptions(cache=tmp_path / "cache") if cached else None
    local = fastrec.Reader(paths)
    there = fastrec.Reader(urls, storage_options=options)
    assert len(there) == len(local) == sum(SIZES)
    assert there[0] == local[0]
    assert there[-1] == local[-1]
    assert there[300] == local[300]
    assert there[250:320:7] == local[250:320:7]
    numbers = np.array([5, 511, 300, 5, -1, 17])
    assert list(there.read_many(numbers)) == list(local.read_many(numbers))
    assert there.__getitems__([3, 1]) == [local[3], local[1]]
    assert there.path_of(301) == urls[3]
    assert list(there.read_many([])) == []
    for wrong in (512, -513):
        with pytest.raises(IndexError, match="512 records"):
            there[wrong]
        with pytest.raises(IndexError, match="512 records"):
            there.read_many([wrong])
    assert fastrec.count(urls, storage_options=options) == 512
    again = pickle.loads(pickle.dumps(there))
    assert again[77] == local[77]


def test_neighbours_share_a_request() -> None:
    data = b"".join(_core.frame(bytes(100)) for _ in range(2000))
    with ObjectServer(Objects({"b": data})) as server:
        reader = fastrec.Reader(f"{server.url}/b")
        assert len(reader) == 2000
        before = len(server.requests)
        reader.read_many(range(500, 900))
        assert len(server.requests) == before + 1
        reader.read_many([3, 1990])
        assert len(server.requests) == before + 3


def test_an_index_is_made_once() -> None:
    data = b"".join(_core.frame(bytes(100)) for _ in range(2000))
    objects = Objects({"b": data})
    with ObjectServer(objects) as server:
        assert len(fastrec.Reader(f"{server.url}/b")) == 2000
        first = len(server.requests)
        assert len(fastrec.Reader(f"{server.url}/b")) == 2000
        assert len(server.requests) == first + 2  # what is it, and how does it begin
        objects.put("b", data[:-116])
        assert len(fastrec.Reader(f"{server.url}/b")) == 1999


def test_an_index_beside_the_object_is_used(memory: Any, tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "t.tfrecord", index=True) as writer:
        writer.write_many([b"a", b"few", b"words"])
    data = (tmp_path / "t.tfrecord").read_bytes()
    url = memory.put("t.tfrecord", data)
    with pytest.raises(FileNotFoundError):
        len(fastrec.Reader(url, index=True))
    memory.put("t.tfrecord.frindex", (tmp_path / "t.tfrecord.frindex").read_bytes())
    assert fastrec.Reader(url, index=True)[1] == b"few"
    assert fastrec.Reader(url)[1] == b"few"
    other = memory.put("t.tfrecord", data + _core.frame(b"more"))
    with pytest.raises(fastrec.IndexMismatchError):
        len(fastrec.Reader(other, index=True))
    assert len(fastrec.Reader(other)) == 4


def test_damage_has_the_place_in_its_object(sets: Any, memory: Any) -> None:
    paths, urls = sets
    data = bytearray(Path(paths[3]).read_bytes())
    index = fastrec.Index.build(paths[3])
    at = int(index.offsets[100])
    data[at + 20] ^= 255
    memory.put("part-3.tfrecord", bytes(data))
    reader = fastrec.Reader(urls)
    assert len(reader) == 512
    reader.read_many([300, 400])
    with pytest.raises(fastrec.CorruptRecordError) as caught:
        reader.read_many([300, 401])
    assert (caught.value.path, caught.value.record, caught.value.offset) == (urls[3], 100, at)
    assert f"at {at} in '{urls[3]}' (record 100)" in str(caught.value)
    assert len(fastrec.Reader(urls, on_error="skip")) == 511
    assert fastrec.Reader(urls, on_error="skip")[401] == fastrec.Reader(paths)[402]


def test_a_large_extract_is_a_temporary_file(
    sets: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from fastrec.records import remote_dataset

    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(remote_dataset, "_IN_MEMORY", 1000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    paths, urls = sets
    assert list(fastrec.Reader(urls).read_many(range(512))) == list(fastrec.Reader(paths))
    assert not list((tmp_path / "scratch").iterdir())


# -- Batches -------------------------------------------------------------------------------------

ORDERS: list[dict[str, Any]] = [
    {},
    {"shuffle": "blocks"},
    {"shuffle": fastrec.BlockShuffle(8, 4)},
    {"shuffle": fastrec.BlockShuffle(8, 4), "shard": (1, 3)},
    {"shuffle": True, "epochs": 2},
    {"shuffle": 50},
    {"interleave": 3},
    {"shuffle": fastrec.BlockShuffle(16, 2), "batch_across_epochs": True, "epochs": 3},
    {"shuffle": True, "drop_remainder": True, "shard": (0, 2), "uneven": "pad"},
]


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_batches_are_those_of_local_files(
    sets: Any, order: dict[str, Any], cached: bool, tmp_path: Path
) -> None:
    paths, urls = sets
    options = StorageOptions(cache=tmp_path / "cache", window_bytes=1 << 20) if cached else None
    expected = list(fastrec.Batcher(paths, FEATURES, 32, seed=5, **order))
    with fastrec.Batcher(urls, FEATURES, 32, seed=5, storage_options=options, **order) as batcher:
        found = list(batcher)
    assert len(found) == len(expected)
    assert all(same(one, other) for one, other in zip(found, expected, strict=True))


def test_the_first_batch_in_file_order_waits_for_few_other_records(tmp_path: Path) -> None:
    """Records behind the first 2 MiB arrive only after the first batch."""
    pytest.importorskip("obstore")
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path, index=True) as writer:
        for number in range(320):
            writer.write({"n": number, "x": DRAW.randbytes(20_000)})
    objects = Objects({each.name: each.read_bytes() for each in tmp_path.iterdir()})
    first_came, waits = threading.Event(), []

    def answer(request: Request) -> Answer:
        if request.range and request.range[1] >= 2 << 20:
            waits.append(first_came.wait(60))
        return objects(request)

    with ObjectServer(answer) as server:
        batches = iter(fastrec.Batcher(f"{server.url}/a.tfrecord", FEATURES, 8, shard=(0, 2)))
        numbers = next(batches)["n"].tolist()
        first_came.set()
        numbers += [int(number) for batch in batches for number in batch["n"]]
    assert numbers == [number for number in range(320) if number % 16 < 8]
    assert waits
    assert all(waits)


def test_records_alone_and_transforms(sets: Any) -> None:
    paths, urls = sets
    options: dict[str, Any] = {"shuffle": "blocks", "seed": 3, "batch_size": 50}
    expected = [list(batch) for batch in fastrec.Batcher(paths, **options)]
    assert [list(batch) for batch in fastrec.Batcher(urls, **options)] == expected
    doubled = fastrec.Batcher(urls, transform=lambda batch: 2 * len(batch), **options)
    assert list(doubled) == [2 * len(batch) for batch in expected]
    single = fastrec.Batcher(urls, FEATURES, None, shuffle="blocks", seed=3)
    assert len([row["n"] for row in single]) == 512


def test_a_mixture_of_urls(sets: Any) -> None:
    paths, urls = sets
    both = [
        rows(
            fastrec.Batcher(
                fastrec.Mixture([found[0], found[3]], weights=[2, 1]), FEATURES, 32, seed=1
            )
        )
        for found in (paths, urls)
    ]
    assert both[0] == both[1]


def test_uniform_shuffles_say_what_they_cost(memory: Any, tmp_path: Path) -> None:
    url = memory.put("large", _core.frame(bytes(1 << 20)) * 2)
    options = StorageOptions(window_bytes=1 << 20)
    with pytest.warns(RuntimeWarning, match="blocks"):
        fastrec.Batcher(url, shuffle=True, storage_options=options)
    fastrec.Batcher(url, shuffle="blocks", storage_options=options)
    fastrec.Batcher(url, shuffle=True)
    options = StorageOptions(cache=tmp_path, window_bytes=1 << 20)
    fastrec.Batcher(url, shuffle=True, storage_options=options)


@pytest.mark.parametrize("shuffle", [False, fastrec.BlockShuffle(8, 4)])
def test_a_state_resumes_here_and_there(sets: Any, shuffle: Any) -> None:
    """Local files and objects of the same names are the same source."""
    paths, urls = sets

    def make(source: list[str]) -> fastrec.Batcher:
        return fastrec.Batcher(source, FEATURES, 32, shuffle=shuffle, seed=9)

    expected = rows(make(paths))
    batches = iter(make(urls))
    head = [next(batches)["n"].tolist() for _ in range(5)]
    state = json.loads(json.dumps(batches.state_dict()))
    batches.close()
    for source in (paths, urls):
        batcher = make(source)
        batcher.load_state_dict(state)
        assert head + rows(batcher) == expected


def test_a_batcher_can_be_pickled_unless_its_url_has_a_secret(sets: Any) -> None:
    paths, urls = sets
    batcher = fastrec.Batcher(urls, FEATURES, 32, shuffle="blocks", seed=2)
    assert rows(pickle.loads(pickle.dumps(batcher))) == rows(
        fastrec.Batcher(paths, FEATURES, 32, shuffle="blocks", seed=2)
    )
    with ObjectServer(Objects({"b": b""})) as server:
        signed = fastrec.Batcher(f"{server.url}/b?sig=s3cr3t")
        with pytest.raises(TypeError, match="credentials") as caught:
            pickle.dumps(signed)
        assert "s3cr3t" not in str(caught.value)


def test_a_store_that_fails_ends_the_batches(sets: Any) -> None:
    paths, _ = sets
    data = Path(paths[0]).read_bytes()
    fault = Fault()
    with ObjectServer(Objects({"b": data}), lambda request, number: fault) as server:
        options = StorageOptions(retries=1)
        batcher = fastrec.Batcher(
            f"{server.url}/b", FEATURES, 32, shuffle="blocks", seed=0, storage_options=options
        )
        assert len(rows(batcher)) == 10
        fault = Fault("status", status=503)
        with pytest.raises(OSError, match="503"):
            rows(batcher)
        fault = Fault("status", status=403)
        with pytest.raises(PermissionError):
            rows(batcher)
        fault = Fault("etag")
        with pytest.raises(OSError, match="changed"):
            rows(batcher)


def test_a_pass_that_is_left_ends_its_threads(sets: Any) -> None:
    import threading

    _, urls = sets
    others = set(threading.enumerate())  # an earlier test may have kept an iterator
    batches = iter(fastrec.Batcher(urls, FEATURES, 8, shuffle="blocks", seed=0))
    next(batches)
    batches.close()
    until(
        lambda: (
            not any(
                thread.name == "fastrec-fetch" and thread not in others
                for thread in threading.enumerate()
            )
        )
    )


# -- Documentation -------------------------------------------------------------------------------


def test_the_code_about_object_stores_runs() -> None:
    text = (Path(__file__).parents[2] / "docs" / "object-stores.md").read_text()
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "object-stores.md", "exec"), names)


def test_the_example_of_the_readme_works_with_a_url(memory: Any) -> None:
    text = (Path(__file__).parents[2] / "README.md").read_text()
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        code = code.replace('"train', f'"{memory.url}/train')
        exec(compile(code, "README.md", "exec"), names)
    assert len(fastrec.Reader(f"{memory.url}/train.tfrecord")) == 1000
    assert names["batch"]["image"].shape[1:] == (32, 32, 3)


@pytest.mark.parametrize("shuffle", [True, "blocks", False])
def test_one_warning_says_what_a_uniform_shuffle_costs_remotely(
    memory: Any, tmp_path: Path, shuffle: Any
) -> None:
    path = tmp_path / "x.tfrecord"
    with fastrec.Writer(path) as writer:
        for number in range(20):
            writer.write({"n": number, "x": bytes(100_000)})
    url = memory.put(path.name, path.read_bytes())
    for window_bytes, count in ((1 << 20, 1 if shuffle is True else 0), (1 << 22, 0)):
        options = StorageOptions(window_bytes=window_bytes)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            batcher = fastrec.Batcher(
                url, FEATURES, 4, shuffle=shuffle, seed=0, storage_options=options
            )
            assert sum(map(len, rows(batcher))) == sum(map(len, rows(batcher))) == 20
        assert len(caught) == count
        assert all("shuffle='blocks' fetches whole blocks" in str(each.message) for each in caught)
