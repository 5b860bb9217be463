# SPDX-License-Identifier: Apache-2.0
"""Conversion to and from NPZ: arrays keep their values, types and shapes."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from verbs import write

import fastrec
from fastrec import cli

N = 60


def sample_arrays() -> dict[str, Any]:
    random = np.random.default_rng(0)
    return {
        "label": random.integers(-9, 9, N),
        "image": random.integers(0, 255, (N, 4, 5, 3)).astype(np.uint8),
        "vector": random.random((N, 4)).astype(np.float32),
        "double": random.random(N),
        "name": np.array([b"name%d" % i for i in range(N)]),
        "half": random.random((N, 2, 2)).astype(np.float16),
        "flag": random.random(N) > 0.5,
        "big": np.arange(N, dtype=">i2"),
    }


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def assert_equal(found: Any, expected: dict[str, Any]) -> None:
    assert sorted(found) == sorted(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype.newbyteorder("="), name
        assert found[name].shape == array.shape, name
        np.testing.assert_array_equal(found[name], array, name)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_come_back_with_their_types_and_shapes(tmp_path: Path, save: Any) -> None:
    arrays = sample_arrays()
    save(tmp_path / "a.npz", **arrays)
    records = tmp_path / "a.tfrecord"
    assert fastrec.convert(tmp_path / "a.npz", records).records == N
    features: Any = fastrec.infer_features(records)
    assert features["image"].encoding == "npy"
    assert (features["label"].shape, features["vector"].shape) == ((), (4,))
    done = fastrec.convert(records, tmp_path / "b.npz")
    assert done == (N, [str(tmp_path / "b.npz")], [], [])
    with np.load(tmp_path / "b.npz", allow_pickle=False) as found:
        assert_equal(found, arrays)


@settings(max_examples=30)
@given(data=st.data())
def test_any_array_of_numbers_comes_back(
    tmp_path_factory: pytest.TempPathFactory, data: Any
) -> None:
    folder = tmp_path_factory.mktemp("npz")
    rows = data.draw(st.integers(1, 5))
    dtypes = st.sampled_from(["bool", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "c8", ">f4", ">i8"])
    shapes = arrays_of.array_shapes(min_dims=1, max_dims=3, max_side=3)
    arrays = {}
    for name in data.draw(st.sets(st.sampled_from(["a", "b/c", "é"]), min_size=1)):
        shape = (rows, *data.draw(st.just(()) | shapes))
        arrays[name] = data.draw(arrays_of.arrays(data.draw(dtypes), shape))
    np.savez(folder / "a.npz", **arrays)
    fastrec.convert(folder / "a.npz", folder / "records")
    fastrec.convert(folder / "records", folder / "b.npz")
    with np.load(folder / "b.npz", allow_pickle=False) as found:
        assert_equal(found, arrays)


def test_shards_hold_a_number_of_rows(tmp_path: Path) -> None:
    arrays = sample_arrays()
    np.savez(tmp_path / "a.npz", **arrays)
    fastrec.convert(tmp_path / "a.npz", tmp_path / "records")
    done = fastrec.convert(tmp_path / "records", tmp_path / "b.npz", shard_records=24)
    assert [len(np.load(path)["label"]) for path in done.paths] == [24, 24, 12]
    fastrec.convert(done.paths, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "records").read_bytes()


def test_chosen_features_are_written(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **sample_arrays())
    fastrec.convert(tmp_path / "a.npz", tmp_path / "records")
    fastrec.convert(tmp_path / "records", tmp_path / "b.npz", features=["label", "image"])
    assert sorted(np.load(tmp_path / "b.npz")) == ["image", "label"]
    with pytest.raises(ValueError, match="features: 'x' is in no record"):
        fastrec.convert(tmp_path / "records", tmp_path / "c.npz", features=["x"])


def test_texts_become_bytes(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", text=np.array(["Grüße", "", "x"]))
    fastrec.convert(tmp_path / "a.npz", tmp_path / "records")
    fastrec.convert(tmp_path / "records", tmp_path / "b.npz")
    assert np.load(tmp_path / "b.npz")["text"].tolist() == ["Grüße".encode(), b"", b"x"]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([{"x": [1]}, {"x": [1, 2]}], "'x' has values of different number"),
        ([{"x": b"a\0"}], "'x' has bytes that end in a zero"),
        ([{"x": b"a" * 900_000}, *[{"x": b"b"}] * 20], "'x' has bytes of very different sizes"),
    ],
)
def test_what_arrays_cannot_hold_is_refused_by_name(
    tmp_path: Path, rows: list[Any], text: str
) -> None:
    source, target = tmp_path / "source", tmp_path / "a.npz"
    with fastrec.Writer(source) as writer:
        for row in rows:
            writer.write(row)
    with pytest.raises(ValueError, match=text):
        fastrec.convert(source, target)
    assert not target.exists()


def test_a_file_without_records_has_no_arrays(tmp_path: Path) -> None:
    fastrec.convert(write(tmp_path / "source", []), tmp_path / "a.npz")
    assert list(np.load(tmp_path / "a.npz")) == []
    assert fastrec.convert(tmp_path / "a.npz", tmp_path / "back").records == 0


def test_outputs_follow_the_rules_of_all_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(3))
    fastrec.convert(tmp_path / "a.npz", tmp_path / "records")
    before = (tmp_path / "a.npz").read_bytes()
    with pytest.raises(FileExistsError):
        fastrec.convert(tmp_path / "records", tmp_path / "a.npz")
    with pytest.raises(FileExistsError, match="an input of the same call"):
        fastrec.convert(
            tmp_path / "a.npz", tmp_path / "a.npz", target_format="tfrecord", overwrite=True
        )
    for options in ({"compression": "GZIP"}, {"raw": True}, {"text": True}):
        with pytest.raises(ValueError, match=next(iter(options))):
            fastrec.convert(tmp_path / "records", tmp_path / "b.npz", **options)
    assert (tmp_path / "a.npz").read_bytes() == before
    assert cli.main(["convert", str(tmp_path / "a.npz"), "-o", str(tmp_path / "c.tfrecord")]) == 0


# -- Hostile files ---------------------------------------------------------------------------------


def archive(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, data in members.items():
            file.writestr(f"{name}.npy", data)
    return path


def npy(fields: str, content: bytes = b"") -> bytes:
    text = fields.encode()
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + content


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"text", "not an array"),
        (npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"), "cannot be stored"),
        (npy("{'descr': '<i8', 'fortran_order': False, 'shape': ()}", bytes(8)), "no rows"),
        (npy("{'descr': '<i8', 'fortran_order': True, 'shape': (2, 2)}", bytes(32)), "Fortran"),
        (npy("{'descr': '<i8', 'fortran_order': False, 'shape': (9,)}", bytes(8)), "truncated"),
        (npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}", bytes(9)), "longer"),
        (npy("{'descr': '<i8', 'fortran_order': False, 'shape': (2**39, 2**39)}"), "truncated|not"),
        (npy("{'descr': '<i8', 'fortran_order': False, 'shape': (549755813888, 1)}"), "truncated"),
        (
            npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1, 549755813888)}"),
            "more than a record",
        ),
        (npy("__import__('os').abort()"), "not an array"),
    ],
)
def test_a_member_that_lies_is_refused_by_name(tmp_path: Path, data: bytes, text: str) -> None:
    path = archive(tmp_path / "a.npz", x=data)
    with pytest.raises((fastrec.CorruptRecordError, ValueError), match=text):
        fastrec.convert(path, tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_arrays_of_different_lengths_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(3), y=np.arange(4))
    with pytest.raises(ValueError, match="3 in 'x', 4 in 'y'"):
        fastrec.convert(tmp_path / "a.npz", tmp_path / "back")


def test_a_file_cut_or_changed_anywhere_gives_no_wrong_record(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.arange(50), s=np.array([b"ab", b"c"] * 25))
    data = (tmp_path / "a.npz").read_bytes()
    fastrec.convert(tmp_path / "a.npz", tmp_path / "records")
    expected = (tmp_path / "records").read_bytes()
    for size in range(0, len(data), 61):
        with pytest.raises(fastrec.CorruptRecordError):
            fastrec.convert(put(tmp_path / "b.npz", data[:size]), tmp_path / "back")
    directory = data.index(b"PK\1\2")
    for place in (*range(0, directory, 29), *range(directory, len(data))):
        for bit in (1, 32):
            changed = bytearray(data)
            changed[place] ^= bit
            path = put(tmp_path / "b.npz", bytes(changed))
            try:
                fastrec.convert(path, tmp_path / "back", overwrite=True)
            except (fastrec.CorruptRecordError, ValueError):
                continue
            assert (tmp_path / "back").read_bytes() == expected


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("code", [0xD800, 0x110000, 0xFFFFFFFF])
def test_text_without_characters_is_refused_by_row(tmp_path: Path, code: int, order: str) -> None:
    codes = np.array([65, 66, code], f"{order}u4")
    header = f"{{'descr': '{order}U1', 'fortran_order': False, 'shape': (3,)}}"
    path = archive(tmp_path / "a.npz", x=npy(header, codes.tobytes()))
    with pytest.raises(fastrec.CorruptRecordError, match=f"row 2 of the array 'x'.*0x{code:X}"):
        fastrec.convert(path, tmp_path / "back")


def test_rows_without_elements_are_limited(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros((1000, 0)))
    assert fastrec.convert(tmp_path / "a.npz", tmp_path / "few").records == 1000
    np.savez(tmp_path / "a.npz", x=np.zeros((2000, 0)), y=np.zeros(2000, np.int64))
    assert fastrec.convert(tmp_path / "a.npz", tmp_path / "many").records == 2000
    np.savez(tmp_path / "a.npz", x=np.zeros((3_000_000, 0)))
    with pytest.raises(ValueError, match="at most 1000 rows, got 3000000"):
        fastrec.convert(tmp_path / "a.npz", tmp_path / "back")


@pytest.mark.parametrize("name", ["a\0b", "a" * 65_532])
def test_a_name_that_an_archive_cannot_hold_is_refused(tmp_path: Path, name: str) -> None:
    with fastrec.Writer(tmp_path / "source") as writer:
        writer.write({name: 1})
    with pytest.raises(ValueError, match="must have a name of UTF-8"):
        fastrec.convert(tmp_path / "source", tmp_path / "a.npz")
    assert not (tmp_path / "a.npz").exists()
