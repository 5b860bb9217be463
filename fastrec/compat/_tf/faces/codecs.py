# SPDX-License-Identifier: Apache-2.0
"""Functions that decode and encode images."""

from __future__ import annotations

from typing import Any

from ..dtypes import DType, as_dtype, int32, string, uint8
from ..ops import Op
from ..ops import codecs as rows
from ..texts import as_bytes
from . import Faces

__all__ = ["ImageCodecs"]


class ImageCodecs(Faces):
    """The functions of ``tf.image`` and ``tf.io`` that decode and encode images."""

    def _decoded(self, op: Op, contents: Any, name: str | None, **attributes: Any) -> Any:
        return self._apply(op, (self._tensor(contents, string),), name, **attributes)

    def _check_png(self, parameter: str, attr: str, element: DType) -> None:
        if element.name not in rows.PNG_TYPES:
            raise self._version.refused_type(parameter, attr, element, rows.PNG_TYPES)

    def decode_png(
        self,
        contents: Any,
        channels: int | None = 0,
        dtype: Any = uint8,
        name: str | None = None,
    ) -> Any:
        """Decode an image of any supported format to ``[height, width, channels]``."""
        element = as_dtype(dtype)
        self._check_png("dtype", "dtype", element)
        return self._decoded(rows.DECODE_PNG, contents, name, channels=channels or 0, dtype=element)

    def decode_jpeg(
        self,
        contents: Any,
        channels: int | None = 0,
        ratio: int = 1,
        fancy_upscaling: bool = True,
        try_recover_truncated: bool = False,
        acceptable_fraction: float = 1,
        dct_method: str = "",
        name: str | None = None,
    ) -> Any:
        """Decode an image of any supported format to ``[height, width, channels]``."""
        how: dict[str, Any] = {"ratio": ratio, "fancy_upscaling": fancy_upscaling}
        how |= {"channels": channels or 0, "dct_method": dct_method}
        return self._decoded(rows.DECODE_JPEG, contents, name, **how)

    def decode_and_crop_jpeg(
        self,
        contents: Any,
        crop_window: Any,
        channels: int | None = 0,
        ratio: int = 1,
        fancy_upscaling: bool = True,
        try_recover_truncated: bool = False,
        acceptable_fraction: float = 1,
        dct_method: str = "",
        name: str | None = None,
    ) -> Any:
        """Decode the window ``[top, left, height, width]`` of a JPEG."""
        inputs = self._tensor(contents, string), self._tensor(crop_window, int32)
        how: dict[str, Any] = {"ratio": ratio, "fancy_upscaling": fancy_upscaling}
        how |= {"channels": channels or 0, "dct_method": dct_method}
        return self._apply(rows.DECODE_AND_CROP_JPEG, inputs, name, **how)

    def decode_gif(self, contents: Any, name: str | None = None) -> Any:
        """Decode the frames of a GIF to ``[frames, height, width, 3]``."""
        return self._decoded(rows.DECODE_GIF, contents, name)

    def decode_bmp(self, contents: Any, channels: int = 0, name: str | None = None) -> Any:
        """Decode a BMP to ``[height, width, channels]``."""
        return self._decoded(rows.DECODE_BMP, contents, name, channels=channels)

    def decode_image(
        self,
        contents: Any,
        channels: int | None = None,
        dtype: Any = uint8,
        name: str | None = None,
        expand_animations: bool = True,
    ) -> Any:
        """Decode an image of any supported format, and all frames of a GIF.

        If `dtype` is a floating-point type, the values are from 0 to 1.
        """
        how: dict[str, Any] = {"channels": channels or 0, "expand_animations": expand_animations}
        return self._decoded(rows.DECODE_IMAGE, contents, name, dtype=as_dtype(dtype), **how)

    def is_jpeg(self, contents: Any, name: str | None = None) -> Any:
        """Return whether a string starts like a JPEG."""
        return self._decoded(rows.IS_JPEG, contents, name)

    def extract_jpeg_shape(
        self, contents: Any, output_type: Any = int32, name: str | None = None
    ) -> Any:
        """Return the height, width and number of channels of a JPEG."""
        dtype = as_dtype(output_type)
        return self._decoded(rows.EXTRACT_JPEG_SHAPE, contents, name, output_type=dtype)

    def encode_png(self, image: Any, compression: int = -1, name: str | None = None) -> Any:
        """Encode an image, or each of several images, as PNG.

        `compression` is from 0 to 9, or -1 for zlib's default.
        """
        tensor = self._tensor(image)
        self._check_png("image", "T", tensor.dtype)
        return self._apply(rows.ENCODE_PNG, (tensor,), name, compression=compression)

    def encode_jpeg(
        self,
        image: Any,
        format: str = "",
        quality: int = 95,
        progressive: bool = False,
        optimize_size: bool = False,
        chroma_downsampling: bool = True,
        density_unit: str = "in",
        x_density: int = 300,
        y_density: int = 300,
        xmp_metadata: str = "",
        name: str | None = None,
    ) -> Any:
        """Encode an image of ``[height, width, channels]``, with 1 or 3 channels, as JPEG."""
        if format not in rows.JPEG_FORMATS:
            refused = self._version.refused_value
            raise refused("EncodeJpeg", "format", format, rows.JPEG_FORMATS)
        how: dict[str, Any] = {"progressive": progressive, "optimize": optimize_size}
        how |= {"chroma_downsampling": chroma_downsampling, "density_unit": density_unit}
        how |= {"density": (x_density, y_density), "xmp": as_bytes(xmp_metadata)}
        inputs = (self._tensor(image, uint8),)
        return self._apply(rows.ENCODE_JPEG, inputs, name, format=format, quality=quality, **how)
