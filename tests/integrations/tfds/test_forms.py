# SPDX-License-Identifier: Apache-2.0
"""Connectors within connectors, and images of any kind of file, as TFDS writes and reads them."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tfds_values import same

import fastrec.tfds
from fastrec import _core

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
pytest.importorskip("tensorflow")
tfds = pytest.importorskip("tensorflow_datasets")
Image = pytest.importorskip("PIL.Image")
pytestmark = pytest.mark.filterwarnings("ignore")
TESTS = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool() -> Any:
    sys.path.insert(0, str(TESTS / "tools"))
    import write_tfds

    sys.path.pop(0)
    return write_tfds


def nested(tool: Any) -> dict[str, tuple[Any, Any, Any]]:
    """By name a feature, and its value in either record."""
    features, image = tfds.features, tool.make_image
    label = features.ClassLabel(names=["a", "b"])
    clip, other = image(1, (2, 2, 2, 3)), image(2, (1, 2, 2, 3))
    inner = features.Dataset({"y": np.int32, "text": features.Text(), "z": np.uint64})
    array = features.Tensor(shape=(None, None), dtype=np.int32, encoding="zlib")
    pair, variable = features.Translation, features.TranslationVariableLanguages
    two = features.Tensor(shape=(2,), dtype=np.int32, encoding="zlib")
    any_image, fixed = features.Image(), features.Image(shape=(2, 3, 3))
    video = features.Video(shape=(None, 2, 2, 3))
    box = features.BBox(0.0, 0.0, 1.0, 1.0)
    data = features.Dataset
    sequence = features.Sequence
    return {
        "data_of_numbers": (data(np.int64), [1, 2, 3], []),
        "data_of_images": (data(any_image), [image(1, (5, 6, 3)), image(5, (2, 3, 3))], []),
        "data_of_data": (
            data({"x": inner, "label": label}),
            [
                {"x": [{"y": 1, "text": "a", "z": 2**64 - 1}], "label": "a"},
                {"x": [], "label": "b"},
                {"x": [{"y": k, "text": "b" * k, "z": k} for k in range(3)], "label": "a"},
            ],
            [],
        ),
        "data_of_arrays": (
            data({"x": array}),
            [{"x": np.ones((1, 2), np.int32)}, {"x": np.ones((0, 3), np.int32)}],
            [],
        ),
        "data_of_a_length": (data({"x": np.int32}, length=2), [{"x": 1}, {"x": 2}], [{"x": 3}] * 2),
        "data_of_pairs": (data({"t": pair(["en", "de"])}), [{"t": {"en": "a", "de": "b"}}], []),
        "data_of_videos": (data({"v": video}), [{"v": clip}, {"v": other}], []),
        "data_of_boxes": (
            data({"v": sequence(features.BBoxFeature())}), [{"v": [box]}, {"v": []}], [],
        ),
        "images_of_images": (sequence(sequence(fixed)), [[image(1, (2, 3, 3))], []], []),
        "videos": (sequence(video), [clip, other], []),
        "pairs": (sequence(pair(["en", "de"])), [{"en": "a", "de": "b"}], []),
        "variable_pairs": (
            sequence(variable(["en", "de"])), [{"en": "a"}, {"de": ["x", "y"]}], [],
        ),
        "data_in_rows": (
            sequence({"d": data({"x": np.int32})}),
            [{"d": [{"x": 1}, {"x": 2}]}, {"d": []}],
            [],
        ),
        "two_strings": (sequence(features.Tensor(shape=(2,), dtype=np.str_)), [["a", "b"]], []),
        "optional": (sequence(features.Scalar(np.int32, optional=True)), [1, 2], []),
        "bools": (sequence(np.bool_), [True, False], []),
        "halves": (sequence(np.float16), [0.1, 2], []),
        "ragged_unsigned": (sequence(sequence(np.uint64)), [[2**64 - 1], []], []),
        "ragged_packed": (sequence(sequence(two)), [[[1, 2]], [[3, 4], [5, 6]]], []),
        "sound": (
            features.Audio(dtype=np.float32),
            np.arange(4, dtype=np.float32) / 3,
            np.zeros(0, np.float32),
        ),
        "nothing": (features.Tensor(shape=(0,), dtype=np.int32), *[np.zeros(0, np.int32)] * 2),
        "packed_nothing": (
            features.Tensor(shape=(0, 2), dtype=np.float32, encoding="bytes"),
            np.zeros((0, 2), np.float32),
            np.zeros((0, 2), np.float32),
        ),
        "packed_unsigned": (
            features.Tensor(shape=(), dtype=np.uint64, encoding="bytes"),
            np.uint64(2**64 - 1),
            np.uint64(0),
        ),
        "packed_halves": (
            features.Tensor(shape=(2,), dtype=np.float16, encoding="bytes"),
            np.array([1, 2], np.float16),
            np.array([0.1, np.inf], np.float16),
        ),
        "unknown_label": (label, "b", -1),
        "numbered_labels": (
            features.LabeledImage(labels=3, shape=(None, None, 1)),
            image(1, (2, 2, 1)) % 3,
            image(2, (1, 4, 1)) % 3,
        ),
        "video_of_any_size": (features.Video(), image(1, (2, 2, 4, 3)), image(1, (1, 3, 3, 3))),
        "depth": (
            features.Image(shape=(None, None, 1), dtype=np.float32),
            image(1, (3, 4, 1), np.float32),
            image(2, (1, 1, 1), np.float32),
        ),
        "bytes": (features.Scalar(np.object_), b"\xff\x00", b""),
    }  # fmt: skip


def saved(image: Any, kind: str = "PNG", **options: Any) -> bytes:
    out = io.BytesIO()
    image = image if isinstance(image, Image.Image) else Image.fromarray(image)
    image.save(out, kind, **options)
    return out.getvalue()


def files(tool: Any) -> dict[str, bytes]:
    color, grey = tool.make_image(1, (5, 6, 3)), tool.make_image(2, (5, 6))
    palette = Image.fromarray(color).quantize(8)
    return {
        "color": saved(color),
        "grey": saved(grey),
        "alpha": saved(tool.make_image(3, (5, 6, 4))),
        "grey_alpha": saved(np.stack([grey, 255 - grey], -1)),
        "palette": saved(palette),
        "palette_key": saved(palette, transparency=2),
        "wide": saved(tool.make_image(4, (5, 6), np.uint16)),
        "grey_key": saved(grey, transparency=5),
        "color_key": saved(color, transparency=(1, 2, 3)),
        "one_bit": saved(Image.fromarray(grey).convert("1")),
        "jpeg": saved(color, "JPEG"),
        "jpeg_grey": saved(grey, "JPEG"),
        "jpeg_cmyk": saved(Image.fromarray(color).convert("CMYK"), "JPEG"),
        "jpeg_progressive": saved(color, "JPEG", progressive=True),
        "bmp": saved(color, "BMP"),
    }


def images(tool: Any) -> Iterator[tuple[str, tuple[Any, Any, Any]]]:
    # Which TFDS decodes; and without the alpha of 15 that it gives to pixels of 4 bits.
    without = {
        1: ("jpeg_cmyk", "bmp"),
        3: (),
        4: ("palette", "one_bit", "jpeg", "jpeg_grey", "jpeg_cmyk", "jpeg_progressive"),
    }
    kinds = files(tool)
    for channels, left_out in without.items():
        for name in kinds.keys() - left_out:
            feature = tfds.features.Image(shape=(None, None, channels))
            yield f"{name}_{channels}", (feature, kinds[name], kinds[name])
        for name in ("wide", "grey", "color", "alpha", "grey_key"):
            feature = tfds.features.Image(shape=(None, None, channels), dtype=np.uint16)
            yield f"{name}_{channels}_of_16", (feature, kinds[name], kinds[name])


def held(tool: Any, name: str, forms: dict[str, tuple[Any, Any, Any]], directory: Path) -> None:
    """What TFDS writes and reads of two records, and what is read here."""

    def info(self: Any) -> Any:
        described = {key: form[0] for key, form in forms.items()}
        features = tfds.features.FeaturesDict(described)
        return tfds.core.DatasetInfo(builder=self, features=features, disable_shuffling=True)

    def generate() -> Iterator[tuple[int, Any]]:
        for i in range(2):
            yield i, {key: form[1 + i] for key, form in forms.items()}

    methods = {
        "VERSION": tfds.core.Version("1.0.0"),
        "_info": info,
        "_split_generators": lambda self, _: {"train": generate()},
        "_generate_examples": lambda self: None,
    }
    builder = type(name, (tfds.core.GeneratorBasedBuilder,), methods)(data_dir=str(directory))
    builder.download_and_prepare()
    theirs = [tool.plain(each) for each in tfds.as_numpy(builder.as_dataset(split="train"))]
    dataset = fastrec.tfds.load(directory, "train")
    for ours, other in zip(dataset, theirs, strict=True):
        assert set(ours) == set(other)
        for key in forms:
            same(ours[key], other[key], key)
    assert len(list(dataset.batches(1))) == len(theirs)


def test_connectors_within_connectors(tool: Any, tmp_path: Path) -> None:
    held(tool, "NestedForms", nested(tool), tmp_path)


@pytest.mark.skipif(
    None in (_core.png_version(), _core.jpeg_version()), reason="built without the libraries"
)
def test_images_of_every_kind_of_file(tool: Any, tmp_path: Path) -> None:
    held(tool, "KindsOfImages", dict(images(tool)), tmp_path)
