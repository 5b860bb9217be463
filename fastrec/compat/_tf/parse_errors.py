# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's messages for records that cannot be parsed.

fastrec's own message is more specific, and remains the cause of the error. But programs match
TensorFlow's messages, so a record that cannot be parsed is examined once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastrec import ExampleParseError

from .dtypes import short_name
from .errors import OpError, translated
from .features import Checked, Dense
from .shape import in_messages

__all__ = ["parse_failure"]

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
