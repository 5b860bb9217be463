# SPDX-License-Identifier: Apache-2.0
"""Track the progress of a pass in the process that takes batches from a DataLoader."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Iterator
from typing import Any

from torch.utils.data.dataloader import _BaseDataLoaderIter

from ..errors import FastrecError
from .epochs import key_of_workers
from .ranks import RankedPass, has_other_ranks

__all__ = ["check_not_lost", "watch_starting_loader"]


class _Watch:
    """Counts the batches that one iterator of a DataLoader with workers delivers.

    In the process that takes the batches, PyTorch does not call any method of a dataset. Two
    methods of the iterator are therefore replaced, on that object only.
    """

    def __init__(self, iterator: Any, dataset: Any) -> None:
        self._iterator = weakref.ref(iterator)  # deleting the iterator ends its workers
        self._dataset = dataset
        self._pass_count = 0
        self._key = 0
        self._is_new = True
        self._ranked: RankedPass | None = None
        dataset._expect_pass(None)  # before a worker starts the next pass
        iterator._reset = self._reset
        iterator._next_data = self._next_data

    def _reset(self, *args: Any, **options: Any) -> None:
        """Start a pass."""
        iterator: Any = self._iterator()
        self._pass_count += 1
        self._is_new, self._ranked = True, None
        self._key = key_of_workers(
            iterator._base_seed, iterator._worker_result_queue, self._pass_count
        )
        self._dataset._expect_pass(self._key)
        type(iterator)._reset(iterator, *args, **options)

    def _next_data(self) -> Any:
        """Return the next batch."""
        iterator: Any = self._iterator()
        batch, is_over = None, False
        try:
            batch = type(iterator)._next_data(iterator)
        except StopIteration:
            is_over = True
            if self._is_new and iterator._num_yielded:  # batches before the state
                check_not_lost()
        self._is_new = False
        if self._ranked is None:
            self._ranked = self._dataset._compare_expected(self._key)
        if self._ranked is not None and is_over:
            self._ranked.complete()
        elif self._ranked is not None:
            self._ranked.count()
        if is_over:
            raise StopIteration
        return batch


def watch_starting_loader() -> None:
    """Watch the iterator that starts worker processes, if a caller of this function is one."""
    if not has_other_ranks() and not _is_lightning_above():
        return
    for frame in _frames_above():
        iterator = frame.f_locals.get("self")
        if isinstance(iterator, _BaseDataLoaderIter):
            is_ours = hasattr(iterator._dataset, "_expect_pass")
            if is_ours and "_next_data" not in vars(iterator):
                _Watch(iterator, iterator._dataset)
            return


def check_not_lost() -> None:
    """Raise instead of resuming a finished pass, because Lightning would lose an epoch.

    Lightning has already counted the epoch of the state, and would count the empty remainder of the
    pass as the next epoch.
    """
    if _is_lightning_above():
        raise FastrecError(
            "the checkpoint was saved after the last batch of an epoch: no batch is left in the "
            "state of its StatefulDataLoader, and Lightning would count that as the next epoch. "
            "Leave out that state in on_load_checkpoint(), as fastrec's page on PyTorch shows"
        )


def _is_lightning_above() -> bool:
    if sys.modules.keys().isdisjoint(("lightning", "pytorch_lightning")):
        return False
    names = (frame.f_globals.get("__name__", "") for frame in _frames_above())
    return any(name.startswith(("lightning.pytorch.", "pytorch_lightning.")) for name in names)


def _frames_above() -> Iterator[Any]:
    """Yield the frames of the callers of the function that iterates.

    The frame of that function would be in a reference cycle with itself, which would keep the
    iterator of a DataLoader alive. If the garbage collector deletes an iterator, its workers are
    not notified, and PyTorch waits 5 s for each of them.
    """
    frame: Any = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back


# With other start methods the dataset is pickled instead: IterableDataset.__getstate__.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=watch_starting_loader)
