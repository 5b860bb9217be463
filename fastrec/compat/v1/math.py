# SPDX-License-Identifier: Apache-2.0
"""``tf.math``: arithmetic, comparisons, sums."""

from __future__ import annotations

from typing import Any

from . import _late
from . import math_ops as _math_ops

globals().update(_math_ops.IN_MATH)


def __getattr__(name: str) -> Any:
    return _late.found("math", name)
