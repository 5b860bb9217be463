# SPDX-License-Identifier: Apache-2.0
"""Rarely used names, imported on use."""

from __future__ import annotations

import functools
import sys
from typing import Any

from .._tf.composite import RaggedTensor
from .._tf.distribute import Distribute
from .._tf.faces.late import Late, Names
from .._tf.faces.sparse import IndexedSlices
from .._tf.naming import renamed
from .._tf.uncovered import uncovered
from ._eager import EAGER

__all__ = ["found"]

_LATE = Late(EAGER, RaggedTensor)
_CHECKS = ("Assert", "assert_equal", "assert_greater", "assert_less", "assert_rank", "ensure_shape")


@functools.cache
def _keras() -> Names:
    from .._tf.keras import keras_of

    return keras_of(sys.modules[__package__], found)


def found(where: str, name: str) -> Any:
    """Return the function ``tf.where.name``.

    Raises
    ------
    AttributeError
        If there is no such function.
    """
    if not where and name in ("audio", "debugging", "raw_ops", "signal"):
        return Names(found, name)
    if not where and name == "keras":
        return _keras()
    if not where and name == "distribute":
        return Distribute("v2")
    if not where and name == "IndexedSlices":
        return IndexedSlices
    if not where and name == "as_string":
        from . import strings

        return strings.as_string
    function = _LATE.find("debugging" if not where and name in _CHECKS else where, name)
    if function is None:
        raise uncovered("v2", where, name)
    return renamed(function, name)
