# SPDX-License-Identifier: Apache-2.0
"""``FASTREC_COMPAT_EXPLAIN=1`` tells how the functions of a program are run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastrec.compat.v2 as tf
from fastrec.compat._tf.tracing.rules import without


def scaled(x: Any) -> Any:
    return tf.cast(x, tf.float32) * 2.0 + 1.0


def is_even(x: Any) -> Any:
    return x % 2 == 0


def turned(x: Any) -> Any:
    return (tf.image.flip_left_right(x) - 127.0) / 128.0


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return a function that iterates over a dataset and returns the explanations."""
    monkeypatch.setenv("FASTREC_COMPAT_EXPLAIN", "1")

    def explanations(dataset: Any) -> list[str]:
        list(dataset)
        return capsys.readouterr().err.replace("fastrec.compat: ", "").splitlines()

    return explanations


def test_a_function_in_columns_is_explained_with_its_line(said: Any) -> None:
    numbers = tf.data.Dataset.range(8)
    first, line = said(numbers.map(scaled).batch(4))
    assert first.startswith("scaled makes ")
    assert first.endswith(" rows together: Cast, Mul+AddV2; rules: formulas")
    assert line.endswith(": def scaled(x: Any) -> Any:")
    with without("formulas"):
        first, _ = said(numbers.map(scaled).batch(4))
    assert first.endswith(" rows together: Cast, Mul, AddV2")


def test_a_filter_is_explained(said: Any) -> None:
    first, _ = said(tf.data.Dataset.range(8).filter(is_even).batch(4))
    assert first.startswith("is_even decides about ")
    assert first.endswith(" rows together: FloorMod, Equal")


def test_rows_that_are_made_one_by_one_are_explained(said: Any) -> None:
    images = tf.data.Dataset.from_tensors(np.zeros((200, 200, 3), np.float32)).repeat(2)
    first, _ = said(images.map(turned, num_parallel_calls=2).batch(2))
    assert first.startswith("turned makes rows one by one (they are large), in 2 threads")
    assert ": FlipLeftRight, Sub+RealDiv; rules: formulas" in first
    first, _ = said(images.map(lambda x: tf.py_function(turned, [x], tf.float32)).batch(2))
    assert "one by one (it has effects): EagerPyFunc" in first
    before = tf.data.set_lowering(False)
    try:
        first, _ = said(tf.data.Dataset.range(8).map(scaled).batch(4))
    finally:
        tf.data.set_lowering(before)
    assert "one by one (" in first
    assert first.partition(";")[0].endswith("Cast, Mul, AddV2")
