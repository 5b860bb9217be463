# SPDX-License-Identifier: Apache-2.0
"""LeRobot has no type for maps of depth: a set states that of other images, its files differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec.tfds
from fastrec import _core
from fastrec.tfds import features

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("PIL", reason="Pillow is not installed")
pq = pytest.importorskip("pyarrow.parquet")

SHAPE = (6, 8, 1)
COLUMN = "observation.images.depth"
LENGTHS = (3, 2)
pytestmark = pytest.mark.skipif(_core.png_version() is None, reason="built without libpng")


def write(directory: Path, images: Any, dtype: str) -> Any:
    """Write episodes with these images in RLDS form, and load them."""
    step = {
        "observation": {"depth": features.Image(SHAPE, dtype)},
        "action": features.Tensor((2,)),
    }
    rows = iter([{"observation": {"depth": image}, "action": [0, 1]} for image in images])
    episodes = [{"steps": [next(rows) for _ in range(length)]} for length in LENGTHS]
    described = {"steps": features.Dataset(step)}
    path = fastrec.tfds.write(directory, "arm", {"train": episodes}, described)
    return fastrec.tfds.load(path, split="train")


@pytest.fixture
def depths() -> Any:
    return np.random.default_rng(0).integers(0, 65536, (sum(LENGTHS), *SHAPE), np.uint16)


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A set of LeRobot whose images have 8 bits."""
    images = np.zeros((sum(LENGTHS), *SHAPE), np.uint8)
    dataset = write(tmp_path / "plain", images, "uint8")
    return Path(fastrec.tfds.to_lerobot(dataset, tmp_path / "lerobot", fps=10))


def put(folder: Path, images: list[bytes]) -> Path:
    """Replace the first images of a set."""
    [path] = sorted((folder / "data").rglob("*.parquet"))
    table = pq.read_table(path, partitioning=None)
    number = table.column_names.index(COLUMN)
    cells = table.column(number).to_pylist()
    for cell, image in zip(cells, images, strict=False):
        cell["bytes"] = image
    table = table.set_column(number, COLUMN, pa.array(cells, table.schema.field(number).type))
    pq.write_table(table, path)
    return path


def test_images_of_16_bits_keep_their_values(plain: Path, depths: Any, tmp_path: Path) -> None:
    connector = features.Image(SHAPE, "uint16")
    put(plain, [connector.encode(image) for image in depths])
    back = fastrec.tfds.from_lerobot(plain, tmp_path / "sets", "back")
    dataset = fastrec.tfds.load(back, split="train")
    found = np.array([step["observation"]["depth"] for each in dataset for step in each["steps"]])
    assert found.dtype == np.uint16
    assert np.array_equal(found, depths)


@pytest.mark.parametrize("first", [8, 16])
def test_images_of_8_and_16_bits_are_not_mixed(
    plain: Path, depths: Any, tmp_path: Path, first: int
) -> None:
    images = [features.Image(SHAPE, "uint16").encode(image) for image in depths]
    if first == 8:
        images[0] = features.Image(SHAPE, "uint8").encode(np.zeros(SHAPE, np.uint8))
    else:
        images.pop()
    path = put(plain, images)
    message = f"column '{COLUMN}' must not mix images of 8 and of 16 bits"
    with pytest.raises(fastrec.tfds.MetadataError, match=message) as caught:
        fastrec.tfds.from_lerobot(plain, tmp_path / "sets", "back")
    assert str(caught.value.path) == str(path)


def test_lerobot_has_no_form_for_them(depths: Any, tmp_path: Path) -> None:
    dataset = write(tmp_path / "sets", depths, "uint16")
    with pytest.warns(RuntimeWarning, match="are left out: 'observation/depth'"):
        fastrec.tfds.to_lerobot(dataset, tmp_path / "out", fps=10)
