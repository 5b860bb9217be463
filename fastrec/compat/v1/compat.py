# SPDX-License-Identifier: Apache-2.0
"""``tf.compat``: text and bytes under both Pythons."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from .._tf.texts import as_bytes as as_bytes
from .._tf.texts import as_str as as_str
from .._tf.texts import as_str_any as as_str_any
from .._tf.texts import as_text as as_text
from .._tf.texts import path_to_str as path_to_str
from .._tf.uncovered import uncovered

integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)


def __getattr__(name: str) -> Any:
    if name == "v1":
        import importlib

        return importlib.import_module("fastrec.compat.v1")
    raise uncovered("v1", "compat", name)
