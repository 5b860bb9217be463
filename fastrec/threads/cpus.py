# SPDX-License-Identifier: Apache-2.0
"""Count the processors that this process may use."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["usable_cpus"]

_MEMBERSHIP = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")


def usable_cpus() -> int:
    """Return the number of processors that this process may use, at least 1.

    It is the smaller of two numbers: processors in the affinity mask of the process, and the CPU
    quota of its control group (the limit of a container), rounded up. The quota is read once.
    """
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        count = os.cpu_count() or 1
    return max(1, math.ceil(min(count, _quota())))


@functools.cache
def _quota() -> float:
    """Return the smallest CPU quota of the process's control groups, in processors."""
    return min(_quotas(), default=math.inf)


def _quotas() -> Iterator[float]:
    try:
        lines = _MEMBERSHIP.read_text().splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if controllers == "":  # version 2
            for folder in _ancestors(_GROUPS, group):
                yield _ratio(folder / "cpu.max")
        elif "cpu" in controllers.split(","):
            for root in dict.fromkeys((_GROUPS / controllers, _GROUPS / "cpu")):
                for folder in _ancestors(root, group):
                    yield _ratio(folder / "cpu.cfs_quota_us", folder / "cpu.cfs_period_us")


def _ancestors(root: Path, group: str) -> Iterator[Path]:
    """Yield the folders of a control group and of those that contain it.

    In a container the group may be named by its path on the host, which does not exist here; the
    container's own group is `root` then.
    """
    folder = Path(os.path.normpath(f"{root}/{group}"))
    while folder.is_relative_to(root):
        yield folder
        folder = folder.parent


def _ratio(*paths: Path) -> float:
    """Return the quota divided by the period, which one file or two hold; infinite without one."""
    try:
        quota, period = " ".join(path.read_text() for path in paths).split()
        return int(quota) / int(period) if int(quota) > 0 else math.inf
    except (OSError, ValueError, ZeroDivisionError):  # "max" is not a number
        return math.inf
