# SPDX-License-Identifier: Apache-2.0
"""Rarely used functions of ``tf.image``: measures, colour spaces, and boxes by class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .._tf.dtypes import float32, int32
from .._tf.faces import Faces
from .._tf.faces.images import Images
from .._tf.ops import Op, arithmetic
from . import measures as rows


class CombinedNonMaxSuppression(NamedTuple):
    """The boxes that remain, with their scores and classes, and their number in each image."""

    nmsed_boxes: Any
    nmsed_scores: Any
    nmsed_classes: Any
    valid_detections: Any


_POWERS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
_LOWEST = float("-inf")


class Measures(Faces):
    """Rarely used functions of ``tf.image`` for a version."""

    def _mixed(self, name: str, images: Any) -> Any:
        tensor = self._version.checked(rows.MIXED[name], self._tensor(images))
        return self._apply(rows.MIXED[name], [tensor])

    def rgb_to_yuv(self, images: Any) -> Any:
        """Convert images from RGB to YUV."""
        return self._mixed("RgbToYuv", images)

    def yuv_to_rgb(self, images: Any) -> Any:
        """Convert images from YUV to RGB."""
        return self._mixed("YuvToRgb", images)

    def rgb_to_yiq(self, images: Any) -> Any:
        """Convert images from RGB to YIQ, the colour space of NTSC."""
        return self._mixed("RgbToYiq", images)

    def yiq_to_rgb(self, images: Any) -> Any:
        """Convert images from YIQ, the colour space of NTSC, to RGB."""
        return self._mixed("YiqToRgb", images)

    def total_variation(self, images: Any, name: str | None = None) -> Any:
        """Compute the total variation: the sum of absolute differences of adjacent pixels."""
        tensor = self._tensor(images)
        if tensor.shape.ndims not in (3, 4, None):
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        return self._apply(rows.TOTAL_VARIATION, [tensor], name)

    def _scaled(self, first: Any, second: Any, most: Any) -> list[Any]:
        """Return the images and the largest value, scaled to the range 0 to 1."""
        x, y = self._tensor(first), self._tensor(second)
        largest = self._tensor(most)
        if largest.dtype is not x.dtype:
            largest = self._apply(arithmetic.CAST, [largest], None, DstT=x.dtype)
        convert = Images(self._version).convert_image_dtype
        return [convert(each, float32) for each in (x, y, largest)]

    def psnr(self, a: Any, b: Any, max_val: Any, name: str | None = None) -> Any:
        """Compute the peak signal-to-noise ratio of two images, in decibels."""
        return self._apply(rows.PSNR, self._scaled(a, b, max_val), name)

    def ssim(
        self,
        img1: Any,
        img2: Any,
        max_val: Any,
        filter_size: int = 11,
        filter_sigma: float = 1.5,
        k1: float = 0.01,
        k2: float = 0.03,
        return_index_map: bool = False,
    ) -> Any:
        """Compute the structural similarity (SSIM) of images, or of each of their windows."""
        how = {"size": int(filter_size), "sigma": float(filter_sigma), "k1": k1, "k2": k2}
        inputs = self._scaled(img1, img2, max_val)
        return self._apply(rows.SSIM, inputs, None, index=bool(return_index_map), **how)

    def ssim_multiscale(
        self,
        img1: Any,
        img2: Any,
        max_val: Any,
        power_factors: Sequence[float] = _POWERS,
        filter_size: int = 11,
        filter_sigma: float = 1.5,
        k1: float = 0.01,
        k2: float = 0.03,
    ) -> Any:
        """Compute the structural similarity (SSIM) of images at several scales."""
        how = {"size": int(filter_size), "sigma": float(filter_sigma), "k1": k1, "k2": k2}
        inputs = self._scaled(img1, img2, max_val)
        return self._apply(rows.MULTISCALE, inputs, None, powers=tuple(power_factors), **how)

    def sobel_edges(self, image: Any) -> Any:
        """Compute the vertical and horizontal Sobel edges; they add one dimension."""
        return self._apply(rows.SOBEL, [self._version.checked(rows.SOBEL, self._tensor(image))])

    def image_gradients(self, image: Any) -> Any:
        """Compute the differences to the next pixel below and to the next pixel on the right."""
        tensor = self._tensor(image)
        if tensor.shape.ndims != 4:
            raise ValueError(
                f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {tensor.shape}."
            )
        return tuple(self._version.apply_all(rows.GRADIENTS, [tensor]))

    def extract_patches(
        self, images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: Any = None
    ) -> Any:
        """Extract patches of images; the values of a patch become the channels of one pixel."""
        if padding not in ("SAME", "VALID"):
            raise self._version.refused_value(
                rows.PATCHES.name, "padding", padding, ("SAME", "VALID")
            )
        how = {"sizes": sizes, "strides": strides, "rates": rates}
        for key, value in how.items():
            numbers = [int(each) for each in value]
            if len(numbers) != 4 or numbers[0] != 1 or numbers[3] != 1 or min(numbers) < 1:
                raise ValueError(f"{key} must be [1, rows, columns, 1], got {numbers}")
            how[key] = tuple(numbers[1:3])
        return self._apply(rows.PATCHES, [self._tensor(images)], name, padding=padding, **how)

    def _boxes(self, op: Op, values: Sequence[Any], name: str | None, **how: Any) -> list[Any]:
        kinds = [float32, float32, int32, *[float32] * (len(values) - 3)]
        inputs = [self._given(value, kind) for value, kind in zip(values, kinds, strict=True)]
        found: list[Any] = self._version.apply_all(op, inputs, name, **how)
        return found

    def non_max_suppression_with_scores(
        self,
        boxes: Any,
        scores: Any,
        max_output_size: Any,
        iou_threshold: Any = 0.5,
        score_threshold: Any = _LOWEST,
        soft_nms_sigma: Any = 0.0,
        name: str | None = None,
    ) -> Any:
        """Select the indices and scores of the best boxes; overlaps may reduce the scores."""
        values = (boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma)
        return tuple(self._boxes(rows.WITH_SCORES, values, name))

    def non_max_suppression_overlaps(
        self,
        overlaps: Any,
        scores: Any,
        max_output_size: Any,
        overlap_threshold: Any = 0.5,
        score_threshold: Any = _LOWEST,
        name: str | None = None,
    ) -> Any:
        """Select the indices of the best boxes from a matrix of overlaps."""
        values = (overlaps, scores, max_output_size, overlap_threshold, score_threshold)
        return self._boxes(rows.OF_OVERLAPS, values, name)[0]

    def non_max_suppression_padded(
        self,
        boxes: Any,
        scores: Any,
        max_output_size: Any,
        iou_threshold: Any = 0.5,
        score_threshold: Any = _LOWEST,
        pad_to_max_output_size: bool = False,
        name: str | None = None,
        sorted_input: bool = False,
        canonicalized_coordinates: bool = False,
        tile_size: int = 512,
    ) -> Any:
        """Select the indices of the best boxes, pad them with zeros, and return their number."""
        given = self._tensor(boxes)
        if not pad_to_max_output_size and given.shape.ndims not in (2, None):
            raise ValueError(
                f"'pad_to_max_output_size' (value {pad_to_max_output_size}) must be True for "
                "batched input"
            )
        values = (given, scores, max_output_size, iou_threshold, score_threshold)
        ways = {"ordered": sorted_input, "canonical": canonicalized_coordinates}
        how = {"pad": bool(pad_to_max_output_size), "tile": int(tile_size)}
        how |= {key: bool(value) for key, value in ways.items()}
        return tuple(self._boxes(rows.PADDED, values, name, **how))

    def combined_non_max_suppression(
        self,
        boxes: Any,
        scores: Any,
        max_output_size_per_class: Any,
        max_total_size: Any,
        iou_threshold: Any = 0.5,
        score_threshold: Any = _LOWEST,
        pad_per_class: bool = False,
        clip_boxes: bool = True,
        name: str | None = None,
    ) -> Any:
        """Select the best boxes of each class of each image."""
        kinds = (float32, float32, int32, int32, float32, float32)
        sizes = (max_output_size_per_class, max_total_size)
        values = (boxes, scores, *sizes, iou_threshold, score_threshold)
        inputs = [self._given(value, kind) for value, kind in zip(values, kinds, strict=True)]
        how = {"pad_per_class": bool(pad_per_class), "clip_boxes": bool(clip_boxes)}
        return CombinedNonMaxSuppression(
            *self._version.apply_all(rows.BY_CLASS, inputs, name, **how)
        )
