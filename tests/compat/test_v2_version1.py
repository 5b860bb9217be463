# SPDX-License-Identifier: Apache-2.0
"""Names of ``tf.compat.v1`` under version 2 mean what version 1 means by them, and run at once."""

from __future__ import annotations

from typing import Any

import pytest
from version1_expressions import EXPRESSIONS, check, value

import fastrec.compat.v2 as tf


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_a_name_of_version_1_gives_the_value_of_version_1(text: str) -> None:
    check(value(tf, text), EXPRESSIONS[text])


def test_functions_of_a_dataset_use_the_meaning_of_version_1_too() -> None:
    v1 = tf.compat.v1

    def function(x: Any) -> Any:
        mask = v1.where(tf.stack([x > 0, x < 0]), [[1, 2], [3, 4]], [[5, 6], [7, 8]])
        return mask, v1.div(x, tf.constant(2, tf.int64)), v1.reduce_sum(mask, keep_dims=True)

    rows = list(tf.data.Dataset.range(-3, 4, 6).map(function).as_numpy_iterator())
    assert [mask.tolist() for mask, _, _ in rows] == [[[5, 6], [3, 4]], [[1, 2], [7, 8]]]
    assert [half.tolist() for _, half, _ in rows] == [-2, 1]
    assert [total.tolist() for _, _, total in rows] == [[[18]], [[18]]]
