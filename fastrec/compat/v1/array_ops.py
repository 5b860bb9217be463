# SPDX-License-Identifier: Apache-2.0
"""Operations on arrays and numbers, and the operators of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from .._tf.arrays import make_array
from .._tf.dtypes import DType, as_dtype, bool_, float32, int16, int32, int64, string
from .._tf.errors import invalid
from .._tf.faces import Version, one_of
from .._tf.faces.arrays import Arrays
from .._tf.faces.math import Activations, Bitwise, Math, Matrices, Products
from .._tf.faces.picking import Ordering, Picking
from .._tf.faces.reductions import Reductions
from .._tf.faces.segments import Pixels, Segments
from .._tf.ops import Array, Op, joining
from .._tf.ops import picking as rows
from .._tf.ops.arithmetic import ADD, SELECT
from .._tf.shape import as_shape, in_messages
from .._tf.specs import TensorSpec
from ._nodes import Tensor, operators
from ._ops import GRAPHS, integers, record, same_types, tensors_of
from .constants import constant_value, convert_to_tensor, holds_tensor, of_array, types_within

_SMALL = 1000  # largest number of elements of a constant of one value


def _shape_tensor(value: Any) -> Tensor:
    return integers(value, "shape")


class _Arrays(Arrays):
    """Array functions with version 1's arguments, and constants where TensorFlow creates them."""

    _orders: ClassVar[dict[str, str]] = {
        "ones_like": "tensor=input dtype name -optimize",
        "pad": "tensor paddings mode name constant_values",
        "shape": "input name out_type",
        "size": "input name out_type",
        "transpose": "a perm name conjugate",
        "zeros_like": "tensor=input dtype name -optimize",
    }

    def stack(self, values: Any, axis: int = 0, name: str | None = "stack") -> Any:
        """Stack tensors of one shape along a new dimension."""
        if self._of_ragged.among(values):
            return self._of_ragged.stack(values, axis)
        if axis == 0:
            try:  # the values may already be one array or tensor
                return convert_to_tensor(values, name=name)
            except (TypeError, ValueError):
                pass
        if not isinstance(values, (list, tuple)):
            raise TypeError(f"Expected list for 'values' argument to 'stack' Op, not {values!r}.")
        return _stack(values, None, name, axis)

    def concat(self, values: Any, axis: Any, name: str | None = "concat") -> Any:
        """Concatenate tensors along an existing dimension."""
        if self._of_ragged.among(values):
            return self._of_ragged.concat(values, axis)
        if isinstance(axis, (list, tuple, Tensor)) and isinstance(values, int):
            values, axis = axis, values  # the order of arguments before version 1.0
        listed = list(values) if isinstance(values, (list, tuple)) else [values]
        return super().concat(listed, axis, name)

    def zeros(self, shape: Any, dtype: Any = float32, name: str | None = None) -> Any:
        """Return a tensor of zeros, or of empty strings."""
        return self._uniform(shape, 0, dtype, name or "zeros")

    def ones(self, shape: Any, dtype: Any = float32, name: str | None = None) -> Any:
        """Return a tensor of ones."""
        return self._uniform(shape, 1, dtype, name or "ones")

    def _uniform(self, sizes: Any, value: Any, dtype: Any, name: str) -> Any:
        element = as_dtype(dtype)
        filler = self._filler(value, element)
        if not isinstance(sizes, Tensor) and not (
            isinstance(sizes, (list, tuple)) and any(isinstance(n, Tensor) for n in sizes)
        ):
            known = as_shape(sizes)
            if known.is_fully_defined() and (known.num_elements() or 0) < _SMALL:
                whole: Any = known.as_list()
                return of_array(np.full(whole, filler, dtype=element.numpy), name)
        return self.fill(sizes, convert_to_tensor(filler, element), name)


def _stack(
    values: Any, dtype: DType | None = None, name: str | None = None, axis: int = 0
) -> Tensor:
    if axis == 0 and not holds_tensor(values):
        return of_array(make_array(list(values), dtype), name or "stack")
    tensors = tensors_of(list(values), dtype or next(types_within(values), None))
    if not tensors:
        raise ValueError("stack() needs at least one tensor")
    return record(joining.PACK, tensors, name or "stack", axis=axis)


class _Picking(Picking):
    """Selection functions with version 1's arguments, including the choice between rows."""

    _orders: ClassVar[dict[str, str]] = {
        "boolean_mask": "tensor mask name axis",
        "gather": "params indices validate_indices name axis batch_dims",
        "gather_nd": "params indices name batch_dims",
    }

    def where(self, condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
        """Return the indices where `condition` holds, or elements of `x` there and `y` elsewhere.

        A vector as the condition selects rows.
        """
        holds = convert_to_tensor(condition)
        if holds.dtype is string or (x is not None and holds.dtype is not bool_):
            raise TypeError(f"Input 'condition' has type {holds.dtype.name}, which is not bool.")
        if x is None and y is None:
            return record(rows.WHERE, (holds,), name)
        if x is None or y is None:
            raise ValueError("x and y must both be non-None or both be None.")
        return record(_SELECT, (holds, *tensors_of([x, y])), name)


def _by_rows(c: Array, a: Array, b: Array) -> Array:
    if c.ndim == 1 and a.shape == b.shape and not a.ndim:
        raise invalid("'then' must be at least a vector, but saw shape: []")
    if a.shape != b.shape:
        _not_alike(c if c.shape != a.shape else a, b, 2)
    if c.shape != (a.shape[: c.ndim] if c.ndim < 2 else a.shape):
        _not_alike(c, a, 1)
    found: Array = SELECT.kernel(c.reshape(c.shape + (1,) * (a.ndim - c.ndim)), a, b)
    return found


def _not_alike(first: Array, other: Array, number: int) -> None:
    raise invalid(
        f"Inputs to operation Select of type Select must have the same size and shape.  Input 0: "
        f"{in_messages(first.shape)} != input {number}: {in_messages(other.shape)}"
    )


def _alike(specs: Sequence[Any], *_: Any) -> list[Any]:
    return [TensorSpec(specs[1].shape.merge_with(specs[2].shape), specs[1].dtype)]


_SELECT = Op("Select", _by_rows, _alike)

arrays: Final = _Arrays(GRAPHS)
picking: Final = _Picking(GRAPHS)
products: Final = Products(GRAPHS)
operators["stack"] = _stack

newaxis = None
_slice = slice
_PLACES = (int16, int32, int64)


def _number(item: Any) -> Any:
    if isinstance(item, Tensor) or hasattr(item, "_as_graph_element"):
        tensor = convert_to_tensor(item)
        if tensor.dtype not in _PLACES or tensor.shape.ndims not in (0, None):
            raise TypeError(f"{rows.INVALID_INDEX}, got {item!r}")
        value = constant_value(tensor)
        return tensor if value is None or value.ndim else int(value)
    if hasattr(item, "value") and hasattr(item, "__index__"):  # a Dimension
        return None if item.value is None else int(item)
    return rows.python_number(item)


def _is_mask(key: Any) -> bool:
    if isinstance(key, np.ndarray):
        return bool(key.dtype.kind == "b")
    return isinstance(key, Tensor) and key.dtype is bool_


def _getitem(tensor: Any, key: Any, name: str | None = None) -> Tensor:
    given = convert_to_tensor(tensor)
    if _is_mask(key):
        masked: Tensor = picking.boolean_mask(given, key)
        return masked
    index, tensors = rows.index_of(key, _number)
    return record(rows.STRIDED_SLICE, [given, *tensors], name or "strided_slice", index=index)


operators["getitem"] = _getitem


def _listed(value: Any) -> list[Any]:
    tensor = integers(value, "begin", None, 1, ("int16", "int32", "int64"))
    found = constant_value(tensor)
    return arrays.unstack(tensor) if found is None else [int(n) for n in found]


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return ``input_[begin[0]:end[0]:strides[0], ...]``; bits of the masks modify single axes."""
    first, last = _listed(begin), _listed(end)
    steps = [1] * len(first) if strides is None else _listed(strides)
    if not len(first) == len(last) == len(steps):
        raise ValueError("begin, end and strides must be of the same length")
    key: list[Any] = []
    for i in range(len(first)):
        bit = 1 << i
        if ellipsis_mask & bit:
            key.append(Ellipsis)
        elif new_axis_mask & bit:
            key.append(None)
        elif shrink_axis_mask & bit:
            if not isinstance(steps[i], Tensor) and steps[i] <= 0:
                raise ValueError("only stride 1 allowed on non-range indexing.")
            key.append(first[i])
        else:
            start = None if begin_mask & bit else first[i]
            stop = None if end_mask & bit else last[i]
            key.append(_slice(start, stop, steps[i]))
    return _getitem(input_, tuple(key), name or "StridedSlice")


slice: Callable[..., Tensor] = picking.slice


class _Math(Math):
    """Arithmetic with the functions that only version 1 has."""

    def __init__(self, version: Version) -> None:
        super().__init__(version)
        self.add: Final = self._binary(ADD, "Add")
        for name, target in _TARGETS.items():
            setattr(self, name, self._to(target, name))

    def div(self, x: Any, y: Any, name: str | None = None) -> Any:
        """Divide as Python 2's ``/``: the quotient of integers is an integer, rounded down."""
        first, second = same_types("Div", x, y)
        return (self.floordiv if first.dtype.is_integer else self.truediv)(first, second, name)

    def _to(self, target: str, name: str) -> Callable[..., Any]:
        default = "".join(map(str.capitalize, name.split("_")))

        def convert(x: Any, name: str = default) -> Any:
            return self.cast(x, target, name)

        return convert


_TARGETS = {
    "to_double": "float64",
    "to_float": "float32",
    "to_int32": "int32",
    "to_int64": "int64",
}


class _Reductions(Reductions):
    """Reductions with version 1's arguments."""

    def _axes(self, axis: Any) -> list[Any]:
        found = super()._axes(axis)
        for tensor in found:
            if (tensor.shape.ndims or 0) > 1:
                raise ValueError(f"Shape must be at most rank 1 but is rank {tensor.shape.ndims}")
        return found

    def _place_of(self, op: Op) -> Callable[..., Any]:
        find = super()._place_of(op)

        def found(
            input: Any,
            axis: Any = None,
            name: str | None = None,
            dimension: Any = None,
            output_type: Any = int64,
        ) -> Any:
            along = one_of("dimension", dimension, "axis", axis)
            return find(input, along, as_dtype(output_type), name)

        return found


class _Activations(Activations):
    """Activation functions with version 1's arguments."""

    _orders: ClassVar[dict[str, str]] = {
        "log_softmax": "logits axis name dim=axis",
        "softmax": "logits axis name dim=axis",
    }


math: Final = _Math(GRAPHS)
reductions: Final = _Reductions(GRAPHS)
segments: Final = Segments(GRAPHS)
bitwise: Final = Bitwise(GRAPHS)
matrices: Final = Matrices(GRAPHS)
activations: Final = _Activations(GRAPHS)
pixels: Final = Pixels(GRAPHS)
ordering: Final = Ordering(GRAPHS)


def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, Any]:
    """Compute means and variances along dimensions."""
    keep = bool(one_of("keep_dims", keep_dims, "keepdims", keepdims))
    mean = reductions.reduce_mean(x, axes, keepdims=True)
    variance = reductions.reduce_mean(math.square(x - mean), axes, keepdims=keep)
    return mean if keep else reductions.reduce_mean(x, axes), variance


def _both_kinds(on_bool: Callable[..., Any], on_bits: Callable[..., Any]) -> Callable[..., Any]:
    def chosen(x: Any, y: Any, name: str | None = None) -> Any:
        first, second = same_types("Bitwise", x, y)
        return (on_bool if first.dtype is bool_ else on_bits)(first, second)

    return chosen


def _inverted(x: Any) -> Tensor:
    tensor = convert_to_tensor(x)
    found: Tensor = (math.logical_not if tensor.dtype is bool_ else bitwise.invert)(tensor)
    return found


def _multiplied(x: Any, y: Any, name: str) -> Any:
    first, second = same_types("Mul", x, y)
    if first.dtype is bool_:
        return math.logical_and(first, second)
    return math.multiply(first, second, name)


def _operator(function: Callable[..., Any], name: str | None) -> Callable[..., Any]:
    def operate(x: Any, y: Any, reflected: bool = False) -> Any:
        return function(x, y, name=name)

    return operate


_NAMED = {
    "add": math._binary(ADD),
    "subtract": math.subtract,
    "multiply": _multiplied,
    "divide": math.truediv,
    "floordiv": math.floordiv,
    "floormod": math.floormod,
    "pow": math.pow,
}
_BARE = {
    "and": _both_kinds(math.logical_and, bitwise.bitwise_and),
    "or": _both_kinds(math.logical_or, bitwise.bitwise_or),
    "xor": _both_kinds(math.logical_xor, bitwise.bitwise_xor),
    "less": math.less,
    "less_equal": math.less_equal,
    "greater": math.greater,
    "greater_equal": math.greater_equal,
    "matmul": math.matmul,
}
operators.update({name: _operator(function, name) for name, function in _NAMED.items()})
operators.update({name: _operator(function, None) for name, function in _BARE.items()})
operators.update(
    {"cast": math.cast, "negative": math.negative, "abs": math.abs, "invert": _inverted}
)
