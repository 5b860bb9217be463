# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""``tf.image``: images out of bytes and back, cut, turned, lit and coloured."""

from __future__ import annotations

from typing import Any

from .._tf.faces import functions_of as _functions_of
from ._faces import codecs as _codecs
from ._faces import images as _images
from .image_boxes import *
from .image_random import *
from .image_sizes import *

globals().update(_functions_of(_images, _codecs))


def __getattr__(name: str) -> Any:
    from . import _late

    return _late.found("image", name)
