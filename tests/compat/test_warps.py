# SPDX-License-Identifier: Apache-2.0
"""Images turned and moved, and filters of their channels, by the definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as v1
import fastrec.compat.v2 as v2

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (2, 6, 7, 3), np.uint8)
LEFT = [1.0, 0.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0]  # each pixel is of two columns further on


def moved(fill_mode: str, **how: Any) -> Any:
    return v2.raw_ops.ImageProjectiveTransformV3(
        images=IMAGES,
        transforms=[LEFT],
        output_shape=[6, 7],
        fill_value=9.0,
        fill_mode=fill_mode,
        **{"interpolation": "NEAREST", **how},
    ).numpy()


def test_images_are_moved_and_what_lies_around_them_is_chosen() -> None:
    for fill_mode, columns in {
        "REFLECT": [2, 3, 4, 5, 6, 6, 5],
        "WRAP": [2, 3, 4, 5, 6, 0, 1],
        "NEAREST": [2, 3, 4, 5, 6, 6, 6],
    }.items():
        np.testing.assert_array_equal(moved(fill_mode), IMAGES[:, :, columns])
    np.testing.assert_array_equal(moved("CONSTANT")[:, :, :5], IMAGES[:, :, 2:])
    assert (moved("CONSTANT")[:, :, 5:] == 9).all()


def test_each_image_has_its_own_transform_and_between_pixels_they_are_mixed() -> None:
    half = [1.0, 0.0, 0.5, 0.0, 1.0, 0.0, 0.0, 0.0]
    found = v2.raw_ops.ImageProjectiveTransformV2(
        images=IMAGES.astype(np.float32),
        transforms=[LEFT, half],
        output_shape=[6, 5],
        interpolation="BILINEAR",
    ).numpy()
    np.testing.assert_array_equal(found[0], IMAGES[0, :, 2:])
    between = (IMAGES[1, :, :5].astype(np.float32) + IMAGES[1, :, 1:6]) / 2
    np.testing.assert_array_equal(found[1], between)


def test_a_transform_that_is_none_is_refused() -> None:
    with pytest.raises(v2.errors.InvalidArgumentError, match="fill_mode"):
        moved("BLACK")
    with pytest.raises(v2.errors.InvalidArgumentError, match="num_images x 8"):
        v2.raw_ops.ImageProjectiveTransformV2(
            images=IMAGES, transforms=[LEFT] * 3, output_shape=[2, 2], interpolation="NEAREST"
        )
    with pytest.raises(v2.errors.InvalidArgumentError, match="positive"):
        v2.raw_ops.ImageProjectiveTransformV2(
            images=IMAGES, transforms=[LEFT], output_shape=[0, 2], interpolation="NEAREST"
        )


def by_definition(images: Any, weights: Any) -> Any:
    rows, columns = weights.shape[:2]
    windows = np.lib.stride_tricks.sliding_window_view(images, (rows, columns), (1, 2))
    return np.einsum("nhwcyx,yxcm->nhwcm", windows, weights).reshape(
        *windows.shape[:3], weights.shape[2] * weights.shape[3]
    )


def test_channels_are_weighted_by_filters_of_their_own() -> None:
    images = IMAGES.astype(np.float32)
    weights = RNG.normal(size=(3, 2, 3, 2)).astype(np.float32)
    expected = by_definition(images, weights)
    found = v2.nn.depthwise_conv2d(images, weights, [1, 1, 1, 1], "VALID").numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)
    padded = np.pad(images, ((0, 0), (1, 1), (0, 1), (0, 0)))
    found = v2.nn.depthwise_conv2d(images, weights, [1, 2, 2, 1], "SAME").numpy()
    assert found.shape == (2, 3, 4, 6)
    around = [[0, 0], [1, 1], [0, 1], [0, 0]]
    found = v2.nn.depthwise_conv2d(images, weights, [1, 1, 1, 1], around).numpy()
    np.testing.assert_allclose(found, by_definition(padded, weights), rtol=1e-4, atol=1e-3)


def test_filters_that_do_not_fit_are_refused() -> None:
    images = IMAGES.astype(np.float32)
    with pytest.raises(v2.errors.InvalidArgumentError, match="same depth"):
        v2.nn.depthwise_conv2d(images, np.ones((1, 1, 2, 1), np.float32), [1, 1, 1, 1], "SAME")
    with pytest.raises(v2.errors.InvalidArgumentError, match="negative"):
        v2.nn.depthwise_conv2d(images, np.ones((9, 1, 3, 1), np.float32), [1, 1, 1, 1], "VALID")
    with pytest.raises(ValueError, match="padding"):
        v2.nn.depthwise_conv2d(images, np.ones((1, 1, 3, 1), np.float32), [1, 1, 1, 1], "ALL")


def test_a_sharpened_image_of_a_data_set_has_its_static_shape() -> None:
    def sharpen(image: Any) -> Any:
        kernel = v2.constant([1.0, 1, 1, 1, 5, 1, 1, 1, 1], shape=[3, 3, 1, 1]) / 13
        kernel = v2.tile(kernel, [1, 1, 3, 1])
        given = v2.cast(image, v2.float32)[v2.newaxis]
        return v2.nn.depthwise_conv2d(given, kernel, [1, 1, 1, 1], "VALID", dilations=[1, 1])

    dataset = v2.data.Dataset.from_tensor_slices(IMAGES).map(sharpen)
    assert dataset.element_spec.shape.as_list() == [1, 4, 5, 3]
    for number, found in enumerate(dataset):
        np.testing.assert_array_equal(found, sharpen(v2.constant(IMAGES[number])))


def test_filters_are_run_in_a_session() -> None:
    ones = np.ones((2, 2, 3, 1), np.float32)
    with v1.Graph().as_default(), v1.Session() as session:
        images = v1.constant(IMAGES.astype(np.float32))
        node = v1.nn.depthwise_conv2d(images, ones, [1, 1, 1, 1], "VALID", rate=[1, 1])
        assert node.shape.as_list() == [2, 5, 6, 3]
        np.testing.assert_array_equal(session.run(node), by_definition(IMAGES, ones))


def test_the_largest_of_windows() -> None:
    images = IMAGES.astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(images, (3, 2), (1, 2))
    found = v2.nn.max_pool2d(images, (3, 2), 1, "VALID").numpy()
    np.testing.assert_array_equal(found, windows.max((-2, -1)))
    around = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-1)
    windows = np.lib.stride_tricks.sliding_window_view(around, (3, 3), (1, 2)).max((-2, -1))
    whole = v2.nn.max_pool(images, 3, 1, "SAME").numpy()
    np.testing.assert_array_equal(whole, windows)
    sides = [[0, 0], [1, 1], [1, 1], [0, 0]]
    found = v2.nn.max_pool(images, [1, 3, 3, 1], [1, 2, 2, 1], sides).numpy()
    np.testing.assert_array_equal(found, windows[:, ::2, ::2])
    with v1.Graph().as_default(), v1.Session() as session:
        node = v1.nn.max_pool(v1.constant(images), [1, 3, 3, 1], [1, 1, 1, 1], "SAME")
        assert node.shape.as_list() == list(whole.shape)
        np.testing.assert_array_equal(session.run(node), whole)


def test_what_is_no_number_is_never_the_largest() -> None:
    least = np.finfo(np.float32).min
    row = np.array([np.nan, np.nan, np.nan, 2, -np.inf, -np.inf, -np.inf], np.float32)
    found = v2.nn.max_pool2d(row.reshape(1, 1, 7, 1), (1, 3), 1, "SAME").numpy().reshape(-1)
    assert found.tolist() == [least, least, 2, 2, 2, least, least]


def test_windows_that_do_not_fit_are_refused() -> None:
    images = IMAGES.astype(np.float32)
    for given, size, padding in (
        (images, 9, "VALID"),
        (images[0], 2, "VALID"),
        (images, 1, [[0, 0], [1, 1], [0, 1], [0, 0]]),
    ):
        with pytest.raises(v2.errors.InvalidArgumentError):
            v2.nn.max_pool2d(given, size, 1, padding)


def test_masks_of_a_data_set_grow() -> None:
    masks = IMAGES > 128

    def grown(mask: Any) -> Any:
        return v2.nn.max_pool2d(v2.cast(mask, v2.float32)[v2.newaxis], 3, 1, "SAME")[0]

    dataset = v2.data.Dataset.from_tensor_slices(masks).map(grown)
    assert dataset.element_spec.shape.as_list() == list(masks.shape[1:])
    for mask, found in zip(masks, dataset.batch(2).unbatch(), strict=True):
        np.testing.assert_array_equal(found, grown(v2.constant(mask)))
