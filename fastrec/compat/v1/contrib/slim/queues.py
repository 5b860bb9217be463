# SPDX-License-Identifier: Apache-2.0
"""A context in which queue runners run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..._graph import GraphKeys
from ...runners import Coordinator, start_queue_runners

__all__ = ["QueueRunners"]


@contextlib.contextmanager
def QueueRunners(session: Any) -> Iterator[None]:
    """Run all queue runners of the session's graph within the block."""
    coord = Coordinator()
    started = session.graph.get_collection(GraphKeys.QUEUE_RUNNERS)
    threads = start_queue_runners(session, coord) if started else []
    try:
        yield
    finally:
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=120)
