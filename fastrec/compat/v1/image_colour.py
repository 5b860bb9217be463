# SPDX-License-Identifier: Apache-2.0
"""Images with other hues and saturations, drawn by chance."""

from __future__ import annotations

from typing import Any

from ._faces import images
from .random_ops import random_uniform

__all__ = ["random_hue", "random_saturation"]


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Any:
    """Every colour turned by up to `max_delta` of the circle of hues."""
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return images.adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Any:
    """With more or less saturation, by a factor from `lower` up to `upper`."""
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return images.adjust_saturation(image, random_uniform([], lower, upper, seed=seed))
