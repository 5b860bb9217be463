# SPDX-License-Identifier: Apache-2.0
"""Boxes of images. The expected values are TensorFlow 2.21's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as tf1
import fastrec.compat.v2 as tf

BOXES = np.array([[[0.1, 0.2, 0.6, 0.8], [0.3, 0.1, 0.9, 0.5]]], np.float32)
SIZE = [100, 120, 3]


def begin_and_size(found: Any) -> list[Any]:
    return [np.asarray(each).tolist() for each in found][:2]


@pytest.mark.parametrize(
    ("seed", "expected"),
    [((1, 2), [[3, 7, 0], [61, 55, -1]]), ((5, 9), [[4, 2, 0], [88, 103, -1]])],
)
def test_a_seed_decides(seed: Any, expected: list[Any]) -> None:
    found = tf.image.stateless_sample_distorted_bounding_box(
        SIZE, BOXES, seed=seed, min_object_covered=0.4, area_range=(0.1, 1.0)
    )
    assert begin_and_size(found) == expected
    top, left, bottom, right = np.asarray(found[2]).reshape(4).tolist()
    assert np.rint([top * 100, left * 120]).tolist() == expected[0][:2]
    assert np.rint([(bottom - top) * 100, (right - left) * 120]).tolist() == expected[1][:2]


@pytest.mark.parametrize("lowered", [True, False])
def test_each_element_of_a_data_set_has_its_own(lowered: bool) -> None:
    def sample(_: Any) -> Any:
        return tf.image.sample_distorted_bounding_box(SIZE, BOXES, seed=7, min_object_covered=0.1)

    before = tf.data.set_lowering(lowered)
    try:
        found = [begin_and_size(each) for each in tf.data.Dataset.range(3).map(sample)]
    finally:
        tf.data.set_lowering(before)
    assert found == [
        [[13, 40, 0], [56, 58, -1]],
        [[10, 3, 0], [86, 114, -1]],
        [[31, 16, 0], [28, 27, -1]],
    ]


def test_an_image_without_boxes_is_its_own() -> None:
    none = np.zeros((1, 0, 4), np.float32)
    found = tf.image.stateless_sample_distorted_bounding_box(
        SIZE, none, (3, 4), area_range=(0.05, 0.3), use_image_if_no_bounding_boxes=True
    )
    assert begin_and_size(found) == [[2, 8, 0], [60, 53, -1]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="No bounding boxes"):
        tf.image.stateless_sample_distorted_bounding_box(SIZE, none, (3, 4))


@pytest.mark.parametrize("box", [[0.5, 0, 0.5, 1], [0, 0, 1.5, 1], [-0.1, 0, 1, 1]])
def test_what_is_no_box_is_refused(box: list[float]) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.image.stateless_sample_distorted_bounding_box(SIZE, [[box]], (1, 2))


def test_a_graph_draws_again_with_each_run() -> None:
    with tf1.Graph().as_default(), tf1.Session() as session:
        found = tf1.image.sample_distorted_bounding_box(SIZE, BOXES, seed=7, seed2=3)
        assert found.begin.shape.as_list() == [3]
        runs = [[part.tolist() for part in session.run(found)[:2]] for _ in range(2)]
    assert runs == [[[0, 42, 0], [75, 74, -1]], [[0, 2, 0], [50, 64, -1]]]


def test_boxes_are_painted() -> None:
    image, box = np.zeros((1, 4, 5, 1), np.float32), np.array([[[0, 0.25, 0.7, 1.0]]], np.float32)
    painted = np.asarray(tf.image.draw_bounding_boxes(image, box, np.array([[0.5]], np.float32)))
    assert (painted[0, ..., 0] * 2).tolist() == [
        [0, 1, 1, 1, 1],
        [0, 1, 0, 0, 1],
        [0, 1, 1, 1, 1],
        [0, 0, 0, 0, 0],
    ]
    outside = np.array([[[-0.5, -0.5, 2, 2], [2, 2, 3, 3]]], np.float32)
    assert not np.asarray(tf.image.draw_bounding_boxes(image, outside, None)).any()


def test_boxes_that_overlap_a_better_one_are_left_out() -> None:
    boxes = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 0, 1, 1.01], [3, 3, 4, 4]], np.float32)
    scores = np.array([0.5, 0.9, 0.4, 0.1], np.float32)
    keep = tf.image.non_max_suppression
    assert np.asarray(keep(boxes, scores, 10, 0.5)).tolist() == [1, 3]
    assert np.asarray(keep(boxes, scores, 1, 0.5)).tolist() == [1]
    assert np.asarray(keep(boxes, scores, 10, 0.99)).tolist() == [1, 0, 3]
    assert np.asarray(keep(boxes, scores, 10, 0.5, 0.2)).tolist() == [1]


def test_parts_are_cut_out_and_scaled_under_both_faces() -> None:
    images = np.arange(24, dtype=np.float32).reshape(1, 4, 6, 1)
    boxes = np.array([[0, 0, 1, 1], [0, 0, 2, 1]], np.float32)
    expected = [[[0, 5], [18, 23]], [[0, 5], [-1, -1]]]
    arguments = images, boxes, [0, 0], [2, 2]
    found = tf.image.crop_and_resize(*arguments, extrapolation_value=-1.0)
    assert found.numpy()[..., 0].tolist() == expected
    data = tf.data.Dataset.from_tensors(images)
    cut = data.map(lambda x: tf.image.crop_and_resize(x, boxes, [0, 0], [2, 2]))
    assert cut.element_spec == tf.TensorSpec([2, 2, 2, 1])
    with tf1.Graph().as_default(), tf1.Session() as session:
        part = tf1.image.crop_and_resize(*arguments, extrapolation_value=-1.0)
        assert part.shape.as_list() == [2, 2, 2, 1]
        assert session.run(part)[..., 0].tolist() == expected
    with pytest.raises(tf.errors.InvalidArgumentError, match="method must be"):
        tf.image.crop_and_resize(*arguments, method="bicubic")
