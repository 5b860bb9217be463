# SPDX-License-Identifier: Apache-2.0
"""A Batcher as an iterable dataset, shared out to ranks and workers once."""

from __future__ import annotations

import secrets
import sys
import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import torch
import torch.utils.data

from .. import Batcher, FastrecError, find_shard
from .tensors import RAGGED, to_tensors

__all__ = ["IterableDataset"]

_MOST_WORKERS = 1024
_EPOCH, _RESUMED, _WARNED = range(3)  # rows of what the processes share

_TWICE = (
    "this fastrec.torch.IterableDataset already takes the share of its process (shard='auto'), and "
    "accelerate would share it out again, which loses records: give accelerate a "
    "fastrec.torch.Dataset, or do not prepare() this DataLoader and iterate over "
    "fastrec.torch.prefetch_to(loader, accelerator.device)"
)


class IterableDataset(torch.utils.data.IterableDataset):  # type: ignore[misc,type-arg,unused-ignore]
    """Whole batches of a :class:`~fastrec.Batcher`, as tensors.

    Iterate over it directly, or through ``DataLoader(dataset, batch_size=None)``. Its own threads
    read ahead, so ``num_workers=0`` is the fast way: worker processes copy every batch through
    shared memory and can make it 20 times slower.

    Each ``iter()`` is the next epoch, also with worker processes. Every record of an epoch is taken
    by one worker of one rank. ``state_dict()`` and ``load_state_dict()`` resume it exactly, alone
    or as torchdata's ``StatefulDataLoader`` and ``nodes`` call them.

    Parameters
    ----------
    source, features, batch_size
        As for :class:`~fastrec.Batcher`.
    shard : "auto", (index, count) or None
        The share of this process: as :func:`~fastrec.find_shard` says, as given, or everything.
        Workers of a DataLoader share it out among themselves.
    seed : int, optional
        Of the shuffle. Required where several processes shuffle, so that all have one order.
    ragged, padding
        As for :func:`to_tensors`.
    **options
        Further ones of :class:`~fastrec.Batcher`. A `transform` gets NumPy columns.

    Examples
    --------
    >>> import os, tempfile, numpy as np, fastrec, fastrec.torch
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_batch({"x": np.arange(6)})
    >>> features = {"x": fastrec.FixedLenFeature((), np.int64)}
    >>> dataset = IterableDataset(path, features, batch_size=4)
    >>> len(dataset), [batch["x"] for batch in dataset]
    (2, [tensor([0, 1, 2, 3]), tensor([4, 5])])
    """

    def __init__(
        self,
        source: Any,
        features: Mapping[str, Any] | None = None,
        batch_size: int | None = 1,
        *,
        shard: tuple[int, int] | str | None = "auto",
        seed: int | None = None,
        ragged: str = "nested",
        padding: Any = 0,
        **options: Any,
    ) -> None:
        if ragged not in RAGGED:
            raise ValueError(f"ragged must be one of {RAGGED}, got {ragged!r}")
        if isinstance(shard, str) and shard != "auto":
            raise ValueError(f"shard must be 'auto', (index, count) or None, got {shard!r}")
        self._any_seed = seed is None
        self._options: dict[str, Any] = {
            **options,
            "source": source,
            "features": features,
            "batch_size": batch_size,
            "seed": secrets.randbits(63) if seed is None else seed,
        }
        self._shard = shard
        self._to_tensors = partial(to_tensors, ragged=ragged, padding=padding)
        self._rank: tuple[int, int] | None = None  # of the process that made this one a worker
        self._resume: Mapping[str, Any] | None = None
        self._resumes = 0
        # Worker processes, which get a copy of this object, leave here for the next ones what
        # epoch comes next and which state they have taken; each has a place of its own.
        self._shared = torch.zeros(3, _MOST_WORKERS, dtype=torch.int64).share_memory_()
        self._batcher: Batcher | None = None
        self._made_for: tuple[int, int] | None = None
        self._lengths: dict[int, int] = {}  # by number of workers
        self._get_batcher()

    # --- whose share ----------------------------------------------------------------------------

    def _find_rank(self) -> tuple[int, int]:
        """This process among those that train, not counting DataLoader workers."""
        if self._shard is None:
            return 0, 1
        if self._shard != "auto":
            return self._shard  # type: ignore[return-value]
        worker = torch.utils.data.get_worker_info()
        if worker is not None and self._rank is not None:
            return self._rank
        index, count = find_shard()
        if worker is not None:  # forked: find_shard() has counted the workers
            return index // worker.num_workers, count // worker.num_workers
        return index, count

    def _get_batcher(self) -> Batcher:
        (index, count), worker = self._find_rank(), torch.utils.data.get_worker_info()
        if count > 1 and self._any_seed and self._options.get("shuffle"):
            raise ValueError("shuffle in several processes requires seed, the same in all of them")
        options = dict(self._options)
        if worker is not None:
            index, count = index * worker.num_workers + worker.id, count * worker.num_workers
            options.setdefault("threads", 1)
        if self._batcher is None or self._made_for != (index, count):
            self._batcher = Batcher(**options, shard=(index, count))
            self._made_for = index, count
        return self._batcher

    def _place(self) -> int:
        """The column of this process in what is shared."""
        worker = torch.utils.data.get_worker_info()
        if worker is None:
            return 0
        if worker.num_workers > _MOST_WORKERS:
            raise ValueError(f"num_workers must be at most {_MOST_WORKERS}")
        if worker.id == 0 and not self._shared[_WARNED, 0]:
            self._shared[_WARNED, 0] = 1
            warnings.warn(
                "fastrec.torch.IterableDataset reads ahead with threads of its own: DataLoader "
                "workers slow it down, up to 20 times; num_workers=0 is the fast way",
                RuntimeWarning,
                stacklevel=3,
            )
        return int(worker.id)

    @property
    def generator(self) -> Any:
        """Refused to accelerate, which asks for it before it shares a dataset out.

        Raises
        ------
        FastrecError
            When this dataset has taken the share of its process already.
        """
        if self._find_rank()[1] > 1 and self._shard is not None:
            raise FastrecError(_TWICE)
        raise AttributeError(f"{type(self).__name__!r} has no attribute 'generator'")

    def _check_not_dispatched(self) -> None:
        """Refuse to be read in one process by accelerate, to be sent to the others."""
        if "accelerate" not in sys.modules or self._shard is None or self._find_rank()[1] == 1:
            return
        frame = sys._getframe(1)
        while frame is not None:
            name = type(frame.f_locals.get("self")).__name__
            if name in ("DataLoaderDispatcher", "IterableDatasetShard"):
                raise FastrecError(_TWICE)
            frame = frame.f_back  # type: ignore[assignment]

    # --- iterating ------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        self._check_not_dispatched()
        place = self._place()
        self._go_to(place)  # for the states of iterators that have not begun
        return self._batches(place)

    def _go_to(self, place: int) -> Batcher:
        """The Batcher, about to begin the next epoch, or to go on where a state says."""
        batcher = self._get_batcher()
        if self._resume is not None and int(self._shared[_RESUMED, place]) != self._resumes:
            batcher.load_state_dict(self._resume)
        else:
            batcher.set_epoch(int(self._shared[_EPOCH, place]))
        return batcher

    def _batches(self, place: int) -> Iterator[Any]:
        """Begin an epoch with the first batch: frameworks make iterators that they never use."""
        batcher = self._go_to(place)
        batches = iter(batcher)
        self._shared[_RESUMED, place] = self._resumes
        self._shared[_EPOCH, place] = batcher.epoch
        yield from map(self._to_tensors, batches)

    def __len__(self) -> int:
        """Batches of one ``iter()`` of this process, or of one of a DataLoader that asks.

        Raises
        ------
        TypeError
            When it is not known beforehand.
        """
        caller = sys._getframe(1).f_locals.get("self")
        workers = caller.num_workers if isinstance(caller, torch.utils.data.DataLoader) else 0
        if not workers:
            return len(self._get_batcher())
        if workers not in self._lengths:  # workers have a short batch each
            index, count = self._find_rank()
            shards = [(index * workers + worker, count * workers) for worker in range(workers)]
            self._lengths[workers] = sum(len(Batcher(**self._options, shard=s)) for s in shards)
        return self._lengths[workers]

    def set_epoch(self, epoch: int) -> None:
        """Have the next ``iter()`` begin that epoch: :meth:`Batcher.set_epoch`."""
        batcher = self._get_batcher()
        if epoch != batcher.epoch:
            self._resume = None
        batcher.set_epoch(epoch)
        self._shared[_EPOCH] = epoch

    def state_dict(self) -> dict[str, Any]:
        """The state after the batch that was delivered last: :meth:`Batcher.state_dict`."""
        return self._get_batcher().state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Have the next ``iter()`` go on where `state` says: :meth:`Batcher.load_state_dict`."""
        self._get_batcher().load_state_dict(state)
        self._resume, self._resumes = dict(state), self._resumes + 1

    def __getstate__(self) -> dict[str, Any]:
        self._check_not_dispatched()
        rank = self._find_rank() if self._shard == "auto" else None
        return {**self.__dict__, "_batcher": None, "_rank": rank}

    def __repr__(self) -> str:
        return f"<fastrec.torch.IterableDataset of {self._get_batcher()!r}>"
