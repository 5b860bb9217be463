# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""``tf.image``: images out of bytes and back, cut, turned, lit and coloured."""

from __future__ import annotations

from typing import Any

from ._faces import codecs as _codecs
from ._faces import images as _images
from .image_boxes import *
from .image_random import *
from .image_sizes import *

adjust_brightness = _images.adjust_brightness
adjust_contrast = _images.adjust_contrast
adjust_gamma = _images.adjust_gamma
adjust_hue = _images.adjust_hue
adjust_jpeg_quality = _codecs.adjust_jpeg_quality
adjust_saturation = _images.adjust_saturation
central_crop = _images.central_crop
convert_image_dtype = _images.convert_image_dtype
crop_and_resize = _images.crop_and_resize
crop_to_bounding_box = _images.crop_to_bounding_box
decode_and_crop_jpeg = _codecs.decode_and_crop_jpeg
decode_bmp = _codecs.decode_bmp
decode_gif = _codecs.decode_gif
decode_image = _codecs.decode_image
decode_jpeg = _codecs.decode_jpeg
decode_png = _codecs.decode_png
draw_bounding_boxes = _images.draw_bounding_boxes
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


def __getattr__(name: str) -> Any:
    from . import _late

    return _late.found("image", name)
