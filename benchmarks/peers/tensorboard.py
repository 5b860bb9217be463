# SPDX-License-Identifier: Apache-2.0
"""TensorBoard's own reader of its event files."""

from __future__ import annotations

import importlib.metadata
import os

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from .. import digest
from ..worker import Start, Task, Trial
from .converted import event_rows

__all__ = ["JOBS", "versions"]


def versions() -> dict[str, str]:
    return {"tensorboard": importlib.metadata.version("tensorboard")}


def _scalars(task: Task) -> Trial:
    path = task.out + ".tfevents"  # by its name it knows a file of events
    if not os.path.exists(path):
        os.symlink(os.path.abspath(task.path), path)

    def once() -> EventAccumulator:
        events = EventAccumulator(path, size_guidance={"scalars": 0})
        events.Reload()
        return events

    def digested() -> dict[str, int]:
        events = once()
        found = [
            (tag, each.wall_time, each.step, each.value)
            for tag in events.Tags()["scalars"]
            for each in events.Scalars(tag)
        ]
        return digest.of_records(event_rows(*zip(*found, strict=True)))

    return Trial(once, digested)


JOBS: dict[str, dict[str, Start]] = {"events": {"": _scalars}}
