# SPDX-License-Identifier: Apache-2.0
"""Boxes of images: random windows, drawn outlines, crops, and selection by score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fastrec import _tensor

from .._tf.errors import invalid
from .._tf.kernels import philox
from .._tf.ops import Array, Op, known_sizes, same_spec
from .._tf.ops.draws import Drawing
from .._tf.specs import TensorSpec, TypeSpec

Box = tuple[int, int, int, int]  # top, left, bottom and right

_MORE_BLOCKS = 8  # extra blocks of random numbers, because some numbers are rejected
_SINGLE = np.float32
_COLOURS = np.array(
    [
        (1, 1, 0, 1),
        (0, 0, 1, 1),
        (1, 0, 0, 1),
        (0, 1, 0, 1),
        (0.5, 0, 0.5, 1),
        (0.5, 0.5, 0, 1),
        (0.5, 0, 0, 1),
        (0, 0, 0.5, 1),
        (0, 1, 1, 1),
        (1, 0, 1, 1),
    ],
    _SINGLE,
)


def _below(words: Iterator[int], limit: int) -> int:
    """Return a uniformly distributed integer below `limit`."""
    if limit & (limit - 1) == 0:
        return next(words) & (limit - 1) if limit else next(words) * 0
    least = 0xFFFFFFFF % limit + 1
    while (word := next(words)) < least:
        pass
    return word % limit


def _rounded(value: Any) -> int:
    return int(np.rint(_SINGLE(value)))


def _crop(
    size: tuple[int, int], area: tuple[Any, Any], ratio: Any, words: Iterator[int]
) -> Box | None:
    """Return a random box of a given ratio within the area limits, or None if none exists."""
    rows, columns = size
    least, most = area[0] * _SINGLE(columns) * _SINGLE(rows), None
    most = area[1] * _SINGLE(columns) * _SINGLE(rows)
    height = _rounded(np.sqrt(least / ratio))
    tallest = _rounded(np.sqrt(most / ratio))
    if _rounded(tallest * ratio) > columns:
        tallest = int(_SINGLE(columns + 0.5 - 1e-7) / ratio)
        tallest -= _rounded(tallest * ratio) > columns
    tallest = min(tallest, rows)
    height = min(height, tallest)
    if height < tallest:
        height += _below(words, tallest - height + 1)
    width = _rounded(height * ratio)
    if _SINGLE(width * height) < least:
        height += 1
        width = _rounded(height * ratio)
    if _SINGLE(width * height) > most:
        height -= 1
        width = _rounded(height * ratio)
    if not least <= _SINGLE(width * height) <= most:
        return None
    if not (0 < width <= columns and 0 < height <= rows):
        return None
    top = _below(words, rows - height) if height < rows else 0
    left = _below(words, columns - width) if width < columns else 0
    return top, left, top + height, left + width


def _covers(crop: Box, boxes: Sequence[Box], least: Any) -> bool:
    for box in boxes:
        area = _SINGLE((box[2] - box[0]) * (box[3] - box[1]))
        if area < 1:
            continue
        height = min(crop[2], box[2]) - max(crop[0], box[0])
        width = min(crop[3], box[3]) - max(crop[1], box[1])
        shared = _SINGLE(height * width if height > 0 and width > 0 else 0)
        if shared / area >= least:
            return True
    return False


def distorted_box(
    start: Array,
    size: Array,
    boxes: Array,
    least: Any,
    *,
    ratios: Sequence[float],
    areas: Sequence[float],
    attempts: int,
    whole: bool,
) -> tuple[Array, Array, Array]:
    """Draw an image window that covers a minimum share of a box.

    Parameters
    ----------
    start : uint64, shape (3,)
        The start of the random numbers.
    size : (height, width, channels)
    boxes : float32, shape (..., 4)
        Top, left, bottom and right, from 0 to 1.
    least : float
        The minimum share of a box that the window must cover.
    ratios, areas : (float, float)
        The limits of the ratio of width to height, and of the share of the image area.
    attempts : int
    whole : bool
        Whether the image is its own box if `boxes` is empty.

    Returns
    -------
    begin, size : of shape (3,), of the type of `size`
    box : float32, shape (1, 1, 4)
    """
    rows, columns = int(size[0]), int(size[1])
    if rows <= 0 or columns <= 0:
        raise invalid(f"Image height and width must be positive, got {rows} x {columns}")
    flat = boxes.reshape(-1, 4)
    found = [_scaled(box, rows, columns) for box in flat]
    if not found:
        if not whole:
            raise invalid(
                "No bounding boxes provided as input. One must enable "
                "use_image_if_no_bounding_boxes if you wish to not provide any bounding boxes."
            )
        found = [(0, 0, rows, columns)]
    words = philox.drawn("integer", start, (4 * (attempts + _MORE_BLOCKS),), np.uint32)
    numbers = iter(words.tolist())
    limits = _SINGLE(areas[0]), _SINGLE(areas[1])
    low, high = _SINGLE(ratios[0]), _SINGLE(ratios[1])
    chosen: Box = (0, 0, rows, columns)
    for _ in range(attempts):
        bits = np.array(next(numbers) & 0x7FFFFF | 0x3F800000, np.uint32)
        ratio = (bits.view(_SINGLE)[()] - _SINGLE(1)) * (high - low) + low
        crop = _crop((rows, columns), limits, ratio, numbers)
        if crop is not None and _covers(crop, found, _SINGLE(least)):
            chosen = crop
            break
    top, left, bottom, right = chosen
    shares = (top / rows, left / columns, bottom / rows, right / columns)
    return (
        np.array([top, left, 0], size.dtype),
        np.array([bottom - top, right - left, -1], size.dtype),
        np.array(shares, _SINGLE).reshape(1, 1, 4),
    )


def _scaled(box: Array, rows: int, columns: int) -> Box:
    if not ((box >= 0).all() and (box <= 1).all()):
        raise invalid(f"All bounding box coordinates must be in [0.0, 1.0]: {box.tolist()}")
    if box[0] >= box[2] or box[1] >= box[3]:
        raise invalid(f"Bounding boxes must have positive height and width, got {box.tolist()}")
    limits = np.array([rows, columns, rows, columns], _SINGLE)
    top, left, bottom, right = (box.astype(_SINGLE) * limits).astype(np.int64).tolist()
    return top, left, bottom, right


def drawn(images: Array, boxes: Array, colours: Array | None = None) -> Array:
    """Return images of (n, height, width, channels) with the outlines of boxes of (n, m, 4)."""
    table = _COLOURS if colours is None or not colours.size else colours
    channels = images.shape[-1]
    if channels == 1 and table is _COLOURS:
        table = np.ones((1, 1), _SINGLE)
    result = np.array(images, _SINGLE, order="C")
    if images.shape[0] != boxes.shape[0]:
        raise invalid(f"{len(boxes)} sets of boxes do not fit {len(images)} images")
    _tensor.outline(result, boxes, table[:, : images.shape[-1]])
    return result.astype(images.dtype, copy=False)


def _shares(ones: Array, others: Array) -> Array:
    """Return the intersection over union of each pair of boxes."""
    sides = []
    for at in (0, 1):  # one coordinate at a time, so that NumPy's inner loops are long
        low = np.maximum(ones[:, :, None, at], others[:, None, :, at])
        high = np.minimum(ones[:, :, None, at + 2], others[:, None, :, at + 2])
        sides.append(np.maximum(np.subtract(high, low, out=high), 0, out=high))
    areas = [(each[:, :, 2:] - each[:, :, :2]).prod(axis=2) for each in (ones, others)]
    common = sides[0] * sides[1]
    found: Array = common / (areas[0][:, :, None] + areas[1][:, None, :] - common + _SINGLE(1e-8))
    return found


def _kept_in_tile(tile: Array, limit: Any) -> Array:
    """Remove the boxes of an ordered tile that overlap an earlier box that is kept."""
    shares = _shares(tile, tile)
    after = np.triu(np.ones(shares.shape[1:], bool), 1)
    shares = np.where(after & (shares >= limit), shares, _SINGLE(0))
    total, goes_on = shares.sum(axis=(1, 2)), True
    while goes_on:
        stay = (shares.max(axis=1) < limit)[:, :, None] * shares
        shares = (stay.max(axis=1) < limit)[:, :, None] * shares
        before, total = total, shares.sum(axis=(1, 2))
        goes_on = bool((before - total > limit).any())
    return np.where(shares.sum(axis=1)[:, :, None] > 0, _SINGLE(0), tile)


def suppressed_by_tiles(
    boxes: Array,
    scores: Array,
    most: int,
    overlap: float,
    score: float,
    *,
    ordered: bool,
    canonical: bool,
    tile: int,
) -> tuple[Array, Array]:
    """Return the indices of the best boxes of images, padded with zeros, and their number.

    This is TensorFlow's algorithm for several images. Suppressed boxes are set to zero, and boxes
    without a coordinate above 0 count as suppressed.

    Parameters
    ----------
    boxes, scores : ndarray
        Arrays of shapes (images, count, 4) and (images, count).
    ordered, canonical : bool
        Whether the scores are sorted, and whether boxes start with their lower corner.
    tile : int
        The number of boxes that are compared together.
    """
    if tile < 1:
        raise invalid(f"tile_size must be at least 1, got {tile}")
    limit, (images, count) = _SINGLE(overlap), scores.shape
    if score != float("-inf"):
        good = scores > _SINGLE(score)
        scores, boxes = scores * good, boxes * good[:, :, None]
    if not canonical and boxes.size:
        y, x = (0, 2) if boxes[0, 0, 0] <= boxes[0, 0, 2] else (2, 0), (1, 3)
        x = x if boxes[0, 0, 1] <= boxes[0, 0, 3] else (3, 1)
        boxes = boxes[:, :, [y[0], x[0], y[1], x[1]]]
    order = np.zeros((images, count), np.int32)
    if not ordered:
        order = np.argsort(-scores, axis=1, kind="stable").astype(np.int32)
        boxes = np.take_along_axis(boxes, order[:, :, None], axis=1)
    tiles = -(-max(count, most) // tile)
    left = np.zeros((images, tiles * tile, 4), _SINGLE)
    left[:, :count] = boxes
    sizes, number = np.zeros(images, np.int32), 0
    while number < tiles and (sizes < most).any():
        now = left[:, number * tile : (number + 1) * tile]
        for before in range(number):
            shares = _shares(left[:, before * tile : (before + 1) * tile], now)
            now = np.all(shares < limit, axis=1)[:, :, None] * now
        left[:, number * tile : (number + 1) * tile] = now = _kept_in_tile(now, limit)
        sizes += (now > 0).any(axis=2).sum(axis=1, dtype=np.int32)
        number += 1
    kept = np.argsort(~(left > 0).any(axis=2), axis=1, kind="stable")[:, :most]
    kept = np.minimum(kept, count - 1).astype(np.int32)
    if not ordered and count:
        kept = np.take_along_axis(order, kept, axis=1)
    sizes = np.minimum(sizes, most)
    return np.where(np.arange(most) < sizes[:, None], kept, 0).astype(np.int32), sizes


def options(ratios: Any, areas: Any, attempts: Any, whole: Any) -> dict[str, Any]:
    """Return the attributes of `DISTORTED_BOX` for arguments that may be None."""
    return {
        "ratios": tuple(ratios or (0.75, 1.33)),
        "areas": tuple(areas or (0.05, 1.0)),
        "attempts": 100 if attempts is None else int(attempts),
        "whole": bool(whole),
    }


def _distorted_spec(specs: Sequence[Any], *_: Any, **__: Any) -> list[TypeSpec]:
    corner = TensorSpec([3], specs[1].dtype)
    return [corner, corner, TensorSpec([1, 1, 4], "float32")]


DISTORTED_BOX = Drawing(
    "SampleDistortedBoundingBoxV2",
    lambda *values, **how: distorted_box(*values, **how),
    _distorted_spec,
    blocks=lambda *_, attempts, **__: attempts,
)
DRAW_BOXES = Op("DrawBoundingBoxesV2", lambda *values: drawn(*values), same_spec)


def _cropped(
    images: Array, boxes: Array, numbers: Array, size: Array, *, method: str, outside: float
) -> Array:
    if method not in ("bilinear", "nearest"):
        raise invalid(f'method must be "bilinear" or "nearest", got "{method}"')
    for number in numbers[(numbers < 0) | (numbers >= len(images))][:1]:
        raise invalid(f"box_ind must be in [0, {len(images)}), got {number}")
    height, width = map(int, size)
    if images.dtype != np.uint8:
        images = images.astype(np.float32, copy=False)
    how: Any = {"nearest": method == "nearest", "outside": outside}
    return _tensor.crop_boxes(images, boxes, numbers, (height, width), **how)


def _cropped_spec(specs: Sequence[Any], raws: Sequence[Any], **_: Any) -> list[TypeSpec]:
    count, size = (specs[2].shape.sizes or [None])[0], known_sizes(raws[3]) or [None, None]
    channels = (specs[0].shape.sizes or [None])[-1]
    return [TensorSpec([count, *size, channels], "float32")]


CROP_AND_RESIZE = Op("CropAndResize", _cropped, _cropped_spec)


def _suppressed(
    boxes: Array, scores: Array, most: Array, limit: Array, least: Any = -np.inf
) -> Array:
    limits = max(int(most), 0), float(limit), float(least)
    return _tensor.suppress(scores, *limits, boxes=boxes)[0]


SUPPRESSED = Op("NonMaxSuppressionV3", _suppressed, lambda *_: [TensorSpec([None], "int32")])


def _glimpses(
    images: Array,
    size: Array,
    offsets: Array,
    *,
    centered: bool,
    normalized: bool,
    noise: str,
) -> Array:
    """Cut a window out of each image; pixels outside of the image are noise."""
    if images.ndim != 4 or size.shape != (2,) or offsets.shape != (len(images), 2):
        raise invalid(
            f"input must be 4-dimensional, size of shape [2] and offsets [{len(images)}, 2], got "
            f"{list(images.shape)}, {list(size.shape)} and {list(offsets.shape)}"
        )
    sides, window = np.array(images.shape[1:3], np.float32), size.astype(np.float32)
    places = offsets.astype(np.float32) * (sides if normalized else np.float32(1))
    if centered:
        places = places / np.float32(2) + sides / np.float32(2)
    corners = np.trunc(places - window / np.float32(2)).astype(np.int64)
    shape = (len(images), *size.tolist(), images.shape[3])
    result = np.zeros(shape, np.float32)
    cut = ((corners < 0) | (corners + size > images.shape[1:3])).any(axis=1)
    if noise == "uniform" and images.size and cut.any():
        low, high = images.min(), images.max()
        noises = np.random.default_rng().random((cut.sum(), *shape[1:]), np.float32)
        result[cut] = low + (high - low) * noises
    elif noise == "gaussian" and cut.any():
        noises = np.random.default_rng().standard_normal((cut.sum(), *shape[1:]), np.float32)
        result[cut] = noises
    for image, glimpse, corner in zip(images, result, corners, strict=True):
        begins, ends = np.maximum(corner, 0), np.minimum(corner + size, images.shape[1:3])
        if (begins < ends).all():
            inside = [slice(a - c, b - c) for a, b, c in zip(begins, ends, corner, strict=True)]
            whole = [slice(a, b) for a, b in zip(begins, ends, strict=True)]
            glimpse[tuple(inside)] = image[tuple(whole)]
    return result


def _glimpses_spec(specs: Sequence[Any], raws: Sequence[Any], **_: Any) -> list[TypeSpec]:
    count, _height, _width, channels = specs[0].shape.sizes or [None] * 4
    return [TensorSpec([count, *(known_sizes(raws[1]) or [None, None]), channels], "float32")]


GLIMPSE = Op("ExtractGlimpse", _glimpses, _glimpses_spec, pure=False)
