# SPDX-License-Identifier: Apache-2.0
"""Checksums, by size, for each implementation that this processor has; and reading alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fastrec import _core

SIZES = [64, 256, 1 << 10, 4 << 10, 64 << 10, 1 << 20, 16 << 20]


@pytest.mark.parametrize("name", _core.crc32c_implementations())
@pytest.mark.parametrize("size", SIZES)
def test_checksum(measure: Any, name: str, size: int) -> None:
    data = np.random.default_rng(1).bytes(size)
    measure(lambda: _core.crc32c_with(name, data), records=1, size=size)


@pytest.mark.parametrize("size", SIZES)
def test_ceiling_read(measure: Any, size: int) -> None:
    words = np.ones(size // 8, np.uint64)
    measure(lambda: np.bitwise_xor.reduce(words), records=1, size=size)
