# SPDX-License-Identifier: Apache-2.0
"""Import statements with names that are no files: ``import fastrec.compat.v2.io.gfile as gfile``.

TensorFlow has a module for each; here most are attributes. What may have some below it, and is a
file, has an empty ``__path__``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["importable"]


class _Loader:
    """Gives what is there already."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """By default, a module that is replaced at once."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = self._found


class _Finder:
    """Finds attributes of some packages, and of what they have."""

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
            # Says what to use. Without its name, or `from package import name` would leave it out.
            raise ModuleNotFoundError(str(error)) from None
        loader: Any = _Loader(found)  # importlib.abc takes long to import
        return None if callable(found) else ModuleSpec(name, loader, is_package=True)


def importable(package: str) -> None:
    """Let import statements find what a package and its modules have as attributes."""
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)
    _Finder.packages = (*_Finder.packages, f"{package}.")
