# SPDX-License-Identifier: Apache-2.0
"""Find, decode and inspect image files with Pillow, which is imported on use."""

from __future__ import annotations

import contextlib
import io
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fastrec.errors import FastrecError, one_line
from fastrec.features.image_errors import FORMATS
from fastrec.features.image_libraries import built_in, pillow, quiet, too_few
from fastrec.records.byte_sources import NamedFile
from fastrec.records.content import value_content

from .. import _core
from ..arguments import check_int, check_types
from ..storage.urls import local_path

if TYPE_CHECKING:
    from PIL import Image


__all__ = [
    "MAX_PIXELS",
    "SUFFIXES",
    "ImageError",
    "decode",
    "find",
    "inspect",
]

UInt8Array = npt.NDArray[np.uint8]

SUFFIXES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"})
"""The suffixes by which :func:`find` recognises images, in lower case."""

_FORMATS = (*FORMATS, "PPM")  # formats of the suffixes

MAX_PIXELS = 1 << 27
"""The most pixels that :func:`decode` makes room for: 134 million, 403 MB as RGB."""


class ImageError(FastrecError, ValueError):
    """A file that is not an image, is damaged, or is too large to decode.

    Attributes
    ----------
    path : str
        The file.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"cannot decode {path!a}: {reason}")
        self.path: str = path


def find(
    directory: str | os.PathLike[str],
    *,
    exclude: str | os.PathLike[str] | None = None,
    on_error: Callable[[OSError], object] | None = None,
) -> list[Path]:
    """Return the regular files below `directory` whose suffix is in :data:`SUFFIXES`, sorted.

    Hidden files and directories are ignored, and links to directories are not followed.

    Parameters
    ----------
    directory : path
        The directory to search, at any depth.
    exclude : path, optional
        A directory to ignore, for example one to which a program writes its own images.
    on_error : callable, optional
        A function that receives the OSError of each sub-directory that cannot be listed. By default
        these are ignored.

    Raises
    ------
    OSError
        If `directory` itself is missing, is not a directory, or cannot be listed.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("b.png", "a.JPG", "notes.txt", ".hidden.png"):
    ...     (folder / name).touch()
    >>> [path.name for path in find(folder)]
    ['a.JPG', 'b.png']
    """
    check_types(find, locals())
    directory = os.fsdecode(local_path(directory))
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


def decode(
    path: str | os.PathLike[str], *, max_pixels: int = MAX_PIXELS, upright: bool = False
) -> UInt8Array:
    """Decode the image in `path`: its first frame, as RGB.

    Parameters
    ----------
    path : path
    max_pixels : int
        Larger images are refused before they are decoded.
    upright : bool
        Whether to apply the EXIF orientation. By default pixels are returned as stored, as in
        :class:`~fastrec.ImageFeature`.

    Returns
    -------
    ndarray, uint8, shape (height, width, 3)
        A new writable, C-contiguous array. Grey becomes three equal channels, transparency is
        dropped, and 16-bit samples keep their upper byte.

    Raises
    ------
    ImageError
        If the file is not a complete JPEG, PNG, WebP, GIF, BMP, TIFF or PPM, or has more than
        `max_pixels` pixels.
    OSError
        If the file cannot be opened.
    ImportError
        If Pillow is not installed.

    Examples
    --------
    >>> decode("cat.jpg").shape  # doctest: +SKIP
    (480, 640, 3)
    """
    if isinstance(path, bytes) and value_content(path).name not in ("path", "text"):
        raise TypeError(
            f"path must be the path of an image, got {value_content(path).phrase}; "
            f"fastrec.ImageFeature().decode([data]) decodes bytes"
        )
    check_types(decode, locals())
    check_int("max_pixels", max_pixels, 1, 2**40)
    path = local_path(path)
    name = os.fsdecode(path)
    with NamedFile(path) as file:
        data = file.read()
    decoded = _core.decode_images(
        np.frombuffer(data, np.uint8),
        np.array([0, len(data)]),
        3,
        upright=upright,
        max_pixels=max_pixels,
        **built_in(),
    )
    if decoded is not None:
        values, _, shapes = decoded
        return values.reshape(shapes[0])
    with _opened(name, data, max_pixels) as image:
        return _rgb(image, upright)


def inspect(
    path: str | os.PathLike[str], data: bytes, *, max_pixels: int = MAX_PIXELS
) -> tuple[str, tuple[int, int]]:
    """Read a file's header: Pillow's name of the format, and (width, height).

    Parameters
    ----------
    path : path
        The file name for error messages.
    data : bytes
        The contents of the file.

    Raises
    ------
    ImageError
        As :func:`decode`.

    Examples
    --------
    >>> inspect("cat.jpg", Path("cat.jpg").read_bytes())  # doctest: +SKIP
    ('JPEG', (640, 480))
    """
    check_types(inspect, locals())
    check_int("max_pixels", max_pixels, 1, 2**40)
    with _opened(os.fsdecode(path), data, max_pixels) as image:
        return image.format or "", image.size


@contextlib.contextmanager
def _opened(name: str, data: bytes, max_pixels: int) -> Iterator[Image.Image]:
    """Open an image; any failure, also within the ``with`` block, becomes an ImageError."""
    image_module = pillow()
    try:
        with quiet, image_module.open(io.BytesIO(data), formats=_FORMATS) as image:
            width, height = image.size
            if width > max_pixels // max(height, 1):
                raise ImageError(name, f"{width}x{height} pixels exceed the limit of {max_pixels}")
            problem = too_few(len(data), width, height)
            if problem is not None:
                raise ImageError(name, problem)
            yield image
    except ImageError:
        raise
    except image_module.UnidentifiedImageError:
        raise ImageError(name, "not an image in a known format") from None
    except Exception as error:  # hostile bytes can make a decoder raise any class of exception
        raise ImageError(name, one_line(error)) from error


def _rgb(image: Image.Image, upright: bool) -> UInt8Array:
    from PIL import ImageOps

    turned = ImageOps.exif_transpose(image) if upright else image
    if turned.mode.startswith("I;16"):
        grey = (np.asarray(turned) >> 8).astype(np.uint8)
        return np.repeat(grey[:, :, np.newaxis], 3, axis=2)
    return np.array(turned.convert("RGB"), dtype=np.uint8, order="C")
