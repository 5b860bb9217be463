# SPDX-License-Identifier: Apache-2.0
"""Checks of types, shapes and values in ``tf.debugging``, for both versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType, as_dtype, bool_, int32
from ..errors import invalid
from ..ops import Block, Op, same_spec, shaping
from ..ops import arithmetic as rows
from ..ops.cutting import escaped
from ..ops.joining import PACK
from ..shape import in_messages
from ..specs import TensorSpec
from ..tensor import TensorShape, as_array
from . import Faces, Version


def _lines(*parts: str | None) -> str:
    return " ".join(part for part in parts if part)


def summary(value: Any, limit: int | None) -> str:
    """Return the first elements of a value as TensorFlow prints them.

    A `limit` of None shows 3 elements, and a negative one shows all.
    """
    flat = np.asarray(value).reshape(-1)
    limit = 3 if limit is None else flat.size if limit < 0 else limit
    shown = [_shown(item) for item in flat[:limit].tolist()]
    if np.ndim(value) == 0:
        return shown[0]
    return " ".join(shown) + ("..." if flat.size > limit else "")


def _shown(item: Any) -> str:
    if isinstance(item, bytes):
        return escaped(item).decode("utf-8", "backslashreplace")
    if isinstance(item, bool):
        return str(int(item))
    return f"{item:.6g}" if isinstance(item, float) else str(item)


def _failed(data: Iterable[Any], summarize: int | None) -> Exception:
    texts = [f"[{summary(as_array(each), summarize)}]" for each in data]
    return invalid(f"assertion failed: {' '.join(texts)}")


def _assert(holds: Any, *data: Any, summarize: int | None) -> tuple[()]:
    if not np.all(holds):
        raise _failed(data, summarize)
    return ()


def _assert_all(_: int, holds: Block, *data: Block, **how: Any) -> tuple[()] | None:
    return () if isinstance(holds.value, np.ndarray) and holds.value.all() else None


_ASSERT = Op("Assert", _assert, lambda *_, **__: [], _assert_all)
_SIGNS = {
    "equal": ("==", rows.EQUAL),
    "greater": (">", rows.GREATER),
    "greater_equal": (">=", rows.GREATER_EQUAL),
    "less": ("<", rows.LESS),
    "less_equal": ("<=", rows.LESS_EQUAL),
    "none_equal": ("!=", rows.NOT_EQUAL),
}
_OF_ZERO = {
    "negative": "less",
    "non_negative": "greater_equal",
    "non_positive": "less_equal",
    "positive": "greater",
}


def _holds(unless: Callable[..., Any]) -> Op:
    def kernel(*values: Any) -> Any:
        return np.asarray(np.all(unless(*map(as_array, values))))

    return Op("Holds", kernel, lambda *_: [TensorSpec([], bool_)])


def _before(message: str | None) -> str:
    return f"{message}.  " if message else ""


def _name_of(tensor: Any, otherwise: str = "x") -> str:
    return str(getattr(tensor, "name", f"{otherwise}:0"))


def _named(what: str, tensor: Any) -> list[Any]:
    return [f"{what} ({_name_of(tensor, what)}) = ", tensor]


class Checks(Faces):
    """Functions that check a condition, and do so before anything runs if it is already known."""

    def __init__(self, version: Version) -> None:
        super().__init__(version)
        for name, (sign, op) in _SIGNS.items():
            setattr(self, f"assert_{name}", self._comparison(sign, op))
        for name, comparison in _OF_ZERO.items():
            setattr(self, f"assert_{name}", self._comparison_with_zero(*_SIGNS[comparison]))

    def Assert(
        self, condition: Any, data: Any, summarize: int | None = None, name: str | None = None
    ) -> Any:
        """Raise an error if the condition is false."""
        tensors = [self._given(condition, bool_), *map(self._tensor, data)]
        return self._version.done(_ASSERT, tensors, name, summarize=summarize)

    def _at_most_one(self, conditions: Sequence[Any]) -> Any:
        """Raise an error if more than one of the conditions is true."""
        names = ", ".join(map(_name_of, conditions))
        text = f"Input error: exclusive=True: more than 1 conditions ({names}) evaluated as True:"
        return self._refuse(
            lambda holds: holds.sum() < 2, text, self._apply(PACK, conditions, axis=0)
        )

    def _comparison(self, sign: str, op: Op) -> Callable[..., Any]:
        def check(
            x: Any,
            y: Any,
            message: str | None = None,
            summarize: int | None = None,
            name: str | None = None,
            data: Any = None,
        ) -> Any:
            first, second = self._version.pair(op.name, x, y)
            if x is y and sign == "==":  # TensorFlow compares nothing, so that NaN passes as well
                return self.Assert(True, [], name=name)
            text = f"Condition x {sign} y did not hold element-wise:"
            shown = data or [text, *_named("x", first), *_named("y", second)]
            shown = shown if message is None else [message, *shown]
            return self.Assert(self._apply(op, (first, second)), shown, summarize, name)

        return check

    def _comparison_with_zero(self, sign: str, op: Op) -> Callable[..., Any]:
        def check(
            x: Any,
            message: str | None = None,
            summarize: int | None = None,
            name: str | None = None,
            data: Any = None,
        ) -> Any:
            tensor = self._tensor(x)
            parts = [f"Condition x {sign} 0 did not hold element-wise:", *_named("x", tensor)]
            if sign == "<=":  # TensorFlow's message has no comma for this operator
                parts = ["".join(parts[:2]), parts[2]]
            holds = self._apply(op, (tensor, self._tensor(0, tensor.dtype)))
            shown = data or [_before(message), *parts]
            return self.Assert(holds, shown, summarize, name)

        return check

    def _refuse(self, unless: Callable[..., Any], text: str, *tensors: Any) -> Any:
        """Raise an error for wrong values when they are computed.

        Return the operation that a graph runs, or None if the check has already run.
        """
        return self.Assert(self._apply(_holds(unless), tensors), [text, *tensors])

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
        """Raise an error unless ``abs(x - y) < atol + rtol * abs(y)`` for all elements."""
        first, second = self._version.pair("Sub", x, y)
        least = 10 * np.finfo(first.dtype.numpy).eps
        share, apart = (least if each is None else each for each in (rtol, atol))
        limits = [
            f'{each} = Tensor("{name or "assert_near"}/{each}:0", shape=(), '
            f"dtype={first.dtype.name})"
            for each in ("rtol", "atol")
        ]
        text = f"x and y not equal to tolerance {', '.join(limits)}"
        shown = [_before(message), text, *_named("x", first), *_named("y", second)]

        def near(a: Any, b: Any) -> Any:
            return np.abs(a - b) < apart + share * np.abs(b)

        holds = self._apply(_holds(near), (first, second))
        return self.Assert(holds, data or shown, summarize, name)

    def assert_all_finite(self, x: Any, message: str, name: str | None = None) -> Any:
        """Return the tensor, or raise an error if it has an infinite element or NaN."""
        return self.check_numerics(x, message, name)

    def check_numerics(self, tensor: Any, message: str, name: str | None = None) -> Any:
        """Return the tensor, or raise an error if it has an infinite element or NaN."""

        def finite(value: Any) -> Any:
            for found, text in ((np.isnan(value), "NaN"), (np.isinf(value), "Inf")):
                if found.any():
                    raise invalid(f"{message} : Tensor had {text} values")
            return value

        op = Op("CheckNumerics", finite, same_spec)
        return self._apply(op, [self._tensor(tensor)], name)

    def assert_type(
        self, tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
    ) -> None:
        """Raise an error unless the tensor has the given type."""
        found, wanted = self._dtype(tensor), as_dtype(tf_type)
        if found is not wanted:
            raise TypeError(_lines(message, f"tensor must be of type {wanted!r}; got {found!r}"))

    def _dtype(self, value: Any) -> DType:
        found: DType = (value if hasattr(value, "dtype") else self._tensor(value)).dtype
        return found

    def assert_integer(self, x: Any, message: str | None = None, name: str | None = None) -> None:
        """Raise an error unless the tensor has an integer type."""
        found = as_dtype(self._dtype(x))
        if not found.is_integer:
            raise TypeError(_lines(message, f'Expected "x" to be integer type. Found: {found!r}'))

    def is_numeric_tensor(self, tensor: Any) -> bool:
        """Return whether a value is a tensor of numbers."""
        return self._version.is_tensor(tensor) and tensor.dtype.kind in "iufcV"

    def assert_same_float_dtype(
        self, tensors: Sequence[Any] | None = None, dtype: Any = None
    ) -> DType:
        """Return the common floating-point type of tensors, or raise an error if types differ."""
        found = [self._dtype(each) for each in tensors or ()]
        found += [] if dtype is None else [as_dtype(dtype)]
        if any(each is not found[0] for each in found):
            raise ValueError(f"Tensors must be of the same type, got {found}")
        kind = found[0] if found else as_dtype("float32")
        if not kind.is_floating:
            raise ValueError(f"Expected floating point type, got {kind!r}.")
        return kind

    def assert_proper_iterable(self, values: Any) -> None:
        """Raise an error for values that are not iterable, and for tensors, arrays and strings."""
        unfit = (str, bytes, np.ndarray)
        if self._version.is_tensor(values) or isinstance(values, unfit):
            raise TypeError(f'Expected argument "values" to be a proper iterable, got {values!r}')
        if not isinstance(values, Iterable):
            raise TypeError(f'Expected argument "values" to be iterable, got {values!r}')

    def _rank(
        self,
        x: Any,
        holds: Callable[[int], bool],
        wanted: tuple[str, Sequence[int]],
        message: str | None,
        data: Any = None,
        summarize: int | None = None,
    ) -> tuple[Any, Any]:
        tensor, (which, ranks) = self._tensor(x), wanted
        known = tensor.shape.ndims
        text, parts = _of_rank(_name_of(tensor), tensor.shape.sizes, which, ranks)
        if known is None:
            found = self._apply(shaping.RANK, (tensor,))
            right = self._apply(_holds(lambda rank: holds(int(rank))), (found,))
            sizes = self._apply(shaping.SHAPE, (tensor,), out_type=int32)
            shown = [_before(message), *parts, sizes]
            return tensor, self.Assert(right, data or shown, summarize)
        if not holds(known):
            raise ValueError(f"{_before(message)}{text}")
        return tensor, self.Assert(True, [])

    def assert_rank(
        self,
        x: Any,
        rank: Any,
        message: str | None = None,
        summarize: int | None = None,
        name: str | None = None,
        data: Any = None,
    ) -> Any:
        """Raise an error unless the tensor has the given rank."""
        wanted = int(np.asarray(rank))
        return self._rank(x, wanted.__eq__, ("", [wanted]), message, data, summarize)[1]

    def assert_scalar(
        self, tensor: Any, name: str | None = None, message: str | None = None
    ) -> Any:
        """Return the tensor, or raise an error unless it is a scalar."""
        return self._rank(tensor, (0).__eq__, ("", [0]), message)[0]

    def assert_rank_at_least(
        self,
        x: Any,
        rank: Any,
        message: str | None = None,
        name: str | None = None,
        data: Any = None,
        summarize: int | None = None,
    ) -> Any:
        """Raise an error if the tensor has a lower rank."""
        least = int(np.asarray(rank))
        return self._rank(x, least.__le__, (" at least", [least]), message, data, summarize)[1]

    def assert_rank_in(
        self,
        x: Any,
        ranks: Sequence[Any],
        message: str | None = None,
        name: str | None = None,
        data: Any = None,
        summarize: int | None = None,
    ) -> Any:
        """Raise an error unless the tensor has one of the given ranks."""
        known = [int(np.asarray(rank)) for rank in ranks]
        return self._rank(x, known.__contains__, (" in", known), message, data, summarize)[1]

    def assert_shapes(
        self,
        shapes: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Any:
        """Raise an error unless the tensors have the given shapes.

        A size is a number, a symbol that means the same size in all shapes, or None or "." for any
        size. A leading ``...`` or ``*`` matches any number of dimensions. A scalar counts as a
        tensor of one dimension of size 1.
        """
        pairs = list(shapes.items() if isinstance(shapes, dict) else shapes)
        tensors = [self._tensor(each) for each, _ in pairs]
        names, before = [_name_of(tensor, "") for tensor in tensors], _before(message)
        for tensor_name, (_, sizes) in zip(names, pairs, strict=True):
            if not isinstance(sizes, Iterable):
                raise ValueError(
                    f"{before}Tensor {tensor_name}.  Specified shape must be an iterable.  An "
                    "iterable has the attribute `__iter__` or `__getitem__`.  Received specified "
                    f"shape: {sizes}"
                )
        wanted = [tuple(sizes) for _, sizes in pairs]
        for tensor_name, symbols in zip(names, wanted, strict=True):
            if (at := next((i for i, each in enumerate(symbols) if i and each in _MANY), 0)) > 0:
                raise ValueError(
                    f"{before}Tensor {tensor_name} specified shape index {at}.  Symbol `...` or "
                    "`*` for a variable number of unspecified dimensions is only allowed as the "
                    "first entry"
                )
        known = [tensor.shape.sizes for tensor in tensors]
        if (problem := _misfit(names, known, wanted)) is not None:
            raise ValueError(f"{before}{problem[0]}")
        if all(sizes is not None and None not in sizes for sizes in known):
            return self.Assert(True, [])

        def fit(*arrays: Any) -> bool:
            problem = _misfit(names, [array.shape for array in arrays], wanted)
            if problem is not None and data is None:
                *parts, sizes = problem[1]
                raise _failed([before, *parts, np.array(sizes)], summarize)
            return problem is None

        return self.Assert(self._apply(_holds(fit), tensors), data or [], summarize, name)

    def ensure_shape(self, x: Any, shape: Any, name: str | None = None) -> Any:
        """Return the tensor, or raise an error unless it has a compatible shape."""
        wanted = TensorShape(shape)

        def check(value: Any) -> Any:
            found = () if isinstance(value, bytes) else value.shape
            if not wanted.is_compatible_with(found):
                text = (
                    f"Shape of tensor {in_messages(found)} is not compatible with expected shape "
                    f"{in_messages(wanted)}."
                )
                raise invalid(text)
            return value

        def infer(specs: Any, *_: Any) -> list[Any]:
            return [TensorSpec(wanted.merge_with(specs[0].shape.sizes), specs[0].dtype)]

        return self._apply(Op("EnsureShape", check, infer), [self._tensor(x)], name)


_MANY = (..., "*")  # each matches any number of dimensions
_Problem = tuple[str, list[Any]]  # the message, and the parts that are displayed for it


def _of_rank(name: str, sizes: Any, which: str, ranks: Sequence[int]) -> _Problem:
    text = f"Tensor {name} must have rank{which}"
    number = tuple(ranks) if which == " in" else ranks[0]
    found = f"Received rank {len(sizes or ())}, shape {TensorShape(sizes)}"
    return f"{text} {number}.  {found}", [text, *ranks, "Received shape: "]


def _misfit(
    names: Sequence[str], shapes: Sequence[Any], wanted: Sequence[tuple[Any, ...]]
) -> _Problem | None:
    """Return the first mismatch between the known sizes and the wanted shapes, or None."""
    many = [symbols[:1] in [(each,) for each in _MANY] for symbols in wanted]
    every = [symbols[more:] or (1,) for symbols, more in zip(wanted, many, strict=True)]
    for name, sizes, symbols, more in zip(names, shapes, every, many, strict=True):
        if sizes is None:
            continue
        count, rank = len(symbols), max(1, len(sizes))
        if rank < count or (rank > count and not more):
            which = " at least" if more else " in" if count == 1 else ""
            text, parts = _of_rank(name, sizes, which, [0, 1] if count == 1 else [count])
            return text, [*parts, sizes]
    seen: dict[Any, tuple[int, str]] = {}
    for name, sizes, symbols, more in zip(names, shapes, every, many, strict=True):
        if sizes is None:
            continue
        begin = -len(symbols) if more else 0
        for at, symbol in enumerate(symbols, begin):
            own = (sizes or (1,))[at]
            if symbol is None or symbol == "." or own is None:
                continue
            try:
                size, where = int(symbol), "Specified explicitly"
            except ValueError:
                by = f"Specified by tensor {name} dimension {at}"
                size, where = seen.setdefault(symbol, (own, by))
            if size != own:
                what = f"Tensor {name} dimension"
                parts = [where, what, at, "must have size", size, "Received shape: ", sizes]
                found = f"Received size {own}, shape {TensorShape(sizes)}"
                return f"{where}.  {what} {at} must have size {size}.  {found}", parts
    return None
