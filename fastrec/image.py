# SPDX-License-Identifier: Apache-2.0
"""Image files as arrays and as records; Pillow is imported by the functions that need it."""

from __future__ import annotations

from .images.directory import ImageSet, write_directory
from .images.files import MAX_PIXELS, SUFFIXES, ImageError, decode, find, inspect

__all__ = [
    "MAX_PIXELS",
    "SUFFIXES",
    "ImageError",
    "ImageSet",
    "decode",
    "find",
    "inspect",
    "write_directory",
]
