# SPDX-License-Identifier: Apache-2.0
"""Names that few programs use."""

from __future__ import annotations

from typing import Any

from .._tf.composite import RaggedTensor
from .._tf.faces.late import Late
from ._eager import EAGER

__all__ = ["found"]


_LATE = Late(
    EAGER,
    RaggedTensor,
    lambda values, splits: RaggedTensor.from_row_splits(values, splits, validate=False),
)


def found(where: str, name: str) -> Any:
    """The function ``tf.where.name``.

    Raises
    ------
    AttributeError
        When there is none.
    """
    function = _LATE.find(where, name)
    if function is None:
        place = f"fastrec.compat.v2.{where}" if where else "fastrec.compat.v2"
        raise AttributeError(f"{place} has no {name!r}; docs/compat-v2.md says what is covered")
    return function
