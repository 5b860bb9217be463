# SPDX-License-Identifier: Apache-2.0
"""What programs call besides: checks, choices, functions of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf.tensor import EagerTensor
from ._nodes import Tensor
from ._ops import Array, invalid, pure
from .constants import constant_value, convert_to_tensor
from .control_flow import cond
from .graph import get_default_graph
from .math_ops import equal, identity
from .script_ops import py_func
from .variables import Variable

__all__ = [
    "check_numerics",
    "get_or_create_global_step",
    "get_static_value",
    "identity_n",
    "py_function",
    "switch_case",
]


def identity_n(input: Sequence[Any], name: str | None = None) -> list[Tensor]:
    """The same tensors."""
    return [identity(each) for each in input]


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a tensor that depends on constants alone; None when it does not."""
    return constant_value(tensor) if isinstance(tensor, Tensor) else tensor


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """The tensor, whose elements have to be finite numbers."""
    given = convert_to_tensor(tensor)

    def kernel(x: Array) -> Array:
        for found, text in ((np.isnan(x).any(), "NaN"), (np.isinf(x).any(), "Inf")):
            if found:
                raise invalid(f"{message} : Tensor had {text} values")
        return x

    return pure("CheckNumerics", kernel, (given,), given.dtype, given.shape, name)


def py_function(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None
) -> Any:
    """`func` of tensors that have their values, with ``numpy()``."""

    def call(*values: Any) -> Any:
        found = func(*[EagerTensor(np.asarray(value)) for value in values])
        if isinstance(found, (list, tuple)):
            return type(found)(_plain(each) for each in found)
        return _plain(found)

    return py_func(call, inp, Tout, name=name)


def _plain(value: Any) -> Any:
    return value.numpy() if hasattr(value, "numpy") else value


def switch_case(
    branch_index: Any,
    branch_fns: Any,
    default: Callable[[], Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """Return the result of the function at an index; of the last one for any other."""
    given = list(branch_fns.items() if isinstance(branch_fns, dict) else branch_fns)
    pairs = [each if isinstance(each, tuple) else (i, each) for i, each in enumerate(given)]
    pairs.sort(key=lambda pair: pair[0])
    if [place for place, _ in pairs] != list(range(len(pairs))):
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(pairs)}) but found "
            f"{[place for place, _ in pairs]}"
        )
    last: Callable[[], Any] = pairs[-1][1] if default is None else default
    index = convert_to_tensor(branch_index)
    known = constant_value(index)
    if known is not None:
        functions: dict[int, Any] = dict(pairs)
        return functions.get(int(known), last)()

    def chosen(number: int) -> Any:
        if number == len(pairs):
            return last()
        place, function = pairs[number]
        return cond(equal(index, place), function, lambda: chosen(number + 1))

    return chosen(0)


def get_or_create_global_step(graph: Any = None) -> Variable:
    """The variable that counts steps, which is 0 at first."""
    chosen = graph or get_default_graph()
    found: list[Variable] = chosen.get_collection("global_step")
    if found:
        return found[0]
    with chosen.as_default():
        made = Variable(np.int64(0), trainable=False, name="global_step")
    chosen.add_to_collection("global_step", made)
    return made
