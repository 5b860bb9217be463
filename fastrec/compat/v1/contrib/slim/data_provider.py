# SPDX-License-Identifier: Apache-2.0
"""Interface of providers of items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["DataProvider"]


class DataProvider:
    """Items by name; each run of a session returns items of a single record.

    Parameters
    ----------
    items_to_tensors : mapping of str to Tensor
    num_samples : int or None
        The number of records.
    """

    def __init__(self, items_to_tensors: Mapping[str, Any], num_samples: int | None) -> None:
        self._items_to_tensors = dict(items_to_tensors)
        self._num_samples = num_samples

    def get(self, items: Any) -> list[Any]:
        """Return the tensors of the given items."""
        if not isinstance(items, (list, tuple)):
            raise ValueError("items must be a list or tuple")
        valid = self.list_items()
        for item in items:
            if item not in valid:
                raise ValueError(f"Item [{item}] is invalid. Valid entries include: {valid}")
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> list[str]:
        """Return the names of the available items."""
        return list(self._items_to_tensors)

    def num_samples(self) -> int | None:
        """Return the number of records."""
        return self._num_samples
