# SPDX-License-Identifier: Apache-2.0
"""A state says where a run stands, whoever reads it goes on from there, and no other run can."""

from __future__ import annotations

import gc
import json
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from verbs import gzipped, write, write_examples

import fastrec
from fastrec import Batcher

NUMBER = {"i": fastrec.FixedLenFeature((), np.int64)}
STATE = {"format": "fastrec.Batcher/3", "begin": 0, "epoch": 0, "used": 0, "item": 0}
STATE |= {"in_step": True}
SHUFFLES = [False, True, "blocks", fastrec.BlockShuffle(3, 2), 7, 1000]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("resume")
    ends = [0, 20, 20, 21, 50]
    return [
        write_examples(folder / f"part-{k}", ({"i": i} for i in range(ends[k], ends[k + 1])))
        for k in range(4)
    ]


@pytest.fixture(scope="module")
def packed(paths: list[Path]) -> list[Path]:
    """The same records, compressed."""
    for path in paths:
        path.with_suffix(".gz").write_bytes(gzipped(path.read_bytes()))
    return [path.with_suffix(".gz") for path in paths]


def drawn(batches: Any) -> list[list[int]]:
    return [batch["i"].tolist() for batch in batches]


def through_json(state: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(state)
    assert len(text) < 700
    loaded: dict[str, Any] = json.loads(text)
    assert loaded == state
    return loaded


@pytest.mark.filterwarnings("ignore:drop_remainder=True leaves no batch")
@given(
    size=st.integers(1, 20),
    epochs=st.integers(1, 3),
    drop=st.booleans(),
    across=st.booleans(),
    reshuffle=st.booleans(),
    shuffle=st.sampled_from(SHUFFLES),
    shard=st.sampled_from([(0, 1), (0, 3), (2, 3)]),
    uneven=st.sampled_from(["longer", "drop", "pad"]),
    threads=st.integers(1, 3),
    prefetch=st.integers(0, 4),
)
def test_resumed_at_every_position_a_run_is_as_if_uninterrupted(
    paths: list[Path], size: int, threads: int, **options: Any
) -> None:
    drop, across, epochs = options.pop("drop"), options.pop("across"), options["epochs"]
    prefetch = options.pop("prefetch")
    options |= {"drop_remainder": drop, "batch_across_epochs": across, "seed": 5}
    options["interleave"] = 2 if options["shuffle"] in (False, 7, 1000) else None
    batcher = Batcher(paths, NUMBER, size, **options, threads=threads, prefetch=prefetch)
    batches = iter(batcher)
    states, whole = [batches.state_dict()], []
    for batch in batches:
        whole.append(batch["i"].tolist())
        states.append(batches.get_state())
        assert states[-1] == batcher.state_dict()
        assert batches.epoch == (len(whole) - 1) // max(len(batcher) // epochs, 1) or across
    assert batches.state_dict() == batcher.state_dict() != states[-1]
    assert len(whole) == len(batcher) == len(states) - 1 or epochs == 0
    again = Batcher(paths, NUMBER, size, **options, threads=4 - threads)
    for done, state in enumerate(states):
        again.load_state_dict(through_json(state))
        with iter(again) as rest:
            assert drawn(islice(rest, 2)) == whole[done : done + 2]
    again.load_state_dict(states[len(whole) // 2])
    assert drawn(again) == whole[len(whole) // 2 :]
    assert again.epoch == epochs  # the next pass begins where this one would have ended
    again.set_epoch(0)
    assert drawn(again) == whole


@pytest.mark.parametrize("shuffle", [False, 7])
@pytest.mark.parametrize("span", [False, True])
@pytest.mark.parametrize("transform", [None, lambda batch: batch])
def test_streams_resume_too_and_give_what_plain_files_give(
    paths: list[Path], packed: list[Path], shuffle: Any, span: bool, transform: Any
) -> None:
    options: dict[str, Any] = {
        "shuffle": shuffle,
        "seed": 1,
        "epochs": 2,
        "batch_across_epochs": span,
    }
    options |= {"shard": (1, 3), "uneven": "pad", "interleave": 3, "transform": transform}
    whole = drawn(Batcher(paths, NUMBER, 4, **options))
    batches = iter(Batcher(packed, NUMBER, 4, **options))
    states = [batches.state_dict()]
    for batch, expected in zip(batches, whole, strict=True):
        assert batch["i"].tolist() == expected
        states.append(batches.state_dict())
    for done, state in enumerate(states):
        again = Batcher(packed, NUMBER, 4, **options)
        again.load_state_dict(through_json(state))
        assert drawn(again) == whole[done:]


def test_a_state_counts_what_was_delivered_not_what_was_prefetched(paths: list[Path]) -> None:
    batches = iter(Batcher(paths, NUMBER, 5, threads=4, prefetch=8))
    next(batches)
    time.sleep(0.1)  # by now the ring is full
    assert batches.state_dict()["used"] == 5
    batcher = Batcher(paths, NUMBER, 5)
    batcher.load_state_dict(batches.state_dict())
    assert next(iter(batcher))["i"].tolist() == [5, 6, 7, 8, 9]


def test_an_iterator_that_failed_does_not_hide_the_position_of_the_next(paths: list[Path]) -> None:
    bad = [12]

    def check(batch: dict[str, Any]) -> dict[str, Any]:
        if np.isin(bad, batch["i"]).any():
            raise ValueError("bad")
        return batch

    batcher = Batcher(paths, NUMBER, 5, transform=check)
    gc.disable()  # the error refers to the iterator
    try:
        with pytest.raises(ValueError, match="bad"):
            list(batcher)
        assert batcher.state_dict()["used"] == 10
        bad.clear()
        batches = iter(batcher)
        next(batches)
        assert batcher.state_dict() == batches.state_dict()
        assert batcher.state_dict()["epoch"] == 1
        assert batcher.report().batches == 1
    finally:
        gc.enable()


def test_a_seed_drawn_at_random_is_taken_over_with_the_state(paths: list[Path]) -> None:
    batches = iter(Batcher(paths, NUMBER, 5, shuffle=True))
    next(batches)
    again = Batcher(paths, NUMBER, 5, shuffle=True)
    again.set_state(batches.get_state())
    assert drawn(again) == drawn(batches)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"batch_size": 4}, "batch_size is 5, and that of this Batcher is 4"),
        ({"seed": 2}, "seed is 1, and that of this Batcher is 2"),
        ({"shuffle": False}, "shuffle is 'records', and that of this Batcher is 'none'"),
        ({"drop_remainder": True}, "drop_remainder"),
        ({"batch_across_epochs": True}, "batch_across_epochs"),
        ({"shuffle": 9}, "shuffle is 'records', and that of this Batcher is 'buffer'"),
        ({"reshuffle": False}, "reshuffle is True, and that of this Batcher is False"),
        ({"uneven": "pad"}, "uneven"),
    ],
)
def test_a_state_of_another_order_is_refused_with_the_reason(
    paths: list[Path], change: dict[str, Any], reason: str
) -> None:
    options: dict[str, Any] = {"batch_size": 5, "seed": 1, "shuffle": True}
    batches = iter(Batcher(paths, NUMBER, **options))
    next(batches)
    other = Batcher(paths, NUMBER, **{**options, **change})
    with pytest.raises(fastrec.FastrecError, match=reason):
        other.load_state_dict(batches.state_dict())
    assert len(drawn(other)) == len(other)  # it goes on as if nothing had been


def test_a_state_of_a_mixture_of_the_same_files_in_other_sources_is_refused(
    paths: list[Path],
) -> None:
    a, _, b, c = paths  # 20, 1 and 29 records
    options: dict[str, Any] = {"batch_size": 5, "seed": 1}
    state = Batcher(fastrec.Mixture([[a, b], c], [2, 1]), NUMBER, **options).state_dict()
    Batcher(fastrec.Mixture([[a, b], c], [2, 1]), NUMBER, **options).load_state_dict(state)
    mixtures: list[tuple[Any, Any]] = [([a, [b, c]], "first"), ([[a, b], c], "last")]
    for sources, until in mixtures:
        other = Batcher(fastrec.Mixture(sources, [2, 1], until), NUMBER, **options)
        with pytest.raises(fastrec.FastrecError, match="its mixture is"):
            other.load_state_dict(state)


def test_a_state_in_which_damage_has_no_number_is_of_no_other(paths: list[Path]) -> None:
    options: dict[str, Any] = {"batch_size": 5, "seed": 1}
    state = Batcher(paths, NUMBER, **options, on_error="skip").state_dict()
    Batcher(paths, NUMBER, **options, on_error=lambda error: None).load_state_dict(state)
    with pytest.raises(fastrec.FastrecError, match=r"on_error is 'skip', and that of .*'raise'"):
        Batcher(paths, NUMBER, **options).load_state_dict(state)
    with pytest.raises(fastrec.FastrecError, match=r"verify is True, and that of .* False"):
        Batcher(paths, NUMBER, **options, on_error="skip", verify=False).load_state_dict(state)
    plain = Batcher(paths, NUMBER, **options).state_dict()
    Batcher(paths, NUMBER, **options, verify=False).load_state_dict(plain)


def test_files_are_known_by_where_they_were_when_the_batcher_was_made(
    paths: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(paths[0].parent)
    batcher = Batcher([path.name for path in paths], NUMBER, 5, seed=1)
    monkeypatch.chdir(tmp_path)
    assert batcher.state_dict() == Batcher(paths, NUMBER, 5, seed=1).state_dict()


def test_a_state_of_other_files_is_refused_with_the_reason(
    paths: list[Path], tmp_path: Path
) -> None:
    state = Batcher(paths, NUMBER, 5).state_dict()
    with pytest.raises(fastrec.FastrecError, match="it has 4 files, and the source has 3"):
        Batcher(paths[1:], NUMBER, 5, seed=1).load_state_dict(state)
    longer = write_examples(tmp_path / "part-3", ({"i": i} for i in range(30)))
    with pytest.raises(fastrec.FastrecError, match="bytes, and the source has"):
        Batcher([*paths[:3], longer], NUMBER, 5).load_state_dict(state)
    last = write(tmp_path / "part-3", reference.read_frames(paths[3].read_bytes())[0][::-1])
    with pytest.raises(fastrec.FastrecError, match="names or their contents"):
        Batcher([*paths[:3], last], NUMBER, 5).load_state_dict(state)
    moved = tmp_path / "moved"
    moved.mkdir()
    copies = [moved / path.name for path in paths]
    for path, copy in zip(paths, copies, strict=True):
        copy.write_bytes(path.read_bytes())
    Batcher(copies, NUMBER, 5).load_state_dict(state)


@pytest.mark.parametrize(
    "state",
    [
        None,
        [],
        {},
        {"format": 3},
        {"format": "fastrec.Batcher/99"},
        {"format": "fastrec.Batcher/1"},
        {**STATE, "format": "fastrec.Batcher/2"},  # whose blocks had other orders
        {**STATE, "epoch": -1},
        {**STATE, "used": True},
        {**STATE, "item": 2**70},
        {**STATE, "begin": 1},
        {**STATE, "in_step": 1},
        {**STATE, "source": 3},
    ],
    ids=str,
)
def test_what_is_no_state_is_refused(paths: list[Path], state: Any) -> None:
    with pytest.raises(fastrec.FastrecError, match="does not match this Batcher"):
        Batcher(paths, NUMBER, 5).load_state_dict(state)


@pytest.mark.parametrize("seed", [-1, 2**64, True, None, "1"])
def test_a_state_with_a_seed_that_cannot_be_is_refused(paths: list[Path], seed: Any) -> None:
    batcher = Batcher(paths, NUMBER, 5, shuffle=True)
    state = batcher.state_dict()
    state["order"] = {**state["order"], "seed": seed}
    with pytest.raises(fastrec.FastrecError, match="its seed is"):
        batcher.load_state_dict(state)


def test_a_state_beyond_the_end_has_no_batches(paths: list[Path]) -> None:
    state = Batcher(paths, NUMBER, 5).state_dict()
    for transform in (None, lambda batch: batch):
        batcher = Batcher(paths, NUMBER, 5, transform=transform, seed=state["order"]["seed"])
        batcher.load_state_dict({**state, "epoch": 2**61})
        assert list(batcher) == []


@pytest.mark.parametrize("epochs", [2, None])
def test_a_file_object_has_one_epoch_and_says_so(paths: list[Path], epochs: int | None) -> None:
    with (
        paths[0].open("rb") as file,
        pytest.raises(fastrec.FastrecError, match="file object is read once"),
    ):
        next(iter(fastrec.Batcher(file, None, 2, epochs=epochs)))


def test_a_file_object_cannot_be_resumed_and_says_so(paths: list[Path]) -> None:
    with paths[0].open("rb") as file:
        batches = iter(Batcher(file, NUMBER, 5))
        next(batches)
        with pytest.raises(fastrec.FastrecError, match="by its path"):
            batches.state_dict()
        batches.close()
