# SPDX-License-Identifier: Apache-2.0
"""Every iter() of a Batcher is the next epoch, the same one in every process."""

from __future__ import annotations

import pickle
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from verbs import gzipped, run_python, write_examples

import fastrec
from fastrec import Batcher

FEATURES = {
    "i": fastrec.FixedLenFeature((), np.int64),
    "x": fastrec.RawFeature((4, 4, 1), np.uint8),
}
AUGMENT = {"x": fastrec.Augment((4, 4), "random", flip=True, brightness=9.0)}


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("epochs")
    return [
        write_examples(folder / f"{k}", ({"i": i, "x": bytes(range(16))} for i in range(*ends)))
        for k, ends in enumerate([(0, 30), (30, 31), (31, 60)])
    ]


@pytest.fixture(scope="module")
def packed(paths: list[Path]) -> list[Path]:
    for path in paths:
        path.with_suffix(".gz").write_bytes(gzipped(path.read_bytes()))
    return [path.with_suffix(".gz") for path in paths]


def epochs_of(batcher: Batcher, count: int) -> list[list[int]]:
    return [[i for batch in batcher for i in batch["i"].tolist()] for _ in range(count)]


SHUFFLES: list[Any] = [True, "blocks", fastrec.BlockShuffle(3, 2), 7]


@pytest.mark.parametrize("shuffle", SHUFFLES, ids=str)
@pytest.mark.parametrize("transform", [None, dict])
def test_ten_epochs_have_ten_orders_of_every_record(
    paths: list[Path], shuffle: Any, transform: Any
) -> None:
    def run(threads: int) -> list[list[int]]:
        options: dict[str, Any] = {"shuffle": shuffle, "seed": 0, "transform": transform}
        return epochs_of(Batcher(paths, FEATURES, 8, threads=threads, **options), 10)

    orders = run(1)
    assert all(sorted(order) == list(range(60)) for order in orders)
    assert len(set(map(tuple, orders))) == 10
    assert run(3) == orders


def test_the_same_ten_orders_come_in_another_process(paths: list[Path]) -> None:
    done = run_python(
        """
        import sys, fastrec, numpy as np
        features = {"i": fastrec.FixedLenFeature((), np.int64)}
        batcher = fastrec.Batcher(sys.argv[1:], features, 8, shuffle=True, seed=0, threads=2)
        for epoch in range(10):
            print([i for batch in batcher for i in batch["i"].tolist()])
        """,
        *paths,
    )
    batcher = Batcher(paths, FEATURES, 8, shuffle=True, seed=0)
    assert [eval(line) for line in done.stdout.splitlines()] == epochs_of(batcher, 10)


@pytest.mark.parametrize("kind", ["plain", "packed"])
def test_one_iter_over_several_epochs_is_several_iters(
    paths: list[Path], packed: list[Path], kind: str
) -> None:
    source, shuffle = (paths, True) if kind == "plain" else (packed, 9)
    options: dict[str, Any] = {"shuffle": shuffle, "seed": 3, "augment": AUGMENT}
    singly = Batcher(source, FEATURES, 8, **options)
    together = Batcher(source, FEATURES, 8, epochs=2, **options)
    batches = [batch for _ in range(4) for batch in singly]
    again = [batch for _ in range(2) for batch in together]
    assert singly.epoch == together.epoch == 4
    assert len(batches) == len(again) == 32
    for one, other in zip(batches, again, strict=True):
        assert (one["i"] == other["i"]).all()
        assert (one["x"] == other["x"]).all()


def test_augmentation_differs_by_epoch_and_reshuffle_keeps_the_order(paths: list[Path]) -> None:
    options: dict[str, Any] = {"shuffle": True, "seed": 3, "augment": AUGMENT, "reshuffle": False}
    batcher = Batcher(paths, FEATURES, 60, **options)
    (first,), (second,) = batcher, batcher
    assert (first["i"] == second["i"]).all()
    assert not (first["x"] == second["x"]).all()
    assert (first["i"] == next(iter(Batcher(paths, FEATURES, 60, shuffle=True, seed=3)))["i"]).all()


@pytest.mark.parametrize("shuffle", [False, *SHUFFLES], ids=str)
def test_without_reshuffle_there_is_one_order(
    paths: list[Path], packed: list[Path], shuffle: Any
) -> None:
    options: dict[str, Any] = {"shuffle": shuffle, "seed": 4, "reshuffle": False, "epochs": 2}
    found = epochs_of(Batcher(paths, FEATURES, 8, **options), 2)
    assert found[0] == found[1] == found[0][:60] * 2
    if shuffle in (False, 7):
        assert epochs_of(Batcher(packed, FEATURES, 8, **options), 2) == found


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_mixture_without_reshuffle_repeats_its_epoch_with_other_augmentation(
    paths: list[Path], shuffle: bool
) -> None:
    mixture = fastrec.Mixture([paths[0], paths[2]], [2, 1], "last")
    options: dict[str, Any] = {"shuffle": shuffle, "seed": 4, "augment": AUGMENT}
    batches = [list(Batcher(mixture, FEATURES, 87, **options, reshuffle=False, epochs=3))]
    batches.append(list(Batcher(mixture, FEATURES, 87, **options, epochs=3)))
    for fixed, moving in zip(*batches, strict=True):
        assert (fixed["i"] == batches[0][0]["i"]).all()
        assert moving is batches[1][0] or not (moving["i"] == fixed["i"]).all()
    seen = {(i, x.tobytes()) for batch in batches[0] for i, x in zip(*batch.values(), strict=True)}
    assert len(seen) > 3 * 60  # records that come twice an epoch are changed in another way too


def test_set_epoch_begins_that_epoch(paths: list[Path]) -> None:
    batcher = Batcher(paths, FEATURES, 8, shuffle=True, seed=1)
    orders = epochs_of(batcher, 5)
    assert batcher.epoch == 5
    batcher.set_epoch(3)
    assert batcher.epoch == 3
    assert epochs_of(batcher, 2) == orders[3:]
    batcher.set_epoch(np.int64(1))  # type: ignore[arg-type]
    assert epochs_of(batcher, 1) == orders[1:2]
    batcher.set_epoch(2**61)
    assert sorted(epochs_of(batcher, 1)[0]) == list(range(60))
    with pytest.raises(ValueError, match="epoch must be at"):
        batcher.set_epoch(-1)
    with pytest.raises(TypeError, match="must be an int"):
        batcher.set_epoch(1.5)  # type: ignore[arg-type]


def test_len_is_of_one_iter(paths: list[Path]) -> None:
    for epochs, across, length in ((1, False, 9), (3, False, 27), (3, True, 26)):
        batcher = Batcher(paths, FEATURES, 7, epochs=epochs, batch_across_epochs=across)
        for _ in range(2):
            assert len(list(batcher)) == len(batcher) == length
    assert len(Batcher(paths, FEATURES, None, epochs=2)) == 120
    with pytest.raises(TypeError, match="unlimited"):
        len(Batcher(paths, FEATURES, 7, epochs=None))


@pytest.mark.parametrize("transform", [None, dict])
@pytest.mark.parametrize("across", [False, True])
def test_the_iterator_says_which_epoch_its_last_batch_is_of(
    paths: list[Path], packed: list[Path], transform: Any, across: bool
) -> None:
    for source in (paths, packed):
        options: dict[str, Any] = {"transform": transform, "batch_across_epochs": across}
        batcher = Batcher(source, FEATURES, 25, epochs=3, **options)
        batcher.set_epoch(4)
        batches = iter(batcher)
        assert batches.epoch == 4
        epochs = [batches.epoch for _ in batches]
        assert epochs == ([4, 4, 4, 5, 5, 6, 6, 6] if across else [4] * 3 + [5] * 3 + [6] * 3)


def test_an_endless_pass_counts_its_epochs(paths: list[Path]) -> None:
    batcher = Batcher(paths, FEATURES, 30, shuffle=True, seed=1, epochs=None)
    first = [batch["i"].tolist() for batch in islice(batcher, 6)]
    again = [batch["i"].tolist() for batch in islice(batcher, 4)]
    assert first[2:] == again
    assert batcher.epoch == 2


@pytest.mark.parametrize("kind", ["plain", "packed", "transformed", "singles"])
@pytest.mark.parametrize("done", [0, 1, 4, 8])
def test_the_loop_resumes_in_the_middle_of_epoch_3(
    paths: list[Path], packed: list[Path], kind: str, done: int
) -> None:
    source, shuffle = (packed, 11) if kind == "packed" else (paths, True)
    size = None if kind == "singles" else 8
    options: dict[str, Any] = {"shuffle": shuffle, "seed": 1}
    options["transform"] = dict if kind == "transformed" else None

    def drawn(batches: Any) -> list[Any]:
        return [np.ravel(batch["i"]).tolist() for batch in batches]

    batcher = Batcher(source, FEATURES, size, **options)
    whole = [drawn(batcher) for _ in range(6)]
    batcher.set_epoch(0)
    for epoch in range(4):
        batches = iter(batcher)
        if epoch == 3:
            for _ in range(done):
                next(batches)
            state = batcher.state_dict()
            assert state == batches.state_dict()
        else:
            drawn(batches)
    again = Batcher(source, FEATURES, size, **options)
    again.load_state_dict(state)
    assert again.epoch == 3
    again.set_epoch(3)  # as frameworks do at the start of an epoch
    assert [drawn(again) for _ in range(again.epoch, 6)] == [whole[3][done:], *whole[4:]]
    moved: Batcher = pickle.loads(pickle.dumps(again))
    assert moved.epoch == 6
    moved.load_state_dict(state)
    assert drawn(pickle.loads(pickle.dumps(moved))) == whole[3][done:]


def test_a_state_at_the_end_of_an_epoch_gives_what_the_run_would_have_given(
    paths: list[Path],
) -> None:
    batcher = Batcher(paths, FEATURES, 20, shuffle=True, seed=1)
    batches = iter(batcher)
    for _ in range(3):
        next(batches)
    before = batches.state_dict()  # next(batches) would be the end
    assert next(batches, None) is None
    after = batches.state_dict()  # iter(batcher) would be epoch 1
    assert batcher.state_dict() == after
    batcher.load_state_dict(before)
    assert batcher.epoch == 0
    assert list(batcher) == []
    assert batcher.epoch == 1
    batcher.load_state_dict(after)
    assert batcher.epoch == 1
    assert len(list(batcher)) == 3


def test_with_several_live_iterators_a_state_is_the_iterators_own(paths: list[Path]) -> None:
    batcher = Batcher(paths, FEATURES, 20, shuffle=True, seed=1)
    assert batcher.state_dict()["epoch"] == 0
    one, two = iter(batcher), iter(batcher)
    next(two)
    with pytest.raises(fastrec.FastrecError, match="2 iterators"):
        batcher.state_dict()
    assert one.state_dict()["epoch"] == 0
    one.close()
    assert batcher.state_dict() == two.state_dict()
    assert two.state_dict()["used"] == 20
    del one, two
    assert batcher.state_dict()["epoch"] == 2


def test_too_large_a_batch_that_is_dropped_is_warned_of(paths: list[Path]) -> None:
    with pytest.warns(
        RuntimeWarning, match="no batch of 61 records: an epoch of this shard has 60"
    ):
        assert list(Batcher(paths, FEATURES, 61, drop_remainder=True)) == []
