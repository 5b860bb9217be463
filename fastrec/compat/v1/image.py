# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""``tf.image``: images decoded, cut, mirrored, scaled and encoded."""

from __future__ import annotations

from typing import Any

from . import _missing
from .image_boxes import *
from .image_codecs import *
from .image_colour import *
from .image_ops import *
from .image_sizes import *
from .random_ops import random_crop as random_crop
from .random_ops import stateless_random_crop as stateless_random_crop


def __getattr__(name: str) -> Any:
    raise _missing.error("image", name)
