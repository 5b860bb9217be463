# SPDX-License-Identifier: Apache-2.0
"""Images of the demo: scikit-learn's, or a directory of the user's."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastrec import image
from fastrec.cli.report import Failure, shown

__all__ = ["Image", "Images", "digits", "from_directory", "photos"]

UInt8Array = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Image:
    """One image before it is written; `read` returns its pixels, (height, width, channels)."""

    name: str
    label: int
    read: Callable[[], UInt8Array]


@dataclass(frozen=True)
class Images:
    """A named set of images.

    Attributes
    ----------
    stem : str
        The prefix of its files: ``digits`` for ``digits-00000-of-00008.tfrecord``.
    what : str
        A description, for a line of text.
    labels : tuple of str
        The name of each label.
    shape : (int, int, int) or None
        The shape of every image; None if they differ.
    brightest : int
        The largest value of a pixel.
    images : tuple of Image
    remember : callable
        A function that returns what is kept of an image in order to recognise it later.
    """

    stem: str
    what: str
    labels: tuple[str, ...]
    shape: tuple[int, int, int] | None
    brightest: int
    images: tuple[Image, ...]
    remember: Callable[[UInt8Array], object]

    def __len__(self) -> int:
        return len(self.images)

    def __iter__(self) -> Iterator[Image]:
        return iter(self.images)


def itself(pixels: UInt8Array) -> UInt8Array:
    """Return the image, for sets that stay in memory."""
    return pixels


def digest(pixels: UInt8Array) -> bytes:
    """Return the SHA-256 of shape and bytes, for sets that do not stay in memory."""
    shape = np.array(pixels.shape, dtype="<i8")
    state = hashlib.sha256(shape.tobytes())
    state.update(np.ascontiguousarray(pixels).data)
    return state.digest()


def same(remembered: object, pixels: UInt8Array) -> bool:
    """Return True if `pixels` equal the remembered image bit for bit."""
    if isinstance(remembered, bytes):
        return remembered == digest(pixels)
    return np.array_equal(np.asarray(remembered), pixels)


def digits() -> Images:
    """Return scikit-learn's 1,797 handwritten digits, 8x8 pixels from 0 to 16."""
    data = _scikit_learn_datasets().load_digits()
    pixels = data.images.astype(np.uint8)[:, :, :, np.newaxis]
    images = tuple(
        Image(f"digit-{number:04d}", int(label), _constant(pixels[number]))
        for number, label in enumerate(data.target)
    )
    labels = tuple(str(label) for label in range(10))
    return Images("digits", "handwritten digits", labels, (8, 8, 1), 16, images, itself)


def photos() -> Images:
    """Return scikit-learn's two photographs, 427x640 pixels in RGB."""
    datasets = _scikit_learn_datasets()
    try:
        data = datasets.load_sample_images()
    except ImportError as error:  # scikit-learn's message does not mention our extra
        message = "photographs require Pillow: pip install 'fastrec-io[demo]'"
        raise ImportError(message, name="PIL") from error
    names = [os.path.basename(name) for name in data.filenames]
    images = tuple(
        Image(name, label, _constant(np.ascontiguousarray(pixels, dtype=np.uint8)))
        for label, (name, pixels) in enumerate(zip(names, data.images, strict=True))
    )
    labels = tuple(os.path.splitext(name)[0] for name in names)
    return Images("photos", "photographs", labels, None, 255, images, itself)


def from_directory(
    directory: str, *, exclude: str | None, on_error: Callable[[OSError], object]
) -> Images:
    """Return the images below `directory`, labelled by their top-level sub-directory.

    Raises
    ------
    Failure
        If there are no images.
    OSError
        If `directory` cannot be listed.
    """
    root = Path(directory)
    paths = image.find(root, exclude=exclude, on_error=on_error)
    if not paths:
        suffixes = " ".join(sorted(image.SUFFIXES))
        raise Failure(f"no images in {shown(directory)} (looked for {suffixes})", 2)
    parts = [path.relative_to(root).parts for path in paths]
    own = os.path.basename(os.path.abspath(directory)) or "images"
    kinds = [part[0] if len(part) > 1 else own for part in parts]
    labels = tuple(sorted(set(kinds)))
    numbers = {kind: number for number, kind in enumerate(labels)}
    images = tuple(
        Image("/".join(part), numbers[kind], _decoder(path))
        for part, kind, path in zip(parts, kinds, paths, strict=True)
    )
    return Images("images", "images", labels, None, 255, images, digest)


def _constant(pixels: UInt8Array) -> Callable[[], UInt8Array]:
    return lambda: pixels


def _decoder(path: Path) -> Callable[[], UInt8Array]:
    return lambda: image.decode(path, upright=True)


def _scikit_learn_datasets() -> Any:
    try:
        return importlib.import_module("sklearn.datasets")
    except ImportError as error:
        message = "the demo's own images require scikit-learn: pip install 'fastrec-io[demo]'"
        raise ImportError(message, name=error.name) from error
