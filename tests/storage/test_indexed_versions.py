# SPDX-License-Identifier: Apache-2.0
"""A dataset index describes one version of each object; another version is an error."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_server import Answer, Objects, ObjectServer, Request

import fastrec
from fastrec import DatasetIndex, StorageOptions

FEATURES = {"i": fastrec.FixedLenFeature((), np.int64)}


class Versioned(Objects):
    """A server that describes versions by the named headers."""

    def __init__(self, headers: set[str]) -> None:
        super().__init__({})
        self.headers = headers
        self.changed: dict[str, int] = {}

    def put(self, name: str, data: bytes) -> None:
        super().put(name, data)
        self.changed[name] = self.changed.get(name, 1_700_000_000) + 1

    def __call__(self, request: Request) -> Answer:
        answer = super().__call__(request)
        name = request.path.partition("?")[0].lstrip("/")
        if name in self.changed:
            answer.headers["Last-Modified"] = formatdate(self.changed[name], usegmt=True)
        kept = {k: v for k, v in answer.headers.items() if k in self.headers or k[0] in "AC"}
        return answer._replace(headers=kept)


@pytest.fixture(params=["ETag", "Last-Modified", "both", "neither"])
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    headers = {"both": {"ETag", "Last-Modified"}, "neither": set[str]()}
    with ObjectServer(Versioned(headers.get(request.param, {request.param}))) as server:
        yield server


def records_of(number: int) -> list[bytes]:
    return [fastrec.encode_example({"i": np.array([number * 10 + i])}) for i in range(10)]


def write(server: Any, folder: Path, number: int, first: int) -> None:
    path = folder / "part"
    with fastrec.Writer(path, overwrite=True) as writer:
        writer.write_many(records_of(first))
    server.backend.put(f"part-{number}.tfrecord", path.read_bytes())


def build(server: Any, folder: Path) -> str:
    for number in range(3):
        write(server, folder, number, number)
    urls = [f"{server.url}/part-{number}.tfrecord" for number in range(3)]
    target = f"{server.url}/train.frdataset"
    DatasetIndex.build(urls, target)
    return target


READS: dict[str, Callable[[str], Any]] = {
    "sequence": lambda source: [*iter(fastrec.Reader(source))],
    "number": lambda source: fastrec.Reader(source)[15],
    "file order": lambda source: [*fastrec.Batcher(source, FEATURES, 4)],
    "blocks": lambda source: [*fastrec.Batcher(source, FEATURES, 4, shuffle="blocks", seed=0)],
    "shard": lambda source: [*fastrec.Batcher(source, FEATURES, 4, shard=(1, 2))],
}


@pytest.mark.parametrize("read", READS)
def test_an_object_replaced_by_one_of_equal_size_is_named(
    server: Any, tmp_path: Path, read: str
) -> None:
    source = build(server, tmp_path)
    READS[read](source)
    write(server, tmp_path, 1, 7)
    if not server.backend.headers:
        READS[read](source)  # the server does not distinguish the versions
        return
    with pytest.raises(OSError, match="fastrec index --dataset") as caught:
        READS[read](source)
    assert caught.value.errno == errno.ESTALE
    assert str(caught.value.filename).endswith("/part-1.tfrecord")
    assert "train.frdataset" in str(caught.value)
    DatasetIndex.build(
        [f"{server.url}/part-{number}.tfrecord" for number in range(3)], source, overwrite=True
    )
    READS[read](source)


@pytest.mark.parametrize("is_new", [True, False])
def test_a_writer_stores_the_versions_of_its_objects(
    server: Any, tmp_path: Path, is_new: bool
) -> None:
    target = f"{server.url}/train.tfrecord"
    for _ in range(2 - is_new):
        with fastrec.Writer(target, shards=3, index="dataset", overwrite=not is_new) as writer:
            writer.write_many(records_of(0) * 3)
    source = f"{server.url}/train.frdataset"
    assert len([*iter(fastrec.Reader(source))]) == 30
    name = "train-00001-of-00003.tfrecord"
    data = bytearray(server.backend.get(name))
    server.backend.put(name, bytes(data))
    assert len([*iter(fastrec.Reader(source))]) == 30  # a copy of the same bytes
    with fastrec.Writer(tmp_path / "other") as writer:
        writer.write_many(records_of(4))
    server.backend.put(name, (tmp_path / "other").read_bytes())
    assert len(server.backend.get(name)) == len(data)
    if "ETag" not in server.backend.headers:
        assert len([*iter(fastrec.Reader(source))]) == 30
        return
    with pytest.raises(OSError, match="fastrec index --dataset") as caught:
        [*iter(fastrec.Reader(source))]
    assert str(caught.value.filename).endswith(name)


def test_versions_of_another_kind_are_not_compared(tmp_path: Path) -> None:
    objects = Versioned({"ETag"})
    with ObjectServer(objects) as server:
        source = build(server, tmp_path)
        objects.headers = {"Last-Modified"}
        assert len([*iter(fastrec.Reader(source))]) == 30


def test_objects_of_a_failed_index_are_taken_back(tmp_path: Path) -> None:
    class Refusing(Versioned):
        def __call__(self, request: Request) -> Answer:
            if request.method == "PUT" and request.path.endswith(".frdataset"):
                return Answer(403, {}, b"no")
            return super().__call__(request)

    objects = Refusing({"ETag"})
    with ObjectServer(objects) as server:
        writer = fastrec.Writer(f"{server.url}/train.tfrecord", shards=2, index="dataset")
        writer.write_many(records_of(0))
        with pytest.raises(OSError, match="403"):
            writer.close()
        assert objects.names() == []


def test_large_objects_in_memory_keep_their_versions(tmp_path: Path) -> None:
    options = StorageOptions()
    target = f"memory://{tmp_path.name}/train.tfrecord"
    with fastrec.Writer(target, shards=2, index="dataset", storage_options=options) as writer:
        writer.write_many([bytes(5 << 20)] * 4)
    index = DatasetIndex.open(f"memory://{tmp_path.name}/train.frdataset")
    assert all(file.version for file in index.files)
    assert sum(map(len, fastrec.Reader(f"memory://{tmp_path.name}/train.frdataset"))) == 20 << 20


@pytest.mark.parametrize("shuffle", [False, "blocks", 8])
def test_an_object_replaced_during_a_pass_is_named(tmp_path: Path, shuffle: Any) -> None:
    """Each answer contains the version, so no request needs the header If-Match."""
    objects = Versioned({"ETag"})
    with ObjectServer(objects) as server:
        write(server, tmp_path, 0, 0)
        url = f"{server.url}/part-0.tfrecord"
        batcher = fastrec.Batcher(url, FEATURES, 4, shuffle=shuffle, seed=0, epochs=50)
        batches = iter(batcher)
        assert len(next(batches)["i"]) == 4
        write(server, tmp_path, 0, 7)  # of the same size
        with pytest.raises(OSError, match="has changed since it was opened") as caught:
            for _ in batches:
                pass
    assert caught.value.errno == errno.ESTALE
    assert str(caught.value.filename) == url
