# SPDX-License-Identifier: Apache-2.0
"""Mixtures whose weights change with the global step: exact counts, elastic, resumed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec

FEATURES = {
    "part": fastrec.FixedLenFeature((), np.int64),
    "id": fastrec.FixedLenFeature((), np.int64),
}
COUNTS = (50, 200, 90)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("mixture")
    paths = []
    for part, count in enumerate(COUNTS):
        path = folder / f"{part}.tfrecord"
        with fastrec.Writer(path) as writer:
            for number in range(count):
                writer.write({"part": part, "id": number, "tokens": [1] * (10 * (part + 1))})
        paths.append(str(path))
    return paths


def mixture(sources: list[str], **options: Any) -> fastrec.Mixture:
    given = {"until": 60, "schedule": [(20, [1, 1, 0]), (45, [0, 1, 3])], **options}
    return fastrec.Mixture(sources, [3, 1, 0], **given)


def steps(
    source: fastrec.Mixture, batch_size: int = 8, shards: int = 1, **options: Any
) -> list[np.ndarray[Any, Any]]:
    """The (part, id) of every record of each global step."""
    parts = [
        list(
            fastrec.Batcher(
                source, FEATURES, batch_size, shuffle=True, seed=2, shard=(shard, shards), **options
            )
        )
        for shard in range(shards)
    ]
    return [
        np.concatenate([np.stack([batch["part"], batch["id"]], 1) for batch in step])
        for step in zip(*parts, strict=True)
    ]


def test_each_stage_has_its_weights_exactly(sources: list[str]) -> None:
    found = steps(mixture(sources))
    assert len(found) == 60
    assert len(fastrec.Batcher(mixture(sources), FEATURES, 8, shuffle=True, seed=2)) == 60
    for begin, end, weights in ((0, 20, (3, 1, 0)), (20, 45, (1, 1, 0)), (45, 60, (0, 1, 3))):
        parts = np.concatenate(found[begin:end])[:, 0]
        counts = np.bincount(parts, minlength=3)
        assert counts.tolist() == [(end - begin) * 8 * w // sum(weights) for w in weights]


@pytest.mark.parametrize("first", [20, 5, 3])  # the last two end within a round of weights
def test_a_source_goes_on_where_the_stage_before_stopped(sources: list[str], first: int) -> None:
    source = mixture(sources, schedule=[(first, [2, 1, 0]), (first + 2, [0, 1, 3])])
    found = np.concatenate(steps(source, 7))
    for part, count in enumerate(COUNTS):
        ids = found[found[:, 0] == part][:, 1]
        for begin in range(0, len(ids), count):  # each pass has every record once
            assert len(set(ids[begin : begin + count])) == len(ids[begin : begin + count])


@pytest.mark.parametrize("shards", [2, 4, 8])
def test_global_steps_are_the_same_for_any_number_of_shards(
    sources: list[str], shards: int
) -> None:
    expected = [sorted(map(tuple, step.tolist())) for step in steps(mixture(sources), 16)]
    found = steps(mixture(sources), 16 // shards, shards)
    assert [sorted(map(tuple, step.tolist())) for step in found] == expected


def test_a_linear_schedule_moves_evenly(sources: list[str]) -> None:
    source = fastrec.Mixture(
        sources, [1, 0, 0], until=640, schedule=[(640, [0, 1, 0])], linear=True
    )
    found = steps(source)
    shares = [np.mean(np.concatenate(found[i : i + 160])[:, 0] == 0) for i in range(0, 640, 160)]
    assert np.allclose(shares, [0.89, 0.64, 0.39, 0.14], atol=0.04)


def test_a_run_resumes_exactly_and_may_change_what_comes(sources: list[str]) -> None:
    batches = iter(fastrec.Batcher(mixture(sources), FEATURES, 8, shuffle=True, seed=2))
    for _ in range(30):
        next(batches)
    state = json.loads(json.dumps(batches.state_dict()))
    rest = [batch["id"].tolist() for batch in batches]
    resumed = fastrec.Batcher(mixture(sources), FEATURES, 8, shuffle=True, seed=2)
    resumed.load_state_dict(state)
    assert [batch["id"].tolist() for batch in resumed] == rest
    other = mixture(sources, until=100, schedule=[(20, [1, 1, 0]), (40, [0, 0, 1])])
    changed = fastrec.Batcher(other, FEATURES, 8, shuffle=True, seed=2)
    changed.load_state_dict(state)
    found = list(changed)
    assert len(found) == 70
    assert [batch["id"].tolist() for batch in found[:10]] == rest[:10]
    assert all((batch["part"] == 2).all() for batch in found[10:])
    past = mixture(sources, schedule=[(10, [1, 1, 0]), (45, [0, 1, 3])])
    with pytest.raises(fastrec.FastrecError, match="schedule"):
        fastrec.Batcher(past, FEATURES, 8, shuffle=True, seed=2).load_state_dict(state)


def test_weights_by_tokens_share_out_tokens(sources: list[str]) -> None:
    source = fastrec.Mixture(sources, [1, 1, 2], until=200, by="len(tokens)")
    parts = np.concatenate(steps(source, 64))[:, 0]
    tokens = np.bincount(parts) * np.array([10, 20, 30])
    assert np.allclose(tokens / tokens.sum(), [0.25, 0.25, 0.5], atol=0.005)


def test_a_mixture_by_size_follows_the_temperature(sources: list[str]) -> None:
    assert fastrec.Mixture.by_size(sources, until=5).whole_weights == [5, 20, 9]
    flat = fastrec.Mixture.by_size(sources, temperature=1e9, until=5).whole_weights
    assert np.allclose(np.array(flat) / sum(flat), 1 / 3, atol=0.01)


def test_steps_may_be_numbers_of_numpy(sources: list[str]) -> None:
    source = mixture(sources, until=np.int64(60), schedule=[(np.int64(20), [1, 1, 0])])
    assert source.stages[1][0] == 20
    assert len(steps(source)) == 60


def test_weights_by_tokens_count_the_records_that_where_leaves(sources: list[str]) -> None:
    source = fastrec.Mixture(sources, [1, 1, 2], until=100, by="len(tokens)")
    parts = np.concatenate(steps(source, 64, where="id >= 10"))[:, 0]
    tokens = np.bincount(parts) * np.array([10, 20, 30])
    assert np.allclose(tokens / tokens.sum(), [0.25, 0.25, 0.5], atol=0.01)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"until": "first"}, "schedule requires until"),
        ({"until": 0}, "until"),
        ({"until": "never"}, "until must be 'first', 'last' or an int"),
        ({"schedule": [(0, [1, 1, 1])]}, "ascending steps above 0"),
        ({"schedule": [(5, [1, 1, 1]), (5, [1, 1, 1])]}, "ascending steps above 0"),
        ({"schedule": [(5, [1, 1])]}, "3 weights at step 5"),
        ({"schedule": [(5, [0, 0, 0])]}, "not all 0"),
        ({"schedule": [(5, [-1, 1, 1])]}, "at least 0"),
        ({"schedule": [(5, [float("nan"), 1, 1])]}, "must be a finite number"),
    ],
    ids=repr,
)
def test_wrong_schedules_are_refused(
    sources: list[str], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        mixture(sources, **options)


def test_a_second_epoch_and_several_epochs_are_refused(sources: list[str]) -> None:
    batcher = fastrec.Batcher(mixture(sources), FEATURES, 8, shuffle=True, seed=2)
    assert len(list(batcher)) == 60
    with pytest.raises(fastrec.FastrecError, match="one epoch"):
        next(iter(batcher))
    with pytest.raises(ValueError, match="mutually exclusive"):
        fastrec.Batcher(mixture(sources), FEATURES, 8, shuffle=True, seed=2, epochs=2)


def test_the_state_stays_small(sources: list[str], tmp_path: Path) -> None:
    batches = iter(fastrec.Batcher(mixture(sources), FEATURES, 8, shuffle=True, seed=2))
    next(batches)
    assert len(json.dumps(batches.state_dict())) < 1000
