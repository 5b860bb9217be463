# SPDX-License-Identifier: Apache-2.0
"""Functions that draw random numbers, for both versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from ..dtypes import DType, as_dtype, float32
from ..ops import arithmetic as rows
from ..ops import draws
from ..ops.filling import FILLED_LIKE
from ..ops.joining import PACK
from . import Faces, Version


class Candidates(NamedTuple):
    """Sampled classes, and the expected counts of the true and the sampled classes."""

    sampled_candidates: Any
    true_expected_count: Any
    sampled_expected_count: Any


class DistortedBox(NamedTuple):
    """The start and size of a random crop, and the crop as a box from 0 to 1."""

    begin: Any
    size: Any
    bboxes: Any


_DRAWN = ("float16", "bfloat16", "float32", "float64", "int32", "int64")
_UNSIGNED = ("uint32", "uint64")


def _accepted(dtype: DType, names: Sequence[str]) -> None:
    if dtype.name not in names:
        raise ValueError(
            f"Argument `dtype` got invalid value {dtype}. Accepted dtypes are "
            f"({', '.join(f'tf.{name}' for name in names)})."
        )


def _is_plain(low: Any, high: Any) -> bool:
    """Return whether the limits are 0 and 1."""
    return type(low) is int and type(high) is int and (low, high) == (0, 1)


def _sampler(distribution: str) -> Callable[..., Candidates]:
    """Return a function that draws classes below a bound."""

    def sampler(
        self: Draws,
        true_classes: Any,
        num_true: int,
        num_sampled: int,
        unique: bool,
        range_max: int,
        seed: int | None = None,
        name: str | None = None,
    ) -> Candidates:
        """Draw classes below `range_max`, and return the expected counts of true and drawn ones."""
        from ...extra import candidates  # few programs draw candidates

        op: draws.Drawing = getattr(candidates, distribution)
        for each in (num_true, num_sampled, range_max):
            if each < 1:
                raise ValueError(f"{op.name}: numbers must be at least 1, got {each}")
        how = {"num_true": num_true, "count": num_sampled, "unique": unique, "span": range_max}
        true = self._tensor(true_classes, "int64")
        return Candidates(*self._draw(op, [true], seed, name, **how))

    return sampler


class Distributions(Faces):
    """Random numbers, choices and windows, written once for each way to draw.

    Parameters
    ----------
    version : Version
    draw : callable
        Takes a :class:`~..ops.draws.Drawing`, the tensors after the start, a seed, the name of the
        operation and attributes. Returns the output, or a sequence of several outputs.
    sizes : callable
        Converts a shape to a tensor of integers.
    scope : callable
        Takes a name and a default, and returns a context for the operations of a function.
    """

    _prefix = ""  # of the names of scopes

    def __init__(
        self,
        version: Version,
        draw: Callable[..., Any],
        sizes: Callable[[Any], Any],
        scope: Callable[..., Any],
    ) -> None:
        super().__init__(version)
        self._draw, self._sizes, self._given_scope = draw, sizes, scope

    def _scope(self, name: str | None, default: str) -> Any:
        return self._given_scope(name, self._prefix + default)

    def _uniform(self, shape: Any, minval: Any, maxval: Any, dtype: Any, seed: Any) -> Any:
        element, sizes = as_dtype(dtype), self._sizes(shape)
        _accepted(element, _DRAWN)
        if maxval is None and element.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {element!r}")
        if element.is_integer:
            limits = [self._tensor(each, element) for each in (minval, maxval)]
            return self._draw(draws.INTEGER, [sizes, *limits], seed)
        high = 1 if maxval is None else maxval
        found = self._draw(draws.UNIFORM, [sizes], seed, dtype=element)
        if _is_plain(minval, high):
            return found
        least = self._tensor(minval, element)
        span = self._apply(rows.SUB, [self._tensor(high, element), least])
        return self._scaled(found, span, least)

    def _scaled(self, found: Any, factor: Any, addend: Any) -> Any:
        return self._apply(rows.ADD, [self._apply(rows.MUL, [found, factor]), addend], "add")

    def _normal(
        self, op: draws.Drawing, shape: Any, mean: Any, stddev: Any, dtype: Any, seed: Any
    ) -> Any:
        element = as_dtype(dtype)
        found = self._draw(op, [self._sizes(shape)], seed, dtype=element)
        return self._scaled(found, self._tensor(stddev, element), self._tensor(mean, element))

    def _integers(self, shape: Any, dtype: Any, seed: Any) -> Any:
        """Draw integers from the whole range of a type, all with the same probability."""
        return self._draw(draws.FULL_INTEGER, [self._sizes(shape)], seed, dtype=as_dtype(dtype))

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = "float32",
        seed: int | None = None,
        name: str | None = None,
    ) -> Any:
        """Draw uniformly distributed numbers from `minval` to below `maxval`."""
        with self._scope(name, "random_uniform"):
            return self._uniform(shape, minval, maxval, dtype, seed)

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = "float32",
        seed: int | None = None,
        name: str | None = None,
    ) -> Any:
        """Draw normally distributed numbers."""
        with self._scope(name, "random_normal"):
            return self._normal(draws.NORMAL, shape, mean, stddev, dtype, seed)

    def truncated_normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = "float32",
        seed: int | None = None,
        name: str | None = None,
    ) -> Any:
        """Draw normally distributed numbers within two standard deviations of the mean."""
        with self._scope(name, "truncated_normal"):
            return self._normal(draws.TRUNCATED_NORMAL, shape, mean, stddev, dtype, seed)

    def shuffle(self, value: Any, seed: int | None = None, name: str | None = None) -> Any:
        """Shuffle the rows of a tensor."""
        return self._draw(draws.SHUFFLE, [self._tensor(value)], seed, name)

    def categorical(
        self,
        logits: Any,
        num_samples: Any,
        dtype: Any = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Any:
        """Draw class numbers with the probabilities whose logarithms are `logits`.

        For a matrix of one row, the draws equal TensorFlow's. For several rows, they equal
        TensorFlow's if TensorFlow processes the rows in one thread.
        """
        kind = as_dtype("int64" if dtype is None else dtype)
        how = {"count": int(np.asarray(num_samples)), "dtype": kind}
        return self._draw(draws.CATEGORICAL, [self._tensor(logits)], seed, name, **how)

    def sample_distorted_bounding_box(
        self,
        image_size: Any,
        bounding_boxes: Any,
        seed: int | None = 0,
        min_object_covered: Any = 0.1,
        aspect_ratio_range: Any = None,
        area_range: Any = None,
        max_attempts: int | None = None,
        use_image_if_no_bounding_boxes: bool | None = None,
        name: str | None = None,
    ) -> DistortedBox:
        """Draw a random part of an image: its start, its size, and its bounding box."""
        from ...extra.boxes import DISTORTED_BOX, options  # few programs draw boxes

        inputs = [self._tensor(image_size)]
        inputs += [self._tensor(each, float32) for each in (bounding_boxes, min_object_covered)]
        ratios, areas = aspect_ratio_range, area_range
        how = options(ratios, areas, max_attempts, use_image_if_no_bounding_boxes)
        # Without a seed, both seeds are 0.
        seeds = (seed or (0, 0)) if isinstance(seed, (int, type(None))) else seed
        return DistortedBox(*self._draw(DISTORTED_BOX, inputs, seeds, **how))


class Draws(Distributions):
    """The functions of ``tf.random`` that draw with the seed of an operation, or both seeds."""

    _orders: ClassVar[dict[str, str]] = {
        "multinomial": "logits num_samples seed name output_dtype=dtype."
    }
    multinomial: Final = Distributions.categorical

    def distorted_box(
        self,
        image_size: Any,
        bounding_boxes: Any,
        seed: int | None = None,
        seed2: int | None = None,
        min_object_covered: Any = 0.1,
        aspect_ratio_range: Any = None,
        area_range: Any = None,
        max_attempts: int | None = None,
        use_image_if_no_bounding_boxes: bool | None = None,
        name: str | None = None,
    ) -> DistortedBox:
        """Draw a random part of an image: its start, its size, and its bounding box."""
        seeds: Any = seed or 0, seed2 or 0
        how = min_object_covered, aspect_ratio_range, area_range, max_attempts
        each = use_image_if_no_bounding_boxes
        return self.sample_distorted_bounding_box(
            image_size, bounding_boxes, seeds, *how, each, name
        )

    def gamma(
        self,
        shape: Any,
        alpha: Any,
        beta: Any = None,
        dtype: Any = float32,
        seed: int | None = None,
        name: str | None = None,
    ) -> Any:
        """Draw `shape` numbers from each gamma distribution with parameters `alpha` and `beta`."""
        element = as_dtype(dtype)
        alphas = self._tensor(alpha, element)
        rate = self._tensor(1 if beta is None else beta, element)
        if beta is not None:
            ones = self._apply(FILLED_LIKE, [rate], value=1, dtype=element)
            alphas = self._apply(rows.MUL, [alphas, ones])
        found = self._draw(draws.GAMMA, [self._sizes(shape), alphas], seed)
        least = self._tensor(np.finfo(element.numpy).tiny, element)
        return self._apply(rows.MAXIMUM, [least, self._apply(rows.DIV, [found, rate])], name)

    log_uniform_candidate_sampler: Final = _sampler("LOG_UNIFORM")
    uniform_candidate_sampler: Final = _sampler("UNIFORM")


class Stateless(Distributions):
    """The functions of ``tf.random`` that draw with a seed of shape (2,)."""

    _orders: ClassVar[dict[str, str]] = {
        "categorical": "logits num_samples seed:Any! dtype name",
        "normal": "shape seed:Any! mean stddev dtype name -alg:str",
        "sample_distorted_bounding_box": "image_size bounding_boxes seed:Any!",
        "shuffle": "value seed:Any! -alg:str name",
        "truncated_normal": "shape seed:Any! mean stddev dtype name -alg:str",
        "uniform": "shape seed:Any! minval maxval dtype name -alg:str",
    }
    _note = "`seed`, of shape (2,), determines the result."
    _prefix = "stateless_"

    def __init__(self, draws: Draws) -> None:
        super().__init__(draws._version, self._drawn, draws._sizes, draws._given_scope)

    def _drawn(
        self,
        op: draws.Drawing,
        inputs: Sequence[Any],
        seed: Any,
        name: str | None = None,
        **how: Any,
    ) -> Any:
        start = self._apply(draws.START, [self._tensor(seed)])
        found = self._version.apply_all(op, [start, *inputs], name, **how)
        return found if len(found) > 1 else found[0]

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = "float32",
        seed: int | None = None,
        name: str | None = None,
    ) -> Any:
        """Draw uniformly distributed numbers from `minval` to below `maxval`.

        If both limits are None, integers are drawn from the whole range of their type.
        """
        element = as_dtype(dtype)
        _accepted(element, (*_DRAWN, *_UNSIGNED))
        if element.is_integer and (minval is None) != (maxval is None):
            raise ValueError(
                f"For integer `dtype` argument {element}, argument `minval` and `maxval` must be "
                f"both None or not None. Got `minval`={minval} and `maxval`={maxval}."
            )
        if element.name in _UNSIGNED and minval is not None:
            raise ValueError(
                f"Argument `dtype` got invalid value {element} when argument `minval` is not None. "
                f"Please don't use unsigned integers in this case."
            )
        with self._scope(name, "random_uniform"):
            if element.is_integer and minval is None:
                return self._integers(shape, element, seed)
            return self._uniform(shape, minval, maxval, dtype, seed)

    def split(self, seed: Any, num: int = 2, alg: str = "auto_select") -> Any:
        """Derive `num` seeds, of two numbers each, from one seed."""
        pair = self._tensor(seed)
        return self._integers([num, 2], pair.dtype, pair)

    def fold_in(self, seed: Any, data: Any, alg: str = "auto_select") -> Any:
        """Derive a seed from another seed and a number."""
        number = self._tensor(data)
        first = self._integers([], number.dtype, seed)
        return self._apply(PACK, [first, number], axis=0)
