# SPDX-License-Identifier: Apache-2.0
"""Save the sound records of a damaged file to a new one."""

from __future__ import annotations

import argparse

import fastrec
from fastrec.cli.report import Report, bytes_text, count_text, shown

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="the damaged file, which is kept")
    parser.add_argument(
        "--output",
        metavar="PATH",
        help="the new file (default: PATH with .repaired before its suffix)",
    )
    parser.add_argument(
        "--in-place",
        action="store_true",
        help="give the new file the name of the damaged one, which becomes PATH.damaged",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing output")


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print what was lost and what was saved; 0 if there was nothing to repair, 1 if there was."""
    try:
        done = fastrec.repair(
            arguments.path,
            arguments.output,
            in_place=arguments.in_place,
            overwrite=arguments.overwrite,
        )
    except ValueError as error:
        if isinstance(error, fastrec.FastrecError):
            raise
        report.complain(f"error: {shown(str(error))}")
        return 2
    for lost in done.skipped:
        size = "the rest" if lost.size is None else f"{count_text(lost.size)} bytes"
        report.line(f"lost     {size} at offset {lost.begin}: {shown(lost.reason)}", style="red")
    saved = f"{count_text(done.records)} records, {bytes_text(done.bytes)} of data"
    report.line(f"saved    {shown(done.path)}: {saved}")
    return 1 if done.skipped else 0
