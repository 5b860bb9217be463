# SPDX-License-Identifier: Apache-2.0
"""Count the records of files."""

from __future__ import annotations

import argparse

import fastrec
from fastrec.cli.files import STDIN, expand, is_empty, name_of, standard_input
from fastrec.cli.grammar import add_json, add_paths, add_threads, status_of
from fastrec.cli.parallel import Check, in_order
from fastrec.cli.report import Report, counted, explained, shown
from fastrec.records.record_files import RecordFiles

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec count``."""
    add_paths(parser)
    add_json(parser)
    add_threads(parser)


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print one count per file and, for several files, a total. Only headers are read.

    The first word of a line is a plain number. Files that cannot be counted are left out.
    """
    files, missing = expand(arguments.paths, any_shards=arguments.any_shards)
    status = total = failed = 0
    failures: list[Exception] = [*missing]
    with report.progress("counting files", len(files)) as advance:
        for path, records in in_order(_count, files, arguments.threads, here=_is_here):
            advance(1)
            if isinstance(records, Exception):
                failures.append(records)
                failed += 1
                continue
            total += records
            _print(path, records, arguments.json, report)
    if len(files) > 1 and not arguments.json:
        note = f" (without {counted(failed, 'file')} that could not be counted)" if failed else ""
        report.line(f"{total}  total{note}")
    for error in failures:
        report.complain(f"error: {explained(error)}")
        status = max(status, status_of(error))
    return status


def _is_here(path: str) -> bool:
    """Return whether this thread counts a file; threads of the core count several plain files."""
    try:
        return path == STDIN or not RecordFiles(path).sequential
    except OSError:
        return True


def _count(path: str, check: Check) -> int:
    if path != STDIN and _is_here(path):
        return fastrec.count(path)
    files = RecordFiles(standard_input() if path == STDIN else path, verify=False)
    return sum(part.walk(lambda _: check())[0] for part in files.readers())


def _print(path: str, records: int, json: bool, report: Report) -> None:
    name = name_of(path)
    if json:
        report.json({"path": name, "records": records})
        return
    empty = not records and path != STDIN and is_empty(path)
    report.line(f"{records}  {shown(name)}{' (empty file)' * empty}")
