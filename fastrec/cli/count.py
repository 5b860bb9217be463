# SPDX-License-Identifier: Apache-2.0
"""Count the records of files."""

from __future__ import annotations

import argparse

import fastrec
from fastrec.cli.files import STDIN, expand, is_empty, reader_of
from fastrec.cli.grammar import add_json, add_paths, add_threads, status_of
from fastrec.cli.parallel import in_order
from fastrec.cli.report import Report, counted, explained, shown

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    add_json(parser)
    add_threads(parser)


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print a count a file and, for several, their total; headers are read, data is not checked.

    The first word of a line is a plain number. A file that cannot be counted has no line.
    """
    files, missing = expand(arguments.paths)
    status = total = failed = 0
    failures: list[Exception] = [*missing]
    with report.progress("counting files", len(files)) as advance:
        for path, records in in_order(_count, files, arguments.threads):
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


def _count(path: str) -> int:
    if path == STDIN:
        return sum(map(len, reader_of(path, verify=False).blocks(4096)))
    return fastrec.count(path)


def _print(path: str, records: int, json: bool, report: Report) -> None:
    name = "<stdin>" if path == STDIN else path
    if json:
        report.json({"path": name, "records": records})
        return
    empty = not records and path != STDIN and is_empty(path)
    report.line(f"{records}  {shown(name)}{' (empty file)' * empty}")
