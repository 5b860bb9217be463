# SPDX-License-Identifier: Apache-2.0
"""Names that few programs use, of graphs."""

from __future__ import annotations

from typing import Any

from .._tf.faces.late import Late
from . import _missing
from ._composites import RaggedTensor
from ._ops import GRAPHS

__all__ = ["found"]

_LATE = Late(GRAPHS, RaggedTensor, RaggedTensor)
#: What ``tf`` itself has, and where it is otherwise.
_AT_TOP = {
    "string_to_hash_bucket": ("strings", "to_hash_bucket"),
    "string_to_hash_bucket_strong": ("strings", "to_hash_bucket_strong"),
}


def _to_hash_bucket(
    string_tensor: Any = None, num_buckets: Any = None, name: str | None = None, input: Any = None
) -> Any:
    """The remainder of the hashes of strings, of a kind that is kept for old programs."""
    given = string_tensor if input is None else input
    return _LATE.find("strings", "to_hash_bucket")(given, num_buckets, name)


def found(where: str, name: str) -> Any:
    """The function ``tf.where.name``.

    Raises
    ------
    AttributeError
        When there is none.
    """
    place = (where, name) if where else _AT_TOP.get(name, ("", name))
    if place == ("strings", "to_hash_bucket"):
        return _to_hash_bucket
    function = _LATE.find(*place)
    if function is None:
        raise _missing.error(where, name)
    return function
