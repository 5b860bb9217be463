# SPDX-License-Identifier: Apache-2.0
"""Convert values to JSON: complete for programs, and shortened for people."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastrec.cli.report import count_text
from fastrec.cli.rows import Frames, Row
from fastrec.columns import Bytes
from fastrec.records.content import image_format, image_size

__all__ = ["brief", "brief_row", "number_text", "whole", "whole_row"]

_MOST_VALUES = 8  # values of a list that is shown as a whole
_ENDS = 3  # values at each end of a longer list
_MOST_TEXT = 80  # characters of a text that is shown as a whole
_MOST_IN_LIST = 24  # largest number of strings of a shown list
_CERTAIN = ("JPEG", "PNG", "GIF")  # other formats begin as texts or sounds may


def whole_row(row: Row | None, record: bytes) -> dict[str, Any]:
    """Convert a record to complete JSON, for programs."""
    if row is None:
        return {"record": _whole_bytes(record)}
    return {name: whole(values) for name, values in row.items()}


def brief_row(row: Row | None, record: bytes) -> Any:
    """Convert a record to short JSON, for people."""
    if row is None:
        return {"record": brief_bytes(record)}
    return {name: brief(values) for name, values in row.items()}


def whole(values: Any) -> list[Any]:
    """Return the values as a list, for any number of values.

    Text is a string and other bytes are ``{"base64": ...}``. Numbers that JSON cannot represent are
    the strings that protobuf writes. A float is the shortest number that reads as the same float32.
    """
    if isinstance(values, Frames):
        return [whole(frame) for frame in values.frames]
    if isinstance(values, Bytes):
        return [_whole_bytes(value) for value in values]
    return _floats(values) if values.dtype.kind == "f" else list(values.tolist())


def _whole_bytes(value: bytes) -> Any:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def _floats(values: NDArray[np.float32]) -> list[Any]:
    if np.isfinite(values).all():
        return [float(text) for text in values.astype("U32").tolist()]
    names = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    return [names.get(text) or float(text) for text in values.astype("U32").tolist()]


def brief(values: Any) -> Any:
    """Return one value as a scalar and several as a list; summarize long lists and bytes."""
    if isinstance(values, Frames):
        return _brief_list([brief(frame) for frame in values.frames], "frames")
    if isinstance(values, Bytes):
        if len(values) > _MOST_VALUES:
            some = [*values[:_ENDS], *values[len(values) - _ENDS :]]
            texts = [brief_bytes(value, _MOST_IN_LIST) for value in some]
            return _brief_list(texts, "strings", len(values))
        items: list[Any] = [brief_bytes(value) for value in values]
        return items[0] if len(items) == 1 else items
    if len(values) <= _MOST_VALUES:
        items = whole(values)
        return items[0] if len(items) == 1 else items
    ends = np.concatenate([values[:_ENDS], values[len(values) - _ENDS :]])
    if values.dtype == np.bool_:
        return _brief_list(["true" if each else "false" for each in ends], "booleans", len(values))
    noun = "floats" if values.dtype.kind == "f" else "integers"
    return _brief_list(whole(ends), noun, len(values))


def _brief_list(items: list[Any], noun: str, count: int | None = None) -> Any:
    """Summarize a list; `items` are all of it, or with `count` its first and last items."""
    total = len(items) if count is None else count
    if total <= _MOST_VALUES and count is None:
        return items
    first, last = items[:_ENDS], items[len(items) - _ENDS :]
    shown = ("; " if noun == "strings" else " ").join([*map(str, first), "...", *map(str, last)])
    return f"[{shown}] {count_text(total)} {noun}"


def number_text(value: float, digits: int = 4) -> str:
    """Format a number with at least `digits` significant digits, and an integer with all digits.

    Only extreme numbers have exponents: ``26912``, ``0.4927``, ``1.2e-07``.
    """
    if isinstance(value, int) or not math.isfinite(value) or value == 0:
        return f"{value:g}" if isinstance(value, float) else str(value)
    places = digits - 1 - math.floor(math.log10(abs(value)))
    if not -11 <= places <= digits + 3:
        return f"{value:.{digits}g}"
    text = f"{value:.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def brief_bytes(value: bytes, most: int = _MOST_TEXT) -> str:
    """Return a text, the size of an image, or the first bytes."""
    kind = image_format(value)
    size = image_size(value) if kind else None
    if kind in _CERTAIN or size:
        extent = f" {size[0]}x{size[1]}" if size else ""
        return f"{kind}{extent}, {count_text(len(value))} bytes"
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = ""
    printable = text.replace("\n", "").replace("\t", "").replace("\r", "").isprintable()
    if not value or (text and printable):
        if len(text) <= most:
            return text
        length = f" ({count_text(len(text))} characters)" if most == _MOST_TEXT else ""
        return f"{text[: most * 3 // 4]}...{length}"
    more = " ..." if len(value) > 8 else ""
    return f"{count_text(len(value))} bytes: {value[:8].hex(' ')}{more}"
