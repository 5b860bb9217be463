# SPDX-License-Identifier: Apache-2.0
"""Check every length and checksum of files."""

from __future__ import annotations

import argparse
import os

import fastrec
from fastrec.cli.files import expand
from fastrec.cli.report import Report, bytes_text, counted, shown
from fastrec.records.manifest import Manifest, check_shards

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, a directory or a pattern")
    parser.add_argument("--manifest", metavar="FILE", help="check the files against this manifest")
    parser.add_argument(
        "--write-manifest",
        metavar="FILE",
        help="if all files are intact, write their names, sizes, counts and checksums there",
    )


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print a line a file and a total; 1 if a file is damaged, 2 if one could not be read."""
    files, missing = expand(arguments.paths)
    records = size = damaged = 0
    incomplete = False
    unreadable = [f"{shown(error.filename)}: {error.strerror}" for error in missing]
    expected = None
    try:
        if arguments.manifest:
            expected = Manifest.load(arguments.manifest)
            expected.check_names(files)
        elif len(files) > 1:
            check_shards(files)
    except OSError as error:
        unreadable.append(f"{shown(arguments.manifest)}: {error.strerror or error}")
    except fastrec.FastrecError as error:
        report.complain(f"error: {error}")
        incomplete = True
    for path in files:
        try:
            found = fastrec.verify(path)
            if expected is not None and os.path.basename(path) in expected.names:
                expected.check_file(path, path, found.records)
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
        if not found.records and os.path.getsize(path) == 0:
            summary += " (empty file)"
        report.line(f"ok       {shown(path)}: {summary}")
    for failure in unreadable:
        report.complain(f"error: {failure}")
    if len(files) > 1:
        sound = f"{counted(records, 'record')}, {bytes_text(size)} of data"
        report.line(f"total    {len(files)} files, {damaged} damaged; sound: {sound}")
    if damaged:
        report.complain(f"error: {damaged} of {counted(len(files), 'file')} damaged")
    if unreadable or damaged or incomplete:
        return 2 if unreadable else 1
    if arguments.write_manifest:
        Manifest.build(files).save(arguments.write_manifest)
    return 0


def damage_text(path: str, error: fastrec.FastrecError) -> str:
    """Describe damage in one line: file, record, offset, kind and numbers."""
    message, kind = str(error), getattr(error, "kind", "")
    if error.record is None or not kind:
        return f"{shown(path)}: {shown(message)}"
    detail = message.rpartition(f"(record {error.record}): ")[2]
    return f"{shown(path)}: record {error.record} at offset {error.offset}: {kind}: {shown(detail)}"
