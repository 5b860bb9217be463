# SPDX-License-Identifier: Apache-2.0
"""A shuffle buffer over objects fetches each record once, as it enters the buffer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from object_server import Objects, ObjectServer

import fastrec
from fastrec.batches import fetch_plans

FEATURES = {"i": fastrec.FixedLenFeature((), np.int64)}
COUNTS = (700, 0, 1, 433, 299)


class Sources(NamedTuple):
    paths: list[str]
    urls: list[str]
    server: ObjectServer


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sources]:
    pytest.importorskip("obstore")
    folder = tmp_path_factory.mktemp("buffers")
    begin = 0
    paths = []
    for number, count in enumerate(COUNTS):
        paths.append(str(folder / f"{number}.tfrecord"))
        with fastrec.Writer(paths[-1], index=True) as writer:
            for i in range(begin, begin + count):
                writer.write({"i": i, "x": bytes(i % 97)})
        begin += count
    with ObjectServer(Objects({p.name: p.read_bytes() for p in folder.iterdir()})) as server:
        yield Sources(paths, [f"{server.url}/{Path(path).name}" for path in paths], server)


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_plans, "_FIRST_GROUP", 3000)
    monkeypatch.setattr(fetch_plans, "_LEAST_GROUP", 1 << 14)  # groups of 4 KiB


def batches_of(source: Any, state: Any = None, **options: Any) -> tuple[list[list[int]], Any]:
    """Return the batches, and a state from the middle."""
    batcher = fastrec.Batcher(source, FEATURES, seed=5, **options)
    if state is not None:
        batcher.load_state_dict(state)
    found, middle, stop = [], None, len(batcher) // 2
    batches = iter(batcher)
    for batch in batches:
        found.append(batch["i"].tolist())
        if len(found) == stop:
            middle = batches.state_dict()
    return found, middle


@pytest.mark.usefixtures("small_groups")
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    buffer=st.sampled_from([2, 17, 300, 5000]),
    batch_size=st.sampled_from([7, 64]),
    shard=st.sampled_from([(1, 2), (2, 3), (4, 5)]),
    uneven=st.sampled_from(["longer", "drop", "pad"]),
    epochs=st.sampled_from([1, 2]),
    across=st.booleans(),
    drop=st.booleans(),
    interleave=st.sampled_from([None, 2]),
)
def test_batches_and_states_are_those_of_local_files(
    sources: Sources,
    buffer: int,
    batch_size: int,
    shard: tuple[int, int],
    uneven: Any,
    epochs: int,
    across: bool,
    drop: bool,
    interleave: int | None,
) -> None:
    options: dict[str, Any] = {
        "shuffle": buffer,
        "batch_size": batch_size,
        "shard": shard,
        "uneven": uneven,
        "epochs": epochs,
        "batch_across_epochs": across,
        "drop_remainder": drop,
        "interleave": interleave,
    }
    local, state = batches_of(sources.paths, **options)
    remote, remote_state = batches_of(sources.urls, **options)
    assert remote == local
    if state is not None:
        assert state["epoch"] == remote_state["epoch"]
        assert state["used"] == remote_state["used"]
        rest, _ = batches_of(sources.paths, state, **options)
        assert batches_of(sources.urls, remote_state, **options)[0] == rest


@pytest.mark.usefixtures("small_groups")
def test_each_byte_of_a_rank_is_fetched_once(sources: Sources) -> None:
    del sources.server.requests[:]
    found, _ = batches_of(sources.urls, shuffle=300, batch_size=16, shard=(0, 2))
    ranges = [
        (each.path, *each.range)
        for each in sources.server.requests
        if each.path.endswith(".tfrecord") and each.range and each.range[1] > 100
    ]
    fetched = Counter((path, at) for path, begin, last in ranges for at in range(begin, last + 1))
    assert max(fetched.values()) <= 2  # the first bytes are also fetched to detect compression
    assert sum(map(len, found)) == pytest.approx(sum(COUNTS) / 2, abs=16)


@pytest.mark.usefixtures("small_groups")
def test_drawn_records_do_not_stay_in_memory(sources: Sources) -> None:
    held = fetch_plans._Held()
    kept: dict[int, int] = {}
    generator = np.random.default_rng(0)
    buffer, most = np.empty(0, np.uint64), 0
    for group in range(400):
        entering = np.arange(group * 100, group * 100 + 100, dtype=np.uint64)
        held.add(entering, group)
        kept[group] = 100
        buffer = np.append(buffer, entering)
        while len(buffer) > 1000:
            at = generator.choice(len(buffer), 10, replace=False)
            assert held.find(buffer[at]) is not None
            last, rest = held.take(buffer[at])
            buffer = np.delete(buffer, at)
            for number in last:
                del kept[number]
            kept.update({number: len(numbers) for number, numbers in rest.items()})
        most = max(most, sum(kept.values()))
    assert most <= 2 * 1100
    assert sum(kept.values()) >= len(buffer)
