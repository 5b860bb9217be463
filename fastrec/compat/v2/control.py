# SPDX-License-Identifier: Apache-2.0
"""Choices among functions, and orders of operations, which run as they are called."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from .._tf.faces.choosing import Choosing
from .._tf.tracing.calls import Unfit
from .._tf.tracing.recording import Symbol
from ._eager import EAGER
from .functions import cond

__all__ = ["case", "control_dependencies", "group", "no_op", "switch_case"]


def control_dependencies(control_inputs: Any) -> contextlib.AbstractContextManager[None]:
    """Nothing to wait for: operations run in the order in which they are called."""
    return contextlib.nullcontext()


def no_op(name: str | None = None) -> None:
    """Nothing."""


def group(*inputs: Any, name: str | None = None) -> None:
    """Nothing: what is called has been done."""


def _numbered(number: Any, functions: Sequence[Callable[[], Any]]) -> Any:
    last = len(functions) - 1
    if isinstance(number, Symbol):
        from .._tf.tracing.choices import chosen  # which other functions do without

        places = {place: place for place in range(last)}
        with contextlib.suppress(Unfit):
            return chosen(number, functions, places, "branch_fns arguments to tf.switch_case")
    return next((functions[i] for i in range(last) if number == i), functions[-1])()


_choosing = Choosing(EAGER, cond, _numbered, control_dependencies)
case, switch_case = _choosing.case, _choosing.switch_case
