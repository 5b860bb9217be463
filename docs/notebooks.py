# SPDX-License-Identifier: Apache-2.0
"""Write notebooks of some pages: ``python docs/notebooks.py DIRECTORY``.

A notebook has the text and the Python code of its page, and tests execute every one. The build of
the site writes them next to the pages.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
PAGES = {
    "images": "images.md",
    "tokens": "tokens.md",
    "robotics-rlds": "tfds.md",
    "exploration": "start.md",
    "migration-from-tf-data": "compat-v2.md",
}
"""Page of each notebook."""

SETUP = {
    "images": """\
# Draw some JPEGs; the guide assumes the shards of ImageNet.
import io
import numpy as np
import fastrec
from PIL import Image

rng = np.random.default_rng(0)
with fastrec.Writer("train", shards=1024) as writer:
    for number in range(1024):
        file = io.BytesIO()
        pixels = np.full((96, 128, 3), rng.integers(256, size=3), np.uint8)
        Image.fromarray(pixels).save(file, "JPEG")
        jpeg = file.getvalue()
        writer.write({"image/encoded": jpeg, "image/class/label": 1 + number % 10})
""",
    "robotics-rlds": """\
# Write a small dataset of flowers and one of robot episodes.
import numpy as np
import fastrec.tfds
from fastrec.tfds import features


def flower(number):
    return {"image": np.full((9, 8, 3), number, np.uint8), "label": number % 2}


def episode(number):
    image = np.full((32, 40, 3), number, np.uint8)
    steps = [{"observation": {"image": image}, "action": [step] * 7} for step in range(20)]
    return {"steps": steps}


label = features.ClassLabel(names=["daisy", "rose"])
described = {"image": features.Image(), "label": label}
fastrec.tfds.write("data", "flowers", {"train": map(flower, range(80))}, described)
step = {"observation": {"image": features.Image()}, "action": features.Tensor((7,))}
described = {"steps": features.Dataset(step)}
fastrec.tfds.write("data", "arm", {"train": map(episode, range(8))}, described)
""",
    "migration-from-tf-data": """\
# Write the images that the programs read.
import numpy as np
import fastrec

images = np.full((300, 32, 32, 3), 255, np.uint8)
with fastrec.Writer("train.tfrecord") as writer:
    writer.write_batch({"image": images, "label": np.arange(300)})
""",
}
"""Code that creates the data of a page."""

_BLOCK = re.compile(r"^```python\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)


def cell(kind: str, text: str, number: int) -> dict[str, Any]:
    lines = text.strip("\n").splitlines(keepends=True)
    found: dict[str, Any] = {
        "cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": lines,
    }  # fmt: skip
    return found if kind == "markdown" else found | {"execution_count": None, "outputs": []}


def notebook(markdown: str, setup: str = "") -> dict[str, Any]:
    """Return the notebook of a page, in format 4.5. Code that requires PyTorch is only shown."""
    title, _, text = markdown.partition("\n")
    cells = [cell("markdown", title, 0)] + ([cell("code", setup, 1)] if setup else [])
    for number, part in enumerate(_BLOCK.split(text)):
        if number % 2 and "torch" not in part:
            cells.append(cell("code", part, 2 + number))
        elif part.strip():
            shown = f"```python\n{part}```" if number % 2 else part
            cells.append(cell("markdown", shown, 2 + number))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5,
    }  # fmt: skip


def write(directory: Path) -> list[Path]:
    """Write all notebooks; return their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, page in PAGES.items():
        paths.append(directory / f"{name}.ipynb")
        found = notebook((DOCS / page).read_text(encoding="utf-8"), SETUP.get(name, ""))
        paths[-1].write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return paths


if __name__ == "__main__":
    for path in write(Path(sys.argv[1])):
        print(path)
