# SPDX-License-Identifier: Apache-2.0
"""Images of records by number: none at all, and random transforms as in a Batcher."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jpegs import encode, photo

import fastrec
from fastrec import Batcher, ImageFeature, Reader, Writer
from fastrec.image import ColorJitter, Flip, Normalize, RandomCrop, RandomResizedCrop, Resize
from fastrec.images.keyed import KeyedParser

pytest.importorskip("PIL", reason="Pillow is not installed")

SIZED = {
    "exact": ImageFeature((6, 4)),
    "grey": ImageFeature((6, 4), channels=1),
    "resized": ImageFeature((6, 4), fit="resize"),
    "padded": ImageFeature((6, 4), fit="crop_or_pad"),
    "first": ImageFeature((6, 4), channels_first=True, dtype="float16"),
    "normal": ImageFeature(transforms=[Resize((6, 4)), Normalize((0.5,) * 3, (0.2,) * 3)]),
    "any": ImageFeature(),
}
RANDOM = {
    "crop": ImageFeature(transforms=[RandomCrop((5, 7))]),
    "resized": ImageFeature(transforms=[RandomResizedCrop((5, 7))]),
    "flip": ImageFeature(transforms=[Resize((5, 7)), Flip()]),
    "jitter": ImageFeature(transforms=[Resize((5, 7)), ColorJitter(0.5)]),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    rng = np.random.default_rng(5)
    folder = tmp_path_factory.mktemp("images")
    paths = [str(folder / f"{number}.tfrecord") for number in range(2)]
    for path, count in zip(paths, (9, 4), strict=True):
        with Writer(path) as writer:
            for _ in range(count):
                writer.write({"image": encode(photo(rng, 20, 16))})
    return paths


@pytest.mark.parametrize("kind", [*SIZED])
def test_no_records_are_no_images(kind: str, files: list[str]) -> None:
    feature = SIZED[kind]
    shape = np.asarray(feature.decode([encode(np.zeros((6, 4, 3), np.uint8), "PNG")])[0]).shape
    for columns in (
        fastrec.parse_example([], {"image": feature})["image"],
        fastrec.parse_many(Reader(files), [], {"image": feature})["image"],
        fastrec.parse_sequence_example([], {"image": feature}, {})[0]["image"],
        feature.decode([]),
    ):
        assert len(columns) == 0
        if kind != "any":
            assert np.shape(columns) == (0, *shape)


@pytest.mark.parametrize("kind", [*RANDOM])
@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1])
def test_an_image_is_a_function_of_seed_epoch_and_number(
    kind: str, seed: int, files: list[str]
) -> None:
    features: dict[str, Any] = {"image": RANDOM[kind]}
    parse, reader = KeyedParser(features, seed), Reader(files)
    batcher = Batcher(files, features, 13, seed=seed)
    numbers = np.array([3, 12, 0, -1, 3, 9])
    epochs = []
    for epoch in range(3):
        (batch,) = batcher
        images = parse(reader, numbers, epoch)["image"]
        assert np.array_equal(images, batch["image"][numbers])
        epochs.append(images.tobytes())
    assert len(set(epochs)) > 1


def test_random_transforms_require_a_seed(files: list[str]) -> None:
    with pytest.raises(ValueError, match="'image' has random transforms: pass seed"):
        KeyedParser({"image": RANDOM["flip"]}, None)
    with pytest.raises(ValueError, match="a map-style dataset with seed"):
        fastrec.parse_many(Reader(files), [0], {"image": RANDOM["flip"]})


def test_an_image_that_cannot_be_decoded_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with Writer(path) as writer:
        writer.write({"image": encode(np.zeros((20, 16, 3), np.uint8))})
        writer.write({"image": b"no image"})
    parse = KeyedParser({"image": RANDOM["flip"]}, 0)
    named = r"record 1 in .*a\.tfrecord.*: feature 'image'"
    with pytest.raises(fastrec.ExampleParseError, match=named):
        parse(Reader(path), [0, 1], 0)
