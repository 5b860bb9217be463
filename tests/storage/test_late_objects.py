# SPDX-License-Identifier: Apache-2.0
"""Objects that no listing describes are opened when their records are needed."""

from __future__ import annotations

import gzip
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from object_server import Objects, ObjectServer

import fastrec
from fastrec.records.remote_dataset import RemoteDataset

FEATURES = {"i": fastrec.FixedLenFeature((), np.int64)}
OBJECTS, RECORDS = 40, 300
EMPTY = (9, 10, 20)  # numbers of the objects without records


class Store(NamedTuple):
    server: ObjectServer
    urls: list[str]
    paths: list[str]

    @property
    def objects(self) -> Any:
        return self.server.backend

    def requests(self) -> Counter[str]:
        """Return how many requests were made for data, for indexes, and with HEAD."""
        return Counter(
            "HEAD" if each.method == "HEAD" else each.path.rpartition(".")[2]
            for each in self.server.requests
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("late")
    for number in range(OBJECTS):
        begin = number * RECORDS
        records = 0 if number in EMPTY else RECORDS - number % 7
        with fastrec.Writer(folder / f"{number:03d}.tfrecord", index=True) as writer:
            if records:
                writer.write_batch({"i": np.arange(begin, begin + records)})
    return folder


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    with ObjectServer(Objects({each.name: each.read_bytes() for each in folder.iterdir()})) as it:
        paths = sorted(map(str, folder.glob("*.tfrecord")))
        yield Store(it, [f"{it.url}/{Path(path).name}" for path in paths], paths)


def without_indexes(store: Store) -> None:
    for name in store.objects.names():
        if name.endswith(".frindex"):
            del store.objects._objects[name]


def batcher_of(source: Any, size: int = 16, **options: Any) -> fastrec.Batcher:
    return fastrec.Batcher(source, FEATURES, size, seed=3, **options)


def first_batch(batcher: fastrec.Batcher) -> list[int]:
    batches = iter(batcher)
    numbers: list[int] = next(batches)["i"].tolist()
    batches.close()
    return numbers


@pytest.mark.parametrize("has_indexes", [True, False])
def test_a_single_reader_in_file_order_only_requests_data(store: Store, has_indexes: bool) -> None:
    if not has_indexes:
        without_indexes(store)
    assert first_batch(batcher_of(store.urls)) == list(range(16))
    requests = store.requests()
    assert requests["HEAD"] <= len(EMPTY)  # each after a refused range
    assert requests["frindex"] == 0


def test_a_pass_requests_each_object_once(store: Store) -> None:
    every = [batch["i"] for batch in batcher_of(store.urls, 4096)]
    assert len(np.concatenate(every)) == len(fastrec.Reader(store.paths))
    # A server refuses a range of an empty object, and not all servers answer HEAD correctly then.
    assert store.requests() == {"tfrecord": OBJECTS + len(EMPTY), "HEAD": len(EMPTY)}


@pytest.mark.parametrize("drop_remainder", [False, True])
@pytest.mark.parametrize("count", [4, 8])
def test_a_rank_in_file_order_requests_the_indexes_of_its_first_steps(
    store: Store, count: int, drop_remainder: bool
) -> None:
    # Each thread prepares batches ahead.
    options: Any = {"drop_remainder": drop_remainder, "uneven": "drop", "threads": 2}
    batch = first_batch(batcher_of(store.urls, shard=(count - 1, count), **options))
    assert batch == list(range(16 * (count - 1), 16 * count))
    requests = store.requests()
    assert requests["HEAD"] == 0
    assert requests["frindex"] <= 8  # and one request to detect compression


@pytest.mark.parametrize("order", ["blocks", True])
def test_orders_of_all_records_request_each_index_once_and_warn(store: Store, order: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        batcher = batcher_of(store.urls, shuffle=order, shard=(1, 4))
        first_batch(batcher)
        first_batch(batcher)
    requests = store.requests()
    assert (requests["frindex"], requests["HEAD"]) == (OBJECTS, 0)
    texts = [str(each.message) for each in caught]
    assert len(texts) == 1
    assert f"{OBJECTS} objects" in texts[0]
    assert "fastrec index --dataset" in texts[0]


def test_the_length_of_a_rank_requests_each_index_once(store: Store) -> None:
    late, local = (batcher_of(source, shard=(0, 2)) for source in (store.urls, store.paths))
    with pytest.warns(RuntimeWarning, match="dataset index"):
        assert len(late) == len(local)
    assert store.requests()["frindex"] == OBJECTS


ORDERS: list[dict[str, Any]] = [
    {},
    {"shuffle": 500, "epochs": 2},
    {"shuffle": 40_000},
    {"uneven": "pad", "drop_remainder": True},
]


@pytest.mark.parametrize("count", [3])
@pytest.mark.parametrize("options", ORDERS, ids=str)
def test_ranks_get_the_batches_of_local_files(
    store: Store, options: dict[str, Any], count: int
) -> None:
    for rank in (0, count - 1):
        local, late = (
            batcher_of(source, 256, shard=(rank, count), **options)
            for source in (store.paths, store.urls)
        )
        batches = [batch["i"].tolist() for batch in local]
        assert [batch["i"].tolist() for batch in late] == batches


@pytest.mark.parametrize("options", ORDERS, ids=str)
def test_a_state_of_late_objects_resumes_anywhere(store: Store, options: dict[str, Any]) -> None:
    local, late = (
        batcher_of(source, 512, shard=(1, 3), **options) for source in (store.paths, store.urls)
    )
    states = []
    for batcher in (local, late):
        batches = iter(batcher)
        for _ in range(5):
            next(batches)
        states.append(batches.state_dict())
        batches.close()
    assert {**states[0], "source": None} == {**states[1], "source": None}
    rest = [batch["i"].tolist() for batch in _resumed(local, states[0])]
    assert [batch["i"].tolist() for batch in _resumed(late, states[1])] == rest
    new = batcher_of(store.urls, 512, shard=(1, 3), **options)
    assert [batch["i"].tolist() for batch in _resumed(new, states[1])] == rest


def _resumed(batcher: fastrec.Batcher, state: dict[str, Any]) -> fastrec.Batcher:
    batcher.load_state_dict(state)
    return batcher


@pytest.mark.parametrize("shard", [None, (0, 2)])
def test_an_absent_object_raises_when_it_is_reached(store: Store, shard: Any) -> None:
    for name in ("030.tfrecord", "030.tfrecord.frindex"):
        del store.objects._objects[name]
    batches = iter(batcher_of(store.urls, shard=shard))
    assert len(next(batches)["i"]) == 16
    with pytest.raises(FileNotFoundError) as caught:
        list(batches)
    assert str(caught.value.filename).endswith("/030.tfrecord")


@pytest.mark.parametrize("order", [False, "blocks"])
@pytest.mark.parametrize("size", [1, 5000])
def test_an_index_of_another_object_names_the_object_and_the_remedy(
    store: Store, order: Any, size: int, recwarn: Any
) -> None:
    data = store.objects.get("003.tfrecord")
    store.objects.put("003.tfrecord", data * 2 if size > len(data) // 2 else data[:size])
    with pytest.raises(OSError, match=r"index next to it.*fastrec index") as caught:
        list(batcher_of(store.urls, shuffle=order, shard=(0, 2)))
    assert str(caught.value.filename).endswith("/003.tfrecord")


def test_few_objects_are_opened_at_once(store: Store) -> None:
    del store.objects._objects["005.tfrecord"]
    with pytest.raises(FileNotFoundError, match="005"):
        fastrec.Reader(store.urls[:8])


def test_objects_of_unknown_size_are_read_as_others(store: Store) -> None:
    expected = [*fastrec.Reader(store.paths)]
    reader = fastrec.Reader(store.urls)
    assert reader[len(reader) - 1] == expected[-1]
    assert list(iter(reader)) == expected
    assert [*fastrec.Reader(store.urls, on_error="skip")] == expected


def test_large_objects_of_unknown_size_are_read_in_parts(folder: Path, tmp_path: Path) -> None:
    records = [bytes([number]) * 50_000 for number in range(40)]
    objects = {}
    for number in range(12):
        with fastrec.Writer(tmp_path / "one", overwrite=True) as writer:
            writer.write_many(records[number:])
        objects[f"{number}"] = (tmp_path / "one").read_bytes()
    options = fastrec.StorageOptions(window_bytes=1 << 20)
    with ObjectServer(Objects(objects)) as server:
        urls = [f"{server.url}/{number}" for number in range(12)]
        read = [*iter(fastrec.Reader(urls, storage_options=options))]
        assert read == [record for number in range(12) for record in records[number:]]
        assert all(request.method == "GET" for request in server.requests)


def test_a_short_count_never_replaces_a_longer_one(store: Store) -> None:
    """A thread counts few objects while another one counts all of them."""
    dataset: Any = fastrec.Batcher(store.urls, FEATURES, 16, shard=(1, 2))._order.dataset
    assert isinstance(dataset, RemoteDataset)
    assert dataset.uncounted
    inner, total = dataset._indexes, len(fastrec.Reader(store.paths))

    class Slow:
        def __getattr__(self, name: str) -> Any:
            return getattr(inner, name)

        def __getitem__(self, number: int) -> Any:
            return inner[number]

        def counts_until(self, record: int | None, ahead: int = 0) -> Any:
            found = inner.counts_until(record, ahead)
            if record is not None:
                assert len(dataset) == total
            return found

    dataset._indexes = Slow()
    assert dataset.count_until(1) < total
    assert dataset.uncounted == 0
    assert dataset.position_of(total - 1)[0] == store.urls[-1]


@pytest.mark.filterwarnings("ignore:the order requires the number")
def test_a_compressed_object_among_others_is_named_and_read_in_sequence(store: Store) -> None:
    """The compression of many objects is assumed to be that of the first, which has an index."""
    name = Path(store.urls[5]).name
    store.objects.put(name, gzip.compress(store.objects.get(name)))
    del store.objects._objects[f"{name}.frindex"]
    with pytest.raises(fastrec.RandomAccessError, match=rf"{name}' is compressed \(GZIP\)"):
        list(batcher_of(store.urls, shard=(0, 2)))
    with pytest.raises(fastrec.RandomAccessError, match="read them apart"):
        len(fastrec.Reader(store.urls))
    assert list(fastrec.Reader(store.urls)) == list(fastrec.Reader(store.paths))
