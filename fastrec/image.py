# SPDX-License-Identifier: Apache-2.0
"""Images: decode files, write image datasets, and preprocess encoded images in batches.

Pillow is imported by the functions that need it.
"""

from __future__ import annotations

from .features.image_libraries import decoders
from .features.transforms import (
    CenterCrop,
    ColorJitter,
    Flip,
    Normalize,
    RandomCrop,
    RandomResizedCrop,
    Resize,
)
from .images.directory import ImageSet, write_directory
from .images.files import MAX_PIXELS, SUFFIXES, ImageError, decode, find, inspect

__all__ = [
    "MAX_PIXELS",
    "SUFFIXES",
    "CenterCrop",
    "ColorJitter",
    "Flip",
    "ImageError",
    "ImageSet",
    "Normalize",
    "RandomCrop",
    "RandomResizedCrop",
    "Resize",
    "decode",
    "decoders",
    "find",
    "inspect",
    "write_directory",
]
