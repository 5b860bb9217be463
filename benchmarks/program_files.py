# SPDX-License-Identifier: Apache-2.0
"""Data files that the programs of ``programs.py`` read."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import fastrec
from fastrec.compat.v2 import train

PHOTOS, SMALL, TEXTS, ROWS, VIDEOS, VIEWS = 160, 4000, 4000, 20_000, 400, 200
Files = dict[str, list[str]]


def photo(draw: np.random.Generator, height: int, width: int) -> bytes:
    coarse = draw.integers(0, 256, (12, 16, 3), np.uint8)
    image = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    data = io.BytesIO()
    image.save(data, "JPEG", quality=90)
    return data.getvalue()


def written(folder: Path, name: str, rows: Iterator[dict[str, Any]], shards: int = 2) -> list[str]:
    paths = [str(folder / f"{name}-{number:05}.tfrecord") for number in range(shards)]
    kept = list(rows)
    for number, path in enumerate(paths):
        with fastrec.Writer(path, overwrite=True) as writer:
            for row in kept[number::shards]:
                writer.write(row)
    return paths


def make_videos(folder: Path, draw: np.random.Generator) -> list[str]:
    """Frames of quantized features, as YouTube-8M's."""
    path = str(folder / "videos.tfrecord")
    with fastrec.Writer(path, overwrite=True) as writer:
        for number in range(VIDEOS):
            frames = [draw.integers(0, 256, 1024, np.uint8).tobytes() for _ in range(number % 30)]
            each = [train.Feature(bytes_list=train.BytesList(value=[frame])) for frame in frames]
            labels = train.Feature(int64_list=train.Int64List(value=[number % 50, 60]))
            features = train.Features(feature={"labels": labels})
            lists = train.FeatureLists(feature_list={"rgb": train.FeatureList(feature=each)})
            example = train.SequenceExample(context=features, feature_lists=lists)
            writer.write(example.SerializeToString())
    return [path]


def make_table(folder: Path) -> list[str]:
    path = folder / "census.csv"
    lines = (
        f"{n % 70 + 17},kind{n % 8},{n * 37},degree{n % 16},{n % 60},{n % 2}" for n in range(ROWS)
    )
    path.write_text("\n".join(lines) + "\n")
    return [str(path)]


def raw_photo(draw: np.random.Generator, number: int) -> dict[str, Any]:
    """A raw image of any size, as PASCAL VOC's."""
    height, width = 300 + number % 60, 500 - number % 70
    pixels = draw.integers(0, 256, (height, width, 3), np.uint8)
    return {"height": [height], "width": [width], "image": pixels.tobytes()}


def view(draw: np.random.Generator) -> dict[str, Any]:
    """Return a rendered image with its camera's pose, as NeRF's."""
    turned, _ = np.linalg.qr(draw.standard_normal((3, 3)))
    pose = np.hstack([turned, draw.random((3, 1)) * 4])
    image = draw.integers(0, 256, (40, 40, 3), np.uint8)
    return {"pose": pose.reshape(-1), "image": image.tobytes()}


def schema(draw: np.random.Generator, number: int) -> dict[str, Any]:
    """Return a text with a name and a pronoun, as the Winograd schemas'."""
    names = ["Ann", "the city council", "Bob", "the old dog", "Mr. Lee"]
    words = ["the", "trophy", "does", "not", "fit", "in", "a", "suitcase", "because", "of", "size"]
    chosen = [words[n] for n in draw.integers(0, len(words), 12 + number % 20)]
    name, at = names[number % len(names)], number % 5
    chosen[at:at] = name.split()
    other = len(chosen) - 1 - number % 4
    chosen[other] = "it"
    return {
        "text": " ".join(chosen).encode(),
        "span1_text": name.encode(),
        "span1_index": [at],
        "span2_text": b"it",
        "span2_index": [other],
        "label": [number % 2],
    }


def pair_of_texts(draw: np.random.Generator, number: int) -> dict[str, Any]:
    sizes = {"inputs": number % 60 + 4, "targets": number % 50 + 4}
    return {name: draw.integers(2, 9000, size) for name, size in sizes.items()}


def sentences(draw: np.random.Generator, number: int) -> dict[str, Any]:
    ids = {"input_ids": draw.integers(0, 30000, 128), "masked_lm_ids": draw.integers(0, 30000, 20)}
    masks = {"input_mask": np.ones(128, int), "segment_ids": np.zeros(128, int)}
    weights = np.ones(20, np.float32)
    return {**ids, **masks, "masked_lm_weights": weights, "next_sentence_labels": [number % 2]}


def make_files(folder: Path) -> Files:
    draw = np.random.default_rng(3)
    photos = [photo(draw, 240 + 8 * (n % 7), 320 - 8 * (n % 5)) for n in range(PHOTOS)]

    def detection(number: int) -> dict[str, Any]:
        count = number % 4 + 1
        low = draw.random((2, count), np.float32) * 0.4
        high = low + 0.3
        return {
            "image/encoded": photos[number],
            "image/format": b"jpeg",
            "image/class/label": [number % 1000],
            "image/class/text": b"thing",
            "image/object/bbox/ymin": low[0],
            "image/object/bbox/xmin": low[1],
            "image/object/bbox/ymax": high[0],
            "image/object/bbox/xmax": high[1],
            "image/object/class/label": np.arange(count),
            "image/object/class/text": [b"thing"] * count,
        }

    return {
        "photos": written(folder, "photos", map(detection, range(PHOTOS))),
        "small": written(
            folder,
            "small",
            (
                {
                    "image": draw.integers(0, 256, 3072, np.uint8).tobytes(),
                    "label": [n % 10],
                    "size": [32],
                }
                for n in range(SMALL)
            ),
        ),
        "texts": written(folder, "texts", (pair_of_texts(draw, n) for n in range(TEXTS))),
        "tokens": written(folder, "tokens", (sentences(draw, n) for n in range(TEXTS))),
        "videos": make_videos(folder, draw),
        "raw": written(folder, "raw", (raw_photo(draw, number) for number in range(PHOTOS))),
        "census": make_table(folder),
        "rows": written(
            folder,
            "rows",
            (
                {"x": draw.random(28, np.float32), "y": [float(n % 2)], "c": b"%d" % (n % 9)}
                for n in range(ROWS)
            ),
        ),
        "views": written(folder, "views", (view(draw) for _ in range(VIEWS))),
        "schemas": written(folder, "schemas", (schema(draw, n) for n in range(TEXTS))),
    }
