# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""``tf.dtypes``: the element types."""

from __future__ import annotations

from typing import Any

from .._tf import dtypes as _dtypes
from .._tf.dtypes import *
from .._tf.uncovered import uncovered
from . import math_ops as _math_ops
from ._late import found as _found

bool = _dtypes.bool_
double = _dtypes.float64
half = _dtypes.float16
cast = _math_ops.FUNCTIONS["cast"]
saturate_cast = _math_ops.FUNCTIONS["saturate_cast"]


def __getattr__(name: str) -> Any:
    if name == "complex":
        return _found("", name)
    raise uncovered("v2", "dtypes", name)
