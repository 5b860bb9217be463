# SPDX-License-Identifier: Apache-2.0
"""``tf.app``: a program's command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from .._tf.uncovered import uncovered
from . import flags as flags


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """Call `main`, or the program's own, with the arguments that are not flags."""
    given = list(sys.argv if argv is None else argv)
    rest = flags.FLAGS(given)
    function: Any = main or sys.modules["__main__"].main
    sys.exit(function(rest))


def __getattr__(name: str) -> Any:
    raise uncovered("v1", "app", name)
