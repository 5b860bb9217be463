# SPDX-License-Identifier: Apache-2.0
"""Copy batches to the devices of JAX while the previous step runs.

Requires the extra ``jax``: ``pip install 'fastrec-io[jax]'``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

try:
    import jax
except ModuleNotFoundError as _error:
    if _error.name != "jax":
        raise
    message = "fastrec.jax requires jax: pip install 'fastrec-io[jax]'"
    raise ModuleNotFoundError(message, name=_error.name) from None

from .arguments import check_int

__all__ = ["Prefetch", "prefetch_to"]


def prefetch_to(batches: Iterable[Any], target: Any = None, *, ahead: int = 2) -> Prefetch:
    """Copy batches to devices ahead of the step that uses them.

    JAX copies in the background, so that copies overlap with the work of the devices.

    Parameters
    ----------
    batches : iterable
        A :class:`~fastrec.Batcher`, or any iterable of batches.
    target : jax.Device, jax.sharding.Sharding or None
        The default device by default. With a sharding, each process passes its own rows of the
        global batch, as ``Batcher(shard="auto")`` yields them; the number of rows of each batch
        must be divisible as the sharding requires (``drop_remainder=True``).
    ahead : int
        Number of batches on the devices in addition to the batch in use.

    Returns
    -------
    Prefetch
        Arrays of numbers become arrays of JAX; 64-bit numbers become 32-bit numbers unless
        ``jax_enable_x64`` is set. Other columns, such as :class:`~fastrec.Bytes` and
        :class:`~fastrec.Ragged`, remain as they are.

    Examples
    --------
    >>> import numpy as np
    >>> [batch["x"].tolist() for batch in prefetch_to([{"x": np.arange(3)}])]
    [[0, 1, 2]]
    """
    return Prefetch(batches, target, ahead=ahead)


class Prefetch(Iterator[Any]):
    """The iterator that :func:`prefetch_to` returns.

    ``state_dict()`` counts delivered batches, not batches that were copied ahead, if `batches` has
    one.

    Examples
    --------
    >>> import numpy as np
    >>> [batch.shape for batch in Prefetch([np.zeros((2, 3))])]
    [(2, 3)]
    """

    def __init__(self, batches: Iterable[Any], target: Any = None, *, ahead: int = 2) -> None:
        self._ahead = check_int("ahead", ahead, 1, 2**20)
        self._target = target
        self._batches = iter(batches)
        candidates = (self._batches, batches)
        self._owner: Any = next((each for each in candidates if hasattr(each, "state_dict")), None)
        self._copies: deque[tuple[Any, dict[str, Any] | None]] = deque()
        self._state = self._take_state()
        self._error: Exception | None = None

    def _take_state(self) -> dict[str, Any] | None:
        return None if self._owner is None else self._owner.state_dict()

    def _put(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: self._put(each) for name, each in value.items()}
        if isinstance(value, tuple):
            parts = [self._put(each) for each in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "biufcV":
            return value
        if isinstance(self._target, jax.sharding.Sharding):
            return jax.make_array_from_process_local_data(self._target, value)
        return jax.device_put(value, self._target)

    def _fetch(self) -> None:
        """Take a batch and start its copy; an error is raised later, in place of the batch."""
        try:
            batch = self._put(next(self._batches))
            self._copies.append((batch, self._take_state()))
        except Exception as error:  # an interrupt is raised at once
            self._error = error

    def __iter__(self) -> Prefetch:
        return self

    def __next__(self) -> Any:
        while self._error is None and len(self._copies) <= self._ahead:
            self._fetch()
        if not self._copies:
            assert self._error is not None
            raise self._error
        batch, self._state = self._copies.popleft()
        return batch

    def state_dict(self) -> dict[str, Any]:
        """Return the state of `batches` after the last delivered batch.

        Raises
        ------
        TypeError
            If `batches` lacks ``state_dict()``.
        """
        if self._state is None:
            raise TypeError(
                "prefetch_to() requires batches that have state_dict(): pass a fastrec.Batcher"
            )
        return self._state
