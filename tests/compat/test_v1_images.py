# SPDX-License-Identifier: Apache-2.0
"""Images in ``fastrec.compat.v1``: values that TensorFlow gave for the same input."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as tf
from fastrec import _core

Image = pytest.importorskip("PIL.Image")

RGB = np.random.RandomState(0).randint(0, 256, (5, 7, 3), np.uint8)


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def encoded(pixels: Any, kind: str, mode: str | None = None) -> bytes:
    file = io.BytesIO()
    image = Image.fromarray(pixels)
    (image.convert(mode) if mode else image).save(file, kind)
    return file.getvalue()


def check(array: Any) -> tuple[str, tuple[int, ...], int]:
    return array.dtype.name, array.shape, zlib.crc32(array.tobytes())


def test_a_png_has_the_channels_that_are_asked_for(session: tf.Session) -> None:
    data = encoded(RGB, "PNG")
    decoded = session.run([tf.image.decode_png(data, channels=c) for c in (0, 1, 3, 4)])
    assert [d.shape[2] for d in decoded] == [3, 1, 3, 4]
    assert (decoded[0] == RGB).all()
    # TensorFlow's greys, which libpng cuts off.
    assert decoded[1].reshape(-1)[:6].tolist() == [71, 88, 160, 83, 180, 124]
    assert (decoded[3][:, :, 3] == 255).all()
    deep = session.run(tf.image.decode_png(data, dtype=tf.uint16))
    assert deep.reshape(-1)[:3].tolist() == [44204, 2570, 32639]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be 0, 1, 3 or 4 but got 2"):
        session.run(tf.image.decode_png(data, channels=2))


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_pngs_are_written_with_every_number_of_channels(
    session: tf.Session, channels: int, dtype: Any
) -> None:
    top = np.iinfo(dtype).max
    pixels = np.random.RandomState(1).randint(0, top, (3, 4, channels)).astype(dtype)
    data = session.run(tf.image.encode_png(pixels))
    if dtype is np.uint16 and channels > 1 and _core.png_version() is None:
        with Image.open(io.BytesIO(data)) as image:  # Pillow keeps the upper bytes
            image.load()
            assert image.size == (4, 3)
        return
    again = session.run(tf.image.decode_png(data, dtype=tf.as_dtype(dtype)))
    assert (again == pixels).all()


def test_several_images_are_encoded_at_once(session: tf.Session) -> None:
    several = session.run(tf.image.encode_png(np.stack([RGB, 255 - RGB])))
    assert several.shape == (2,)
    assert (session.run(tf.image.decode_png(several[1])) == 255 - RGB).all()


def test_any_image_is_decoded_by_what_it_is(session: tf.Session) -> None:
    big = np.kron(RGB, np.ones((8, 8, 1), np.uint8))
    jpeg = session.run(tf.image.encode_jpeg(big))
    near = session.run(tf.image.decode_png(jpeg)).astype(int) - big
    assert np.abs(near).mean() < 20
    grey = session.run(tf.image.decode_jpeg(jpeg, channels=1))
    assert grey.shape == (40, 56, 1)
    assert session.run(tf.image.extract_jpeg_shape(jpeg)).tolist() == [40, 56, 3]
    assert session.run(tf.image.is_jpeg(jpeg))
    part = session.run(tf.image.decode_and_crop_jpeg(jpeg, [1, 2, 3, 4]))
    assert part.shape == (3, 4, 3)
    gif = encoded(RGB[:, :, 0], "GIF")
    assert session.run(tf.image.decode_image(gif)).shape == (1, 5, 7, 3)
    assert session.run(tf.image.decode_gif(gif)).shape == (1, 5, 7, 3)
    assert session.run(tf.image.decode_image(gif, expand_animations=False)).shape == (5, 7, 3)
    bmp = encoded(RGB, "BMP")
    assert (session.run(tf.image.decode_bmp(bmp)) == RGB).all()
    unit = session.run(tf.image.decode_image(bmp, dtype=tf.float32))
    assert unit.max() <= 1


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "Input is empty"),
        (b"junk", "Unknown image file format"),
        (b"\xff\xd8\xff\xe0junk", "Invalid JPEG data or crop window"),
        (encoded(RGB, "PNG")[:60], "Invalid PNG data, size 60"),
        (encoded(RGB, "JPEG")[:300], "Invalid JPEG data or crop window"),
    ],
)
def test_what_is_no_image_is_refused(session: tf.Session, data: bytes, text: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        session.run(tf.image.decode_image(data))


CASES: list[tuple[Any, tuple[str, tuple[int, ...], int]]] = [
    (lambda x: tf.image.resize_image_with_crop_or_pad(x, 3, 9), ("uint8", (3, 9, 3), 590640898)),
    (lambda x: tf.image.resize_image_with_crop_or_pad(x, 8, 4), ("uint8", (8, 4, 3), 166501241)),
    (lambda x: tf.image.crop_to_bounding_box(x, 1, 2, 3, 4), ("uint8", (3, 4, 3), 4114946270)),
    (lambda x: tf.image.pad_to_bounding_box(x, 1, 2, 8, 10), ("uint8", (8, 10, 3), 1337299354)),
    (lambda x: tf.image.central_crop(x, 0.5), ("uint8", (3, 5, 3), 4036635376)),
    (lambda x: tf.image.flip_left_right(x), ("uint8", (5, 7, 3), 988659501)),
    (lambda x: tf.image.flip_up_down(x), ("uint8", (5, 7, 3), 3135450243)),
    (lambda x: tf.image.transpose_image(x), ("uint8", (7, 5, 3), 441037373)),
    (lambda x: tf.image.rot90(x), ("uint8", (7, 5, 3), 1084417139)),
    (lambda x: tf.image.adjust_brightness(x, 0.1), ("uint8", (5, 7, 3), 1350374205)),
    (lambda x: tf.image.adjust_contrast(x, 1.5), ("uint8", (5, 7, 3), 3226080571)),
    (lambda x: tf.image.random_brightness(x, 0.3, seed=3), ("uint8", (5, 7, 3), 578202454)),
    (lambda x: tf.image.random_contrast(x, 0.2, 1.8, seed=3), ("uint8", (5, 7, 3), 2707829269)),
    (lambda x: tf.image.random_flip_left_right(x, seed=3), ("uint8", (5, 7, 3), 988659501)),
    (lambda x: tf.image.random_flip_up_down(x, seed=1), ("uint8", (5, 7, 3), 3135450243)),
    (lambda x: tf.image.convert_image_dtype(x, tf.uint16), ("uint16", (5, 7, 3), 2490901797)),
    (lambda x: tf.image.convert_image_dtype(x, tf.int16), ("int16", (5, 7, 3), 193830812)),
    (lambda x: tf.image.convert_image_dtype(x, tf.float32), ("float32", (5, 7, 3), 201023492)),
    (lambda x: tf.image.resize_images(x, [9, 4], 1), ("uint8", (9, 4, 3), 252144689)),
    (
        lambda x: tf.image.resize_images(x, [3, 14], 1, align_corners=True),
        ("uint8", (3, 14, 3), 373455170),
    ),
    (lambda x: tf.image.resize_images(x, [9, 4]), ("float32", (9, 4, 3), 1771770537)),
    (lambda x: tf.image.rgb_to_grayscale(x), ("uint8", (5, 7, 1), 2613953434)),
    (lambda x: tf.image.random_hue(x, 0.2, seed=3), ("uint8", (5, 7, 3), 3147745763)),
    (lambda x: tf.image.random_saturation(x, 0.5, 1.5, seed=3), ("uint8", (5, 7, 3), 1697592785)),
    (lambda x: tf.image.adjust_gamma(x, 2.0), ("uint8", (5, 7, 3), 3764301357)),
]


@pytest.mark.parametrize(("make", "expected"), CASES)
@pytest.mark.parametrize("known", [True, False])
def test_images_come_out_as_tensorflow_made_them(
    session: tf.Session, make: Any, expected: Any, known: bool
) -> None:
    x = tf.constant(RGB) if known else tf.placeholder_with_default(RGB, [None, None, 3])
    result = make(x)
    array = session.run(result)
    if array.dtype == np.float32:  # the last bit may be another on another processor
        assert (array.dtype.name, array.shape) == expected[:2]
        assert check(np.round(array, 3))[:2] == expected[:2]
    else:
        assert check(array) == expected
    assert result.shape.is_compatible_with(array.shape)


def test_a_standardized_image_has_no_mean_and_a_deviation_of_one(session: tf.Session) -> None:
    result = session.run(tf.image.per_image_standardization(RGB))
    first = [0.62273937, -1.9114225, -0.08119448, 0.1221642, -1.3326324, 0.59145343]
    np.testing.assert_allclose(result.reshape(-1)[:6], first, rtol=1e-5)
    flat = session.run(tf.image.per_image_standardization(np.zeros((2, 2, 1), np.float32)))
    assert (flat == 0).all()


def test_sizes_that_cannot_be_are_refused_as_soon_as_they_are_known(session: tf.Session) -> None:
    cases: list[tuple[Any, str]] = [
        (lambda x: tf.image.crop_to_bounding_box(x, 1, 2, 5, 4), "height must be >= target"),
        (lambda x: tf.image.pad_to_bounding_box(x, 1, 2, 5, 10), "height must be <= target"),
        (lambda x: tf.image.resize_image_with_crop_or_pad(x, 0, 7), "target_height must be > 0"),
    ]
    for make, text in cases:
        with pytest.raises(ValueError, match=text):
            make(tf.constant(RGB))
    late = tf.placeholder_with_default(RGB, [None, None, 3])
    text = r"assertion failed: \[height must be >= target \+ offset\.\]"
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        session.run(tf.image.crop_to_bounding_box(late, 1, 2, 5, 4))


def test_a_block_of_images_is_worked_on_as_one_is(session: tf.Session) -> None:
    block = np.stack([RGB, 255 - RGB])
    makers: list[Any] = [
        lambda x: tf.image.resize_image_with_crop_or_pad(x, 3, 9),
        lambda x: tf.image.flip_left_right(x),
        lambda x: tf.image.adjust_contrast(x, 1.5),
        lambda x: tf.image.per_image_standardization(x),
        lambda x: tf.image.resize_images(x, [9, 4]),
    ]
    for make in makers:
        whole = session.run(make(block))
        parts = session.run([make(block[0]), make(block[1])])
        np.testing.assert_allclose(whole, np.stack(parts), rtol=1e-5)


def damaged(data: bytes, random: np.random.RandomState) -> bytes:
    """`data` with some of it changed, cut off, or put in."""
    changed = bytearray(data)
    for _ in range(random.choice([1, 2, 8])):
        at = random.randint(len(changed))
        kind = random.randint(4)
        if kind == 0:
            changed[at] = random.randint(256)
        elif kind == 1:
            changed[random.randint(min(60, len(changed)))] = random.choice([0, 127, 128, 255])
        elif kind == 2 and at:
            del changed[at:]
        else:
            changed[at:at] = random.bytes(3)
    return bytes(changed)


@pytest.mark.filterwarnings("ignore")  # Pillow's, of odd metadata
def test_damaged_images_are_images_or_refused(session: tf.Session) -> None:
    random = np.random.RandomState(0)
    kinds = [encoded(RGB, kind) for kind in ("PNG", "JPEG", "GIF", "BMP")]
    contents = tf.placeholder(tf.string, [])
    decoded = tf.image.decode_image(contents)
    outcomes = set()
    for i in range(600):
        try:
            pixels = session.run(decoded, {contents: damaged(kinds[i % 4], random)})
            outcomes.add(pixels.ndim)
        except tf.errors.InvalidArgumentError:
            outcomes.add(0)
    assert outcomes == {0, 3, 4}
