# SPDX-License-Identifier: Apache-2.0
"""``tf.strings``, as far as functions of records use it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._tf.data.pipeline import invalid
from .._tf.dtypes import DType, as_dtype, short_name
from .._tf.kernels.numbers import NotANumber, number_of, numbers_of
from .._tf.patterns import compiled
from .._tf.specs import TensorSpec, TypeSpec
from .._tf.tensor import Tensor, as_array, convert_to_tensor, mismatch
from .._tf.trace import Block, Op, run
from ._ragged import RaggedTensor
from ._types import invalid_type

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
    "to_hash_bucket_fast",
    "to_number",
    "upper",
]


def _each(
    name: str,
    function: Callable[..., Any],
    dtype: Any,
    *values: Any,
    many: Callable[[list[bytes]], Any] | None = None,
) -> Any:
    """A function of strings, of each of a tensor's; of all of them by `many`, where it can."""
    if isinstance(values[0], RaggedTensor):
        inner = _each(name, function, dtype, values[0].flat_values, *values[1:], many=many)
        return values[0].with_flat_values(inner)
    wanted, text = as_dtype(dtype), as_dtype("string")

    def kernel(*arrays: Any) -> Any:
        broadcast = np.broadcast_arrays(*map(as_array, arrays))
        texts = [a.reshape(-1).tolist() for a in broadcast]
        at_once = None if many is None else many(texts[0])
        if at_once is not None:
            return at_once.reshape(broadcast[0].shape)
        found = [function(*row) for row in zip(*texts, strict=True)]
        out = np.empty(len(found), wanted.numpy)
        out[:] = found
        return out.reshape(broadcast[0].shape)

    def infer(specs: list[TypeSpec], _: Any) -> list[TypeSpec]:
        return [TensorSpec(specs[0].shape, wanted)]

    def block(_: int, *blocks: Block) -> Any:
        if len(blocks) > 1 or not blocks[0].many or isinstance(blocks[0].value, list):
            return None
        return kernel(blocks[0].value)

    tensors = [v if isinstance(v, Tensor) else convert_to_tensor(v, text) for v in values]
    for number, tensor in enumerate(tensors):
        if tensor.dtype != text and not name.startswith("AsString"):
            raise mismatch(name, text, tensor.dtype, number)
    return run(Op(name, kernel, infer, block), tensors)


def _checked_unit(unit: str) -> str:
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise invalid(
            f"Value for attr 'unit' of \"{unit}\" is not in the list of allowed values: "
            '"BYTE", "UTF8_CHAR"'
        )
    return unit


def _begins(data: bytes) -> list[int]:
    """Offsets at which the characters of UTF-8 begin, and the end."""
    return [*(at for at, byte in enumerate(data) if byte & 0xC0 != 0x80), len(data)]


def length(input: Any, unit: str = "BYTE", name: str | None = None) -> Any:
    """Return the number of bytes, or characters, of strings."""
    of = len if _checked_unit(unit) == "BYTE" else lambda data: len(_begins(data)) - 1
    return _each("StringLength", of, "int32", input)


def _cased(name: str, plain: Any, wide: Any, encoding: str, input: Any) -> Any:
    if encoding not in ("", "utf-8"):
        raise invalid(f"only utf8 or '' (no encoding) is supported, received {encoding}")
    if not encoding:
        return _each(name, plain, "string", input)
    whole = lambda s: wide(s.decode("utf-8", "replace")).encode()  # noqa: E731
    return _each(name, whole, "string", input)


def lower(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """Strings in small letters."""
    return _cased("StringLower", bytes.lower, str.lower, encoding, input)


def upper(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """Strings in capital letters."""
    return _cased("StringUpper", bytes.upper, str.upper, encoding, input)


def strip(input: Any, name: str | None = None) -> Any:
    """Strings without white space around them."""
    return _each("StringStrip", lambda s: s.strip(_SPACE), "string", input)


def join(inputs: Any, separator: str = "", name: str | None = None) -> Any:
    """Strings put together."""
    between = separator.encode()
    if not inputs:
        return convert_to_tensor(b"")
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


def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None) -> Any:
    """Parts of strings: `len` bytes, or characters, from `pos` on; or from the end, if negative."""
    begins, counts = (np.asarray(convert_to_tensor(each)) for each in (pos, len))
    if begins.shape != counts.shape:
        raise invalid("pos and len should have the same shape")
    if begins.ndim:
        raise NotImplementedError("substr with several positions is not covered")
    begin, count = int(begins), int(counts)
    at = _begins if _checked_unit(unit) == "UTF8_CHAR" else lambda data: range(_size(data) + 1)

    def cut(data: bytes) -> bytes:
        ends = at(data)
        most = _size(ends) - 1
        if not -most <= begin <= most:
            message = f"pos {begin} out of range for string b'{data.decode('latin-1')}' at index 0"
            raise invalid(message)
        first = begin if begin >= 0 else most + begin
        last = most if count < 0 else min(most, first + count)
        return data[ends[first] : ends[last]]

    return _each("Substr", cut, "string", input)


_size = len
_SPACE = b" \t\n\v\f\r"


def _bytes(value: Any) -> bytes | None:
    """The bytes of a text; None for a tensor."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    return value if isinstance(value, bytes) else None


def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Any:
    """Strings with what matches replaced by `rewrite`, in which ``\\1`` is the first group."""
    known, new = _bytes(pattern), _bytes(rewrite)
    if known is None or new is None:
        change = lambda s, p, r: compiled(p).replaced(s, r, replace_global)  # noqa: E731
        return _each("RegexReplace", change, "string", input, pattern, rewrite)
    found, by = compiled(known), new
    return _each("RegexReplace", lambda s: found.replaced(s, by, replace_global), "string", input)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Any:
    """Whether strings match from beginning to end."""
    known = _bytes(pattern)
    if known is None:
        matches = lambda s, p: compiled(p).full_match(s)  # noqa: E731
        return _each("RegexFullMatch", matches, "bool", input, pattern)
    return _each("RegexFullMatch", compiled(known).full_match, "bool", input)


def _number(data: bytes, dtype: DType) -> Any:
    try:
        return number_of(data, dtype.numpy)
    except NotANumber:
        text = f"StringToNumberOp could not correctly convert string: {data.decode('latin-1')}"
        raise invalid(text) from None


def to_number(input: Any, out_type: Any = "float32", name: str | None = None) -> Any:
    """Strings as the numbers that they spell."""
    dtype = as_dtype(out_type)
    if dtype.name not in ("float32", "float64", "int32", "int64", "uint32", "uint64"):
        raise invalid_type("out_type", dtype, "float, double, int32, int64, uint32, uint64")
    many = functools.partial(numbers_of, dtype=dtype.numpy)
    return _each("StringToNumber", functools.partial(_number, dtype=dtype), dtype, input, many=many)


def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Any:
    """Numbers as C's ``printf`` writes them."""
    tensor = convert_to_tensor(input)
    kind, real = tensor.dtype.numpy.kind, tensor.dtype.is_floating
    if scientific and shortest:
        raise invalid("Cannot select both scientific and shortest notation")
    if kind in "iub" and (scientific or shortest or precision >= 0):
        raise invalid(f"scientific, shortest and precision are for floats, not {tensor.dtype.name}")
    if len(fill) > 1 or (fill and fill not in " +-0#"):
        raise invalid(f'Fill argument not supported: "{fill}"')
    if kind == "c":
        raise NotImplementedError("complex numbers are not written as strings")
    letter = ("e" if scientific else "g" if shortest else "f") if real else "sd"[kind in "iu"]
    digits = f".{precision}" if precision >= 0 else ""
    if kind == "b":  # which TensorFlow writes as they are
        fill, width = "", -1
    spec = f"%{fill}{width if width >= 0 else ''}{digits if real else ''}{letter}".encode()

    def spelled(value: Any) -> bytes:
        if kind == "b":
            value = b"true" if value else b"false"
        if real and not np.isfinite(value):
            return bytes((spec.replace(b"0", b"", 1) if fill == "0" else spec) % value)
        return bytes(spec % value)

    return _each(f"AsString_{short_name(tensor.dtype)}", spelled, "string", tensor)


def _parts(text: bytes, sep: bytes, most: int) -> list[bytes]:
    """As TensorFlow splits: what is left after `most` parts is one more, even if it is empty."""
    if most == 0:
        return [text]
    if sep:
        return text.split(sep, most)
    found = text.lstrip(_SPACE).split(None, most)
    return [*found, b""] if len(found) == most else found


def split(input: Any, sep: str | None = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The parts of strings between separators; of several strings as a ragged tensor."""
    between = sep.encode() if sep else b""
    array = convert_to_tensor(input, "string").array
    parts = [_parts(text, between, maxsplit) for text in array.reshape(-1).tolist()]
    flat = [part for row in parts for part in row]
    values = convert_to_tensor(flat or np.empty(0, object), "string")
    if not array.ndim:
        return values
    rows = RaggedTensor.from_row_lengths(values, [_size(row) for row in parts])
    for axis in range(array.ndim - 1, 0, -1):
        count = int(np.prod(array.shape[:axis]))
        rows = RaggedTensor.from_row_lengths(rows, [array.shape[axis]] * count)
    return rows


def to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Any:
    """The remainder of the fingerprints of strings, as FarmHash computes them."""
    from .shared import operations

    if isinstance(input, RaggedTensor):
        found = operations.to_hash_bucket_fast(input.flat_values, num_buckets)
        return input.with_flat_values(found)
    return operations.to_hash_bucket_fast(input, num_buckets)


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"fastrec.compat.v2.strings has no {name!r}; docs/compat-v2.md says what is covered"
    )
