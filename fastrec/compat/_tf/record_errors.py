# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's errors for damaged records, and for Examples that do not fit their features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastrec import ExampleParseError
from fastrec.errors import CorruptRecordError, FastrecError, LimitExceededError

from .dtypes import short_name
from .errors import OpError, translated
from .features import Checked, Dense
from .shape import in_messages

_HEADER = 12


def data_error(error: Exception, *, at: int = 0, compressed: bool = False) -> OpError:
    """Return TensorFlow's error, with its message, for an error of :class:`fastrec.Reader`.

    Parameters
    ----------
    error : Exception
    at : int
        The file offset at which reading began.
    compressed : bool
        Whether the bytes came from a compressed stream.
    """
    if not isinstance(error, FastrecError):
        return translated(error)
    kind = getattr(error, "kind", "")
    place = at + (error.offset or 0)
    if isinstance(error, LimitExceededError):
        text = "record size too large"
    elif kind == "compression":
        text = f"inflate() failed with error -3: {error}"
    elif kind.startswith("torn"):
        why = "EOF reached" if compressed else "Read less bytes than requested"
        text = f"truncated record at {place}' failed with {why}"
    elif kind == "data-crc":
        text = f"corrupted record at {place + _HEADER}"
    elif isinstance(error, CorruptRecordError):
        text = f"corrupted record at {place}"
        text += "" if place else " (Is this even a TFRecord file?)"
    else:
        return translated(error)
    found = translated(error, text)
    found.offset = place  # type: ignore[attr-defined]
    return found


_LISTS = {"int64": "int64_list", "float": "float_list", "string": "bytes_list"}
_NAMES = {"int64_list": "int64", "float_list": "float", "bytes_list": "string"}


def _kind(feature: Any) -> str | None:
    found: str | None = feature.WhichOneof("kind")
    return found


def _text(checked: Checked, record: bytes, where: str, single: bool, index: int) -> str | None:
    from fastrec import train

    example = train.Example()
    try:
        example.ParseFromString(record)
    except Exception:
        return f"Could not parse example input, value: '{record.decode('utf-8', 'replace')}'"
    found = example.features.feature
    name = "" if single else f"{where}, "
    # TensorFlow checks the features that are present first, then the missing ones.
    for present in (True, False):
        items: list[Any] = [*checked.dense, *checked.sparse]
        for item in items:
            if (item.key in found and _kind(found[item.key]) is not None) is not present:
                continue
            text = _missing(item, name) if not present else _wrong(item, found, name, single, index)
            if text is not None:
                return text
    return None


def _missing(item: Any, name: str) -> str | None:
    if isinstance(item, Dense) and not item.rows and item.feature.default_value is None:
        return (
            f"{name}Feature: {item.key} (data type: {short_name(item.dtype)}) is required but "
            f"could not be found."
        )
    return None


def _wrong(item: Any, found: Any, name: str, single: bool, index: int) -> str | None:
    feature = found[item.key]
    kind = _kind(feature) or ""
    wanted = short_name(item.dtype)
    at = f"Key: {item.key}.  " if single else f"{name}Key: {item.key}, Index: {index}.  "
    if kind != _LISTS[wanted]:
        if isinstance(item, Dense):
            return (
                f"{at}Data types don't match. Data type: {_NAMES[kind]} but expected type: {wanted}"
            )
        return f"{at}Data types don't match. Expected type: {wanted}, Actual type: {_NAMES[kind]}"
    if not isinstance(item, Dense):
        return None
    count = len(getattr(feature, kind).value)
    total = int(np.prod(item.shape, dtype=np.int64))
    if item.rows:
        return _uneven(item, at, count, total, single)
    return None if count == total else _miscounted(item, at, kind, count, total, single)


def _miscounted(item: Dense, at: str, kind: str, count: int, total: int, single: bool) -> str:
    too_many_strings = kind == "bytes_list" and count > total
    if single:
        what = (
            f"Parsing {kind} failed." if too_many_strings else f"Some {kind} slice was not parsed."
        )
        return f"{at}Can't parse serialized Example: {what}"
    if too_many_strings:
        return f"{at}Can't parse serialized Example."
    return (
        f"{at}Number of {kind[:-5]} values != expected.  Values size: {count} but output shape: "
        f"{in_messages(item.shape)}"
    )


def _uneven(item: Dense, at: str, count: int, total: int, single: bool) -> str | None:
    if count % total == 0:
        return None
    if single:
        return (
            f"Error while parsing feature with key {item.key}: number of elements should be "
            f"divisible by {total}, found {count} instead"
        )
    kind = _LISTS[short_name(item.dtype)][:-5]
    return (
        f"{at}Number of {kind} values is not a multiple of stride length. Saw {count} values but "
        f"output shape is: {in_messages([None, *item.shape])}"
    )


def parse_failure(
    error: ExampleParseError,
    checked: Checked,
    records: Sequence[bytes],
    names: Sequence[bytes] = (),
    single: bool = False,
) -> OpError:
    """Return the error to raise from `error` if some records could not be parsed."""
    index = error.record or 0
    name = names[index].decode("utf-8", "replace") if index < len(names) else "<unknown>"
    text = None
    if index < len(records):
        text = _text(checked, bytes(records[index]), f"Name: {name}", single, index)
    return translated(error, text)


_SEQUENCES = {"int64": "int64_list", "float": "float_list", "string": "bytes_list"}


def _count(feature: Any) -> int:
    kind = feature.WhichOneof("kind")
    return 0 if kind is None else len(getattr(feature, kind).value)


def _size(item: Dense) -> int:
    return int(np.prod(item.shape, dtype=np.int64))


def _misfits(feature: Any, item: Any) -> bool:
    kind = feature.WhichOneof("kind")
    return kind is not None and kind != _SEQUENCES[short_name(item.dtype)]


def _in_context(item: Dense, examples: Sequence[Any], index: int, name: str) -> str | None:
    contexts = [example.context.feature for example in examples]
    found, wanted, kind = contexts[index], _size(item), short_name(item.dtype)
    present = item.key in found
    if present and _misfits(found[item.key], item):
        at = f"Name: {name}, Context feature: {item.key}.  "
        return f"{at}Data types don't match. Expected type: {kind}"
    default = getattr(item.feature, "default_value", None)
    if (present and _count(found[item.key]) == wanted) or (not present and default is not None):
        return None
    counts = [_count(each[item.key]) for each in contexts if item.key in each]
    most = max(counts, default=0) if default is None else max([*counts, wanted])
    if most != wanted:
        at = f"Inconsistent max number of elements for feature {item.key}: "
        return f"{at}expected {wanted}, but found {most}"
    if present:
        return f"Unexpected number of elements in example {name}"
    return f"Feature: {item.key} (data type: {kind}) is required but could not be found."


def _in_frames(item: Dense, examples: Sequence[Any], index: int, name: str) -> str | None:
    lists = [example.feature_lists.feature_list for example in examples]
    if item.key not in lists[index]:
        if getattr(item.feature, "allow_missing", True):
            return None
        return (
            f"Name: {name}, Feature list '{item.key}' is required but could not be found.  Did you "
            "mean to include it in feature_list_dense_missing_assumed_empty or "
            "feature_list_dense_defaults?"
        )
    wanted = _size(item)
    frames = lists[index][item.key].feature
    for number, frame in enumerate(frames):
        if _misfits(frame, item):
            at = f"Name: {name}, Feature list: {item.key}, Index: {number}.  "
            return f"{at}Data types don't match. Expected type: {short_name(item.dtype)}"
    totals = [sum(map(_count, each[item.key].feature)) for each in lists if item.key in each]
    if max(totals) % wanted:
        at = f"Feature list '{item.key}' has an unexpected number of values.  "
        shape = in_messages([None, *item.shape])
        return f"{at}Total values size: {max(totals)} is not consistent with output shape: {shape}"
    for number, frame in enumerate(frames):
        if _count(frame) != wanted:
            return (
                f"Name: {name}, Key: {item.key}, Index: {number}.  Number of values != expected.  "
                f"values size: {_count(frame)} but output shape: {in_messages(item.shape)}"
            )
    return None


def _reason(
    context: Checked, frames: Checked, rows: Sequence[bytes], index: int, name: str
) -> str | None:
    from google.protobuf.message import DecodeError

    from fastrec.train import SequenceExample

    examples = []
    for number, row in enumerate(rows):
        try:
            examples.append(SequenceExample.FromString(bytes(row)))
        except DecodeError:
            if number == index:
                return f"Invalid protocol message input, example id: {name}"
            examples.append(SequenceExample())
    for items, look in ((context.dense, _in_context), (frames.dense, _in_frames)):
        for item in items:
            if (text := look(item, examples, index, name)) is not None:
                return text
    return None


def sequence_failure(
    error: ExampleParseError,
    context: Checked,
    frames: Checked,
    rows: Sequence[bytes],
    names: Sequence[bytes] = (),
) -> OpError:
    """Return the error to raise from `error` if some SequenceExamples could not be parsed."""
    index = error.record or 0
    name = names[index].decode("utf-8", "replace") if index < len(names) else "<unknown>"
    text = _reason(context, frames, rows, index, name) if index < len(rows) else None
    return translated(error, text)
