# SPDX-License-Identifier: Apache-2.0
"""Print records as lines of JSON."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from fastrec.cli.files import expand, name_of
from fastrec.cli.grammar import USAGE, add_json, add_paths, add_selection
from fastrec.cli.report import Failure, Report, counted, json_text, shown
from fastrec.cli.select import Found, Selector
from fastrec.cli.typed import typed_row
from fastrec.cli.values import brief_row, whole_row

__all__ = ["add_arguments", "add_options", "line_of", "print_records", "run"]

_TABLE_ROWS = 1000  # rows of one table, because a table is printed when it is complete
_TABLE_COLUMNS = 100  # features that a table shows at most


def add_arguments(parser: argparse.ArgumentParser, limit: int | None = None) -> None:
    """Add the options of ``fastrec cat``; `limit` is the default number of records."""
    add_paths(parser)
    add_selection(parser, limit=limit)
    add_options(parser)
    parser.add_argument(
        "--table", action="store_true", help="print a table with a column for each feature"
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that determine how records are printed."""
    add_json(
        parser,
        "complete values: a list for each feature, bytes that are not text as "
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
    return print_records(Selector.of(arguments, report), arguments, report)


def print_records(selector: Selector, arguments: argparse.Namespace, report: Report) -> int:
    """Print the selected records in the requested form; return the exit status."""
    if arguments.table and arguments.json:
        raise Failure("--table and --json are mutually exclusive", USAGE)
    files, missing = expand(arguments.paths, any_shards=arguments.any_shards)
    found = selector.records(files, missing)
    if arguments.table:
        _print_tables(found, arguments.number, report)
        return selector.status
    for each in found:
        report.write(line_of(each, json=arguments.json, number=arguments.number))
    return selector.status


def _print_tables(records: Iterator[Found], number: bool, report: Report) -> None:
    """Print records as tables of up to 1,000 rows, so that memory is bounded."""
    while chunk := list(itertools.islice(records, _TABLE_ROWS)):
        rows = []
        for each in chunk:
            row = None if each.row is None else typed_row(each.path, each.row, named=True)
            cells = {name: _cell(value) for name, value in brief_row(row, each.record).items()}
            rows.append({"record": f"{shown(name_of(each.path))}:{each.number}"} | cells
                        if number else cells)  # fmt: skip
        every = list(dict.fromkeys(name for row in rows for name in row))
        names = every[:_TABLE_COLUMNS]
        right = [at for at, name in enumerate(names) if _is_numeric(chunk, name)]
        table = [[row.get(name, "") for name in names] for row in rows]
        report.table([*map(shown, names)], table, right=right, keep=int(number))
        if len(every) > len(names):
            more = counted(len(every) - len(names), "feature")
            report.line(f"   ({more} not shown; --features selects columns)")


def _cell(value: Any) -> str:
    return shown(value) if isinstance(value, str) else json_text(value)


def _is_numeric(chunk: list[Found], name: str) -> bool:
    """Return whether a feature has a single number in each record."""
    values = [each.row[name] for each in chunk if each.row is not None and name in each.row]
    return bool(values) and all(
        isinstance(v, np.ndarray) and v.dtype.kind in "if" and v.size == 1 for v in values
    )
