# SPDX-License-Identifier: Apache-2.0
"""Records as rows: the values of every feature, without a specification.

A block of records is surveyed and parsed natively into one :class:`~fastrec.Ragged` column a
feature. Where that cannot be, because records are no Examples or differ in the kind of a feature,
the block is halved until it can, down to single records.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastrec import _core
from fastrec.columns import Bytes, Ragged
from fastrec.errors import ExampleParseError
from fastrec.features.spec import RaggedFeature, plan_example
from fastrec.parsing.infer import kinds_of

__all__ = ["Frames", "Piece", "Row", "pieces", "rows_of", "sequence_mask"]

Row = dict[str, Any]
"""Values by feature, sorted: a Bytes, an array, or Frames; those without values are left out."""

_MOST_CELLS = 1 << 18  # features x records, so that hostile names cost no quadratic time
_DTYPES: tuple[Any, ...] = (bytes, np.float32, np.int64)


class Frames(NamedTuple):
    """The values of a feature list, frame by frame."""

    frames: list[Any]


class Piece(NamedTuple):
    """Some records, and their columns; None if they are no Examples."""

    records: Bytes
    columns: dict[str, Ragged] | None


@lru_cache(maxsize=64)
def _schema(kinds: tuple[tuple[str, int], ...]) -> _core.Schema:
    return _core.Schema(plan_example({key: RaggedFeature(_DTYPES[kind]) for key, kind in kinds}))


def _columns(records: Bytes, names: Collection[str] | None) -> dict[str, Ragged]:
    seen = kinds_of(records)
    if len(seen) * len(records) > _MOST_CELLS and len(records) > 1:
        raise ExampleParseError("too many features for so many records at once")
    kinds = []
    for key, counts in sorted(seen.items()):
        found = [kind for kind in range(3) if counts[kind + 1]]
        if names is not None and key not in names:
            continue
        if len(found) > 1:
            raise ExampleParseError(f"feature {key!a} is of several kinds")
        kinds += [(key, kind) for kind in found]
    return _schema(tuple(kinds)).parse(records) if kinds else {}


def pieces(records: Bytes, names: Collection[str] | None = None) -> Iterator[Piece]:
    """Yield the records in order, in pieces that have columns, of all features or of `names`."""
    waiting = [records]
    while waiting:
        some = waiting.pop()
        try:
            yield Piece(some, _columns(some, names))
        except ExampleParseError:
            if len(some) == 1:
                yield Piece(some, None)
                continue
            half = len(some) // 2
            waiting += [some[half:], some[:half]]


def rows_of(records: Bytes, names: Collection[str] | None = None) -> Iterator[Row | None]:
    """Yield the values of each record; None for one that is no Example and no SequenceExample."""
    for piece in pieces(records, names):
        if piece.columns is None:
            yield from [None] * len(piece.records)
            continue
        lists = sequence_mask(piece.records)
        items = [
            (name, column.values, column.row_splits.tolist())
            for name, column in piece.columns.items()
        ]
        for index in range(len(piece.records)):
            row = {
                name: values[splits[index] : splits[index + 1]]
                for name, values, splits in items
                if splits[index] < splits[index + 1]
            }
            if lists[index]:
                more = _feature_lists(piece.records[index], names)
                if more is None:
                    yield None
                    continue
                row = dict(sorted({**row, **more}.items()))
            # A message of fields that no Example has is of another kind.
            yield None if not row and _is_other(piece.records[index]) else row


def _is_other(record: bytes) -> bool:
    """Whether a record without values is something else than an Example without values."""
    return bool(record) and record[0] not in (0x0A, 0x12)


def _feature_lists(record: bytes, names: Collection[str] | None) -> Row | None:
    """The feature lists of a record; None if it is no SequenceExample after all."""
    from fastrec.train import SequenceExample

    try:
        message = SequenceExample.FromString(record)
    except Exception:  # the class of protobuf's error depends on its version
        return None
    lists = message.feature_lists.feature_list
    return {
        name: Frames([_values(feature) for feature in lists[name].feature])
        for name in lists
        if names is None or name in names
    }


def _values(feature: Any) -> Any:
    kind = feature.WhichOneof("kind")
    if kind is None or kind == "bytes_list":
        return Bytes.from_list(list(feature.bytes_list.value))
    dtype = np.float32 if kind == "float_list" else np.int64
    return np.array(getattr(feature, kind).value, dtype)


def sequence_mask(records: Bytes) -> NDArray[np.bool_]:
    """Tell which records have feature lists after their context, or instead of it.

    The tags are those that a SequenceExample begins with when it is written in the order of its
    fields, as every library does.
    """
    data, begins, ends = records.data, records.offsets[:-1], records.offsets[1:]
    place = begins.astype(np.int64)
    context = _byte(data, place, ends) == 0x0A
    size, shift, going = np.zeros_like(place), 0, context.copy()
    place = place + context
    for shift in range(0, 35, 7):
        byte = np.where(going, _byte(data, place, ends), 0).astype(np.int64)
        size += (byte & 0x7F) << shift
        place = place + going
        going &= byte >= 0x80
    # Python's numbers have no limits, but these have: what is out of the record has no tag.
    return np.asarray(_byte(data, place + np.where(context, size, 0), ends) == 0x12, np.bool_)


def _byte(data: NDArray[np.uint8], places: NDArray[Any], ends: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes at some places; 0 for those that are out of their record."""
    inside = places < ends
    found = np.zeros(len(places), np.uint8)
    found[inside] = data[places[inside]]
    return found
