# SPDX-License-Identifier: Apache-2.0
"""``tf.contrib``: of it, what reads data."""

from __future__ import annotations

from typing import Any

from .. import _missing
from .. import lookup as lookup
from . import data as data
from . import slim as slim


def __getattr__(name: str) -> Any:
    raise _missing.error("contrib", name)
