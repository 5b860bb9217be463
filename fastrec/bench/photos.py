# SPDX-License-Identifier: Apache-2.0
"""Generate JPEGs like those of ImageNet from scikit-learn's two photographs."""

from __future__ import annotations

import io

import numpy as np

from .cases import Case, Columns, Strings

__all__ = ["MEAN", "SIZE", "STD", "columns"]

SIZE = 224
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def columns(random: np.random.Generator, case: Case, n: int) -> Columns:
    """Generate photographs of about 375 by 500 pixels at quality 90, and labels from 1 to 1000."""
    from PIL import Image
    from sklearn.datasets import load_sample_images

    sources = [Image.fromarray(pixels) for pixels in load_sample_images().images]
    encoded = []
    for number in range(n):
        source = sources[number % len(sources)]
        share = random.uniform(0.6, 1)
        width, height = (int(side * share) for side in source.size)
        left = int(random.integers(0, source.width - width + 1))
        top = int(random.integers(0, source.height - height + 1))
        part = source.crop((left, top, left + width, top + height))
        file = io.BytesIO()
        part.resize((500, int(random.integers(330, 421)))).save(file, "JPEG", quality=90)
        encoded.append(file.getvalue())
    return {
        "image/encoded": Strings.of(encoded),
        "image/class/label": random.integers(1, 1001, n),
    }
