# SPDX-License-Identifier: Apache-2.0
"""Types that operations accept; NumPy accepts more, with other results."""

from __future__ import annotations

from typing import Any

from .._tf import errors as _errors
from .._tf.dtypes import as_dtype, short_name
from .._tf.ops import Op
from .._tf.tensor import mismatch

__all__ = ["check_type", "invalid_type"]

_NAMES = {
    "f": "bfloat16, half, float, double",
    "i": "int8, int16, int32, int64",
    "u": "uint8, uint16, uint32, uint64",
    "c": "complex64, complex128",
    "b": "bool",
    "O": "string",
}


_BOOL = as_dtype("bool")


def invalid_type(attr: str, found: Any, names: str) -> _errors.OpError:
    """Return TensorFlow's error for a type that an operation does not accept."""
    text = f"Value for attr '{attr}' of {short_name(found)} is not in the list of allowed values: "
    return _errors.InvalidArgumentError(None, None, text + names)


def check_type(op: Op, tensor: Any, number: int = 0) -> None:
    """Refuse what an operation does not take.

    Raises
    ------
    InvalidArgumentError
        With TensorFlow's text.
    """
    kinds = op.kinds
    if not kinds or tensor.dtype.numpy.kind in kinds:
        return
    if kinds == "b":
        raise mismatch(op.name, _BOOL, tensor.dtype, number)
    raise invalid_type("T", tensor.dtype, ", ".join(_NAMES[kind] for kind in kinds))
