# SPDX-License-Identifier: Apache-2.0
"""Arrays whose shape the record says, and decode_raw."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import RawFeature, decode_raw


def make_image(height: int, width: int, dtype: Any = np.uint8) -> Any:
    return (np.arange(height * width * 3) + 1).reshape(height, width, 3).astype(dtype)


def record(array: Any, **more: Any) -> bytes:
    values = {
        "image": array.tobytes(),
        "shape": list(array.shape),
        "shape_raw": np.array(array.shape, "<i4").tobytes(),
        "height": array.shape[0],
        "width": array.shape[1],
    }
    return fastrec.encode_example({**values, **more})


def test_a_shape_that_no_array_can_have_is_an_error_of_its_record() -> None:
    hostile = fastrec.encode_example({"image": b"", "shape": [0, 2**62, 4]})
    sound = record(make_image(2, 2))
    with pytest.raises(fastrec.ExampleParseError, match="do not fill an array of shape") as caught:
        fastrec.parse_example([sound, hostile], {"image": RawFeature("shape", np.uint8)})
    assert caught.value.record == 1


SIZES = [(2, 2), (3, 5), (1, 7), (4, 4), (0, 3)]
SOURCES: list[dict[str, Any]] = [
    {"shape": "shape"},
    {"shape": "shape_raw", "shape_dtype": np.int32},
    {"shape": ("height", "width", 3)},
]


def padded(array: Any, target: tuple[int, ...], crop: bool) -> Any:
    """One dimension after the other."""
    for axis, size in enumerate(target):
        have = array.shape[axis]
        before = max((size - have) // 2, 0) if crop else 0
        start = max((have - size) // 2, 0) if crop else 0
        array = np.take(array, range(start, start + min(size, have)), axis)
        widths = [(0, 0)] * array.ndim
        widths[axis] = (before, size - array.shape[axis] - before)
        array = np.pad(array, widths)
    return array


@pytest.mark.parametrize("source", SOURCES)
def test_arrays_have_the_shape_that_their_record_says(source: Any) -> None:
    images = [make_image(*size) for size in SIZES]
    feature = RawFeature(dtype=np.uint8, **source)
    found = fastrec.parse_example([record(p) for p in images], {"image": feature})["image"]
    assert isinstance(found, fastrec.Arrays)
    for one, expected in zip(found, images, strict=True):
        np.testing.assert_array_equal(one, expected)
    single = fastrec.parse_single_example(record(images[1]), {"image": feature})["image"]
    np.testing.assert_array_equal(single, images[1])


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("dtype", ["u1", "<i2", "<f8", ">u2"])
@pytest.mark.parametrize("target", [(4, 7, 3), (5, 8, 4)])
def test_arrays_are_padded_behind(source: Any, dtype: str, target: Any) -> None:
    images = [make_image(*size, dtype) for size in SIZES]
    native = np.dtype(dtype).newbyteorder("=")
    little = np.dtype(dtype) == np.dtype(dtype).newbyteorder("<")
    feature = RawFeature(dtype=native, little_endian=little, pad=target, **source)
    found = fastrec.parse_example([record(p) for p in images], {"image": feature})["image"]
    assert found.dtype == native
    np.testing.assert_array_equal(found, [padded(p, target, False) for p in images])


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    "target", [(2, 2, 3), (3, 4, 3), (1, 9, 1), (5, 1, 5), (0, 2, 3), (4, 4, 3)]
)
def test_arrays_are_cropped_or_padded_about_the_centre(source: Any, target: Any) -> None:
    images = [make_image(*size) for size in SIZES]
    feature = RawFeature(dtype=np.uint8, crop_or_pad=target, **source)
    found = fastrec.parse_example([record(p) for p in images], {"image": feature})["image"]
    np.testing.assert_array_equal(found, [padded(p, target, True) for p in images])


def test_images_are_fitted_in_batches_by_threads(tmp_path: Any) -> None:
    path = tmp_path / "file"
    images = [make_image(*SIZES[i % 4]) for i in range(50)]
    with fastrec.Writer(path) as writer:
        for one in images:
            writer.write(record(one))
    feature = RawFeature("shape", np.uint8, crop_or_pad=(3, 3, 3))
    found = [b["image"] for b in fastrec.Batcher(path, {"image": feature}, 7, threads=3)]
    np.testing.assert_array_equal(
        np.concatenate(found), [padded(p, (3, 3, 3), True) for p in images]
    )


@pytest.mark.parametrize(
    ("shape", "problem"),
    [
        ([2, 2], "requires 3 values of 'shape', which has 2"),
        ([2, 2, 4], "do not fill an array"),
        ([-2, -2, 3], "do not fill an array"),
        ([2**62, 2**62, 3], "do not fill an array"),
        ([2**32, 2**32, 0], "do not fill an array"),
        ([], "requires 3 values of 'shape', which has 0"),
    ],
)
@pytest.mark.parametrize("fit", [{}, {"pad": (4, 4, 3)}, {"crop_or_pad": (2, 2, 3)}])
def test_a_shape_that_is_not_that_of_the_bytes_is_an_error(
    shape: list[int], problem: str, fit: Any
) -> None:
    broken = record(make_image(2, 2), shape=shape)
    feature = RawFeature("shape", np.uint8, **fit)
    with pytest.raises(fastrec.ExampleParseError, match=problem) as caught:
        fastrec.parse_example([record(make_image(2, 2)), broken], {"image": feature})
    assert caught.value.record == 1


@pytest.mark.parametrize(
    ("shape", "problem"),
    [("shape", "'shape' is missing or empty"), (("h", 4), "of 'h', which has 0")],
)
def test_the_error_names_the_missing_feature_of_a_shape(shape: Any, problem: str) -> None:
    plain = fastrec.encode_example({"image": bytes(12)})
    with pytest.raises(fastrec.ExampleParseError, match=problem):
        fastrec.parse_example([plain], {"image": RawFeature(shape, np.uint8)})


def test_an_array_that_is_larger_than_the_padded_shape_is_an_error() -> None:
    feature = RawFeature("shape", np.uint8, pad=(2, 2, 3))
    with pytest.raises(fastrec.ExampleParseError, match="dimension 1 is 5, more than 2"):
        fastrec.parse_example([record(make_image(2, 5))], {"image": feature})


@pytest.mark.parametrize(
    "options",
    [
        {"shape": (2, 2), "pad": (3, 3)},
        {"shape": (2, 2), "shape_dtype": np.int32},
        {"shape": None, "crop_or_pad": (3, 3)},
        {"shape": "s", "pad": (3, 3), "crop_or_pad": (3, 3)},
        {"shape": ("h", "w"), "pad": (3, 3, 3)},
        {"shape": "s", "pad": (1,) * 9},
        {"shape": ("h",) * 9},
        {"shape": ""},
        {"shape": ("h", -1)},
        {"shape": "s", "pad": (-1,)},
    ],
)
def test_shapes_that_cannot_be_are_refused(options: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        RawFeature(dtype=np.uint8, **options)
    with pytest.raises(TypeError):
        RawFeature("s", np.uint8, shape_dtype=np.float32)


# ---- decode_raw ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "u1", "i2", "u4", "i8", "f2", "f4", "f8", "c8", "c16"]
)
@pytest.mark.parametrize("little", [True, False])
def test_raw_bytes_are_decoded_in_both_orders(dtype: str, little: bool) -> None:
    order = np.dtype(dtype).newbyteorder("<" if little else ">")
    values = (np.arange(12) % 2).reshape(3, 4).astype(order)
    strings = [row.tobytes() for row in values]
    for given in (
        strings,
        fastrec.Bytes.from_list(strings),
        np.array([*strings, None], object)[:-1],
    ):
        found = decode_raw(given, dtype, little)
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(found, values)
    np.testing.assert_array_equal(decode_raw(strings[0], dtype, little), values[0])
    nested = decode_raw([strings, strings], dtype, little)
    np.testing.assert_array_equal(nested, [values, values])


def test_aligned_native_bytes_are_not_copied() -> None:
    block = np.arange(8, dtype=np.int32)
    found = decode_raw(block.data.cast("B"), np.int32)
    assert np.shares_memory(found, block)
    assert decode_raw(b"\2\0", np.bool_).tolist() == [True, False]


def test_a_fixed_length_cuts_and_fills() -> None:
    assert decode_raw([b"\1\2\3", b"\4"], np.uint8, fixed_length=2).tolist() == [[1, 2], [4, 0]]
    assert decode_raw([b"\x01\x23"], np.int32, False, 4).tolist() == [[0x01230000]]
    assert decode_raw([b""], np.int16, fixed_length=4).tolist() == [[0, 0]]
    with pytest.raises(ValueError, match="multiple of 4"):
        decode_raw([b""], np.int32, fixed_length=7)
    with pytest.raises(ValueError, match="fixed_length must be at least 1"):
        decode_raw([b""], np.int32, fixed_length=0)


def test_nothing_decodes_to_nothing() -> None:
    assert decode_raw([], np.int16).shape == (0, 0)
    assert decode_raw([b"", b""], np.int16).shape == (2, 0)
    assert decode_raw(b"", np.int16).shape == (0,)


def test_sizes_that_do_not_go_are_refused() -> None:
    with pytest.raises(fastrec.ExampleParseError, match="string 1 has 2 bytes and the first has 1"):
        decode_raw([b"a", b"bb"], np.uint8)
    with pytest.raises(fastrec.ExampleParseError, match=r"a multiple of 2, .*got 3 bytes"):
        decode_raw(b"abc", np.uint16)
    with pytest.raises(TypeError):
        decode_raw(b"abc", bytes)
    for text in ("abc", ["abc"]):
        with pytest.raises(TypeError, match="got str"):
            decode_raw(text, np.uint8)
    with pytest.raises(TypeError):
        decode_raw(np.array([b"a\0"]), np.uint8)
