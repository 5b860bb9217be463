# SPDX-License-Identifier: Apache-2.0
"""Bounds of cost that hold on a machine of any speed and load."""

from __future__ import annotations

import time
from collections.abc import Callable

_NOISE_S = 0.1  # processor time that the first call may need for imports and memory


def processor_seconds(call: Callable[[], object]) -> float:
    """Return the processor time of one call, in which other processes do not count."""
    began = time.process_time()
    call()
    return time.process_time() - began


def check_proportion(call_of: Callable[[int], Callable[[], object]], size: int) -> None:
    """Check that eight times the work takes less than 24 times the processor time.

    Quadratic work takes 64 times as long.
    """
    small, large = call_of(size // 8), call_of(size)
    once = min(processor_seconds(small) for _ in range(3))
    assert processor_seconds(large) < 24 * once + _NOISE_S
