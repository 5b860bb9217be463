# SPDX-License-Identifier: Apache-2.0
"""Random numbers.

The first input of each operation is a start, the position of its random numbers (see
:mod:`..kernels.philox`), which makes the operation pure. A stateful operation of TensorFlow takes
the next start of a state, and reserves the number of blocks in :attr:`Drawing.blocks`. A stateless
operation takes the start of two seeds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ..columns import rows_of
from ..dtypes import DType
from ..errors import invalid
from ..kernels import philox
from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array
from . import Array, Block, Op, constant_of, known_sizes
from .geometry import changed, pixels, whole


class Drawing(Op):
    """An operation on a start and other inputs.

    Attributes
    ----------
    blocks : callable
        Takes the other inputs, as arrays or tensors, and attributes. Returns the number of Philox
        blocks that a draw reserves, or None if it is unknown before the operation runs.
    """

    def __init__(
        self,
        name: str,
        kernel: Callable[..., Any],
        *how: Any,
        blocks: Callable[..., int | None] = lambda *_, **__: None,
        **also: Any,
    ) -> None:
        super().__init__(name, kernel, *how, **also)
        self.blocks = blocks


class Starts:
    """The starts of a function's draws, one for each element.

    Attributes
    ----------
    begin : callable
        Returns the state before the first draw.
    blocks : int
        The number of blocks that each draw reserves.
    """

    spec: ClassVar[TypeSpec] = TensorSpec([3], "uint64")

    def __init__(self, begin: Callable[[], philox.Philox], blocks: int) -> None:
        self.begin, self.blocks = begin, blocks

    def start(self) -> philox.Philox:
        """Return the state before the first draw."""
        return self.begin()

    def one(self, state: philox.Philox) -> Array:
        """Return the next start."""
        return state.start(self.blocks)

    def many(self, state: philox.Philox, count: int) -> Array:
        """Return a column of the next starts."""
        return state.starts(self.blocks, count)


class CountedStarts:
    """The starts of an operation's draws, whose other inputs determine the blocks to reserve.

    Parameters
    ----------
    op : Drawing
    begin : callable
        Returns the state before the first draw.
    inputs : int
        The number of other inputs.
    how : dict
        The attributes of the operation.
    """

    def __init__(
        self, op: Drawing, begin: Callable[[], philox.Philox], inputs: int, how: dict[str, Any]
    ) -> None:
        self._op, self._begin, self._how = op, begin, how
        self.needs = tuple(range(1, inputs + 1))

    def __call__(self, count: int, blocks: Sequence[Any], states: Any) -> dict[int, Array]:
        """Return a column of the starts of `count` elements."""
        if (state := states.get(id(self))) is None:
            state = states[id(self)] = self._begin()
        rows = [rows_of(b.value) if b.many else itertools.repeat(b.value) for b in blocks[1:]]
        found = np.empty((count, 3), np.uint64)
        for start, values in zip(found, zip(*rows, strict=False), strict=False):
            start[:] = state.start(max(0, self._op.blocks(*values, **self._how) or 0))
        return {0: found}


def _start(seed: Array) -> Array:
    if seed.shape != (2,):
        raise invalid(f"seed must have shape [2], not {list(seed.shape)}")
    return philox.scrambled(int(seed[0]), int(seed[1]))


START = Op("StatelessRandomGetKeyCounter", _start, lambda *_: [Starts.spec])


# Draws of a given shape.


def _sizes(shape: Array) -> tuple[int, ...]:
    if shape.ndim != 1:
        raise invalid(f"shape must be a vector of {{int32,int64}}, got shape {list(shape.shape)}")
    sizes = tuple(shape.tolist())
    if min(sizes, default=0) < 0:
        raise invalid(f"Dimension {min(sizes)} must be >= 0")
    return sizes


def _outputs(shape: Any, *_: Any, **__: Any) -> int | None:
    sizes = constant_of(shape)
    return None if sizes is None else math.prod(sizes.reshape(-1).tolist()) * philox.PER_OUTPUT


def _sized(function: Callable[..., Array], limits: int = 0) -> dict[str, Any]:
    """Return the parts of an operation on a start, a shape and limits that all elements share."""

    def kernel(start: Array, shape: Array, *values: Array, **how: Any) -> Array:
        return function(start, _sizes(shape), *values, **how)

    def infer(specs: Sequence[Any], raws: Sequence[Any], **how: Any) -> list[TypeSpec]:
        for name, limit in zip(("minval", "maxval"), specs[2:], strict=False):
            if limit.shape.ndims:
                raise ValueError(f"{name} must be a scalar; got a tensor of shape {limit.shape}")
        dtype = specs[2].dtype if limits else how["dtype"]
        rank = specs[1].shape.num_elements()
        unknown = None if rank is None else [None] * rank
        return [TensorSpec(known_sizes(raws[1]) or unknown, dtype)]

    def block(_: int, start: Block, *others: Block, **how: Any) -> Any:
        if any(each.many for each in others):
            return None
        return Block(kernel(start.value, *[each.value for each in others], **how), start.many)

    return {"kernel": kernel, "infer": infer, "block": block, "blocks": _outputs}


def _integers(start: Array, sizes: tuple[int, ...], low: Array, high: Array) -> Array:
    if 0 in sizes:
        return np.zeros((*start.shape[:-1], *sizes), low.dtype)
    for name, limit in (("minval", low), ("maxval", high)):
        if limit.ndim:
            raise invalid(f"{name} must be 0-D, got shape {list(limit.shape)}")
    least, most = int(low), int(high)
    if not least < most:
        raise invalid(f"Need minval < maxval, got {least} >= {most}")
    return philox.drawn("integer", start, sizes, low.dtype, least, most - least)


UNIFORM = Drawing(
    "RandomUniform",
    **_sized(lambda start, sizes, *, dtype: philox.uniform(start, sizes, dtype.numpy)),
)
INTEGER = Drawing("RandomUniformInt", **_sized(_integers, limits=2))
FULL_INTEGER = Drawing(
    "StatelessRandomUniformFullIntV2",
    **_sized(lambda start, sizes, *, dtype: philox.drawn("integer", start, sizes, dtype.numpy)),
)
NORMAL = Drawing(
    "RandomStandardNormal",
    **_sized(lambda start, sizes, *, dtype: philox.normal("normal", start, sizes, dtype.numpy)),
)
TRUNCATED_NORMAL = Drawing(
    "TruncatedNormal",
    **_sized(lambda start, sizes, *, dtype: philox.normal("truncated", start, sizes, dtype.numpy)),
)


# Draws from given values.


def _shuffled(start: Array, value: Any) -> Array:
    rows = as_array(value)
    if rows.ndim == 0 or len(rows) <= 1:
        return rows
    return rows.take(philox.drawn("order", start, (len(rows),), np.int64), axis=0)


def _shuffled_rows(_: int, start: Block, rows: Block) -> Any:
    if not start.many or not isinstance(rows.value, np.ndarray) or rows.value.ndim <= rows.many:
        return None
    order = philox.drawn("order", start.value, (rows.value.shape[rows.many],), np.int64)
    if not rows.many:
        return rows.value[order]
    return np.take_along_axis(
        rows.value, order.reshape(*order.shape, *[1] * (rows.value.ndim - 2)), 1
    )


def _count(rows: Any) -> int | None:
    """Return the number of rows of an array or a tensor; 0 for a scalar."""
    sizes = rows.shape if isinstance(rows, np.ndarray) else rows.shape.sizes
    return None if sizes is None else (*sizes, 0)[0]


def _swaps(rows: Any) -> int | None:
    count = _count(rows)
    return None if count is None else (count + 2) // 4


SHUFFLE = Drawing(
    "RandomShuffle", _shuffled, lambda specs, *_: [specs[1]], _shuffled_rows, blocks=_swaps
)


def _classes(start: Array, logits: Array, *, count: int, dtype: DType) -> Array:
    if logits.ndim != 2:
        raise invalid(f"logits should be a matrix, got shape {list(logits.shape)}")
    if count < 0:
        raise invalid(f"num_samples should be nonnegative, got {count}")
    if not logits.shape[1]:
        raise invalid("num_classes should be positive, got 0")
    return philox.classes(start, logits, count, dtype.numpy)


def _classes_of_many(
    elements: int, start: Block, logits: Block, *, count: int, dtype: DType
) -> Any:
    if not isinstance(logits.value, np.ndarray) or logits.value.ndim != 2 + logits.many:
        return None
    if not logits.value.shape[-1] or count < 0:
        return None
    starts = start.value if start.many else np.tile(start.value, (elements, 1))
    return philox.classes(starts, logits.value, count, dtype.numpy)


def _classes_spec(specs: Sequence[Any], *_: Any, count: int, dtype: DType) -> list[TypeSpec]:
    return [TensorSpec([(specs[1].shape.sizes or [None])[0], count], dtype)]


def _class_blocks(logits: Any, *, count: int, dtype: DType) -> int | None:
    rows = _count(logits)
    return None if rows is None else 2 * rows * (-(-count // 4) * 4) * philox.PER_OUTPUT


CATEGORICAL = Drawing(
    "Multinomial", _classes, _classes_spec, _classes_of_many, blocks=_class_blocks
)


def _gammas(start: Array, shape: Array, alphas: Array) -> Array:
    return philox.gammas(start, _sizes(shape), alphas)


def _gammas_of_many(elements: int, start: Block, shape: Block, alphas: Block) -> Any:
    if shape.many or not isinstance(alphas.value, np.ndarray):
        return None
    starts = start.value if start.many else np.tile(start.value, (elements, 1))
    return philox.gammas(starts, _sizes(shape.value), alphas.value, alphas.many)


def _gammas_spec(specs: Sequence[Any], raws: Sequence[Any]) -> list[TypeSpec]:
    sizes, more = known_sizes(raws[1]), specs[2].shape.sizes
    return [TensorSpec(None if sizes is None or more is None else [*sizes, *more], specs[2].dtype)]


def _gamma_blocks(shape: Any, alphas: Any) -> int | None:
    count, sizes = _outputs(shape), alphas.shape
    each = sizes if isinstance(alphas, np.ndarray) else sizes.sizes
    return None if count is None or each is None or None in each else count * math.prod(each)


GAMMA = Drawing("RandomGamma", _gammas, _gammas_spec, _gammas_of_many, blocks=_gamma_blocks)


# Images that drawn numbers change.


def _flip(name: str, axis: int) -> Op:
    def flipped(x: Array, drawn: Array, *, several: bool) -> Array:
        flip = pixels("flip")
        if not drawn.ndim:
            return flip(whole(x), axis) if drawn < 0.5 else whole(x)
        # In a batch, TensorFlow flips the images whose draw rounds to 1.
        chosen = (np.rint(drawn) == 1 if several else drawn < 0.5).reshape(-1)
        turned = whole(x).copy()
        turned[chosen] = flip(x[chosen], axis)
        return turned

    return changed(name, flipped)


FLIP_LEFT_RIGHT = _flip("RandomFlipLeftRight", -2)
FLIP_UP_DOWN = _flip("RandomFlipUpDown", -3)


def crop_begins(sizes: Sequence[int], wanted: Sequence[int], numbers: Array) -> Array:
    """Return the start of a random window of the size `wanted`, computed from drawn numbers.

    Raises
    ------
    InvalidArgumentError
        If the window exceeds `sizes`.
    """
    if len(wanted) != len(sizes) or any(w > n for w, n in zip(wanted, sizes, strict=True)):
        given = " ".join(f"[{' '.join(map(str, each))}]" for each in (sizes, wanted))
        raise invalid(f"assertion failed: [Need value.shape >= size, got ] {given}")
    found: Array = numbers % (np.subtract(sizes, wanted) + 1)
    return found


def _crop(x: Array, size: Array, numbers: Array) -> Array:
    wanted = size.tolist()
    begins = crop_begins(x.shape, wanted, numbers).tolist()
    return x[tuple(slice(b, b + n) for b, n in zip(begins, wanted, strict=True))]


def _crop_spec(specs: Sequence[Any], raws: Sequence[Any]) -> list[TypeSpec]:
    rank = specs[0].shape.ndims
    unknown = None if rank is None else [None] * rank
    return [TensorSpec(known_sizes(raws[1]) or unknown, specs[0].dtype)]


def _crops(count: int, x: Block, size: Block, numbers: Block) -> Any:
    if not (x.many and numbers.many and isinstance(x.value, np.ndarray)) or size.many:
        return None
    found = np.empty((count, *size.value.tolist()), x.value.dtype)
    for row, each, drawn in zip(found, x.value, numbers.value, strict=True):
        row[...] = _crop(each, size.value, drawn)
    return found


CROP = Op("RandomCrop", _crop, _crop_spec, _crops)
