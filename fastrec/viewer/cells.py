# SPDX-License-Identifier: Apache-2.0
"""Convert values to cells of the viewer's page: text, numbers, plots, pixels, images and sounds.

Cells are data, which the page inserts as text; no content of a record becomes markup.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastrec.cli.rows import Frames, Row
from fastrec.cli.values import number_text, whole
from fastrec.columns import Bytes
from fastrec.records.content import image_size
from fastrec.records.content.values import media_content

__all__ = ["MEDIA", "cell", "cells", "frames_of_media", "media_of"]

MEDIA = {
    "JPEG": "image/jpeg", "PNG": "image/png", "GIF": "image/gif", "WebP": "image/webp",
    "BMP": "image/bmp", "WAV": "audio/wav", "FLAC": "audio/flac", "Ogg": "audio/ogg",
    "MP3": "audio/mpeg", "M4A": "audio/mp4", "MP4": "video/mp4", "WebM": "video/webm",
}  # fmt: skip
_MOST_VALUES = 12  # values of a list that a card shows
_BESIDE_PLOT = 4  # values that a card shows next to a plot of all
_MOST_TEXT = 400  # characters of a text in a card
_POINTS = 96  # points of a plot
_MOST_LINES = 16  # dimensions that are plotted as separate lines
_MOST_SIDE = 96  # pixels of the longer side of an array that is shown as an image
_MOST_MEDIA = 1 << 24  # bytes of an image or sound that is embedded in a single page


def media_of(value: bytes) -> str | None:
    """Return the format of an image, sound or video that browsers support."""
    content = media_content(value)
    kind = "" if content is None else content.name
    if kind in ("WebP", "BMP") and image_size(value) is None:
        return None
    return kind if kind in MEDIA else None


def cells(
    row: Row, shapes: Mapping[str, tuple[int, ...]], *, inline: bool, full: bool = False
) -> dict[str, Any]:
    """Return the cells of a record; `inline` cells contain their images, others load them later."""
    steps = _step_count(row)
    found = {}
    for name, values in row.items():
        is_of_steps = name.startswith("steps/") and isinstance(values, np.ndarray)
        if steps and is_of_steps and len(values) > steps:
            width, rest = divmod(len(values), steps)
            if rest == 0 and width <= _MOST_LINES:  # each step has `width` numbers
                values = Frames([*values.reshape(steps, width)])
        found[name] = cell(values, shapes.get(name), inline=inline, full=full)
    return found


def _step_count(row: Row) -> int:
    """Return the number of steps of an RLDS episode in one Example, or 0."""
    lengths = {len(values) for name, values in row.items() if name.startswith("steps/is_")}
    return lengths.pop() if len(lengths) == 1 else 0


def cell(
    values: Any, shape: tuple[int, ...] | None = None, *, inline: bool, full: bool = False
) -> dict[str, Any]:
    """Return one cell: ``{"t": kind, ...}``."""
    media = frames_of_media(values)
    if media is not None:
        values = media
    if isinstance(values, Frames):
        frames = [_short(frame) for frame in values.frames[: _MOST_VALUES if not full else 1000]]
        return {"t": "frames", "n": len(values.frames), "v": frames, "plots": _lines(values.frames)}
    if isinstance(values, Bytes):
        if len(values) == 1:
            return _bytes(values[0], shape, 0, inline, full)
        most = _MOST_VALUES if not full else 1000
        count = min(len(values), most)
        # An instruction that every step repeats is shown once.
        first = values[0] if len(values) else b""
        is_repeated = 1 < len(values) <= 10_000 and all(value == first for value in values)
        items = [
            _bytes(values[i], None, i, inline, full) for i in range(1 if is_repeated else count)
        ]
        return {"t": "list", "n": len(values), "v": items, "repeated": is_repeated}
    most = 4096 if full else _MOST_VALUES if len(values) <= _MOST_VALUES else _BESIDE_PLOT
    found: dict[str, Any] = {"t": "numbers", "n": len(values), "v": _texts(values[:most])}
    if len(values) > _MOST_VALUES:
        found["plot"] = _plot(values)
        side = math.isqrt(len(values))
        # Lists of integers are usually token ids, even if their number is a square.
        if side * side == len(values) and side >= 8 and values.dtype.kind == "f":
            found["pixels"] = _pixels(values.reshape(side, side))
    return found


def frames_of_media(values: Any) -> Bytes | None:
    """Return the values of a feature list whose frames are one image or sound each, or None."""
    if not isinstance(values, Frames) or not values.frames:
        return None
    if not all(isinstance(frame, Bytes) and len(frame) == 1 for frame in values.frames):
        return None
    if media_of(values.frames[0][0]) is None:
        return None
    return Bytes.from_list([frame[0] for frame in values.frames])


def _lines(frames: Sequence[Any]) -> list[dict[str, Any]]:
    """Return a line for each dimension of numeric frames of one size, such as actions."""
    width = len(frames[0]) if frames else 0
    if len(frames) < 2 or not 0 < width <= _MOST_LINES:
        return []
    if not all(isinstance(each, np.ndarray) and each.shape == (width,) for each in frames):
        return []
    return [_plot(column) for column in np.stack(frames, axis=1)]


def _short(values: Any) -> str:
    some = [str(each) for each in whole(values)[:6]]
    return ", ".join(some) + (", ..." if len(values) > 6 else "")


def _texts(values: NDArray[Any]) -> list[str]:
    """Convert numbers to text, because JavaScript would round 64-bit integers."""
    return [str(each) for each in whole(values)]


def _bytes(
    value: bytes, shape: tuple[int, ...] | None, index: int, inline: bool, full: bool
) -> dict[str, Any]:
    kind = media_of(value)
    if kind is not None:
        found: dict[str, Any] = {"t": MEDIA[kind].split("/")[0], "kind": kind, "n": len(value)}
        size = image_size(value) if found["t"] == "image" else None
        if size:
            found["w"], found["h"] = size
        if not inline:
            found["i"] = index
        elif len(value) <= _MOST_MEDIA:
            found["src"] = f"data:{MEDIA[kind]};base64,{base64.b64encode(value).decode()}"
        return found
    if shape is not None and math.prod(shape) == len(value):
        pixels = np.frombuffer(value, np.uint8).reshape(shape)
        if _is_image(shape):
            return {"t": "numbers", "n": len(value), "v": [], "pixels": _pixels(pixels),
                    "shape": list(shape)}  # fmt: skip
    most = _MOST_TEXT if not full else 100_000
    try:
        text = value.decode()
        if text.replace("\n", "").replace("\t", "").replace("\r", "").isprintable():
            return {"t": "text", "n": len(text), "v": text[:most]}
    except UnicodeDecodeError:
        pass
    return {"t": "bytes", "n": len(value), "v": value[: 16 if not full else 512].hex(" ")}


def _is_image(shape: tuple[int, ...]) -> bool:
    return len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3))


def _plot(values: NDArray[Any]) -> dict[str, Any]:
    """Return the points of a line through the values: the means of equal parts."""
    parts = np.array_split(values.astype(np.float64), min(_POINTS, len(values)))
    with np.errstate(all="ignore"):
        points = np.nan_to_num(np.array([part.mean() for part in parts]), posinf=0, neginf=0)
    low, high = float(points.min()), float(points.max())
    with np.errstate(all="ignore"):
        scaled = (points - low) / (high - low) if high > low else np.zeros(len(points))
    return {"v": np.round(np.nan_to_num(scaled), 3).tolist(), "low": number_text(low),
            "high": number_text(high)}  # fmt: skip


def _pixels(values: NDArray[Any]) -> dict[str, Any]:
    """Return a small image: grey, or RGB if it has three channels."""
    step = max(1, -(-max(values.shape[:2]) // _MOST_SIDE))
    some = values[::step, ::step]
    if some.dtype != np.uint8:
        numbers = np.nan_to_num(some.astype(np.float64), posinf=0, neginf=0)
        low, high = numbers.min(), numbers.max()
        with np.errstate(all="ignore"):
            scaled = np.nan_to_num((numbers - low) / (high - low)) if high > low else numbers * 0
        some = (scaled * 255).astype(np.uint8)
    channels = 3 if some.ndim == 3 and some.shape[2] == 3 else 1
    data = base64.b64encode(np.ascontiguousarray(some).tobytes()).decode()
    return {"w": some.shape[1], "h": some.shape[0], "c": channels, "v": data}
