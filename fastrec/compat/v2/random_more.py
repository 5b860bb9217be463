# SPDX-License-Identifier: Apache-2.0
"""Seeds from seeds, draws by probabilities, and ``tf.random.Generator``."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .._tf.data.pipeline import invalid
from .._tf.dtypes import DType, as_dtype
from .._tf.kernels import philox
from .._tf.ops import Op
from .._tf.specs import TensorSpec, TypeSpec
from .._tf.tensor import as_array, convert_to_tensor
from .._tf.trace import Called, current_call, run, wrap
from . import array_ops, random

__all__ = [
    "Generator",
    "categorical",
    "experimental",
    "fold_in",
    "get_global_generator",
    "set_global_generator",
    "split",
    "stateless_categorical",
    "stateless_normal",
    "stateless_shuffle",
    "stateless_truncated_normal",
]

Array = np.ndarray[Any, Any]


def _stateless(
    name: str, spec: TypeSpec, seed: Any, draw: Callable[..., Array], *inputs: Any
) -> Any:
    """What `draw` makes of the generator that two seeds decide, and of other inputs."""

    def kernel(pair: Any, *values: Any) -> Array:
        return draw(philox.scrambled(*(int(number) for number in pair)), *values)

    return run(Op(name, kernel, lambda *_: [spec]), [convert_to_tensor(seed), *inputs])


def _full_range(state: philox.Philox, count: int, dtype: DType) -> Array:
    """Whole numbers, any of the type as likely as another."""
    wide = dtype.numpy.itemsize == 8
    words = state.words(count, -(-count // (2 if wide else 4))).reshape(-1)
    if wide:
        pairs = words.reshape(-1, 2).astype(np.uint64)
        words = pairs[:, 0] | pairs[:, 1] << np.uint64(32)
    return words[:count].view(dtype.numpy)


def split(seed: Any, num: int = 2, alg: str = "auto_select") -> Any:
    """`num` seeds of one, each of two numbers."""
    dtype = convert_to_tensor(seed).dtype
    spec = TensorSpec([num, 2], dtype)
    return _stateless(
        "StatelessRandomUniformFullIntV2",
        spec,
        seed,
        lambda state: _full_range(state, 2 * num, dtype).reshape(num, 2),
    )


def fold_in(seed: Any, data: Any, alg: str = "auto_select") -> Any:
    """A seed of a seed and a number."""
    number = convert_to_tensor(data)
    first = _stateless(
        "StatelessRandomUniformFullIntV2",
        TensorSpec([], number.dtype),
        seed,
        lambda state: _full_range(state, 1, number.dtype).reshape(()),
    )
    return array_ops.stack([first, number])


def _stateless_normal(name: str, function: Callable[..., Array]) -> Callable[..., Any]:
    def normal(
        shape: Any,
        seed: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = "float32",
        name: str | None = None,
        alg: str = "auto_select",
    ) -> Any:
        element, sizes = as_dtype(dtype), random._sizes(shape)
        spec = TensorSpec(sizes, element)
        found = _stateless(op, spec, seed, lambda state: function(state, sizes, element.numpy))
        return found * convert_to_tensor(stddev, element) + convert_to_tensor(mean, element)

    op = name
    normal.__doc__ = f"TensorFlow's ``{name}``: what two seeds decide."
    return normal


stateless_normal = _stateless_normal("StatelessRandomNormalV2", philox.normal)
stateless_truncated_normal = _stateless_normal(
    "StatelessTruncatedNormalV2", philox.truncated_normal
)


def stateless_shuffle(value: Any, seed: Any, alg: str = "auto_select", name: Any = None) -> Any:
    """The rows of a tensor in the order that two seeds decide."""
    tensor = convert_to_tensor(value)

    def order(state: philox.Philox, rows: Any) -> Array:
        return philox.shuffled(state, as_array(rows))

    spec = TensorSpec(tensor.shape, tensor.dtype)
    return _stateless("StatelessShuffle", spec, seed, order, tensor)


def _checked_logits(logits: Any) -> Any:
    tensor = convert_to_tensor(logits)
    if tensor.shape.ndims not in (2, None):
        raise invalid(f"logits should be a matrix, got shape {tensor.shape}")
    return tensor


class _Choice:
    """Words of which the classes of an element are drawn."""

    def __init__(self, seeds: tuple[int, int], rows: int, count: int) -> None:
        self.seeds, self._size = seeds, (rows, count)
        self.spec = TensorSpec([2], "uint64")

    def start(self) -> philox.Philox:
        return philox.Philox(*self.seeds)

    def one(self, state: philox.Philox) -> Array:
        rows, count = self._size
        first = state.reserve(2 * rows * (-(-count // 4) * 4) * philox.PER_OUTPUT)
        return np.array([state.seed, first], np.uint64)

    def many(self, state: philox.Philox, count: int) -> Array:
        return np.stack([self.one(state) for _ in range(count)])


def categorical(
    logits: Any,
    num_samples: Any,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Numbers of classes, drawn with the probabilities whose logarithms are given.

    The draws of a matrix of one row are TensorFlow's; those of several are where TensorFlow works
    on them in one thread.
    """
    tensor, count = _checked_logits(logits), int(np.asarray(num_samples))
    kind = as_dtype("int64" if dtype is None else dtype)
    rows = (tensor.shape.sizes or (None,))[0]
    if rows is None:
        raise TypeError("random.categorical requires logits with a known number of rows")
    call = current_call()
    if call is None:
        from .._tf.seeds import generator

        state = generator("Multinomial" + tensor.dtype.name, None if seed is None else int(seed))
        return wrap(philox.classes(state, tensor.array, count, kind.numpy))
    from .._tf.seeds import graph_seed

    draw = _Choice(graph_seed(None if seed is None else int(seed), call.unseeded), rows, count)
    call.unseeded += seed is None
    if isinstance(call, Called):
        return wrap(philox.classes(call.state(draw.start), tensor.array, count, kind.numpy))
    seeds = draw.seeds

    def kernel(x: Any, place: Any) -> Array:
        state = philox.Philox(int(place[0]), seeds[1])
        state.seed, state.next = int(place[0]), int(place[1])
        return philox.classes(state, x, count, kind.numpy)

    op = Op("Multinomial", kernel, lambda *_: [TensorSpec([rows, count], kind)])
    return run(op, [tensor, call.draw(draw)])


def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = "int64", name: str | None = None
) -> Any:
    """Numbers of classes, drawn as two seeds decide."""
    tensor, count = _checked_logits(logits), int(np.asarray(num_samples))
    kind = as_dtype(dtype)
    spec = TensorSpec([tensor.shape.sizes[0] if tensor.shape.sizes else None, count], kind)
    draw = lambda state, x: philox.classes(state, x, count, kind.numpy)  # noqa: E731
    return _stateless("StatelessMultinomial", spec, seed, draw, tensor)


class _Kept:
    """Draws of a generator that keeps its state, whoever draws."""

    def __init__(
        self, state: philox.Philox, spec: TypeSpec, one: Callable[[philox.Philox], Array]
    ) -> None:
        self._state, self.spec, self.one = state, spec, one

    def start(self) -> philox.Philox:
        return self._state

    def many(self, state: philox.Philox, count: int) -> Array:
        return np.stack([self.one(state) for _ in range(count)])


class Generator:
    """Random numbers with a state of their own. Made by :meth:`from_seed`.

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
        self._state.seed, self._state.seed2, self._state.next = key, high, low

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> Generator:
        """One whose numbers a seed decides."""
        return cls(state=[int(np.asarray(seed)), 0, 0], alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """One whose numbers nobody can foretell."""
        return cls(state=[0, 0, int.from_bytes(os.urandom(8), "little")], alg=alg)

    @classmethod
    def from_state(cls, state: Any, alg: Any = None) -> Generator:
        """One with a state that another has had."""
        return cls(state=state, alg=alg)

    @property
    def state(self) -> Any:
        """The counter and the key."""
        found = [self._state.next, self._state.seed2, self._state.seed]
        return wrap(np.array(found, np.uint64).view(np.int64))

    @property
    def key(self) -> Any:
        """The key."""
        return self.state[2]

    @property
    def algorithm(self) -> int:
        """The number of Philox."""
        return 1

    def reset_from_seed(self, seed: Any) -> None:
        """Begin anew with a seed."""
        self._state.next = int(np.asarray(seed)) & (1 << 64) - 1
        self._state.seed2 = self._state.seed = 0

    def skip(self, delta: Any) -> None:
        """Leave out as many numbers."""
        self._state.reserve(int(np.asarray(delta)) * philox.PER_OUTPUT)

    def _drawn(self, spec: TypeSpec, one: Callable[[philox.Philox], Array]) -> Any:
        call = current_call()
        if call is None or isinstance(call, Called):
            return wrap(one(self._state))
        return call.draw(_Kept(self._state, spec, one))

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = "float32",
        name: str | None = None,
    ) -> Any:
        """Numbers from `minval` up to and without `maxval`."""
        element, sizes = as_dtype(dtype), random._sizes(shape)
        spec = TensorSpec(sizes, element)
        if element.is_integer:
            if maxval is None:
                raise ValueError(f"Must specify maxval for integer dtype {element!r}")
            low, high = random._whole(minval, maxval, element)
            return self._drawn(
                spec, lambda s: philox.uniform_int(s, sizes, low, high, element.numpy)
            )
        found = self._drawn(spec, lambda s: philox.uniform(s, sizes, element.numpy))
        return random._scaled(found, minval, 1 if maxval is None else maxval, element)

    def uniform_full_int(self, shape: Any, dtype: Any = "uint64", name: str | None = None) -> Any:
        """Whole numbers, any of the type."""
        element, sizes = as_dtype(dtype), random._sizes(shape)
        count = int(np.prod(sizes))
        draw = lambda s: _full_range(s, count, element).reshape(sizes)  # noqa: E731
        return self._drawn(TensorSpec(sizes, element), draw)

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = "float32",
        name: str | None = None,
    ) -> Any:
        """Normally distributed numbers."""
        return self._normal(philox.normal, shape, mean, stddev, dtype)

    def truncated_normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = "float32",
        name: str | None = None,
    ) -> Any:
        """Normally distributed numbers, within two deviations of their mean."""
        return self._normal(philox.truncated_normal, shape, mean, stddev, dtype)

    def _normal(self, function: Any, shape: Any, mean: Any, stddev: Any, dtype: Any) -> Any:
        element, sizes = as_dtype(dtype), random._sizes(shape)
        spec = TensorSpec(sizes, element)
        found = self._drawn(spec, lambda s: function(s, sizes, element.numpy))
        return found * convert_to_tensor(stddev, element) + convert_to_tensor(mean, element)

    def make_seeds(self, count: int = 1) -> Any:
        """Seeds for stateless draws, a column for each."""

        def draw(state: philox.Philox) -> Array:
            keys = _full_range(state, count, as_dtype("int64"))
            return np.stack([keys, np.zeros_like(keys)])

        return self._drawn(TensorSpec([2, count], "int64"), draw)

    def split(self, count: int = 1) -> list[Generator]:
        """Other generators, each with a key of its own."""
        keys = _full_range(self._state, count, as_dtype("int64"))
        return [Generator(state=[0, 0, int(key)]) for key in keys]


_global: list[Generator] = []


def get_global_generator() -> Generator:
    """The generator of the program."""
    if not _global:
        _global.append(Generator.from_non_deterministic_state())
    return _global[0]


def set_global_generator(generator: Generator) -> None:
    """Make `generator` that of the program."""
    _global[:] = [generator]


experimental = SimpleNamespace(
    Generator=Generator,
    create_rng_state=lambda seed, alg=None: np.array([int(seed), 0, 0], np.int64),
    get_global_generator=get_global_generator,
    set_global_generator=set_global_generator,
    stateless_fold_in=fold_in,
    stateless_shuffle=stateless_shuffle,
    stateless_split=split,
)
