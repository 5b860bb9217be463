# SPDX-License-Identifier: Apache-2.0
"""The values written down for names of ``tf.compat.v1`` are those of TensorFlow."""

from __future__ import annotations

import pytest
import tensorflow as tf
from version1_expressions import EXPRESSIONS, check, value


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_tensorflow_gives_the_value_that_is_written_down(text: str) -> None:
    check(value(tf, text), EXPRESSIONS[text])
