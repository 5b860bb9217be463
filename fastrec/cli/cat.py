# SPDX-License-Identifier: Apache-2.0
"""Print records as lines of JSON."""

from __future__ import annotations

import argparse
from typing import Any

from fastrec.cli.files import expand, name_of
from fastrec.cli.grammar import add_json, add_paths, add_selection
from fastrec.cli.report import Report, json_text
from fastrec.cli.select import Found, Selector
from fastrec.cli.typed import typed_row
from fastrec.cli.values import brief_row, whole_row

__all__ = ["add_arguments", "add_options", "line_of", "run"]


def add_arguments(parser: argparse.ArgumentParser, limit: int | None = None) -> None:
    add_paths(parser)
    add_selection(parser, limit=limit)
    add_options(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    add_json(
        parser,
        "whole values: one as a scalar, several as a list, bytes that are not text as "
        '{"base64": ...}; without it long lists are summarized and images described',
    )
    parser.add_argument(
        "--number", action="store_true", help="prefix each record with its file and number"
    )


def line_of(found: Found, *, json: bool, number: bool) -> str:
    """Format one record as a line of text."""
    row = None if found.row is None else typed_row(found.path, found.row, named=not json)
    values: Any = (whole_row if json else brief_row)(row, found.record)
    path = name_of(found.path)
    if number and json:
        values = {"path": path, "record": found.number, "features": values}
    text = json_text(values)
    if number and not json:
        text = f"{json_text(path)[1:-1]}:{found.number}: {text}"
    return text + "\n"


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print one line per record; return 1 if there is damage."""
    selector = Selector.of(arguments, report)
    files, missing = expand(arguments.paths, any_shards=arguments.any_shards)
    for found in selector.records(files, missing):
        report.write(line_of(found, json=arguments.json, number=arguments.number))
    return selector.status
