# SPDX-License-Identifier: Apache-2.0
"""Objects are replaced by the rules for files: see tests/cli/test_output_rules.py."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastrec
from fastrec import StorageOptions
from fastrec.records.targets import write_file
from fastrec.storage.locations import locate


@pytest.fixture(params=["arrow", "fsspec", "memory", "local"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path
) -> tuple[str, StorageOptions, Callable[[], dict[str, bytes]]]:
    """What begins the URLs of a store, its options, and a function that returns its objects."""
    if request.param == "memory":
        pytest.importorskip("obstore")
        begin, options = f"memory://{tmp_path.name}/", StorageOptions()

        def objects() -> dict[str, bytes]:
            store = locate(f"{begin}x", options).store
            keys = [key for key, _ in store.list("", True)]
            return {key: b"".join(map(bytes, store.read_all(key)[1])) for key in keys}

        return begin, options, objects
    if request.param == "arrow":
        options = StorageOptions(filesystem=pytest.importorskip("pyarrow.fs").LocalFileSystem())
    elif request.param == "fsspec":
        options = StorageOptions(filesystem=pytest.importorskip("fsspec").filesystem("file"))
    else:
        options = StorageOptions()
    return (
        f"{tmp_path}/",
        options,
        lambda: {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()},
    )


Place = tuple[str, StorageOptions, Callable[[], dict[str, bytes]]]


@pytest.fixture
def filled(place: Place) -> Place:
    """The same, with a file, a set of shards, and a file of another kind."""
    begin, storage, _ = place
    for name, shards in (("a.tfrecord", None), ("train.tfrecord", 3)):
        with fastrec.Writer(begin + name, shards=shards, storage_options=storage) as writer:
            for number in range(6):
                writer.write({"x": number})
    return place


def writes(begin: str, storage: StorageOptions) -> dict[str, Callable[..., Any]]:
    """Return each function that writes a file or a set, by its name."""
    source = f"{begin}a.tfrecord"
    options: dict[str, Any] = {"storage_options": storage}

    def writer(target: str, **more: Any) -> None:
        with fastrec.Writer(target, **options, **more) as sink:
            sink.write({"x": 1})

    def table(target: str, **more: Any) -> None:
        pytest.importorskip("pyarrow")
        fastrec.convert(source, target, target_format="jsonl", **options, **more)

    return {
        "Writer": writer,
        "reshard": lambda target, **more: fastrec.reshard(source, target, **options, **more),
        "convert": table,
    }


@pytest.mark.parametrize("name", ["Writer", "reshard", "convert"])
def test_an_object_or_a_set_that_exists_is_refused(filled: Place, name: str) -> None:
    begin, storage, objects = filled
    before, write = objects(), writes(begin, storage)[name]
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write(f"{begin}train-00001-of-00003.tfrecord")
    for size in (2, 3):
        more = {"shard_records": size} if name == "convert" else {"shards": size}
        with pytest.raises(FileExistsError, match="overwrite=True"):
            write(f"{begin}train.tfrecord", **more)
    assert objects() == before


@pytest.mark.parametrize("name", ["reshard", "convert"])
def test_no_input_is_replaced_whatever_its_name(filled: Place, name: str) -> None:
    begin, storage, objects = filled
    names = ["a.tfrecord"]
    if os.path.isdir(begin):
        os.symlink(f"{begin}a.tfrecord", f"{begin}link.tfrecord")
        names += ["./a.tfrecord", "link.tfrecord"]
    before = objects()
    for each in names:
        with pytest.raises(FileExistsError, match="an input of the same call"):
            writes(begin, storage)[name](begin + each, overwrite=True)
    assert objects() == before


def test_records_are_not_replaced_by_a_table(filled: Place) -> None:
    begin, storage, objects = filled
    before, write = objects(), writes(begin, storage)["convert"]
    with pytest.raises(FileExistsError, match="record file"):
        write(f"{begin}train-00000-of-00003.tfrecord", overwrite=True)
    with pytest.raises(FileExistsError, match="record file"):
        write(f"{begin}train.tfrecord", overwrite=True, shard_records=2)
    assert objects() == before


@pytest.mark.parametrize("name", ["Writer", "reshard", "convert"])
def test_an_index_is_replaced_neither_by_records_nor_by_a_table(filled: Place, name: str) -> None:
    begin, storage, objects = filled
    write_file(f"{begin}saved", b"\x89FR the rest of an index", storage)
    before = objects()
    with pytest.raises(FileExistsError, match="an index cannot be replaced"):
        writes(begin, storage)[name](f"{begin}saved", overwrite=True)
    assert objects() == before


def test_an_index_replaces_an_index_and_no_records(filled: Place) -> None:
    begin, storage, objects = filled
    write_file(f"{begin}saved", b"\x89FR", storage, index=True)
    write_file(f"{begin}saved", b"\x89FR new", storage, index=True, overwrite=True)
    assert objects()["saved"] == b"\x89FR new"
    with pytest.raises(FileExistsError, match="a record file cannot be replaced"):
        write_file(f"{begin}a.tfrecord", b"\x89FR", storage, index=True, overwrite=True)


@pytest.mark.parametrize("name", ["Writer", "reshard"])
def test_stale_shards_are_removed_with_their_indexes(filled: Place, name: str) -> None:
    begin, storage, objects = filled
    options: dict[str, Any] = {"overwrite": True, "storage_options": storage}
    with fastrec.Writer(f"{begin}train.tfrecord", shards=3, index=True, **options) as writer:
        writer.write(b"x")
    writes(begin, storage)[name](f"{begin}train.tfrecord", shards=2, overwrite=True)
    assert sorted(objects()) == [
        "a.tfrecord", "train-00000-of-00002.tfrecord", "train-00001-of-00002.tfrecord"
    ]  # fmt: skip


def test_aliases_of_a_scheme_are_one_object() -> None:
    pytest.importorskip("obstore")
    from fastrec.records.object_rules import check_object

    storage = StorageOptions({"skip_signature": True, "region": "x"})
    with pytest.raises(FileExistsError, match="an input of the same call"):
        check_object(
            "s3a://bucket/a",
            overwrite=True,
            records=True,
            inputs=["s3://bucket/a"],
            storage=storage,
        )
