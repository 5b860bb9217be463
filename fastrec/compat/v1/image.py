# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""``tf.image``: images decoded, cut, mirrored, scaled and encoded."""

from __future__ import annotations

from typing import Any

from . import _late
from ._faces import codecs as _codecs
from ._faces import images as _images
from .image_boxes import *
from .image_colour import *
from .image_ops import *
from .image_sizes import *
from .random_ops import random_crop as random_crop
from .random_ops import stateless_random_crop as stateless_random_crop

adjust_brightness = _images.adjust_brightness
adjust_contrast = _images.adjust_contrast
adjust_gamma = _images.adjust_gamma
adjust_hue = _images.adjust_hue
adjust_jpeg_quality = _codecs.adjust_jpeg_quality
adjust_saturation = _images.adjust_saturation
central_crop = _images.central_crop
convert_image_dtype = _images.convert_image_dtype
crop_to_bounding_box = _images.crop_to_bounding_box
decode_and_crop_jpeg = _codecs.decode_and_crop_jpeg
decode_bmp = _codecs.decode_bmp
decode_gif = _codecs.decode_gif
decode_image = _codecs.decode_image
decode_jpeg = _codecs.decode_jpeg
decode_png = _codecs.decode_png
encode_jpeg = _codecs.encode_jpeg
encode_png = _codecs.encode_png
extract_jpeg_shape = _codecs.extract_jpeg_shape
flip_left_right = _images.flip_left_right
flip_up_down = _images.flip_up_down
grayscale_to_rgb = _images.grayscale_to_rgb
hsv_to_rgb = _images.hsv_to_rgb
is_jpeg = _codecs.is_jpeg
non_max_suppression = _images.non_max_suppression
pad_to_bounding_box = _images.pad_to_bounding_box
per_image_standardization = _images.per_image_standardization
resize_with_crop_or_pad = _images.resize_with_crop_or_pad
rgb_to_grayscale = _images.rgb_to_grayscale
rgb_to_hsv = _images.rgb_to_hsv
rot90 = _images.rot90
transpose = _images.transpose
# Older names.
per_image_whitening = per_image_standardization
resize_image_with_crop_or_pad = resize_with_crop_or_pad
transpose_image = transpose


def __getattr__(name: str) -> Any:
    return _late.found("image", name)
