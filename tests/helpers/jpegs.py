# SPDX-License-Identifier: Apache-2.0
"""Images with the spectrum of photographs, and JPEGs of them in every form."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray


def photo(rng: np.random.Generator, height: int, width: int, channels: int = 3) -> NDArray[Any]:
    """Waves and noise, so that no coefficient is zero everywhere."""
    y, x = np.mgrid[:height, :width]
    waves = [128 + 100 * np.sin(x / 7 + k) * np.cos(y / 9 - k) for k in range(channels)]
    noisy = np.stack(waves, -1) + rng.normal(size=(height, width, channels)) * 12
    return np.clip(noisy, 0, 255).astype(np.uint8)


def encode(image: NDArray[Any], kind: str = "JPEG", **options: Any) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    flat = image[..., 0] if image.ndim == 3 and image.shape[2] == 1 else image
    Image.fromarray(flat).save(buffer, kind, **options)
    return buffer.getvalue()


def some_jpeg(rng: np.random.Generator, most: int = 150, **options: Any) -> bytes:
    """A JPEG of random size, quality and subsampling; grey or colour, baseline or progressive."""
    channels = int(rng.choice([1, 3]))
    height, width = (int(side) for side in rng.integers(1, most, 2))
    chosen: dict[str, Any] = {
        "quality": int(rng.integers(10, 100)),
        "progressive": bool(rng.integers(2)),
        "subsampling": int(rng.integers(3)) if channels == 3 else -1,
    }
    return encode(photo(rng, height, width, channels), **{**chosen, **options})
