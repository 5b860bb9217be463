# SPDX-License-Identifier: Apache-2.0
"""Query record files with SQL, through DuckDB."""

from __future__ import annotations

import argparse
import base64
import datetime
import decimal
import itertools
import math
import os
import re
from typing import Any

from fastrec.cli.files import expand
from fastrec.cli.grammar import FINDING, USAGE, add_json
from fastrec.cli.report import Failure, Report, count_text, json_text, shown
from fastrec.cli.values import brief_bytes

__all__ = ["add_arguments", "run"]

_BATCH_ROWS = 1000  # rows of one printed table
_SOURCE = re.compile(r"""\b(from|join)(\s+)'((?:[^']|'')+)'""", re.IGNORECASE)
_BARE = re.compile(r"""\b(?:from|join)\s+([^\s'"();,]+)""", re.IGNORECASE)
_TABLES = (".parquet", ".csv", ".json", ".jsonl", ".tsv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec sql``."""
    parser.add_argument(
        "query", metavar="QUERY",
        help="a query of DuckDB; after FROM and JOIN, 'train-*.tfrecord' names record files",
    )  # fmt: skip
    add_json(parser, "print one JSON object per row; without it, a table")


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print the rows of the result; return 1 if DuckDB rejects the query."""
    duckdb = _imported()
    with duckdb.connect() as connection:
        query = _with_views(arguments.query, connection)
        try:
            result = connection.execute(query)
            names = [column[0] for column in result.description or ()]
            while rows := result.fetchmany(_BATCH_ROWS):
                _print_rows(names, rows, arguments.json, report)
        except duckdb.Error as error:
            raise Failure(_failed(arguments.query, error), FINDING) from None
    return 0


def _failed(query: str, error: Exception) -> str:
    """Return the message of DuckDB's error, with a hint if a file is named without quotes."""
    lines = itertools.takewhile(lambda line: not line.startswith("LINE "), str(error).splitlines())
    words = [line for line in itertools.islice(lines, 3) if line[:1] not in ("", "\t", " ", "*")]
    text = f"query failed: {shown(' '.join(words))}"
    bare = [word for word in _BARE.findall(query) if os.path.exists(word) or "*" in word]
    return f"{text}; quote the names of record files: FROM '{shown(bare[0])}'" if bare else text


def _imported() -> Any:
    try:
        import duckdb
        import pyarrow.dataset  # noqa: F401
    except ImportError:
        raise Failure(
            "sql requires DuckDB and pyarrow: pip install 'fastrec-io[sql]'", USAGE
        ) from None
    return duckdb


def _with_views(query: str, connection: Any) -> str:
    """Register each quoted record source of a query, and replace it by the name of its table."""
    from fastrec.tables import scan

    registered: dict[str, str] = {}

    def replaced(match: re.Match[str]) -> str:
        word = match[3].replace("''", "'")
        if word.lower().endswith(_TABLES):
            return match[0]  # DuckDB reads these itself
        if word not in registered:
            files, missing = expand([word])
            if missing:
                raise missing[0]
            registered[word] = name = f"records_{len(registered)}"
            connection.register(name, scan(files).to_dataset())
        alias = re.sub(r"\W+", "_", os.path.basename(word)).strip("_") or registered[word]
        named = re.match(r"\s+(as\b|[a-z_]\w*)", query[match.end() :], re.IGNORECASE)
        is_alias = named is not None and named[1].lower() not in _KEYWORDS
        return f"{match[1]}{match[2]}{registered[word]}" + ("" if is_alias else f' as "{alias}"')

    return _SOURCE.sub(replaced, query)


_KEYWORDS = {
    "anti", "asof", "cross", "except", "full", "group", "having", "inner", "intersect", "join",
    "lateral", "left", "limit", "natural", "offset", "on", "order", "positional", "qualify",
    "right", "sample", "semi", "tablesample", "union", "using", "where", "window",
}  # fmt: skip


def _print_rows(
    names: list[str], rows: list[tuple[Any, ...]], as_json: bool, report: Report
) -> None:
    if as_json:
        for row in rows:
            report.json(dict(zip(names, map(_plain, row), strict=True)))
        return
    cells = [[_cell(value) for value in row] for row in rows]
    numeric = [
        at for at in range(len(names)) if all(isinstance(row[at], (int, float)) for row in rows)
    ]
    report.table([*map(shown, names)], cells, right=numeric, keep=0)


def _plain(value: Any) -> Any:
    """Convert a value of DuckDB to one that JSON can represent."""
    if isinstance(value, (bytes, bytearray)):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, (decimal.Decimal, datetime.date, datetime.time, datetime.timedelta)):
        return str(value)
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _cell(value: Any) -> str:
    if isinstance(value, (bytes, bytearray)):
        return shown(brief_bytes(bytes(value)))
    if isinstance(value, (list, tuple)) and len(value) > 8:
        some = ", ".join(_cell(each) for each in value[:3])
        return f"[{some}, ...] {count_text(len(value))} values"
    plain = _plain(value)
    return "" if plain is None else shown(plain) if isinstance(plain, str) else json_text(plain)
