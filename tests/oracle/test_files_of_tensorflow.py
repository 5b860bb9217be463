# SPDX-License-Identifier: Apache-2.0
"""TensorFlow reads what fastrec writes, fastrec reads what TensorFlow wrote, to the bit."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from verbs import flip, read

import fastrec

SIZES = [0, 1, 2, 7, 8, 63, 64, 65, 255, 1000, 4096, 100_000]


def some_records(seed: int, count: int = 50) -> list[bytes]:
    make = random.Random(seed)
    return [make.randbytes(make.choice(SIZES)) for _ in range(count)]


def tf_write(tf: Any, path: Path, records: Iterable[bytes], kind: str = "") -> bytes:
    with tf.io.TFRecordWriter(str(path), kind) as writer:
        for i, record in enumerate(records):
            writer.write(record)
            if i % 7 == 6:
                writer.flush()
    return path.read_bytes()


def tf_read(tf: Any, path: Path, kind: str = "") -> list[bytes]:
    return [tensor.numpy() for tensor in tf.data.TFRecordDataset(str(path), kind)]


def tf_outcome(tf: Any, path: Path) -> tuple[list[bytes], bool]:
    """The records before the end, and whether the end was an error."""
    records = []
    try:
        for record in tf.compat.v1.io.tf_record_iterator(str(path)):
            records.append(record)
    except tf.errors.OpError:
        return records, True
    return records, False


@pytest.mark.parametrize("seed", range(5))
def test_plain_files_are_the_same_bytes(tf: Any, tmp_path: Path, seed: int) -> None:
    records = some_records(seed)
    with fastrec.Writer(tmp_path / "ours") as writer:
        for record in records:
            writer.write(record)
    theirs = tf_write(tf, tmp_path / "theirs", records)
    assert (tmp_path / "ours").read_bytes() == theirs == reference.write_frames(records)
    assert tf_read(tf, tmp_path / "ours") == records
    assert read(tmp_path / "theirs") == (records, None)
    assert fastrec.verify(tmp_path / "theirs").records == len(records)


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
@pytest.mark.parametrize("count", [0, 1, 200])
def test_compressed_files_are_read_both_ways(
    tf: Any, tmp_path: Path, kind: str, count: int
) -> None:
    records = some_records(count, count)
    with fastrec.Writer(tmp_path / "ours", compression=kind) as writer:
        for record in records:
            writer.write(record)
    tf_write(tf, tmp_path / "theirs", records, kind)
    assert tf_read(tf, tmp_path / "ours", kind) == records
    assert read(tmp_path / "theirs") == read(tmp_path / "theirs", compression=kind)
    assert read(tmp_path / "theirs") == (records, None)


def test_columns_become_what_tensorflow_writes(tf: Any, tmp_path: Path) -> None:
    table = {
        "label": np.arange(-50, 50),
        "image": np.arange(1200, dtype=np.uint8).reshape(100, 4, 3),
        "score": np.linspace(-1e30, 1e30, 200).reshape(100, 2),
        "name": [f"name {i} \N{SNOWMAN}" for i in range(100)],
    }
    with fastrec.Writer(tmp_path / "ours") as writer:
        writer.write_batch(table)
    for i, data in enumerate(tf_read(tf, tmp_path / "ours")):
        feature = tf.train.Example.FromString(data).features.feature
        assert feature["label"].int64_list.value == [i - 50]
        assert feature["image"].bytes_list.value == [table["image"][i].tobytes()]
        assert feature["score"].float_list.value == table["score"][i].astype(np.float32).tolist()
        assert feature["name"].bytes_list.value == [table["name"][i].encode()]
        theirs = tf.train.Example.FromString(data).SerializeToString(deterministic=True)
        assert data == theirs


def test_damage_that_tensorflow_finds_is_found(tf: Any, tmp_path: Path) -> None:
    records = [b"first record", b"", b"and a third one"]
    frames = reference.write_frames(records)
    damaged = [frames[:size] for size in range(len(frames))]
    damaged += [flip(frames, bit) for bit in range(8 * len(frames))]
    damaged += [frames + bytes(size) for size in range(1, 40)]
    more = random.Random(1)
    for _ in range(300):
        data = flip(flip(frames, more.randrange(8 * len(frames))), more.randrange(8 * len(frames)))
        damaged.append(data[: more.randrange(len(data) + 1)] + more.randbytes(more.randrange(20)))
    path = tmp_path / "damaged"
    silent = 0
    for data in damaged:
        path.write_bytes(data)
        theirs, they_failed = tf_outcome(tf, path)
        ours, error = read(path, compression=None)
        assert ours == theirs
        assert error is not None or not they_failed
        silent += error is not None and not they_failed
    assert silent > 0, "TensorFlow takes a torn header for the end of the file, and we do not"
