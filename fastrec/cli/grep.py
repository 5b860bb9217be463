# SPDX-License-Identifier: Apache-2.0
"""Print the records with a value that contains a text."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable

from fastrec.cli.cat import add_options, line_of
from fastrec.cli.files import expand, name_of
from fastrec.cli.grammar import FINDING, USAGE, add_paths, add_selection
from fastrec.cli.report import Failure, Report, shown
from fastrec.cli.rows import Frames
from fastrec.cli.select import Found, Selector
from fastrec.columns import Bytes

__all__ = ["add_arguments", "run"]

Matches = Callable[[bytes], object]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec grep``."""
    parser.add_argument("pattern", metavar="PATTERN", help="a regular expression of Python's re")
    add_paths(parser)
    parser.add_argument("-F", "--fixed", action="store_true", help="take the pattern as plain text")
    parser.add_argument("-i", "--ignore-case", action="store_true", help="ignore case")
    parser.add_argument(
        "-v", "--invert", action="store_true", help="print the records that do not match"
    )
    parser.add_argument(
        "-c", "--count", action="store_true", help="print the number of matching records"
    )
    add_selection(parser)
    add_options(parser)


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print one line per matching record; return 1 if none matches.

    Bytes values are searched. Values with zero bytes, such as images, are searched only in features
    that ``--features`` names. A record that is not an Example is searched as a whole.
    """
    matches = _matcher(arguments)
    is_named = arguments.features is not None
    # The limit counts matches.
    limit, arguments.limit = arguments.limit, None
    if arguments.sample is not None:
        raise Failure("grep and --sample are mutually exclusive; use cat --where", USAGE)
    selector = Selector.of(arguments, report)
    files, missing = expand(arguments.paths, any_shards=arguments.any_shards)
    counts = dict.fromkeys(files, 0)
    number = arguments.number or len(files) > 1
    total = 0
    for found in selector.records(files, missing):
        if limit is not None and total >= limit:
            break
        if _has(found, matches, is_named) == arguments.invert:
            continue
        total += 1
        counts[found.path] += 1
        if not arguments.count:
            report.write(line_of(found, json=arguments.json, number=number))
    if arguments.count:
        for path, count in counts.items():
            name = name_of(path)
            if arguments.json:
                report.json({"path": name, "records": count})
            else:
                report.line(f"{count}  {shown(name)}" if len(files) > 1 else f"{count}")
    return selector.status or (0 if total else FINDING)


def _matcher(arguments: argparse.Namespace) -> Matches:
    text = arguments.pattern.encode("utf-8", "surrogateescape")
    flags = re.IGNORECASE if arguments.ignore_case else 0
    try:
        return re.compile(re.escape(text) if arguments.fixed else text, flags).search
    except re.error as error:
        raise Failure(
            f"{arguments.pattern!r} is not a valid regular expression: {error}", USAGE
        ) from None


def _has(found: Found, matches: Matches, is_named: bool) -> bool:
    if found.row is None:
        return matches(found.record) is not None
    for values in found.row.values():
        lists = values.frames if isinstance(values, Frames) else [values]
        for some in lists:
            if isinstance(some, Bytes) and any(
                (is_named or b"\0" not in value) and matches(value) is not None for value in some
            ):
                return True
    return False
