# SPDX-License-Identifier: Apache-2.0
"""``tf.strings``, as far as functions of records use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import fastrec

from .._tf.composite import RaggedTensor
from .._tf.data.pipeline import invalid
from .._tf.dtypes import as_dtype
from .._tf.ops import Op
from .._tf.ops import strings as rows
from .._tf.specs import RaggedTensorSpec, TensorSpec, TypeSpec
from .._tf.tensor import Tensor, as_array, convert_to_tensor, mismatch
from .._tf.trace import run
from ._eager import refused_type
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


def each(name: str, function: Callable[[bytes], bytes], input: Any) -> Any:
    """A function of each string."""
    return _run(rows.mapped(name, function), input)


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
    first, *others = inputs if len(inputs) else [""]
    if isinstance(first, RaggedTensor):
        return first.with_flat_values(join([first.flat_values, *others], separator))
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
        raise refused_type("", "out_type", dtype, rows.SPELT)
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


def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Any:
    """Strings with what matches replaced by `rewrite`, in which ``\\1`` is the first group."""
    texts = {"pattern": pattern, "rewrite": rewrite}
    return _matched(rows.REGEX_REPLACE, input, texts, replace_global=replace_global)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Any:
    """Whether strings match from beginning to end."""
    return _matched(rows.REGEX_FULL_MATCH, input, {"pattern": pattern})


def _matched(op: Op, input: Any, texts: dict[str, Any], **how: Any) -> Any:
    known = {name: rows.pattern_of(text) for name, text in texts.items()}
    if None not in known.values():
        return _run(op, input, **known, **how)
    given = [_strings(op, text, number) for number, text in enumerate(texts.values(), 1)]
    return _run(op, input, *given, **how)


def _row_of_parts(text: Any, *, sep: bytes, most: int) -> Any:
    found = rows.parts(text if isinstance(text, bytes) else as_array(text).item(), sep, most)
    out = np.empty(len(found), object)
    out[:] = found
    return out


def _rows_of_parts(texts: Any, *, sep: bytes, most: int) -> fastrec.Ragged:
    array = as_array(texts)
    parts = [rows.parts(text, sep, most) for text in array.reshape(-1).tolist()]
    found = fastrec.Ragged(*rows.in_rows(parts))
    for axis in range(array.ndim - 1, 0, -1):
        count = int(np.prod(array.shape[:axis]))
        found = fastrec.Ragged(found, np.arange(count + 1, dtype=np.int64) * array.shape[axis])
    return found


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


def _of_values(found: RaggedTensor, outer: RaggedTensor) -> RaggedTensor:
    """Rows in place of the values of a ragged tensor."""
    for splits in reversed(outer.nested_row_splits):
        found = RaggedTensor.from_row_splits(found, splits)
    return found


def to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Any:
    """The remainder of the fingerprints of strings, as FarmHash computes them."""
    from .shared import operations

    if isinstance(input, RaggedTensor):
        found = operations.to_hash_bucket_fast(input.flat_values, num_buckets)
        return input.with_flat_values(found)
    return operations.to_hash_bucket_fast(input, num_buckets)


def __getattr__(name: str) -> Any:
    from . import _late

    return _late.found("strings", name)
