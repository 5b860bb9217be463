# SPDX-License-Identifier: Apache-2.0
"""Stopping within an epoch and going on, as torchdata and Lightning do it."""

from __future__ import annotations

import json
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")

from fastrec.torch import Dataset, IterableDataset  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    "ignore:fastrec.torch.IterableDataset reads ahead",
    "ignore:This DataLoader will create",  # more workers than processors
    "ignore:'set_vital' is deprecated",  # which torchdata calls
)


def numbers(batches: Any) -> list[list[int]]:
    return [batch["id"].tolist() for batch in batches]


def make(kind: str, files: str, features: dict[str, Any], workers: int, **options: Any) -> Any:
    """A loader over batches of 10."""
    options = {"num_workers": workers, **options}
    if kind == "map":
        return stateful.StatefulDataLoader(
            Dataset(files, features), 10, shuffle=True, drop_last=True, **options
        )
    dataset = IterableDataset(files, features, 10, shuffle=True, seed=5)
    return stateful.StatefulDataLoader(dataset, batch_size=None, **options)


@pytest.mark.parametrize("kind", ["map", "iterable"])
@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("taken", [0, 1, 6])
def test_a_stateful_data_loader_goes_on(
    kind: str, workers: int, taken: int, files: str, features: dict[str, Any]
) -> None:
    loader = make(kind, files, features, workers)
    list(loader)  # an epoch before
    batches = iter(loader)
    for _ in range(taken):
        next(batches)
    state = loader.state_dict()
    if kind == "iterable":  # torch's own samplers keep tensors in theirs
        state = json.loads(json.dumps(state))
    rest = numbers(batches)
    assert len(loader) >= taken + len(rest)
    again = make(kind, files, features, workers)
    again.load_state_dict(state)
    assert numbers(again) == rest
    if kind == "iterable":
        assert numbers(again) == numbers(loader)  # and then begins the same next epoch


@pytest.mark.parametrize("kind", ["map", "iterable"])
def test_persistent_workers_and_states_now_and_then(
    kind: str, files: str, features: dict[str, Any]
) -> None:
    options = {"persistent_workers": True, "snapshot_every_n_steps": 3}
    loader = make(kind, files, features, 2, **options)
    batches = iter(loader)
    for _ in range(5):
        next(batches)
    state = loader.state_dict()
    rest = numbers(batches)
    again = make(kind, files, features, 2, **options)
    again.load_state_dict(state)
    assert numbers(again) == rest


@pytest.mark.parametrize("kind", ["map", "iterable"])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_state_of_the_end_begins_the_next_epoch(
    kind: str, workers: int, files: str, features: dict[str, Any]
) -> None:
    torch.manual_seed(0)
    loader = make(kind, files, features, workers)
    first = numbers(loader)
    state = loader.state_dict()
    again = make(kind, files, features, workers)
    again.load_state_dict(state)
    following = numbers(again)
    assert sorted(map(len, following)) == sorted(map(len, first))
    assert following != first
    if kind == "iterable":
        assert following == numbers(loader)


def test_another_number_of_workers_is_refused(files: str, features: dict[str, Any]) -> None:
    loader = make("iterable", files, features, 2)
    next(iter(loader))
    state = loader.state_dict()
    again = make("iterable", files, features, 3)
    again.load_state_dict(state)
    with pytest.raises(AssertionError):
        iter(again)


def test_a_data_set_takes_a_state_under_another_number_of_workers(
    files: str, features: dict[str, Any]
) -> None:
    options: Any = {"shuffle": True, "seed": 5}
    dataset = IterableDataset(files, features, 10, **options)
    batches = iter(dataset)
    taken = numbers([next(batches) for _ in range(4)])
    state = dataset.state_dict()
    other = IterableDataset(files, features, 10, **options)
    other.load_state_dict(state)
    loader = torch.utils.data.DataLoader(other, batch_size=None, num_workers=2)
    rest = numbers(loader)
    assert sorted(i for batch in taken + rest for i in batch) == list(range(103))
    assert sorted(i for batch in numbers(loader) for i in batch) == list(range(103))


def test_nodes(files: str, features: dict[str, Any]) -> None:
    nodes = pytest.importorskip("torchdata.nodes")

    def loader() -> Any:
        dataset = IterableDataset(files, features, 10, shuffle=True, seed=5)
        return nodes.Loader(nodes.IterableWrapper(dataset))

    first = loader()
    batches = iter(first)
    taken = numbers(next(batches) for _ in range(4))
    state = json.loads(json.dumps(first.state_dict()))
    rest = numbers(batches)
    assert sorted(i for batch in taken + rest for i in batch) == list(range(103))
    again = loader()
    again.load_state_dict(state)
    assert numbers(again) == rest
    assert numbers(again) == numbers(first)
