# SPDX-License-Identifier: Apache-2.0
"""Rewrite files in a random order of all records, also if they are larger than memory."""

from __future__ import annotations

import argparse
from typing import Final

from fastrec.cli import reshard

__all__ = ["add_arguments", "run"]

run: Final = reshard.run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec shuffle``."""
    reshard.add_arguments(parser, shuffle=True)
