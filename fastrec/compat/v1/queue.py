# SPDX-License-Identifier: Apache-2.0
"""``tf.queue``: queues."""

from __future__ import annotations

from typing import Any

from .._tf.uncovered import uncovered
from .queue_base import QueueBase as QueueBase
from .queues import FIFOQueue as FIFOQueue
from .queues import PaddingFIFOQueue as PaddingFIFOQueue
from .queues import PriorityQueue as PriorityQueue
from .queues import RandomShuffleQueue as RandomShuffleQueue


def __getattr__(name: str) -> Any:
    raise uncovered("v1", "queue", name)
