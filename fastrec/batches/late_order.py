# SPDX-License-Identifier: Apache-2.0
"""The order of objects whose record counts are fetched as they are needed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..records.remote_dataset import RemoteDataset

if TYPE_CHECKING:
    from .order import OrderSpec

__all__ = ["LateOrder"]


class LateOrder:
    """An order like ``_core.Order``, which counts the records of an object when it reaches it.

    In file order and in a buffer, a step of the epoch does not depend on later records, except for
    the last step. So a step is the same as in the complete order if all its records are counted.

    Parameters
    ----------
    dataset : RemoteDataset
    spec : OrderSpec
        A specification with the shuffle "none" or "buffer".
    epoch, start : int
        The first epoch, and the number of its positions that were used before.
    complete : callable
        Returns the order of all records.
    """

    def __init__(
        self,
        dataset: RemoteDataset,
        spec: OrderSpec,
        epoch: int,
        start: int,
        complete: Callable[[], _core.Order],
    ) -> None:
        self._dataset, self._spec = dataset, spec
        self._epoch, self._start = epoch, start
        self._make_complete = complete
        self._complete: _core.Order | None = None
        self._lock = threading.Lock()
        self._counted = 0
        self._order: _core.Order | None = None  # of the first `_counted` records
        self._sampler: tuple[_core.Order, _core.Sampler] | None = None

    def _whole(self) -> _core.Order:
        with self._lock:
            self._complete = self._complete or self._make_complete()
            return self._complete

    def _until(self, serial: int) -> _core.Order:
        """Return an order that equals the complete one up to the step after `serial`."""
        spec = self._spec
        if self._complete is not None:
            return self._complete
        # Records of a buffer are drawn while others enter it, and the last ones when none is left.
        steps = serial + (3 if spec.buffer else 2)
        places = self._start + (steps * spec.batch_size + spec.buffer) * spec.shard[1]
        # Each longer order of a buffer repeats all draws, so the number of orders is limited.
        ahead = places if spec.buffer and self._order is not None else 0
        counted = self._dataset.count_until(places, ahead)
        if counted < places:
            return self._whole()
        with self._lock:
            if self._order is None or counted > self._counted:
                self._order = _core.Order(
                    [counted], spec, first_epoch=self._epoch, start=self._start
                )
                self._counted = counted
            return self._order

    @property
    def epoch_size(self) -> int:
        """Number of records in an epoch, over all shards."""
        return self._whole().epoch_size

    @property
    def batches(self) -> int | None:
        """Number of batches; None if unlimited."""
        return self._whole().batches

    def find(self, serial: int) -> tuple[int, int] | None:
        """Return the epoch and the position at which a batch begins; None after the last one."""
        return self._until(serial).find(serial)

    def passes(self, serial: int) -> NDArray[np.uint64] | None:
        """Return the epoch of each record of a batch; None after the last one."""
        return self._until(serial).passes(serial)

    def numbers(self, serial: int) -> tuple[int, NDArray[np.uint64]] | None:
        """Return the epoch and the record numbers of a batch; None after the last one."""
        order = self._until(serial)
        with self._lock:
            if self._sampler is None or self._sampler[0] is not order:
                self._sampler = order, _core.Sampler(order)
            return self._sampler[1].numbers(serial)
