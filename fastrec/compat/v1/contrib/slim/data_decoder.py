# SPDX-License-Identifier: Apache-2.0
"""Interface of decoders, which extract items from a record."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

__all__ = ["DataDecoder"]


class DataDecoder(abc.ABC):
    """Decoder of a serialized record into tensors."""

    @abc.abstractmethod
    def decode(self, data: Any, items: Sequence[str] | None = None) -> list[Any]:
        """Return the tensors of the given items in order, or of all items by default."""

    @abc.abstractmethod
    def list_items(self) -> list[str]:
        """Return the names of the available items."""
