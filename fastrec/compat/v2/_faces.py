# SPDX-License-Identifier: Apache-2.0
"""The functions that version 1 has, too, by topic."""

from __future__ import annotations

from .._tf.faces.codecs import ImageCodecs
from .._tf.faces.images import Images
from ._eager import EAGER

__all__ = ["codecs", "images"]

codecs = ImageCodecs(EAGER)
images = Images(EAGER)
