# SPDX-License-Identifier: Apache-2.0
"""Save the sound records of damaged files to new ones."""

from __future__ import annotations

import argparse
import os
import tempfile
from typing import Any

import fastrec
from fastrec.cli.files import STDIN, expand, name_of, print_file, size_of, spooled
from fastrec.cli.grammar import FINDING, USAGE, add_json, add_paths, status_of
from fastrec.cli.report import Failure, Report, bytes_text, counted, damage_text, explained, shown
from fastrec.records.content import LINE_ENDS
from fastrec.records.output_rules import exists_error

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec repair``."""
    add_paths(parser, alone=True)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the new file, or - for standard output, to which sound files are copied "
        "(default: the name with .repaired before its suffix)",
    )
    parser.add_argument(
        "--in-place",
        action="store_true",
        help="give the new file the name of the damaged one, which is kept as FILE.damaged",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing output")
    add_json(parser)


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print what was lost and saved; return 0 if every file is intact or has an intact copy.

    Nothing is written for an intact file, and for a file without any valid record.
    """
    files, missing = expand(arguments.paths, any_shards=True)
    if arguments.output and (arguments.in_place or len(files) + len(missing) > 1):
        other = "--in-place" if arguments.in_place else "several files"
        raise Failure(f"--output and {other} are mutually exclusive", USAGE)
    if STDIN in files and not arguments.output:
        raise Failure("standard input requires --output", USAGE)
    failures: list[Exception] = [*missing]
    for path in files:
        try:
            with spooled([path]) as [source]:
                if arguments.output == STDIN:
                    _to_stdout(path, source, report)
                else:
                    _repair(path, source, arguments, report)
        except ValueError as error:
            if isinstance(error, fastrec.FastrecError):
                failures.append(error)
            else:
                failures.append(Failure(str(error), USAGE))
        except (fastrec.FastrecError, OSError, Failure) as error:
            failures.append(error)
    for failure in failures:
        report.complain(f"error: {explained(failure)}")
    return max(map(status_of, failures), default=0)


def _to_stdout(path: str, source: str, report: Report) -> None:
    """Write the sound records of a file to standard output, and its damage to standard error."""
    with tempfile.TemporaryDirectory(prefix="fastrec-") as folder:
        done = fastrec.repair(source, os.path.join(folder, "output"))
        for lost in done.skipped:
            report.complain(f"damage: {shown(name_of(path))}: {damage_text(lost)}")
        print_file(done.path)  # a sound file itself, which is not rewritten


def _repair(path: str, source: str, arguments: argparse.Namespace, report: Report) -> None:
    """Write the sound records of a file, whose content is in `source`, to a new one."""
    before = 0

    def step(_: str, position: int) -> None:
        nonlocal before
        advance(position - before)
        before = position

    if arguments.output and os.path.exists(arguments.output):
        if os.path.samefile(source, arguments.output):
            raise Failure("the output is the damaged file; --in-place keeps a copy of it", USAGE)
        if not arguments.overwrite:
            raise exists_error(arguments.output)
    with report.progress("reading, bytes", size_of([source])) as advance:
        [found] = fastrec.verify(source, on_error="skip", progress=step).reports
    if not found.skipped:
        if arguments.json:
            _json(path, path, found.records, found.bytes, (), report)
        else:
            report.line(f"sound    {shown(path)}: {counted(found.records, 'record')}; not copied")
        return
    if found.content and found.content != LINE_ENDS:
        raise Failure(shown(found.skipped[0].reason), FINDING)
    if not found.records and not found.content:
        raise Failure(f"{shown(path)}: {damage_text(found.skipped[0])}; no record to save", FINDING)
    done = fastrec.repair(
        source, arguments.output, in_place=arguments.in_place, overwrite=arguments.overwrite
    )
    if arguments.json:
        _json(path, done.path, done.records, done.bytes, done.skipped, report)
        return
    if found.content:
        report.line(f"restored {shown(path)}: every CR LF became LF again")
    for lost in done.skipped:
        size = "the rest" if lost.size is None else counted(lost.size, "byte")
        report.line(f"lost     {size}: {damage_text(lost)}", style="red")
    saved = f"{counted(done.records, 'record')}, {bytes_text(done.bytes)} of data"
    report.line(f"saved    {shown(done.path)}: {saved}")
    if arguments.in_place:
        report.line(f"kept     {shown(done.original)}")


def _json(path: str, output: str, records: int, size: int, skipped: Any, report: Report) -> None:
    lost = [
        {"record": each.record, "offset": each.begin, "size": each.size, "reason": each.reason}
        for each in skipped
    ]
    report.json({"path": path, "output": output, "records": records, "bytes": size, "lost": lost})
