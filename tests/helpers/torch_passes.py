# SPDX-License-Identifier: Apache-2.0
"""Passes over a DataLoader that end early in many ways, each followed by a whole pass."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import fastrec

BATCH = 4
SEED = 3


def ids_of(batches: Any) -> list[int]:
    return [int(i) for batch in batches for i in batch["id"]]


class Loaders:
    """Loaders over one dataset.

    Parameters
    ----------
    kind : "DataLoader" or "StatefulDataLoader"
    method : str
        The start method of the workers.
    """

    def __init__(
        self,
        files: str,
        features: Any,
        kind: str,
        method: str,
        workers: int,
        persistent: bool,
        **options: Any,
    ) -> None:
        import fastrec.torch

        if kind == "DataLoader":
            from torch.utils.data import DataLoader as Loader
        else:
            from torchdata.stateful_dataloader import StatefulDataLoader as Loader
        if method == "forkserver":
            multiprocessing.set_forkserver_preload(["torch", "fastrec.torch"])
        self.dataset = fastrec.torch.IterableDataset(
            files, features, BATCH, shuffle=True, seed=SEED, **options
        )
        self._loader: Callable[[], Any] = lambda: Loader(
            self.dataset,
            batch_size=None,
            num_workers=workers,
            persistent_workers=persistent and workers > 0,
            multiprocessing_context=method if workers else None,
        )
        self.renew()

    def renew(self) -> None:
        self.loader = self._loader()


def look_at(count: int) -> Callable[[Loaders], None]:
    def look(loaders: Loaders) -> None:
        batches = iter(loaders.loader)
        for _ in range(count):
            next(batches)

    return look


def leave_by_break(loaders: Loaders) -> None:
    for number, _ in enumerate(loaders.loader):
        if number == 2:
            break


def leave_by_exception(loaders: Loaders) -> None:
    try:
        for number, _ in enumerate(loaders.loader):
            1 / (number - 1)
    except ZeroDivisionError:
        pass


def kill_a_worker(loaders: Loaders) -> None:
    batches = iter(loaders.loader)
    next(batches)
    workers = getattr(batches, "_workers", [])
    if not workers:
        return
    # torch's handler of SIGCHLD would raise an error wherever this process is.
    handler = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.kill(workers[-1].pid, signal.SIGKILL)
    workers[-1].join()
    del batches
    loaders.renew()
    gc.collect()
    signal.signal(signal.SIGCHLD, handler)


ENDINGS: dict[str, Callable[[Loaders], None]] = {
    "0 batches": look_at(0),
    "1 batch": look_at(1),
    "5 batches": look_at(5),
    "break": leave_by_break,
    "exception": leave_by_exception,
    "killed worker": kill_a_worker,
}


def passes_after(loaders: Loaders, random: Random) -> list[list[int]]:
    """The records of a whole pass after each ending, in random order, and of one more."""
    endings = list(ENDINGS)
    random.shuffle(endings)
    passes = []
    for ending in endings:
        ENDINGS[ending](loaders)
        gc.collect()
        passes.append(ids_of(loaders.loader))
    return [*passes, ids_of(loaders.loader)]


def epochs_of(files: str, features: Any, shards: int, count: int) -> dict[tuple[int, ...], int]:
    """The number of each epoch, by the records of shard 0 in it."""
    batcher = fastrec.Batcher(files, features, BATCH, shuffle=True, seed=SEED, shard=(0, shards))
    return {tuple(ids_of(batcher)): epoch for epoch in range(count)}


def run_passes_of_rank(
    rank: int, ranks: int, store: str, files: str, features: Any, out: str, arguments: Any
) -> None:
    """One of `ranks`, which end their passes alike."""
    import warnings

    import torch.distributed

    warnings.simplefilter("ignore")
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=ranks
    )
    passes = passes_after(Loaders(files, features, *arguments), Random(1))
    Path(out, f"{rank}.json").write_text(json.dumps(passes))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def run_rank_that_looks(
    rank: int,
    ranks: int,
    store: str,
    files: str,
    features: Any,
    out: str,
    mode: str,
    taken: int,
    arguments: Any,
) -> None:
    """One of `ranks`, of which rank 0 alone looks at `taken` batches first."""
    import warnings

    import torch.distributed

    warnings.simplefilter("ignore")
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=ranks
    )
    loaders = Loaders(files, features, *arguments)
    if rank == 0:
        look_at(taken)(loaders)
        gc.collect()
    seen: list[Any] = []
    if mode == "rank 1 first" and rank == 0:
        torch.distributed.barrier()
    for epoch in range(2):
        if mode == "set_epoch":
            loaders.dataset.set_epoch(epoch)
        try:
            seen.append(ids_of(loaders.loader))
        except fastrec.FastrecError as error:
            seen.append(str(error))
            loaders.renew()
    if mode == "rank 1 first" and rank == 1:
        torch.distributed.barrier()
    Path(out, f"{rank}.json").write_text(json.dumps(seen))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
