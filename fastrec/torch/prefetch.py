# SPDX-License-Identifier: Apache-2.0
"""Copy batches to an accelerator while the previous step runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
import torch.utils.data

from ..arguments import check_int
from .tensors import to_tensors

__all__ = ["Prefetch", "prefetch_to"]


class _Copy(NamedTuple):
    """A batch being copied; until the event, it must not be used and its source must be kept."""

    batch: Any
    source: Any
    done: Any
    state: dict[str, Any] | None


def prefetch_to(batches: Iterable[Any], device: Any, *, ahead: int = 2) -> Prefetch:
    """Copy batches to a device ahead of the step that uses them.

    Copies run on a separate stream, from pinned memory, so they overlap with the work on the
    current stream. A batch is delivered to the step only after its copy is complete.

    Parameters
    ----------
    batches : iterable
        A :class:`~fastrec.Batcher`, an :class:`IterableDataset` or a ``DataLoader``. If it has
        ``pin_memory=True``, this function does not need to copy batches into pinned memory.
    device : torch.device, str or int
        Target device. For a CPU, batches are only converted to tensors.
    ahead : int
        Number of batches in device memory in addition to the batch in use.

    Examples
    --------
    >>> import numpy as np
    >>> [batch["x"] for batch in prefetch_to([{"x": np.arange(3)}], "cpu")]
    [tensor([0, 1, 2])]
    """
    return Prefetch(batches, device, ahead=ahead)


class Prefetch(Iterator[Any]):
    """The iterator that :func:`prefetch_to` returns.

    If `batches` has the method ``state_dict()``, so has this iterator; its state is the position
    after the last delivered batch, not after the batches that were copied ahead.

    Examples
    --------
    >>> batches = fastrec.torch.prefetch_to(dataset, "cuda")  # doctest: +SKIP
    >>> for batch in batches:  # doctest: +SKIP
    ...     loss = model(batch["image"], batch["label"])
    """

    def __init__(self, batches: Iterable[Any], device: Any, *, ahead: int = 2) -> None:
        ahead = check_int("ahead", ahead, 1, 2**20)
        self._device = torch.device(device)
        self._ahead = 0 if self._device.type == "cpu" else ahead
        self._batches = iter(batches)
        candidates = [self._batches, batches]
        if isinstance(batches, torch.utils.data.DataLoader) and batches.num_workers == 0:
            candidates.append(batches.dataset)
        self._owner: Any = next((each for each in candidates if hasattr(each, "state_dict")), None)
        self._copies: deque[_Copy] = deque()
        self._used: deque[_Copy] = deque()
        self._state = self._take_state()
        self._error: Exception | None = None
        self._stream: Any = None
        if self._device.type != "cpu":
            self._backend: Any = torch.get_device_module(self._device)
            self._stream = self._backend.Stream(self._device)

    def _take_state(self) -> dict[str, Any] | None:
        return None if self._owner is None else self._owner.state_dict()

    def _fetch(self) -> None:
        """Take a batch and start its copy; an error is raised later, in place of the batch."""
        try:
            source = to_tensors(next(self._batches))
            state = self._take_state()
            if self._stream is None:
                self._copies.append(_Copy(source, None, None, state))
                return
            source = _map_tensors(source, _pinned)
            with self._backend.stream(self._stream):
                batch = _map_tensors(source, lambda t: t.to(self._device, non_blocking=True))
                done = self._backend.Event()
                done.record(self._stream)
            self._copies.append(_Copy(batch, source, done, state))
        except Exception as error:  # an interrupt is raised at once
            self._error = error

    def __iter__(self) -> Prefetch:
        return self

    def __next__(self) -> Any:
        # Memory of a fastrec batch is reused after its last array is deleted. This must not happen
        # before the device has read it.
        while self._used and self._used[0].done.query():
            self._used.popleft()
        while self._error is None and len(self._copies) <= self._ahead:
            self._fetch()
        if not self._copies:
            assert self._error is not None
            raise self._error
        copy = self._copies.popleft()
        self._state = copy.state
        if copy.done is not None:
            current = self._backend.current_stream(self._device)
            current.wait_event(copy.done)
            _map_tensors(copy.batch, lambda t: _record(t, current))
            self._used.append(copy._replace(batch=None))
        return copy.batch

    def state_dict(self) -> dict[str, Any]:
        """Return the state of `batches` after the last delivered batch.

        A ``DataLoader`` without workers has the state of its dataset.

        Raises
        ------
        TypeError
            If `batches` has no ``state_dict()``.
        """
        if self._state is None:
            raise TypeError(
                "prefetch_to() requires batches that have state_dict(): pass a fastrec.Batcher, a "
                "fastrec.torch.IterableDataset, or a "
                "torchdata.stateful_dataloader.StatefulDataLoader, which a loader with workers "
                "must be"
            )
        return self._state


def _pinned(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_sparse or tensor.is_nested or tensor.is_pinned():
        return tensor
    return tensor.pin_memory()


def _record(tensor: torch.Tensor, stream: Any) -> None:
    """Prevent reuse of a tensor's memory by the next copy until the stream has finished with it."""
    if tensor.is_nested:
        parts = [tensor.values(), tensor.offsets()]
    elif tensor.is_sparse:
        parts = [tensor._indices(), tensor._values()]
    else:
        parts = [tensor]
    for part in parts:
        part.record_stream(stream)


def _block_of(values: list[Any]) -> torch.Tensor | None:
    """Return the tensor that consecutive views divide, as in ``to_tensors(bytes="tensor")``."""
    if len(values) < 2 or not isinstance(values[0], torch.Tensor) or values[0].is_sparse:
        return None
    end = values[0].data_ptr()
    for each in values:
        is_view = isinstance(each, torch.Tensor) and each.dtype == torch.uint8 and each.dim() == 1
        # The address of an empty tensor is 0.
        if not is_view or not each.is_contiguous() or (len(each) and each.data_ptr() != end):
            return None
        end += len(each)
    if not end or values[0].untyped_storage().data_ptr() != values[-1].untyped_storage().data_ptr():
        return None
    return values[0].as_strided((sum(map(len, values)),), (1,))


def _map_tensors(value: Any, function: Any) -> Any:
    """Return a structure of tensors with a function applied to each tensor."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, Mapping):
        return {name: _map_tensors(each, function) for name, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_map_tensors(each, function) for each in value))
    if isinstance(value, list) and (block := _block_of(value)) is not None:
        return list(torch.split(function(block), [len(each) for each in value]))
    if isinstance(value, (list, tuple)):
        return type(value)(_map_tensors(each, function) for each in value)
    return value
