# SPDX-License-Identifier: Apache-2.0
"""fastrec.torch.IterableDataset: epochs, ranks and workers."""

from __future__ import annotations

import json
import pickle
import sys
from typing import Any

import numpy as np
import pytest

import fastrec

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch.utils.data import DataLoader  # noqa: E402
from torch_programs import run_rank  # noqa: E402

from fastrec.torch import Batch, IterableDataset, collate, prefetch_to  # noqa: E402

COUNT = 103
pytestmark = pytest.mark.filterwarnings(
    "ignore:fastrec.torch.IterableDataset reads ahead",
    "ignore:This DataLoader will create",  # more workers than processors
    "ignore:'set_vital' is deprecated",  # which torchdata calls
)


def ids(loader: Any) -> list[int]:
    return [int(i) for batch in loader for i in batch["id"]]


def test_it_is_a_batcher_of_tensors(files: str, features: dict[str, Any]) -> None:
    dataset = IterableDataset(files, features, 10, shuffle=True, seed=1)
    batcher = fastrec.Batcher(files, features, 10, shuffle=True, seed=1)
    assert isinstance(dataset, torch.utils.data.IterableDataset)
    assert len(dataset) == len(batcher) == 11
    for ours, theirs in zip(dataset, batcher, strict=True):
        assert isinstance(ours, Batch)
        assert ours["x"].numpy().tolist() == theirs["x"].tolist()
        assert ours["name"] == theirs["name"].to_list()
        assert [row.tolist() for row in ours["tokens"].unbind()] == theirs["tokens"].to_list()


def test_each_iter_is_the_next_epoch(files: str, features: dict[str, Any]) -> None:
    dataset = IterableDataset(files, features, 10, shuffle=True, seed=1)
    epochs = [ids(dataset) for _ in range(3)]
    assert len({tuple(epoch) for epoch in epochs}) == 3
    assert all(sorted(epoch) == list(range(COUNT)) for epoch in epochs)
    dataset.set_epoch(1)
    assert ids(dataset) == epochs[1]
    assert ids(dataset) == epochs[2]


METHODS = [
    "fork",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("spawn", "forkserver")),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("persistent", [False, True])
def test_workers_share_an_epoch_and_go_on_to_the_next(
    files: str, features: dict[str, Any], method: str, persistent: bool
) -> None:
    dataset = IterableDataset(files, features, 10, shuffle=True, seed=1)
    loader = DataLoader(
        dataset,
        batch_size=None,
        num_workers=2,
        persistent_workers=persistent,
        multiprocessing_context=method,
    )
    assert len(loader) == 12  # each worker has a short batch
    assert len(list(loader)) == 12
    dataset.set_epoch(0)
    epochs = [ids(loader) for _ in range(3)]
    assert all(sorted(epoch) == list(range(COUNT)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3
    dataset.set_epoch(1)
    assert ids(loader) == epochs[1]


def test_a_drawn_seed_is_the_workers_too(files: str, features: dict[str, Any]) -> None:
    loader = DataLoader(
        IterableDataset(files, features, 10, shuffle=True), batch_size=None, num_workers=3
    )
    assert sorted(ids(loader)) == list(range(COUNT))


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_ranks_and_workers_take_every_record_once(
    files: str, features: dict[str, Any], ranks: int, tmp_path: Any
) -> None:
    arguments = (ranks, str(tmp_path / "store"), files, features, str(tmp_path))
    torch.multiprocessing.spawn(run_rank, arguments, nprocs=ranks)
    seen = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(ranks)]
    for case in seen[0]:
        epochs = [[i for rank in seen for i in rank[case][epoch]] for epoch in range(2)]
        assert epochs[0] != epochs[1]
        for epoch in epochs:
            assert sorted(epoch) == list(range(COUNT)), case


def test_workers_are_warned_of_once(files: str, features: dict[str, Any], capfd: Any) -> None:
    loader = DataLoader(IterableDataset(files, features, 10), batch_size=None, num_workers=2)
    with pytest.MonkeyPatch.context() as patch:
        import warnings

        patch.setattr(warnings, "showwarning", lambda m, *_, **__: print(m, file=sys.stderr))
        warnings.simplefilter("always")
        for _ in range(2):
            list(loader)
    assert capfd.readouterr().err.count("num_workers=0 is the fast way") == 1


def test_a_data_loader_does_not_batch_batches(files: str, features: dict[str, Any]) -> None:
    dataset = IterableDataset(files, features, 10)
    assert ids(DataLoader(dataset)) == list(range(COUNT))  # batch_size=1 is the default
    with pytest.raises(fastrec.FastrecError, match="pass batch_size=None to the DataLoader"):
        next(iter(DataLoader(dataset, batch_size=4)))
    for drop in (False, True):
        dataset = IterableDataset(files, features, 10, drop_remainder=drop)
        loader = DataLoader(dataset, batch_size=4, collate_fn=collate)
        with pytest.raises(fastrec.FastrecError, match="pass batch_size=None to the DataLoader"):
            next(iter(loader))
    assert ids(DataLoader(dataset, batch_size=1, collate_fn=collate)) == list(range(100))


def test_a_batcher_in_a_data_loader_names_the_right_class(
    files: str, features: dict[str, Any]
) -> None:
    batcher = fastrec.Batcher(files, features, 10)
    for options in ({"batch_size": None}, {"batch_size": 4}, {"shuffle": True}):
        with pytest.raises(TypeError, match=r"fastrec\.torch\.IterableDataset"):
            next(iter(DataLoader(batcher, **options)))


def test_single_records_are_batched_by_the_data_loader(
    files: str, features: dict[str, Any]
) -> None:
    dataset = IterableDataset(files, features, batch_size=None)
    sample = next(iter(dataset))
    assert sample["x"].shape == (5,)
    assert sample["name"] == b"n0"
    loader = DataLoader(dataset, batch_size=50, collate_fn=collate)
    assert [len(batch["id"]) for batch in loader] == [50, 50, 3]
    dense = IterableDataset(files, {"id": features["id"]}, batch_size=None)
    assert [len(batch["id"]) for batch in DataLoader(dense, batch_size=50)] == [50, 50, 3]


def test_options_reach_the_batcher(files: str, features: dict[str, Any]) -> None:
    dataset = IterableDataset(
        files,
        features,
        10,
        ragged="padded",
        padding=-1,
        drop_remainder=True,
        transform=lambda batch: ({"x": batch["x"] * 2}, batch["tokens"]),
    )
    assert len(dataset) == 10
    columns, tokens = next(iter(dataset))
    assert columns["x"][3].tolist() == [6] * 5
    assert tokens[1].tolist() == [0, -1, -1]
    with pytest.raises(TypeError):
        IterableDataset(files, features, 10, colour="red")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="shard must be 'auto'"):
        IterableDataset(files, features, 10, shard="all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="ragged must be one of"):
        IterableDataset(files, features, 10, ragged="some")  # type: ignore[arg-type]


def test_a_share_can_be_given(files: str, features: dict[str, Any]) -> None:
    shares = [IterableDataset(files, features, 10, shard=(i, 3)) for i in range(3)]
    assert sorted(i for share in shares for i in ids(share)) == list(range(COUNT))
    loaders = [DataLoader(share, batch_size=None, num_workers=2) for share in shares]
    assert sorted(i for loader in loaders for i in ids(loader)) == list(range(COUNT))


def test_several_processes_that_shuffle_need_a_seed(
    files: str, features: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="requires seed"):
        IterableDataset(files, features, 10, shuffle=True)
    assert len(ids(IterableDataset(files, features, 10))) == COUNT // 2
    assert len(ids(IterableDataset(files, features, 10, shuffle=True, shard=None))) == COUNT


def test_a_copy_goes_on_where_it_was_told_to(files: str, features: dict[str, Any]) -> None:
    dataset = IterableDataset(files, features, 10, shuffle=True, seed=1)
    first = ids(dataset)
    dataset.set_epoch(0)
    next(batches := iter(dataset))
    state = json.loads(json.dumps(dataset.state_dict()))
    del batches
    other = IterableDataset(files, features, 10, shuffle=True, seed=1)
    other.load_state_dict(state)
    copy = pickle.loads(pickle.dumps(other))
    assert ids(copy) == ids(other) == first[10:]
    assert ids(copy) == ids(other)
    with pytest.raises(fastrec.FastrecError, match="does not match this Batcher"):
        IterableDataset(files, features, 11, shuffle=True, seed=1).load_state_dict(state)


@pytest.mark.parametrize(
    "wrap", [lambda dataset: dataset, lambda d: DataLoader(d, batch_size=None)]
)
def test_prefetching_to_a_cpu_keeps_batches_and_state(
    wrap: Any, files: str, features: dict[str, Any]
) -> None:
    dataset = IterableDataset(files, features, 10, shuffle=True, seed=1)
    every = ids(dataset)
    dataset.set_epoch(0)
    batches = prefetch_to(wrap(dataset), "cpu")
    found = ids([next(batches), next(batches)])
    state = batches.state_dict()
    assert found + ids(batches) == every
    dataset.load_state_dict(state)
    assert ids(prefetch_to(dataset, "cpu")) == every[20:]
    with pytest.raises(TypeError, match=r"pass a fastrec\.Batcher, .*StatefulDataLoader"):
        prefetch_to([{"x": np.arange(3)}], "cpu").state_dict()
    with pytest.raises(ValueError, match="ahead must be at least 1, got 0"):
        prefetch_to([], "cpu", ahead=0)


def test_an_error_comes_in_its_turn_when_prefetching() -> None:
    def broken() -> Any:
        yield {"x": np.arange(3)}
        raise OSError("gone")

    batches = prefetch_to(broken(), "cpu")
    assert next(batches)["x"].tolist() == [0, 1, 2]
    for _ in range(2):
        with pytest.raises(OSError, match="gone"):
            next(batches)
