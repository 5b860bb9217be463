# SPDX-License-Identifier: Apache-2.0
"""A contact sheet shows every image at its place, in a file that appears whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from verbs import files_limited_to

from fastrec.demo.contact_sheet import Tile, contact_sheet
from fastrec.demo.contact_sheet import fitted as fitted_to

pytest.importorskip("PIL")
from PIL import Image


def image(height: int, width: int, channels: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), dtype=np.uint8)


def colours(sheet: Image.Image) -> set[tuple[int, ...]]:
    return {tuple(pixel) for pixel in np.asarray(sheet).reshape(-1, 3).tolist()}


@pytest.mark.parametrize(
    ("shape", "side", "fitted"),
    [
        ((8, 8, 1), 80, (80, 80, 3)),
        ((8, 8, 3), 83, (80, 80, 3)),
        ((50, 100, 3), 20, (10, 20, 3)),
        ((1, 1, 3), 5, (5, 5, 3)),
        ((1, 900, 3), 30, (1, 30, 3)),
    ],
)
def test_fitted_keeps_the_proportions(
    shape: tuple[int, int, int], side: int, fitted: tuple[int, int, int]
) -> None:
    assert fitted_to(image(*shape), side).shape == fitted


def test_small_images_are_magnified_by_whole_pixels() -> None:
    pixels = image(3, 3)
    np.testing.assert_array_equal(fitted_to(pixels, 12), pixels.repeat(4, 0).repeat(4, 1))


def test_a_contact_sheet_holds_every_image_at_its_place(tmp_path: Path) -> None:
    painted = [(200, 10, 10), (10, 200, 10), (10, 10, 200)]
    tiles = [Tile(np.full((4, 4, 3), c, np.uint8), "label", None) for c in painted]
    path = tmp_path / "sheet.png"
    width, height = contact_sheet(path, tiles, title="three", columns=2, cell=300)
    with Image.open(path) as sheet:
        assert sheet.format == "PNG"
        assert sheet.size == (width, height)
        assert colours(sheet) >= set(painted)
        assert sheet.getpixel((20 + 150, 40 + 150)) == painted[0]
        assert sheet.getpixel((20 + 310 + 150, 40 + 150)) == painted[1]
    assert os.listdir(tmp_path) == ["sheet.png"]


def test_guesses_are_green_when_right_and_red_when_wrong(tmp_path: Path) -> None:
    black = np.zeros((8, 8, 1), np.uint8)

    def below_the_header(predicted: str) -> set[tuple[int, ...]]:
        path = tmp_path / "sheet.png"
        contact_sheet(path, [Tile(black, "cat", predicted)], overwrite=True)
        with Image.open(path) as sheet:
            return colours(sheet.crop((0, 40, *sheet.size)))

    right, wrong = (110, 214, 135), (255, 107, 107)
    assert right in below_the_header("cat")
    assert wrong not in below_the_header("cat")
    assert wrong in below_the_header("dog")
    assert right not in below_the_header("dog")


def test_labels_of_any_length_and_script_can_be_written(tmp_path: Path) -> None:
    tile = Tile(image(5, 5), "日本語" * 40, "\udcff\n" * 30)
    contact_sheet(tmp_path / "sheet.png", [tile], title="title " * 99, cell=30)
    assert (tmp_path / "sheet.png").stat().st_size > 0


def test_a_sheet_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    with files_limited_to(64), pytest.raises(OSError, match="File too large") as caught:
        contact_sheet(tmp_path / "sheet.png", [Tile(image(5, 5), "x")])
    assert caught.value.filename == tmp_path / "sheet.png"
    assert os.listdir(tmp_path) == []
