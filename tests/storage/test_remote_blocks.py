# SPDX-License-Identifier: Apache-2.0
"""Blocks of objects give the batches of local files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from object_server import Objects, ObjectServer

import fastrec

FEATURES = {"i": fastrec.FixedLenFeature((), np.int64)}
COUNTS = (501, 0, 333, 190)
Sources = tuple[list[str], list[str]]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sources]:
    """Local files, and the same files in a store."""
    pytest.importorskip("obstore")
    folder, begin = tmp_path_factory.mktemp("blocks"), 0
    paths = [str(folder / f"{number}.tfrecord") for number in range(len(COUNTS))]
    for path, count in zip(paths, COUNTS, strict=True):
        with fastrec.Writer(path, index=True) as writer:
            for i in range(begin, begin + count):
                writer.write({"i": i, "x": bytes(900)})
        begin += count
    with ObjectServer(Objects({p.name: p.read_bytes() for p in folder.iterdir()})) as server:
        yield paths, [f"{server.url}/{Path(path).name}" for path in paths]


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    block=st.sampled_from([1, 7, 16, 60, 200]),
    window=st.sampled_from([1, 3]),
    batch_size=st.sampled_from([5, 32]),
    shard=st.sampled_from([(1, 2), (2, 3), (6, 7), (4, 8)]),
    uneven=st.sampled_from(["longer", "drop", "pad"]),
    epochs=st.sampled_from([1, 3]),
    reshuffle=st.booleans(),
    across=st.booleans(),
    drop=st.booleans(),
)
def test_ranks_get_the_batches_of_local_files(
    sources: Sources,
    block: int,
    window: int,
    batch_size: int,
    shard: tuple[int, int],
    uneven: Any,
    epochs: int,
    reshuffle: bool,
    across: bool,
    drop: bool,
) -> None:
    options: dict[str, Any] = {
        "shuffle": fastrec.BlockShuffle(block=block, window=window),
        "batch_size": batch_size,
        "shard": shard,
        "uneven": uneven,
        "epochs": epochs,
        "reshuffle": reshuffle,
        "batch_across_epochs": across,
        "drop_remainder": drop,
        "seed": 2,
    }
    local, remote = (
        [batch["i"].tolist() for batch in fastrec.Batcher(source, FEATURES, **options)]
        for source in sources
    )
    assert remote == local
