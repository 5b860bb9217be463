# SPDX-License-Identifier: Apache-2.0
"""Print the first records as lines of JSON."""

from __future__ import annotations

import argparse
from typing import Final

from fastrec.cli import cat

__all__ = ["add_arguments", "run"]

_LIMIT = 10

run: Final = cat.run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec head``."""
    cat.add_arguments(parser, _LIMIT)
