# SPDX-License-Identifier: Apache-2.0
"""Show the progress of a run as one line."""

from __future__ import annotations

import sys
import time
from typing import TextIO

__all__ = ["Progress"]


class Progress:
    """Rewrites a line of a terminal up to ten times per second; elsewhere prints occasional lines.

    Parameters
    ----------
    total : int or None
        Total number of batches, if known.
    """

    def __init__(self, total: int | None, file: TextIO | None = None) -> None:
        self._total = total
        self._file = sys.stderr if file is None else file
        self._every = 0.1 if self._file.isatty() else 10.0
        self._began = time.monotonic()
        self._due = self._began + self._every
        self._width = 0

    def update(self, done: int, waited_s: float, *, last: bool = False) -> None:
        """Show the number of delivered batches, and the seconds that the consumer has waited."""
        now = time.monotonic()
        if now < self._due and not last:
            return
        self._due = now + self._every
        seconds = max(now - self._began, 1e-9)
        of = "" if self._total is None else f" of {self._total} ({done / max(self._total, 1):.0%})"
        text = (
            f"batch {done}{of}, {done / seconds:.1f} a second, "
            f"waiting for data {min(waited_s / seconds, 1):.0%} of the time"
        )
        if self._file.isatty():
            end = "\n" if last else ""
            self._file.write("\r" + text.ljust(self._width) + end)
        else:
            self._file.write(text + "\n")
        self._width = len(text)
        self._file.flush()
