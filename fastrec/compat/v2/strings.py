# SPDX-License-Identifier: Apache-2.0
"""``tf.strings``, as far as functions of records use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import fastrec

from .._tf.data.pipeline import invalid
from .._tf.dtypes import as_dtype
from .._tf.ops import Op, of_type
from .._tf.ops import strings as rows
from .._tf.patterns import compiled
from .._tf.specs import RaggedTensorSpec, TensorSpec, TypeSpec
from .._tf.tensor import Tensor, as_array, convert_to_tensor, mismatch
from .._tf.trace import run
from ._ragged import RaggedTensor
from ._types import invalid_type
from .array_ops import sizes_of

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


def _strings(op: Op, value: Any, number: int = 0) -> Any:
    tensor = value if isinstance(value, Tensor) else convert_to_tensor(value, "string")
    if tensor.dtype.name != "string":
        raise mismatch(op.name, as_dtype("string"), tensor.dtype, number)
    return tensor


def _run(op: Op, input: Any, *others: Any, **attributes: Any) -> Any:
    """An operation on strings; on those of a ragged tensor, in the same rows."""
    if isinstance(input, RaggedTensor):
        inner = _run(op, input.flat_values, *others, **attributes)
        return input.with_flat_values(inner)
    return run(op, [_strings(op, input), *others], **attributes)


def _each(
    name: str,
    function: Callable[..., Any],
    dtype: Any,
    *values: Any,
) -> Any:
    """A function of strings, of each of a tensor's."""
    if len(values) == 1:
        return _run(rows.mapped(name, function, dtype), values[0])
    if isinstance(values[0], RaggedTensor):
        inner = _each(name, function, dtype, values[0].flat_values, *values[1:])
        return values[0].with_flat_values(inner)
    wanted, text = as_dtype(dtype), as_dtype("string")

    def kernel(*arrays: Any) -> Any:
        broadcast = np.broadcast_arrays(*map(as_array, arrays))
        texts = [a.reshape(-1).tolist() for a in broadcast]
        found = [function(*row) for row in zip(*texts, strict=True)]
        out = np.empty(len(found), wanted.numpy)
        out[:] = found
        return out.reshape(broadcast[0].shape)

    tensors = [v if isinstance(v, Tensor) else convert_to_tensor(v, text) for v in values]
    for number, tensor in enumerate(tensors):
        if tensor.dtype != text:
            raise mismatch(name, text, tensor.dtype, number)
    return run(Op(name, kernel, of_type(wanted)), tensors)


def _checked_unit(unit: str) -> str:
    if unit not in rows.UNITS:
        raise invalid(
            f"Value for attr 'unit' of \"{unit}\" is not in the list of allowed values: "
            '"BYTE", "UTF8_CHAR"'
        )
    return unit


def length(input: Any, unit: str = "BYTE", name: str | None = None) -> Any:
    """Return the number of bytes, or characters, of strings."""
    return _run(rows.LENGTH, input, unit=_checked_unit(unit))


def lower(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """Strings in small letters."""
    return _run(rows.LOWER, input, encoding=encoding)


def upper(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """Strings in capital letters."""
    return _run(rows.UPPER, input, encoding=encoding)


def strip(input: Any, name: str | None = None) -> Any:
    """Strings without white space around them."""
    return _run(rows.STRIP, input)


def join(inputs: Any, separator: str = "", name: str | None = None) -> Any:
    """Strings put together."""
    if any(isinstance(each, RaggedTensor) for each in inputs):
        return _each("StringJoin", lambda *s: separator.encode().join(s), "string", *inputs)
    tensors = [_strings(rows.JOIN, each, number) for number, each in enumerate(inputs)]
    return run(rows.JOIN, tensors, separator=separator.encode())


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Any:
    """All strings of a tensor put together, or those along some dimensions."""
    tensors = [convert_to_tensor(inputs, "string"), *([] if axis is None else [sizes_of(axis)])]
    how: dict[str, Any] = {"keep_dims": bool(keepdims), "separator": separator.encode()}
    return run(rows.REDUCE_JOIN, tensors, **how)


def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None) -> Any:
    """Parts of strings: `len` bytes, or characters, from `pos` on; or from the end, if negative."""
    places = [convert_to_tensor(each) for each in (pos, len)]
    return _run(rows.SUBSTR, input, *places, unit=_checked_unit(unit))


def to_number(input: Any, out_type: Any = "float32", name: str | None = None) -> Any:
    """Strings as the numbers that they spell."""
    dtype = as_dtype(out_type)
    if dtype.name not in rows.SPELT:
        raise invalid_type("out_type", dtype, "float, double, int32, int64, uint32, uint64")
    return _run(rows.TO_NUMBER, input, out_type=dtype)


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
    how: dict[str, Any] = {"precision": precision, "scientific": scientific}
    how |= {"shortest": shortest, "width": width, "fill": fill}
    if isinstance(input, RaggedTensor):
        return input.with_flat_values(as_string(input.flat_values, **how))
    return run(rows.AS_STRING, [convert_to_tensor(input)], **how)


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


def _parts(text: bytes, sep: bytes, most: int) -> list[bytes]:
    """As TensorFlow splits: what is left after `most` parts is one more, even if it is empty."""
    if most == 0:
        return [text]
    if sep:
        return text.split(sep, most)
    found = text.lstrip(_SPACE).split(None, most)
    return [*found, b""] if len(found) == most else found


def _row_of_parts(text: Any, *, sep: bytes, most: int) -> Any:
    found = _parts(text if isinstance(text, bytes) else as_array(text).item(), sep, most)
    out = np.empty(_size(found), object)
    out[:] = found
    return out


def _rows_of_parts(texts: Any, *, sep: bytes, most: int) -> fastrec.Ragged:
    array = as_array(texts)
    parts = [_parts(text, sep, most) for text in array.reshape(-1).tolist()]
    flat = np.empty(sum(map(_size, parts)), object)
    flat[:] = [part for row in parts for part in row]
    rows = fastrec.Ragged(flat, np.cumsum([0, *map(_size, parts)], dtype=np.int64))
    for axis in range(array.ndim - 1, 0, -1):
        count = int(np.prod(array.shape[:axis]))
        rows = fastrec.Ragged(rows, np.arange(count + 1, dtype=np.int64) * array.shape[axis])
    return rows


def _parts_spec(specs: Any, *_: Any, **__: Any) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes
    return [RaggedTensorSpec([*sizes[:1], *[None] * len(sizes)], "string", len(sizes))]


_SPLIT_ONE = Op("StringSplitV2", _row_of_parts, lambda *_, **__: [TensorSpec([None], "string")])
_SPLIT = Op("StringSplitV2", _rows_of_parts, _parts_spec)


def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The parts of strings between separators; of several strings as a ragged tensor."""
    if isinstance(input, RaggedTensor):
        return _of_values(split(input.flat_values, sep, maxsplit), input)
    between = b"" if sep is None else as_array(convert_to_tensor(sep, "string").array).item()
    tensor = convert_to_tensor(input, "string")
    rank = tensor.shape.ndims
    if rank is None:
        raise ValueError("Rank of input must be known.")
    return run(_SPLIT if rank else _SPLIT_ONE, [tensor], sep=between, most=maxsplit)


def _of_values(rows: RaggedTensor, outer: RaggedTensor) -> RaggedTensor:
    """Rows in place of the values of a ragged tensor."""
    splits = outer.nested_row_splits
    for each in reversed(splits):
        rows = RaggedTensor.from_row_splits(rows, each)
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
