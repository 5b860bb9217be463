# SPDX-License-Identifier: Apache-2.0
"""Check every length and checksum of files."""

from __future__ import annotations

import argparse

import fastrec
from fastrec.cli.files import expand
from fastrec.cli.report import Report, bytes_text, counted, shown

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, a directory or a pattern")


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print a line a file and a total; 1 if a file is damaged, 2 if one could not be read."""
    files, missing = expand(arguments.paths)
    records = size = damaged = 0
    unreadable = [f"{shown(error.filename)}: {error.strerror}" for error in missing]
    for path in files:
        try:
            found = fastrec.verify(path)
        except OSError as error:
            unreadable.append(f"{shown(path)}: {error.strerror or error}")
            continue
        except fastrec.FastrecError as error:
            damaged += 1
            report.line(f"DAMAGED  {damage_text(path, error)}", style="red")
            continue
        records += found.records
        size += found.bytes
        summary = f"{counted(found.records, 'record')}, {bytes_text(found.bytes)} of data"
        report.line(f"ok       {shown(path)}: {summary}")
    for failure in unreadable:
        report.complain(f"error: {failure}")
    if len(files) > 1:
        sound = f"{counted(records, 'record')}, {bytes_text(size)} of data"
        report.line(f"total    {len(files)} files, {damaged} damaged; sound: {sound}")
    if damaged:
        report.complain(f"error: {damaged} of {counted(len(files), 'file')} damaged")
    return 2 if unreadable else 1 if damaged else 0


def damage_text(path: str, error: fastrec.FastrecError) -> str:
    """Where the damage is, of which kind, and the numbers: one line."""
    message, kind = str(error), getattr(error, "kind", "")
    if error.record is None or not kind:
        return f"{shown(path)}: {shown(message)}"
    detail = message.rpartition(f"(record {error.record}): ")[2]
    return f"{shown(path)}: record {error.record} at offset {error.offset}: {kind}: {shown(detail)}"
