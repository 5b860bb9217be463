# SPDX-License-Identifier: Apache-2.0
"""Ranks and DataLoader workers, however they are started, have every record once together."""

from __future__ import annotations

import gzip
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verbs import write_examples

import fastrec
from fastrec import Batcher, Mixture

FEATURES = {"i": fastrec.FixedLenFeature((), np.int64)}
COUNT = 403


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shares")
    return write_examples(folder / "file", ({"i": i} for i in range(COUNT)))


def be_worker(patch: pytest.MonkeyPatch, worker: int, workers: int) -> None:
    info = SimpleNamespace(id=worker, num_workers=workers)
    patch.setitem(sys.modules, "torch.utils.data", SimpleNamespace(get_worker_info=lambda: info))


def be_rank(patch: pytest.MonkeyPatch, rank: int, size: int) -> None:
    patch.setenv("RANK", str(rank))
    patch.setenv("WORLD_SIZE", str(size))


def drawn(batcher: Batcher) -> list[int]:
    return [i for batch in batcher for i in batch["i"].tolist()]


# --- compressed files ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A plain and a compressed file of the same 2,500 records."""
    folder = tmp_path_factory.mktemp("many")
    plain = write_examples(folder / "plain", ({"i": i} for i in range(2500)))
    packed = folder / "packed"
    packed.write_bytes(gzip.compress(plain.read_bytes(), 1))
    return [plain, packed]


@given(
    size=st.sampled_from([1, 7, 255, 256, 257, 300, 512, 1000, 1100, 3000]),
    count=st.integers(1, 4),
    uneven=st.sampled_from(["longer", "drop", "pad"]),
    epochs=st.integers(1, 2),
    across=st.booleans(),
)
@settings(max_examples=25)
def test_shards_of_a_compressed_file_have_the_records_of_the_plain_one(
    many: list[Path], size: int, count: int, uneven: Any, epochs: int, across: bool
) -> None:
    for shard in range(count):
        plain, packed = (
            drawn(
                Batcher(
                    path, FEATURES, size, shard=(shard, count), uneven=uneven, epochs=epochs,
                    batch_across_epochs=across,
                )
            )
            for path in many
        )  # fmt: skip
        assert plain == packed


# --- seeds --------------------------------------------------------------------------------------


@pytest.mark.parametrize("shuffle", [True, "blocks"])
def test_shards_that_shuffle_without_a_common_seed_are_refused(
    path: Path, alone: pytest.MonkeyPatch, shuffle: Any
) -> None:
    options: dict[str, Any] = {"batch_size": 8, "shuffle": shuffle}
    with pytest.raises(ValueError, match="require seed, the same for all"):
        Batcher(path, FEATURES, shard=(0, 2), **options)
    Batcher(path, FEATURES, shard=(0, 1), **options)
    early = Batcher(path, FEATURES, shard="auto", **options)
    be_rank(alone, 1, 2)
    with pytest.raises(ValueError, match="require seed, the same for all"):
        Batcher(path, FEATURES, shard="auto", **options)
    with pytest.raises(ValueError, match="require seed, the same for all"):
        iter(early)  # made before the ranks were known
    state = Batcher(path, FEATURES, shard="auto", seed=5, **options).state_dict()
    assert sorted(drawn(Batcher(path, FEATURES, shard="auto", seed=5, **options))) != []
    assert state["order"]["shards"] == 2


def test_a_mixture_is_dealt_by_its_seed_even_in_order(path: Path) -> None:
    mixture = Mixture([path, path], [1, 1])
    with pytest.raises(ValueError, match="require seed"):
        Batcher(mixture, FEATURES, 8, shard=(0, 2))


@pytest.mark.parametrize("shuffle", [False, 50])
def test_what_no_seed_decides_needs_none(path: Path, shuffle: Any) -> None:
    shards = [Batcher(path, FEATURES, 8, shuffle=shuffle, shard=(k, 2)) for k in range(2)]
    assert sorted(i for shard in shards for i in drawn(shard)) == list(range(COUNT))


def test_a_batcher_made_in_a_worker_draws_a_seed_of_its_own_and_is_refused(
    path: Path, alone: pytest.MonkeyPatch
) -> None:
    made = Batcher(path, FEATURES, 8, shuffle=True, shard="auto")
    shares = []
    for worker in range(3):  # each gets a copy of the one that was made before
        be_worker(alone, worker, 3)
        shares.append(drawn(pickle.loads(pickle.dumps(made))))
    assert sorted(i for share in shares for i in share) == list(range(COUNT))
    with pytest.raises(ValueError, match="require seed"):
        Batcher(path, FEATURES, 8, shuffle=True, shard="auto")


# --- ranks --------------------------------------------------------------------------------------


def test_the_rank_travels_to_workers_that_cannot_find_it(
    path: Path, alone: pytest.MonkeyPatch
) -> None:
    shares = []
    for rank in range(2):
        be_rank(alone, rank, 2)
        batcher = Batcher(path, FEATURES, 8, shuffle=True, seed=1, shard="auto")
        sent = pickle.dumps(batcher)
        alone.delenv("RANK")
        for worker in range(2):
            be_worker(alone, worker, 2)
            got = pickle.loads(sent)
            shares.append(drawn(pickle.loads(pickle.dumps(got))))
        alone.delitem(sys.modules, "torch.utils.data")
    assert sorted(map(len, shares)) == [100, 101, 101, 101]
    assert sorted(i for share in shares for i in share) == list(range(COUNT))


def test_a_process_that_finds_its_own_rank_has_that_one(
    path: Path, alone: pytest.MonkeyPatch
) -> None:
    be_rank(alone, 0, 2)
    sent = pickle.dumps(Batcher(path, FEATURES, 8, shuffle=True, seed=1, shard="auto"))
    be_rank(alone, 1, 2)
    own = Batcher(path, FEATURES, 8, shuffle=True, seed=1, shard=(1, 2))
    assert drawn(pickle.loads(sent)) == drawn(own)


def test_without_a_shard_several_workers_are_warned_of(
    path: Path, alone: pytest.MonkeyPatch
) -> None:
    batcher = Batcher(path, FEATURES, 8)
    be_worker(alone, 0, 2)
    with pytest.warns(RuntimeWarning, match="each of the 2 workers") as caught:
        iter(batcher)
    assert caught[0].filename == __file__
    be_worker(alone, 0, 1)
    iter(batcher)


def test_no_files_are_an_error() -> None:
    for make in (fastrec.Batcher, fastrec.Reader):
        with pytest.raises((ValueError, FileNotFoundError), match=r"no files|empty"):
            make([])


# --- real processes -----------------------------------------------------------------------------

LOADERS = """
import sys, fastrec, numpy as np, torch
from collections import Counter
from torch.utils.data import DataLoader, IterableDataset

FEATURES = {"i": fastrec.FixedLenFeature((), np.int64)}

class Wrapped(IterableDataset):
    def __init__(self, path, **options):
        self.batcher = fastrec.Batcher(path, FEATURES, 8, **options)
    def __iter__(self):
        for batch in self.batcher:
            yield torch.from_numpy(batch["i"])

def epochs(path, method, workers, count=2):
    dataset = Wrapped(path, shuffle=True, seed=1, shard="auto", threads=1)
    context = method if workers else None
    loader = DataLoader(
        dataset, batch_size=None, num_workers=workers, multiprocessing_context=context
    )
    for epoch in range(count):
        dataset.batcher.set_epoch(epoch)
        yield [i for batch in loader for i in batch.tolist()]
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_a_dataloader_have_every_record_once(
    path: Path, tmp_path: Path, method: str
) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    script = tmp_path / "loaders.py"
    script.write_text(
        LOADERS
        + """
if __name__ == "__main__":
    path, method, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    orders = list(epochs(path, method, 2))
    for order in orders:
        assert sorted(order) == list(range(count)), Counter(order).most_common(3)
    assert orders[0] != orders[1]
"""
    )
    _run(script, path, method, COUNT)


RANKS = (
    LOADERS
    + """
def rank(number, path, method, folder):
    import torch.distributed as dist
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=number, world_size=2
    )
    for workers in (0, 2):
        with open(f"{folder}/{number}-{workers}", "w") as file:
            for order in epochs(path, method, workers, 1 if workers else 2):
                print(*order, file=file)
    dist.destroy_process_group()

if __name__ == "__main__":
    path, method, folder = sys.argv[1:]
    torch.multiprocessing.spawn(rank, (path, method, folder), nprocs=2)
"""
)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_two_gloo_ranks_have_every_record_once(path: Path, tmp_path: Path, method: str) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    script = tmp_path / "ranks.py"
    script.write_text(RANKS)
    _run(script, path, method, tmp_path)
    for workers in (0, 2):
        parts = [(tmp_path / f"{k}-{workers}").read_text().splitlines() for k in range(2)]
        for epoch in range(1 if workers else 2):
            seen = [int(i) for part in parts for i in part[epoch].split()]
            assert sorted(seen) == list(range(COUNT))


def _run(script: Path, *arguments: object) -> None:
    command = [sys.executable, str(script), *map(str, arguments)]
    done = subprocess.run(command, check=False, timeout=500, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
