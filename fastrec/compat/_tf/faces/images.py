# SPDX-License-Identifier: Apache-2.0
"""Functions that decode, encode, crop, pad, flip and recolour images, also at random; boxes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import DType, as_dtype, float32, int32, string, uint8
from ..naming import under_own_names
from ..ops import Op, draws, geometry
from ..ops import codecs as rows
from ..ops import geometry as colours
from ..ops.codecs import ADJUST_JPEG_QUALITY
from ..ops.shaping import SHAPE
from . import Faces, Version, functions_of
from .draws import Distributions, Draws, Stateless
from .strings import as_bytes

_FLOATS = ("float16", "float32", "float64")


class Images(Faces):
    """The functions of ``tf.image`` that do not draw random numbers."""

    def __init__(self, version: Version) -> None:
        super().__init__(version)
        self._asserted = version.apply_asserted

    def _cut(self, op: Op, image: Any, numbers: tuple[Any, ...], name: str) -> Any:
        sizes = [self._given(number, int32) for number in numbers]
        return self._asserted(op, [self._tensor(image), *sizes], name)

    def resize_with_crop_or_pad(self, image: Any, target_height: Any, target_width: Any) -> Any:
        """Crop an image to its centre, or pad it with zeros, to the target size."""
        size = target_height, target_width
        return self._cut(geometry.CROP_OR_PAD, image, size, "resize_image_with_crop_or_pad")

    def crop_to_bounding_box(
        self,
        image: Any,
        offset_height: Any,
        offset_width: Any,
        target_height: Any,
        target_width: Any,
    ) -> Any:
        """Crop an image to a bounding box."""
        box = offset_height, offset_width, target_height, target_width
        return self._cut(geometry.CROP, image, box, "crop_to_bounding_box")

    def pad_to_bounding_box(
        self,
        image: Any,
        offset_height: Any,
        offset_width: Any,
        target_height: Any,
        target_width: Any,
    ) -> Any:
        """Place an image at an offset in a larger image of zeros."""
        box = offset_height, offset_width, target_height, target_width
        return self._cut(geometry.PAD, image, box, "pad_to_bounding_box")

    def central_crop(self, image: Any, central_fraction: float) -> Any:
        """Crop an image to its centre; keep `central_fraction` of each side."""
        inputs = [self._tensor(image)]
        return self._asserted(
            geometry.CENTRAL_CROP, inputs, "central_crop", fraction=central_fraction
        )

    def flip_left_right(self, image: Any) -> Any:
        """Flip an image horizontally."""
        return self._asserted(geometry.FLIP_LEFT_RIGHT, [self._tensor(image)])

    def flip_up_down(self, image: Any) -> Any:
        """Flip an image vertically."""
        return self._asserted(geometry.FLIP_UP_DOWN, [self._tensor(image)])

    def transpose(self, image: Any, name: str | None = None) -> Any:
        """Swap the rows and columns of an image."""
        return self._asserted(geometry.TRANSPOSE, [self._tensor(image)], name)

    def rot90(self, image: Any, k: Any = 1, name: str | None = None) -> Any:
        """Rotate an image counter-clockwise by 90 degrees, `k` times."""
        times = self._version.integers(k, "k", None, 0, ("int32",))
        return self._asserted(geometry.ROT90, [self._tensor(image), times], name)

    # Types, brightness and colours.

    def _scaled(self, image: Any) -> Any:
        """Return a tensor whose type is valid for an image."""
        tensor = self._tensor(image)
        colours.scaled(tensor.dtype)
        return tensor

    def _floating(self, images: Any) -> Any:
        tensor = self._tensor(images)
        if not tensor.dtype.is_floating:
            raise self._version.refused_type("images", "T", tensor.dtype, _FLOATS)
        return tensor

    def _in_space(self, images: Any) -> Any:
        """Return the tensor unless its static shape is known to be invalid for an image.

        Raises
        ------
        ValueError
            If it has fewer than three dimensions.
        """
        tensor = self._scaled(images)
        sizes = tensor.shape.sizes
        if sizes is not None and len(sizes) < 3:
            raise ValueError("'image' must be at least three-dimensional.")
        return tensor

    def convert_image_dtype(
        self, image: Any, dtype: Any, saturate: bool = False, name: str | None = None
    ) -> Any:
        """Convert an image to another type; floating-point types have the range 0 to 1."""
        wanted, tensor = as_dtype(dtype), self._scaled(image)
        colours.scaled(wanted, "dtype")
        if tensor.dtype is wanted:
            return tensor
        return self._apply(colours.CONVERT, (tensor,), name, dtype=wanted, saturate=saturate)

    def adjust_brightness(self, image: Any, delta: Any) -> Any:
        """Add `delta` to every pixel; for integer types, `delta` is a fraction of their range."""
        inputs = self._scaled(image), self._tensor(delta)
        return self._apply(colours.ADJUST_BRIGHTNESS, inputs)

    def adjust_contrast(self, images: Any, contrast_factor: Any) -> Any:
        """Multiply the distance of every pixel from the mean of its channel by a factor."""
        inputs = self._in_space(images), self._tensor(contrast_factor, float32)
        return self._apply(colours.ADJUST_CONTRAST, inputs)

    def adjust_hue(self, image: Any, delta: Any, name: str | None = None) -> Any:
        """Shift the hue of every pixel by the fraction `delta` of the colour circle."""
        inputs = self._tensor(image), self._tensor(delta, float32)
        return self._apply(colours.ADJUST_HUE, inputs, name)

    def adjust_saturation(self, image: Any, saturation_factor: Any, name: str | None = None) -> Any:
        """Multiply the saturation of every pixel by a factor."""
        inputs = self._tensor(image), self._tensor(saturation_factor, float32)
        return self._apply(colours.ADJUST_SATURATION, inputs, name)

    def adjust_gamma(self, image: Any, gamma: Any = 1, gain: Any = 1) -> Any:
        """Compute ``gain * image ** gamma`` for pixels from 0 to 1."""
        if isinstance(gamma, (int, float)) and gamma < 0:
            raise ValueError("Gamma should be a non-negative real number.")
        numbers = (self._tensor(number, float32) for number in (gamma, gain))
        return self._apply(colours.ADJUST_GAMMA, [self._tensor(image), *numbers])

    def rgb_to_hsv(self, images: Any, name: str | None = None) -> Any:
        """Convert floating-point images from RGB to hue, saturation and value."""
        return self._apply(colours.RGB_TO_HSV, (self._floating(images),), name)

    def hsv_to_rgb(self, images: Any, name: str | None = None) -> Any:
        """Convert images from hue, saturation and value to RGB."""
        return self._apply(colours.HSV_TO_RGB, (self._floating(images),), name)

    def per_image_standardization(self, image: Any) -> Any:
        """Scale each image to a mean of 0 and a standard deviation of 1."""
        tensor = self._in_space(image)
        if 0 in (tensor.shape.sizes or ())[-3:]:
            raise ValueError(f"inner 3 dims of 'image.shape' must be > 0: {tensor.shape}")
        return self._apply(colours.STANDARDIZE, (tensor,))

    def rgb_to_grayscale(self, images: Any, name: str | None = None) -> Any:
        """Convert images from RGB to grayscale, with one channel."""
        return self._apply(colours.RGB_TO_GRAYSCALE, (self._scaled(images),), name)

    def grayscale_to_rgb(self, images: Any, name: str | None = None) -> Any:
        """Convert images from grayscale to RGB by repeating the channel three times."""
        tensor = self._tensor(images)
        colours.grey_sizes(tensor.shape.sizes)
        return self._apply(colours.GRAYSCALE_TO_RGB, (tensor,), name)

    def adjust_jpeg_quality(
        self, image: Any, jpeg_quality: Any, dct_method: str = "", name: str | None = None
    ) -> Any:
        """Encode an image as JPEG with the given quality, and decode it."""
        inputs = self._tensor(image), self._tensor(jpeg_quality, int32)
        return self._apply(ADJUST_JPEG_QUALITY, inputs, name, dct_method=dct_method)

    # Boxes.

    def draw_bounding_boxes(
        self, images: Any, boxes: Any, colors: Any = None, name: str | None = None
    ) -> Any:
        """Draw the outlines of boxes on images."""
        from ...extra.boxes import DRAW_BOXES  # few programs use boxes

        inputs = [self._tensor(images), self._tensor(boxes, float32)]
        if colors is None:
            return self._apply(DRAW_BOXES, inputs, name, "DrawBoundingBoxes")
        return self._apply(DRAW_BOXES, [*inputs, self._tensor(colors, float32)], name)

    def crop_and_resize(
        self,
        image: Any,
        boxes: Any,
        box_indices: Any,
        crop_size: Any,
        method: str = "bilinear",
        extrapolation_value: float = 0.0,
        name: str | None = None,
    ) -> Any:
        """Crop windows of images, and resize them to one size."""
        from ...extra.boxes import CROP_AND_RESIZE  # few programs use boxes

        inputs = [self._tensor(image), self._tensor(boxes, float32)]
        inputs += [self._tensor(each, int32) for each in (box_indices, crop_size)]
        how = {"method": method, "outside": extrapolation_value}
        return self._apply(CROP_AND_RESIZE, inputs, name, **how)

    def non_max_suppression(
        self,
        boxes: Any,
        scores: Any,
        max_output_size: Any,
        iou_threshold: Any = 0.5,
        score_threshold: Any = float("-inf"),
        name: str | None = None,
    ) -> Any:
        """Select the indices of the best-scored boxes, without boxes that overlap a better one."""
        from ...extra.boxes import SUPPRESSED  # few programs use boxes

        types: tuple[DType, ...] = (float32, float32, int32, float32, float32)
        values = boxes, scores, max_output_size, iou_threshold, score_threshold
        inputs = [self._given(value, dtype) for value, dtype in zip(values, types, strict=True)]
        return self._apply(SUPPRESSED, inputs, name)


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


def _span(most: float, limit: float | None = None) -> dict[str, float]:
    if limit is not None and most > limit:
        raise ValueError(f"max_delta must be <= {limit}.")
    if most < 0:
        raise ValueError("max_delta must be non-negative.")
    return {"minval": -most, "maxval": most}


def _between(lower: float, upper: float) -> dict[str, float]:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return {"minval": lower, "maxval": upper}


class _ImageDraws(Faces):
    """``random_*`` of ``tf.image``, which draw with seeds, or ``stateless_random_*``.

    Parameters
    ----------
    version : Version
    numbers : Distributions
        The numbers that are drawn.
    """

    def __init__(self, version: Version, numbers: Distributions) -> None:
        super().__init__(version)
        self._numbers, self._images = numbers, Images(version)

    def _uniform(
        self,
        seed: Any,
        shape: Any = (),
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = "float32",
    ) -> Any:
        return self._numbers._uniform(shape, minval, maxval, dtype, seed)

    def _flip(self, op: Op, image: Any, seed: Any) -> Any:
        tensor = self._tensor(image)
        if (tensor.shape.ndims or 3) < 3:
            raise ValueError(f"'image' (shape {tensor.shape}) must be at least three-dimensional.")
        several = len(geometry.image_sizes(tensor.shape) or ()) == 4
        drawn = self._uniform(seed, self._count(tensor) if several else ())
        return self._apply(op, [tensor, drawn], several=several)

    def _count(self, tensor: Any) -> Any:
        """Return the shape for drawing one number for each row."""
        first = (tensor.shape.sizes or (None,))[0]
        if first is not None:
            return [first]
        return self._apply(SHAPE, [tensor], out_type=int32)[:1]

    def flip_left_right(self, image: Any, seed: Any = None) -> Any:
        """Flip an image horizontally with a probability of 1/2."""
        return self._flip(draws.FLIP_LEFT_RIGHT, image, seed)

    def flip_up_down(self, image: Any, seed: Any = None) -> Any:
        """Flip an image vertically with a probability of 1/2."""
        return self._flip(draws.FLIP_UP_DOWN, image, seed)

    def crop(self, value: Any, size: Any, seed: Any = None, name: str | None = None) -> Any:
        """Crop a tensor to a size at a random position."""
        wanted = self._tensor(size, int32)
        whole = self._tensor(value)
        rank = whole.shape.ndims  # a size of another length is an error
        count = [rank] if wanted.shape.sizes == (None,) and rank else self._count(wanted)
        numbers = self._uniform(seed, count, maxval=int32.max, dtype=int32)
        inputs = whole, wanted, numbers
        return self._apply(draws.CROP, inputs, name or "random_crop")

    def brightness(self, image: Any, max_delta: float, seed: Any = None) -> Any:
        """Add a random number from ``-max_delta`` to `max_delta` to the pixels of an image."""
        delta = self._uniform(seed, **_span(max_delta))
        return self._images.adjust_brightness(image, delta)

    def contrast(self, image: Any, lower: float, upper: float, seed: Any = None) -> Any:
        """Adjust the contrast of an image by a random factor from `lower` to `upper`."""
        factor = self._uniform(seed, **_between(lower, upper))
        return self._images.adjust_contrast(image, factor)

    def hue(self, image: Any, max_delta: float, seed: Any = None) -> Any:
        """Shift the hue of an image by a random share of the colour circle, at most `max_delta`."""
        return self._images.adjust_hue(image, self._uniform(seed, **_span(max_delta, 0.5)))

    def saturation(self, image: Any, lower: float, upper: float, seed: Any = None) -> Any:
        """Adjust the saturation of an image by a random factor from `lower` to `upper`."""
        factor = self._uniform(seed, **_between(lower, upper))
        return self._images.adjust_saturation(image, factor)

    def jpeg_quality(
        self, image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: Any = None
    ) -> Any:
        """Encode an image as JPEG with a random quality, and decode it."""
        quality = self._uniform(
            seed, minval=min_jpeg_quality, maxval=max_jpeg_quality, dtype="int32"
        )
        return self._images.adjust_jpeg_quality(image, quality)


def random_functions(draws: Draws, stateless: Stateless) -> dict[str, Callable[..., Any]]:
    """Return the random functions of ``tf.image`` by name."""
    found = {
        f"{numbers._prefix}random_{name}": function
        for numbers in (draws, stateless)
        for name, function in functions_of(_ImageDraws(draws._version, numbers)).items()
    }
    return under_own_names(found)
