# SPDX-License-Identifier: Apache-2.0
"""Checks of types, shapes and values that both versions have in ``tf.debugging``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType, as_dtype, bool_
from ..errors import InvalidArgumentError
from ..ops import Op
from ..shape import in_messages
from ..specs import TensorSpec
from ..tensor import TensorShape, as_array
from . import Faces

__all__ = ["Checks"]


def _lines(*parts: str | None) -> str:
    return " ".join(part for part in parts if part)


class Checks(Faces):
    """Functions that refuse what does not hold, before anything runs where that is known."""

    def _refuse(self, unless: Callable[..., Any], text: str, *tensors: Any) -> Any:
        """Refuse values, once they are there; what a graph runs, or nothing where that is done."""

        def kernel(*values: Any) -> Any:
            given = [as_array(value) for value in values]
            if not np.all(unless(*given)):
                shown = ", ".join(np.array2string(each, threshold=6) for each in given)
                raise InvalidArgumentError(None, None, f"{text} {shown}")
            return np.asarray(True)

        op = Op("Assert", kernel, lambda *_: [TensorSpec([], bool_)], pure=False)
        return getattr(self._apply(op, tensors), "op", None)

    def _sign(self, holds: Callable[[Any], Any], sign: str, x: Any, message: str | None) -> Any:
        return self._refuse(holds, _lines(message, f"Condition x {sign} 0 did not hold."), x)

    def assert_negative(
        self,
        x: Any,
        message: str | None = None,
        summarize: int | None = None,
        name: str | None = None,
        data: Any = None,
    ) -> Any:
        """Refuse elements that are not below 0."""
        return self._sign(lambda a: a < 0, "<", self._tensor(x), message)

    def assert_non_positive(
        self,
        x: Any,
        message: str | None = None,
        summarize: int | None = None,
        name: str | None = None,
        data: Any = None,
    ) -> Any:
        """Refuse elements above 0."""
        return self._sign(lambda a: a <= 0, "<=", self._tensor(x), message)

    def assert_near(
        self,
        x: Any,
        y: Any,
        rtol: Any = None,
        atol: Any = None,
        message: str | None = None,
        summarize: int | None = None,
        name: str | None = None,
        data: Any = None,
    ) -> Any:
        """Refuse numbers that are further apart than `atol` and the share `rtol` of `y`."""
        first, second = self._version.pair("Sub", x, y)
        least = 10 * np.finfo(first.dtype.numpy).eps
        share, apart = (least if each is None else each for each in (rtol, atol))
        text = _lines(message, "x and y not equal to tolerance")

        def near(a: Any, b: Any) -> Any:
            return np.abs(a - b) < apart + share * np.abs(b)

        return self._refuse(near, text, first, second)

    def assert_all_finite(self, x: Any, message: str, name: str | None = None) -> Any:
        """The tensor, whose elements have to be finite numbers."""

        def finite(value: Any) -> Any:
            for found, text in ((np.isnan(value), "NaN"), (np.isinf(value), "Inf")):
                if found.any():
                    raise InvalidArgumentError(None, None, f"{message} : Tensor had {text} values")
            return value

        op = Op("CheckNumerics", finite, lambda s, *_: [TensorSpec(s[0].shape, s[0].dtype)])
        return self._apply(op, [self._tensor(x)], name)

    def assert_type(
        self, tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
    ) -> None:
        """Refuse a tensor of another type."""
        found, wanted = self._dtype(tensor), as_dtype(tf_type)
        if found is not wanted:
            raise TypeError(_lines(message, f"tensor must be of type {wanted!r}; got {found!r}"))

    def _dtype(self, value: Any) -> DType:
        found: DType = (value if hasattr(value, "dtype") else self._tensor(value)).dtype
        return found

    def assert_integer(self, x: Any, message: str | None = None, name: str | None = None) -> None:
        """Refuse a tensor of elements that are no integers."""
        found = as_dtype(self._dtype(x))
        if not found.is_integer:
            raise TypeError(_lines(message, f'Expected "x" to be integer type. Found: {found!r}'))

    def is_numeric_tensor(self, tensor: Any) -> bool:
        """Whether it is a tensor of numbers."""
        return self._version.is_tensor(tensor) and tensor.dtype.numpy.kind in "iufcV"

    def assert_same_float_dtype(
        self, tensors: Sequence[Any] | None = None, dtype: Any = None
    ) -> DType:
        """Return the type of floating-point numbers that tensors have, which must be one."""
        found = [self._dtype(each) for each in tensors or ()]
        found += [] if dtype is None else [as_dtype(dtype)]
        if any(each is not found[0] for each in found):
            raise ValueError(f"Tensors must be of the same type, got {found}")
        kind = found[0] if found else as_dtype("float32")
        if not kind.is_floating:
            raise ValueError(f"Expected floating point type, got {kind!r}.")
        return kind

    def assert_proper_iterable(self, values: Any) -> None:
        """Refuse what cannot be iterated over, tensors, arrays and strings."""
        unfit = (str, bytes, np.ndarray)
        if self._version.is_tensor(values) or isinstance(values, unfit):
            raise TypeError(f'Expected argument "values" to be a proper iterable, got {values!r}')
        if not isinstance(values, Iterable):
            raise TypeError(f'Expected argument "values" to be iterable, got {values!r}')

    def _rank(
        self, x: Any, holds: Callable[[int], bool], wanted: str, message: str | None
    ) -> tuple[Any, Any]:
        tensor = self._tensor(x)
        known = tensor.shape.ndims
        text = _lines(message, f"Tensor must have rank {wanted}.")
        if known is None:
            return tensor, self._refuse(lambda a: holds(a.ndim), text, tensor)
        if not holds(known):
            raise ValueError(f"{text} Received rank {known}, shape {tensor.shape}")
        return tensor, None

    def assert_scalar(
        self, tensor: Any, name: str | None = None, message: str | None = None
    ) -> Any:
        """The tensor, which has to have no dimensions."""
        return self._rank(tensor, lambda rank: not rank, "0", message)[0]

    def assert_rank_at_least(
        self,
        x: Any,
        rank: Any,
        message: str | None = None,
        name: str | None = None,
        data: Any = None,
        summarize: int | None = None,
    ) -> Any:
        """Refuse a tensor of fewer dimensions."""
        least = int(np.asarray(rank))
        return self._rank(x, lambda found: found >= least, f"at least {least}", message)[1]

    def assert_rank_in(
        self,
        x: Any,
        ranks: Sequence[Any],
        message: str | None = None,
        name: str | None = None,
        data: Any = None,
        summarize: int | None = None,
    ) -> Any:
        """Refuse a tensor of another number of dimensions than some."""
        known = [int(np.asarray(rank)) for rank in ranks]
        return self._rank(x, lambda found: found in known, f"in {known}", message)[1]

    def assert_shapes(
        self,
        shapes: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Any:
        """Refuse tensors whose sizes are not those of their symbols.

        A size is a number, a symbol that is one size in all shapes, or None for any; ``...`` or
        ``*`` at the beginning is any number of dimensions.
        """
        pairs = list(shapes.items() if isinstance(shapes, dict) else shapes)
        tensors = [self._tensor(each) for each, _ in pairs]
        if not all(isinstance(sizes, Iterable) for _, sizes in pairs):
            raise ValueError(_lines(message, "Specified shape must be an iterable."))
        wanted = [tuple(sizes) for _, sizes in pairs]
        if any(each in _MANY for sizes in wanted for each in sizes[1:]):
            raise ValueError(_lines(message, "Symbol `...` or `*` must be the first."))
        known = [tensor.shape.sizes for tensor in tensors]
        if (problem := _mismatch(known, wanted)) is not None:
            raise ValueError(_lines(message, problem))
        if all(sizes is not None and None not in sizes for sizes in known):
            return None

        def fit(*arrays: Any) -> bool:
            return _mismatch([array.shape for array in arrays], wanted) is None

        return self._refuse(fit, _lines(message, "Specified by the shapes:", str(wanted)), *tensors)

    def ensure_shape(self, x: Any, shape: Any, name: str | None = None) -> Any:
        """The tensor, which has to be of that shape."""
        wanted = TensorShape(shape)

        def check(value: Any) -> Any:
            found = () if isinstance(value, bytes) else value.shape
            if not wanted.is_compatible_with(found):
                text = (
                    f"Shape of tensor {in_messages(found)} is not compatible with expected shape "
                    f"{in_messages(wanted)}."
                )
                raise InvalidArgumentError(None, None, text)
            return value

        def infer(specs: Any, *_: Any) -> list[Any]:
            return [TensorSpec(wanted.merge_with(specs[0].shape.sizes), specs[0].dtype)]

        return self._apply(Op("EnsureShape", check, infer), [self._tensor(x)], name)

    def nothing(self, *_: Any, **__: Any) -> None:
        """Taken, and without effect."""

    enable_check_numerics = disable_check_numerics = nothing
    enable_traceback_filtering = disable_traceback_filtering = nothing
    set_log_device_placement = nothing


_MANY = (..., "...", "*")


def _mismatch(shapes: Sequence[Any], wanted: Sequence[tuple[Any, ...]]) -> str | None:
    """What does not go together, as far as sizes are known."""
    symbols: dict[Any, int] = {}
    for sizes, names in zip(shapes, wanted, strict=True):
        if sizes is None:
            continue
        given, text = list(sizes), f"Tensor of shape {tuple(sizes)} has not the shape {names}."
        if names and names[0] in _MANY:
            names = names[1:]
            given = given[max(0, len(given) - len(names)) :]
        if len(given) != len(names):
            return text
        for size, symbol in zip(given, names, strict=True):
            if symbol is None or symbol == "." or size is None:
                continue
            number = int(symbol) if str(symbol).isdigit() else symbols.setdefault(symbol, size)
            if number != size:
                return f"{text} {symbol} is {number} elsewhere." if symbol in symbols else text
    return None
