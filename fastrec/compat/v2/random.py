# SPDX-License-Identifier: Apache-2.0
"""``tf.random``. Shuffles of data sets have TensorFlow's draws; what is here has NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._dtypes import as_dtype
from ._seeds import get_seed, set_seed
from ._specs import TensorSpec
from ._tensor import TensorShape, as_array, convert_to_tensor
from ._trace import Op, run, wrap

__all__ = ["generator", "normal", "set_seed", "shuffle", "uniform"]


def generator(seed: Any) -> np.random.Generator:
    """What an operation draws from."""
    pair = get_seed(None if seed is None else int(seed))
    return np.random.default_rng(None if pair == (0, 0) else pair)


def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Numbers from `minval` up to `maxval`."""
    wanted, draw = as_dtype(dtype), generator(seed)
    sizes: Any = TensorShape(shape).as_list()
    high = 1 if maxval is None else maxval
    if wanted.is_integer:
        return wrap(np.asarray(draw.integers(int(minval), int(high), sizes), wanted.numpy))
    return wrap(np.asarray(draw.uniform(float(minval), float(high), sizes), wanted.numpy))


def normal(
    shape: Any,
    mean: float = 0.0,
    stddev: float = 1.0,
    dtype: Any = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Normally distributed numbers."""
    sizes: Any = TensorShape(shape).as_list()
    return wrap(np.asarray(generator(seed).normal(mean, stddev, sizes), as_dtype(dtype).numpy))


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Any:
    """The rows of a tensor in another order."""
    draw = generator(seed)
    op = Op(
        "RandomShuffle",
        lambda x: draw.permutation(as_array(x)),
        lambda s, _: [TensorSpec(s[0].shape, s[0].dtype)],
        None,
        pure=False,
    )
    return run(op, [convert_to_tensor(value)])
