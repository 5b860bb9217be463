# SPDX-License-Identifier: Apache-2.0
"""What programs call besides: values that are known, functions of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf.tensor import EagerTensor
from ._nodes import Tensor
from .constants import constant_value
from .graph import get_default_graph
from .math_ops import identity
from .script_ops import py_func
from .variables import Variable

__all__ = [
    "get_or_create_global_step",
    "get_static_value",
    "identity_n",
    "py_function",
]


def identity_n(input: Sequence[Any], name: str | None = None) -> list[Tensor]:
    """The same tensors."""
    return [identity(each) for each in input]


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a tensor that depends on constants alone; None when it does not."""
    return constant_value(tensor) if isinstance(tensor, Tensor) else tensor


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
