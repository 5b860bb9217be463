# SPDX-License-Identifier: Apache-2.0
"""Create tensors from values: constants, placeholders, and conversions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._tf.arrays import make_array
from .._tf.dtypes import DType, as_dtype, short_name
from .._tf.errors import invalid
from .._tf.shape import TensorShape, as_shape, in_messages
from ._nodes import Tensor, operators
from ._plan import Plan, needed
from .graph import CONST, add_operation, create_op

_Array = np.ndarray[Any, Any]
_FED = "PlaceholderWithDefault"


def constant(
    value: Any,
    dtype: Any = None,
    shape: Any = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """Return a tensor with the constant value `value`."""
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
    """Return an array of zeros, or of empty strings."""
    return np.full(sizes, b"" if dtype.kind == "O" else 0, dtype=dtype)


def of_array(array: _Array, name: str | None = "Const") -> Tensor:
    """Return a constant for an array that already has one of TensorFlow's types."""
    kept = array.copy() if array.flags.writeable else array
    outputs = [(as_dtype(array.dtype), array.shape)]
    return add_operation(CONST, (), outputs, {"value": kept}, name).outputs[0]


def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
) -> Tensor:
    """Convert `value` to a tensor; return a tensor unchanged."""
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
        parts = list(value)
        if wanted is not None and next(types_within(parts)) is not wanted:
            parts = _cast_within(parts, wanted)
        packed: Tensor = operators["stack"](parts, wanted, name)
        return packed
    hint = preferred_dtype or dtype_hint
    if wanted is None and hint is not None:
        try:
            return of_array(make_array(value, as_dtype(hint)), name)
        except (TypeError, ValueError):
            pass
    return of_array(make_array(value, wanted), name)


def holds_tensor(value: Sequence[Any]) -> bool:
    """Return whether nested lists contain a tensor."""
    return any(
        isinstance(item, Tensor)
        or hasattr(item, "_as_graph_element")
        or (isinstance(item, (list, tuple)) and holds_tensor(item))
        for item in value
    )


def types_within(values: Any) -> Iterator[DType]:
    """Yield the types of the tensors in nested lists."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from types_within(value)
        elif holds_tensor([value]):
            yield convert_to_tensor(value).dtype


def _cast_within(values: Sequence[Any], dtype: DType) -> list[Any]:
    """Cast the tensors in nested lists to one type, as TensorFlow does before it packs them."""
    return [
        _cast_within(value, dtype)
        if isinstance(value, (list, tuple))
        else operators["cast"](value, dtype)
        if holds_tensor([value])
        else value
        for value in values
    ]


def constant_value(tensor: Any) -> _Array | None:
    """Return the value of a tensor that depends only on constants; None for other tensors."""
    if not isinstance(tensor, Tensor):
        return None
    if tensor.op.type == "Const":
        found: _Array = tensor.op.attrs["value"]
        return found
    ops = needed([tensor.op], frozenset())
    if any(op.stateful or op.node.op.blocking or op.type == _FED for op in ops):
        return None
    try:
        with np.errstate(all="ignore"):
            (value,) = Plan([tensor], ()).run(None, ())
    except Exception:  # a session raises it
        return None
    return value if isinstance(value, np.ndarray) else None


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """Return the value of a tensor that depends only on constants; None for other tensors."""
    return constant_value(tensor) if isinstance(tensor, Tensor) else tensor


def shape_value(tensor: Tensor) -> TensorShape:
    """Return the static shape whose sizes `tensor` contains.

    Elements that are not constant are unknown sizes.
    """
    if (value := constant_value(tensor)) is not None:
        return TensorShape([None if size < 0 else int(size) for size in value.reshape(-1)])
    sizes = _sizes_of(tensor)
    if sizes is not None:
        return TensorShape([None if size is None or size < 0 else size for size in sizes])
    rank = tensor.shape.num_elements()
    return TensorShape(None if rank is None else [None] * rank)


def _sizes_of(tensor: Tensor) -> list[int | None] | None:
    """Return the elements of a vector of sizes, with None for those that a run computes."""
    op = tensor.op
    if (value := constant_value(tensor)) is not None:
        return [int(size) for size in value.reshape(-1)]
    if op.type == "Shape":
        known = op.inputs[0].shape.sizes
        return None if known is None else list(known)
    if op.type in ("Identity", "Cast"):
        return _sizes_of(op.inputs[0])
    if op.type == "Pack":
        parts = [_sizes_of(part) if part.shape.ndims == 0 else None for part in op.inputs]
        return [part[0] if part else None for part in parts]
    if op.type == "ConcatV2":
        rows = [_sizes_or_unknown(part) for part in op.inputs[1:]]
        return None if None in rows else [size for row in rows for size in row or ()]
    index = op.attrs.get("index")
    if op.type == "StridedSlice" and index is not None and len(op.inputs) == 1 and len(index) == 1:
        whole = _sizes_or_unknown(op.inputs[0])
        if whole is None:
            return None
        try:
            found = whole[index[0]]
        except (IndexError, TypeError):
            return None
        return found if isinstance(found, list) else [found]
    return None


def _sizes_or_unknown(tensor: Tensor) -> list[int | None] | None:
    found = _sizes_of(tensor)
    count = tensor.shape.num_elements()
    return [None] * count if found is None and count is not None else found


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """Return a tensor whose value is fed to each run."""
    element, size = as_dtype(dtype), TensorShape(shape)

    def kernel(step: Any) -> Any:
        known = "" if size.sizes is None else f" and shape {in_messages(size)}"
        raise invalid(
            f"You must feed a value for placeholder tensor '{op.name}' with dtype "
            f"{short_name(element)}{known}"
        )

    op = create_op("Placeholder", (), [(element, size)], kernel, name=name, stateful=True)
    return op.outputs[0]


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return a tensor whose value is `input` unless another value is fed."""
    tensor = convert_to_tensor(input)
    tensor.shape.assert_is_compatible_with(as_shape(shape))
    outputs = [(tensor.dtype, shape)]
    op = create_op(_FED, (tensor,), outputs, lambda step, x: (x,), name=name)
    return op.outputs[0]


operators["constant_value"] = constant_value
operators["shape_value"] = shape_value
