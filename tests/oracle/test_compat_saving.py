# SPDX-License-Identifier: Apache-2.0
"""Elements that TensorFlow or ``fastrec.compat.v2`` saves, and either loads."""

from __future__ import annotations

import collections
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from v2_programs import plain

import fastrec.compat.v2 as ours

Pair = collections.namedtuple("Pair", ["one", "two"])


def elements(tf: Any) -> Any:
    rows = {
        "number": np.arange(7),
        "nested": (["x", "yy", "z" * 300, "", "q", "r", "s"], np.ones((7, 2), np.float32)),
        "pair": Pair([True] * 7, np.arange(7, dtype=np.uint64) << 60),
    }

    def more(row: Any) -> Any:
        sparse = tf.sparse.from_dense(tf.stack([row["number"], [0, 5][0], 2]))
        ragged = tf.ragged.constant([[[1], [2, 3]], []])
        return {
            **row,
            "sparse": sparse,
            "ragged": ragged,
            "text": tf.ragged.constant([["a"], ["b", "c"]]),
            "range": tf.range(row["number"]),
        }

    return tf.data.Dataset.from_tensor_slices(rows).map(more)


def shown(dataset: Any) -> Any:
    return [sorted((key, plain(each)) for key, each in row.items()) for row in dataset]


@pytest.mark.parametrize("compression", [None, "GZIP"])
@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("writes", ["theirs", "ours"])
def test_what_one_saves_both_load(
    tf: Any, tmp_path: Path, writes: str, sharded: bool, compression: str | None
) -> None:
    folder = str(tmp_path / "saved")
    writer = ours if writes == "ours" else tf
    options = {"shard_func": lambda row: row["number"] % 3} if sharded else {}
    elements(writer).save(folder, compression=compression, **options)
    found = [m.data.Dataset.load(folder, compression=compression) for m in (tf, ours)]
    theirs, here = found
    assert shown(here) == shown(theirs)
    assert {k: repr(v) for k, v in here.element_spec.items()} == {
        k: repr(v) for k, v in theirs.element_spec.items()
    }
    assert int(here.cardinality()) == int(theirs.cardinality()) == 7
    if sharded:
        in_order = [
            m.data.Dataset.load(
                folder, compression=compression, reader_func=lambda ds: ds.flat_map(lambda x: x)
            )
            for m in (tf, ours)
        ]
        assert shown(in_order[1]) == shown(in_order[0])


def test_damage_and_absence_are_errors(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    with pytest.raises(ours.errors.NotFoundError):
        ours.data.Dataset.load(str(folder))
    ours.data.Dataset.range(5).save(str(folder))
    spec = (folder / "dataset_spec.pb").read_bytes()
    for end in range(len(spec)):
        (folder / "dataset_spec.pb").write_bytes(spec[:end])
        with pytest.raises(ours.errors.DataLossError):
            ours.data.Dataset.load(str(folder))
    (folder / "dataset_spec.pb").write_bytes(spec)
    (records,) = folder.glob("*/*/*.snapshot")
    whole = records.read_bytes()
    for end in range(1, len(whole)):
        records.write_bytes(whole[:end])
        dataset = ours.data.Dataset.load(str(folder))
        with pytest.raises(ours.errors.DataLossError):
            list(dataset)
    other = ours.data.Dataset.load(str(folder), ours.TensorSpec([], "float32"))
    records.write_bytes(whole)
    with pytest.raises(ours.errors.DataLossError):
        list(other)
    with pytest.raises(TypeError):
        ours.data.Dataset.from_tensors((1, None)).save(str(tmp_path / "other"))
