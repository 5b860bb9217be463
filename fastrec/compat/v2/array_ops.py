# SPDX-License-Identifier: Apache-2.0
"""Functions of arrays and images whose arguments differ between the versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tf.dtypes import bool_, int16, int32, int64
from .._tf.errors import InvalidArgumentError
from .._tf.faces import functions_of
from .._tf.ops import Op, geometry
from .._tf.ops import arithmetic as arithmetic
from .._tf.ops import picking as rows
from .._tf.tensor import (
    OPERATORS,
    EagerTensor,
    Tensor,
    TensorShape,
    convert_to_tensor,
    must_be_stacked,
)
from .._tf.tracing.recording import Symbol, run
from ._faces import (
    EAGER,
    arrays,
    bitwise,
    in_integers,
    math,
    pair,
    picking,
    products,
    reductions,
    refused_type,
)

newaxis = None


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Any:
    """Return a tensor of `value`; a single value fills `shape`."""
    tensor = convert_to_tensor(value, dtype)
    if shape is None:
        return tensor
    sizes = TensorShape(shape).as_list()
    if tensor.array.size == 1:
        return EagerTensor(np.full(sizes, tensor.array.reshape(()), tensor.array.dtype))
    return arrays.reshape(tensor, sizes)


def _is_mask(key: Any) -> bool:
    if isinstance(key, Tensor):
        return key.dtype is bool_
    return isinstance(key, bool) or (isinstance(key, np.ndarray) and key.dtype == bool)


_PLACES = (int16, int32, int64)


def _number(part: Any) -> Any:
    if type(part) is int:
        return part
    if type(part) is EagerTensor and not part.ndim and part.dtype in _PLACES:
        return int(part.array)
    if isinstance(part, Tensor) and part.dtype not in _PLACES:
        raise TypeError(f"{rows.INVALID_INDEX}, got {part!r}")
    if isinstance(part, Symbol):
        return part
    if isinstance(part, (bool, np.bool_)):
        raise refused_type("index", "Index", bool_, ("int16", "int32", "int64"))
    return rows.python_number(part)


def _getitem(tensor: Any, key: Any) -> Any:
    if type(key) is not int and not isinstance(key, (tuple, list)) and _is_mask(key):
        return picking.boolean_mask(tensor, key)
    index, tensors = rows.index_of(key, _number)
    return run(rows.STRIDED_SLICE, [tensor, *tensors], index=index)


OPERATORS["stack"] = arrays.stack
OPERATORS["getitem"] = _getitem


def _compared(row: Op, unequal: bool) -> Callable[[Any, Any], Any]:
    """Return ``==`` or ``!=``; a tensor is unequal to None and to tensors of other shapes."""
    op = _broadcast_or(row, unequal)

    def compare(x: Any, y: Any) -> Any:
        return unequal if x is None or y is None else run(op, pair(row.name, x, y))

    return compare


def _broadcast_or(op: Op, otherwise: bool) -> Op:
    def kernel(x: Any, y: Any) -> Any:
        try:
            return op.kernel(x, y)
        except InvalidArgumentError:
            return np.asarray(otherwise)

    return op.but(kernel=kernel)


def _logical(
    on_bools: Callable[..., Any], on_bits: Callable[..., Any]
) -> Callable[[Any, Any], Any]:
    return lambda x, y: (on_bools if x.dtype.is_bool else on_bits)(x, y)


OPERATORS.update(
    {
        **functions_of(math),
        "equal": _compared(arithmetic.EQUAL, False),
        "not_equal": _compared(arithmetic.NOT_EQUAL, True),
        "multiply": lambda x, y: (
            math.logical_and if isinstance(x, Tensor) and x.dtype.is_bool else math.multiply
        )(x, y),
        "and": _logical(math.logical_and, bitwise.bitwise_and),
        "or": _logical(math.logical_or, bitwise.bitwise_or),
        "xor": _logical(math.logical_xor, bitwise.bitwise_xor),
        "invert": lambda x: (math.logical_not if x.dtype.is_bool else bitwise.invert)(x),
    }
)


def moments(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """Compute means and variances along dimensions."""
    return (
        reductions.reduce_mean(x, axes, keepdims),
        reductions.reduce_variance(x, axes, keepdims),
    )


def matvec(a: Any, b: Any, transpose_a: bool = False, name: str | None = None, **_: Any) -> Any:
    """Multiply matrices by vectors."""
    letters = "...ji,...j->...i" if transpose_a else "...ij,...j->...i"
    return products.einsum(letters, a, b)


class ResizeMethod:
    """Methods of :func:`resize`."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


def resize(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
    *,
    _legacy: bool | None = None,
) -> Any:
    """Resize images, to float32 except for the nearest neighbour.

    Parameters
    ----------
    images : of shape (height, width, channels) or (n, height, width, channels)
    size : (height, width)
    method : str
        One of :class:`ResizeMethod`.
    preserve_aspect_ratio : bool
        Whether to keep the aspect ratio, with the largest size within `size`.
    antialias : bool
        Whether to use all pixels for reductions; bilinear and bicubic otherwise skip some.
    """
    tensor, kind = convert_to_tensor(images), _method(method)
    if tensor.shape.ndims not in (None, 3, 4):
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    size = in_integers(size)
    wanted = convert_to_tensor(size if must_be_stacked(size) else np.asarray(size))
    if wanted.shape.sizes not in (None, (None,), (2,)):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    if not wanted.dtype.is_integer:
        raise ValueError("'size' must be a 1-D int32 Tensor")
    if kind != ResizeMethod.NEAREST_NEIGHBOR and not isinstance(wanted, Symbol):
        tensor = _before_cast(tensor)
    align, keep = bool(_legacy), bool(preserve_aspect_ratio)
    how = {"antialias": antialias, "align": align, "centers": _legacy is None}
    return run(geometry.RESIZE, [tensor, wanted], method=kind, keep=keep, **how)


def _method(method: Any) -> str:
    from .._tf.kernels.pixels import METHODS

    kind = str(getattr(method, "value", method)).lower()
    if kind not in METHODS:
        raise ValueError(f"Resize method {method!r} is not implemented.")
    return kind


def _before_cast(tensor: Any) -> Any:
    """Return the bytes that were cast to these floats, because resizing converts them itself."""
    if not isinstance(tensor, Symbol) or tensor.dtype.name != "float32":
        return tensor
    makers = tensor.recording.makers
    node = makers.get(tensor.slot)
    maker = makers.get(node.inputs[0][1]) if node is not None and node.op.name == "Cast" else None
    if node is None or maker is None or not node.inputs[0][0]:
        return tensor
    slot = node.inputs[0][1]
    spec = maker.specs[maker.slots.index(slot)]
    known = spec.reshaped(tensor.shape.sizes)
    return Symbol(tensor.recording, slot, known) if spec.dtype.name == "uint8" else tensor


def resize_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Any:
    """Resize an image with its aspect ratio, and pad it with zeros."""
    inputs = [convert_to_tensor(each) for each in (image, target_height, target_width)]
    how = {"method": _method(method), "antialias": antialias}
    return EAGER.apply_asserted(geometry.RESIZE_WITH_PAD, inputs, **how)
