# SPDX-License-Identifier: Apache-2.0
"""Indexes for the loaders."""

from __future__ import annotations

from typing import Any

__all__ = ["create_index", "tfrecord2idx"]


def __getattr__(name: str) -> Any:  # the module can also be run as a program
    if name in __all__:
        import importlib

        module = importlib.import_module(".tfrecord2idx", __name__)
        return module if name == "tfrecord2idx" else module.create_index
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
