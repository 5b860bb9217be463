# SPDX-License-Identifier: Apache-2.0
"""Errors of images that cannot be used."""

from __future__ import annotations

from ..errors import ExampleParseError, one_line
from ..records.content import image_format, value_content

__all__ = [
    "FORMATS",
    "DeepImageError",
    "ListedImageError",
    "UnfitImageError",
    "explained",
    "reason",
]

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")
"""The decoders that Pillow may try on the bytes of a record. Some of its others run programs."""


class UnfitImageError(ValueError):
    """An image that can be decoded, but does not fit the feature."""


class DeepImageError(UnfitImageError):
    """An image whose samples do not fit in 8 bits."""

    def __init__(self) -> None:
        super().__init__(
            "the image has 16-bit samples; dtype='uint16' keeps them, dtype='uint8' keeps their "
            "upper byte"
        )


class ListedImageError(ValueError):
    """The error of one image of several in a row."""

    def __init__(self, number: int, error: Exception) -> None:
        super().__init__(f"image {number}: {reason(error)}")


def explained(error: Exception, value: bytes) -> Exception:
    """Return an error that names the content of a value that is not an image; or `error`."""
    if image_format(value) is not None or _is_unfit(error):
        return error
    found = value_content(value)
    remedy = "" if found.remedy else f"; it must be one of {', '.join(FORMATS)}"
    explained = ValueError(f"the value is {found}{remedy}")
    explained.__cause__ = error
    return explained


def _is_unfit(error: Exception) -> bool:
    """Return True for the error of an image that can be decoded, but does not fit."""
    if isinstance(error, UnfitImageError):
        return True
    return isinstance(error, ExampleParseError) and error.kind == "schema"


def reason(error: Exception) -> str:
    """Return why an image cannot be used, in one line of ASCII."""
    text = one_line(error)
    if type(error).__name__ == "UnidentifiedImageError":  # its text describes the io.BytesIO
        text = f"it must be one of {', '.join(FORMATS)}"
    if _is_unfit(error) or isinstance(error, ListedImageError):
        return text
    return f"cannot be decoded: {text}"
