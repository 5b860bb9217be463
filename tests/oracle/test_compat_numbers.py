# SPDX-License-Identifier: Apache-2.0
"""Texts spell the numbers that they do in TensorFlow, to the bit."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from spelt import TYPES, texts_of

import fastrec.compat.v2 as ours

TEXTS = texts_of(2, 1500)


def same(x: Any, y: Any) -> bool:
    """To the bit, but for what nan(1) has in brackets."""
    alike = np.array_equal(x, y, equal_nan=x.dtype.kind == "f")
    return alike and np.array_equal(np.signbit(x), np.signbit(y))


@pytest.fixture(scope="module")
def tf() -> Any:
    return pytest.importorskip("tensorflow")


@pytest.mark.parametrize("dtype", TYPES)
def test_texts_spell_the_numbers_of_tensorflow(tf: Any, dtype: str) -> None:
    right, expected = [], []
    for text in TEXTS:
        try:
            expected.append(tf.strings.to_number(text, dtype).numpy())
        except tf.errors.InvalidArgumentError:
            with pytest.raises(ours.errors.InvalidArgumentError):
                ours.strings.to_number(text, dtype)
        else:
            right.append(text)
            found = ours.strings.to_number(text, dtype).numpy()
            assert same(found, expected[-1]), text
    assert same(ours.strings.to_number(right, dtype).numpy(), np.array(expected, dtype))


@pytest.mark.parametrize("dtype", TYPES[:4])
def test_columns_of_lines_have_the_numbers_of_tensorflow(tf: Any, dtype: str) -> None:
    lines = [b"7," + text for text in TEXTS if not set(text) & set(b'\n\r\x0b"')]
    answers = []
    for each in (tf, ours):
        defaults = [each.constant([0], each.as_dtype(dtype)), each.constant([3], dtype)]
        found: list[Any] = []
        for at in range(0, len(lines), 4):
            try:
                columns = each.io.decode_csv(lines[at : at + 4], defaults)
            except each.errors.InvalidArgumentError as error:
                found.append(re.sub(r"^\{\{.*?\}\} *| \[Op:.*", "", error.message))
            else:
                found.append([column.numpy().tobytes() for column in columns])
        answers.append(found)
    assert answers[0] == answers[1]
