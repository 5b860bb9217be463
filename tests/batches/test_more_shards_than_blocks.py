# SPDX-License-Identifier: Apache-2.0
"""Shards that have no block of an epoch, and more shards than virtual shards."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import Batcher
from fastrec.storage.locations import locate
from fastrec.storage.options import StorageOptions

FEATURES = {"i": fastrec.FixedLenFeature((), np.int64)}
COUNT = 10
ROWS = {
    "longer": [1] * 10 + [0] * 6,
    "drop": [0] * 16,
    "pad": [1] * 16,
}


@pytest.fixture(params=["plain", "compressed", "compressed, indexed", "remote"])
def few(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Ten records, which are one block."""
    kind = request.param
    path = tmp_path / ("x.tfrecord.gz" if "compressed" in kind else "x.tfrecord")
    with fastrec.Writer(path, index=kind != "compressed") as writer:
        writer.write_batch({"i": np.arange(COUNT)})
    if kind != "remote":
        return str(path)
    obstore = pytest.importorskip("obstore")
    root = f"memory://{tmp_path.name}"
    for name in (path.name, f"{path.name}.frindex"):
        store: Any = locate(f"{root}/", StorageOptions()).store
        obstore.put(store._writer, name, (tmp_path / name).read_bytes())
    return f"{root}/{path.name}"


@pytest.mark.parametrize("shuffle", ["blocks", True, False, 5])
@pytest.mark.parametrize("uneven", ROWS)
def test_a_shard_without_a_block_is_handled_as_uneven_says(
    few: str, shuffle: Any, uneven: Any
) -> None:
    epochs: list[list[int]] = [[], []]
    rows = []
    for rank in range(16):
        batcher = Batcher(
            few, FEATURES, 2, shuffle=shuffle, seed=0, shard=(rank, 16), uneven=uneven
        )
        for epoch in epochs:
            own = [i for batch in batcher for i in batch["i"].tolist()]
            epoch += own
        rows.append(len(own))
        assert list(batcher) == [] or rows[-1]
    assert rows == ROWS[uneven]
    for epoch in epochs:
        counts = Counter(epoch)
        assert len(counts) == (0 if uneven == "drop" else COUNT)
        assert sum(counts.values()) == sum(rows)


def test_a_shard_without_a_batch_warns_where_short_batches_are_dropped(few: str) -> None:
    batcher = Batcher(
        few, FEATURES, 2, shuffle="blocks", seed=0, shard=(3, 16), drop_remainder=True
    )
    with pytest.warns(RuntimeWarning, match="leaves no batch of 2 records"):
        assert list(batcher) == []


@pytest.mark.parametrize("world", [17, 64, 65])
def test_more_shards_than_lanes_read_each_record_once_and_warn_once(
    tmp_path: Path, world: int
) -> None:
    path = tmp_path / "x.tfrecord"
    with fastrec.Writer(path) as writer:  # 20 MB, so 16 virtual shards of 4 lanes
        for i in range(200):
            writer.write({"i": i, "x": bytes(100_000)})
    seen: list[list[int]] = [[], []]
    messages = 0
    for rank in range(world):
        batcher = Batcher(path, FEATURES, 2, shuffle="blocks", seed=0, shard=(rank, world))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for epoch in seen:
                epoch += [i for batch in batcher for i in batch["i"].tolist()]
        texts = [str(each.message) for each in caught]
        messages += len(texts)
        assert all(f"{world} shards share 64 lanes" in text for text in texts)
    assert messages == (world if world > 64 else 0)
    assert sorted(seen[0]) == sorted(seen[1]) == list(range(200))
    assert seen[0] != seen[1]
