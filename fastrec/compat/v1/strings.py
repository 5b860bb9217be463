# SPDX-License-Identifier: Apache-2.0
"""``tf.strings``: strings cut, joined, and taken for numbers."""

from __future__ import annotations

from typing import Any

from .._tf.faces import functions_of as _functions_of
from . import _late
from . import string_ops as _string_ops

globals().update(_functions_of(_string_ops.strings))


def __getattr__(name: str) -> Any:
    return _late.found("strings", name)
