# SPDX-License-Identifier: Apache-2.0
"""Several sources by their weights, and a shard for each process, asked for or found."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import islice, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from verbs import gzipped, write_examples

import fastrec
from fastrec import Batcher, Mixture
from fastrec.batches.shard import VARIABLES

NUMBER = {"i": fastrec.FixedLenFeature((), np.int64)}
SIZES = 40, 100, 20


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Records of 1000 and up, 2000 and up, 3000 and up; the second source is two files."""
    folder = tmp_path_factory.mktemp("mixtures")
    made = [
        write_examples(folder / name, ({"i": i} for i in range(begin, begin + count)))
        for name, begin, count in (
            ("a", 1000, 40),
            ("b0", 2000, 30),
            ("b1", 2030, 70),
            ("c", 3000, 20),
        )
    ]
    return [made[0], str(folder / "b*"), [made[3]]]


def drawn(batcher: Batcher) -> list[int]:
    with batcher:
        return [number for batch in batcher for number in batch["i"].tolist()]


def source_counts(numbers: list[int]) -> list[int]:
    counts = Counter(number // 1000 for number in numbers)
    return [counts[k] for k in (1, 2, 3)]


@pytest.mark.parametrize("until", ["first", "last"])
def test_every_source_has_its_share_of_every_round(sources: list[Any], until: Any) -> None:
    mixture = Mixture(sources, [0.5, 0.125, 0.375], until)
    assert mixture.whole_weights == [4, 1, 3]
    numbers = drawn(Batcher(mixture, NUMBER, 7, shuffle=True, seed=1, epochs=2))
    rounds = 6 if until == "first" else 100
    assert len(numbers) == 2 * 8 * rounds
    for k in range(8, len(numbers), 8):
        assert source_counts(numbers[:k]) == [k // 2, k // 8, 3 * k // 8]


def test_no_record_comes_again_before_its_source_is_through(sources: list[Any]) -> None:
    mixture = Mixture(sources, [2, 1, 1], "last")
    numbers = drawn(Batcher(mixture, NUMBER, 10, shuffle=True, seed=3))
    for k, size in enumerate(SIZES):
        own = [number for number in numbers if number // 1000 == k + 1]
        passes = [own[begin : begin + size] for begin in range(0, len(own), size)]
        assert all(len(set(each)) == len(each) for each in passes)
        assert len({tuple(each) for each in passes}) == len(passes)  # each in another order


def test_without_a_shuffle_each_source_comes_as_it_stands(sources: list[Any]) -> None:
    numbers = drawn(Batcher(Mixture(sources, [1, 2, 1]), NUMBER, 10))
    assert source_counts(numbers) == [20, 40, 20]
    for k in (1, 2, 3):
        own = [number for number in numbers if number // 1000 == k]
        assert own == list(range(1000 * k, 1000 * k + len(own)))


@given(st.integers(1, 5), st.integers(1, 9), st.integers(1, 4), st.booleans())
def test_shards_of_a_mixture_make_up_the_whole(
    sources: list[Any], count: int, size: int, threads: int, shuffle: bool
) -> None:
    mixture = Mixture(sources, [3, 1, 2])
    options: dict[str, Any] = {"shuffle": shuffle, "seed": 2, "threads": threads}
    whole = drawn(Batcher(mixture, NUMBER, size, **options))
    shards = [
        drawn(Batcher(mixture, NUMBER, size, shard=(k, count), **options)) for k in range(count)
    ]
    steps = [whole[at : at + size * count] for at in range(0, len(whole), size * count)]
    for number, step in enumerate(steps):  # neighbours of each step, the first have the most
        ends = np.cumsum([len(shard[number * size : (number + 1) * size]) for shard in shards])
        parts = [step[begin:end] for begin, end in pairwise([0, *ends.tolist()])]
        assert parts == [shard[number * size : (number + 1) * size] for shard in shards]
        assert sorted(map(len, parts), reverse=True) == [len(part) for part in parts]
        assert len(parts[0]) - len(parts[-1]) <= 1


def test_a_mixture_resumes_like_any_source(sources: list[Any]) -> None:
    def make() -> Batcher:
        return Batcher(Mixture(sources, [3, 1, 2]), NUMBER, 7, shuffle=True, seed=2, epochs=3)

    batches = iter(make())
    for _ in batches:
        again = make()
        again.load_state_dict(batches.state_dict())
        expected, following = next(batches, None), next(iter(again), None)
        assert (expected is None) == (following is None)
        assert expected is None or (expected["i"] == following["i"]).all()  # type: ignore[index]
    other = Batcher(Mixture(sources, [3, 1, 3]), NUMBER, 7, shuffle=True, seed=2)
    with pytest.raises(fastrec.FastrecError, match="mixture"):
        other.load_state_dict(batches.state_dict())


@pytest.mark.parametrize(
    "weights",
    [[1], [1, 0, 1], [1, -1, 1], [1, float("nan"), 1], [1, float("inf"), 1], [1, 1e-9, 1]],
)
def test_weights_that_cannot_be_are_refused(sources: list[Any], weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weight"):
        Mixture(sources, weights)


def test_a_mixture_of_nothing_or_of_streams_is_refused(sources: list[Any], tmp_path: Path) -> None:
    empty = write_examples(tmp_path / "empty", [])
    with pytest.raises(ValueError, match="source 1 has no records"):
        list(Batcher(Mixture([sources[0], empty], [1, 1]), NUMBER))
    (tmp_path / "gz").write_bytes(gzipped(sources[0].read_bytes()))
    with pytest.raises(fastrec.FastrecError, match="all of them compressed or none"):
        list(Batcher(Mixture([sources[0], tmp_path / "gz"], [1, 1]), NUMBER))
    with pytest.raises(ValueError, match="mixture"):
        list(Batcher(Mixture(sources, [1, 1, 1]), NUMBER, shuffle=10))


def test_interleaved_files_take_turns(sources: list[Any]) -> None:
    paths = [sources[0], sources[2][0]]
    numbers = drawn(Batcher(paths, NUMBER, 8, interleave=2))
    turns = [
        number for pair in zip(range(1000, 1020), range(3000, 3020), strict=True) for number in pair
    ]
    assert numbers == turns + list(range(1020, 1040))


# --- shards -------------------------------------------------------------------------------------


def test_a_process_that_nobody_says_anything_to_is_alone(alone: Any) -> None:
    assert fastrec.find_shard() == (0, 1)


@pytest.mark.parametrize(("rank", "size"), VARIABLES)
def test_the_environment_says_which_shard_it_is(
    alone: pytest.MonkeyPatch, sources: list[Any], rank: str, size: str
) -> None:
    alone.setenv(rank, "2")
    assert fastrec.find_shard() == (0, 1)  # without a size it may mean anything
    alone.setenv(size, "3")
    assert fastrec.find_shard() == (2, 3)
    assert drawn(Batcher(sources[0], NUMBER, 5, shard="auto")) == [
        *range(1010, 1015),
        *range(1025, 1030),
        *range(1037, 1040),
    ]


@pytest.mark.parametrize(
    ("variables", "shard"),
    [
        # A batch script, without srun: one process.
        ({"SLURM_NTASKS": "4", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, (0, 1)),
        ({"SLURM_NTASKS": "4", "SLURM_PROCID": "0", "SLURM_STEP_ID": "4294967291"}, (0, 1)),
        ({"SLURM_NTASKS": "4", "SLURM_PROCID": "0", "SLURM_STEPID": "4294967291"}, (0, 1)),
        ({"SLURM_NTASKS": "4", "SLURM_PROCID": "0"}, (0, 1)),
        # The shell of an interactive job, on the first node or where it was asked for.
        ({"SLURM_NTASKS": "4", "SLURM_PROCID": "0", "SLURM_STEP_ID": "4294967290"}, (0, 1)),
        ({"SLURM_NTASKS": "4"}, (0, 1)),
        # Steps of the job: all tasks, fewer, and more in turn.
        ({"SLURM_NTASKS": "4", "SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4"}, (3, 4)),
        ({"SLURM_NTASKS": "4", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2"}, (0, 2)),
        ({"SLURM_NTASKS": "1", "SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8"}, (5, 8)),
        ({"SLURM_NTASKS": "4", "SLURM_PROCID": "0", "SLURM_STEP_ID": "0"}, (0, 4)),
        ({"SLURM_NTASKS": "4", "SLURM_PROCID": "2"}, (2, 4)),
        # What a launcher within the job says comes first.
        (
            {"SLURM_NTASKS": "4", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}
            | {"RANK": "2", "WORLD_SIZE": "4"},
            (2, 4),
        ),
        (
            {"SLURM_NTASKS": "2", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}
            | {"OMPI_COMM_WORLD_RANK": "7", "OMPI_COMM_WORLD_SIZE": "8"},
            (7, 8),
        ),
    ],
)
def test_a_process_of_slurm_knows_the_tasks_of_its_step(
    alone: pytest.MonkeyPatch, variables: dict[str, str], shard: tuple[int, int]
) -> None:
    for name, value in variables.items():
        alone.setenv(name, value)
    assert fastrec.find_shard() == shard


def test_a_shard_is_reported_once(
    alone: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    alone.setattr("fastrec.batches.shard._reported", set())
    caplog.set_level("INFO", "fastrec")
    fastrec.find_shard()
    assert not caplog.records
    alone.setenv("RANK", "1")
    alone.setenv("WORLD_SIZE", "3")
    for _ in range(3):
        fastrec.find_shard()
    assert [record.message for record in caplog.records] == [
        "shard 1 of 3, found in RANK and WORLD_SIZE"
    ]


def test_a_batcher_has_no_batches_by_index(sources: list[Any]) -> None:
    with pytest.raises(TypeError, match=r"fastrec\.torch\.IterableDataset with batch_size=None"):
        Batcher(sources[0], NUMBER, 5)[0]


@pytest.mark.parametrize(("rank", "size"), [("3", "3"), ("-1", "2"), ("x", "2"), ("0", "0")])
def test_an_environment_that_cannot_be_is_refused(
    alone: pytest.MonkeyPatch, rank: str, size: str
) -> None:
    alone.setenv("RANK", rank)
    alone.setenv("WORLD_SIZE", size)
    with pytest.raises(ValueError, match="RANK"):
        fastrec.find_shard()


def test_torch_is_asked_before_the_environment_and_workers_share_a_rank(alone: Any) -> None:
    alone.setenv("RANK", "0")
    alone.setenv("WORLD_SIZE", "9")
    torch = SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: True,
        get_rank=lambda: 1,
        get_world_size=lambda: 2,
    )
    alone.setitem(sys.modules, "torch.distributed", torch)
    assert fastrec.find_shard() == (1, 2)
    worker = SimpleNamespace(get_worker_info=lambda: SimpleNamespace(id=2, num_workers=4))
    alone.setitem(sys.modules, "torch.utils.data", worker)
    assert fastrec.find_shard() == (6, 8)
    torch.is_initialized = lambda: False
    assert fastrec.find_shard() == (2, 36)


def test_jax_is_asked_once_it_is_distributed(alone: Any) -> None:
    jax = SimpleNamespace(
        distributed=SimpleNamespace(is_initialized=lambda: False),
        process_index=lambda: 3,
        process_count=lambda: 4,
    )
    alone.setitem(sys.modules, "jax", jax)
    assert fastrec.find_shard() == (0, 1)
    jax.distributed.is_initialized = lambda: True
    assert fastrec.find_shard() == (3, 4)


@pytest.mark.parametrize("uneven", ["drop", "pad"])
@pytest.mark.parametrize("shuffle", [False, True, "blocks", 9])
def test_even_shards_have_as_many_steps(sources: list[Any], uneven: str, shuffle: Any) -> None:
    options: dict[str, Any] = {"shuffle": shuffle, "seed": 1, "uneven": uneven, "epochs": 2}
    shards = [Batcher(sources[0], NUMBER, 4, shard=(k, 7), **options) for k in range(7)]
    assert {len(shard) for shard in shards} == {4}
    numbers = [drawn(shard) for shard in shards]
    assert {len(shard) for shard in numbers} == {10 if uneven == "drop" else 12}
    seen = Counter(number for shard in numbers for number in shard)
    assert len(seen) == 40 or uneven == "drop"
    assert max(seen.values()) <= (2 if uneven == "drop" else 4)


def test_a_shard_larger_than_the_data_is_empty_or_padded(sources: list[Any]) -> None:
    assert drawn(Batcher(sources[0], NUMBER, shard=(50, 60))) == []
    assert drawn(Batcher(sources[0], NUMBER, shard=(50, 60), uneven="pad")) == [1010]
    assert list(islice(Batcher(sources[0], NUMBER, shard=(50, 60), epochs=None), 3)) == []


def test_ray_is_asked_inside_of_a_training_worker_only(alone: Any) -> None:
    context = SimpleNamespace(get_world_rank=lambda: 2, get_world_size=lambda: 5)
    ray = SimpleNamespace(get_context=lambda: context)
    alone.setitem(sys.modules, "ray.train", ray)
    assert fastrec.find_shard() == (2, 5)

    def refuse() -> None:
        raise RuntimeError("not inside of a worker")

    ray.get_context = refuse
    assert fastrec.find_shard() == (0, 1)
