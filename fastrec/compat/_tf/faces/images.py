# SPDX-License-Identifier: Apache-2.0
"""Images cut, filled up, turned, lit and coloured, and boxes of them."""

from __future__ import annotations

from typing import Any

from ..dtypes import DType, as_dtype, float32, int32
from ..ops import Op, colours, geometry
from ..ops.codecs import ADJUST_JPEG_QUALITY
from . import Faces, Version

__all__ = ["Images"]

_FLOATS = ("float16", "float32", "float64")


class Images(Faces):
    """The functions of ``tf.image`` that draw nothing by chance."""

    def __init__(self, version: Version) -> None:
        super().__init__(version)
        self._asserted = version.apply_asserted

    def _cut(self, op: Op, image: Any, numbers: tuple[Any, ...], name: str) -> Any:
        sizes = [self._given(number, int32) for number in numbers]
        return self._asserted(op, [self._tensor(image), *sizes], name)

    def resize_with_crop_or_pad(self, image: Any, target_height: Any, target_width: Any) -> Any:
        """The middle of an image, with zeros around it where it is too small."""
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
        """A part of an image."""
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
        """An image within a larger one that is zero elsewhere."""
        box = offset_height, offset_width, target_height, target_width
        return self._cut(geometry.PAD, image, box, "pad_to_bounding_box")

    def central_crop(self, image: Any, central_fraction: float) -> Any:
        """The middle of an image, `central_fraction` of each side."""
        inputs = [self._tensor(image)]
        return self._asserted(
            geometry.CENTRAL_CROP, inputs, "central_crop", fraction=central_fraction
        )

    def flip_left_right(self, image: Any) -> Any:
        """Mirrored, the left on the right."""
        return self._asserted(geometry.FLIP_LEFT_RIGHT, [self._tensor(image)])

    def flip_up_down(self, image: Any) -> Any:
        """Mirrored, the top at the bottom."""
        return self._asserted(geometry.FLIP_UP_DOWN, [self._tensor(image)])

    def transpose(self, image: Any, name: str | None = None) -> Any:
        """Rows as columns."""
        return self._asserted(geometry.TRANSPOSE, [self._tensor(image)], name)

    def rot90(self, image: Any, k: Any = 1, name: str | None = None) -> Any:
        """Turned against the clock, `k` times by a right angle."""
        times = self._version.integers(k, "k", None, 0, ("int32",))
        return self._asserted(geometry.ROT90, [self._tensor(image), times], name)

    # Types, light and colours.

    def _scaled(self, image: Any) -> Any:
        """A tensor of numbers that an image can be made of."""
        tensor = self._tensor(image)
        colours.scaled(tensor.dtype)
        return tensor

    def _floating(self, images: Any) -> Any:
        tensor = self._tensor(images)
        if not tensor.dtype.is_floating:
            raise self._version.refused_type("images", "T", tensor.dtype, _FLOATS)
        return tensor

    def _in_space(self, images: Any) -> Any:
        """A tensor that is not known to be no image.

        Raises
        ------
        ValueError
            When it has too few dimensions, or no pixels.
        """
        tensor = self._scaled(images)
        sizes = tensor.shape.sizes
        if sizes is not None and len(sizes) < 3:
            raise ValueError("'image' must be at least three-dimensional.")
        return tensor

    def convert_image_dtype(
        self, image: Any, dtype: Any, saturate: bool = False, name: str | None = None
    ) -> Any:
        """The same image in another type, whose range is 0 to 1 for floating-point types."""
        wanted, tensor = as_dtype(dtype), self._scaled(image)
        colours.scaled(wanted, "dtype")
        if tensor.dtype is wanted:
            return tensor
        return self._apply(colours.CONVERT, (tensor,), name, dtype=wanted, saturate=saturate)

    def adjust_brightness(self, image: Any, delta: Any) -> Any:
        """`delta` added to every pixel; of whole numbers, that much of their range."""
        inputs = self._scaled(image), self._tensor(delta)
        return self._apply(colours.ADJUST_BRIGHTNESS, inputs)

    def adjust_contrast(self, images: Any, contrast_factor: Any) -> Any:
        """The distance of every pixel from the mean of its channel, times a factor."""
        inputs = self._in_space(images), self._tensor(contrast_factor, float32)
        return self._apply(colours.ADJUST_CONTRAST, inputs)

    def adjust_hue(self, image: Any, delta: Any, name: str | None = None) -> Any:
        """Every colour turned by `delta` of the circle of hues."""
        inputs = self._tensor(image), self._tensor(delta, float32)
        return self._apply(colours.ADJUST_HUE, inputs, name)

    def adjust_saturation(self, image: Any, saturation_factor: Any, name: str | None = None) -> Any:
        """The saturation of every colour, times a factor."""
        inputs = self._tensor(image), self._tensor(saturation_factor, float32)
        return self._apply(colours.ADJUST_SATURATION, inputs, name)

    def adjust_gamma(self, image: Any, gamma: Any = 1, gain: Any = 1) -> Any:
        """``gain * image ** gamma``, for colours of 0 to 1."""
        if isinstance(gamma, (int, float)) and gamma < 0:
            raise ValueError("Gamma should be a non-negative real number.")
        numbers = (self._tensor(number, float32) for number in (gamma, gain))
        return self._apply(colours.ADJUST_GAMMA, [self._tensor(image), *numbers])

    def rgb_to_hsv(self, images: Any, name: str | None = None) -> Any:
        """Hue, saturation and value of floating-point colours."""
        return self._apply(colours.RGB_TO_HSV, (self._floating(images),), name)

    def hsv_to_rgb(self, images: Any, name: str | None = None) -> Any:
        """The colours that have a hue, a saturation and a value."""
        return self._apply(colours.HSV_TO_RGB, (self._floating(images),), name)

    def per_image_standardization(self, image: Any) -> Any:
        """With a mean of 0 and a deviation of 1."""
        tensor = self._in_space(image)
        if 0 in (tensor.shape.sizes or ())[-3:]:
            raise ValueError(f"inner 3 dims of 'image.shape' must be > 0: {tensor.shape}")
        return self._apply(colours.STANDARDIZE, (tensor,))

    def rgb_to_grayscale(self, images: Any, name: str | None = None) -> Any:
        """One channel of three."""
        return self._apply(colours.RGB_TO_GRAYSCALE, (self._scaled(images),), name)

    def grayscale_to_rgb(self, images: Any, name: str | None = None) -> Any:
        """One channel three times."""
        tensor = self._tensor(images)
        colours.grey_sizes(tensor.shape.sizes)
        return self._apply(colours.GRAYSCALE_TO_RGB, (tensor,), name)

    def adjust_jpeg_quality(
        self, image: Any, jpeg_quality: Any, dct_method: str = "", name: str | None = None
    ) -> Any:
        """An image as a JPEG of that quality would have it."""
        inputs = self._tensor(image), self._tensor(jpeg_quality, int32)
        return self._apply(ADJUST_JPEG_QUALITY, inputs, name, dct_method=dct_method)

    # Boxes.

    def draw_bounding_boxes(
        self, images: Any, boxes: Any, colors: Any = None, name: str | None = None
    ) -> Any:
        """Images with the outlines of boxes."""
        from ...extra.boxes import DRAW_BOXES  # few programs work on boxes

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
        """Parts of images scaled to one size."""
        from ...extra.boxes import CROP_AND_RESIZE  # few programs work on boxes

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
        """The numbers of the boxes of best score that overlap none of a better one too much."""
        from ...extra.boxes import SUPPRESSED  # few programs work on boxes

        types: tuple[DType, ...] = (float32, float32, int32, float32, float32)
        values = boxes, scores, max_output_size, iou_threshold, score_threshold
        inputs = [self._given(value, dtype) for value, dtype in zip(values, types, strict=True)]
        return self._apply(SUPPRESSED, inputs, name)
