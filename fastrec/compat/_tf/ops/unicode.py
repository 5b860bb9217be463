# SPDX-License-Identifier: Apache-2.0
"""Split strings into characters, join characters, and convert between encodings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import fastrec
from fastrec import _tensor

from ..dtypes import int32, int64, string
from ..errors import invalid
from ..kernels import unicode
from ..kernels.unicode import Errors, scripts_of
from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array, as_texts
from . import Array, Op
from .arithmetic import unary
from .cutting import in_rows
from .strings import mapped

ENCODINGS = ("UTF-8", "UTF-16-BE", "UTF-32-BE")
ERRORS = ("strict", "replace", "ignore")


def _texts(value: Any) -> list[bytes]:
    found: list[bytes] = as_array(value).reshape(-1).tolist()
    return found


def _splits(counts: Any) -> Array:
    return np.cumsum([0, *counts], dtype=np.int64)


def _objects(values: Sequence[bytes]) -> Array:
    found = np.empty(len(values), object)
    found[:] = values
    return found


def in_parts(
    name: str,
    parts: Callable[..., Sequence[Any]],
    dtypes: Sequence[Any],
    many: Callable[..., tuple[Any, ...] | None],
) -> Op:
    """Return an operation that splits strings into consecutive parts and returns the row splits.

    `parts` takes a string and attributes, and returns an array or list for each of the types.
    `many` takes Bytes and attributes, and returns all results, or None if it cannot process them.
    """

    def kernel(x: Any, **attributes: Any) -> tuple[Any, ...]:
        texts = as_texts(x)
        result = None if texts is None else many(texts, **attributes)
        if result is not None:
            return result
        found = [parts(text, **attributes) for text in _texts(x)]
        columns: list[Any] = []
        for number, dtype in enumerate(dtypes):
            pieces = [each[number] for each in found]
            if dtype is string:
                columns.append(_objects([piece for row in pieces for piece in row]))
            else:
                columns.append(np.concatenate([np.empty(0, dtype.numpy), *pieces]))
        return *columns, _splits([len(each[0]) for each in found])

    def infer(specs: Sequence[Any], *_: Any, **__: Any) -> list[TypeSpec]:
        count = specs[0].shape.num_elements()
        rows = TensorSpec([None if count is None else count + 1], int64)
        return [*(TensorSpec([None], dtype) for dtype in dtypes), rows]

    return Op(name, kernel, infer, kinds="O")


def _points(text: bytes, *, encoding: str, errors: Errors, wants_offsets: bool) -> Any:
    return unicode.decoded(text, encoding, errors, wants_offsets)


def _characters(text: bytes, *, encoding: str, errors: Errors, wants_offsets: bool) -> Any:
    return unicode.characters(text, encoding, errors, wants_offsets)


def _characters_of_utf8(texts: fastrec.Bytes, encoding: str, errors: Errors) -> Any:
    """Return code points, offsets and row splits of valid UTF-8, or None for other texts."""
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8") or errors.control:
        return None
    try:
        return _tensor.decode_utf8(texts)
    except IndexError:
        return None


def _many_points(
    texts: fastrec.Bytes, *, encoding: str, errors: Errors, wants_offsets: bool
) -> tuple[Any, ...] | None:
    characters = _characters_of_utf8(texts, encoding, errors)
    if characters is None:
        return None
    points, begins, splits = characters
    return (points, *_own_offsets(texts, begins, splits, wants_offsets), splits)


def _many_characters(
    texts: fastrec.Bytes, *, encoding: str, errors: Errors, wants_offsets: bool
) -> tuple[Any, ...] | None:
    characters = _characters_of_utf8(texts, encoding, errors)
    if characters is None:
        return None
    _, begins, splits = characters
    column = fastrec.Bytes(texts.data, begins)
    return (column, *_own_offsets(texts, begins, splits, wants_offsets), splits)


def _own_offsets(texts: fastrec.Bytes, begins: Array, splits: Array, wanted: bool) -> list[Array]:
    """Return the offset of each character in its string, or an empty list unless `wanted`."""
    return [begins[:-1] - np.repeat(texts.offsets[:-1], np.diff(splits))] if wanted else []


def _many_bytes(texts: fastrec.Bytes) -> tuple[Any, ...]:
    begin, end = int(texts.offsets[0]), int(texts.offsets[-1])
    return fastrec.Bytes(texts.data, np.arange(begin, end + 1)), texts.offsets - begin


DECODE = in_parts("UnicodeDecode", _points, [int32], _many_points)
DECODE_WITH_OFFSETS = in_parts("UnicodeDecodeWithOffsets", _points, [int32, int64], _many_points)
SPLIT = in_parts("UnicodeSplit", _characters, [string], _many_characters)
SPLIT_WITH_OFFSETS = in_parts(
    "UnicodeSplitWithOffsets", _characters, [string, int64], _many_characters
)
BYTES_SPLIT = in_parts(
    "BytesSplit",
    lambda text: ([text[i : i + 1] for i in range(len(text))],),
    [string],
    _many_bytes,
)


def _transcoded(text: bytes, *, encoding: str, output: str, errors: Errors) -> bytes:
    points, _ = unicode.decoded(text, encoding, errors)
    if errors.policy == "strict" and errors.control and _has_control(text, encoding):
        raise invalid(unicode.MALFORMED)
    return unicode.encoded(points, output, errors)


def _has_control(text: bytes, encoding: str) -> bool:
    points, _ = unicode.decoded(text, encoding, Errors("replace", 0xFFFD, False))
    return bool((points <= 0x1F).any())


_WIDE = {"UTF-16-BE": ">u2", "UTF-32-BE": ">i4"}  # one number for each character below 65536


def _many_transcoded(
    texts: fastrec.Bytes, *, encoding: str, output: str, errors: Errors
) -> fastrec.Bytes | None:
    characters = _characters_of_utf8(texts, encoding, errors)
    if characters is None or (output not in _WIDE and output != "UTF-8"):
        return None
    points, _, splits = characters
    if output == "UTF-8":
        return texts
    if output == "UTF-16-BE" and (points > 0xFFFF).any():
        return None
    data = points.astype(_WIDE[output]).view(np.uint8)
    return fastrec.Bytes(data, splits * int(_WIDE[output][2]), texts.shape)


TRANSCODE = mapped("UnicodeTranscode", _transcoded, many=_many_transcoded)


def _many_joined(points: Array, *splits: Array) -> fastrec.Bytes | None:
    """Encode rows of code points as UTF-8; return None if a code point is invalid."""
    is_wrong = (points < 0) | (points > 0x10FFFF) | ((points >= 0xD800) & (points <= 0xDFFF))
    if is_wrong.any() or points.ndim < 1:
        return None
    if splits:
        return _tensor.encode_utf8(points, splits[0])
    rows = math.prod(points.shape[:-1])
    texts = _tensor.encode_utf8(points.reshape(-1), np.arange(rows + 1) * points.shape[-1])
    return fastrec.Bytes(texts.data, texts.offsets, points.shape[:-1])


def _joined(points: Array, *splits: Array, encoding: str, errors: Errors) -> Any:
    """Encode rows of code points as strings; the row splits or the last axis define the rows."""
    texts = _many_joined(points, *splits) if encoding == "UTF-8" else None
    if texts is not None:
        return texts
    if splits:
        ends = splits[0].tolist()
        rows = [points[a:b] for a, b in pairwise(ends)]
        return _objects([unicode.encoded(row, encoding, errors) for row in rows])
    flat = points.reshape(int(np.prod(points.shape[:-1])), points.shape[-1])
    found = _objects([unicode.encoded(row, encoding, errors) for row in flat])
    return found.reshape(points.shape[:-1])


def _joined_spec(specs: Sequence[Any], *_: Any, **__: Any) -> list[TypeSpec]:
    if len(specs) > 1:
        count = specs[1].shape.num_elements()
        return [TensorSpec([None if count is None else count - 1], string)]
    sizes = specs[0].shape.sizes
    return [TensorSpec(None if sizes is None else sizes[:-1], string)]


ENCODE = Op("UnicodeEncode", _joined, _joined_spec)


def _outer(x: Any, *, axis: int) -> Array:
    """Return the row splits of an axis of a dense tensor whose outer axes are flattened."""
    shape = as_array(x).shape
    found: Array = np.arange(math.prod(shape[:axis]) + 1, dtype=np.int64) * shape[axis]
    return found


def _outer_spec(specs: Sequence[Any], *_: Any, axis: int) -> list[TypeSpec]:
    sizes = specs[0].shape.sizes[:axis]
    count = None if None in sizes else int(np.prod(sizes)) + 1
    return [TensorSpec([count], int64)]


OUTER_SPLITS = Op("OuterRowSplits", _outer, _outer_spec)
ALL_OF = Op(
    "RowSplitsOfAll",
    lambda x: np.array([0, len(as_array(x))], np.int64),
    lambda specs, *_: [TensorSpec([2], int64)],
)
FLAT = Op(
    "Flat",
    lambda x: as_array(x).reshape(-1),
    lambda specs, *_: [TensorSpec([specs[0].shape.num_elements()], specs[0].dtype)],
)


def _ngrams_of(row: list[bytes], widths: Sequence[int], how: tuple[Any, ...]) -> list[bytes]:
    separator, left, right, padding, keep_short = how
    found: list[bytes] = []
    for width in widths:
        pad = min(width - 1 if padding < 0 else padding, width - 1)
        whole = [left] * pad + row + [right] * pad
        count = max(0, len(whole) - width + 1)
        found += [separator.join(whole[i : i + width]) for i in range(count)]
    if keep_short and not found and row:
        pad = max(padding, 0)
        found.append(separator.join([left] * pad + row + [right] * pad))
    return found


def _ngrams(data: Any, splits: Array, *, widths: tuple[int, ...], how: tuple[Any, ...]) -> Any:
    texts, ends = _texts(data), splits.tolist()
    if not ends or ends[0] != 0 or ends[-1] != len(texts) or sorted(ends) != ends:
        raise invalid("Invalid split value, must be non-decreasing and end with the data")
    pairs = pairwise(ends)
    return in_rows([_ngrams_of(texts[a:b], widths, how) for a, b in pairs])


NGRAMS = Op(
    "StringNGrams",
    _ngrams,
    lambda specs, *_, **__: [TensorSpec([None], string), TensorSpec(specs[1].shape, int64)],
)
SCRIPT = unary("UnicodeScript", scripts_of, "i")


def _hashed(name: str, function: str) -> Op:
    """Return an operation that hashes each string into a bucket."""

    def many(texts: fastrec.Bytes, *, count: int, key: Sequence[int] = (0, 0)) -> Array:
        return (_tensor.hashes(function, texts, key) % np.uint64(count)).astype(np.int64)

    def one(text: bytes, **how: Any) -> int:
        return int(many(fastrec.Bytes.from_list([text]), **how)[0])

    return mapped(name, one, "int64", many)


HASH_BUCKET = _hashed("StringToHashBucket", "murmur")
HASH_BUCKET_FAST = _hashed("StringToHashBucketFast", "farm")
HASH_BUCKET_STRONG = _hashed("StringToHashBucketStrong", "sip")


def _segments_joined(x: Any, ids: Array, count: Array, *, separator: bytes) -> Any:
    texts, number = as_texts(x), int(count)
    inputs = as_array(x) if texts is None else texts
    if inputs.shape[: ids.ndim] != ids.shape:
        raise invalid(f"Segment_id shape {ids.shape} must be a prefix of {inputs.shape}")
    flat = ids.reshape(-1)
    if flat.size and not 0 <= flat.min() <= flat.max() < number:
        raise invalid(
            "segment_ids are not allowed to exceed num_segments or to have negative values."
        )
    rest = inputs.shape[ids.ndim :]
    if texts is not None and not rest:
        order = np.argsort(flat, kind="stable")
        splits = _splits(_tensor.count_segments(flat, number))
        data, offsets = _tensor.join_text_rows(texts.take(order), splits, separator)
        return fastrec.Bytes(data, offsets)
    rows = as_array(inputs).reshape(flat.size, int(np.prod(rest)))
    found: list[list[list[bytes]]] = [[[] for _ in range(rows.shape[1])] for _ in range(number)]
    for place, row in zip(flat.tolist(), rows.tolist(), strict=True):
        for parts, text in zip(found[place], row, strict=True):
            parts.append(text)
    joined = [separator.join(parts) for row in found for parts in row]
    return _objects(joined).reshape(number, *rest)


def _segments_spec(specs: Sequence[Any], *_: Any, **__: Any) -> list[TypeSpec]:
    sizes, rank = specs[0].shape.sizes, specs[1].shape.ndims
    if None not in (sizes, rank) and not specs[1].shape.is_compatible_with(sizes[:rank]):
        raise ValueError(f"Shapes {specs[1].shape} and {specs[0].shape} begin differently")
    known = None if sizes is None or rank is None else [None, *sizes[rank:]]
    return [TensorSpec(known, string)]


UNSORTED_SEGMENT_JOIN = Op("UnsortedSegmentJoin", _segments_joined, _segments_spec)
