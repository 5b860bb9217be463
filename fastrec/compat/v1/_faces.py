# SPDX-License-Identifier: Apache-2.0
"""The functions that version 2 has, too, by topic: they add operations to graphs."""

from __future__ import annotations

from .._tf.faces.codecs import ImageCodecs
from .._tf.faces.images import Images
from ._ops import GRAPHS

__all__ = ["codecs", "images"]

codecs = ImageCodecs(GRAPHS)
images = Images(GRAPHS)
