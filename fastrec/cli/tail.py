# SPDX-License-Identifier: Apache-2.0
"""Print the last records as lines of JSON."""

from __future__ import annotations

import argparse

from fastrec.cli import cat
from fastrec.cli.report import Report
from fastrec.cli.select import Selector

__all__ = ["add_arguments", "run"]

_LIMIT = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec tail``."""
    cat.add_arguments(parser, _LIMIT)


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print one line per record; return 1 if there is damage."""
    selector = Selector.of(arguments, report)
    if selector.limit is None:  # --records selects the records
        selector.limit = _LIMIT
    selector.last = selector.sample is None
    return cat.print_records(selector, arguments, report)
