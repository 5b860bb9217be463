# SPDX-License-Identifier: Apache-2.0
"""Conversion to and from directories of samples: MDS and LitData."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import peer_samples
import pytest
from verbs import write

import fastrec
from fastrec import cli
from fastrec.records import zstd
from fastrec.tables import sample_shards

KINDS = ["mds", "litdata"]
N = 700


def has_zstd() -> bool:
    try:
        zstd.library()
    except ModuleNotFoundError:
        return False
    return True


needs_zstd = pytest.mark.skipif(not has_zstd(), reason="requires a library for zstd")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directories that the packages wrote."""
    folder = tmp_path_factory.mktemp("recorded")
    with zipfile.ZipFile(peer_samples.RECORDED) as archive:
        archive.extractall(folder)
    return folder


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def columns(path: Path) -> dict[str, list[Any]]:
    """The values of all records, by feature."""
    features = fastrec.infer_features(path, None)
    found = fastrec.parse_example(list(fastrec.Reader(path)), features)
    return {name: list(column) for name, column in found.items()}


def assert_equal(a: dict[str, list[Any]], b: dict[str, list[Any]]) -> None:
    assert a.keys() == b.keys()
    for name in a:
        assert len(a[name]) == len(b[name]), name
        for x, y in zip(a[name], b[name], strict=True):
            assert np.asarray(x).dtype == np.asarray(y).dtype, name
            np.testing.assert_array_equal(x, y, name)


def row(i: int) -> dict[str, Any]:
    """Values of all kinds that both formats hold."""
    return {
        "int": i, "float": 0.1 * i, "vector": np.arange(4.0) + i, "list": np.arange(i % 3),
        "floats": np.arange(i % 4, dtype=np.float32), "text": f"t\u00e9xt {i}",
        "json": json.dumps({"a": i}), "bytes": bytes([i % 256, 0, 255]), "empty": b"",
        "jpg": b"\xff\xd8\xff" + bytes(i % 9), "png": b"\x89PNG\r\n\x1a\n" + bytes(i % 9),
        "array": npy(np.full((2, 3), i % 256, np.uint8)), "wide": npy(np.float64(i / 3)),
        "shapes": npy(np.full((1 + i % 2, 2), i, np.int16)),
    }  # fmt: skip


def rows(path: Path, count: int = N, make: Callable[[int], dict[str, Any]] = row) -> Path:
    with fastrec.Writer(path) as writer:
        for i in range(count):
            writer.write(make(i))
    return path


# -- Round trips -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shard_records", [None, 300])
def test_records_come_back_value_by_value(
    tmp_path: Path, kind: str, shard_records: int | None
) -> None:
    source, target = rows(tmp_path / "a.tfrecord"), tmp_path / f"a.{kind}"
    done = fastrec.convert(source, target, shard_records=shard_records)
    assert done == (N, [str(target)], [], [])
    shards = sorted(name for name in os.listdir(target) if name != "index.json")
    assert len(shards) == (1 if shard_records is None else 3)
    renamed = target.rename(tmp_path / "any name")
    assert fastrec.convert(renamed, tmp_path / "back.tfrecord").records == N
    assert_equal(columns(source), columns(tmp_path / "back.tfrecord"))


@pytest.mark.parametrize("kind", KINDS)
def test_shards_end_at_a_size(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_shards, "SHARD_BYTES", 10_000)
    source = rows(tmp_path / "a", 60, lambda i: {"x": bytes(15_000 if i == 20 else 500)})
    fastrec.convert(source, tmp_path / "a.out", target_format=kind)  # type: ignore[arg-type]
    sizes = [path.stat().st_size for path in sorted((tmp_path / "a.out").glob("*[0-9].*"))]
    assert sorted(sizes)[-1] > 15_000
    assert sorted(sizes)[-2] <= 10_000
    fastrec.convert(tmp_path / "a.out", tmp_path / "back")
    assert list(fastrec.Reader(tmp_path / "back")) == list(fastrec.Reader(source))


@pytest.mark.parametrize("kind", KINDS)
def test_several_directories_are_read_in_order(tmp_path: Path, kind: str) -> None:
    for i in range(3):
        rows(tmp_path / f"{i}", 5, lambda row, i=i: {"x": 10 * i + row})  # type: ignore[misc]
        fastrec.convert(tmp_path / f"{i}", tmp_path / f"{i}.{kind}")
    fastrec.convert([tmp_path / f"{i}.{kind}" for i in (2, 0, 1)], tmp_path / "back")
    assert columns(tmp_path / "back")["x"] == [*range(20, 25), *range(5), *range(10, 15)]
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / f"0.{kind}").rename(folder / f"0.{kind}")
    assert fastrec.convert(folder, tmp_path / "again").records == 5


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_converts_directories(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = rows(tmp_path / "a", 9), tmp_path / f"a.{kind}"
    assert cli.main(["convert", str(source), "-o", str(target)]) == 0
    assert f"a.{kind}: 9 records" in capsys.readouterr().out
    assert cli.main(["convert", str(target), "-o", str(tmp_path / "back")]) == 0
    assert columns(tmp_path / "back")["int"] == list(range(9))
    assert cli.main(["convert", str(source), "--to", kind, "-o", "-"]) == 2
    assert "directory" in capsys.readouterr().err


# -- Directories of the packages -------------------------------------------------------------------


def test_all_encodings_of_mds_are_read(tmp_path: Path, recorded: Path) -> None:
    done = fastrec.convert(recorded / "mds" / "all", tmp_path / "back")
    assert done.records == peer_samples.MDS_SAMPLES
    found = columns(tmp_path / "back")
    for i in range(peer_samples.MDS_SAMPLES):
        sample = peer_samples.mds_sample(i)
        for name in ("bytes", "int", "u8", "u64", "i16", "f16", "f32", "f64"):
            assert found[name][i] == sample[name], name
        for name in ("fixed", "vector", "shaped", "free"):
            np.testing.assert_array_equal(found[name][i], sample[name])
        assert found["fixed"][i].dtype == np.uint8
        assert found["str"][i] == sample["str"].encode()
        assert json.loads(found["json"][i]) == sample["json"]
        for name in ("si", "sf", "sd"):
            assert found[name][i] == str(sample[name]).encode()
        assert found["jpeg"][i][:3] == b"\xff\xd8\xff"
        assert found["png"][i][:4] == b"\x89PNG"
        np.testing.assert_array_equal(found["pil"][i], peer_samples.pixels_of(i))
        assert [each[:3] for each in found["jpegs"][i]] == [b"\xff\xd8\xff"] * (i % 3 + 1)


@pytest.mark.parametrize(
    "name", ["plain", "sha1", "xxh64", "gz", pytest.param("zstd", marks=needs_zstd)]
)
def test_hashes_and_compressions_of_mds_are_read(tmp_path: Path, recorded: Path, name: str) -> None:
    if name == "xxh64":
        pytest.importorskip("xxhash")
    fastrec.convert(recorded / "mds" / name, tmp_path / "back")
    found = columns(tmp_path / "back")
    assert found["int"] == [0, -1, -2, -3, -4]
    assert found["str"] == [f"t\u00e9xt {i}".encode() for i in range(5)]
    assert [each.tolist() for each in found["vector"]] == [[i, i + 1, i + 2] for i in range(5)]


@pytest.mark.parametrize(
    "name",
    ["plain", *(pytest.param(each, marks=needs_zstd) for each in ("batch", "chunk", "sample"))],
)
def test_samples_of_litdata_are_read(tmp_path: Path, recorded: Path, name: str) -> None:
    done = fastrec.convert(recorded / "litdata" / name, tmp_path / "back")
    assert done.records == peer_samples.LITDATA_SAMPLES
    found = columns(tmp_path / "back")
    for i in range(peer_samples.LITDATA_SAMPLES):
        sample = peer_samples.litdata_sample(i)
        for each in ("x", "f", "b", "flag"):
            assert found[each][i] == sample[each]
        for each in ("v", "w", "m"):
            np.testing.assert_array_equal(found[each][i], sample[each])
        assert found["t"][i] == sample["t"].encode()
        assert found["t1"][i].tolist() == [i, i + 1, i + 2]
        assert found["t2"][i].tolist() == [[0.5 * i] * 2] * 2


@pytest.mark.parametrize("name", ["rows", "packed_rows"])
def test_rows_of_litdata_in_arrow_are_read(tmp_path: Path, recorded: Path, name: str) -> None:
    pytest.importorskip("pyarrow")
    fastrec.convert(recorded / "litdata" / name, tmp_path / "back")
    found = columns(tmp_path / "back")
    assert found["x"] == list(range(6))
    assert found["t"] == [f"t\u00e9xt {i}".encode() for i in range(6)]
    assert [each.tolist() for each in found["l"]] == [[i] * i for i in range(6)]


def test_damage_in_rows_of_arrow_is_named(tmp_path: Path, recorded: Path) -> None:
    pytest.importorskip("pyarrow")
    shutil.copytree(recorded / "litdata" / "rows", tmp_path / "set")
    chunk = tmp_path / "set" / "chunk-0-0.bin"
    data = chunk.read_bytes()
    fastrec.convert(tmp_path / "set", tmp_path / "good")
    refused = 0
    for place in range(0, len(data), 31):
        changed = bytearray(data)
        changed[place] ^= 0xFF
        chunk.write_bytes(changed)
        try:
            done = fastrec.convert(tmp_path / "set", tmp_path / "back", overwrite=True)
        except (fastrec.CorruptRecordError, ValueError) as error:
            assert "chunk-0-0.bin" in str(error)  # noqa: PT017
            refused += 1
        else:
            assert done.records == 6
    assert refused > 9


def test_trees_of_litdata_become_features(tmp_path: Path, recorded: Path) -> None:
    fastrec.convert(recorded / "litdata" / "tree", tmp_path / "tree")
    found = columns(tmp_path / "tree")
    assert sorted(found) == ["a/b", "d/0", "d/1"]
    assert [each.tolist() for each in found["a/b"]] == [[i, i + 1] for i in range(6)]
    assert found["d/1"] == list(range(6))
    fastrec.convert(recorded / "litdata" / "leaf", tmp_path / "leaf")
    assert [each.tolist() for each in columns(tmp_path / "leaf")["data"]] == [
        [i, i + 1, i + 2] for i in range(6)
    ]


@pytest.mark.parametrize(("kind", "word"), [("mds", "pickle"), ("litdata", "pickle")])
def test_pickle_is_refused_by_name(tmp_path: Path, recorded: Path, kind: str, word: str) -> None:
    with pytest.raises(ValueError, match=f"{word}, which runs code"):
        fastrec.convert(recorded / kind / "pickle", tmp_path / "back")
    with pytest.raises(ValueError, match=r"bz2.*only zstd and gz"):
        fastrec.convert(recorded / "mds" / "bz2", tmp_path / "back")
    assert os.listdir(tmp_path) == []


# -- Rules -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_directory_is_never_replaced_and_appears_complete(tmp_path: Path, kind: str) -> None:
    source, target = rows(tmp_path / "a.tfrecord", 100), tmp_path / f"a.{kind}"
    fastrec.convert(source, target)
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    with pytest.raises(FileExistsError, match="the directory exists"):
        fastrec.convert(source, target, overwrite=True)
    assert {path.name: path.read_bytes() for path in target.iterdir()} == before
    data = bytearray(source.read_bytes())
    data[-20] ^= 1
    (tmp_path / "bad").write_bytes(data)
    with pytest.raises(fastrec.CorruptRecordError):
        fastrec.convert(tmp_path / "bad", tmp_path / f"b.{kind}")
    assert sorted(os.listdir(tmp_path)) == [f"a.{kind}", "a.tfrecord", "bad"]
    done = fastrec.convert(tmp_path / "bad", tmp_path / f"b.{kind}", on_error="skip")
    assert done.records == 99
    for options in ({"compression": "GZIP"}, {"level": 3}, {"raw": True}, {"shards": 2}):
        with pytest.raises((ValueError, TypeError), match=next(iter(options))):
            fastrec.convert(source, tmp_path / f"c.{kind}", **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("made", "text"),
    [
        ([{"x": [b"a", b"b"]}, {"x": b"c"}], "'x' has no value or several values of bytes"),
        ([{"x": b"a"}, {"y": 1}], "'x' has no value or several values of bytes"),
        ([{}], "no features"),
        ([], "no records"),
    ],
)
def test_what_samples_cannot_hold_is_refused_by_name(
    tmp_path: Path, kind: str, made: list[Any], text: str
) -> None:
    source = rows(tmp_path / "a", len(made), made.__getitem__)
    with pytest.raises(ValueError, match=text):
        fastrec.convert(source, tmp_path / f"a.{kind}")
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("kind", KINDS)
def test_chosen_features_are_written(tmp_path: Path, kind: str) -> None:
    source = rows(tmp_path / "a", 10)
    fastrec.convert(source, tmp_path / f"a.{kind}", features=["int", "array"])
    fastrec.convert(tmp_path / f"a.{kind}", tmp_path / "back")
    assert sorted(columns(tmp_path / "back")) == ["array", "int"]
    with pytest.raises(ValueError, match="'z' is in no record"):
        fastrec.convert(source, tmp_path / f"b.{kind}", features=["z"])


def test_mds_has_no_complex_numbers(tmp_path: Path) -> None:
    source = rows(tmp_path / "a", 2, lambda i: {"x": npy(np.zeros(2, np.complex64))})
    with pytest.raises(ValueError, match="complex64, which MDS cannot store"):
        fastrec.convert(source, tmp_path / "a.mds")
    fastrec.convert(source, tmp_path / "a.litdata")
    fastrec.convert(tmp_path / "a.litdata", tmp_path / "back")
    assert columns(tmp_path / "back")["x"][1].dtype == np.complex64


# -- Hostile directories ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_shard_cut_or_changed_anywhere_gives_no_wrong_record(tmp_path: Path, kind: str) -> None:
    """MDS has hashes; LitData lacks checksums, so there only sizes and structure are checked."""
    source = rows(tmp_path / "a", 20)
    fastrec.convert(source, tmp_path / "set", target_format=kind)  # type: ignore[arg-type]
    [shard] = [path for path in (tmp_path / "set").iterdir() if path.name != "index.json"]
    data = shard.read_bytes()
    for size in range(0, len(data), 97):
        shard.write_bytes(data[:size])
        with pytest.raises(fastrec.CorruptRecordError, match="has"):
            fastrec.convert(tmp_path / "set", tmp_path / "back")
    shard.write_bytes(data + b"x")
    with pytest.raises(fastrec.CorruptRecordError):
        fastrec.convert(tmp_path / "set", tmp_path / "back")
    refused = 0
    for place in range(0, len(data), 53):
        changed = bytearray(data)
        changed[place] ^= 0x81
        shard.write_bytes(changed)
        try:
            assert (
                fastrec.convert(tmp_path / "set", tmp_path / "back", overwrite=True).records == 20
            )
        except (fastrec.CorruptRecordError, ValueError):
            refused += 1
    assert refused == len(range(0, len(data), 53)) if kind == "mds" else refused > 0


def edited(folder: Path, change: Callable[[Any], None]) -> Path:
    path = folder / "index.json"
    index = json.loads(path.read_bytes())
    change(index)
    path.write_text(json.dumps(index))
    return folder


def _set(*keys: Any) -> Callable[[Any], None]:
    *path, last, value = keys

    def change(index: Any) -> None:
        for key in path:
            index = index[key]
        index[last] = value

    return change


MDS_WRONG = [
    (_set("shards", {}), "a list 'shards'"),
    (_set("shards", 0, "version", 1), "mds of version 2"),
    (_set("shards", 0, "format", "xsv"), "mds of version 2"),
    (_set("shards", 0, "raw_data", "basename", "../a"), "a file of the same directory"),
    (_set("shards", 0, "raw_data", "basename", "/etc/passwd"), "a file of the same directory"),
    (_set("shards", 0, "raw_data", "basename", "..\\a"), "a file of the same directory"),
    (_set("shards", 0, "raw_data", "basename", "a\0b"), "a file of the same directory"),
    (_set("shards", 0, "raw_data", "bytes", 10), "its index states 10"),
    (_set("shards", 0, "raw_data", "bytes", -1), "an integer, at least 0"),
    (_set("shards", 0, "raw_data", "hashes", {"sha1": "0"}), "its sha1 is"),
    (_set("shards", 0, "raw_data", "hashes", {"sha0": "0"}), "'sha0' is unknown"),
    (_set("shards", 0, "raw_data", "hashes", [1]), "an object of texts"),
    (_set("shards", 0, "samples", 2**40), "its index states 1099511627776"),
    (_set("shards", 0, "samples", 1), "has 3 samples, and its index states 1"),
    (_set("shards", 0, "column_names", ["x", "x", "z"]), "name each column once"),
    (_set("shards", 0, "column_sizes", [1, 2, 3]), "has the size"),
    (_set("shards", 0, "column_encodings", ["int", "str", "ndarray:int64:0"]), "the shape '0'"),
    (_set("shards", 0, "column_encodings", ["int", "str", "ndarray:object"]), "these can be read"),
    (_set("shards", 0, "column_encodings", ["int", "str", "x"]), "these can be read"),
    (
        _set("shards", 0, "column_encodings", ["int", "str", "ndarray:int64:99999999,99999999"]),
        "more than a record",
    ),
]  # fmt: skip
LITDATA_WRONG = [
    (_set("chunks", 1), "a list 'chunks'"),
    (_set("config", []), "an object"),
    (_set("config", "encryption", {"a": 1}), "encrypted"),
    (_set("config", "item_loader", "TokensLoader"), "for 'TokensLoader'"),
    (_set("config", "compression", "lz4"), "only zstd"),
    (_set("config", "data_format", ["int"]), "must have 3 texts"),
    (_set("config", "data_format", ["int", "int", "pickle"]), "runs code"),
    (_set("config", "data_format", ["int", "int", "graph:pickle"]), "runs code"),
    (_set("config", "data_format", ["int", "int", "no_header_numpy:99"]), "these can be read"),
    (_set("config", "data_spec", "[" * 9999), "not a tree"),
    (_set("config", "data_spec", '[1, {"type": "os.system", "children_spec": []}]'), "os.system"),
    (_set("chunks", 0, "filename", "../index.json"), "a file of the same directory"),
    (_set("chunks", 0, "chunk_size", 2**40), "its index states 1099511627776"),
    (_set("chunks", 0, "chunk_bytes", 1), "its index states 1"),
]


@pytest.mark.parametrize(
    ("kind", "change", "text"),
    [("mds", *each) for each in MDS_WRONG] + [("litdata", *each) for each in LITDATA_WRONG],
)
def test_an_index_that_lies_is_refused(
    tmp_path: Path, kind: str, change: Callable[[Any], None], text: str
) -> None:
    source = rows(tmp_path / "a", 3, lambda i: {"i": i, "t": f"t{i}", "v": np.arange(3)})
    fastrec.convert(source, tmp_path / "set", target_format=kind)  # type: ignore[arg-type]

    def unhashed(index: Any) -> None:
        if kind == "mds":
            index["shards"][0]["raw_data"]["hashes"] = {}
        change(index)

    edited(tmp_path / "set", unhashed)
    options: Any = {"source_format": kind}
    with pytest.raises((fastrec.CorruptRecordError, ValueError), match=text):
        fastrec.convert(tmp_path / "set", tmp_path / "back", **options)
    assert sorted(os.listdir(tmp_path)) == ["a", "set"]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"[" * 100_000, b"\xff", b'{"shards": [1]}'])
def test_an_index_that_is_not_json_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "index.json").write_bytes(data)
    with pytest.raises(fastrec.CorruptRecordError, match=r"index\.json"):
        fastrec.convert(tmp_path / "set", tmp_path / "back", source_format="mds")


def test_a_shard_without_its_directory_is_refused_with_the_remedy(tmp_path: Path) -> None:
    shard = write(tmp_path / "shard.00000.mds", [b"x"])
    with pytest.raises(NotADirectoryError, match="name the directory of the shards"):
        fastrec.convert(shard, tmp_path / "back")


def mds_of(folder: Path, encoding: str, size: int | None, values: list[bytes]) -> Path:
    """A set of one column with any values, and right hashes."""
    samples = [b"" if size else struct.pack("<I", len(value)) for value in values]
    samples = [head + value for head, value in zip(samples, values, strict=True)]
    ends = np.cumsum([8 + 4 * len(values), *map(len, samples)]).astype("<u4")
    data = struct.pack("<I", len(values)) + ends.tobytes() + b"".join(samples)
    folder.mkdir()
    (folder / "a.mds").write_bytes(data)
    hashes = {"sha256": hashlib.sha256(data).hexdigest()}
    raw = {"basename": "a.mds", "bytes": len(data), "hashes": hashes}
    shard = {
        "version": 2, "format": "mds", "compression": None, "hashes": ["sha256"],
        "raw_data": raw, "zip_data": None, "samples": len(values), "size_limit": None,
        "column_names": ["x"], "column_encodings": [encoding], "column_sizes": [size],
    }  # fmt: skip
    (folder / "index.json").write_text(json.dumps({"version": 2, "shards": [shard]}))
    return folder


@pytest.mark.parametrize(
    ("encoding", "size", "value", "text"),
    [
        ("str", None, b"\xff", "is not UTF-8"),
        ("uint64", 8, b"\xff" * 8, "more than a feature holds"),
        ("ndarray", None, b"", "does not begin with the type and the shape"),
        ("ndarray", None, b"\x07\x04\x01", "does not begin with the type and the shape"),
        ("ndarray", None, b"\x41\x04\x02" + bytes(8), "its shape needs 16"),
        ("ndarray:int64", None, b"\xff" * 20, "does not begin|its shape needs"),
        ("ndarray", None, b"\x41\x0b" + struct.pack("<2Q", 0, 2**63), "has the shape"),
        ("pil", None, b"", "fewer than the size of an image"),
        ("pil", None, struct.pack("<3I", 2**31, 2**31, 3) + b"RGB", "needs others"),
        ("pil", None, struct.pack("<3I", 1, 1, 4) + b"I;16" + b"ab", "mode 'I;16'"),
        ("list[jpeg]", None, bytes(4) + b"\xff" * 4, "states 4294967295 items"),
        ("list[jpeg]", None, bytes(4) + struct.pack("<2I", 1, 9) + b"x", "its items need"),
    ],
)
def test_a_value_that_lies_is_refused_with_its_sample(
    tmp_path: Path, encoding: str, size: int | None, value: bytes, text: str
) -> None:
    good = {"str": b"a", "uint64": bytes(8), "ndarray": b"\x41\x04\x01" + bytes(8)}.get(encoding)
    values = [value] if good is None else [good, value]
    folder = mds_of(tmp_path / "set", encoding, size, values)
    with pytest.raises(fastrec.CorruptRecordError, match=text) as caught:
        fastrec.convert(folder, tmp_path / "back")
    assert caught.value.record == len(values) - 1
    assert caught.value.path == str(folder / "a.mds")
    assert f"sample {len(values) - 1} at " in str(caught.value)
    assert os.listdir(tmp_path) == ["set"]


def test_arrays_of_two_kinds_in_a_column_are_refused(tmp_path: Path) -> None:
    values = [b"\x41\x04\x01" + bytes(8), b"\x41\x08\x01\x01" + bytes(8)]
    folder = mds_of(tmp_path / "set", "ndarray", None, values)
    with pytest.raises(fastrec.CorruptRecordError, match="arrays of one kind"):
        fastrec.convert(folder, tmp_path / "back")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="requires named pipes")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["index.json", "shard"])
def test_a_pipe_in_place_of_a_file_does_not_block(tmp_path: Path, kind: str, name: str) -> None:
    source = rows(tmp_path / "a", 3)
    fastrec.convert(source, tmp_path / "set", target_format=kind)  # type: ignore[arg-type]
    [shard] = [path for path in (tmp_path / "set").iterdir() if path.name != "index.json"]
    path = shard if name == "shard" else tmp_path / "set" / name
    path.unlink()
    os.mkfifo(path)
    options: Any = {"source_format": kind}
    with pytest.raises(OSError, match="must be a regular file"):
        fastrec.convert(tmp_path / "set", tmp_path / "back", **options)


@needs_zstd
def test_a_compressed_shard_inflates_to_no_more_than_its_size(
    tmp_path: Path, recorded: Path
) -> None:
    shard = next((recorded / "mds" / "zstd").glob("*.zstd"))
    data = zstd.library().compressor(3)(struct.pack("<I", 5) + bytes(1 << 24))
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / shard.name).write_bytes(data)
    index = json.loads((recorded / "mds" / "zstd" / "index.json").read_bytes())
    index["shards"][0]["zip_data"] |= {"bytes": len(data), "hashes": {}}
    (tmp_path / "set" / "index.json").write_text(json.dumps(index))
    with pytest.raises(fastrec.FastrecError, match=r"its first sample|inflates to more"):
        fastrec.convert(tmp_path / "set", tmp_path / "back")
