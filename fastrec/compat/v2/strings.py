# SPDX-License-Identifier: Apache-2.0
"""``tf.strings``, as far as functions of records use it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _errors
from .._dtypes import DType, as_dtype, short_name
from ._ragged import RaggedTensor
from ._specs import TensorSpec, TypeSpec
from ._tensor import as_array, convert_to_tensor
from ._trace import Block, Op, run

__all__ = [
    "as_string",
    "join",
    "length",
    "lower",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_number",
    "upper",
]


def _each(name: str, function: Callable[..., Any], dtype: Any, *values: Any) -> Any:
    """A function of strings, of each of a tensor's."""
    wanted = as_dtype(dtype)

    def kernel(*arrays: Any) -> Any:
        broadcast = np.broadcast_arrays(*map(as_array, arrays))
        found = [
            function(*row) for row in zip(*[a.reshape(-1).tolist() for a in broadcast], strict=True)
        ]
        out = np.empty(len(found), wanted.numpy)
        out[:] = found
        return out.reshape(broadcast[0].shape)

    def infer(specs: list[TypeSpec], _: Any) -> list[TypeSpec]:
        return [TensorSpec(specs[0].shape, wanted)]

    def block(_: int, *blocks: Block) -> Any:
        if len(blocks) > 1 or not blocks[0].many or isinstance(blocks[0].value, list):
            return None
        return kernel(blocks[0].value)

    return run(Op(name, kernel, infer, block), [convert_to_tensor(value) for value in values])


def _unit(unit: str, data: bytes) -> Any:
    return data if unit == "BYTE" else data.decode("utf-8", "replace")


def length(input: Any, unit: str = "BYTE", name: str | None = None) -> Any:
    """How many bytes, or characters, strings have."""
    return _each("StringLength", lambda s: len(_unit(unit, s)), "int32", input)


def lower(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """Strings in small letters."""
    plain = encoding != "utf-8"
    return _each(
        "StringLower",
        lambda s: s.lower() if plain else s.decode().lower().encode(),
        "string",
        input,
    )


def upper(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """Strings in capital letters."""
    plain = encoding != "utf-8"
    return _each(
        "StringUpper",
        lambda s: s.upper() if plain else s.decode().upper().encode(),
        "string",
        input,
    )


def strip(input: Any, name: str | None = None) -> Any:
    """Strings without white space around them."""
    return _each("StringStrip", bytes.strip, "string", input)


def join(inputs: Any, separator: str = "", name: str | None = None) -> Any:
    """Strings put together."""
    between = separator.encode()
    return _each("StringJoin", lambda *s: between.join(s), "string", *inputs)


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Any:
    """All strings of a tensor put together, or those along its last dimension."""
    between = separator.encode()
    tensor = convert_to_tensor(inputs, "string")
    if axis not in (None, -1) or keepdims:
        raise NotImplementedError("reduce_join joins everything, or along axis -1")

    def kernel(x: Any) -> Any:
        array = as_array(x)
        rows = array.reshape(-1, array.shape[-1]) if axis == -1 else array.reshape(1, -1)
        found = np.empty(len(rows), object)
        found[:] = [between.join(row) for row in rows.tolist()]
        return found.reshape(array.shape[:-1] if axis == -1 else ())

    return run(Op("ReduceJoin", kernel), [tensor])


def substr(input: Any, pos: int, len: int, unit: str = "BYTE", name: str | None = None) -> Any:
    """Parts of strings."""
    begin, count = int(pos), int(len)

    def cut(data: bytes) -> bytes:
        text = _unit(unit, data)
        if not -_size(text) <= begin <= _size(text):
            message = f"pos {begin} out of range for string b'{data.decode('latin-1')}' at index 0"
            raise _errors.InvalidArgumentError(None, None, message)
        first = begin if begin >= 0 else _size(text) + begin
        part = text[first : first + count]
        return part if isinstance(part, bytes) else part.encode()

    return _each("Substr", cut, "string", input)


_size = len


def regex_replace(
    input: Any, pattern: str, rewrite: str, replace_global: bool = True, name: str | None = None
) -> Any:
    """Strings with what matches replaced. The patterns are Python's."""
    found, new = re.compile(pattern.encode()), rewrite.encode()
    return _each(
        "RegexReplace", lambda s: found.sub(new, s, 0 if replace_global else 1), "string", input
    )


def regex_full_match(input: Any, pattern: str, name: str | None = None) -> Any:
    """Whether strings match. The patterns are Python's."""
    found = re.compile(pattern.encode())
    return _each("RegexFullMatch", lambda s: found.fullmatch(s) is not None, "bool", input)


def _number(data: bytes, dtype: DType) -> Any:
    try:
        return dtype.numpy.type(int(data) if dtype.is_integer else float(data))
    except (ValueError, OverflowError):
        text = f"StringToNumberOp could not correctly convert string: {data.decode('latin-1')}"
        raise _errors.InvalidArgumentError(None, None, text) from None


def to_number(input: Any, out_type: Any = "float32", name: str | None = None) -> Any:
    """Strings as the numbers that they spell."""
    dtype = as_dtype(out_type)
    return _each("StringToNumber", functools.partial(_number, dtype=dtype), dtype, input)


def _spelled(value: Any, dtype: DType, precision: int) -> bytes:
    if dtype.is_bool:
        return b"true" if value else b"false"
    if dtype.is_floating:
        return (f"%.{precision}f" % value if precision >= 0 else f"{value:f}").encode()
    return value if isinstance(value, bytes) else str(value).encode()


def as_string(input: Any, precision: int = -1, name: str | None = None, **_: Any) -> Any:
    """Numbers spelled out."""
    tensor = convert_to_tensor(input)
    spell = functools.partial(_spelled, dtype=tensor.dtype, precision=precision)
    return _each(f"AsString_{short_name(tensor.dtype)}", spell, "string", tensor)


def split(input: Any, sep: str | None = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The parts of strings between separators; of several strings as a ragged tensor."""
    between = sep.encode() if sep else None
    array = convert_to_tensor(input, "string").array
    parts = [text.split(between, maxsplit) for text in array.reshape(-1).tolist()]
    if not array.ndim:
        return convert_to_tensor(parts[0] or np.empty(0, object), "string")
    flat = [part for row in parts for part in row]
    values = convert_to_tensor(flat or np.empty(0, object), "string")
    return RaggedTensor.from_row_lengths(values, [_size(row) for row in parts])


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"fastrec.compat.v2.strings has no {name!r}; docs/compat-v2.md says what is covered"
    )
