# SPDX-License-Identifier: Apache-2.0
"""Handle standard streams that are closed, or whose reader has exited."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

__all__ = [
    "flush_stdout",
    "naming_stdout",
    "silence_stdout",
    "standard_streams",
    "write_stdout",
]

# A closed stream is replaced by one opened in the wrong direction, so that using it is an error.
# Messages to a closed standard error are dropped.
_STREAMS = (
    ("stdin", "r", os.O_WRONLY),
    ("stdout", "w", os.O_RDONLY),
    ("stderr", "w", os.O_WRONLY),
)


@contextlib.contextmanager
def standard_streams() -> Iterator[None]:
    """Replace the standard streams that were closed when the program started.

    Otherwise a file that the program opens would get their descriptors.
    """
    closed = [name for name, _, _ in _STREAMS if getattr(sys, name) is None]
    for number, (name, mode, flags) in enumerate(_STREAMS):
        if name in closed:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))
    try:
        yield
    finally:
        if "stdout" in closed:
            silence_stdout()


def silence_stdout() -> None:
    """Keep the interpreter's last flush of standard output from failing."""
    with contextlib.suppress(OSError, ValueError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
        os.close(devnull)


@contextlib.contextmanager
def naming_stdout() -> Iterator[None]:
    """Name standard output in the errors of the calls that write to it."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = "standard output"
        raise


def write_stdout(data: Any) -> None:
    """Write bytes to standard output."""
    with naming_stdout():
        sys.stdout.buffer.write(data)


def flush_stdout() -> None:
    """Flush standard output."""
    with naming_stdout():
        sys.stdout.flush()
