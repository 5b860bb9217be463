# SPDX-License-Identifier: Apache-2.0
"""Names that few programs use."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .._tf.composite import RaggedTensor
from .._tf.faces.composites import IndexedSlices
from .._tf.faces.late import Late
from .._tf.uncovered import uncovered
from ._eager import EAGER

__all__ = ["Names", "found"]

_LATE = Late(EAGER, RaggedTensor)


def found(where: str, name: str) -> Any:
    """The function ``tf.where.name``.

    Raises
    ------
    AttributeError
        When there is none.
    """
    if not where and name in ("audio", "raw_ops"):
        return Names(name)
    if not where and name == "IndexedSlices":
        return IndexedSlices
    if not where and name == "as_string":
        from . import strings

        return strings.as_string
    function = _LATE.find(where, name)
    if function is None:
        raise uncovered("v2", where, name)
    return function


class Names(SimpleNamespace):
    """A name space, with the functions of it that few programs use.

    Parameters
    ----------
    where : str
    functions : keywords
        Those that are there from the beginning.
    """

    def __init__(self, where: str, **functions: Any) -> None:
        super().__init__(**functions)
        self._where = where

    def __getattr__(self, name: str) -> Any:
        return found(self._where, name)
