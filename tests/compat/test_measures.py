# SPDX-License-Identifier: Apache-2.0
"""Measures of images, patches and boxes by class, by the definitions; in functions of datasets."""

from __future__ import annotations

import numpy as np
import pytest

import fastrec.compat.v1 as v1
import fastrec.compat.v2 as v2

RNG = np.random.default_rng(0)
IMAGES = RNG.uniform(0, 1, (4, 16, 18, 3)).astype(np.float32)


def test_similarity_is_that_of_its_windows() -> None:
    noisy = (IMAGES + RNG.normal(0, 0.05, IMAGES.shape)).clip(0, 1).astype(np.float32)
    found = v2.image.ssim(IMAGES, noisy, 1.0, filter_size=5).numpy()
    places = np.arange(5) - 2
    bell = np.exp(-(places**2) / (2 * 1.5**2))
    weights = np.outer(bell, bell)[:, :, np.newaxis] / np.outer(bell, bell).sum()
    for number in range(4):
        values = []
        for row in range(12):
            for column in range(14):
                x = IMAGES[number, row : row + 5, column : column + 5].astype(np.float64)
                y = noisy[number, row : row + 5, column : column + 5].astype(np.float64)
                mean_x, mean_y = (x * weights).sum((0, 1)), (y * weights).sum((0, 1))
                own_x = (x * x * weights).sum((0, 1)) - mean_x**2
                own_y = (y * y * weights).sum((0, 1)) - mean_y**2
                shared = (x * y * weights).sum((0, 1)) - mean_x * mean_y
                light = (2 * mean_x * mean_y + 1e-4) / (mean_x**2 + mean_y**2 + 1e-4)
                values.append(light * (2 * shared + 9e-4) / (own_x + own_y + 9e-4))
        assert found[number] == pytest.approx(np.mean(values), abs=1e-4)
    assert v2.image.ssim(IMAGES, IMAGES, 1.0).numpy() == pytest.approx(1, abs=1e-5)


def test_an_image_that_is_too_small_for_the_windows() -> None:
    with pytest.raises(v2.errors.InvalidArgumentError, match="smaller than 11"):
        v2.image.ssim(IMAGES[:, :8], IMAGES[:, :8], 1.0)


def test_edges_and_patches() -> None:
    edges = v2.image.sobel_edges(IMAGES).numpy()
    inside = IMAGES[:, 2:, 1:-1] - IMAGES[:, :-2, 1:-1]
    sides = IMAGES[:, 2:, :-2] - IMAGES[:, :-2, :-2] + IMAGES[:, 2:, 2:] - IMAGES[:, :-2, 2:]
    np.testing.assert_allclose(edges[:, 1:-1, 1:-1, :, 0], 2 * inside + sides, atol=1e-5)
    patches = v2.image.extract_patches(IMAGES, [1, 3, 2, 1], [1, 2, 3, 1], [1, 1, 1, 1], "VALID")
    assert patches.shape.as_list() == [4, 7, 6, 18]
    np.testing.assert_array_equal(patches[1, 2, 3], IMAGES[1, 4:7, 9:11].reshape(-1))


def test_colours_go_there_and_back() -> None:
    for there, back in (("rgb_to_yuv", "yuv_to_rgb"), ("rgb_to_yiq", "yiq_to_rgb")):
        other = getattr(v2.image, there)(IMAGES)
        np.testing.assert_allclose(getattr(v2.image, back)(other), IMAGES, atol=1e-3)


def test_elements_of_a_data_set() -> None:
    images = v2.data.Dataset.from_tensor_slices(IMAGES)

    def measured(image: object) -> object:
        mirrored = v2.image.flip_left_right(image)
        return v2.image.psnr(image, mirrored, 1.0), v2.image.total_variation(image)

    expected = [tuple(each.numpy() for each in measured(image)) for image in IMAGES]  # type: ignore[attr-defined]
    found = [tuple(map(float, pair)) for pair in images.map(measured).batch(3).unbatch()]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_boxes_of_each_class() -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]]], np.float32)[:, :, np.newaxis]
    scores = np.array([[[0.9, 0.2], [0.8, 0.6], [0.1, 0.7]]], np.float32)
    found = v2.image.combined_non_max_suppression(boxes, scores, 2, 5, 0.5, 0.15)
    assert found.valid_detections.numpy().tolist() == [3]
    np.testing.assert_allclose(found.nmsed_scores[0], [0.9, 0.7, 0.6, 0, 0])
    assert found.nmsed_classes.numpy().tolist() == [[0, 1, 1, 0, 0]]
    assert found.nmsed_boxes[0, 1].numpy().tolist() == [0, 1, 1, 1]  # clipped
    with pytest.raises(v2.errors.InvalidArgumentError, match="boxes must be"):
        v2.image.combined_non_max_suppression(boxes[0], scores, 2, 5)


def test_a_graph_measures_what_it_is_fed() -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        images = v1.placeholder(v1.float32, [None, None, None, 3])
        patches = v1.extract_image_patches(images, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME")
        assert patches.shape.ndims == 4
        found = session.run([patches, v1.math.is_non_decreasing(images)], {images: IMAGES[:1]})
    assert found[0].shape == (1, 8, 9, 12)
    assert not found[1]


def test_order_of_arguments_is_that_of_the_version() -> None:
    predictions, targets = [[0.1, 0.9], [0.8, 0.2]], [1, 1]
    assert v2.nn.in_top_k(targets, predictions, 1).numpy().tolist() == [True, False]
    with v1.Graph().as_default(), v1.Session() as session:
        found = session.run(v1.math.in_top_k(predictions, targets, 1))
        matrix = session.run(v1.confusion_matrix([0, 1], [1, 1], 2, v1.int64))
    assert found.tolist() == [True, False]
    assert matrix.tolist() == [[0, 1], [0, 1]]
    assert matrix.dtype == np.int64
