# SPDX-License-Identifier: Apache-2.0
"""Describe the machine and the load of other programs."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass

__all__ = ["Watch", "cpu_name", "memory_text"]


def cpu_name() -> str:
    """Return the processor's model, with its family and stepping where Linux reports them."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            fields = [line.partition(":") for line in file]
    except OSError:
        return platform.processor() or platform.machine()
    values = {key.strip(): value.strip() for key, _, value in reversed(fields)}
    numbers = [values[key] for key in ("cpu family", "model", "stepping") if key in values]
    name = values.get("model name", platform.machine())
    return f"{name} (family {'/'.join(numbers)})" if numbers else name


def memory_text() -> str:
    """Return the size of the memory as text; empty if it is unknown."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return ""
    return f"{size / 1e9:.0f} GB"


def system_text() -> str:
    """Return the names and versions of the operating system and of Python."""
    return f"{platform.system()} {platform.release()}, Python {sys.version.split()[0]}"


def _busy_seconds() -> float | None:
    """Return the CPU time used by all programs since the machine started, including stolen time."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            numbers = [int(word) for word in file.readline().split()[1:]]
    except (OSError, ValueError):
        return None
    user, nice, system, _idle, _iowait, irq, softirq, steal = numbers[:8]
    ticks = user + nice + system + irq + softirq + steal
    return ticks / os.sysconf("SC_CLK_TCK")


@dataclass
class Watch:
    """Measures how many processors other programs have used since its creation."""

    began: float
    busy: float | None

    @staticmethod
    def start() -> Watch:
        """Start to measure."""
        return Watch(os.times().elapsed, _busy_seconds())

    def others(self, own_seconds: float) -> float | None:
        """Return the number of processors that others use; None if the system does not report it.

        `own_seconds` is the CPU time that this run has used.
        """
        busy, elapsed = _busy_seconds(), os.times().elapsed - self.began
        if busy is None or self.busy is None or elapsed <= 0:
            return None
        return max(busy - self.busy - own_seconds, 0.0) / elapsed
