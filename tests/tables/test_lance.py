# SPDX-License-Identifier: Apache-2.0
"""Conversion to and from Lance, through its package."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec

pa = pytest.importorskip("pyarrow")
N = 5000


def rows(path: Path, count: int = N) -> Path:
    with fastrec.Writer(path) as writer:
        for i in range(count):
            row: dict[str, Any] = {
                "b": bytes([i % 256, 0, 255]), "f": np.array([0.5 * i, 1.0], np.float32),
                "i": i, "s": f"t\u00e9xt {i}",
            }  # fmt: skip
            if i % 3:
                row["r"] = np.arange(i % 3)
            if i % 5:
                row["o"] = i
            writer.write(dict(sorted(row.items())))
    return path


def test_records_come_back_from_lance(tmp_path: Path) -> None:
    lance = pytest.importorskip("lance")
    source, target = rows(tmp_path / "a.tfrecord"), tmp_path / "a.lance"
    done = fastrec.convert(source, target, shard_records=2000)
    assert done == (N, [str(target)], ["s"], [])
    dataset = lance.dataset(str(target))
    assert [each.count_rows() for each in dataset.get_fragments()] == [2000, 2000, 1000]
    assert dataset.to_table().slice(4, 1).to_pylist() == [
        {"b": b"\x04\0\xff", "f": [2.0, 1.0], "i": 4, "o": 4, "r": [0], "s": "t\u00e9xt 4"}
    ]
    renamed = target.rename(tmp_path / "any name")
    fastrec.convert(renamed, tmp_path / "back")
    features = fastrec.infer_features(source, None)
    values, back = (
        fastrec.parse_example(list(fastrec.Reader(path)), features)
        for path in (source, tmp_path / "back")
    )
    for name in features:
        for a, b in zip(values[name], back[name], strict=True):
            np.testing.assert_array_equal(a, b)
    fastrec.convert(source, tmp_path / "a.parquet")
    fastrec.convert(tmp_path / "a.parquet", tmp_path / "same")
    assert list(fastrec.Reader(tmp_path / "back")) == list(fastrec.Reader(tmp_path / "same"))


def test_the_same_values_as_from_parquet_come_from_lance(tmp_path: Path) -> None:
    lance = pytest.importorskip("lance")
    table = pa.table({
        "x": pa.array([1, None, 3], pa.int32()), "d": [0.5, 1.5, None], "t": ["a", "", None],
        "l": pa.array([[1], [], None], pa.list_(pa.int16())), "n": [[[1], []], [], None],
        "e": pa.array([[1, 2]] * 3, pa.list_(pa.int64(), 2)),
    })  # fmt: skip
    lance.write_dataset(table, str(tmp_path / "a.lance"))
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "a.parquet")
    for kind in ("lance", "parquet"):
        fastrec.convert(tmp_path / f"a.{kind}", tmp_path / kind)
    assert list(fastrec.Reader(tmp_path / "lance")) == list(fastrec.Reader(tmp_path / "parquet"))
    fastrec.convert(tmp_path / "a.lance", tmp_path / "few", features=["t", "x"])
    assert fastrec.infer_features(tmp_path / "few").keys() == {"t", "x"}
    with pytest.raises(ValueError, match="'y' is not a column"):
        fastrec.convert(tmp_path / "a.lance", tmp_path / "none", features=["y"])


def test_a_dataset_of_lance_appears_complete_and_is_never_replaced(tmp_path: Path) -> None:
    pytest.importorskip("lance")
    source, target = rows(tmp_path / "a.tfrecord", 3000), tmp_path / "a.lance"
    data = bytearray(source.read_bytes())
    data[-9] ^= 1
    (tmp_path / "bad").write_bytes(data)
    with pytest.raises(fastrec.CorruptRecordError, match="corrupted record"):
        fastrec.convert(tmp_path / "bad", target)
    assert sorted(os.listdir(tmp_path)) == ["a.tfrecord", "bad"]
    fastrec.convert(source, target)
    with pytest.raises(FileExistsError, match="the directory exists"):
        fastrec.convert(source, target, overwrite=True)
    with pytest.raises(ValueError, match="compression is part of Lance"):
        fastrec.convert(source, tmp_path / "b.lance", compression="zstd")


def test_damage_of_a_dataset_of_lance_is_named(tmp_path: Path) -> None:
    pytest.importorskip("lance")
    fastrec.convert(rows(tmp_path / "a", 100), tmp_path / "a.lance")
    [data] = (tmp_path / "a.lance" / "data").iterdir()
    content = data.read_bytes()
    for size in (0, len(content) // 2, len(content) - 1):
        data.write_bytes(content[:size])
        with pytest.raises(fastrec.CorruptRecordError, match=r"a\.lance' is not a whole Lance"):
            fastrec.convert(tmp_path / "a.lance", tmp_path / "back")
    data.unlink()
    with pytest.raises(fastrec.CorruptRecordError, match=r"a\.lance' is not a whole Lance"):
        fastrec.convert(tmp_path / "a.lance", tmp_path / "back")
    (tmp_path / "b.lance").mkdir()
    with pytest.raises(fastrec.CorruptRecordError, match=r"b\.lance' is not a whole Lance"):
        fastrec.convert(tmp_path / "b.lance", tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_the_package_for_lance_is_named_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lance", None)
    source = rows(tmp_path / "a", 3)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'fastrec-io\[lance\]'"):
        fastrec.convert(source, tmp_path / "a.lance")
    (tmp_path / "b.lance").mkdir()
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'fastrec-io\[lance\]'"):
        fastrec.convert(tmp_path / "b.lance", tmp_path / "back")
    assert sorted(os.listdir(tmp_path)) == ["a", "b.lance"]
