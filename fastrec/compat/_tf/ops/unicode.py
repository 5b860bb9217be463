# SPDX-License-Identifier: Apache-2.0
"""Characters of strings: taken apart, put together, and converted from one encoding to another."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import fastrec
from fastrec import _tensor

from ..dtypes import int32, int64, string
from ..kernels import unicode
from ..kernels.scripts import scripts_of
from ..kernels.unicode import Errors
from ..specs import TensorSpec, TypeSpec
from ..tensor import as_array
from . import Array, Op, invalid
from .arithmetic import unary
from .cutting import in_rows
from .strings import mapped

ENCODINGS = ("UTF-8", "UTF-16-BE", "UTF-32-BE")
ERRORS = ("strict", "replace", "ignore")


def _texts(value: Any) -> list[bytes]:
    found: list[bytes] = as_array(value).reshape(-1).tolist()
    return found


def _splits(counts: Sequence[int]) -> Array:
    return np.cumsum([0, *counts], dtype=np.int64)


def _objects(values: Sequence[bytes]) -> Array:
    found = np.empty(len(values), object)
    found[:] = values
    return found


def in_parts(name: str, parts: Callable[..., Sequence[Any]], dtypes: Sequence[Any]) -> Op:
    """An operation that gives the parts of all strings, one after the other, and where each begins.

    `parts` gives, of a string and attributes, an array or list for each of the types.
    """

    def kernel(x: Any, **attributes: Any) -> tuple[Any, ...]:
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


DECODE = in_parts("UnicodeDecode", _points, [int32])
DECODE_WITH_OFFSETS = in_parts("UnicodeDecodeWithOffsets", _points, [int32, int64])
SPLIT = in_parts("UnicodeSplit", _characters, [string])
SPLIT_WITH_OFFSETS = in_parts("UnicodeSplitWithOffsets", _characters, [string, int64])
BYTES_SPLIT = in_parts(
    "BytesSplit", lambda text: ([text[i : i + 1] for i in range(len(text))],), [string]
)


def _transcoded(text: bytes, *, encoding: str, output: str, errors: Errors) -> bytes:
    points, _ = unicode.decoded(text, encoding, errors)
    if errors.policy == "strict" and errors.control and _has_control(text, encoding):
        raise invalid(unicode.MALFORMED)
    return unicode.encoded(points, output, errors)


def _has_control(text: bytes, encoding: str) -> bool:
    points, _ = unicode.decoded(text, encoding, Errors("replace", 0xFFFD, False))
    return bool((points <= 0x1F).any())


TRANSCODE = mapped("UnicodeTranscode", _transcoded)


def _joined(points: Array, *splits: Array, encoding: str, errors: Errors) -> Array:
    """The strings of rows of code points: of those between splits, or of the last dimension."""
    if splits:
        ends = splits[0].tolist()
        rows = [points[a:b] for a, b in pairwise(ends)]
        return _objects([unicode.encoded(row, encoding, errors) for row in rows])
    flat = points.reshape(int(np.prod(points.shape[:-1])), points.shape[-1])
    found = _objects([unicode.encoded(row, encoding, errors) for row in flat])
    texts: Array = found.reshape(points.shape[:-1])
    return texts


def _joined_spec(specs: Sequence[Any], *_: Any, **__: Any) -> list[TypeSpec]:
    if len(specs) > 1:
        count = specs[1].shape.num_elements()
        return [TensorSpec([None if count is None else count - 1], string)]
    sizes = specs[0].shape.sizes
    return [TensorSpec(None if sizes is None else sizes[:-1], string)]


ENCODE = Op("UnicodeEncode", _joined, _joined_spec)


def _outer(x: Any, *, axis: int) -> Array:
    """The row splits of a dimension of a dense tensor whose outer ones are flattened."""
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
    """The number of a bucket for each string, by its hash."""

    def many(texts: Any, *, count: int, key: Sequence[int] = (0, 0)) -> Array:
        given = texts if isinstance(texts, fastrec.Bytes) else texts.reshape(-1).tolist()
        found = _tensor.hashes(function, given, key) % np.uint64(count)
        return found.astype(np.int64)

    def one(text: bytes, **how: Any) -> int:
        return int(many(fastrec.Bytes.from_list([text]), **how)[0])

    return mapped(name, one, "int64", many)


HASH_BUCKET = _hashed("StringToHashBucket", "murmur")
HASH_BUCKET_FAST = _hashed("StringToHashBucketFast", "farm")
HASH_BUCKET_STRONG = _hashed("StringToHashBucketStrong", "sip")


def _segments_joined(x: Any, ids: Array, count: Array, *, separator: bytes) -> Array:
    inputs, number = as_array(x), int(count)
    if inputs.shape[: ids.ndim] != ids.shape:
        raise invalid(f"Segment_id shape {ids.shape} must be a prefix of {inputs.shape}")
    flat = ids.reshape(-1)
    if flat.size and not 0 <= flat.min() <= flat.max() < number:
        raise invalid(
            "segment_ids are not allowed to exceed num_segments or to have negative values."
        )
    rest = inputs.shape[ids.ndim :]
    rows = inputs.reshape(flat.size, int(np.prod(rest)))
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
