# SPDX-License-Identifier: Apache-2.0
"""Interface of handlers, which create an item from features."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any

from ..._composites import SparseTensor

__all__ = ["ItemHandler", "ItemHandlerCallback", "Tensors", "is_sparse"]

Tensors = Mapping[str, Any]


def is_sparse(value: Any) -> bool:
    """Return whether a value is a sparse tensor."""
    return isinstance(value, SparseTensor)


class ItemHandler(abc.ABC):
    """Handler that creates an item from some features.

    Parameters
    ----------
    keys : str or list of str
        The features.
    """

    def __init__(self, keys: Any) -> None:
        self._keys: list[str] = list(keys) if isinstance(keys, (list, tuple)) else [keys]

    @property
    def keys(self) -> list[str]:
        """The features that the handler needs."""
        return self._keys

    @abc.abstractmethod
    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        """Return the item for the given tensors of the features."""


class ItemHandlerCallback(ItemHandler):
    """Handler whose function creates the item from a dictionary of tensors by feature."""

    def __init__(self, keys: Any, func: Callable[[dict[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        return self._func(dict(keys_to_tensors))
