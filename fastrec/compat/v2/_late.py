# SPDX-License-Identifier: Apache-2.0
"""Names that few programs use."""

from __future__ import annotations

from typing import Any

import fastrec

from .._tf.faces.late import Late
from .._tf.ops import Op
from .._tf.specs import RaggedTensorSpec
from .._tf.trace import run
from ._eager import EAGER
from ._ragged import RaggedTensor

__all__ = ["found"]


def _in_rows(specs: Any, _: Any) -> list[Any]:
    values, splits = specs
    count, sizes = splits.shape.num_elements(), values.shape.sizes
    shape = None if sizes is None else [None if count is None else count - 1, None, *sizes[1:]]
    return [RaggedTensorSpec(shape, values.dtype, getattr(values, "ragged_rank", 0) + 1)]


_ROWS = Op("RaggedFromRowSplits", fastrec.Ragged, _in_rows)
_LATE = Late(EAGER, RaggedTensor, lambda values, splits: run(_ROWS, [values, splits]))


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
