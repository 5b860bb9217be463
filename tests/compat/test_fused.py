# SPDX-License-Identifier: Apache-2.0
"""Operations on an image run as one give what each gives by itself, to the bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fastrec
import fastrec.compat.v2 as tf
from fastrec import _tensor
from fastrec.compat._tf.data.mapping import Map
from fastrec.compat._tf.tracing import fusing
from fastrec.images import augment

MEANS = [0.485, 0.456, 0.406]
SIZES = [(150, 170), (201, 140), (160, 160)]
Function = Callable[[Any], Any]


def photos(channels: int = 3, dtype: str = "uint8") -> list[np.ndarray[Any, Any]]:
    draw = np.random.default_rng(1)
    found = [draw.integers(0, 256, (*size, channels), np.uint8) for size in SIZES]
    return [image.astype(dtype) for image in found]


def dataset(images: list[np.ndarray[Any, Any]]) -> Any:
    shape = (None, None, images[0].shape[-1])
    spec = tf.TensorSpec(shape, images[0].dtype)
    return tf.data.Dataset.from_generator(lambda: iter(images), output_signature=spec)


def scaled(x: Any) -> Any:
    return tf.image.convert_image_dtype(x, tf.float32)


def as_float(x: Any) -> Any:
    return tf.cast(x, tf.float32)


def one_less(x: Any) -> Any:
    return (1.0 - as_float(x) * 2.0) / 3.0


def used_twice(x: Any) -> Any:
    y = as_float(x) + 1.0
    return (y * y + y) * 0.5


def normalized(x: Any) -> Any:
    return (tf.image.resize(scaled(tf.image.central_crop(x, 0.8)), [97, 83], "bicubic") - MEANS) / [
        0.2,
        0.3,
        0.4,
    ]


def cut_then_scaled(x: Any) -> Any:
    cut = tf.image.central_crop(scaled(x), 0.7) * 2.0
    return tf.image.resize(cut, [91, 53], "area") + tf.constant([[[1.0, 2.0, 3.0]]])


def colours(x: Any) -> Any:
    x = tf.image.resize(scaled(x), [140, 151])
    x = tf.image.random_crop(x, [130, 131, 3], seed=1)
    x = tf.image.random_flip_left_right(x, seed=7)
    x = tf.image.random_brightness(x, 0.4, seed=2)
    x = tf.image.random_contrast(x, 0.2, 1.8, seed=3)
    x = tf.image.random_saturation(x, 0.2, 1.8, seed=4)
    x = tf.image.random_hue(x, 0.2, seed=5)
    return tf.clip_by_value(x, 0.0, 1.0)


def flipped_late(x: Any) -> Any:
    x = tf.image.adjust_contrast(scaled(x) - 0.5, 1.5)
    return tf.image.random_flip_left_right(x * 2.0, seed=3) / 255.0


def flipped_and_scaled(x: Any) -> Any:
    x = tf.image.random_flip_left_right(tf.image.resize(as_float(x), [150, 133]), seed=3)
    return tf.image.random_flip_left_right(x / 255.0, seed=4) * [1.0, -2.0, 3.0]


def flipped_before_scaling(x: Any) -> Any:
    return tf.image.resize(tf.image.random_flip_left_right(scaled(x), seed=3) * 2.0, [77, 130])


def half_as_large(x: Any) -> Any:
    return tf.image.resize(as_float(x), tf.shape(x)[:2] // 2 + 1) / 255.0


def within_a_limit(x: Any) -> Any:
    return tf.image.resize(x, [100, 61], preserve_aspect_ratio=True) * 0.5


def two_views(x: Any) -> Any:
    x = scaled(x)
    return tf.concat([tf.image.adjust_hue(x, 0.1) * 0.5, tf.image.adjust_saturation(x, 2.0)], -1)


def not_a_number(x: Any) -> Any:
    x = tf.math.log(as_float(x) - 100.0)  # of less than nothing
    return tf.maximum(tf.minimum(0.0, x * 1.0), -1.0)


FUNCTIONS: list[Function] = [
    one_less,
    used_twice,
    normalized,
    cut_then_scaled,
    colours,
    flipped_late,
    flipped_and_scaled,
    flipped_before_scaling,
    half_as_large,
    within_a_limit,
    two_views,
    not_a_number,
]


def test_a_size_of_nothing_is_refused_by_the_operation() -> None:
    sizes = tf.data.Dataset.from_tensor_slices([[3, 4], [0, 2]])
    image = tf.constant(photos()[0])
    made = sizes.map(lambda size: tf.image.resize(as_float(image), size) / 2.0)
    elements = iter(made)
    assert next(elements).shape == (3, 4, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be positive"):
        next(elements)


def both(make: Callable[[], Any]) -> Iterator[list[Any]]:
    for fast in (True, False):
        before = tf.data.set_lowering(fast)
        try:
            yield [element.numpy() for element in make()]
        finally:
            tf.data.set_lowering(before)


def is_fused(made: Any) -> bool:
    assert isinstance(made._node, Map)
    return any("+" in node.op.name for node in made._node.trace.fused)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("threads", [None, 3])
def test_the_same_bits_as_one_by_one(function: Function, threads: int | None) -> None:
    assert is_fused(dataset(photos()).map(function))
    one, other = both(lambda: dataset(photos() * 3).map(function, threads))
    for a, b in zip(one, other, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape) == (np.float32, b.shape)
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("channels", [1, 2, 4])
def test_other_numbers_of_channels(channels: int) -> None:
    each = np.arange(1.0, channels + 1).astype("float32")
    one, other = both(lambda: dataset(photos(channels)).map(lambda x: (as_float(x) - each) * 2.0))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_one_channel_that_becomes_three() -> None:
    one, other = both(lambda: dataset(photos(1)).map(lambda x: as_float(x) / 255.0 - MEANS))
    assert one[0].shape == (150, 170, 3)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def standard_pixels(x: Any) -> Any:
    return tf.maximum((scaled(x) - MEANS) / [0.2, 0.3, 0.4], -1.0)


def other_colours(x: Any) -> Any:
    return tf.image.adjust_saturation(tf.image.adjust_hue(scaled(x), 0.1), 1.5) * 2.0


@pytest.mark.parametrize("function", [standard_pixels, one_less, used_twice, other_colours])
def test_the_pixels_of_a_batch_are_gone_through_once(function: Function) -> None:
    images = np.random.default_rng(3).integers(0, 256, (7, 31, 33, 3), np.uint8)

    def made() -> Any:
        return tf.data.Dataset.from_tensor_slices(images).batch(3).map(function)

    assert is_fused(made())
    one, other = both(made)
    assert [x.shape for x in one] == [(3, 31, 33, 3), (3, 31, 33, 3), (1, 31, 33, 3)]
    assert [x.tobytes() for x in one] == [x.tobytes() for x in other]


def test_what_is_about_each_image_of_a_batch_is_not_run_with_the_pixels() -> None:
    images = np.random.default_rng(3).integers(0, 256, (4, 31, 33, 3), np.uint8)

    def contrast(x: Any) -> Any:
        return tf.image.adjust_contrast(scaled(x) * 2.0, 0.5) + 1.0

    one, other = both(lambda: tf.data.Dataset.from_tensor_slices(images).batch(4).map(contrast))
    assert one[0].tobytes() == other[0].tobytes()


@pytest.mark.parametrize("size", [2, 5])
def test_batches_hold_what_threads_have_put_there(size: int) -> None:
    def view(x: Any) -> Any:
        return tf.image.resize(x, [140, 130]) / 255.0, tf.shape(x)

    def batches() -> Any:
        return dataset(photos() * 4).map(view, 2).batch(size)

    one, other = both(lambda: (images for images, _ in batches()))
    assert [len(batch) for batch in one] == [len(batch) for batch in other]
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)
    sizes = np.concatenate([shape.numpy() for _, shape in batches()])
    assert sizes.tolist() == [[*image.shape] for image in photos() * 4]


def test_batches_that_are_kept_stay_as_they_were() -> None:
    made = dataset(photos() * 8).map(lambda x: tf.image.resize(x, [140, 130]), 2).batch(2)
    kept = [batch.numpy() for batch in made]
    again = [batch.numpy().copy() for batch in made]
    for a, b in zip(kept, again, strict=True):
        np.testing.assert_array_equal(a, b)


def test_images_that_cannot_be_batched_are_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"different shapes|does not match"):
        list(dataset(photos()).map(lambda x: as_float(x) / 255.0, 2).batch(3))


def test_batches_go_on_after_an_element_that_failed() -> None:
    def view(x: Any) -> Any:
        return tf.image.random_crop(as_float(x) * 2.0, [130, 131, 3], seed=1) + 1.0

    small = np.zeros((129, 200, 3), np.uint8)
    images = [photos()[0], small, *photos(), *photos()]
    one, other = both(lambda: dataset(images).map(view, 2).batch(2).ignore_errors())
    assert len(one) == len(other) > 2
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def small_views(x: Any) -> list[Any]:
    """Distortions of CIFAR's classic program, and others, which are of other orders and numbers."""
    x = as_float(x)
    cut = tf.image.random_crop(x, [6, 5, 3], seed=1)
    flipped = tf.image.random_flip_left_right(cut, seed=2)
    lit = tf.image.random_brightness(flipped, 63, seed=3)
    sharp = tf.image.random_contrast(lit, 0.2, 1.8, seed=4)
    return [
        tf.image.per_image_standardization(sharp),
        tf.image.random_brightness(tf.image.random_contrast(x, 0.5, 2.0, seed=5), 9, seed=6),
        tf.slice(tf.image.adjust_brightness(x, 4.0), [1, 2, 0], [3, -1, 2]),
        tf.image.random_flip_left_right(tf.slice(x, [1, 0, 1], [2, 3, 2]), seed=7),
        tf.image.random_flip_left_right(tf.image.random_flip_left_right(x, seed=8), seed=9),
        lit * 2.0 - flipped,
        tf.image.per_image_standardization(tf.image.resize_with_crop_or_pad(x, 6, 3)),
        tf.image.random_brightness(
            tf.image.random_flip_left_right(tf.image.resize_with_crop_or_pad(x, 11, 3), 10), 9, 11
        ),
    ]


@pytest.mark.parametrize("number", range(8))
def test_small_images_are_distorted_many_at_once(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []
    real = augment.distort

    def counted(images: Any, **steps: Any) -> Any:
        counts.append(len(images))
        return real(images, **steps)

    monkeypatch.setattr(fusing, "distort", counted)
    images = np.random.default_rng(2).integers(0, 256, (50, 9, 8, 3), np.uint8)

    def batches() -> Any:
        return (
            tf.data.Dataset.from_tensor_slices(images)
            .map(lambda x: small_views(x)[number])
            .batch(20)
        )

    one, other = both(batches)
    assert max(counts) > 1
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_images_that_are_said_to_be_small_are_processed_many_at_once() -> None:
    images = np.random.default_rng(2).integers(0, 256, (30, 9, 8, 3), np.uint8)
    files = [tf.io.encode_png(image).numpy() for image in images]

    def view(file: Any) -> Any:
        image = tf.io.decode_png(file, channels=3)
        image.set_shape([9, 8, 3])
        return tf.image.random_flip_left_right(as_float(image), seed=2) / 255.0

    def mapped() -> Any:
        return tf.data.Dataset.from_tensor_slices(files).map(view, 2)

    assert not mapped()._node.trace.is_large
    for a, b in zip(*both(lambda: mapped().batch(8)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_small_images_are_cut_from_images_of_unknown_sizes() -> None:
    def moved(image: Any) -> Any:
        by = tf.random.uniform([], 0, 4, tf.int32, seed=3)
        wide = tf.pad(image, [[by, 4], [by, 4], [0, 0]])  # whose size is not known
        return tf.ensure_shape(wide[4 : 4 + 9, 4 : 4 + 8], [9, 8, 3])

    def either(image: Any) -> Any:
        return tf.cond(image[0, 0, 0] > 99, lambda: moved(image), lambda: image)

    images = np.random.default_rng(2).integers(0, 256, (90, 9, 8, 3), np.uint8)
    data = tf.data.Dataset.from_tensor_slices(images).map(either, 2)
    assert isinstance(data._node, Map)
    assert data._node.trace.is_large
    for a, b in zip(*both(lambda: data.batch(40)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_cut_that_does_not_fit_is_an_error_of_its_image() -> None:
    def cut(row: Any) -> Any:
        return tf.slice(tf.zeros([9, 8, 3]) + 1.0, [row, 0, 0], [4, 4, 3])

    for fast in (True, False):
        before = tf.data.set_lowering(fast)
        rows = iter(tf.data.Dataset.range(9).map(lambda n: cut(tf.cast(n, tf.int32))).batch(1))
        assert len([next(rows) for _ in range(6)]) == 6
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected size\[0\] in \[0, 3\]"):
            next(rows)
        tf.data.set_lowering(before)


def test_what_cannot_be_changed_is_refused() -> None:
    image = np.zeros((4, 5, 3), np.float32)
    none = np.zeros((0, 3), np.float32)
    with pytest.raises(TypeError, match="image must be uint8 or float32"):
        _tensor.change_pixels(image.astype(np.float64), b"", None)
    with pytest.raises(ValueError, match="values must be of shape"):
        _tensor.change_pixels(image, b"\0\0", np.zeros((1, 3), np.float32))
    with pytest.raises(ValueError, match="change 9 is out of range"):
        _tensor.change_pixels(image, b"\x09", np.zeros((1, 3), np.float32))
    hue = bytes([_tensor.PIXEL_CHANGES.index("hue")])
    with pytest.raises(ValueError, match="channels must be 3, got 4"):
        _tensor.change_pixels(np.zeros((4, 5, 4), np.float32), hue, np.zeros((1, 4), np.float32))
    with pytest.raises(ValueError, match="one type and shape"):
        _tensor.join_channels([image, image[1:]])
    assert _tensor.change_pixels(image[:0], b"", none).shape == (0, 5, 3)
    assert _tensor.change_pixels(image[::-1, ::2], b"", none).shape == (4, 3, 3)


def records(broken: int) -> list[bytes]:
    """Examples of an image and a label, of which one has no image."""
    found = []
    for number, image in enumerate(photos() * 7):
        feature = {"label": [number]}
        if number != broken:
            feature["image"] = tf.io.encode_png(image).numpy()
        found.append(fastrec.encode_example(feature))
    return found


def parsed(record: Any) -> Any:
    kinds = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
        "boxes": tf.io.VarLenFeature(tf.float32),
    }
    found = tf.io.parse_single_example(record, kinds)
    image = tf.image.resize(tf.io.decode_png(found["image"], 3), [130, 140]) / 255.0
    image = tf.image.random_brightness(image, 0.3, seed=1)
    return image, found["label"] * 2 - 1, tf.sparse.to_dense(found["boxes"])


@pytest.mark.parametrize("broken", [-1, 0, 9, 20])
@pytest.mark.parametrize("batched", [False, True])
def test_what_is_small_is_done_for_many_elements(broken: int, batched: bool) -> None:
    def make() -> Any:
        made = tf.data.Dataset.from_tensor_slices(records(broken)).map(parsed, 2)
        if batched:
            made = made.padded_batch(4, ([130, 140, 3], [], [None]))
        return made.ignore_errors()

    found = []
    for fast in (True, False):
        before = tf.data.set_lowering(fast)
        try:
            found.append([[part.numpy() for part in element] for element in make()])
        finally:
            tf.data.set_lowering(before)
    one, other = found
    assert len(one) == len(other) > 3
    for a, b in zip(one, other, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)


def test_an_error_of_a_block_is_that_of_its_element() -> None:
    made = iter(tf.data.Dataset.from_tensor_slices(records(5)).map(parsed, 2))
    assert [int(next(made)[1]) for _ in range(5)] == [-1, 1, 3, 5, 7]
    with pytest.raises(tf.errors.InvalidArgumentError, match="image"):
        next(made)
    assert int(next(made)[1]) == 11
