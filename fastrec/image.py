# SPDX-License-Identifier: Apache-2.0
"""Pictures in a directory: as arrays, as records, on a contact sheet. Thin, over Pillow.

Pillow is imported by the functions that need it, never by ``import fastrec.image``.
"""

from __future__ import annotations

import io
import os
import stat
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastrec.errors import FastrecError

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

__all__ = [
    "MAX_PIXELS",
    "SUFFIXES",
    "ImageError",
    "ImageSet",
    "Tile",
    "contact_sheet",
    "decode",
    "find",
    "fitted",
    "inspect",
    "write_directory",
]

UInt8Array = npt.NDArray[np.uint8]

SUFFIXES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"})
"""What :func:`find` takes for a picture, in lower case."""

MAX_PIXELS = 1 << 27
"""The most pixels that :func:`decode` makes room for: 134 million, 403 MB as RGB."""


class ImageError(FastrecError, ValueError):
    """A file that is no picture, or a broken one, or one too large to decode.

    Attributes
    ----------
    path : str
        The file.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"cannot decode {path!a}: {reason}")
        self.path = path


def find(
    directory: str | os.PathLike[str],
    *,
    exclude: str | os.PathLike[str] | None = None,
    on_error: Callable[[OSError], object] | None = None,
) -> list[Path]:
    """Regular files below `directory` whose suffix is in :data:`SUFFIXES`, sorted.

    Hidden files and directories are passed over, and links to directories are not followed.

    Parameters
    ----------
    directory : path
        Where to look, at any depth.
    exclude : path, optional
        A directory to stay out of, such as the one that a program writes its own pictures to.
    on_error : callable, optional
        Gets the OSError of each sub-directory that cannot be listed; without it they are passed
        over.

    Raises
    ------
    OSError
        `directory` itself is missing, is no directory, or cannot be listed.
    """
    os.listdir(directory)
    unwanted = os.path.realpath(exclude) if exclude is not None else None
    found = []
    for folder, folders, files in os.walk(directory, onerror=on_error):
        folders[:] = [
            name
            for name in folders
            if name[0] != "." and os.path.realpath(os.path.join(folder, name)) != unwanted
        ]
        paths = (Path(folder, name) for name in files if name[0] != ".")
        found += [path for path in paths if path.suffix.lower() in SUFFIXES and _is_regular(path)]
    return sorted(found)


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


class _Quiet:
    """What Pillow warns of (odd metadata, sizes that max_pixels decides on) is no news here.

    Filters are of the process. Threads that each put back what they found would leave them changed,
    so the first to come changes them, and the last to go puts them back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = warnings.catch_warnings()
                self._before.__enter__()
                warnings.simplefilter("ignore")
            self._inside += 1

    def __exit__(self, *exc_info: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._before.__exit__(None, None, None)


_quiet = _Quiet()


def decode(path: str | os.PathLike[str], *, max_pixels: int = MAX_PIXELS) -> UInt8Array:
    """Decode the picture in `path`: its first frame, upright, as RGB.

    Returns
    -------
    ndarray, uint8, shape (height, width, 3)
        Writable, C-contiguous, the caller's own. Grey becomes three equal channels; transparency
        is dropped; 16-bit samples keep their upper byte.

    Raises
    ------
    ImageError
        The file is not a whole picture that Pillow knows, or has more than `max_pixels` pixels,
        which is found out before they are decoded.
    OSError
        The file cannot be opened.
    ImportError
        Pillow is not installed.
    """
    image_module = _pillow()
    name = os.fsdecode(path)
    with open(path, "rb") as file:
        try:
            with _quiet, image_module.open(file) as image:
                width, height = image.size
                if width > max_pixels // max(height, 1):
                    raise ImageError(name, f"{width}x{height} pixels are over {max_pixels}")
                return _rgb(image)
        except ImageError:
            raise
        except image_module.UnidentifiedImageError:
            raise ImageError(name, "not a picture in a known format") from None
        except Exception as error:  # a decoder's answer to hostile bytes can be of any class
            raise ImageError(name, _one_line(error)) from error


def inspect(
    path: str | os.PathLike[str], data: bytes, *, max_pixels: int = MAX_PIXELS
) -> tuple[str, tuple[int, int]]:
    """What a file is by its header: Pillow's name of the format, and (width, height).

    Parameters
    ----------
    path : path
        For the message.
    data : bytes
        What is in the file.

    Raises
    ------
    ImageError
        As :func:`decode`.
    """
    image_module = _pillow()
    name = os.fsdecode(path)
    try:
        with _quiet, image_module.open(io.BytesIO(data)) as image:
            width, height = image.size
            if width > max_pixels // max(height, 1):
                raise ImageError(name, f"{width}x{height} pixels are over {max_pixels}")
            return image.format or "", (width, height)
    except ImageError:
        raise
    except image_module.UnidentifiedImageError:
        raise ImageError(name, "not a picture in a known format") from None
    except Exception as error:  # as above
        raise ImageError(name, _one_line(error)) from error


def _rgb(image: Image.Image) -> UInt8Array:
    from PIL import ImageOps

    upright = ImageOps.exif_transpose(image)
    if upright.mode.startswith("I;16"):
        grey = (np.asarray(upright) >> 8).astype(np.uint8)
        return np.repeat(grey[:, :, np.newaxis], 3, axis=2)
    return np.array(upright.convert("RGB"), dtype=np.uint8, order="C")


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text.encode("ascii", "backslashreplace").decode("ascii")


@dataclass(frozen=True)
class Tile:
    """One picture of a contact sheet.

    Attributes
    ----------
    picture : ndarray, uint8, shape (height, width, 1 or 3)
    label : str
        What it shows.
    predicted : str or None
        What somebody guessed it to show: written in green when right and in red when wrong.
    """

    picture: UInt8Array
    label: str
    predicted: str | None = None


_MARGIN, _GAP, _HEADER, _CAPTION, _SMALLEST = 20, 10, 40, 24, 560
_PAPER, _TILE, _TITLE = (24, 26, 31), (36, 39, 46), (236, 239, 244)
_TRUE, _RIGHT, _WRONG = (190, 196, 208), (110, 214, 135), (255, 107, 107)


def contact_sheet(
    path: str | os.PathLike[str],
    tiles: Sequence[Tile],
    *,
    title: str = "",
    columns: int = 8,
    cell: int = 96,
) -> tuple[int, int]:
    """Write `tiles` as one PNG, a caption under each; the file appears whole or not at all.

    Parameters
    ----------
    path : path
        The PNG; one that exists is replaced.
    columns, cell : int
        Tiles in a row, and the pixels of the square that each picture is fitted into.

    Returns
    -------
    (int, int)
        Width and height of the sheet, in pixels.

    Raises
    ------
    OSError
        The file cannot be written.
    ImportError
        Pillow is not installed.
    """
    image_module = _pillow()
    from PIL import ImageDraw

    columns = max(1, min(columns, len(tiles)))
    rows = -(-len(tiles) // columns)
    width = max(_SMALLEST, 2 * _MARGIN + columns * (cell + _GAP) - _GAP)
    height = _HEADER + rows * (cell + _CAPTION + _GAP) - _GAP + _MARGIN
    sheet = image_module.new("RGB", (width, height), _PAPER)
    draw = ImageDraw.Draw(sheet)
    _draw_header(draw, title, width, legend=any(tile.predicted is not None for tile in tiles))
    for number, tile in enumerate(tiles):
        row, column = divmod(number, columns)
        left = _MARGIN + column * (cell + _GAP)
        top = _HEADER + row * (cell + _CAPTION + _GAP)
        box = left, top, left + cell - 1, top + cell + _CAPTION - 1
        draw.rectangle(box, fill=_TILE)
        picture = image_module.fromarray(fitted(tile.picture, cell))
        inset = (cell - picture.width) // 2, (cell - picture.height) // 2
        sheet.paste(picture, (left + inset[0], top + inset[1]))
        _draw_caption(draw, tile, left, top + cell, cell)
        if tile.predicted not in (None, tile.label):
            draw.rectangle(box, outline=_WRONG)
    _save(sheet, Path(path))
    return width, height


def fitted(picture: UInt8Array, side: int) -> UInt8Array:
    """Scale `picture` until it just fits a square: large ones smoothly, small ones by whole steps.

    Parameters
    ----------
    picture : ndarray, uint8, shape (height, width, 1 or 3)
    side : int
        Of the square, in pixels.

    Returns
    -------
    ndarray, uint8, shape (height, width, 3)
        A copy in the same proportions, at most `side` high and wide.
    """
    image_module = _pillow()
    rgb = np.repeat(picture, 3, axis=2) if picture.shape[2] == 1 else picture
    image = image_module.fromarray(np.ascontiguousarray(rgb))
    larger = max(image.size)
    if larger > side:
        image.thumbnail((side, side), image_module.Resampling.LANCZOS)
    else:
        step = side // larger
        size = image.width * step, image.height * step
        image = image.resize(size, image_module.Resampling.NEAREST)
    return np.array(image, dtype=np.uint8)


def _draw_header(draw: ImageDraw.ImageDraw, title: str, width: int, *, legend: bool) -> None:
    middle = _HEADER // 2
    right = width - _MARGIN
    if legend:
        for text, colour in (
            ("guessed wrong", _WRONG),
            ("guessed right", _RIGHT),
            ("label", _TRUE),
        ):
            font = _font(13)
            draw.text((right, middle), text, fill=colour, font=font, anchor="rm")
            right -= int(draw.textlength(text, font=font)) + 14
    text = _shortened(draw, title, _font(15), right - _MARGIN)
    draw.text((_MARGIN, middle), text, fill=_TITLE, font=_font(15), anchor="lm")


def _draw_caption(draw: ImageDraw.ImageDraw, tile: Tile, left: int, top: int, cell: int) -> None:
    font, middle = _font(13), top + _CAPTION // 2
    if tile.predicted is None:
        label = _shortened(draw, tile.label, font, cell - 8)
        draw.text((left + cell // 2, middle), label, fill=_TRUE, font=font, anchor="mm")
        return
    half = cell // 2 - 8
    label = _shortened(draw, tile.label, font, half)
    predicted = _shortened(draw, tile.predicted, font, half)
    colour = _RIGHT if tile.predicted == tile.label else _WRONG
    draw.text((left + 6, middle), label, fill=_TRUE, font=font, anchor="lm")
    draw.text((left + cell - 6, middle), predicted, fill=colour, font=font, anchor="rm")


def _shortened(draw: ImageDraw.ImageDraw, text: str, font: Any, width: int) -> str:
    """`text` as far as it fits, in the characters that Pillow's own font has."""
    text = text.encode("latin-1", "replace").decode("latin-1")
    text = "".join(character if character.isprintable() else "?" for character in text)
    if draw.textlength(text, font=font) <= width:
        return text
    while text and draw.textlength(text + "...", font=font) > width:
        text = text[:-1]
    return text + "..."


def _font(size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def _save(sheet: Image.Image, path: Path) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        sheet.save(temporary, format="PNG")
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        message = "pictures need Pillow: pip install 'fastrec[demo]'"
        raise ImportError(message, name=error.name) from error
    return Image


# It is built on what is above.
from fastrec.imageset import ImageSet, write_directory  # noqa: E402
