# SPDX-License-Identifier: Apache-2.0
"""Objects that are written appear whole or not at all; streams that cannot seek."""

from __future__ import annotations

import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_server import Fault, Objects, ObjectServer

import fastrec
from fastrec.storage.options import StorageOptions

RECORDS = [b"a", b"few", b"words", bytes(5000)] * 50


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for temporary files, which every test leaves empty."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def read(url: Any, **options: Any) -> list[bytes]:
    return list(iter(fastrec.Reader(url, **options)))


@pytest.mark.parametrize("compression", [None, "GZIP", "ZLIB"])
def test_a_written_object_is_that_file(
    memory: Any, tmp_path: Path, scratch: Path, compression: Any
) -> None:
    url = f"{memory.url}/deep/t.tfrecord"
    with fastrec.Writer(tmp_path / "t", compression=compression) as local:
        local.write_many(RECORDS)
    with fastrec.Writer(url, compression=compression, verify_after_write=True) as writer:
        for record in RECORDS[:10]:
            writer.write(record)
        writer.write_many(RECORDS[10:])
        writer.flush()
        assert writer.count == len(RECORDS)
        assert memory.keys() == []  # nothing before it is complete
    assert memory.get("deep/t.tfrecord") == (tmp_path / "t").read_bytes()
    assert read(url) == RECORDS
    assert not list(scratch.iterdir())
    assert url in repr(writer)


def test_columns_and_mappings(memory: Any) -> None:
    url = f"{memory.url}/t.tfrecord"
    with fastrec.Writer(url) as writer:
        writer.write_batch({"x": np.arange(6, dtype=np.float32).reshape(3, 2), "y": [0, 1, 0]})
        writer.write({"x": np.array([7, 8], np.float32), "y": 3})
    batches = fastrec.Batcher(url, fastrec.infer_features(url), batch_size=2)
    assert [batch["y"].tolist() for batch in batches] == [[0, 1], [0, 3]]


def test_shards_are_published_together(memory: Any, scratch: Path) -> None:
    with fastrec.Writer(f"{memory.url}/t.tfrecord", shards=3, index=True) as writer:
        writer.write_many(RECORDS)
        assert memory.keys() == []
    names = [f"t-0000{n}-of-00003.tfrecord" for n in range(3)]
    assert memory.keys() == sorted([*names, *(f"{name}.frindex" for name in names)])
    assert len(fastrec.Reader(f"{memory.url}/t-*", index=True)) == len(RECORDS)
    with fastrec.Writer(f"{memory.url}/u.tfrecord", shard_records=90) as rolling:
        rolling.write_many(RECORDS)
    assert [url.rpartition("/")[2] for url in rolling.paths] == [
        f"u-0000{n}-of-00003.tfrecord" for n in range(3)
    ]
    assert sorted(read(f"{memory.url}/u-*")) == sorted(RECORDS)
    assert not list(scratch.iterdir())


def test_an_exception_sends_nothing(memory: Any, scratch: Path) -> None:
    memory.put("t.tfrecord", b"old")
    with (
        pytest.raises(TypeError, match="bytes"),
        fastrec.Writer(f"{memory.url}/t.tfrecord", overwrite=True) as writer,
    ):
        writer.write_many([b"new", 3])  # type: ignore[list-item]
    assert memory.get("t.tfrecord") == b"old"
    writer = fastrec.Writer(f"{memory.url}/u.tfrecord", shards=2)
    writer.write(b"x")
    writer.abort()
    dropped = fastrec.Writer(f"{memory.url}/v.tfrecord")
    with pytest.warns(ResourceWarning, match="is not written"):
        del dropped
    assert memory.keys() == ["t.tfrecord"]
    assert not list(scratch.iterdir())


def test_what_exists_is_replaced_or_kept(memory: Any, scratch: Path) -> None:
    url = f"{memory.url}/t.tfrecord"
    for word in (b"one", b"two"):
        with fastrec.Writer(url, overwrite=word == b"two") as writer:
            writer.write(word)
    assert read(url) == [b"two"]
    with pytest.raises(FileExistsError) as caught:
        fastrec.Writer(url)
    assert caught.value.filename == url
    racing = fastrec.Writer(f"{memory.url}/new.tfrecord")
    memory.put("new.tfrecord", b"somebody else's")
    with pytest.raises(FileExistsError):
        racing.close()
    assert memory.get("new.tfrecord") == b"somebody else's"
    assert not list(scratch.iterdir())


def test_append_is_refused_by_name(memory: Any) -> None:
    with pytest.raises(ValueError, match="append requires a local file"):
        fastrec.Writer(f"{memory.url}/t.tfrecord", append=True)
    with pytest.raises(ValueError, match="append"):
        fastrec.Writer(io.BytesIO(), append=True)


def test_a_shard_that_cannot_be_stored_takes_the_others_back(scratch: Path) -> None:
    objects = Objects()
    with ObjectServer(
        objects,
        lambda request, _: (
            Fault("status", status=403)
            if request.method == "PUT" and "00001-of" in request.path
            else Fault()
        ),
    ) as server:
        writer = fastrec.Writer(f"{server.url}/t.tfrecord", shards=2)
        writer.write_many(RECORDS)
        with pytest.raises(PermissionError):
            writer.close()
        sent = [request.method for request in server.requests]
        assert "PUT" in sent
        assert "DELETE" in sent
        with pytest.raises(FileNotFoundError):
            fastrec.Reader(f"{server.url}/t-00000-of-00002.tfrecord")
    assert not list(scratch.iterdir())


def test_manifests_and_verification(memory: Any) -> None:
    with fastrec.Writer(f"{memory.url}/t.tfrecord", shards=2) as writer:
        writer.write_many(RECORDS)
    manifest = fastrec.Manifest.build(writer.paths)
    manifest.save(f"{memory.url}/t.json")
    assert fastrec.Manifest.load(f"{memory.url}/t.json").records == len(RECORDS)
    found = fastrec.verify(f"{memory.url}/t-*", manifest=f"{memory.url}/t.json")
    assert (found.records, found.files) == (len(RECORDS), 2)
    assert fastrec.count(writer.paths) == len(RECORDS)
    data = bytearray(memory.get("t-00001-of-00002.tfrecord"))
    memory.put("t-00001-of-00002.tfrecord", bytes(data[:19]))
    with pytest.raises(fastrec.MissingRecordsError):
        fastrec.verify(f"{memory.url}/t-*", manifest=manifest)
    with pytest.raises(fastrec.MissingRecordsError, match="missing"):
        fastrec.verify(f"{memory.url}/t-0000[0]*")


# -- Streams -------------------------------------------------------------------------------------


class Pipe(io.RawIOBase):
    """A raw stream that takes little at once and cannot seek."""

    def __init__(self) -> None:
        self.data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        some = bytes(data)[:1000]
        self.data += some
        return len(some)


@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_an_open_stream_takes_records(compression: Any) -> None:
    stream = Pipe()
    with fastrec.Writer(stream, compression=compression) as writer:
        for record in RECORDS[:20]:
            writer.write(record)
        writer.write_many(RECORDS[20:])
        writer.write({"x": 1})
        writer.write_batch({"x": [1, 2]})
    assert not stream.closed
    found = read(io.BytesIO(bytes(stream.data)))
    assert found[: len(RECORDS)] == RECORDS
    assert len(found) == len(RECORDS) + 3 == writer.count


def test_a_pipe_takes_records() -> None:
    source, target = os.pipe()
    with open(source, "rb") as there, open(target, "wb") as here:
        with fastrec.Writer(here) as writer:
            writer.write_many([b"one", b"two"])
        here.close()
        assert read(there) == [b"one", b"two"]


def test_errors_of_streams(tmp_path: Path) -> None:
    class Full(Pipe):
        def write(self, data: Any) -> int:
            raise OSError(28, "no space")

    writer = fastrec.Writer(Full())
    writer.write(b"x")
    for _ in range(2):
        with pytest.raises(OSError, match="no space"):
            writer.flush()
    writer.abort()
    for wrong in ({"shards": 2}, {"index": True}, {"shard_bytes": 9}):
        with pytest.raises(ValueError, match="require a path"):
            fastrec.Writer(io.BytesIO(), **wrong)
    with pytest.raises(TypeError):
        fastrec.Writer(3)  # type: ignore[arg-type]


# -- File systems --------------------------------------------------------------------------------


def local_arrow() -> Any:
    import pyarrow.fs

    return pyarrow.fs.LocalFileSystem()


def local_fsspec() -> Any:
    import fsspec

    return fsspec.filesystem("file", skip_instance_cache=True)


def obstore_local() -> Any:
    import obstore.store

    return obstore.store.LocalStore()


@pytest.mark.parametrize("make", [local_arrow, local_fsspec, obstore_local])
def test_any_file_system_will_do(make: Any, tmp_path: Path) -> None:
    try:
        filesystem = make()
    except ImportError as error:
        pytest.skip(str(error))
    options = StorageOptions(filesystem=filesystem)
    folder = str(tmp_path).lstrip("/") if make is obstore_local else str(tmp_path)
    for name in ("t-0.tfrecord", "t-1.tfrecord"):
        with fastrec.Writer(f"{folder}/{name}", storage_options=options) as writer:
            writer.write_many(RECORDS)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [
        "t-0.tfrecord",
        "t-1.tfrecord",
    ]
    reader = fastrec.Reader(f"{folder}/t-*", storage_options=options)
    assert list(iter(reader)) == RECORDS * 2
    assert list(reader.read_many([5, 399])) == [RECORDS[5], RECORDS[-1]]
    assert len(fastrec.Reader(folder, storage_options=options).paths) == 2
    with pytest.raises(FileNotFoundError):
        fastrec.Reader(f"{folder}/no", storage_options=options)
    with pytest.raises(FileExistsError):
        fastrec.Writer(f"{folder}/t-0.tfrecord", storage_options=options)
    lasting = StorageOptions(filesystem=make)
    again = pickle.loads(pickle.dumps(fastrec.Reader(f"{folder}/t-*", storage_options=lasting)))
    assert again[5] == RECORDS[5]
    with fastrec.Writer(f"{tmp_path}/t-1.tfrecord", overwrite=True) as other:
        other.write_many(RECORDS[::-1])
    with pytest.raises(OSError, match="changed"):
        list(iter(reader))


def test_urls_of_fsspec() -> None:
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    options = StorageOptions(filesystem=store)
    with fastrec.Writer("/fs/t.tfrecord", storage_options=options) as writer:
        writer.write_many(RECORDS)
    assert read("/fs/*.tfrecord", storage_options=options) == RECORDS
    for url in ("memory://fs/t.tfrecord", "memory:///fs/*.tfrecord"):
        assert read(url, storage_options=options) == RECORDS
    with fastrec.Writer("memory://fs/u.tfrecord", storage_options=options) as writer:
        writer.write(RECORDS[1])
    assert store.exists("/fs/u.tfrecord")
    with pytest.raises(ValueError, match="nosuch"):
        fastrec.Reader("nosuch://x/y")
    with pytest.raises(TypeError, match="filesystem"):
        fastrec.Reader("x", storage_options=StorageOptions(filesystem=3))
