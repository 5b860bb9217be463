# SPDX-License-Identifier: Apache-2.0
"""Mistakes that raise the classes of errors that TensorFlow raises."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

import fastrec.compat.v2 as tf


def test_a_file_that_does_not_exist_is_an_error_of_each_element(tmp_path: Path) -> None:
    path = str(tmp_path / "none")
    dataset = tf.data.Dataset.range(2).map(lambda _: tf.io.read_file(path))
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        next(iter(dataset))
    assert list(dataset.ignore_errors()) == []


def test_a_table_of_a_file_that_does_not_exist(tmp_path: Path) -> None:
    lines = tf.lookup.TextFileIndex
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        tf.lookup.StaticHashTable(
            tf.lookup.TextFileInitializer(
                str(tmp_path / "none"), tf.string, lines.WHOLE_LINE, tf.int64, lines.LINE_NUMBER
            ),
            -1,
        )


def test_a_separator_is_one_text() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="sep must be a scalar"):
        tf.strings.split("abc", ["a"])


def test_pixels_of_8_bits_are_multiplied_by_256() -> None:
    image_module = pytest.importorskip("PIL.Image")
    data = io.BytesIO()
    image_module.fromarray(np.full((8, 8, 3), 255, np.uint8)).save(data, "JPEG", quality=100)

    def brightest(dtype: object) -> float:
        return float(tf.io.decode_image(data.getvalue(), dtype=dtype).numpy().max())

    assert brightest(tf.uint16) == 255 << 8
    assert brightest(tf.int32) == 255 << 23
    assert brightest(tf.float16) == 0.99609375
    assert brightest(tf.float32) == 1.0
