# SPDX-License-Identifier: Apache-2.0
"""Arithmetic, comparisons and reductions, as ``tf`` and ``tf.math`` have them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fastrec

from .._tf import errors as _errors
from .._tf.arrays import by_channel
from .._tf.dtypes import DType, as_dtype, short_name
from .._tf.shape import in_messages
from .._tf.specs import TensorSpec, TypeSpec
from .._tf.tensor import OPERATORS, Tensor, as_array, convert_to_tensor, mismatch
from .._tf.trace import Block, Op, run
from ._types import check_type
from .reductions import (  # noqa: F401
    argmax,
    argmin,
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_std,
    reduce_sum,
    reduce_variance,
)

Array = NDArray[Any]


def _quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """Without NumPy's warnings; scalars stay arrays."""

    def kernel(*values: Any, **attributes: Any) -> Any:
        arrays = [as_array(value) for value in values]
        try:
            if all(array.dtype.kind in "iu" for array in arrays):  # which warn of nothing
                return np.asarray(function(*arrays, **attributes))
            with np.errstate(all="ignore"):
                return np.asarray(function(*arrays, **attributes))
        except ValueError as error:
            if "broadcast" not in str(error):
                raise
            shapes = " vs. ".join(in_messages(array.shape) for array in arrays)
            raise _errors.InvalidArgumentError(
                None, None, f"Incompatible shapes: {shapes}"
            ) from error

    return kernel


def aligned(blocks: tuple[Block, ...]) -> list[Array] | None:
    """Arrays whose first dimension is that of the elements, so that rows broadcast as they would.

    None when a column is not an array.
    """
    values = [
        as_array(b.value) if isinstance(b.value, (fastrec.Bytes, bytes)) else b.value
        for b in blocks
    ]
    if not all(isinstance(value, np.ndarray) for value in values):
        return None
    rank = max(v.ndim - b.many for v, b in zip(values, blocks, strict=True))
    return [
        v.reshape(v.shape[0], *(1,) * (rank - v.ndim + 1), *v.shape[1:]) if b.many else v
        for v, b in zip(values, blocks, strict=True)
    ]


def _by_element(kernel: Callable[..., Any]) -> Callable[..., Any]:
    def block(_: int, *blocks: Block, **attributes: Any) -> Any:
        arrays = aligned(blocks)
        if arrays is not None:
            return kernel(*arrays, **attributes)
        return _of_rows(kernel, blocks, attributes)

    return block


def _of_rows(kernel: Callable[..., Any], blocks: tuple[Block, ...], attributes: Any) -> Any:
    """The same of vectors of differing length and scalars that all elements have."""
    rows = [b.value for b in blocks if b.many]
    scalars = [b.value for b in blocks if not b.many]
    if len(rows) != 1 or not _is_numeric(rows[0]) or any(map(np.ndim, scalars)):
        return None
    begin, end = rows[0].row_splits[[0, -1]]
    values = [b.value.values[begin:end] if b.many else b.value for b in blocks]
    return fastrec.Ragged(kernel(*values, **attributes), rows[0].row_splits - begin)


def _is_numeric(column: Any) -> bool:
    return isinstance(column, fastrec.Ragged) and isinstance(column.values, np.ndarray)


def _broadcast(dtype: Callable[[list[TypeSpec]], DType]) -> Callable[..., list[TypeSpec]]:
    def infer(specs: list[TypeSpec], _: Any, **__: Any) -> list[TypeSpec]:
        shapes = [spec.shape.sizes for spec in specs]
        if any(shape is None for shape in shapes):
            return [TensorSpec(None, dtype(specs))]
        rank = max(len(shape) for shape in shapes if shape is not None)
        padded = [(1,) * (rank - len(s)) + s for s in shapes if s is not None]
        return [TensorSpec([_size(sizes) for sizes in zip(*padded, strict=True)], dtype(specs))]

    return infer


def _size(sizes: tuple[int | None, ...]) -> int | None:
    known = {size for size in sizes if size not in (1, None)}
    if len(known) > 1:
        raise ValueError(f"Dimensions must be equal, but are {' and '.join(map(str, sizes))}")
    return None if None in sizes and not known else next(iter(known), 1)


def elementwise(
    name: str, function: Callable[..., Any], dtype: Callable[[list[TypeSpec]], DType] | None = None
) -> Op:
    """An operation that NumPy does element by element."""
    kernel = _quiet(function)
    infer = _broadcast(dtype or (lambda specs: specs[0].dtype))
    return Op(name, kernel, infer, _by_element(kernel))


def _pair(op: str, x: Any, y: Any) -> tuple[Any, Any]:
    """Two tensors of one type; what is no tensor takes the type of the other."""
    if not isinstance(x, Tensor) and isinstance(y, Tensor):
        x = convert_to_tensor(x, y.dtype)
    x = convert_to_tensor(x)
    y = y if isinstance(y, Tensor) else convert_to_tensor(y, x.dtype)
    if x.dtype != y.dtype:
        raise mismatch(op, x.dtype, y.dtype)
    return x, y


def _binary(op: Op) -> Callable[..., Any]:
    def function(x: Any, y: Any, name: str | None = None) -> Any:
        tensors = _pair(op.name, x, y)
        check_type(op.name, tensors[0])
        return run(op, tensors)

    function.__doc__ = f"TensorFlow's ``{op.name}`` of two tensors of one type."
    return function


def _unary(op: Op) -> Callable[..., Any]:
    def function(x: Any, name: str | None = None) -> Any:
        tensor = convert_to_tensor(x)
        check_type(op.name, tensor)
        return run(op, [tensor])

    function.__doc__ = f"TensorFlow's ``{op.name}`` of each element."
    return function


def _quotient(specs: list[TypeSpec]) -> DType:
    dtype = specs[0].dtype
    if dtype.is_integer:
        return as_dtype("float32" if dtype.size < 4 else "float64")
    return dtype


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    def divide(x: Array, y: Array) -> Any:
        if y.dtype.kind in "iu" and not (np.all(y) if y.ndim else y):
            raise _errors.InvalidArgumentError(None, None, "Integer division by zero")
        return function(x, y)

    return divide


def _floor_divide(x: Array, y: Array) -> Any:
    return np.floor(np.true_divide(x, y)) if x.dtype.kind == "f" else np.floor_divide(x, y)


_divide = by_channel(np.true_divide)


def _true_divide(x: Array, y: Array) -> Any:
    if x.dtype.kind in "iu":
        wide = np.float32 if x.dtype.itemsize < 4 else np.float64
        x, y = x.astype(wide), y.astype(wide)
    return _divide(x, y)


def _bool(_: list[TypeSpec]) -> DType:
    return as_dtype("bool")


add = _binary(elementwise("AddV2", by_channel(np.add)))
subtract = _binary(elementwise("Sub", by_channel(np.subtract)))
multiply = _binary(elementwise("Mul", by_channel(np.multiply)))
divide = truediv = _binary(elementwise("RealDiv", _true_divide, _quotient))
floordiv = _binary(elementwise("FloorDiv", _checked(_floor_divide)))
floormod = mod = _binary(elementwise("FloorMod", _checked(np.mod)))
pow = _binary(elementwise("Pow", np.power))
maximum = _binary(elementwise("Maximum", np.maximum))
minimum = _binary(elementwise("Minimum", np.minimum))
squared_difference = _binary(elementwise("SquaredDifference", lambda x, y: (x - y) ** 2))
equal = _binary(elementwise("Equal", np.equal, _bool))
not_equal = _binary(elementwise("NotEqual", np.not_equal, _bool))
less = _binary(elementwise("Less", np.less, _bool))
less_equal = _binary(elementwise("LessEqual", np.less_equal, _bool))
greater = _binary(elementwise("Greater", np.greater, _bool))
greater_equal = _binary(elementwise("GreaterEqual", np.greater_equal, _bool))
logical_and = _binary(elementwise("LogicalAnd", np.logical_and, _bool))
logical_or = _binary(elementwise("LogicalOr", np.logical_or, _bool))
logical_xor = _binary(elementwise("LogicalXor", np.logical_xor, _bool))
bitwise_and = _binary(elementwise("BitwiseAnd", np.bitwise_and))
bitwise_or = _binary(elementwise("BitwiseOr", np.bitwise_or))
bitwise_xor = _binary(elementwise("BitwiseXor", np.bitwise_xor))

abs = _unary(elementwise("Abs", np.abs))
negative = _unary(elementwise("Neg", np.negative))
sign = _unary(elementwise("Sign", np.sign))
square = _unary(elementwise("Square", np.square))
sqrt = _unary(elementwise("Sqrt", np.sqrt))
rsqrt = _unary(elementwise("Rsqrt", lambda x: (1 / np.sqrt(x)).astype(x.dtype)))
exp = _unary(elementwise("Exp", np.exp))
log = _unary(elementwise("Log", np.log))
log1p = _unary(elementwise("Log1p", np.log1p))
rint = _unary(elementwise("Rint", np.rint))
floor = _unary(elementwise("Floor", np.floor))
ceil = _unary(elementwise("Ceil", np.ceil))
_ROUND = _unary(elementwise("Round", np.rint))
sin = _unary(elementwise("Sin", np.sin))
cos = _unary(elementwise("Cos", np.cos))
tanh = _unary(elementwise("Tanh", np.tanh))
sigmoid = _unary(elementwise("Sigmoid", lambda x: (1 / (1 + np.exp(-x))).astype(x.dtype)))
logical_not = _unary(elementwise("LogicalNot", np.logical_not))
is_nan = _unary(elementwise("IsNan", np.isnan, _bool))
is_inf = _unary(elementwise("IsInf", np.isinf, _bool))
is_finite = _unary(elementwise("IsFinite", np.isfinite, _bool))
identity = stop_gradient = _unary(elementwise("Identity", lambda x: x))


def round(x: Any, name: str | None = None) -> Any:
    """The nearest whole numbers, the even ones of two; integers are that."""
    tensor = convert_to_tensor(x)
    return tensor if tensor.dtype.is_integer else _ROUND(tensor)


_CASTS: dict[DType, Op] = {}


def _cast_op(dtype: DType) -> Op:
    if dtype not in _CASTS:
        target = dtype.numpy

        def convert(x: Array) -> Array:
            return x.real.astype(target) if x.dtype.kind == "c" != target.kind else x.astype(target)

        _CASTS[dtype] = elementwise("Cast", convert, lambda _: dtype)
    return _CASTS[dtype]


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """`x` with elements of another type; floats are cut off where integers are asked for."""
    wanted = as_dtype(dtype)
    tensor = x if hasattr(x, "_raw") else convert_to_tensor(x)
    if hasattr(tensor, "_cast"):
        return tensor._cast(wanted)
    if tensor.dtype == wanted:
        return tensor
    if "string" in (tensor.dtype.name, wanted.name):
        names = short_name(tensor.dtype), short_name(wanted)
        text = "Cast {} to {} is not supported [Op:Cast] name: ".format(*names)
        raise _errors.UnimplementedError(None, None, text)
    return run(_cast_op(wanted), [tensor])


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Any:
    """`value` with elements of another type, which stop at its limits."""
    tensor, wanted = convert_to_tensor(value), as_dtype(dtype)
    if not wanted.is_integer:
        return cast(tensor, wanted)
    low, high = max(wanted.min, _least(tensor.dtype)), min(wanted.max, _most(tensor.dtype))
    if tensor.dtype.is_floating and tensor.dtype.numpy.type(high) > wanted.max:
        high = np.nextafter(tensor.dtype.numpy.type(high), 0)  # the last that is not too large
    return cast(clip_by_value(tensor, low, high), wanted)


def _least(dtype: DType) -> Any:
    return dtype.min if dtype.is_integer else float(dtype.min)


def _most(dtype: DType) -> Any:
    return dtype.max if dtype.is_integer else float(dtype.max)


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """Each element, or the limit that it is beyond."""
    return maximum(minimum(t, clip_value_max), clip_value_min)


def _product(x: Array, y: Array, *, turned: tuple[bool, bool]) -> Any:
    for number, each in enumerate((x, y)):
        if each.ndim < 2:
            raise _errors.InvalidArgumentError(
                None, None, f"In[{number}] ndims must be >= 2: {each.ndim}"
            )
    first, second = (
        np.swapaxes(each, -1, -2) if turn else each
        for each, turn in zip((x, y), turned, strict=True)
    )
    return np.matmul(first, second)


_MATMUL = Op("MatMul", _product)


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    name: str | None = None,
) -> Any:
    """The matrix product."""
    return run(_MATMUL, _pair("MatMul", a, b), turned=(bool(transpose_a), bool(transpose_b)))


def _compared(name: str, function: Callable[..., Any], unequal: bool) -> Callable[[Any, Any], Any]:
    """``==`` and ``!=``: what is None, or of another shape, is not equal."""
    op = _broadcast_or(elementwise(name, function, _bool), unequal)

    def compare(x: Any, y: Any) -> Any:
        return unequal if x is None or y is None else run(op, _pair(name, x, y))

    return compare


def _broadcast_or(op: Op, otherwise: bool) -> Op:
    def kernel(x: Any, y: Any) -> Any:
        try:
            return op.kernel(x, y)
        except _errors.InvalidArgumentError:
            return np.asarray(otherwise)

    return dataclasses.replace(op, kernel=kernel)


def _logical(
    on_bools: Callable[..., Any], on_bits: Callable[..., Any]
) -> Callable[[Any, Any], Any]:
    return lambda x, y: (on_bools if x.dtype.is_bool else on_bits)(x, y)


_INVERT = _unary(elementwise("Invert", np.invert))
OPERATORS.update(
    {name: globals()[name] for name in ("add", "subtract", "multiply", "divide", "floordiv")}
)
OPERATORS.update(
    {name: globals()[name] for name in ("floormod", "pow", "matmul", "negative", "abs")}
)
OPERATORS.update(
    {name: globals()[name] for name in ("less", "less_equal", "greater", "greater_equal")}
)
OPERATORS["equal"] = _compared("Equal", np.equal, False)
OPERATORS["not_equal"] = _compared("NotEqual", np.not_equal, True)
OPERATORS["multiply"] = lambda x, y: (
    logical_and if isinstance(x, Tensor) and x.dtype.is_bool else multiply
)(x, y)
OPERATORS["and"] = _logical(logical_and, bitwise_and)
OPERATORS["or"] = _logical(logical_or, bitwise_or)
OPERATORS["xor"] = _logical(logical_xor, bitwise_xor)
OPERATORS["invert"] = lambda x: logical_not(x) if x.dtype.is_bool else _INVERT(x)


def __getattr__(name: str) -> Any:
    if name in ("cumsum", "top_k"):  # of a module that is built on this one
        from . import ordering_ops

        return getattr(ordering_ops, name)
    raise AttributeError(
        f"fastrec.compat.v2.math has no {name!r}; docs/compat-v2.md says what is covered"
    )
