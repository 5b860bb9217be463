# SPDX-License-Identifier: Apache-2.0
"""Tensors from values: constants, placeholders, and whatever else stands for a tensor."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._dtypes import DType, as_dtype, bool_, string
from .._shape import Dimension, TensorShape, as_shape
from ._fetches import as_typed, strings_of
from ._nodes import Tensor, operators
from ._plan import frozen, needed
from .graph import create_op

__all__ = [
    "constant",
    "constant_value",
    "convert_to_tensor",
    "holds_tensor",
    "make_array",
    "placeholder",
    "placeholder_with_default",
    "shape_value",
]

_Array = np.ndarray[Any, Any]


def _fits(value: Any, dtype: DType) -> bool:
    if dtype is string:
        return isinstance(value, (str, bytes, bytearray, np.str_, np.bytes_))
    if dtype is bool_:
        return isinstance(value, (bool, np.bool_))
    if isinstance(value, (bool, np.bool_)):
        return False
    if dtype.is_integer:
        return isinstance(value, (numbers.Integral, Dimension))
    return isinstance(value, (numbers.Number, Dimension))


def _check(value: Any, dtype: DType) -> None:
    if isinstance(value, np.ndarray):
        return
    if isinstance(value, (list, tuple)):
        for item in value:
            _check(item, dtype)
    elif not _fits(value, dtype):
        raise TypeError(f"Expected {dtype.name}, but got {value} of type {type(value).__name__!r}.")


def _undimensioned(value: Any) -> Any:
    """`value` with plain numbers in it where it has dimensions."""
    if isinstance(value, (TensorShape, Dimension)):
        if isinstance(value, TensorShape):
            value.assert_is_fully_defined()
            return value.as_list()
        return int(value)
    if isinstance(value, (list, tuple)):
        return [_undimensioned(item) for item in value]
    return value


def make_array(value: Any, dtype: DType | None = None) -> _Array:
    """`value` as an array of `dtype`, or of the type that TensorFlow gives it.

    Python's integers are int32 where they fit and int64 otherwise, its floats float32; arrays and
    scalars of NumPy keep their type.

    Raises
    ------
    TypeError
        When `value` is not of `dtype`.
    ValueError
        For None, and for rows of different lengths.
    """
    if value is None:
        raise ValueError("None values not supported.")
    value = _undimensioned(value)
    of_numpy = isinstance(value, (np.ndarray, np.generic))
    if dtype is None and isinstance(value, (str, bytes)):
        dtype = string
    if dtype is not None and not of_numpy:
        _check(value, dtype)
    if dtype is string:
        return strings_of(value)
    if dtype is not None:
        return _cast_in(value, dtype)
    array = np.asarray(value)
    if array.dtype.kind in "OSU":
        if array.dtype.kind == "O" or not of_numpy:
            _refuse_mixture(value, array)
        return strings_of(value)
    if not of_numpy:
        array = _narrowed(array)
    as_dtype(array.dtype)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _cast_in(value: Any, dtype: DType) -> _Array:
    try:
        return as_typed(value, dtype.numpy)
    except OverflowError as error:
        raise ValueError(str(error)) from None


def _refuse_mixture(value: Any, array: _Array) -> None:
    flat = np.asarray(value, dtype=object).reshape(-1)
    if not all(isinstance(item, (str, bytes)) for item in flat):
        raise TypeError(
            f"Failed to convert elements of {value} to Tensor. Consider casting elements to a "
            f"supported type. See https://www.tensorflow.org/api_docs/python/tf/dtypes for "
            f"supported TF dtypes."
        )


def _narrowed(array: _Array) -> _Array:
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64:
        small = array.astype(np.int32)
        return small if np.array_equal(small, array) else array
    return array


def constant(
    value: Any,
    dtype: Any = None,
    shape: Any = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """A tensor that is always `value`.

    Parameters
    ----------
    value : array_like
        Its value.
    dtype : DType, optional
        The type of its elements.
    shape : sequence of int, optional
        Its shape: what is missing of it is filled up with the last value.
    name : str
        Its name.
    verify_shape : bool
        Refuse a `value` that has not the shape to begin with.

    Raises
    ------
    TypeError, ValueError
        When `value` is not of that type or shape.
    """
    if isinstance(value, Tensor) or (isinstance(value, (list, tuple)) and holds_tensor(value)):
        raise TypeError("Expected any non-tensor type, but got a tensor instead.")
    array = make_array(value, None if dtype is None else as_dtype(dtype))
    if shape is not None:
        array = _filled(array, tuple(as_shape(shape).as_list()), verify_shape)
    return of_array(array, name)


def _filled(array: _Array, sizes: tuple[Any, ...], verify: bool) -> _Array:
    if verify and array.shape != sizes:
        raise TypeError(f"Expected Tensor's shape: {sizes}, but got {array.shape}.")
    total = int(np.prod(sizes, dtype=np.int64))
    if array.size > total:
        raise ValueError(
            f"Too many elements provided. Takes at most {total:d}, but got {array.size:d}"
        )
    flat = array.reshape(-1)
    if not flat.size:
        return of_nothing(sizes, array.dtype)
    if flat.size < total:
        flat = np.concatenate([flat, np.full(total - flat.size, flat[-1], dtype=array.dtype)])
    return flat.reshape(sizes)


def of_nothing(sizes: tuple[Any, ...], dtype: np.dtype[Any]) -> _Array:
    """Zeros, or empty strings."""
    return np.full(sizes, b"" if dtype.kind == "O" else 0, dtype=dtype)


def of_array(array: _Array, name: str | None = "Const") -> Tensor:
    """A constant of an array that is of one of TensorFlow's types already."""
    kept = array.copy() if array.flags.writeable else array
    value = (frozen(kept),)
    dtype = as_dtype(array.dtype)
    op = create_op(
        "Const", (), [(dtype, array.shape)], lambda step: value, name=name, attrs={"value": kept}
    )
    return op.outputs[0]


def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
) -> Tensor:
    """`value` as a tensor; itself, if it is one.

    Raises
    ------
    ValueError
        For a tensor of another type.
    TypeError
        For what can be no tensor, or not of `dtype`.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if hasattr(value, "_as_graph_element"):
        value = value._as_tensor() if hasattr(value, "_as_tensor") else value._as_graph_element()
    if isinstance(value, Tensor):
        if wanted is not None and value.dtype is not wanted:
            raise ValueError(
                f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value
    if isinstance(value, (list, tuple)) and holds_tensor(value):
        packed: Tensor = operators["stack"](list(value), wanted, name)
        return packed
    hint = preferred_dtype or dtype_hint
    if wanted is None and hint is not None:
        try:
            return of_array(make_array(value, as_dtype(hint)), name)
        except (TypeError, ValueError):
            pass
    return of_array(make_array(value, wanted), name)


def holds_tensor(value: Sequence[Any]) -> bool:
    """Whether a list has a tensor in it, or a list that has."""
    return any(
        isinstance(item, Tensor)
        or hasattr(item, "_as_graph_element")
        or (isinstance(item, (list, tuple)) and holds_tensor(item))
        for item in value
    )


def constant_value(tensor: Any) -> _Array | None:
    """The value of a tensor that depends on constants alone; None when it does not."""
    if not isinstance(tensor, Tensor):
        return None
    if tensor.op.type == "Const":
        found: _Array = tensor.op.attrs["value"]
        return found
    ops = needed([tensor.op], frozenset())
    if any(op.stateful or op.blocking or op.type == "PlaceholderWithDefault" for op in ops):
        return None
    values: dict[Tensor, Any] = {}
    for op in ops:
        try:
            with np.errstate(all="ignore"):
                outputs = op.kernel(None, *[values[tensor] for tensor in op.inputs])
        except Exception:  # which a session will raise
            return None
        values.update(zip(op.outputs, outputs, strict=True))
    value = values[tensor]
    return value if isinstance(value, np.ndarray) else None


def shape_value(tensor: Tensor) -> TensorShape:
    """What is known of the shape that the elements of `tensor` are.

    Elements that are not known, among constants that a list was made of, are unknown sizes.
    """
    if (value := constant_value(tensor)) is not None:
        return TensorShape([None if size < 0 else int(size) for size in value.reshape(-1)])
    if tensor.op.type == "Shape":
        return tensor.op.inputs[0].shape
    if tensor.op.type == "Pack":
        parts = [constant_value(part) for part in tensor.op.inputs]
        sizes = [None if p is None or p.size != 1 else int(p.reshape(-1)[0]) for p in parts]
        return TensorShape([None if size is None or size < 0 else size for size in sizes])
    rank = tensor.shape.num_elements()
    return TensorShape(None if rank is None else [None] * rank)


def _unfed(op_type: str, dtype: DType, shape: TensorShape, name: str) -> Any:
    from .._dtypes import short_name
    from .._errors import InvalidArgumentError
    from .._shape import in_messages

    known = "" if shape.sizes is None else f" and shape {in_messages(shape)}"

    def kernel(step: Any) -> Any:
        raise InvalidArgumentError(
            None,
            None,
            f"You must feed a value for placeholder tensor '{name}' with dtype "
            f"{short_name(dtype)}{known}",
        )

    return kernel


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor whose value is given to each run.

    Parameters
    ----------
    dtype : DType
        The type of its elements.
    shape : sequence of int or None, optional
        What is known of its shape.
    name : str, optional
        Its name.
    """
    element, known = as_dtype(dtype), TensorShape(shape)
    op = create_op("Placeholder", (), [(element, known)], lambda step: (), name=name, stateful=True)
    op.kernel = _unfed(op.type, element, known, op.name)
    return op.outputs[0]


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """A tensor that is `input` unless another value is given to a run."""
    tensor = convert_to_tensor(input)
    tensor.shape.assert_is_compatible_with(as_shape(shape))
    outputs = [(tensor.dtype, shape)]
    op = create_op("PlaceholderWithDefault", (tensor,), outputs, lambda step, x: (x,), name=name)
    return op.outputs[0]
