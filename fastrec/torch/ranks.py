# SPDX-License-Identifier: Apache-2.0
"""Detect ranks in different epochs, which would read shards of different orders."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..errors import FastrecError

__all__ = ["RankCheck", "RankedPass", "has_other_ranks"]

_names: Counter[str] = Counter()


class RankCheck:
    """Compares the passes of the ranks of ``torch.distributed``.

    A rank that leaves an epoch early and starts a later one announces it in the store of the
    process group, and so does a rank that completes an epoch. If all ranks run the same program,
    they leave an epoch after the same batch. It is an error if a rank takes more batches of an
    epoch than a rank that left it early. A rank never waits for another rank.

    Parameters
    ----------
    state : mapping
        A state of the dataset, which identifies its files and its order.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        identity = json.dumps([state["order"], state["source"]], sort_keys=True).encode()
        name = hashlib.sha256(identity).hexdigest()[:16]
        self._prefix = f"fastrec/{name}/{_names[name]}"
        _names[name] += 1
        self._last = -1
        self._return_count = 0
        self._left: tuple[int, int] | None = None

    def forget(self) -> None:
        """Skip the check of the next pass, since its epoch was set or a state was loaded."""
        self._left = None

    def key(self, event: str, epoch: int) -> str:
        """Return the key in the store for an event of an epoch."""
        return f"{self._prefix}/{self._return_count}/{event}/{epoch}"

    def begin(self, epoch: int) -> RankedPass:
        """Start a pass after the previous one.

        Raises
        ------
        FastrecError
            If another rank completed the epoch that this rank left.
        """
        store, rank = _store()
        if self._left is not None and store is not None:
            last, count = self._left
            if last < epoch:
                _set(store, self.key("left", last), f"{rank} {count}")
                other = _get(store, self.key("complete", last))
                if other is not None and other[0] != rank and other[1] > count:
                    raise _out_of_step(last, rank, count, other[0], other[1])
        if epoch <= self._last:  # the ranks repeat earlier epochs
            self._return_count += 1
        self._last = epoch
        self._left = (epoch, 0)
        return RankedPass(self, epoch)


class RankedPass:
    """The batches that this rank takes from one epoch."""

    def __init__(self, check: RankCheck, epoch: int) -> None:
        self._check = check
        self._epoch = epoch
        self._count = 0

    def count(self) -> None:
        """Count the batch that is delivered next.

        Raises
        ------
        FastrecError
            If another rank left the epoch before this batch.
        """
        self._count += 1
        self._check._left = (self._epoch, self._count)
        if self._count < 4 or self._count & (self._count - 1) == 0:
            self._compare()

    def complete(self) -> None:
        """Announce to the other ranks that this rank has taken all batches of the epoch."""
        self._compare()
        store, rank = _store()
        if store is not None:
            _set(store, self._check.key("complete", self._epoch), f"{rank} {self._count}")
        self._check._left = None

    def _compare(self) -> None:
        store, rank = _store()
        if store is None:
            return
        other = _get(store, self._check.key("left", self._epoch))
        if other is not None and other[0] != rank and other[1] < self._count:
            raise _out_of_step(self._epoch, other[0], other[1], rank, self._count)


def _out_of_step(epoch: int, left: int, few: int, stayed: int, many: int) -> FastrecError:
    return FastrecError(
        f"rank {left} left epoch {epoch} after {few} batches and began a later one, and rank "
        f"{stayed} took {many} of it: ranks in different epochs lose records. Take the same passes "
        "in all ranks, or call set_epoch() in all of them before each pass"
    )


def has_other_ranks() -> bool:
    """Return whether this process is one of several ranks of ``torch.distributed``."""
    import torch.distributed as distributed

    is_initialized = distributed.is_available() and distributed.is_initialized()
    return bool(is_initialized and distributed.get_world_size() > 1)


def _store() -> tuple[Any, int]:
    """Return the store of the process group, or None for a single process, and the rank."""
    import torch.distributed as distributed

    if not has_other_ranks():
        return None, 0
    from torch.distributed import distributed_c10d

    get_store = getattr(distributed_c10d, "_get_default_store", None)
    return (get_store and get_store()), distributed.get_rank()


def _set(store: Any, key: str, value: str) -> None:
    with contextlib.suppress(RuntimeError):  # the process that serves the store has ended
        store.set(key, value)


def _get(store: Any, key: str) -> tuple[int, int] | None:
    try:
        if not store.check([key]):
            return None
        rank, count = store.get(key).split()
    except RuntimeError:
        return None
    return int(rank), int(count)
