# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's logger and version; devices and scopes, which are accepted and ignored."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging

__all__ = ["device", "get_logger", "jit_scope", "name_scope"]

VERSION = "2.21.0"  # the version whose names and results version 2 follows
GIT_VERSION = COMPILER_VERSION = ""


def device(device_name: Any) -> contextlib.AbstractContextManager[None]:
    """Return a context without effect, because operations run where their data is."""
    return contextlib.nullcontext()


def name_scope(name: str) -> contextlib.AbstractContextManager[str]:
    """Return a context whose value is the prefix that names of operations would have."""
    return contextlib.nullcontext(name if not name or name.endswith("/") else f"{name}/")


def get_logger() -> logging.Logger:
    """Return the logger named ``tensorflow``, to which this package writes nothing."""
    import logging  # importing logging takes as long as many of these modules

    return logging.getLogger("tensorflow")


def jit_scope(
    compile_ops: Any = True, separate_compiled_gradients: bool = False
) -> contextlib.AbstractContextManager[None]:
    """Return a context without effect, because nothing is compiled."""
    return contextlib.nullcontext()
