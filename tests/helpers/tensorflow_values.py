# SPDX-License-Identifier: Apache-2.0
"""Comparison of tensors with each other and with columns of fastrec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Return a batch as nested lists, of TensorFlow, of fastrec or of fastrec.compat."""
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return tuple(plain(each) for each in value)
    if hasattr(value, "dense_shape"):
        shape = np.asarray(value.dense_shape).tolist()
        return (np.asarray(value.indices).tolist(), plain(value.values), shape)
    if hasattr(value, "to_list"):
        return value.to_list()
    if hasattr(value, "numpy"):
        value = value.numpy()
    return np.asarray(value).tolist()
