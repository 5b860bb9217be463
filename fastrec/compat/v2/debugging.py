# SPDX-License-Identifier: Apache-2.0
"""``tf.debugging``: checks of values."""

from __future__ import annotations

from typing import Any

from ._late import found
from .control import (
    Assert,
    assert_equal,
    assert_greater,
    assert_greater_equal,
    assert_less,
    assert_less_equal,
    assert_non_negative,
    assert_none_equal,
    assert_positive,
    assert_rank,
    check_numerics,
)

__all__ = [
    "Assert",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_less",
    "assert_less_equal",
    "assert_non_negative",
    "assert_none_equal",
    "assert_positive",
    "assert_rank",
    "check_numerics",
]


def __getattr__(name: str) -> Any:
    return found("debugging", name)
