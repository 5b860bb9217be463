# SPDX-License-Identifier: Apache-2.0
"""Several images in a record, and images of 16-bit samples."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import ImageFeature
from fastrec.image import Flip, Normalize, RandomCrop

Image = pytest.importorskip("PIL.Image")
SIZES = [2, 0, 3, 1]


def encode(pixels: Any, kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


def picture(number: int, height: int = 8, width: int = 6) -> Any:
    return np.random.default_rng(number).integers(0, 256, (height, width, 3), np.uint8)


def clips() -> list[list[Any]]:
    return [[picture(10 * row + n) for n in range(count)] for row, count in enumerate(SIZES)]


def examples() -> list[bytes]:
    return [
        fastrec.encode_example({"frames": [encode(image) for image in clip]}) for clip in clips()
    ]


def sequences() -> list[bytes]:
    return [
        fastrec.encode_sequence_example(
            {"id": row}, {"frames": [[encode(image)] for image in clip]}
        )
        for row, clip in enumerate(clips())
    ]


def write(path: Path, records: list[bytes]) -> Path:
    with fastrec.Writer(path) as writer:
        writer.write_many(records)
    return path


def check(column: Any, of_one_size: bool = True) -> None:
    assert isinstance(column, fastrec.Ragged)
    assert column.row_lengths.tolist() == SIZES
    assert isinstance(column.values, np.ndarray if of_one_size else fastrec.Arrays)
    for row, clip in zip(column, clips(), strict=True):
        for found, expected in zip(row, clip, strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [None, (8, 6)])
def test_a_list_of_images_is_a_ragged_of_images(shape: Any, tmp_path: Path) -> None:
    features = {"frames": ImageFeature(shape, ragged=True)}
    check(fastrec.parse_example(examples(), features)["frames"], shape is not None)
    path = write(tmp_path / "a.tfrecord", examples())
    for threads in (1, 2):
        (batch,) = fastrec.Batcher(path, features, 8, threads=threads)
        check(batch["frames"], shape is not None)
    single = fastrec.parse_single_example(examples()[2], features)["frames"]
    assert len(single) == 3
    rows = list(fastrec.Batcher(path, features, None))
    assert [len(row["frames"]) for row in rows] == SIZES


@pytest.mark.parametrize("shape", [None, (8, 6)])
def test_a_feature_list_of_images_is_a_ragged_of_images(shape: Any, tmp_path: Path) -> None:
    lists = {"frames": ImageFeature(shape)}
    _, found, lengths = fastrec.parse_sequence_example(sequences(), None, lists)
    check(found["frames"], shape is not None)
    assert not lengths
    _, single = fastrec.parse_single_sequence_example(sequences()[3], None, lists)
    assert len(single["frames"]) == 1
    path = write(tmp_path / "s.tfrecord", sequences())
    for context in ({}, {"id": fastrec.FixedLenFeature((), np.int64)}):
        features = fastrec.SequenceFeatures(context, lists)
        ((_, found, _),) = fastrec.Batcher(path, features, 8)
        check(found["frames"], shape is not None)
        rows = list(fastrec.Batcher(path, features, None))
        assert [len(row[1]["frames"]) for row in rows] == SIZES


def test_all_images_of_a_record_draw_the_same(tmp_path: Path) -> None:
    image = picture(1, 20, 20)
    transforms: list[Any] = [RandomCrop(8), Flip(), Normalize((0.5,) * 3, (0.25,) * 3)]
    values = [[encode(image)] * 3 for _ in range(6)]
    one = ImageFeature(transforms=transforms)
    many = ImageFeature(transforms=transforms, ragged=True)
    mappings = [{"frames": each, "image": each[0]} for each in values]
    kinds: dict[str, tuple[Any, Any]] = {
        "e": (mappings, {"frames": many, "image": one}),
        "s": (values, fastrec.SequenceFeatures({"image": one}, {"frames": one})),
    }
    found = {}
    for kind, (rows, features) in kinds.items():
        records = [
            fastrec.encode_example(row)
            if isinstance(row, dict)
            else fastrec.encode_sequence_example({"image": row[0]}, {"frames": [[f] for f in row]})
            for row in rows
        ]
        path = write(tmp_path / kind, records)
        (batch,) = fastrec.Batcher(path, features, 6, seed=3)
        context, lists = batch[:2] if isinstance(batch, tuple) else (batch, batch)
        for row, expected in zip(lists["frames"], context["image"], strict=True):
            assert (row == expected).all()
        assert len({row.tobytes() for row in context["image"]}) > 1
        found[kind] = lists["frames"].values
    np.testing.assert_array_equal(found["e"], found["s"])
    with pytest.raises(ValueError, match="use a Batcher"):
        fastrec.parse_sequence_example(sequences(), None, {"frames": one})


@pytest.mark.parametrize("in_lists", [False, True])
def test_a_bad_image_in_a_list_is_named_or_skipped(in_lists: bool, tmp_path: Path) -> None:
    rows = [[encode(picture(n))] * 3 for n in range(20)]
    rows[2][1] = b"no image"
    if in_lists:
        records = [fastrec.encode_sequence_example({}, {"f": [[f] for f in row]}) for row in rows]
        features: Any = fastrec.SequenceFeatures({}, {"f": ImageFeature((8, 6))})
    else:
        records = [fastrec.encode_example({"f": row}) for row in rows]
        features = {"f": ImageFeature((8, 6), ragged=True)}
    path = write(tmp_path / "a", records)
    with pytest.raises(fastrec.ExampleParseError) as caught:
        list(fastrec.Batcher(path, features, 20))
    assert "record 2 in" in str(caught.value)
    assert "feature 'f': image 1: cannot be decoded: the value is text" in str(caught.value)
    batcher = fastrec.Batcher(path, features, 20, on_error="skip")
    (batch,) = batcher
    column = batch[1]["f"] if in_lists else batch["f"]
    assert len(column) == 19
    np.testing.assert_array_equal(column[2][0], picture(3))


def test_an_image_feature_of_one_image_names_the_way_to_read_several() -> None:
    with pytest.raises(fastrec.ExampleParseError, match=r"found 3; .*ragged=True"):
        fastrec.parse_example(examples()[2:], {"frames": ImageFeature()})
    with pytest.raises(ValueError, match="ragged must be False in a feature list"):
        fastrec.SequenceFeatures({}, {"frames": ImageFeature(ragged=True)})
    record = fastrec.encode_sequence_example({}, {"frames": [[b"a", b"b"]]})
    with pytest.raises(fastrec.ExampleParseError, match="frame 0: feature 'frames': expected 1"):
        fastrec.parse_sequence_example([record], None, {"frames": ImageFeature()})


DEEP = np.arange(64, dtype=np.uint16).reshape(8, 8) * 1000


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_16_bit_samples_are_kept_or_refused(kind: str, tmp_path: Path) -> None:
    record = fastrec.encode_example({"depth": encode(DEEP, kind)})
    for shape in (None, (8, 8)):
        feature = ImageFeature(shape, 1, dtype="uint16")
        found = fastrec.parse_example([record], {"depth": feature})["depth"][0]
        assert found.dtype == np.uint16
        np.testing.assert_array_equal(found[..., 0], DEEP)
        upper = ImageFeature(shape, 1, dtype="uint8")
        found = fastrec.parse_example([record], {"depth": upper})["depth"][0]
        np.testing.assert_array_equal(found[..., 0], DEEP >> 8)
    refusing = [ImageFeature(), ImageFeature((8, 8)), ImageFeature((4, 4), fit="resize")]
    refusing += [ImageFeature((8, 8), transforms=[Normalize((0.5,) * 3, (0.5,) * 3)])]
    path = write(tmp_path / "a", [record] * 3)
    for feature in refusing:
        with pytest.raises(fastrec.ExampleParseError, match="16-bit samples; dtype='uint16'"):
            fastrec.parse_example([record], {"depth": feature})
        with pytest.raises(fastrec.ExampleParseError, match="16-bit samples; dtype='uint16'"):
            list(fastrec.Batcher(path, {"depth": feature}, 3))


def test_16_bit_images_are_fitted() -> None:
    data = [encode(DEEP)]
    cut = ImageFeature((4, 10), 1, "crop_or_pad", dtype=np.uint16, channels_first=True)
    found: Any = cut.decode(data)
    assert found.shape == (1, 1, 4, 10)
    np.testing.assert_array_equal(found[0, 0, :, 1:9], DEEP[2:6])
    assert not found[..., [0, 9]].any()
    half = ImageFeature((4, 4), 1, "resize", dtype="uint16").decode(data)[0, ..., 0]
    assert half.dtype == np.uint16
    coarse = ImageFeature((4, 4), 1, "resize", dtype="uint8").decode(data)[0, ..., 0]
    assert np.abs(half.astype(int) // 256 - coarse).max() <= 1
    assert half.max() > 255
    with pytest.raises(fastrec.ExampleParseError, match="must be 4x4, got 8x8"):
        ImageFeature((4, 4), 1, dtype="uint16").decode(data)
    with pytest.raises(ValueError, match="mutually exclusive"):
        ImageFeature(dtype="uint16", transforms=[RandomCrop(4)])


def test_8_bit_samples_become_16_bits_by_257() -> None:
    for kind in ("PNG", "JPEG", "BMP"):
        data = encode(picture(1), kind)
        expected = ImageFeature().decode([data])[0].astype(np.uint16) * 257
        np.testing.assert_array_equal(ImageFeature(dtype="uint16").decode([data])[0], expected)
    with pytest.raises(fastrec.ExampleParseError, match="the value is text"):
        ImageFeature(dtype="uint16").decode([b"no image"])


def test_ragged_images_slice_and_take_rows() -> None:
    column = fastrec.parse_example(examples(), {"frames": ImageFeature(ragged=True)})["frames"]
    check(column[:4][0:4], False)
    backwards = column[::-1]
    assert backwards.row_lengths.tolist() == SIZES[::-1]
    assert backwards.to_list() == column.to_list()[::-1]
