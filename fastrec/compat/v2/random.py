# SPDX-License-Identifier: Apache-2.0
"""``tf.random``: for a seed, TensorFlow's own draws.

What a function of a data set draws is given to it with each element, so that it is the same
however many elements are made at once, and by however many threads.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._tf.data.pipeline import invalid
from .._tf.dtypes import DType, as_dtype
from .._tf.kernels import philox
from .._tf.seeds import generator, graph_seed, set_seed
from .._tf.specs import TensorSpec, TypeSpec
from .._tf.tensor import as_array, convert_to_tensor
from .._tf.trace import Called, Op, Symbol, current_call, run, wrap

__all__ = [
    "drawn",
    "normal",
    "scrambled_words",
    "set_seed",
    "shuffle",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
]

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class _Draw:
    """Random numbers of one kind.

    Attributes
    ----------
    seeds : (int, int)
    spec : TypeSpec
        Of one draw.
    one : callable
        Of a generator: a draw.
    rows : callable, optional
        Of a generator and a number: a column of so many draws.
    """

    seeds: tuple[int, int]
    spec: TypeSpec
    one: Callable[[philox.Philox], Array]
    rows: Callable[[philox.Philox, int], Array] | None = None

    def start(self) -> philox.Philox:
        return philox.Philox(*self.seeds)

    def many(self, state: philox.Philox, count: int) -> Array:
        if self.rows is not None:
            return self.rows(state, count)
        return np.stack([self.one(state) for _ in range(count)])


def drawn(
    kind: str,
    seed: int | None,
    spec: TypeSpec,
    one: Callable[[philox.Philox], Array],
    rows: Callable[[philox.Philox, int], Array] | None = None,
    seeds: tuple[int, int] | None = None,
) -> Any:
    """A draw; inside of a function of a data set, one for each element."""
    seed = None if seed is None else int(seed)
    call = current_call()
    if call is None:
        state = generator(kind + spec.dtype.name, seed) if seeds is None else philox.Philox(*seeds)
        return wrap(one(state))
    draw = _Draw(seeds or graph_seed(seed, call.unseeded), spec, one, rows)
    call.unseeded += seed is None and seeds is None
    if isinstance(call, Called):
        return wrap(one(call.state(draw.start)))
    return call.draw(draw)


def _sizes(shape: Any) -> Shape:
    if isinstance(shape, Symbol):
        raise TypeError("a shape that is not known yet")
    return tuple(int(size) for size in np.asarray(shape, np.int64).reshape(-1))


def _whole(low: Any, high: Any, dtype: DType) -> tuple[int, int]:
    if isinstance(low, Symbol) or isinstance(high, Symbol):
        raise TypeError("limits that are not known yet")
    least, most = int(np.asarray(low)), int(np.asarray(high))
    if not least < most:
        raise invalid(f"Need minval < maxval, got {least} >= {most}")
    return least, most


def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Numbers from `minval` up to and without `maxval`, each as likely as the others."""
    element, sizes = as_dtype(dtype), _sizes(shape)
    spec = TensorSpec(sizes, element)
    if element.is_integer:
        if maxval is None:
            raise ValueError(f"Must specify maxval for integer dtype {element!r}")
        low, high = _whole(minval, maxval, element)
        limits = sizes, low, high, element.numpy
        return drawn(
            "RandomUniformInt",
            seed,
            spec,
            lambda state: philox.uniform_int(state, *limits),
            lambda state, count: philox.uniform_int_rows(state, count, *limits),
        )
    found = drawn(
        "RandomUniform",
        seed,
        spec,
        lambda state: philox.uniform(state, sizes, element.numpy),
        lambda state, count: philox.uniform_rows(state, count, sizes, element.numpy),
    )
    return _scaled(found, minval, 1 if maxval is None else maxval, element)


def _scaled(found: Any, low: Any, high: Any, dtype: DType) -> Any:
    """Numbers of 0 to 1 between two others."""
    if type(low) is int and type(high) is int and (low, high) == (0, 1):
        return found
    least = convert_to_tensor(low, dtype)
    return found * (convert_to_tensor(high, dtype) - least) + least


def normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Normally distributed numbers."""
    return _normal("RandomStandardNormal", philox.normal, shape, mean, stddev, dtype, seed)


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Normally distributed numbers, within two deviations of their mean."""
    return _normal("TruncatedNormal", philox.truncated_normal, shape, mean, stddev, dtype, seed)


def _normal(
    kind: str,
    function: Callable[..., Array],
    shape: Any,
    mean: Any,
    stddev: Any,
    dtype: Any,
    seed: int | None,
) -> Any:
    element, sizes = as_dtype(dtype), _sizes(shape)
    spec = TensorSpec(sizes, element)
    found = drawn(kind, seed, spec, lambda state: function(state, sizes, element.numpy))
    return found * convert_to_tensor(stddev, element) + convert_to_tensor(mean, element)


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Any:
    """The rows of a tensor in another order."""
    tensor = convert_to_tensor(value)
    sizes = tensor.shape.sizes
    if not sizes:
        if sizes is None:
            raise TypeError("tf.random.shuffle requires a tensor of known rank")
        return tensor
    count = sizes[0]
    if count is None:
        raise TypeError("tf.random.shuffle requires a known number of rows")
    order = drawn(
        "RandomShuffle" + tensor.dtype.name,
        seed,
        TensorSpec([count], "int64"),
        lambda state: philox.shuffled(state, np.arange(count)),
    )
    return run(_SHUFFLE, [tensor, order])


_SHUFFLE = Op(
    "RandomShuffle",
    lambda x, order: as_array(x)[order],
    lambda specs, _: [TensorSpec(specs[0].shape, specs[0].dtype)],
)


def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = "float32",
    name: str | None = None,
    alg: str = "auto_select",
) -> Any:
    """Numbers that `seed`, of shape (2,), decides, from `minval` up to and without `maxval`."""
    element, sizes = as_dtype(dtype), _sizes(shape)
    draw: Callable[[philox.Philox], Array] = functools.partial(
        philox.uniform, shape=sizes, dtype=element.numpy
    )
    if element.is_integer:
        if maxval is None:
            raise ValueError(f"Must specify maxval for integer dtype {element!r}")
        low, high = _whole(minval, maxval, element)
        draw = functools.partial(
            philox.uniform_int, shape=sizes, low=low, high=high, dtype=element.numpy
        )

    def kernel(pair: Any) -> Array:
        first, second = (int(number) for number in pair)
        found: Array = draw(philox.scrambled(first, second))
        return found

    op = Op("StatelessRandomUniformV2", kernel, lambda *_: [TensorSpec(sizes, element)])
    found = run(op, [convert_to_tensor(seed)])
    if element.is_integer:
        return found
    return _scaled(found, minval, 1 if maxval is None else maxval, element)


def scrambled_words(seed: Any, spec: TypeSpec, words: Callable[[philox.Philox], Array]) -> Any:
    """Random words that `seed`, of shape (2,), decides."""

    def kernel(pair: Any) -> Array:
        return words(philox.scrambled(*(int(number) for number in pair)))

    op = Op("StatelessRandomBits", kernel, lambda *_: [spec])
    return run(op, [convert_to_tensor(seed)])


def __getattr__(name: str) -> Any:
    from . import random_more

    if name in random_more.__all__:
        return getattr(random_more, name)
    raise AttributeError(
        f"fastrec.compat.v2.random has no {name!r}; docs/compat-v2.md says what is covered"
    )
