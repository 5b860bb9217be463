# SPDX-License-Identifier: Apache-2.0
"""Buckets planned from the lengths of all records: counted, equal on all shards, elastic."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import fastrec

COUNT = 700
FEATURES = {
    "id": fastrec.FixedLenFeature((), np.int64),
    "tokens": fastrec.RaggedFeature(np.int64),
}
LENGTHS = np.random.default_rng(0).integers(1, 120, COUNT)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("buckets")
    with fastrec.Writer(folder / "a.tfrecord", shards=3, index=True) as writer:
        for number, length in enumerate(LENGTHS.tolist()):
            writer.write({"id": number, "tokens": [number] * length})
    return f"{folder}/a-*"


def batcher(source: str, batch_size: int = 8, **options: Any) -> fastrec.Batcher:
    tokens = options.pop("tokens", None)
    buckets = fastrec.Buckets("tokens", [30, 60, 90], tokens=tokens, window=100, planned=True)
    return fastrec.Batcher(source, FEATURES, batch_size, seed=1, buckets=buckets, **options)


@pytest.mark.parametrize("tokens", [None, 500])
@pytest.mark.parametrize("shuffle", [False, True, "blocks"])
def test_an_epoch_is_counted_and_has_each_record_once(
    source: str, tokens: int | None, shuffle: Any
) -> None:
    batches = list(batcher(source, shuffle=shuffle, tokens=tokens))
    assert len(batches) == len(batcher(source, shuffle=shuffle, tokens=tokens))
    ids = np.concatenate([batch["id"] for batch in batches])
    assert sorted(ids.tolist()) == list(range(COUNT))
    for batch in batches:
        lengths = batch["tokens/length"]
        assert lengths.tolist() == LENGTHS[batch["id"]].tolist()
        bounds = np.searchsorted([30, 60, 90], lengths)
        assert len(set(bounds.tolist())) == 1
        for row, length in enumerate(lengths.tolist()):
            assert (batch["tokens"][row, :length] == batch["id"][row]).all()
            assert not batch["tokens"][row, length:].any()
        if tokens is not None:
            assert batch["tokens"].size <= tokens or len(batch["id"]) == 1


@pytest.mark.parametrize("uneven", ["drop", "pad"])
@pytest.mark.parametrize("shards", [2, 3, 5])
def test_all_shards_make_batches_of_the_same_buckets(source: str, uneven: Any, shards: int) -> None:
    parts = [
        list(batcher(source, shuffle=True, shard=(shard, shards), uneven=uneven))
        for shard in range(shards)
    ]
    assert len({len(part) for part in parts}) == 1
    for step in zip(*parts, strict=True):
        assert len({len(batch["id"]) for batch in step}) == 1
        buckets = {tuple(np.searchsorted([30, 60, 90], b["tokens/length"]).tolist()) for b in step}
        assert len({number for each in buckets for number in each}) == 1


@pytest.mark.parametrize("tokens", [None, 960])
def test_global_batches_are_the_same_for_any_number_of_shards(
    source: str, tokens: int | None
) -> None:
    def global_batches(shards: int) -> list[list[int]]:
        buckets = fastrec.Buckets(
            "tokens",
            [30, 60, 90],
            tokens=None if tokens is None else tokens // shards,
            window=192 // shards,
            planned=True,
        )
        parts = [
            list(
                fastrec.Batcher(
                    source,
                    FEATURES,
                    24 // shards,
                    shuffle=True,
                    seed=1,
                    buckets=buckets,
                    shard=(shard, shards),
                    uneven="pad",
                )
            )
            for shard in range(shards)
        ]
        return [
            list(dict.fromkeys(number for batch in step for number in batch["id"].tolist()))
            for step in zip(*parts, strict=True)
        ]

    expected = global_batches(1)
    for shards in (2, 3, 4, 6):
        assert global_batches(shards) == expected


def test_shards_that_may_differ_in_length_are_refused(source: str) -> None:
    with pytest.raises(ValueError, match="uneven must be 'drop' or 'pad', got 'longer'"):
        list(batcher(source, shard=(0, 2)))


def test_a_run_resumes_exactly(source: str) -> None:
    batches = iter(batcher(source, shuffle=True, epochs=2))
    for _ in range(9):
        next(batches)
    state = json.loads(json.dumps(batches.state_dict()))
    rest = [batch["id"].tolist() for batch in batches]
    resumed = batcher(source, shuffle=True, epochs=2)
    resumed.load_state_dict(state)
    assert [batch["id"].tolist() for batch in resumed] == rest


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shuffle": 100}, "planned buckets and shuffle=N"),
        ({"on_error": "skip"}, "planned buckets and on_error"),
        ({"batch_across_epochs": True}, "planned buckets and batch_across_epochs"),
    ],
    ids=repr,
)
def test_options_without_a_plan_are_refused(
    source: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        batcher(source, **options)
