# SPDX-License-Identifier: Apache-2.0
"""Types that operations accept; NumPy accepts more, with other results."""

from __future__ import annotations

from typing import Any

from .._tf import errors as _errors
from .._tf.dtypes import as_dtype, short_name
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


def _table() -> dict[str, str]:
    """For the name of each operation, the kinds of types, as NumPy calls them."""
    rows = {
        "f": "Floor Ceil IsNan IsInf IsFinite",
        "fc": "Sqrt Rsqrt Exp Log Log1p Sin Cos Tanh Sigmoid Round",
        "fi": "Abs",
        "fic": "Neg Sign Pow",
        "fiu": "Maximum Minimum Less LessEqual Greater GreaterEqual FloorMod Max Min TopKV2 Sort "
        "Argsort",
        "fiuc": "Square Sub Mul FloorDiv SquaredDifference Sum Prod Mean Cumsum RealDiv",
        "fiucO": "AddV2",
        "fiucb": "ArgMax ArgMin",
        "iu": "BitwiseAnd BitwiseOr BitwiseXor Invert",
        "b": "LogicalAnd LogicalOr LogicalXor LogicalNot All Any SelectV2",
    }
    return {name: kinds for kinds, names in rows.items() for name in names.split()}


_KINDS = _table()
_BOOL = as_dtype("bool")


def invalid_type(attr: str, found: Any, names: str) -> _errors.OpError:
    """Return TensorFlow's error for a type that an operation does not accept."""
    text = f"Value for attr '{attr}' of {short_name(found)} is not in the list of allowed values: "
    return _errors.InvalidArgumentError(None, None, text + names)


def check_type(op: str, tensor: Any, number: int = 0) -> None:
    """Refuse what an operation does not take.

    Raises
    ------
    InvalidArgumentError
        With TensorFlow's text.
    """
    kinds = _KINDS.get(op)
    if kinds is None or tensor.dtype.numpy.kind in kinds:
        return
    if kinds == "b":
        raise mismatch(op, _BOOL, tensor.dtype, number)
    raise invalid_type("T", tensor.dtype, ", ".join(_NAMES[kind] for kind in kinds))
