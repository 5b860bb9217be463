# SPDX-License-Identifier: Apache-2.0
"""A job over any number of objects begins with a few requests."""

from __future__ import annotations

import functools
import os
import re
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

import numpy as np
import pytest
from object_server import Answer, Objects, ObjectServer, Request

import fastrec
from fastrec import DatasetIndex
from fastrec.records.dataset_building import Described, open_dataset_writer
from fastrec.records.index import Index
from fastrec.storage.options import StorageOptions

pytest.importorskip("obstore")

FEATURES = {"i": fastrec.FixedLenFeature((), np.int64)}
ETAG = '"1"'
COUNTS = [100, *(pytest.param(n, marks=pytest.mark.slow) for n in (10_000, 100_000))]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_REGION", "us-east-1")


def record_file(folder: Path, count: int = 20) -> Path:
    path = folder / "one.tfrecord"
    with fastrec.Writer(path, index=True, overwrite=True) as writer:
        writer.write_batch({"i": np.arange(count)})
    return path


def index_of(folder: Path, path: Path, objects: int) -> bytes:
    """Return the index of many objects with the same bytes."""
    index = Index.load(path)
    section = bytes(memoryview(index._saved()))
    one = Described(index.data_size, len(index), None, ETAG, section)
    places = [str(folder / f"data/part-{number:06d}.tfrecord") for number in range(objects)]
    target = folder / f"{objects}.frdataset"
    with_all = open_dataset_writer(
        target, places, [one] * objects, StorageOptions(), overwrite=True
    )
    with_all.close()
    return target.read_bytes()


class Same(Objects):
    """A store in which many names have the same bytes; it lists them as S3 does."""

    def __init__(self, objects: int, data: bytes, others: dict[str, bytes]) -> None:
        super().__init__({"data": data, **others})
        self._etags = dict.fromkeys(self._etags, ETAG)
        self.objects = objects

    def __call__(self, request: Request) -> Answer:
        path, _, query = request.path.partition("?")
        if "list-type" in query:
            return self._listed(parse_qs(query))
        path = re.sub(r"^/(bucket/)?data/part-\d{6}\.tfrecord", "/data", path)
        path = path.removeprefix("/bucket")
        return super().__call__(request._replace(path=path))

    def _listed(self, query: dict[str, list[str]]) -> Answer:
        first = int(query.get("continuation-token", ["0"])[0])
        last = min(first + 1000, self.objects)
        size = len(self.get("data"))
        rows = "".join(
            f"<Contents><Key>data/part-{n:06d}.tfrecord</Key><Size>{size}</Size>"
            f"<LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>{escape(ETAG)}</ETag>"
            "</Contents>"
            for n in range(first, last)
        )
        more = last < self.objects
        token = f"<NextContinuationToken>{last}</NextContinuationToken>" if more else ""
        text = (
            '<?xml version="1.0"?><ListBucketResult><Name>bucket</Name>'
            f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{rows}</ListBucketResult>"
        )
        return Answer(200, {"Content-Type": "application/xml"}, text.encode())


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], tuple[Path, bytes]]:
    """Return the record file, and the index of a number of objects, which is made once."""
    folder = tmp_path_factory.mktemp("store")
    path = record_file(folder)
    return functools.cache(lambda objects: (path, index_of(folder, path, objects)))


@pytest.fixture
def store(tmp_path: Path, indexes: Callable[[int], tuple[Path, bytes]]) -> Iterator[Any]:
    servers = []

    def serve(objects: int, *, with_index: bool = True) -> ObjectServer:
        path, index = indexes(objects) if with_index else (record_file(tmp_path), b"")
        others = {"data.frindex": Path(f"{path}.frindex").read_bytes()}
        if with_index:
            others = {"train.frdataset": index}
        servers.append(ObjectServer(Same(objects, path.read_bytes(), others)))
        return servers[-1]

    yield serve
    for server in servers:
        server.close()


def first_batch(source: Any, **options: Any) -> None:
    batches = fastrec.Batcher(source, FEATURES, 32, seed=0, shard=(3, 8), **options)
    iterator = iter(batches)
    assert len(next(iterator)["i"]) > 0
    iterator.close()


def kinds_of(server: ObjectServer) -> tuple[Counter[str], int]:
    """Return the requests for other things than records by their methods, and those for records."""
    other: Counter[str] = Counter()
    records = 0
    for request in server.requests:
        if request.path.endswith(".tfrecord") and request.method == "GET":
            records += 1
        else:
            other[request.method] += 1
    return other, records


@pytest.mark.parametrize("shuffle", [False, "blocks"])
@pytest.mark.parametrize("objects", COUNTS)
def test_the_first_batch_takes_few_requests_besides_those_for_its_records(
    store: Any, objects: int, shuffle: Any
) -> None:
    server = store(objects)
    first_batch(f"{server.url}/train.frdataset", shuffle=shuffle)
    other, _ = kinds_of(server)
    assert other["HEAD"] == 1
    assert other.total() <= 10


def test_a_listing_saves_a_request_for_each_object(store: Any) -> None:
    server = store(1500, with_index=False)
    options = {"endpoint": server.url, "allow_http": True}
    with pytest.warns(RuntimeWarning, match="indexes of 1500 objects.*fastrec index --dataset"):
        first_batch("s3://bucket/data/part-*.tfrecord", shuffle="blocks", storage_options=options)
    lists = sum("list-type" in request.path for request in server.requests)
    indexes = sum(request.path.endswith(".frindex") for request in server.requests)
    heads = [r.path for r in server.requests if r.method == "HEAD"]
    assert lists == 2
    assert indexes == 1500
    assert not heads


def test_many_named_objects_of_a_folder_are_listed(store: Any) -> None:
    server = store(1500, with_index=False)
    options = {"endpoint": server.url, "allow_http": True}
    urls = [f"s3://bucket/data/part-{number:06d}.tfrecord" for number in range(1500)]
    wanted = [*urls[20:1400], urls[25]]
    reader = fastrec.Reader(wanted, shards="any", storage_options=options)
    assert [os.fspath(path) for path in reader.paths] == wanted
    kinds = [(each.method, "list-type" in each.path) for each in server.requests]
    assert kinds == [("GET", True)] * 2
    assert all(file.version == ETAG for file in reader._files.remote)


def test_objects_of_a_folder_that_cannot_be_listed_are_requested_by_name(store: Any) -> None:
    server = store(50, with_index=False)
    objects = server.backend

    def answer(request: Request) -> Answer:
        return Answer(403, {}) if "list-type" in request.path else objects(request)

    server.backend = answer
    options = {"endpoint": server.url, "allow_http": True}
    urls = [f"s3://bucket/data/part-{number:06d}.tfrecord" for number in range(50)]
    assert len([*iter(fastrec.Reader(urls, storage_options=options))]) == 1000
    kinds = Counter((each.method, "list-type" in each.path) for each in server.requests)
    assert kinds == {("GET", True): 1, ("GET", False): 50}
    urls[30] = "s3://bucket/data/absent.tfrecord"
    reader = fastrec.Reader(urls, storage_options=options)
    with pytest.raises(FileNotFoundError, match="absent"):
        [*iter(reader)]
    server.backend = objects
    with pytest.raises(FileNotFoundError, match="absent"):
        fastrec.Reader(urls, storage_options=options)


def test_an_object_that_was_replaced_names_object_index_and_remedy(store: Any) -> None:
    server = store(3)
    objects = server.backend
    objects._etags["data"] = '"2"'
    with pytest.raises(OSError, match="fastrec index --dataset") as caught:
        [*fastrec.Batcher(f"{server.url}/train.frdataset", FEATURES, 8)]
    assert "part-00000" in str(caught.value.filename)
    assert "train.frdataset" in str(caught.value)
    objects.put("data", objects.get("data")[:-20])
    with pytest.raises(OSError, match="fastrec index --dataset"):
        [*fastrec.Reader(f"{server.url}/train.frdataset")]


def test_a_damaged_index_in_a_store_is_refused(store: Any) -> None:
    server = store(3)
    data = bytearray(server.backend.get("train.frdataset"))
    data[-60] ^= 1  # of the last section
    server.backend.put("train.frdataset", bytes(data))
    with pytest.raises(fastrec.IndexMismatchError, match=r"its section of .*part-000002"):
        [*fastrec.Batcher(f"{server.url}/train.frdataset", FEATURES, 8, shuffle="blocks", seed=0)]
    server.backend.put("train.frdataset", bytes(data[:100]))
    with pytest.raises(fastrec.IndexMismatchError, match=r"train\.frdataset"):
        fastrec.Reader(f"{server.url}/train.frdataset")


def test_an_index_in_a_store_gives_the_records_of_its_objects(store: Any) -> None:
    server = store(100)
    source = f"{server.url}/train.frdataset"
    reader = fastrec.Reader(source)
    assert len(reader) == 2000
    assert reader[1999] == reader[19]
    seen = np.concatenate(
        [
            batch["i"]
            for rank in range(3)
            for batch in fastrec.Batcher(
                source, FEATURES, 16, shuffle="blocks", seed=1, shard=(rank, 3)
            )
        ]
    )
    assert np.bincount(seen).tolist() == [100] * 20


@pytest.mark.slow
def test_many_objects_take_memory_in_proportion_to_the_index(store: Any, tmp_path: Path) -> None:
    path = record_file(tmp_path)
    index_of(tmp_path, path, 200_000)
    tracemalloc.start()
    index = DatasetIndex.open(tmp_path / "200000.frdataset")
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(index) == 200_000
    assert size < 250 * 200_000
