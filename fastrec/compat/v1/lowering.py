# SPDX-License-Identifier: Apache-2.0
"""What a queue runner's thread calls again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["enqueuer"]


def enqueuer(sess: Any, op: Any) -> Callable[[], Any]:
    """A function that runs `op` once."""
    step: Callable[[], Any] = sess.make_callable(op)
    return step
