# SPDX-License-Identifier: Apache-2.0
"""Every pass has one epoch and every record once, however the passes before it ended."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import fastrec

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")

from rank_pool import RankPool  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402
from torch_passes import (  # noqa: E402
    BATCH,
    Loaders,
    epochs_of,
    ids_of,
    is_freed_at_once,
    passes_after,
    passes_after_a_failed_start,
    passes_of_rank,
    passes_of_rank_that_looks,
    passes_with_an_evaluation,
)

from fastrec.torch import IterableDataset  # noqa: E402

COUNT = 103
pytestmark = pytest.mark.filterwarnings(
    "ignore:fastrec.torch.IterableDataset reads ahead",
    "ignore:This DataLoader will create",  # more workers than processors
    "ignore:'set_vital' is deprecated",  # which torchdata calls
)

CORE = {
    ("DataLoader", "fork", 4, False),
    ("DataLoader", "fork", 2, True),
    ("StatefulDataLoader", "fork", 2, False),
    ("DataLoader", "forkserver", 2, False),
}
SETUPS = [
    pytest.param(
        setup, id=" ".join(map(str, setup)), marks=() if setup in CORE else pytest.mark.slow
    )
    for setup in itertools.product(
        ["DataLoader", "StatefulDataLoader"],
        ["fork", "spawn", "forkserver"],
        [1, 2, 4],
        [False, True],
    )
]


@pytest.fixture(scope="session")
def ids(features: dict[str, Any]) -> dict[str, Any]:
    """Features of small batches."""
    return {"id": features["id"]}


@pytest.fixture(scope="session")
def ranks() -> Iterator[RankPool]:
    pool = RankPool(2)
    yield pool
    pool.close()


def check_passes(passes: list[list[int]], epochs: dict[tuple[int, ...], int]) -> None:
    """Whole passes, each of a later epoch than the one before."""
    last = -1
    for seen in passes:
        assert sorted(seen) == list(range(COUNT))
        # The first batch is the first one of worker 0.
        epoch = next(
            number for share, number in epochs.items() if share[:BATCH] == tuple(seen[:BATCH])
        )
        assert epoch > last
        last = epoch


@pytest.mark.parametrize("setup", SETUPS)
def test_a_pass_is_whole_however_the_one_before_ended(
    setup: tuple[str, str, int, bool], files: str, ids: dict[str, Any]
) -> None:
    workers = setup[2]
    passes = passes_after(Loaders(files, ids, *setup), Random(workers))
    check_passes(passes, epochs_of(files, ids, workers, 20))


@pytest.mark.parametrize("setup", SETUPS)
def test_ranks_that_end_their_passes_alike_share_every_epoch(
    setup: tuple[str, str, int, bool], files: str, ids: dict[str, Any], ranks: RankPool
) -> None:
    shares = ranks.run(passes_of_rank, files, ids, setup)
    passes = [first + second for first, second in zip(*shares, strict=True)]
    check_passes(passes, epochs_of(files, ids, 2 * setup[2], 20))


ALONE = ("DataLoader", "fork", 0, False)
LOOKS = [
    pytest.param(
        mode,
        taken,
        setup,
        id=f"{mode} {taken} {' '.join(map(str, setup))}",
        marks=() if setup == ALONE or (mode == "rank 1 first" and taken == 1) else pytest.mark.slow,
    )
    for mode in ("free", "rank 1 first", "set_epoch")
    for taken in (0, 1, 5)
    for setup in (ALONE, *sorted(CORE))
    if taken or mode == "rank 1 first"
]


@pytest.mark.parametrize(("mode", "taken", "setup"), LOOKS)
def test_a_rank_that_looks_at_batches_alone_is_noticed(
    mode: str, taken: int, setup: Any, files: str, ids: dict[str, Any], ranks: RankPool
) -> None:
    passes = ranks.run(passes_of_rank_that_looks, files, ids, mode, taken, setup)
    errors = [seen for rank in passes for seen in rank if isinstance(seen, str)]
    if errors:
        assert mode != "set_epoch"
        assert all(f"rank 0 left epoch 0 after {taken} batches" in error for error in errors)
    else:  # Each pass is whole: they were in step.
        assert mode == "set_epoch" or taken == 0
        for first, second in zip(*passes, strict=True):
            assert sorted(first + second) == list(range(COUNT))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_rank_that_evaluates_alone_sees_all_records_and_changes_no_pass(
    files: str, ids: dict[str, Any], ranks: RankPool, workers: int
) -> None:
    (*alone, last), other = ranks.run(passes_with_an_evaluation, files, ids, workers)
    evaluations, passes = alone[::2], [alone[1], last]
    assert [sorted(seen) for seen in evaluations] == [list(range(COUNT))] * 2
    check_passes(
        [first + second for first, second in zip(passes, other, strict=True)],
        epochs_of(files, ids, 2 * max(workers, 1), 2),
    )


# A StatefulDataLoader waits until its workers have begun.
def test_a_pass_counts_in_a_rank_whose_workers_are_stopped_before_they_begin_it(
    files: str, ids: dict[str, Any], ranks: RankPool
) -> None:
    setup = ("DataLoader", "fork", 2, False)
    shares = ranks.run(passes_after_a_failed_start, files, ids, setup)
    passes = [first + second for first, second in zip(*shares, strict=True)]
    check_passes(passes, epochs_of(files, ids, 4, 4))


# PyTorch waits 5 s for each worker of an iterator that the garbage collector deletes.
@pytest.mark.parametrize("method", ["fork", "forkserver"])
@pytest.mark.parametrize("kind", ["DataLoader", "StatefulDataLoader"])
def test_a_dropped_iterator_is_in_no_reference_cycle(
    kind: str, method: str, files: str, ids: dict[str, Any], ranks: RankPool
) -> None:
    assert is_freed_at_once(0, files, ids, kind, method)
    assert ranks.run(is_freed_at_once, files, ids, kind, method) == [True, True]


def test_dropped_iterators_of_one_process_do_not_count(files: str, ids: dict[str, Any]) -> None:
    dataset = IterableDataset(files, ids, BATCH, shuffle=True, seed=3)
    epochs = epochs_of(files, ids, 1, 9)
    for _ in range(3):
        iter(dataset)
    assert epochs[tuple(ids_of(dataset))] == 0
    next(iter(dataset))
    assert epochs[tuple(ids_of(dataset))] == 2


@pytest.mark.parametrize("persistent", [False, True])
def test_set_epoch_reaches_workers(files: str, ids: dict[str, Any], persistent: bool) -> None:
    loaders = Loaders(files, ids, "DataLoader", "fork", 2, persistent)
    first = ids_of(loaders.loader)
    ids_of(loaders.loader)
    loaders.dataset.set_epoch(0)
    assert ids_of(loaders.loader) == first
    loaders.dataset.set_epoch(7)
    check_passes(
        [ids_of(loaders.loader)], {k: v for k, v in epochs_of(files, ids, 2, 8).items() if v == 7}
    )


def test_torch_may_be_seeded_before_each_pass(files: str, ids: dict[str, Any]) -> None:
    dataset = IterableDataset(files, ids, BATCH, shuffle=True, seed=3)
    passes = []
    for _ in range(4):
        for early in (True, False):
            generator = torch.Generator()
            generator.manual_seed(0)
            loader = DataLoader(dataset, batch_size=None, num_workers=3, generator=generator)
            if early:
                next(iter(loader))
            else:
                passes.append(ids_of(loader))
    check_passes(passes, epochs_of(files, ids, 3, 20))


def test_two_loaders_over_one_dataset_have_an_epoch_each(files: str, ids: dict[str, Any]) -> None:
    dataset = IterableDataset(files, ids, BATCH, shuffle=True, seed=3)
    loaders = [DataLoader(dataset, batch_size=None, num_workers=2) for _ in range(2)]
    pairs = list(zip(*loaders, strict=True))
    passes = [ids_of(batches) for batches in zip(*pairs, strict=True)]
    check_passes(passes, epochs_of(files, ids, 2, 2))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
def test_a_copy_counts_its_own_epochs(files: str, ids: dict[str, Any], duplicate: Any) -> None:
    dataset = IterableDataset(files, ids, BATCH, shuffle=True, seed=3)
    ids_of(dataset)
    other = duplicate(dataset)
    assert ids_of(other) == ids_of(dataset)
    ids_of(other)
    epochs = epochs_of(files, ids, 1, 9)
    assert epochs[tuple(ids_of(dataset))] == 2
    assert epochs[tuple(ids_of(other))] == 3


def test_a_state_that_persistent_workers_do_not_have_is_an_error(
    files: str, ids: dict[str, Any]
) -> None:
    loaders = Loaders(files, ids, "DataLoader", "fork", 2, True)
    ids_of(loaders.loader)
    other = IterableDataset(files, ids, BATCH, shuffle=True, seed=3)
    next(batches := iter(other))
    state = other.state_dict()
    loaders.dataset.load_state_dict(state)
    rest = ids_of(batches)
    with pytest.raises(fastrec.FastrecError, match="make a new DataLoader"):
        ids_of(loaders.loader)
    loaders.renew()
    loaders.dataset.load_state_dict(state)
    assert sorted(ids_of(loaders.loader)) == sorted(rest)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_state_is_refused_while_workers_iterate(
    files: str, ids: dict[str, Any], workers: int
) -> None:
    loaders = Loaders(files, ids, "DataLoader", "fork", workers, False)
    begin = loaders.dataset.state_dict()
    batches = iter(loaders.loader)
    next(batches)
    for _ in range(2):
        with pytest.raises(fastrec.FastrecError, match="StatefulDataLoader"):
            loaders.dataset.state_dict()
        list(batches)
    loaders.dataset.set_epoch(0)
    assert loaders.dataset.state_dict() == begin
