# SPDX-License-Identifier: Apache-2.0
"""Check every length and checksum of files."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable

import fastrec
from fastrec.cli.files import (
    STDIN,
    check_output,
    expand,
    is_empty,
    name_of,
    size_of,
    standard_input,
)
from fastrec.cli.grammar import (
    FINDING,
    USAGE,
    add_json,
    add_overwrite,
    add_paths,
    add_threads,
    status_of,
)
from fastrec.cli.parallel import Check, in_order
from fastrec.cli.report import Failure, Report, bytes_text, counted, damage_text, explained, shown
from fastrec.records.content import LINE_ENDS
from fastrec.records.manifest import Manifest, ManifestFile
from fastrec.records.record_files import RecordFiles
from fastrec.records.recovery import Skipped
from fastrec.records.verify import FileReport, examined

__all__ = ["add_arguments", "run"]

_MOST_LINES = 20  # damaged places of a file that are named; the others are counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec verify``."""
    add_paths(parser)
    parser.add_argument("--manifest", metavar="FILE", help="check the files against this manifest")
    parser.add_argument(
        "--write-manifest",
        metavar="FILE",
        help="if all files are intact, write their names, sizes, counts and checksums there",
    )
    add_overwrite(parser)
    add_json(parser)
    add_threads(parser)


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print one line per file and per damaged region, and a total; return 1 if there is damage."""
    files, missing = expand(
        arguments.paths, any_shards=arguments.any_shards or bool(arguments.manifest)
    )
    if STDIN in files and (arguments.manifest or arguments.write_manifest):
        raise Failure("a manifest and standard input are mutually exclusive", USAGE)
    if arguments.write_manifest:
        check_output(arguments.write_manifest, arguments.overwrite, [*files, arguments.manifest])
    failures: list[Exception] = [*missing]
    expected = Manifest.load(arguments.manifest) if arguments.manifest else None
    records = size = damaged = foreign = 0
    entries: list[ManifestFile] = []
    try:
        if expected is not None:
            expected.check_names(files)
    except fastrec.FastrecError as error:
        failures.append(error)

    with report.progress("verifying, bytes", size_of(files)) as advance:
        check = _checker(expected, advance, bool(expected or arguments.write_manifest))
        for path, result in in_order(
            check, files, arguments.threads, here=lambda path: path == STDIN
        ):
            if isinstance(result, OSError):
                failures.append(result)
                continue
            # The file differs from its manifest, or cannot be read.
            if isinstance(result, Exception):
                found = FileReport(path, 0, 0, (_whole(path, result),))
            else:
                found, entry = result
                entries += [] if entry is None else [entry]
            is_foreign = found.content not in ("", LINE_ENDS)
            foreign += is_foreign
            damaged += bool(found.skipped) and not is_foreign
            records += found.records
            size += found.bytes
            _print(path, found, arguments.json, report)
    for failure in failures:
        report.complain(f"error: {explained(failure)}")
    if len(files) > 1 and not arguments.json:
        sound = f"{counted(records, 'record')}, {bytes_text(size)} of data"
        others = f", {foreign} not readable as TFRecord" if foreign else ""
        report.line(f"total    {len(files)} files, {damaged} damaged{others}; sound: {sound}")
    if foreign:
        files_text = counted(len(files), "file")
        report.complain(f"error: {foreign} of {files_text} cannot be read as TFRecord")
    if damaged:
        report.complain(f"error: {damaged} of {counted(len(files), 'file')} damaged")
    status = max(map(status_of, failures), default=FINDING if damaged or foreign else 0)
    if arguments.write_manifest and not status:
        Manifest(entries).save(arguments.write_manifest, overwrite=arguments.overwrite)
    return status


def _checker(
    expected: Manifest | None, advance: Callable[[int], object], summed: bool
) -> Callable[[str, Check], tuple[FileReport, ManifestFile | None]]:
    lock = threading.Lock()
    before: dict[str, int] = {}

    def verified(path: str, check: Check) -> tuple[FileReport, ManifestFile | None]:
        def step(name: str, position: int) -> None:
            check()
            with lock:
                advance(position - before.get(name, 0))
                before[name] = position

        source = standard_input() if path == STDIN else path
        files = RecordFiles(source, on_error="skip")
        [(report, entry)] = examined(files, step, summed=summed)
        if expected is not None and entry is not None and entry.name in expected.names:
            expected.check_file(entry)
        return report, entry

    return verified


def _whole(path: str, error: Exception) -> Skipped:
    return Skipped(path, 0, None, -1, getattr(error, "kind", ""), str(error))


def _print(path: str, found: FileReport, json: bool, report: Report) -> None:
    name = name_of(path)
    if json:
        damage = [
            {
                "record": lost.record, "offset": lost.begin, "size": lost.size,
                "kind": lost.kind, "reason": lost.reason,
            }
            for lost in found.skipped
        ]  # fmt: skip
        report.json(
            {
                "path": name,
                "records": found.records,
                "bytes": found.bytes,
                "damage": damage,
                "content": found.content,
            }
        )
        return
    summary = f"{counted(found.records, 'record')}, {bytes_text(found.bytes)} of data"
    if not found.skipped:
        if not found.records and path != STDIN and is_empty(path):
            summary += " (empty file)"
        report.line(f"ok       {shown(name)}: {summary}")
        return
    if found.content not in ("", LINE_ENDS):
        report.line(f"FOREIGN  {shown(name)}: {shown(found.skipped[0].reason)}", style="red")
        return
    for lost in found.skipped[:_MOST_LINES]:
        report.line(f"DAMAGED  {shown(name)}: {damage_text(lost)}", style="red")
    more = len(found.skipped) - _MOST_LINES
    if more > 0:
        report.line(f"DAMAGED  {shown(name)}: {more} more places", style="red")
