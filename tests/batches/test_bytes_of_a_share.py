# SPDX-License-Identifier: Apache-2.0
"""Ranks and DataLoader workers fetch the bytes of their own records, and few others."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from object_server import Objects, ObjectServer

import fastrec
from fastrec import Batcher, _core
from fastrec.batches.fetch_plans import Blocks
from fastrec.batches.order import OrderSpec

FEATURES = {"i": fastrec.FixedLenFeature((), np.int64)}
FILES, COUNT, BATCH = 4, 4096, 32
TOTAL = COUNT * 4040  # bytes, about

ORDERS: dict[str, dict[str, Any]] = {
    "file order": {"shuffle": False},
    "blocks": {"shuffle": fastrec.BlockShuffle(block=64, window=1)},
    "a buffer": {"shuffle": 100},
}
READERS = [(1, 2), (1, 4), pytest.param(8, 4, marks=pytest.mark.slow)]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder, generator = tmp_path_factory.mktemp("shares"), np.random.default_rng(0)
    found = [folder / f"{number}.tfrecord" for number in range(FILES)]
    for number, path in enumerate(found):
        with fastrec.Writer(path, index=True) as writer:
            for i in range(number * COUNT // FILES, (number + 1) * COUNT // FILES):
                writer.write({"i": i, "x": generator.bytes(4000)})
    return found


@contextmanager
def process_of(rank: int, ranks: int, worker: int, workers: int) -> Iterator[None]:
    """Be a DataLoader worker of a rank."""
    with pytest.MonkeyPatch.context() as patch:
        info = SimpleNamespace(id=worker, num_workers=workers)
        data = SimpleNamespace(get_worker_info=lambda: info if workers > 1 else None)
        patch.setitem(sys.modules, "torch.utils.data", data)
        patch.setenv("RANK", str(rank))
        patch.setenv("WORLD_SIZE", str(ranks))
        yield


def read_shares(
    source: Any, ranks: int, workers: int, options: Any, count: Callable[[], int]
) -> list[float]:
    """Return the bytes that each process fetches, relative to its share.

    All together have to have each record once.
    """
    shares, seen = [], []
    for rank in range(ranks):
        for worker in range(workers):
            with process_of(rank, ranks, worker, workers):
                before = count()
                batcher = Batcher(source, FEATURES, BATCH, seed=1, shard="auto", **options)
                rows = np.concatenate([batch["i"] for batch in batcher])
                del batcher  # its maps keep pages in the cache
            seen += rows.tolist()
            shares.append((count() - before) / (TOTAL * len(rows) / COUNT))
    assert sorted(seen) == list(range(COUNT))
    return shares


@pytest.mark.parametrize("world", [2, 3, 4, 8])
@pytest.mark.parametrize("batch", [5, 24, 250])
def test_a_shard_has_its_own_blocks_however_short_the_steps_are(world: int, batch: int) -> None:
    count, block = 60_003, 30
    options: dict[str, Any] = {
        "shuffle": "blocks",
        "block": block,
        "window": 4,
        "virtual_shards": 64,
        "seed": 1,
    }
    touched = []
    for rank in range(world):
        spec = OrderSpec(**options, batch_size=batch, shard=(rank, world))
        order = _core.Order([count], spec)
        sampler, blocks, own, serial = _core.Sampler(order), Blocks(*order.blocks), set(), 0
        while (numbers := sampler.numbers(serial)) is not None:
            own.update(blocks.of(numbers[1]).tolist())
            serial += 1
        [last] = blocks.of(np.array([count - 1], np.uint64))
        touched.append(len(own) / (int(last + 1) / world))
    # A few blocks are at the borders of the virtual shards of a shard.
    assert max(touched) <= 1.15


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("ranks", "workers"), READERS)
def test_each_process_fetches_its_share_of_remote_objects(
    paths: list[Path], tmp_path: Path, order: str, ranks: int, workers: int
) -> None:
    pytest.importorskip("obstore")
    names = [f"{path.name}{end}" for path in paths for end in ("", ".frindex")]
    objects = Objects({name: (paths[0].parent / name).read_bytes() for name in names})
    with pytest.MonkeyPatch.context() as patch, ObjectServer(objects) as server:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path))

        def count() -> int:
            sizes = (
                request.range[1] + 1 - request.range[0]
                if request.range
                else os.path.getsize(paths[0].parent / request.path.strip("/"))
                for request in server.requests
                if request.method == "GET" and request.path.endswith(".tfrecord")
            )
            return sum(sizes)

        urls = [f"{server.url}/{path.name}" for path in paths]
        shares = read_shares(urls, ranks, workers, ORDERS[order], count)
    assert max(shares) <= 1.15
    assert sum(shares) / len(shares) <= 1.05


def bytes_in_the_page_cache(path: Path) -> int:
    """Return how much of a file the page cache holds, as mincore(2) says."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        view = np.frombuffer(mapped, np.uint8)
        pages = np.zeros(-(-len(mapped) // mmap.PAGESIZE), np.uint8)
        arguments = (view.ctypes.data, len(mapped), pages.ctypes.data)
        assert libc.mincore(*map(ctypes.c_size_t, arguments)) == 0
        del view  # so that the map can be closed
    return int((pages & 1).sum()) * mmap.PAGESIZE


def drop(path: Path) -> None:
    """Drop a file from the page cache."""
    if not hasattr(os, "posix_fadvise"):
        pytest.skip("the system does not drop files from the page cache")
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("ranks", "workers"), READERS)
def test_each_process_reads_its_share_of_cold_files(
    paths: list[Path], order: str, ranks: int, workers: int
) -> None:
    read = 0

    def count() -> int:
        """Bytes that were read so far; the next process finds a cold page cache."""
        nonlocal read
        read += sum(map(bytes_in_the_page_cache, paths))
        for path in paths:
            drop(path)
        return read

    count()
    if sum(map(bytes_in_the_page_cache, paths)) > 0.1 * TOTAL:
        pytest.skip("the page cache does not let go of files here")
    shares = read_shares(paths, ranks, workers, ORDERS[order], count)
    # A share below 2 MiB may cost twice its size: pages, and the readahead at either end of a run.
    assert max(shares) <= (1.3 if ranks * workers < 8 else 2.0)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("mapped", [0, 1], ids=["all files mapped", "one at a time"])
def test_files_in_memory_do_not_let_a_cold_file_be_read_whole(
    paths: list[Path], mapped: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first batch tells whether files are in memory, and may be wrong about other files."""
    monkeypatch.setattr("fastrec._core.Dataset", partial(_core.Dataset, mapped=mapped))

    def batches(seed: int) -> list[Any]:
        order = {"seed": seed, "shard": (0, 16), "threads": 1, **ORDERS["blocks"]}
        batcher = Batcher(paths[:2], FEATURES, BATCH, **order)
        return [batch["i"] * FILES // COUNT for batch in batcher]

    for seed in range(20):
        first, *others = batches(seed)
        own = sum(int((file != first[0]).sum()) for file in others)
        if own > 0 and (first == first[0]).all():
            break
    assert own > 0
    cold = paths[1 - int(first[0])]
    drop(cold)
    if bytes_in_the_page_cache(cold):
        pytest.skip("the page cache does not let go of files here")
    paths[int(first[0])].read_bytes()
    batches(seed)
    assert bytes_in_the_page_cache(cold) < 2 * own * TOTAL / COUNT + (64 << 10)
