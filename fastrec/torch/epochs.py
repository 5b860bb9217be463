# SPDX-License-Identifier: Apache-2.0
"""Coordinate the epoch of each pass between a process and its DataLoader workers."""

from __future__ import annotations

import os
import secrets
import sys
from multiprocessing.context import get_spawning_popen
from typing import Any, NamedTuple

import torch

from .._core import exchange
from ..errors import FastrecError

__all__ = ["Begun", "EpochLog", "key_of_workers", "new_pass", "pass_of_worker"]

_CAPACITY = 1 << 18  # entries of a log: passes, and changes of the epoch


class Begun(NamedTuple):
    """A pass that has started."""

    epoch: int
    """The first epoch that it goes through."""
    state: int | None
    """The entry of the state that was loaded for it, or None where it begins with the epoch."""


class EpochLog:
    """Log of the passes over a dataset and of the changes of its epoch, in order.

    A process shares the log with the workers of its DataLoaders. Each worker of a pass requests the
    pass by a key that all of them know, and the first request appends it. Entries are appended by
    one atomic instruction and never change. Every process therefore reads the same epochs, and a
    killed process leaves neither a lock nor an incomplete entry.

    Parameters
    ----------
    step : int
        Number of epochs in a pass.
    words : tensor, optional
        The shared memory of another process's log.
    """

    def __init__(self, step: int, words: torch.Tensor | None = None) -> None:
        if words is None:  # zeros, which use memory only after entries are written
            storage = torch.UntypedStorage._new_shared(8 * _CAPACITY)
            words = torch.empty(0, dtype=torch.int64).set_(storage, 0, (_CAPACITY,), (1,))
        # The first word says whether the warning about workers was given. The others are entries:
        # the key of a pass is positive, a change of the epoch is negative, and 0 means that there
        # is no entry yet.
        self._words = words
        self._array = words.numpy()
        self._step = step
        self._owner = os.getpid()
        self._end = 1
        self._next = Begun(0, None)
        self._passes: dict[int, Begun] = {}
        self._last_key: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        self._read()
        words = self._words if get_spawning_popen() is not None else None
        entries = self._array[: self._end].copy() if words is None else None
        return {"step": self._step, "words": words, "entries": entries, "owner": self._owner}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["step"], state["words"])  # type: ignore[misc]
        if state["words"] is None:
            self._array[: len(state["entries"])] = state["entries"]
        else:
            self._owner = state["owner"]

    def copy(self) -> EpochLog:
        """Return a copy of the log that only this process appends to."""
        self._read()
        log = EpochLog(self._step)
        log._array[: self._end] = self._array[: self._end]
        return log

    @property
    def is_foreign(self) -> bool:
        """Whether another process created the log."""
        return self._owner != os.getpid()

    def _read(self) -> None:
        """Read the entries that other processes have appended."""
        while self._end < len(self._array) and (word := int(self._array[self._end])):
            if word > 0:
                self._passes[word] = self._next
                self._next = Begun(self._next.epoch + self._step, None)
                self._last_key = word
            else:
                epoch, is_state = divmod(-1 - word, 2)
                self._next = Begun(epoch, self._end if is_state else None)
                self._last_key = None
            self._end += 1

    def _append(self, word: int) -> bool:
        """Append an entry after all known entries; return False if another process was first."""
        if self._end == len(self._array):
            raise FastrecError(
                f"an IterableDataset can be iterated over {_CAPACITY} times at most: make a new one"
            )
        return exchange(self._array, self._end, 0, word)

    @property
    def next(self) -> Begun:
        """The pass that starts next."""
        self._read()
        return self._next

    @property
    def last_was_in_workers(self) -> bool:
        """Whether DataLoader workers made the last pass, and the epoch has not changed since."""
        self._read()
        return self._last_key is not None and self._last_key % 2 == 1

    def begin(self, key: int, epoch: int | None = None) -> Begun:
        """Return the pass with this key; the first request starts it.

        Parameters
        ----------
        key : int
            Result of :func:`new_pass` or :func:`pass_of_worker`.
        epoch : int, optional
            Epoch at which a new pass starts; the next epoch by default.
        """
        self._read()
        while key not in self._passes:
            is_next = epoch is None or epoch == self._next.epoch
            self._append(key if is_next else _change(epoch or 0, is_state=False))
            self._read()
        return self._passes[key]

    def set(self, epoch: int, *, is_state: bool = False) -> int:
        """Set the epoch of the next pass, or the state that it resumes; return the entry."""
        self._read()
        while not self._append(_change(epoch, is_state=is_state)):
            self._read()
        self._read()
        return self._end - 1

    def is_first_warning(self) -> bool:
        """Return whether this is the first call in all processes."""
        return exchange(self._array, 0, 0, 1)


def _change(epoch: int, *, is_state: bool) -> int:
    return -1 - (2 * epoch + is_state)


def new_pass() -> int:
    """Return a random key for a pass that no DataLoader worker shares."""
    return 2 * secrets.randbits(60) + 2


def pass_of_worker(worker: Any, number: int) -> int:
    """Return the key of a pass that DataLoader workers share; it is the same in each of them.

    Parameters
    ----------
    worker : WorkerInfo
    number : int
        Number of passes that this worker process has started, including this one.
    """
    return key_of_workers(worker.seed - worker.id, _result_queue(), number)


def key_of_workers(seed: int, queue: Any, number: int) -> int:
    """Return the key of a pass of a set of DataLoader workers.

    Parameters
    ----------
    seed : int
        The seed that torch has drawn for the set.
    queue : multiprocessing.Queue or None
        The queue for the batches of the workers.
    number : int
        As for :func:`pass_of_worker`, counted from 1.
    """
    # A program that seeds torch before each pass draws the same number again, but each set of
    # workers has another pipe. Some systems do not number pipes.
    try:
        pipe = os.fstat(queue._writer.fileno()).st_ino
    except (AttributeError, OSError):
        pipe = 0
    return (hash((seed, pipe, number)) & (2**62 - 1)) | 1


def _result_queue() -> Any:
    """Return the queue for this worker's batches; None if the internals of torch have changed."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "_worker_loop":
        frame = frame.f_back
    return None if frame is None else frame.f_locals.get("data_queue")
