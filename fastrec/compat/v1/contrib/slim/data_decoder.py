# SPDX-License-Identifier: Apache-2.0
"""Interface of decoders, which make items of a record."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

__all__ = ["DataDecoder"]


class DataDecoder(abc.ABC):
    """Makes tensors of a serialized record."""

    @abc.abstractmethod
    def decode(self, data: Any, items: Sequence[str] | None = None) -> list[Any]:
        """The tensors of some items, in their order; of all, unless some are named."""

    @abc.abstractmethod
    def list_items(self) -> list[str]:
        """The names of the items that there are."""
