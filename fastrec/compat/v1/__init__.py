# SPDX-License-Identifier: Apache-2.0
"""TensorFlow 1's names for input pipelines, for use as ``import fastrec.compat.v1 as tf``."""

from __future__ import annotations

import importlib as _importlib
from typing import Any

from .._tf import names as _names
from .._tf import naming as _dotted
from .._tf.settings import VERSION_1 as __version__

__all__ = ["__version__"]

# The operators of tensors are defined when this module is imported.
_importlib.import_module(".array_ops", __name__)
_dotted.importable(__name__)


def __dir__() -> list[str]:
    return list(_names.names_of("v1")[""])


def __getattr__(name: str) -> Any:
    return globals().setdefault(name, _names.found("v1", "", name))
