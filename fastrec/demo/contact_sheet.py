# SPDX-License-Identifier: Apache-2.0
"""Arrange images with captions in one PNG."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from fastrec.features.image_libraries import pillow
from fastrec.records.targets import write_file

if TYPE_CHECKING:
    from PIL import ImageDraw

__all__ = ["MARGIN", "PAPER", "TITLE", "Tile", "contact_sheet", "fitted", "font"]

UInt8Array = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Tile:
    """One image of a contact sheet.

    Attributes
    ----------
    image : ndarray, uint8, shape (height, width, 1 or 3)
    label : str
        The true label.
    predicted : str or None
        The predicted label, written in green if it is correct and in red otherwise.
    """

    image: UInt8Array
    label: str
    predicted: str | None = None


MARGIN: Final = 20
PAPER: Final = (24, 26, 31)
TITLE: Final = (236, 239, 244)
_GAP, _HEADER, _CAPTION, _SMALLEST = 10, 40, 24, 560
_TILE = (36, 39, 46)
_TRUE, _RIGHT, _WRONG = (190, 196, 208), (110, 214, 135), (255, 107, 107)


def contact_sheet(
    path: str | os.PathLike[str],
    tiles: Sequence[Tile],
    *,
    title: str = "",
    columns: int = 8,
    cell: int = 96,
    overwrite: bool = False,
) -> tuple[int, int]:
    """Write `tiles` as one PNG with a caption under each; the file is written whole or not at all.

    Parameters
    ----------
    path : path
        The PNG.
    columns, cell : int
        Tiles per row, and the side in pixels of the square that each image is fitted into.
    overwrite : bool
        Whether to replace an existing file.

    Returns
    -------
    (int, int)
        Width and height of the sheet, in pixels.

    Raises
    ------
    OSError
        If the file cannot be written.
    ImportError
        If Pillow is not installed.
    """
    image_module = pillow()
    from PIL import ImageDraw

    columns = max(1, min(columns, len(tiles)))
    rows = -(-len(tiles) // columns)
    width = max(_SMALLEST, 2 * MARGIN + columns * (cell + _GAP) - _GAP)
    height = _HEADER + rows * (cell + _CAPTION + _GAP) - _GAP + MARGIN
    sheet = image_module.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(sheet)
    _draw_header(draw, title, width, legend=any(tile.predicted is not None for tile in tiles))
    for number, tile in enumerate(tiles):
        row, column = divmod(number, columns)
        left = MARGIN + column * (cell + _GAP)
        top = _HEADER + row * (cell + _CAPTION + _GAP)
        box = left, top, left + cell - 1, top + cell + _CAPTION - 1
        draw.rectangle(box, fill=_TILE)
        image = image_module.fromarray(fitted(tile.image, cell))
        inset = (cell - image.width) // 2, (cell - image.height) // 2
        sheet.paste(image, (left + inset[0], top + inset[1]))
        _draw_caption(draw, tile, left, top + cell, cell)
        if tile.predicted not in (None, tile.label):
            draw.rectangle(box, outline=_WRONG)
    png = io.BytesIO()
    sheet.save(png, format="PNG")
    write_file(path, png.getvalue(), overwrite=overwrite)
    return width, height


def fitted(image: UInt8Array, side: int) -> UInt8Array:
    """Scale `image` to fit a square: large images smoothly, small ones by an integer factor.

    Parameters
    ----------
    image : ndarray, uint8, shape (height, width, 1 or 3)
    side : int
        Side of the square, in pixels.

    Returns
    -------
    ndarray, uint8, shape (height, width, 3)
        A copy with the same proportions, at most `side` high and wide.
    """
    image_module = pillow()
    rgb = np.repeat(image, 3, axis=2) if image.shape[2] == 1 else image
    scaled = image_module.fromarray(np.ascontiguousarray(rgb))
    larger = max(scaled.size)
    if larger > side:
        scaled.thumbnail((side, side), image_module.Resampling.LANCZOS)
    else:
        step = side // larger
        size = scaled.width * step, scaled.height * step
        scaled = scaled.resize(size, image_module.Resampling.NEAREST)
    return np.array(scaled, dtype=np.uint8)


def _draw_header(draw: ImageDraw.ImageDraw, title: str, width: int, *, legend: bool) -> None:
    middle = _HEADER // 2
    right = width - MARGIN
    if legend:
        for text, colour in (
            ("guessed wrong", _WRONG),
            ("guessed right", _RIGHT),
            ("label", _TRUE),
        ):
            draw.text((right, middle), text, fill=colour, font=font(13), anchor="rm")
            right -= int(draw.textlength(text, font=font(13))) + 14
    text = _shortened(draw, title, font(15), right - MARGIN)
    draw.text((MARGIN, middle), text, fill=TITLE, font=font(15), anchor="lm")


def _draw_caption(draw: ImageDraw.ImageDraw, tile: Tile, left: int, top: int, cell: int) -> None:
    face, middle = font(13), top + _CAPTION // 2
    if tile.predicted is None:
        label = _shortened(draw, tile.label, face, cell - 8)
        draw.text((left + cell // 2, middle), label, fill=_TRUE, font=face, anchor="mm")
        return
    half = cell // 2 - 8
    label = _shortened(draw, tile.label, face, half)
    predicted = _shortened(draw, tile.predicted, face, half)
    colour = _RIGHT if tile.predicted == tile.label else _WRONG
    draw.text((left + 6, middle), label, fill=_TRUE, font=face, anchor="lm")
    draw.text((left + cell - 6, middle), predicted, fill=colour, font=face, anchor="rm")


def _shortened(draw: ImageDraw.ImageDraw, text: str, face: Any, width: int) -> str:
    """Shorten `text` to `width`, using only characters of Pillow's built-in font."""
    text = text.encode("latin-1", "replace").decode("latin-1")
    text = "".join(character if character.isprintable() else "?" for character in text)
    if draw.textlength(text, font=face) <= width:
        return text
    while text and draw.textlength(text + "...", font=face) > width:
        text = text[:-1]
    return text + "..."


def font(size: int) -> Any:
    """Return Pillow's built-in font."""
    from PIL import ImageFont

    return ImageFont.load_default(size)
