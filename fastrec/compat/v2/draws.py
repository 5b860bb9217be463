# SPDX-License-Identifier: Apache-2.0
"""``tf.random``: with a seed, the same draws as TensorFlow's.

The draws of a dataset's function are supplied with each element, so they do not depend on the
number of elements that are computed together, or on the number of threads.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from .._tf.faces.draws import Distributions, Draws, Stateless
from .._tf.faces.images import random_functions
from .._tf.kernels import philox
from .._tf.ops.draws import CountedStarts, Drawing, Starts
from .._tf.ops.joining import PACK
from .._tf.seeds import generator, graph_seed
from .._tf.tensor import convert_to_tensor
from .._tf.tracing.calls import Called, DrawOfPart, current_call
from .._tf.tracing.recording import Recording, Symbol, raw_of, run
from ._faces import EAGER, integers

__path__: list[str] = []  # submodules are attributes, not files


def drawn(
    op: Drawing,
    inputs: Sequence[Any],
    begin: Callable[[], philox.Philox],
    **how: Any,
) -> Any:
    """Return the draws of an operation from a state; in a dataset's function, for each element."""
    raws = [raw_of(each) for each in inputs]
    blocks = op.blocks(*raws, **how)
    call = current_call()
    if blocks is None:
        if not isinstance(call, Recording) or call.is_asking:
            raise TypeError(f"{op.name} of a shape that is not known yet")
        counted = op.but(draws=CountedStarts(op, begin, len(inputs), how))
        return run(counted, [call.draw(DrawOfPart(Starts.spec)), *inputs], **how)
    draws = Starts(begin, blocks)
    if call is None:
        start: Any = draws.one(begin())
    elif isinstance(call, Called):
        start = draws.one(call.state(begin))
    else:
        start = call.draw(draws)
    return run(
        op, [start if isinstance(start, Symbol) else convert_to_tensor(start), *inputs], **how
    )


def _drawn(
    op: Drawing,
    inputs: Sequence[Any],
    seed: int | tuple[int, int] | None,
    name: str | None = None,
    **how: Any,
) -> Any:
    """Return the draws of an operation from the state of a seed, or of both seeds."""
    given = seed if isinstance(seed, (tuple, type(None))) else int(seed)
    call = current_call()
    if isinstance(given, tuple):
        seeds = given
    elif call is None:
        kind = op.name, tuple(each.dtype.name for each in inputs), tuple(how.items())
        return drawn(op, inputs, lambda: generator(kind, given), **how)
    else:
        seeds = graph_seed(given, call.unseeded)
        call.unseeded += given is None
    return drawn(op, inputs, lambda: philox.Philox(*seeds), **how)


def _sizes(shape: Any) -> Any:
    return integers(shape, "shape", "T")


def _no_scope(name: str | None, default: str) -> Any:
    return contextlib.nullcontext()


def _drawn_by(
    op: Drawing, inputs: Sequence[Any], seed: Generator, name: str | None = None, **how: Any
) -> Any:
    """Return the draws of an operation from the state of a generator."""
    return drawn(op, inputs, lambda: seed._state, **how)


draws: Final = Draws(EAGER, _drawn, _sizes, _no_scope)
stateless: Final = Stateless(draws)
image_draws: Final = SimpleNamespace(**random_functions(draws, stateless))
_of_generators: Any = Distributions(EAGER, _drawn_by, _sizes, _no_scope)


class Generator:
    """A generator of random numbers with a separate state.

    Parameters
    ----------
    state : array_like of 3 int64
        A counter of two numbers, and the key.
    alg : str
        Must be Philox.
    """

    def __init__(self, copy_from: Any = None, state: Any = None, alg: Any = None) -> None:
        if copy_from is not None:
            state = copy_from.state
        if alg not in (None, 1, "philox", "auto_select"):
            raise NotImplementedError("random.Generator covers the algorithm 'philox'")
        low, high, key = (int(n) & (1 << 64) - 1 for n in np.asarray(state).reshape(-1))
        self._state = philox.Philox(1, 1)
        self._state.key, self._state.position = key, high << 64 | low

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> Generator:
        """Return a generator whose numbers depend on a seed."""
        return cls(state=[int(np.asarray(seed)), 0, 0], alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """Return a generator with an unpredictable seed."""
        return cls(state=[0, 0, int.from_bytes(os.urandom(8), "little")], alg=alg)

    @classmethod
    def from_state(cls, state: Any, alg: Any = None) -> Generator:
        """Return a generator with a given state."""
        return cls(state=state, alg=alg)

    @property
    def state(self) -> Any:
        """The counter and the key."""
        key, low, high = self._state.start(0)
        return convert_to_tensor(np.array([low, high, key], np.uint64).view(np.int64))

    @property
    def key(self) -> Any:
        """The key."""
        return self.state[2]

    @property
    def algorithm(self) -> int:
        """The number of the Philox algorithm."""
        return 1

    def reset_from_seed(self, seed: Any) -> None:
        """Restart with a seed."""
        self._state.key, self._state.position = 0, int(np.asarray(seed)) & (1 << 64) - 1

    def skip(self, delta: Any) -> None:
        """Skip `delta` numbers."""
        self._state.reserve(int(np.asarray(delta)) * philox.PER_OUTPUT)

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = "float32",
        name: str | None = None,
    ) -> Any:
        """Return numbers from `minval` up to but excluding `maxval`."""
        return _of_generators.uniform(shape, minval, maxval, dtype, self)

    def uniform_full_int(self, shape: Any, dtype: Any = "uint64", name: str | None = None) -> Any:
        """Return integers from the whole range of the type."""
        return _of_generators._integers(shape, dtype, self)

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = "float32",
        name: str | None = None,
    ) -> Any:
        """Return normally distributed numbers."""
        return _of_generators.normal(shape, mean, stddev, dtype, self)

    def truncated_normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = "float32",
        name: str | None = None,
    ) -> Any:
        """Return normally distributed numbers within two standard deviations of the mean."""
        return _of_generators.truncated_normal(shape, mean, stddev, dtype, self)

    def make_seeds(self, count: int = 1) -> Any:
        """Return seeds for stateless draws, one per column."""
        keys = _of_generators._integers([count], "int64", self)
        return run(PACK, [keys, convert_to_tensor(np.zeros(count, np.int64))], axis=0)

    def split(self, count: int = 1) -> list[Generator]:
        """Return new generators with different keys."""
        keys = _of_generators._integers([count], "int64", self)
        return [Generator(state=[0, 0, int(key)]) for key in keys]


_global: list[Generator] = []


def get_global_generator() -> Generator:
    """Return the global generator."""
    if not _global:
        _global.append(Generator.from_non_deterministic_state())
    return _global[0]


def set_global_generator(generator: Generator) -> None:
    """Replace the global generator."""
    _global[:] = [generator]


def create_rng_state(seed: int, alg: Any = None) -> Any:
    """Return the state of a generator with a seed."""
    return np.array([int(seed), 0, 0], np.int64)
