# SPDX-License-Identifier: Apache-2.0
"""Allocate page-locked memory, so that an accelerator can copy from it directly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..errors import warn_caller

__all__: list[str] = []


def page_locked(size: int, count: int) -> Iterator[NDArray[np.uint8]]:
    """Yield blocks of torch's page-locked memory; none, with a warning, without an accelerator.

    Raises
    ------
    ImportError
        If torch is not installed.
    """
    try:
        import torch
    except ImportError as error:
        message = "pin_memory=True requires torch: pip install torch"
        raise ImportError(message, name=error.name) from error
    if not torch.cuda.is_available():
        message = "pin_memory=True: torch finds no accelerator; batches are in unpinned memory"
        warn_caller(message)
        return
    for _ in range(count):
        yield torch.empty(size, dtype=torch.uint8, pin_memory=True).numpy()
