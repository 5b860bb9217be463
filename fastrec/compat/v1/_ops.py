# SPDX-License-Identifier: Apache-2.0
"""Helpers for modules that define operations."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf.dtypes import DType, int32
from .._tf.errors import InvalidArgumentError
from .._tf.faces import Version
from .._tf.ops import Op
from .._tf.shape import TensorShape
from ._nodes import Operation, Tensor
from .constants import convert_to_tensor, types_within
from .graph import add_operation, create_op


def pure(
    type: str,
    function: Callable[..., Any],
    inputs: Sequence[Tensor],
    dtype: DType,
    shape: Any,
    name: str | None = None,
    **attrs: Any,
) -> Tensor:
    """Add an operation with one output that is a pure function of the inputs."""

    numpy = dtype.numpy

    def kernel(step: Any, *values: Any) -> tuple[Any, ...]:
        result = function(*values)
        return (result if isinstance(result, np.ndarray) else np.asarray(result, numpy),)

    return create_op(type, inputs, [(dtype, shape)], kernel, name=name, attrs=attrs).outputs[0]


def recorded(
    op: Op,
    inputs: Sequence[Tensor],
    name: str | None = None,
    type: str | None = None,
    /,
    **attributes: Any,
) -> Operation:
    """Add an operation of the registry to the graph.

    Raises
    ------
    ValueError
        If the static types or shapes of the inputs are incompatible.
    """
    try:
        specs = op.infer(inputs, inputs, **attributes)
    except InvalidArgumentError as error:  # a run would raise it
        raise ValueError(error.message) from None
    known = op if type is None or type == op.name else op.but(name=type)
    outputs = [(spec.dtype, spec.shape) for spec in specs]
    return add_operation(known, inputs, outputs, attributes, name)


def record(*how: Any, **attributes: Any) -> Tensor:
    """Return the output of an operation that :func:`recorded` adds."""
    return recorded(*how, **attributes).outputs[0]


def record_all(*how: Any, **attributes: Any) -> list[Tensor]:
    """Return the outputs of an operation that :func:`recorded` adds."""
    return list(recorded(*how, **attributes).outputs)


def same_types(type: str, x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Convert two operands to tensors of one type: the type of the first tensor among them.

    Raises
    ------
    TypeError
        If both have a type and the types differ.
    """
    if _typed(y) and not _typed(x):
        second, first = _pair(y, x)
    else:
        first, second = _pair(x, y)
    if first.dtype is not second.dtype:
        raise TypeError(
            f"Input 'y' of '{type}' Op has type {second.dtype.name} that does not match type "
            f"{first.dtype.name} of argument 'x'."
        )
    return first, second


def checked_kind(op: Op, tensor: Tensor) -> Tensor:
    """Return `tensor` after checking that `op` accepts its type.

    Raises
    ------
    TypeError
        If it does not, for example for the square root of an integer.
    """
    kinds = op.kinds
    if not kinds or tensor.dtype.kind in kinds:
        return tensor
    if kinds == "b":
        raise TypeError(
            f"Input of '{op.name}' Op has type {tensor.dtype.name} that does not match expected "
            f"type of bool."
        )
    allowed = [t.name for t in DType.by_name.values() if t.kind in kinds]
    raise _refused_type("x", "T", tensor.dtype, allowed)


def integers(
    value: Any,
    parameter: str,
    attr: str | None = None,
    rank: int | None = None,
    allowed: Sequence[str] = ("int32", "int64"),
) -> Tensor:
    """Convert `value` to a tensor of indices or sizes.

    Raises
    ------
    TypeError
        If its elements have another type.
    ValueError
        If its rank is known and wrong.
    """
    if isinstance(value, TensorShape):
        value.assert_is_fully_defined()
        value = value.as_list()
    listed = isinstance(value, (list, tuple))
    # Sizes of several types are packed in the type that TensorFlow prefers.
    wanted = int32 if listed and len(set(types_within(value))) > 1 else None
    tensor = convert_to_tensor(np.zeros(0, np.int32) if listed and not value else value, wanted)
    if tensor.dtype.name not in allowed:
        raise _refused_type(parameter, "", tensor.dtype, allowed)
    if rank is not None and tensor.shape.ndims not in (rank, None):
        raise ValueError(
            f"Shape must be rank {rank} but is rank {tensor.shape.ndims} for '{parameter}'"
        )
    return tensor


def _refused_type(parameter: str, attr: str, found: DType, allowed: Sequence[str]) -> Exception:
    return TypeError(
        f"Value passed to parameter '{parameter}' has DataType {found.name} not in list of "
        f"allowed values: {', '.join(allowed)}"
    )


def _refused_value(op: str, attr: str, value: str, allowed: Sequence[str]) -> Exception:
    names = ", ".join(f'"{each}"' for each in allowed)
    return ValueError(f"Attr '{attr}' of '{op}' Op passed string {value!r} not in: {names}.")


def _typed(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "_as_graph_element")


def _pair(leader: Any, follower: Any) -> tuple[Tensor, Tensor]:
    leading = convert_to_tensor(leader)
    try:
        return leading, convert_to_tensor(follower, leading.dtype)
    except (TypeError, ValueError):
        return leading, convert_to_tensor(follower)


def tensors_of(values: Sequence[Any], dtype: DType | None = None) -> list[Tensor]:
    """Convert values to tensors of one type: the type of the first tensor among them.

    Raises
    ------
    TypeError
        If their types differ.
    """
    types = [convert_to_tensor(value).dtype for value in values if _typed(value)]
    if any(each is not types[0] for each in types):
        names = ", ".join(each.name for each in types)
        raise TypeError(f"Tensors in list have types [{names}] that don't all match.")
    if dtype is None and values:
        dtype = types[0] if types else convert_to_tensor(values[0]).dtype
    return [convert_to_tensor(value, dtype) for value in values]


@functools.cache
def _ragged() -> Any:
    # That module depends on this one.
    return importlib.import_module("._faces", __package__).ragged


GRAPHS = Version(
    tensor=convert_to_tensor,
    is_tensor=_typed,
    apply=record,
    apply_all=record_all,
    done=recorded,
    apply_asserted=record,
    checked=checked_kind,
    pair=same_types,
    ragged=_ragged,
    alike=lambda op, values: tensors_of(values),
    integers=integers,
    refused_type=_refused_type,
    of_type=lambda op, value, dtype, number=0: convert_to_tensor(value, dtype),
    refused_value=_refused_value,
    refused_count=lambda op, attr, count: ValueError(
        f"Attr '{attr}' of '{op}' Op passed {count} less than minimum 1."
    ),
)
