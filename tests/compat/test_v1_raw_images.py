# SPDX-License-Identifier: Apache-2.0
"""Raw images of any size, as the segmentation pairs of PASCAL VOC are, come out of the parser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from queue_programs import drained

import fastrec
import fastrec.compat.v1 as tf
import fastrec.compat.v2 as v2
from fastrec.compat.v1 import lowering

COUNT = 60
SIZE = 12
Row = dict[str, Any]


def row(i: int) -> Row:
    rng = np.random.default_rng(i)
    height, width = 5 + i % 17, 20 - i % 13
    return {
        "height": height,
        "width": width,
        "image": rng.integers(0, 256, (height, width, 3), dtype=np.uint8).tobytes(),
        "mask": rng.integers(0, 21, (height, width, 1), dtype=np.uint8).tobytes(),
        "depth": rng.normal(size=(height, width, 2)).astype(">f4").tobytes(),
    }


def write(path: Path, change: Callable[[int, Row], Row] = lambda i, row: row) -> Path:
    with fastrec.Writer(path, overwrite=True) as writer:
        for i in range(COUNT):
            writer.write(change(i, row(i)))
    return path


class Example:
    """The tensors of one example."""

    def __init__(self, serialized: Any, default: bytes | None = None) -> None:
        one = tf.FixedLenFeature
        features = {name: one([], tf.string, default) for name in ("image", "mask", "depth")}
        features |= {name: one([], tf.int64) for name in ("height", "width")}
        self.parsed = tf.parse_single_example(serialized, features)
        self.height = tf.cast(self.parsed["height"], tf.int32)
        self.width = tf.cast(self.parsed["width"], tf.int32)

    def pixels(self, name: str, dtype: Any = tf.uint8, **how: Any) -> Any:
        return tf.decode_raw(self.parsed[name], dtype, **how)

    def image(self) -> Any:
        return tf.reshape(self.pixels("image"), tf.stack([self.height, self.width, 3]))

    def mask(self) -> Any:
        return tf.reshape(self.pixels("mask"), [self.height, self.width, 1])


def fitted(image: Any, height: Any = SIZE, width: Any = SIZE) -> Any:
    return tf.image.resize_image_with_crop_or_pad(image, height, width)


def pair(example: Example) -> list[Any]:
    return [fitted(example.image()), fitted(example.mask())]


def other_numbers(example: Example) -> list[Any]:
    flat = example.pixels("depth", tf.float32, little_endian=False)
    shape = tf.stack([example.parsed["height"], example.parsed["width"], tf.constant(2, tf.int64)])
    return [fitted(tf.reshape(flat, shape), 3, 30), example.height]


def worked_on(example: Example) -> list[Any]:
    return [tf.cast(fitted(example.image()), tf.float32) / 255.0, tf.shape(example.image())]


def turned(example: Example) -> list[Any]:
    shape = tf.stack([example.width, example.height, 3])
    return [fitted(tf.reshape(example.pixels("image"), shape))]


def twice_wanted(example: Example) -> list[Any]:
    image = example.image()
    return [fitted(image), fitted(image, 3, 3)]


def also_as_it_is(example: Example) -> list[Any]:
    return [fitted(example.image()), example.parsed["image"]]


def of_a_size_that_varies(example: Example) -> list[Any]:
    image = fitted(example.image(), example.height, SIZE)
    return [tf.reduce_sum(tf.cast(image, tf.int64))]


def of_the_rest(example: Example) -> list[Any]:
    return [fitted(tf.reshape(example.pixels("image"), [example.height, -1, 3]))]


def with_a_default(example: Example) -> list[Any]:
    return pair(Example(example.parsed["image"].op.inputs[0], b""))


RECOGNISED = {
    "an image and its mask": pair,
    "floats in the other byte order": other_numbers,
    "columns first": turned,
}
OTHERS = {
    "reshaped twice": worked_on,
    "wanted twice": twice_wanted,
    "wanted as it is": also_as_it_is,
    "a size that varies": of_a_size_that_varies,
    "a dimension that follows": of_the_rest,
    "a default": with_a_default,
}


def read(path: Path, build: Callable[[Example], list[Any]], lowered: bool) -> tuple[Any, Any]:
    """Every element of the file, and the error after which there are no more."""
    before = lowering.set_lowering(lowered)
    try:
        with tf.Graph().as_default():
            files = tf.train.string_input_producer([str(path)], 1, shuffle=False)
            example = Example(tf.TFRecordReader().read(files)[1])
            return drained(
                tf, tf.train.batch(build(example), 1, capacity=2 * COUNT, dynamic_pad=True)
            )
    finally:
        lowering.set_lowering(before)


def equal(fast: list[Any], slow: list[Any]) -> None:
    assert len(fast) == len(slow)
    for one, other in zip(fast, slow, strict=True):
        parts = zip(one, other, strict=True) if isinstance(one, list) else [(one, other)]
        for a, b in parts:
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


@pytest.fixture
def parsed_images(monkeypatch: pytest.MonkeyPatch, records_are_quick: None) -> list[int]:
    """For each block that was parsed, how many of the features were images."""
    counts: list[int] = []
    real = fastrec.parse_example

    def counted(records: Any, features: Any, **how: Any) -> Any:
        kinds = [type(feature) for feature in features.values()]
        counts.append(kinds.count(fastrec.RawFeature))
        return real(records, features, **how)

    monkeypatch.setattr(fastrec, "parse_example", counted)
    return counts


@pytest.mark.parametrize("way", [*RECOGNISED, *OTHERS])
def test_images_are_those_of_the_long_way(
    tmp_path: Path, way: str, parsed_images: list[int]
) -> None:
    path = write(tmp_path / "a")
    build = (RECOGNISED | OTHERS)[way]
    slow, error = read(path, build, lowered=False)
    assert error is None
    assert len(slow) == COUNT
    assert parsed_images == []
    fast, error = read(path, build, lowered=True)
    assert error is None
    assert bool(sum(parsed_images)) == (way in RECOGNISED)
    equal(fast, slow)


def in_a_graph(path: Path, way: str) -> list[Any]:
    """The images of each record, by a dataset of a graph."""
    build = (RECOGNISED | OTHERS)[way]
    with tf.Graph().as_default():
        made = tf.data.TFRecordDataset(str(path)).map(lambda x: tuple(build(Example(x))), 2)
        return drained(tf, list(made.batch(1).make_one_shot_iterator().get_next()))[0]


def at_once(path: Path, _: str) -> list[Any]:
    """The same images, by a dataset of version 2."""
    kinds = {name: v2.io.FixedLenFeature([], v2.int64) for name in ("height", "width")}
    kinds["image"] = v2.io.FixedLenFeature([], v2.string)

    def parsed(record: Any) -> Any:
        found = v2.io.parse_single_example(record, kinds)
        sizes = v2.stack([v2.cast(found[name], v2.int32) for name in ("height", "width")] + [3])
        image = v2.reshape(v2.io.decode_raw(found["image"], v2.uint8), sizes)
        return v2.image.resize_with_crop_or_pad(image, SIZE, SIZE), found["height"]

    return [[x.numpy() for x in parts] for parts in v2.data.TFRecordDataset(str(path)).map(parsed)]


@pytest.mark.parametrize(
    ("read", "way"),
    [
        *[(in_a_graph, way) for way in (*RECOGNISED, "reshaped twice", "wanted as it is")],
        (at_once, "an image and its mask"),
    ],
)
def test_images_of_a_data_set_come_out_of_the_parser_too(
    tmp_path: Path, read: Any, way: str, parsed_images: list[int]
) -> None:
    path = write(tmp_path / "a")
    found = []
    for fast in (True, False):
        before = v2.data.set_lowering(fast)
        try:
            found.append(read(path, way))
        finally:
            v2.data.set_lowering(before)
        assert bool(sum(parsed_images)) == (way in RECOGNISED)
    assert len(found[0]) == COUNT
    equal(*found)


def test_what_is_cut_to_a_fixed_length_is_no_whole_image(tmp_path: Path) -> None:
    def build(example: Example) -> list[Any]:
        flat = example.pixels("image", fixed_length=24)
        return [fitted(tf.reshape(flat, tf.stack([example.height, example.width, 3])))]

    for lowered in (False, True):
        found, error = read(write(tmp_path / "a"), build, lowered)
        assert found == []
        assert "Input to reshape is a tensor with 24 values" in error.message


def test_images_are_around_the_middle(tmp_path: Path) -> None:
    found, _ = read(write(tmp_path / "a"), pair, lowered=True)
    for i, (image, mask) in enumerate(found):
        for name, fitted in (("image", image[0]), ("mask", mask[0])):
            record = row(i)
            pixels = np.frombuffer(record[name], np.uint8)
            whole = pixels.reshape(record["height"], record["width"], -1)
            expected = np.zeros_like(fitted)
            cut = [max(0, (n - SIZE) // 2) for n in whole.shape[:2]]
            part = whole[cut[0] : cut[0] + SIZE, cut[1] : cut[1] + SIZE]
            top, left = ((SIZE - n) // 2 for n in part.shape[:2])
            expected[top : top + part.shape[0], left : left + part.shape[1]] = part
            np.testing.assert_array_equal(fitted, expected)


BAD: dict[str, Row] = {
    "too few pixels": {"image": b"123"},
    "an image of another size": {"height": 1},
    "no height": {"height": []},
    "two heights": {"height": [5, 5]},
    "a height that is text": {"height": b"5"},
    "a negative height": {"height": -5},
    "two images": {"image": [b"1", b"2"]},
    "an image of numbers": {"image": [1, 2, 3]},
}


@pytest.mark.parametrize("bad", list(BAD))
def test_an_error_is_that_of_the_long_way_and_comes_after_as_many_rows(
    tmp_path: Path, bad: str
) -> None:
    path = write(tmp_path / "a", lambda i, row: row | BAD[bad] if i == 41 else row)
    slow, expected = read(path, pair, lowered=False)
    fast, error = read(path, pair, lowered=True)
    assert len(fast) == 41
    equal(fast, slow)
    assert type(error) is type(expected)
    assert error.message == expected.message


@pytest.mark.parametrize(
    "odd",
    [
        {"height": 0, "image": b"", "mask": b""},
        {"height": 2**32 + 1, "width": 2, "image": b"abcdef", "mask": b"gh"},
    ],
    ids=["no rows", "a height that wraps around"],
)
def test_odd_sizes_are_taken_as_the_long_way_takes_them(tmp_path: Path, odd: Row) -> None:
    path = write(tmp_path / "a", lambda i, row: row | odd if i == 7 else row)
    slow, expected = read(path, pair, lowered=False)
    fast, error = read(path, pair, lowered=True)
    equal(fast, slow)
    assert (error is None) == (expected is None)


@pytest.mark.unsanitized
def test_a_size_that_no_image_can_have_is_an_error_of_the_run(tmp_path: Path) -> None:
    path = write(tmp_path / "a")
    found, error = read(path, lambda example: [fitted(example.image(), 2**30, 2**30)], lowered=True)
    assert found == []
    assert isinstance(error, tf.errors.ResourceExhaustedError)


def test_batches_belong_to_the_program(tmp_path: Path) -> None:
    """Large rows are kept as they were made: what comes out is a copy all the same."""

    def large(i: int, row: Row) -> Row:
        return row | {"image": bytes([i]) * (200 * 200 * 3), "height": 200, "width": 200}

    path = write(tmp_path / "a", large)
    with tf.Graph().as_default():
        files = tf.train.string_input_producer([str(path)], 1, shuffle=False)
        image = fitted(Example(tf.TFRecordReader().read(files)[1]).image(), 200, 200)
        batch = tf.train.batch([image, image], 1, capacity=5)
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coord)
            for i in range(COUNT):
                one, other = session.run(batch)
                assert one.flags.writeable
                one[:] = 255
                assert (other == i).all()
            coord.request_stop()
            coord.join(threads)
