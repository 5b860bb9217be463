# SPDX-License-Identifier: Apache-2.0
"""Functions that few programs use, by name space: their modules are loaded when one is wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import Version

__all__ = ["Late"]

#: By name space: the names of functions, which are methods of :func:`_made`'s objects.
NAMES: dict[str, frozenset[str]] = {
    "strings": frozenset(
        {
            "bytes_split",
            "ngrams",
            "to_hash_bucket",
            "to_hash_bucket_strong",
            "unicode_decode",
            "unicode_decode_with_offsets",
            "unicode_encode",
            "unicode_split",
            "unicode_split_with_offsets",
            "unicode_transcode",
            "unsorted_segment_join",
        }
    ),
}


class Late:
    """The functions, for one of the versions.

    Parameters
    ----------
    version : Version
    ragged : type
        Of ragged tensors.
    row : callable
        Of values and row splits; gives the ragged tensor of them.
    """

    def __init__(self, version: Version, ragged: Any, row: Callable[[Any, Any], Any]) -> None:
        self._version, self._ragged, self._row = version, ragged, row
        self._topics: dict[str, Any] = {}

    def find(self, where: str, name: str) -> Any:
        """The function ``tf.where.name``; None where there is none."""
        if name not in NAMES.get(where, ()):
            return None
        if where not in self._topics:
            self._topics[where] = self._made(where)
        return getattr(self._topics[where], name)

    def _made(self, where: str) -> Any:
        from .characters import Characters

        return Characters(self._version, self._ragged, self._row)
