# SPDX-License-Identifier: Apache-2.0
"""Functions that draw random numbers, for both versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

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
        return Candidates(*self.of_seed(seed)(op, [true], name=name, **how))

    return sampler


class Draws(Faces):
    """The functions of ``tf.random``.

    Parameters
    ----------
    version : Version
    draw : callable
        Takes a :class:`~..ops.draws.Drawing`, the tensors after the start, the seed of the
        operation (or both seeds as a tuple) and attributes. Returns the output, or a sequence of
        several outputs.
    sizes : callable
        Converts a shape to a tensor of integers.
    scope : callable
        Takes a name and a default, and returns a context for the operations of a function.
    """

    def __init__(
        self,
        version: Version,
        draw: Callable[..., Any],
        sizes: Callable[[Any], Any],
        scope: Callable[..., Any],
    ) -> None:
        super().__init__(version)
        self._draw, self._sizes, self._scope = draw, sizes, scope

    def stateless(self, op: draws.Drawing, inputs: Sequence[Any], seed: Any, **how: Any) -> Any:
        """Run an operation from the start that `seed`, of shape (2,), determines."""
        start = self._apply(draws.START, [self._tensor(seed)])
        found = self._version.apply_all(op, [start, *inputs], **how)
        return found if len(found) > 1 else found[0]

    def of_seed(self, seed: Any) -> Callable[..., Any]:
        """Return a function of an operation, its inputs and attributes that draws with a seed."""
        return lambda op, inputs, **how: self._draw(op, inputs, seed, **how)

    def of_pair(self, seed: Any) -> Callable[..., Any]:
        """Return the same kind of function for a seed of shape (2,), based on :meth:`stateless`."""
        return lambda op, inputs, **how: self.stateless(op, inputs, seed, **how)

    # Numbers. The first argument is the function that draws them: from a seed, a pair of seeds, or
    # a generator.

    def numbers(
        self, draw: Callable[..., Any], shape: Any, minval: Any, maxval: Any, dtype: Any
    ) -> Any:
        """Draw numbers from `minval` to below `maxval` with the function `draw`."""
        element, sizes = as_dtype(dtype), self._sizes(shape)
        _accepted(element, _DRAWN)
        if maxval is None and element.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {element!r}")
        if element.is_integer:
            limits = [self._tensor(each, element) for each in (minval, maxval)]
            return draw(draws.INTEGER, [sizes, *limits])
        high = 1 if maxval is None else maxval
        found = draw(draws.UNIFORM, [sizes], dtype=element)
        if _is_plain(minval, high):
            return found
        least = self._tensor(minval, element)
        span = self._apply(rows.SUB, [self._tensor(high, element), least])
        return self._scaled(found, span, least)

    def _scaled(self, found: Any, factor: Any, addend: Any) -> Any:
        return self._apply(rows.ADD, [self._apply(rows.MUL, [found, factor]), addend], "add")

    def normals(
        self,
        draw: Callable[..., Any],
        op: draws.Drawing,
        shape: Any,
        mean: Any,
        stddev: Any,
        dtype: Any,
    ) -> Any:
        """Draw normally distributed numbers with the function `draw`."""
        element = as_dtype(dtype)
        found = draw(op, [self._sizes(shape)], dtype=element)
        return self._scaled(found, self._tensor(stddev, element), self._tensor(mean, element))

    def integers(self, draw: Callable[..., Any], shape: Any, dtype: Any) -> Any:
        """Draw integers from the whole range of a type, all with the same probability."""
        return draw(draws.FULL_INTEGER, [self._sizes(shape)], dtype=as_dtype(dtype))

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
            return self.numbers(self.of_seed(seed), shape, minval, maxval, dtype)

    def stateless_uniform(
        self,
        shape: Any,
        seed: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = "float32",
        name: str | None = None,
        alg: str = "auto_select",
    ) -> Any:
        """Draw uniformly distributed numbers from `minval` to below `maxval`.

        `seed`, of shape (2,), determines the result. If both limits are None, integers are drawn
        from the whole range of their type.
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
        with self._scope(name, "stateless_random_uniform"):
            if element.is_integer and minval is None:
                return self.integers(self.of_pair(seed), shape, element)
            return self.numbers(self.of_pair(seed), shape, minval, maxval, dtype)

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
            return self.normals(self.of_seed(seed), draws.NORMAL, shape, mean, stddev, dtype)

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
        op = draws.TRUNCATED_NORMAL
        with self._scope(name, "truncated_normal"):
            return self.normals(self.of_seed(seed), op, shape, mean, stddev, dtype)

    def stateless_normal(
        self,
        shape: Any,
        seed: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = "float32",
        name: str | None = None,
        alg: str = "auto_select",
    ) -> Any:
        """Draw normally distributed numbers that `seed`, of shape (2,), determines."""
        with self._scope(name, "stateless_random_normal"):
            return self.normals(self.of_pair(seed), draws.NORMAL, shape, mean, stddev, dtype)

    def stateless_truncated_normal(
        self,
        shape: Any,
        seed: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = "float32",
        name: str | None = None,
        alg: str = "auto_select",
    ) -> Any:
        """Draw truncated normal numbers that `seed`, of shape (2,), determines."""
        op = draws.TRUNCATED_NORMAL
        with self._scope(name, "stateless_truncated_normal"):
            return self.normals(self.of_pair(seed), op, shape, mean, stddev, dtype)

    def split(self, seed: Any, num: int = 2, alg: str = "auto_select") -> Any:
        """Derive `num` seeds, of two numbers each, from one seed."""
        pair = self._tensor(seed)
        return self.integers(self.of_pair(pair), [num, 2], pair.dtype)

    def fold_in(self, seed: Any, data: Any, alg: str = "auto_select") -> Any:
        """Derive a seed from another seed and a number."""
        number = self._tensor(data)
        first = self.integers(self.of_pair(seed), [], number.dtype)
        return self._apply(PACK, [first, number], axis=0)

    # Choices.

    def shuffle(self, value: Any, seed: int | None = None, name: str | None = None) -> Any:
        """Shuffle the rows of a tensor."""
        return self._draw(draws.SHUFFLE, [self._tensor(value)], seed, name=name)

    def stateless_shuffle(
        self, value: Any, seed: Any, alg: str = "auto_select", name: str | None = None
    ) -> Any:
        """Shuffle the rows of a tensor in the order that `seed`, of shape (2,), determines."""
        return self.stateless(draws.SHUFFLE, [self._tensor(value)], seed)

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
        return self._classes(self.of_seed(seed), logits, num_samples, dtype, name=name)

    def stateless_categorical(
        self,
        logits: Any,
        num_samples: Any,
        seed: Any,
        dtype: Any = "int64",
        name: str | None = None,
    ) -> Any:
        """Draw class numbers that `seed`, of shape (2,), determines."""
        return self._classes(self.of_pair(seed), logits, num_samples, dtype)

    def _classes(
        self, draw: Callable[..., Any], logits: Any, count: Any, dtype: Any, **how: Any
    ) -> Any:
        kind = as_dtype("int64" if dtype is None else dtype)
        given = {"count": int(np.asarray(count)), "dtype": kind}
        return draw(draws.CATEGORICAL, [self._tensor(logits)], **given, **how)

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

    # Windows of images.

    def distorted_box(
        self,
        draw: Callable[..., Any],
        image_size: Any,
        bounding_boxes: Any,
        min_object_covered: Any = 0.1,
        aspect_ratio_range: Any = None,
        area_range: Any = None,
        max_attempts: int | None = None,
        use_image_if_no_bounding_boxes: bool | None = None,
        name: str | None = None,
    ) -> DistortedBox:
        """Draw a window of an image with the function `draw`; return its start, size and box."""
        from ...extra.boxes import DISTORTED_BOX, options  # few programs draw boxes

        inputs = [self._tensor(image_size)]
        inputs += [self._tensor(each, float32) for each in (bounding_boxes, min_object_covered)]
        ratios, areas = aspect_ratio_range, area_range
        how = options(ratios, areas, max_attempts, use_image_if_no_bounding_boxes)
        return DistortedBox(*draw(DISTORTED_BOX, inputs, **how))

    def stateless_sample_distorted_bounding_box(
        self,
        image_size: Any,
        bounding_boxes: Any,
        seed: Any,
        min_object_covered: Any = 0.1,
        aspect_ratio_range: Any = None,
        area_range: Any = None,
        max_attempts: int | None = None,
        use_image_if_no_bounding_boxes: bool | None = None,
        name: str | None = None,
    ) -> DistortedBox:
        """Draw a window of an image that `seed`, of shape (2,), determines."""
        return self.distorted_box(
            self.of_pair(seed),
            image_size,
            bounding_boxes,
            min_object_covered,
            aspect_ratio_range,
            area_range,
            max_attempts,
            use_image_if_no_bounding_boxes,
            name,
        )
