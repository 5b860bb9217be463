# SPDX-License-Identifier: Apache-2.0
"""Passes over a DataLoader that end early in many ways, each followed by a whole pass."""

from __future__ import annotations

import atexit
import gc
import multiprocessing
import os
import signal
import weakref
from collections.abc import Callable
from random import Random
from typing import Any

from waiting import until

import fastrec

BATCH = 4
SEED = 3


def ids_of(batches: Any) -> list[int]:
    return [int(i) for batch in batches for i in batch["id"]]


def skip_teardown(worker: int) -> None:
    """Let a worker process end at once: deleting PyTorch's modules takes a third of its time."""
    atexit.register(os._exit, 0)


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
            worker_init_fn=skip_teardown,
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


def passes_of_rank(rank: int, files: str, features: Any, setup: Any) -> list[list[int]]:
    """The passes of one of several ranks, which end their passes alike."""
    return passes_after(Loaders(files, features, *setup), Random(1))


def passes_of_rank_that_looks(
    rank: int, files: str, features: Any, mode: str, taken: int, setup: Any
) -> list[list[int] | str]:
    """The passes of one of two ranks, of which rank 0 alone looks at `taken` batches first."""
    import torch.distributed

    loaders = Loaders(files, features, *setup)
    if rank == 0:
        look_at(taken)(loaders)
        gc.collect()
    passes: list[list[int] | str] = []
    if mode == "rank 1 first" and rank == 0:
        torch.distributed.barrier()
    for epoch in range(2):
        if mode == "set_epoch":
            loaders.dataset.set_epoch(epoch)
        try:
            passes.append(ids_of(loaders.loader))
        except fastrec.FastrecError as error:
            passes.append(str(error))
            loaders.renew()
    if mode == "rank 1 first" and rank == 1:
        torch.distributed.barrier()
    return passes


def passes_after_a_failed_start(
    rank: int, files: str, features: Any, setup: Any
) -> list[list[int]]:
    """Two passes after one of no batches, whose workers end before they begin it in rank 0."""
    loaders = Loaders(files, features, *setup)
    fails = [rank == 0]
    os.register_at_fork(after_in_child=lambda: fails[0] and os._exit(0))
    batches = iter(loaders.loader)
    if rank == 1:
        until(lambda: loaders.dataset._log.next.epoch == 1)
    fails[0] = False
    del batches
    return [ids_of(loaders.loader), ids_of(loaders.loader)]


def is_freed_at_once(rank: int, files: str, features: Any, kind: str, method: str) -> bool:
    """Whether an iterator that is dropped ends without the garbage collector."""
    loaders = Loaders(files, features, kind, method, 1, False)
    gc.disable()
    batches = iter(loaders.loader)
    next(batches)
    reference = weakref.ref(getattr(batches, "_iterator", batches))
    del batches
    if kind == "StatefulDataLoader":
        loaders.renew()  # which keeps its iterator
    gc.enable()
    return reference() is None


def passes_with_an_evaluation(
    rank: int, files: str, features: Any, workers: int
) -> list[list[int]]:
    """Two training passes, and before each a pass of rank 0 over all records."""
    from torch.utils.data import DataLoader

    from fastrec.torch import IterableDataset

    train = IterableDataset(files, features, BATCH, shuffle=True, seed=SEED)
    loader = DataLoader(train, batch_size=None, num_workers=workers)
    passes = []
    for _ in range(2):
        if rank == 0:
            evaluation = IterableDataset(files, features, BATCH, shard=None)
            passes.append(ids_of(DataLoader(evaluation, batch_size=None, num_workers=workers)))
        passes.append(ids_of(loader))
    return passes
