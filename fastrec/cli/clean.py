# SPDX-License-Identifier: Apache-2.0
"""List and delete what killed jobs have left."""

from __future__ import annotations

import argparse

from fastrec.cli.files import check_local
from fastrec.cli.grammar import add_json, whole_number
from fastrec.cli.report import Report, bytes_text, counted, shown
from fastrec.records.leftovers import Leftover, find_leftovers, remove

__all__ = ["add_arguments", "run"]

_WHAT = {
    "unfinished": "unfinished",
    "reshard": "work of reshard, which --resume goes on with",
    "replaced": "files that a job was about to replace; move them back",
    "damaged": "the damaged file that a repair has kept",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec clean``."""
    parser.add_argument(
        "paths", nargs="+", metavar="DIR", help="a directory; its directories are searched, too"
    )
    parser.add_argument(
        "--delete", action="store_true", help="delete what is listed (default: only list it)"
    )
    parser.add_argument(
        "--damaged",
        action="store_true",
        help="also the damaged files that repair --in-place has kept (FILE.damaged)",
    )
    parser.add_argument(
        "--minutes", type=whole_number(0), default=60, metavar="N",
        help="leave alone what was changed within N minutes: a job may be writing it (default 60)",
    )  # fmt: skip
    add_json(parser)


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print one line per leftover file, and a total."""
    check_local(arguments.paths, "clean")
    count = size = 0
    for folder in arguments.paths:
        for each in [*find_leftovers(folder)]:
            recent = each.age < 60 * arguments.minutes
            if each.kind == "damaged" and not arguments.damaged:
                continue
            deletes = arguments.delete and not recent and each.kind != "replaced"
            if deletes:
                remove(each)
                count, size = count + 1, size + each.size
            _print(each, recent, deletes, arguments.json, report)
    if arguments.delete and not arguments.json:
        report.line(f"deleted  {counted(count, 'leftover')}, {bytes_text(size)}")
    return 0


def _print(each: Leftover, recent: bool, deleted: bool, json: bool, report: Report) -> None:
    if json:
        report.json({"path": each.path, "bytes": each.size, "kind": each.kind,
                     "minutes": int(each.age / 60), "deleted": deleted})  # fmt: skip
        return
    what = "changed just now; a job may be writing it" if recent else _WHAT[each.kind]
    keeps = recent or each.kind == "replaced"
    state = "deleted" if deleted else "kept" if keeps else "found"
    report.line(f"{state:8} {shown(each.path)}: {bytes_text(each.size)}, {what}")
