# SPDX-License-Identifier: Apache-2.0
"""How version 2 runs operations, and the functions that version 1 has, too, by topic."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._tf.composite import RaggedTensor, SparseTensor
from .._tf.dtypes import DType, as_dtype, bool_, int32, short_name
from .._tf.errors import InvalidArgumentError, OpError, invalid
from .._tf.faces import Version, topic
from .._tf.faces.arrays import Arrays
from .._tf.faces.math import Bitwise, Math, Products
from .._tf.faces.picking import Picking
from .._tf.faces.ragged import RaggedFunctions
from .._tf.faces.reductions import Reductions
from .._tf.faces.sparse import SparseFunctions
from .._tf.ops import Op, geometry
from .._tf.ops import picking as rows
from .._tf.ops.arithmetic import CAST, SELECT
from .._tf.tensor import EagerTensor, Tensor, convert_to_tensor, mismatch
from .._tf.tracing.calls import current_call
from .._tf.tracing.recording import run

# NumPy accepts more types than the operations do, with other results.
_NAMES = {
    "f": "bfloat16, half, float, double",
    "i": "int8, int16, int32, int64",
    "u": "uint8, uint16, uint32, uint64",
    "c": "complex64, complex128",
    "b": "bool",
    "O": "string",
}
_PLACES = ("int32", "int64")
# Attributes for types of sizes, which are int32 by default.
_DEFAULTS = {"Tidx", "Tmultiples", "Tpaddings", "Tperm", "Tshape", "index_type"}


def _not_allowed(attr: str, found: DType, names: str) -> OpError:
    text = f"Value for attr '{attr}' of {short_name(found)} is not in the list of allowed values: "
    return invalid(text + names)


def refused_type(parameter: str, attr: str, found: DType, allowed: Sequence[str]) -> OpError:
    """Return TensorFlow's error for a type that an operation does not accept."""
    return _not_allowed(attr, found, ", ".join(short_name(as_dtype(name)) for name in allowed))


def _refused_value(op: str, attr: str, value: str, allowed: Sequence[str]) -> OpError:
    names = ", ".join(f'"{each}"' for each in allowed)
    return invalid(
        f"Value for attr '{attr}' of \"{value}\" is not in the list of allowed values: {names}"
    )


def checked(op: Op, tensor: Any, number: int = 0) -> Any:
    """Return `tensor` after checking that the operation accepts its type.

    Raises
    ------
    InvalidArgumentError
        If it does not, with TensorFlow's message.
    """
    kinds = op.kinds
    if not kinds or tensor.dtype.kind in kinds:
        return tensor
    if kinds == "b":
        raise mismatch(op.name, bool_, tensor.dtype, number)
    raise _not_allowed("T", tensor.dtype, ", ".join(_NAMES[kind] for kind in kinds))


def pair(op: str, x: Any, y: Any) -> tuple[Any, Any]:
    """Convert two values to tensors of one type, the type of a tensor among them."""
    if not isinstance(x, Tensor) and isinstance(y, Tensor):
        x = convert_to_tensor(x, y.dtype)
    x = convert_to_tensor(x)
    y = y if isinstance(y, Tensor) else convert_to_tensor(y, x.dtype)
    if x.dtype != y.dtype:
        raise mismatch(op, x.dtype, y.dtype)
    return x, y


def alike(op: str, values: Sequence[Any]) -> list[Any]:
    """Convert values to tensors of one type: the type of the first tensor, or the widest type."""
    dtype = next((value.dtype for value in values if isinstance(value, Tensor)), None)
    if dtype is None:
        found = [convert_to_tensor(value) for value in values]
        dtype = next((each.dtype for each in found if each.dtype.is_floating), None)
        dtype = dtype or (found[0].dtype if found else None)
    for number, value in enumerate(values):
        if dtype and isinstance(value, Tensor) and value.dtype != dtype:
            raise mismatch(op, dtype, value.dtype, number)
    return [convert_to_tensor(value, dtype) for value in values]


def in_integers(value: Any) -> Any:
    """Return sizes; cast tensors in a list to int32 while a dataset calls a function.

    TensorFlow then builds a graph, and packs a list in the required type.
    """
    if not isinstance(value, (list, tuple)) or current_call() is None:
        return value
    return [
        run(CAST, [each], DstT=int32)
        if isinstance(each, Tensor) and each.dtype.is_floating
        else in_integers(each)
        for each in value
    ]


def integers(
    value: Any,
    parameter: str,
    attr: str | None = None,
    rank: int | None = None,
    allowed: Sequence[str] = _PLACES,
) -> Any:
    """Convert sizes or indices to a tensor.

    Raises
    ------
    InvalidArgumentError
        If elements have another type.
    TypeError
        If elements have another type and `attr` is None: TensorFlow then converts the value itself.
    """
    if isinstance(value, (list, tuple)) and all(
        type(number) is int and -(1 << 31) <= number < 1 << 31 for number in value
    ):
        return EagerTensor(np.array(value, np.int32))  # the common case of sizes, and an empty list
    if attr == "Tidx" and type(value) in (bool, float, np.bool_):
        value = convert_to_tensor(value, int32)  # the default type; a fraction is a TypeError
    tensor = convert_to_tensor(in_integers(value) if attr in _DEFAULTS else value)
    if not tensor.dtype.is_integer or (
        allowed is not _PLACES and attr is not None and tensor.dtype.name not in allowed
    ):
        if attr is None:
            raise TypeError(f"Cannot convert {value} to EagerTensor of dtype int32")
        raise refused_type(parameter, attr, tensor.dtype, allowed)
    return tensor


def _of_type(op: Op, value: Any, dtype: DType, number: int = 0) -> Any:
    tensor = value if isinstance(value, Tensor) else convert_to_tensor(value, dtype)
    if tensor.dtype is not dtype:
        raise mismatch(op.name, dtype, tensor.dtype, number)
    return tensor


def _apply_all(*how: Any, **attributes: Any) -> list[Any]:
    found = run(*how, **attributes)
    return list(found) if isinstance(found, tuple) else [found]


def _done(*how: Any, **attributes: Any) -> None:
    run(*how, **attributes)


def _apply_asserted(*how: Any, **attributes: Any) -> Any:
    try:
        return run(*how, **attributes)
    except InvalidArgumentError as error:  # TensorFlow reports it as an error of the graph
        raise geometry.known(error) from None


@functools.cache
def _ragged() -> Any:
    # That module depends on this one.
    return importlib.import_module("._faces", __package__).ragged


EAGER = Version(
    tensor=convert_to_tensor,
    is_tensor=lambda value: isinstance(value, Tensor),
    apply=run,
    apply_all=_apply_all,
    done=_done,
    apply_asserted=_apply_asserted,
    checked=checked,
    pair=pair,
    ragged=_ragged,
    alike=alike,
    integers=integers,
    refused_type=refused_type,
    of_type=_of_type,
    refused_value=_refused_value,
    refused_count=lambda op, attr, count: invalid(
        f"Number of ways to split should be > 0, but got {count}"
    ),
)


class _Arrays(Arrays):
    """Array functions, including tensors of one value."""

    def zeros(self, shape: Any, dtype: Any = "float32", name: str | None = None) -> Any:
        """Return a tensor of zeros, or of empty strings."""
        return self._uniform(shape, 0, dtype)

    def ones(self, shape: Any, dtype: Any = "float32", name: str | None = None) -> Any:
        """Return a tensor of ones."""
        return self._uniform(shape, 1, dtype)

    def _uniform(self, shape: Any, value: int, dtype: Any) -> Any:
        element = as_dtype(dtype)
        filler = bool(value) if element.is_bool else self._filler(value, element)
        if isinstance(shape, Tensor) and shape.shape.ndims == 0:
            shape = [shape]
        elif isinstance(shape, (list, tuple)):  # sizes may be floats from a division
            floating = (isinstance(each, Tensor) and each.dtype.is_floating for each in shape)
            pairs = zip(shape, floating, strict=True)
            shape = [self._cast(each, int32) if cast else each for each, cast in pairs]
        return self.fill(shape, self._tensor(filler, element))


class _Picking(Picking):
    """Selection functions with version 2's choice."""

    def where(self, condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
        """Return `x` where the condition holds and `y` elsewhere; without both, the indices."""
        chosen = self._tensor(condition)
        if x is None and y is None:
            return run(rows.WHERE, [checked(rows.WHERE, chosen)])
        if x is None or y is None:
            raise ValueError("x and y must both be non-None or both be None.")
        return run(SELECT, [checked(SELECT, chosen), *pair("SelectV2", x, y)])


arrays, picking = _Arrays(EAGER), _Picking(EAGER)
math, products, reductions = Math(EAGER), Products(EAGER), Reductions(EAGER)
bitwise, ragged = Bitwise(EAGER), RaggedFunctions(RaggedTensor)


@functools.cache
def __getattr__(name: str) -> Any:
    if name == "sparse":
        return SparseFunctions(SparseTensor)
    if name == "keras":
        from .._tf.keras import Backend

        return Backend(sys.modules[__package__])
    if name == "experimental":
        from .._tf.data.csv import CsvDataset
        from .._tf.data.dataset import Dataset
        from .._tf.data.experimental import Experimental
        from .._tf.data.file_datasets import TFRecordDataset

        parse = topic("parsers", EAGER, RaggedTensor).parse_example
        return Experimental(Dataset, TFRecordDataset, CsvDataset, parse)
    return topic(name, EAGER, RaggedTensor)
