# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""``tf.dtypes``: the element types."""

from __future__ import annotations

from typing import Any

from .._tf import dtypes as _dtypes
from .._tf.dtypes import *
from .._tf.uncovered import uncovered
from . import _late, math_ops, string_ops

bool = _dtypes.bool_
double = _dtypes.float64
half = _dtypes.float16
cast = math_ops.FUNCTIONS["cast"]
saturate_cast = math_ops.FUNCTIONS["saturate_cast"]
as_string = string_ops.strings.as_string


def __getattr__(name: str) -> Any:
    if name == "complex":
        return _late.found("", name)
    raise uncovered("v1", "dtypes", name)
