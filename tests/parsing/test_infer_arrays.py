# SPDX-License-Identifier: Apache-2.0
"""Inferring arrays, ranges, presence and formats; and what the table says of them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wire

import fastrec
from fastrec import FixedLenFeature, RaggedFeature, RawFeature, infer_features, train


def write(path: Path, *rows: dict[str, Any] | bytes) -> Path:
    with fastrec.Writer(path) as writer:
        for row in rows:
            writer.write(row)
    return path


def make_image(height: int, width: int, channels: int = 3) -> Any:
    return np.arange(height * width * channels, dtype=np.uint8).reshape(height, width, channels)


WAYS: dict[str, tuple[Any, Any]] = {
    "shape": (lambda i: {"shape": i.shape}, RawFeature("shape", np.uint8)),
    "raw int32": (
        lambda i: {"shape": np.array(i.shape, "<i4").tobytes()},
        RawFeature("shape", np.uint8, shape_dtype=np.int32),
    ),
    "own shape": (lambda i: {"image/shape": i.shape}, RawFeature("image/shape", np.uint8)),
    "sides": (
        lambda i: {"height": i.shape[0], "width": i.shape[1]},
        RawFeature(("height", "width", 3), np.uint8),
    ),
    "sides and depth": (
        lambda i: {"height": i.shape[0], "width": i.shape[1], "depth": i.shape[2]},
        RawFeature(("height", "width", "depth"), np.uint8),
    ),
    "own sides": (
        lambda i: {"image/height": i.shape[0], "image/width": i.shape[1]},
        RawFeature(("image/height", "image/width", 3), np.uint8),
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_bytes_whose_shape_is_said_are_arrays(way: str, tmp_path: Path) -> None:
    say, expected = WAYS[way]
    images = [make_image(2 + i % 3, 5) for i in range(200)]
    path = write(tmp_path / "file", *({"image": p, **say(p)} for p in images))
    features = infer_features(path)
    assert features["image"] == expected
    batches = [batch["image"] for batch in fastrec.Batcher(path, features, batch_size=64)]
    found = [image for batch in batches for image in batch]
    for one, other in zip(found, images, strict=True):
        np.testing.assert_array_equal(one, other)
    same = write(tmp_path / "same", *({"image": images[0], **say(images[0])} for _ in range(3)))
    assert infer_features(same)["image"] == RawFeature((2, 5, 3), np.uint8)


def test_one_record_that_does_not_fit_makes_it_bytes(tmp_path: Path) -> None:
    rows = [{"image": make_image(2, 2), "shape": (2, 2, 3)} for _ in range(300)]
    rows[299] = {"image": make_image(2, 2), "shape": (2, 3, 3)}
    path = write(tmp_path / "file", *rows)
    assert infer_features(path)["image"] == FixedLenFeature((), bytes)
    assert infer_features(path, limit=299)["image"] == RawFeature((2, 2, 3), np.uint8)


def test_arrays_of_two_ranks_stay_bytes(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "file") as writer:
        for shape in [(2, 3)] * 256 + [(2, 3, 3)] * 256:
            writer.write({"image": np.zeros(shape, np.uint8), "shape": shape})
    found = infer_features(tmp_path / "file")
    assert found["image"] == FixedLenFeature((), bytes)
    assert sum(len(batch["image"]) for batch in fastrec.Batcher(tmp_path / "file", found, 7)) == 512


def test_elements_of_more_than_a_byte_are_only_guessed_at(tmp_path: Path) -> None:
    array = np.zeros((4, 2), np.float32)
    path = write(tmp_path / "file", {"x": array.tobytes(), "shape": (4, 2)})
    features = infer_features(path)
    assert features["x"] == FixedLenFeature((), bytes)
    assert "raw array of 4 bytes an element?" in str(features)


def test_the_table_has_ranges_presence_and_formats(tmp_path: Path) -> None:
    path = write(
        tmp_path / "file",
        {"a": 5, "b": [0.5, np.nan], "c": b"\xff\xd8\xff\xe0", "d": b"\x89PNG....", "e": None},
        {"a": -3, "b": [], "c": b"\xff\xd8\xff\xe0 longer", "d": b"\xff\xd8\xff"},
        {"a": 5, "é": "text"},
    )
    features = infer_features(path)
    assert features.records == 3
    lines = str(features).splitlines()
    assert len(lines) == 7
    expected = "a int64_list 1 100 % -3 to 5 FixedLenFeature((), int64)"
    assert " ".join(lines[1].split()) == expected
    assert "0 to 2" in lines[2]
    assert "33.3 %" in lines[2]
    assert "4 to 11 bytes, JPEG" in lines[3]
    assert "bytes" in lines[4]
    assert "PNG" not in lines[4]
    assert "JPEG" not in lines[4]
    assert "1 NaN" in lines[2]
    assert " ".join(lines[5].split()) == "e none 0 0 % RaggedFeature(bytes)"
    assert lines[6].startswith("\\xe9")
    assert features["e"] == RaggedFeature(bytes)
    assert features["b"] == RaggedFeature(np.float32)
    assert features.stats["a"].low == -3
    again = pickle.loads(pickle.dumps(features))
    assert again == features
    assert str(again) == str(features)
    features["mine"] = RaggedFeature(bytes)
    assert "mine" in str(features)


def test_the_last_of_a_key_in_a_record_counts(tmp_path: Path) -> None:
    one = wire.entry(b"a", fastrec_feature({"": 1}))
    text = wire.entry(b"a", fastrec_feature({"": "x"}))
    path = write(tmp_path / "file", wire.example(text, one), wire.example(one, text, one))
    assert infer_features(path)["a"] == FixedLenFeature((), np.int64)


def fastrec_feature(mapping: dict[str, Any]) -> bytes:
    features = train.Example.FromString(fastrec.encode_example(mapping)).features
    return bytes(features.feature[""].SerializeToString())


def test_the_record_that_is_no_example_is_named_in_any_chunk(tmp_path: Path) -> None:
    rows: list[Any] = [{"a": 1}] * 300
    rows[290] = b"\x0a\xff"
    with pytest.raises(fastrec.ExampleParseError, match=r"record 290 in .*: not a valid") as caught:
        infer_features(write(tmp_path / "file", *rows))
    assert caught.value.record == 290


def test_many_keys_are_taken_and_too_many_refused(tmp_path: Path) -> None:
    many = wire.example(*(wire.entry(b"k%d" % i, fastrec_feature({"": 1})) for i in range(3000)))
    assert len(infer_features(write(tmp_path / "many", many))) == 3000
    feature = fastrec_feature({"": 1})
    hostile = wire.example(*(wire.entry(b"k%d" % i, feature) for i in range(65537)))
    with pytest.raises(fastrec.ExampleParseError, match="more than 65536"):
        infer_features(write(tmp_path / "hostile", hostile))
