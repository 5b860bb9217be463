# SPDX-License-Identifier: Apache-2.0
"""``tf.contrib.framework``: nested structures, and names that later moved to ``tf``."""

from __future__ import annotations

import sys
from typing import Any

from ..._tf import nest as nest
from ..._tf.naming import uncovered
from ..._tf.specs import TensorSpec as TensorSpec


def __getattr__(name: str) -> Any:
    if name in ("argsort", "sort"):
        return getattr(sys.modules[__name__.partition(".contrib")[0]], name)
    raise uncovered("v1", "contrib.framework", name)
