# SPDX-License-Identifier: Apache-2.0
"""Convert records to rows: the values of every feature, without a specification.

A block of records is surveyed and parsed natively to one :class:`~fastrec.Ragged` column per
feature. If this is not possible, because records are not Examples or differ in the kind of a
feature, the block is halved repeatedly, down to single records.
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
from fastrec.features.spec import RaggedFeature, plan_context, plan_frames

__all__ = ["Frames", "Piece", "Row", "pieces", "rows_of", "sequence_mask"]

Row = dict[str, Any]
"""Values by feature, sorted: a Bytes, an array, or Frames; those without values are left out."""

_MOST_CELLS = 1 << 18  # features x records; bounds the time for hostile names
_DTYPES: tuple[Any, ...] = (bytes, np.float32, np.int64)


class Frames(NamedTuple):
    """The values of a feature list, frame by frame."""

    frames: list[Any]


class Piece(NamedTuple):
    """Several records, and their columns; None if they are not Examples."""

    records: Bytes
    columns: dict[str, Ragged] | None


_Kinds = tuple[tuple[str, int], ...]


@lru_cache(maxsize=64)
def _schema(kinds: _Kinds, frames: bool = False) -> _core.Schema:
    features = {key: RaggedFeature(_DTYPES[kind]) for key, kind in kinds}
    return _core.Schema(plan_frames(features) if frames else plan_context(features))


def _columns(records: Bytes, names: Collection[str] | None) -> dict[str, Ragged]:
    survey = _core.Survey()
    survey.add(records)
    seen = survey.counts()
    if sum(map(len, seen)) * len(records) > _MOST_CELLS and len(records) > 1:
        raise ExampleParseError("too many features for so many records at once")
    context, lists = (_kinds(counts, names) for counts in seen)
    if both := {key for key, _ in context}.intersection(key for key, _ in lists):
        raise ExampleParseError(f"feature {min(both)!a} is also a feature list")
    if lists:
        found = _core.parse_sequences(_schema(context), _schema(lists, frames=True), records)
        return dict(sorted({**found[0], **found[1]}.items()))
    return _schema(context).parse(records) if context else {}


def _kinds(seen: dict[bytes, Any], names: Collection[str] | None) -> _Kinds:
    """Return the kind of each feature; bytes if no record has a value."""
    kinds = []
    for raw, (counts, *_) in sorted(seen.items()):
        key = raw.decode("utf-8", "surrogateescape")
        found = [kind for kind in range(3) if counts[kind + 1]]
        if names is not None and key not in names:
            continue
        if len(found) > 1:
            raise ExampleParseError(f"feature {key!a} is of several kinds")
        kinds.append((key, found[0] if found else 0))
    return tuple(kinds)


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
    """Yield the values of each record; None for a record that is not an Example."""
    for piece in pieces(records, names):
        if piece.columns is None:
            yield from (_message_row(record, names) for record in piece.records)
            continue
        items = [
            (name, column.values, column.row_splits.tolist())
            for name, column in piece.columns.items()
        ]
        for index in range(len(piece.records)):
            row = {
                name: _row_values(values, splits[index], splits[index + 1])
                for name, values, splits in items
                if splits[index] < splits[index + 1]
            }
            # A message with only unknown fields is of another kind.
            yield None if not row and is_other(piece.records[index]) else row


def _row_values(values: Any, begin: int, end: int) -> Any:
    if isinstance(values, Ragged):
        return Frames([values[number] for number in range(begin, end)])
    return values[begin:end]


def is_other(record: bytes) -> bool:
    """Return whether a record without values is something other than an empty Example."""
    return bool(record) and record[0] not in (0x0A, 0x12)


def _message_row(record: bytes, names: Collection[str] | None) -> Row | None:
    """Return the values of a SequenceExample with frames of several kinds, or repeated names.

    A feature of the context with the name of a feature list is called ``NAME (context)``.
    """
    from fastrec.train import SequenceExample

    try:
        message = SequenceExample.FromString(record)
    except Exception:  # the class of protobuf's error depends on its version
        return None
    lists = message.feature_lists.feature_list
    if not lists:
        return None
    context = message.context.feature
    row = {
        f"{name} (context)" if name in lists else name: _values(context[name])
        for name in context
        if context[name].WhichOneof("kind")
    }
    row |= {name: Frames([_values(feature) for feature in lists[name].feature]) for name in lists}
    return {name: row[name] for name in sorted(row) if names is None or name in names}


def _values(feature: Any) -> Any:
    kind = feature.WhichOneof("kind")
    if kind is None or kind == "bytes_list":
        return Bytes.from_list(list(feature.bytes_list.value))
    dtype = np.float32 if kind == "float_list" else np.int64
    return np.array(getattr(feature, kind).value, dtype)


def sequence_mask(records: Bytes) -> NDArray[np.bool_]:
    """Return a mask of the records that contain feature lists.

    A SequenceExample begins with these tags if its fields are written in order, as every library
    does.
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
    # Python's integers do not overflow, but NumPy's do; positions outside the record have no tag.
    return np.asarray(_byte(data, place + np.where(context, size, 0), ends) == 0x12, np.bool_)


def _byte(data: NDArray[np.uint8], places: NDArray[Any], ends: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes at given positions; 0 for those outside their record."""
    inside = places < ends
    found = np.zeros(len(places), np.uint8)
    found[inside] = data[places[inside]]
    return found
