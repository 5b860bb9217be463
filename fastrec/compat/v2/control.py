# SPDX-License-Identifier: Apache-2.0
"""Choices among functions and the order of operations; all run when they are called."""

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
    """Return a context without effect, because operations run in the order of their calls."""
    return contextlib.nullcontext()


def no_op(name: str | None = None) -> None:
    """Do nothing."""


def group(*inputs: Any, name: str | None = None) -> None:
    """Do nothing, because the inputs have already run."""


def _numbered(number: Any, functions: Sequence[Callable[[], Any]]) -> Any:
    last = len(functions) - 1
    if isinstance(number, Symbol):
        from .._tf.tracing.choices import chosen  # imported only by functions that need it

        places = {place: place for place in range(last)}
        with contextlib.suppress(Unfit):
            return chosen(number, functions, places, "branch_fns arguments to tf.switch_case")
    return next((functions[i] for i in range(last) if number == i), functions[-1])()


_choosing = Choosing(EAGER, cond, _numbered, control_dependencies)
case, switch_case = _choosing.case, _choosing.switch_case
