# SPDX-License-Identifier: Apache-2.0
"""Count the records of files."""

from __future__ import annotations

import argparse
import os

import fastrec
from fastrec.cli.files import expand
from fastrec.cli.report import Report, count_text, shown

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, a directory or a pattern")


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print a count a file and, for several, their total; 1 if some file could not be counted."""
    files, missing = expand(arguments.paths)
    total = 0
    failures = [f"{shown(error.filename)}: {error.strerror}" for error in missing]
    for path in files:
        try:
            records = fastrec.count(path)
        except OSError as error:
            failures.append(f"{shown(path)}: {error.strerror or error}")
        except fastrec.FastrecError as error:
            failures.append(shown(str(error)))
        else:
            total += records
            note = "" if records or os.path.getsize(path) else " (empty file)"
            report.line(f"{count_text(records):>15}  {shown(path)}{note}")
    if len(files) > 1:
        report.line(f"{count_text(total):>15}  total")
    for failure in failures:
        report.complain(f"error: {failure}")
    return 1 if failures else 0
