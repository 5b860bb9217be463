# SPDX-License-Identifier: Apache-2.0
"""The parts of ``tf.contrib`` that read data."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ..._tf.naming import uncovered

if TYPE_CHECKING:
    from . import data as data
    from . import framework as framework
    from . import learn as learn
    from . import slim as slim
    from . import training as training


def __getattr__(name: str) -> Any:
    if name in ("data", "framework", "learn", "slim", "training"):
        return importlib.import_module(f".{name}", __name__)
    if name == "lookup":
        return importlib.import_module("fastrec.compat.v1").lookup
    raise uncovered("v1", "contrib", name)
