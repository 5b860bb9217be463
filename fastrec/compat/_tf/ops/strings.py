# SPDX-License-Identifier: Apache-2.0
"""Split, join and match strings, and convert between strings and numbers."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fastrec
from fastrec import _tensor

from ..columns import rows_of_shapes, shape_of
from ..dtypes import DType, as_dtype, string
from ..errors import OutOfRangeError, UnimplementedError, invalid
from ..kernels.csv import NotANumber, number_of, numbers_of
from ..patterns import compiled
from ..shape import in_messages
from ..specs import TensorSpec, TypeSpec
from ..tensor import TensorShape, as_array, as_texts
from . import Array, Block, Op, constant_of, of_type
from .arithmetic import broadcast_sizes
from .cutting import SPACE
from .reductions import sizes_left

UNITS = ("BYTE", "UTF8_CHAR")
_LONG = 1 << 12  # the minimum size of a string in bytes for native kernels


def of_rows(kernel: Callable[..., Any], x: Block, attributes: dict[str, Any]) -> Any:
    """Apply a kernel for arrays of strings to a column; return None if the column is unsuitable."""
    if x.many and isinstance(x.value, list):
        return _of_arrays(kernel, x.value, attributes)
    if not x.many or not isinstance(x.value, (np.ndarray, fastrec.Bytes, fastrec.Ragged)):
        return None
    if not isinstance(x.value, fastrec.Ragged):
        return kernel(x.value, **attributes)
    begin, end = x.value.row_splits[[0, -1]]
    found = kernel(x.value.values[begin:end], **attributes)
    return fastrec.Ragged(found, x.value.row_splits - begin)


def _of_arrays(kernel: Callable[..., Any], rows: list[Any], attributes: dict[str, Any]) -> Any:
    """Apply a kernel to arrays of strings that differ in shape, if its results are numbers."""
    shapes = [shape_of(row) for row in rows]
    if not all(shapes) or len({len(shape) for shape in shapes}) > 1:
        return None
    if "out_type" not in attributes:
        return None
    texts = [text for row in rows for text in as_array(row).reshape(-1).tolist()]
    found = kernel(fastrec.Bytes.from_list(texts), **attributes)
    return rows_of_shapes(np.asarray(found), np.array(shapes, np.int64))


def _each(x: Any, function: Callable[[list[bytes]], Any], numpy: np.dtype[Any]) -> Any:
    """Apply a function of a list to one string, or to all strings of an array."""
    if type(x) is bytes:
        (found,) = function([x])
        return found if type(found) is bytes else np.asarray(found, numpy)
    if isinstance(x, fastrec.Bytes) and numpy.hasobject:
        texts = fastrec.Bytes.from_list(function(list(fastrec.Bytes(x.data, x.offsets))))
        return fastrec.Bytes(texts.data, texts.offsets, x.shape)
    array = as_array(x)
    result = np.empty(array.size, numpy)
    result[:] = function(array.reshape(-1).tolist())
    return result.reshape(array.shape)


def mapped(
    name: str,
    function: Callable[..., Any],
    dtype: Any = string,
    many: Callable[..., Array | fastrec.Bytes | None] | None = None,
) -> Op:
    """Return an operation that applies a function to each string.

    Parameters
    ----------
    name : str
    function : callable
        Takes a string and attributes.
    dtype : DType
        The type of the result; by default the attribute ``out_type``, if it is given.
    many : callable, optional
        Takes Bytes and attributes. Returns None if it cannot process them.
    """
    wanted = as_dtype(dtype)

    def kernel(x: Any, **attributes: Any) -> Any:
        texts = None if many is None else as_texts(x)
        single = x.item() if isinstance(x, np.ndarray) and not x.ndim else x
        if many is not None and type(single) is bytes and len(single) > _LONG:
            texts = fastrec.Bytes.from_list([single])
        at_once = None if many is None or texts is None else many(texts, **attributes)
        if at_once is not None:
            if type(single) is bytes:
                first = at_once[0]
                return first if type(first) is bytes else np.asarray(first)
            return at_once if isinstance(at_once, fastrec.Bytes) else at_once.reshape(x.shape)
        one = functools.partial(function, **attributes) if attributes else function
        numpy = attributes.get("out_type", wanted).numpy
        return _each(x, lambda texts: [one(text) for text in texts], numpy)

    def infer(specs: Sequence[Any], *_: Any, **attributes: Any) -> list[TypeSpec]:
        return [TensorSpec(specs[0].shape, attributes.get("out_type", wanted))]

    def block(_: int, x: Block, **attributes: Any) -> Any:
        return of_rows(kernel, x, attributes)

    return Op(name, kernel, infer, block, kinds="O")


def _cased(plain: Callable[[bytes], bytes], wide: Callable[[str], str]) -> Callable[..., bytes]:
    def change(value: bytes, *, encoding: str) -> bytes:
        if not encoding:
            return plain(value)
        if encoding != "utf-8":
            raise invalid(f"only utf-8 or '' (no encoding) is supported, received {encoding}")
        return wide(value.decode("utf-8", "replace")).encode()

    return change


def _many_cased(plain: Callable[[bytes], bytes]) -> Callable[..., fastrec.Bytes | None]:
    def change(x: fastrec.Bytes, *, encoding: str) -> fastrec.Bytes | None:
        if encoding:
            return None
        begin, end = int(x.offsets[0]), int(x.offsets[-1])
        data = np.frombuffer(plain(x.data[begin:end].tobytes()), np.uint8)
        return fastrec.Bytes(data, x.offsets - begin, x.shape)

    return change


def _length(value: bytes, *, unit: str) -> int:
    return len(value) if unit == "BYTE" else sum(byte & 0xC0 != 0x80 for byte in value)


def _many_lengths(x: fastrec.Bytes, *, unit: str) -> Array:
    if unit == "BYTE":
        return np.diff(x.offsets).astype(np.int32)
    return _tensor.count_characters(x)


def _encoded(value: bytes, *, pad: bool) -> bytes:
    import base64

    found = base64.urlsafe_b64encode(value)
    return found if pad else found.rstrip(b"=")


def _decoded(value: bytes) -> bytes:
    import base64

    if not re.fullmatch(rb"[A-Za-z0-9_-]*={0,2}", value):
        raise invalid("Invalid character found in base64.")
    bare = value.rstrip(b"=")
    if bare != value and len(value) % 4:
        raise invalid(f"Base64 string length with padding must be 0 modulo 4, got {len(value)}")
    if len(bare) % 4 == 1:
        raise invalid(f"Base64 string length cannot be 1 modulo 4, got {len(bare)}")
    return base64.urlsafe_b64decode(bare + b"=" * (-len(bare) % 4))


def _many_decoded(x: fastrec.Bytes) -> fastrec.Bytes | None:
    try:
        return _tensor.decode_base64(x)
    except IndexError:
        return None  # processing the strings one by one finds the invalid one


def _matched(name: str, function: Callable[..., list[Any]], dtype: Any) -> Op:
    """Return an operation on strings and patterns, which are attributes or further inputs."""
    wanted = as_dtype(dtype)
    changes = wanted is string  # strings that do not match remain unchanged

    def kernel(x: Any, *patterns: Any, **attributes: Any) -> Any:
        texts = [as_array(each) for each in patterns]
        for what, text in zip(("Pattern", "Rewrite"), texts, strict=False):
            if text.ndim:
                raise invalid(f"{what} must be scalar, but received {in_messages(text.shape)}")
        given = [text.item() for text in texts]
        if changes and isinstance(x, fastrec.Bytes):
            data = x.data[x.offsets[0] : x.offsets[-1]]
            pattern = given[0] if given else attributes["pattern"]
            if not compiled(pattern).may_match(data.tobytes()):
                return x
        return _each(x, lambda rows: function(rows, *given, **attributes), wanted.numpy)

    def block(_: int, x: Block, *patterns: Block, **attributes: Any) -> Any:
        if any(each.many for each in patterns):
            return None
        values = [each.value for each in patterns]
        return of_rows(lambda texts: kernel(texts, *values, **attributes), x, {})

    return Op(name, kernel, of_type(wanted), block, kinds="O")


def _replaced(
    texts: list[bytes], pattern: bytes, rewrite: bytes, replace_global: bool
) -> list[bytes]:
    return compiled(pattern).replaced(texts, rewrite, replace_global)


def _full_matches(texts: list[bytes], pattern: bytes) -> list[bool]:
    return compiled(pattern).full_matches(texts)


LOWER = mapped("StringLower", _cased(bytes.lower, str.lower), many=_many_cased(bytes.lower))
UPPER = mapped("StringUpper", _cased(bytes.upper, str.upper), many=_many_cased(bytes.upper))
STRIP = mapped("StringStrip", lambda value: value.strip(SPACE), many=_tensor.strip_texts)
LENGTH = mapped("StringLength", _length, "int32", _many_lengths)
ENCODE_BASE64 = mapped("EncodeBase64", _encoded, many=_tensor.encode_base64)
DECODE_BASE64 = mapped("DecodeBase64", _decoded, many=_many_decoded)
REGEX_REPLACE = _matched("RegexReplace", _replaced, string)
REGEX_FULL_MATCH = _matched("RegexFullMatch", _full_matches, "bool")


def pattern_of(value: Any) -> bytes | None:
    """Return the bytes of a text, or None for a tensor."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    return value if isinstance(value, bytes) else None


def _number(value: bytes, *, out_type: DType) -> Any:
    try:
        return number_of(value, out_type.numpy)
    except NotANumber:
        text = value.decode("utf-8", "replace")
        raise invalid(f"StringToNumberOp could not correctly convert string: {text}") from None


def _many_numbers(x: fastrec.Bytes, *, out_type: DType) -> Array | None:
    try:
        return numbers_of(x, out_type.numpy)
    except NotANumber:
        return None  # processing the elements one by one finds the invalid one


TO_NUMBER = mapped("StringToNumber", _number, many=_many_numbers)
SPELT = ("float32", "float64", "int32", "int64", "uint32", "uint64")


def _notation(
    dtype: DType, precision: int, scientific: bool, shortest: bool, width: int, fill: str
) -> tuple[str, str]:
    """Return the kind of the values, and the format for ``printf``."""
    kind = "f" if dtype.is_floating else dtype.kind
    if scientific and shortest:
        raise invalid("Cannot select both scientific and shortest notation")
    if len(fill) > 1:
        raise invalid(f"Fill string must be one or fewer characters, got {fill!r}")
    if fill and fill not in " +-0#":
        raise invalid(f'Fill argument not supported: "{fill}"')
    if kind in "fc":
        letter = "e" if scientific else "g" if shortest else "f"
    else:
        if scientific or shortest:
            raise invalid(f"scientific and shortest format not supported for datatype {dtype.name}")
        if precision >= 0:
            raise invalid(f"precision not supported for datatype {dtype.name}")
        letter = "s" if kind in "bO" else "d"
    digits = f".{precision}" if precision >= 0 else ""
    return kind, f"%{fill}{width if width >= 0 else ''}{digits}{letter}"


def _as_string(
    x: Any, *, precision: int, scientific: bool, shortest: bool, width: int, fill: str
) -> Array | fastrec.Bytes:
    array = as_array(x)
    how = (precision, scientific, shortest, width, fill)
    kind, spec = _notation(as_dtype(array.dtype), *how)
    if spec == "%d" and array.ndim and array.dtype != np.uint64:
        return _tensor.spell_integers(array)

    def spelled(value: Any) -> bytes:
        if kind == "O":
            padding = b" " * (width - len(value))
            return bytes(value + padding if fill == "-" else padding + value)
        if kind == "b":  # TensorFlow writes bools without padding
            return b"true" if value else b"false"
        if kind == "c":
            return f"({spec % value.real},{spec % value.imag})".encode()
        if kind == "f" and fill == "0" and not np.isfinite(value):
            return bytes((spec.replace("0", "", 1) % value).encode())
        return bytes((spec % value).encode())

    result = np.empty(array.size, object)
    values = array.reshape(-1).tolist()
    if kind == "f" and not (fill == "0" and not np.isfinite(array).all()):
        whole = "\n".join([spec] * len(values)) % tuple(values)  # one call formats all
        result[:] = whole.encode().split(b"\n")[: len(values)]
    else:
        result[:] = [spelled(value) for value in values]
    return result.reshape(array.shape)


AS_STRING = Op(
    "AsString",
    _as_string,
    of_type(string),
    lambda _, x, **attributes: of_rows(_as_string, x, attributes),
)


def _substr(x: Any, pos: Array, length: Array, *, unit: str) -> Array | fastrec.Bytes:
    if pos.shape != length.shape:
        raise invalid("pos and len should have the same shape")
    texts = None if pos.ndim else as_texts(x)
    if texts is not None:
        try:
            return _tensor.take_parts(texts, int(pos), int(length), characters=unit != "BYTE")
        except IndexError:
            pass  # processing the strings one by one finds the invalid position
    values = as_array(x)
    try:
        whole = np.broadcast_arrays(values, pos, length)
    except ValueError:
        shapes = f"{in_messages(values.shape)} vs. {in_messages(pos.shape)}"
        raise invalid(f"Incompatible shapes: {shapes}") from None
    if whole[0].ndim > 2 and pos.ndim and values.shape != pos.shape:
        text = f"Substr broadcast not implemented for {whole[0].ndim} dimensions"
        raise UnimplementedError(None, None, text)
    flat = zip(*(part.reshape(-1).tolist() for part in whole), strict=True)
    result = np.empty(whole[0].size, object)
    result[:] = [_part(v, p, n, i, unit) for i, (v, p, n) in enumerate(flat)]
    return result.reshape(whole[0].shape)


def _part(value: bytes, start: int, length: int, index: int, unit: str) -> bytes:
    text: Any = value if unit == "BYTE" else value.decode("utf-8", "surrogateescape")
    begin = start if start >= 0 else start + len(text)
    if not 0 <= begin <= len(text):
        what = f" {value!r}" if unit == "BYTE" else ""
        raise invalid(f"pos {start} out of range for string{what} at index {index}")
    part = text[begin:] if length < 0 else text[begin : begin + length]
    return bytes(part) if unit == "BYTE" else part.encode("utf-8", "surrogateescape")


def _substr_spec(specs: Sequence[Any], *_: Any, unit: str) -> list[TypeSpec]:
    pos, length = specs[1].shape, specs[2].shape
    if not pos.is_compatible_with(length):
        raise ValueError(
            f"Shapes of pos and len must be equal, got {pos} and {length} for 'Substr'"
        )
    return [TensorSpec(broadcast_sizes("Substr", specs[:2]), string)]


def _substr_block(_: int, x: Block, pos: Block, length: Block, *, unit: str) -> Any:
    if pos.many or length.many or pos.value.ndim:
        return None
    return of_rows(_substr, x, {"pos": pos.value, "length": length.value, "unit": unit})


SUBSTR = Op("Substr", _substr, _substr_spec, _substr_block)


def _rows_joined(parts: Sequence[Any], separator: bytes) -> Array | fastrec.Bytes:
    shapes = {part.shape for part in parts if part.shape}
    columns = [
        as_texts(part) if part.shape else fastrec.Bytes.from_list([as_array(part).item()])
        for part in parts
    ]
    known = [column for column in columns if column is not None]
    if len(shapes) == 1 and len(known) == len(parts) and 0 not in next(iter(shapes)):
        data, offsets = _tensor.join_texts(known, separator)
        return fastrec.Bytes(data, offsets, *shapes)
    parts = [as_array(part) for part in parts]
    whole = np.broadcast_arrays(*parts) if parts else [np.full((), b"", object)]
    flat = zip(*(part.reshape(-1).tolist() for part in whole), strict=True)
    result = np.empty(whole[0].size, object)
    result[:] = [separator.join(row) for row in flat]
    return result.reshape(whole[0].shape)


def _join(*values: Any, separator: bytes) -> Array | fastrec.Bytes:
    parts = [each if isinstance(each, fastrec.Bytes) else as_array(each) for each in values]
    shaped = [part.shape for part in parts if part.shape]
    for shape in shaped:
        if shape != shaped[0]:
            shapes = f"{in_messages(shaped[0])} vs. {in_messages(shape)}"
            raise invalid(f"Input shapes do not match: {shapes}")
    return _rows_joined(parts, separator)


def _join_spec(specs: Sequence[Any], *_: Any, separator: bytes) -> list[TypeSpec]:
    shape: Any = TensorShape([])
    for spec in specs:
        if spec.shape.ndims != 0:
            if shape.ndims and not shape.is_compatible_with(spec.shape):
                raise ValueError(
                    f"Input shapes do not match: {shape} and {spec.shape} for 'StringJoin'"
                )
            shape = spec.shape if shape.ndims == 0 else shape.merge_with(spec.shape)
    return [TensorSpec(shape, string)]


def _join_block(_: int, *blocks: Block, separator: bytes) -> Any:
    values = [each.value for each in blocks]
    if not all(isinstance(value, (np.ndarray, fastrec.Bytes, bytes)) for value in values):
        return None
    parts = [as_array(value) if isinstance(value, bytes) else value for value in values]
    if any(len(part.shape) > block.many for part, block in zip(parts, blocks, strict=True)):
        return None
    return _rows_joined(parts, separator)


JOIN = Op("StringJoin", _join, _join_spec, _join_block)


def _joined_first(axes: Array, rank: int) -> list[int]:
    found: list[int] = []
    for axis in axes.reshape(-1).tolist():
        if not -rank <= axis < rank:
            text = f"Invalid reduction dimension {axis} for input with {rank} dimension(s)"
            raise OutOfRangeError(None, None, text)
        if axis % rank in found:
            raise invalid(f"Duplicate reduction dimension {axis}")
        found.append(axis % rank)
    return found


def _reduce_join(
    value: Any, *axes: Array, keep_dims: bool, separator: bytes
) -> Array | fastrec.Bytes | bytes:
    texts = as_texts(value)
    x = as_array(value) if texts is None else texts
    rank = len(x.shape)
    # The first of several axes is joined first, so it must vary fastest.
    places = _joined_first(axes[0], rank)[::-1] if axes else list(range(rank))
    rest = [d for d in range(rank) if d not in places]
    count = int(np.prod([x.shape[d] for d in places]))
    if texts is not None and [*rest, *places] == list(range(rank)) and rest:
        splits = np.arange(math.prod([x.shape[d] for d in rest]) + 1) * count
        data, offsets = _tensor.join_text_rows(texts, splits, separator)
        sizes = [1 if d in places and keep_dims else n for d, n in enumerate(x.shape)]
        return fastrec.Bytes(data, offsets, tuple(sizes if keep_dims else sizes[: len(rest)]))
    if texts is not None and places == list(range(rank)) and not keep_dims:
        data, _ = _tensor.join_text_rows(texts, np.array([0, count]), separator)
        return data.tobytes()
    x = as_array(x)
    rows = x.transpose([*rest, *places]).reshape([*[x.shape[d] for d in rest], count])
    flat = np.empty(int(np.prod(rows.shape[:-1])), object)
    flat[:] = [separator.join(row) for row in rows.reshape(flat.size, count).tolist()]
    sizes = [1 if d in places else n for d, n in enumerate(x.shape)]
    return flat.reshape(sizes if keep_dims else rows.shape[:-1])


def _reduce_join_spec(
    specs: Sequence[Any], raws: Sequence[Any], *, keep_dims: bool, separator: bytes
) -> list[TypeSpec]:
    sizes, known = specs[0].shape.sizes, None
    if len(raws) == 1:
        axes: Any = range(len(sizes or ()))
    else:
        axes = constant_of(raws[1])
    if len(raws) == 1 and not keep_dims:
        known = []
    elif sizes is not None and axes is not None:
        known = sizes_left(sizes, axes, keep_dims)
    return [TensorSpec(known, string)]


REDUCE_JOIN = Op("ReduceJoin", _reduce_join, _reduce_join_spec)
