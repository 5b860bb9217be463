# SPDX-License-Identifier: Apache-2.0
"""Measure how much faster a training loop would run if loading took no time."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator
from typing import Any

from ..arguments import check_int

__all__ = ["Headroom", "headroom"]

_WARM_UP = 5  # batches of each half that are not timed, because they start threads and caches


class Headroom:
    """The batches of a loader, then equally many batches from memory, with the time of each half.

    :func:`headroom` creates one. Iterate over it once, with the body of the training loop.

    Attributes
    ----------
    loaded_s : float or None
        Seconds per step with batches of the loader; None before the loop has finished.
    memory_s : float or None
        Seconds per step with batches from memory.

    Examples
    --------
    >>> import fastrec
    >>> measured = fastrec.headroom(range(100), batches=10)  # any iterable of batches
    >>> len(list(measured))
    30
    """

    def __init__(self, loader: Iterable[Any], batches: int, keep: int) -> None:
        self._loader = loader
        self._batches = batches
        self._keep = keep
        self._iterated = False
        self.loaded_s: float | None = None
        self.memory_s: float | None = None

    def __iter__(self) -> Iterator[Any]:
        if self._iterated:
            raise RuntimeError("a Headroom can be iterated over once; call headroom() again")
        self._iterated = True
        kept: list[Any] = []
        count = 0
        began = time.perf_counter()
        for batch in itertools.islice(self._loader, _WARM_UP + self._batches):
            if len(kept) < self._keep:
                kept.append(batch)
            yield batch
            count += 1
            if count == _WARM_UP:
                began = time.perf_counter()
        timed = count - _WARM_UP
        if timed < 1:
            raise ValueError(
                f"loader must yield at least {_WARM_UP + 1} batches, got {count}: reduce the batch "
                "size, or repeat the data with epochs=None"
            )
        loaded_s = (time.perf_counter() - began) / timed
        for number, batch in enumerate(itertools.islice(itertools.cycle(kept), count)):
            yield batch
            if number == _WARM_UP - 1:
                began = time.perf_counter()
        self.memory_s = (time.perf_counter() - began) / timed
        self.loaded_s = loaded_s

    @property
    def speedup(self) -> float:
        """Time of a step with batches of the loader, divided by the time with batches from memory.

        Raises
        ------
        RuntimeError
            If the loop has not finished.
        """
        if self.loaded_s is None or self.memory_s is None:
            raise RuntimeError("speedup is known after the loop has finished")
        return self.loaded_s / max(self.memory_s, 1e-9)

    def report(self) -> str:
        """Return the result as a sentence for a person.

        Raises
        ------
        RuntimeError
            If the loop has not finished.
        """
        speedup = self.speedup
        times = f"{1e3 * (self.loaded_s or 0):.3g} ms per step with batches of the loader, " \
            f"{1e3 * (self.memory_s or 0):.3g} ms with batches from memory"  # fmt: skip
        if speedup < 1.05:
            return f"{times}: loading does not limit this loop"
        return f"{times}: at best, faster loading makes this loop {speedup:.2f} times as fast"


def headroom(loader: Iterable[Any], batches: int = 100, *, keep: int = 8) -> Headroom:
    """Find out how much faster a training loop would run if loading took no time.

    The result yields `batches` batches of the loader, followed by the same number from memory. Run
    the body of the training loop on all of them, in one loop:

    >>> import os, tempfile, numpy as np, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_batch({"x": np.arange(640)})
    >>> features = {"x": fastrec.FixedLenFeature((), np.int64)}
    >>> batcher = fastrec.Batcher(path, features, batch_size=32, epochs=None)
    >>> measured = fastrec.headroom(batcher, batches=20)
    >>> for batch in measured:
    ...     _ = batch["x"].sum()  # the training step
    >>> measured.speedup > 0
    True

    ``measured.report()`` states the result. Steps that only start work on an accelerator must wait
    for its end, for example by reading the loss; otherwise the time of the work is not measured.

    Parameters
    ----------
    loader : iterable
        A :class:`Batcher`, a PyTorch DataLoader, or any other iterable of batches.
    batches : int
        Number of batches to time in each half.
    keep : int
        Number of batches to keep in memory for the second half.

    Returns
    -------
    Headroom
        An iterable of batches with the result of the measurement.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid, or, during iteration, if the loader yields too few batches.
    """
    if not isinstance(loader, Iterable):
        raise TypeError(f"loader must be an iterable of batches, got {type(loader).__name__}")
    batches = check_int("batches", batches, 1, 2**31)
    return Headroom(loader, batches, check_int("keep", keep, 1, 2**31))
