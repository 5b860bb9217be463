# SPDX-License-Identifier: Apache-2.0
"""``rejection_resample``: change the class distribution of a dataset.

An element is passed on unchanged with probability `m`, and otherwise drawn from those accepted by
rejection sampling of their classes. Both probabilities follow from the two distributions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..kernels import philox
from ..seeds import draws, get_seed, graph_seed
from .flow import Sample, by_weight
from .pipeline import UNKNOWN, Node
from .streams import Value, Values, steps

_BATCH, _SMOOTHING = 32, 10  # elements between two estimates; initial count of each class
_FLOAT = np.dtype(np.float32)
Array = np.ndarray[Any, Any]
Shares = Callable[[bool], Iterator[tuple[Array, float]]]


def _accepted(initial: Array, target: Array) -> tuple[Array, float]:
    """Return the acceptance probability of each class, and the share passed on unchanged."""
    with np.errstate(all="ignore"):
        ratio = target / (initial + np.finfo(_FLOAT).tiny)
        least = ratio.min()
        return (ratio - least) / (ratio.max() - least), float(least)


def static_share(initial: Array, target: Array) -> float:
    """Return the probability with which an element is passed on unchanged."""
    with np.errstate(all="ignore"):
        return float(np.min(target / initial))


def shares(node: Node, initial: Array | None, target: Array) -> Shares:
    """Return a function that yields the probabilities for each element.

    Parameters
    ----------
    node : Node
        Its elements begin with their class. Classes are counted unless `initial` is given.
    """
    if initial is not None:
        known = _accepted(initial, target)
        return lambda fast: itertools.repeat(known)

    def estimated(fast: bool) -> Iterator[tuple[Array, float]]:
        seen = np.full(len(target), _SMOOTHING, np.int64)
        stream = node.stream(fast)
        while batch := list(itertools.islice(stream, _BATCH)):
            classes = [int(np.asarray(value[0])) for value in batch]
            inside = [number for number in classes if 0 <= number < len(seen)]
            seen += np.bincount(inside, minlength=len(seen))
            found = _accepted((seen / seen.sum()).astype(_FLOAT), target)
            yield from itertools.repeat(found, _BATCH)

    return estimated


class Rejected(Node):
    """Node that accepts each element with the probability of its class."""

    def __init__(self, node: Node, chances: Shares, seed: int | None) -> None:
        super().__init__(node)
        self._chances, self._seeds = chances, graph_seed(seed, 0)

    @property
    def pure(self) -> bool:
        return False

    def cardinality(self) -> int:
        return UNKNOWN

    def values(self, fast: bool = True) -> Values:
        stream, chances = self.inputs[0].stream(fast), self._chances(fast)
        state = philox.Philox(*self._seeds)

        def step() -> Value:
            while True:
                value = next(stream)
                kept = next(chances)[0][int(np.asarray(value[0]))]
                if philox.uniform(state.start(philox.PER_OUTPUT), (), _FLOAT) < kept:
                    return value

        return steps(step)


def mixed(nodes: Sequence[Node], chances: Shares, seed: int | None) -> Sample:
    """Draw from the first node with the share passed on unchanged, otherwise from the second."""
    pair = get_seed(seed)

    def choices(fast: bool) -> Iterator[int]:
        numbers = draws(*pair)
        for _, share in chances(fast):
            yield next(by_weight([share, 1.0 - share], len(nodes), numbers))

    return Sample(nodes, choices, True)
