# SPDX-License-Identifier: Apache-2.0
"""Support import statements for attributes: ``import fastrec.compat.v2.io.gfile as gfile``.

TensorFlow has a module for each such name; here most are attributes. A module file that may have
such attributes has an empty ``__path__``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["importable"]


class _Loader:
    """Returns an existing object as the imported module."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return None for the default module, which is replaced immediately."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = self._found


class _Finder:
    """Finds attributes of some packages, at any depth."""

    packages: tuple[str, ...] = ()

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        parent, _, last = name.rpartition(".")
        if last.startswith("_") or not f"{parent}.".startswith(cls.packages):
            return None
        try:
            found = getattr(sys.modules[parent], last)
        except AttributeError as error:
            # The error states the alternative. It has no name, because `from package import name`
            # would drop it.
            raise ModuleNotFoundError(str(error)) from None
        loader: Any = _Loader(found)  # importing importlib.abc is slow
        return None if callable(found) else ModuleSpec(name, loader, is_package=True)


def importable(package: str) -> None:
    """Allow import statements for the attributes of a package and its modules."""
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)
    _Finder.packages = (*_Finder.packages, f"{package}.")
