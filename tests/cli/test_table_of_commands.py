# SPDX-License-Identifier: Apache-2.0
"""The second table of docs/damage.md: what each command does about each kind of damage.

``FASTREC_WRITE_TABLES=1 pytest tests/cli/test_table_of_commands.py`` writes the table anew.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from damaged_sources import COUNT, FRAMES, SOURCES, check_page, contents, shown

import fastrec
from fastrec.cli import main
from fastrec.cli.grammar import VERBS


class Run(NamedTuple):
    """What a command has left: its standard output, and the folder of its output."""

    out: str
    folder: Path


def lines(run: Run) -> int:
    return len(run.out.splitlines())


def written(run: Run) -> int:
    return sum(fastrec.count(path) for path in run.folder.glob("out*"))


def stated(pattern: str) -> Callable[[Run], int]:
    """The sum of the numbers that the command prints."""

    def count(run: Run) -> int:
        return sum(map(int, re.findall(pattern, run.out, re.MULTILINE)))

    return count


def extracted(run: Run) -> int:
    return len(list((run.folder / "out").glob("*")))


# The words of each command, and how many records it has used; {whole} is the file without damage.
COMMANDS: dict[str, tuple[str, Callable[[Run], int] | None]] = {
    "head": ("head -n 100 {source}", lines),
    "tail": ("tail -n 100 {source}", lines),
    "cat": ("cat {source}", lines),
    "cat --where": ("cat --where x>=0 {source}", lines),
    "cat --sample": ("cat --sample 100 {source}", lines),
    "cat --skip-damage": ("cat --skip-damage {source}", lines),
    "grep": ("grep yes {source}", lines),
    "schema": ("schema {source}", None),
    "count": ("count {source}", stated(r"^(\d+)  (?!total)\S")),
    "stats": ("stats {source}", stated(r"^(\d+) records? in")),
    "doctor": ("doctor {source}", stated(r"^(\d+) records? in")),
    "verify": ("verify {source}", stated(r"^ok .*: (\d+) records?,")),
    "repair": ("repair {source} -o {out}", written),
    "diff": ("diff {source} {whole}", stated(r"^(\d+) records? the same")),
    "index": ("index {source}", stated(r": (\d+) records?$")),
    "split": ("split {source} -o {out} --shard-records 7", written),
    "merge": ("merge {source} -o {out}", written),
    "reshard": ("reshard {source} -o {out} --shards 2", written),
    "reshard --shuffle": ("reshard --shuffle {source} -o {out}", written),
    "convert": ("convert {source} -o {out}.jsonl", lambda run: len(
        [line for path in run.folder.glob("*.jsonl") for line in path.read_text().splitlines()])),
    "extract": ("extract {source} -o {out} --feature y", extracted),
    "view --html": ("view {source} --html {out}.html", stated(r": (\d+) records?$")),
}  # fmt: skip
# DuckDB is optional: this row of the page is compared with the command where DuckDB is installed.
SQL = "sql --json"
SQL_CELLS = {
    damage: "20" if damage in ("none", "a record without the feature", "an index of another file")
    else "0!" for damage in SOURCES
}  # fmt: skip
NOT_HERE = {"bench", "clean", "completion", "demo", "images", "man"}  # read no record files


def result(
    command: str, damage: str, folder: Path, capsys: pytest.CaptureFixture[str], packed: bool
) -> tuple[int, int | None, str]:
    """Run a command; return its status, the records that it used, and its messages."""
    (folder / "in").mkdir(parents=True)
    (folder / "out").mkdir()
    whole = folder / "whole.tfrecord"
    whole.write_bytes(b"".join(FRAMES))
    source = SOURCES[damage](folder / "in")
    files = [path for path in (folder / "in").iterdir() if path.suffix != ".frindex"]
    for path in files if packed else ():
        path.write_bytes(gzip.compress(path.read_bytes(), 1, mtime=0))
    before = contents(folder, besides=folder / "out")
    text, used = COMMANDS.get(command, (SQL, lines))
    words = text.format(source="{source}", out=folder / "out" / "out", whole=whole).split()
    if text == SQL:
        words.append(f"SELECT * FROM '{source}'")
    status = main([str(source) if word == "{source}" else word for word in words])
    captured = capsys.readouterr()
    after = contents(folder, besides=folder / "out")
    if command == "index":  # it writes beside each file
        indexes = {path.with_name(f"{path.name}.frindex") for path in files}
        before, after = (
            {path: data for path, data in each.items() if path not in indexes}
            for each in (before, after)
        )
    assert before == after, command
    assert all(path.name.startswith("out") for path in (folder / "out").iterdir()), command
    assert "Traceback" not in captured.err
    count = used(Run(captured.out, folder / "out")) if used is not None else None
    reports = re.findall(r"^(?:lost  .*|.*; \d+ records? without .*)$", captured.out, re.MULTILINE)
    return status, count, "\n".join([captured.err, *reports]).strip()


@pytest.fixture
def cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, list[str]]:
    pytest.importorskip("pyarrow")  # of convert
    rows = {f"`{command}`": row(command, tmp_path, capsys) for command in COMMANDS}
    return {**rows, "`sql`": list(SQL_CELLS.values())}


def row(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the cells of a command."""
    cells = []
    for number, damage in enumerate(SOURCES):
        here = folder / f"{command.replace(' ', '')}-{number}"
        status, count, messages = result(command, damage, here, capsys, False)
        check(command, damage, status, count, messages)
        mark = "!" if status else "?" if messages else ""
        cells.append(f"{'' if count is None else count}{mark}")
    return cells


def check(command: str, damage: str, status: int, count: int | None, messages: str) -> None:
    """A command that uses fewer or more records says so, and has a status."""
    whole = {"an empty file": 0}.get(damage, COUNT)
    if (command, damage) in (
        ("grep", "a message of another kind"),
        ("grep", "a record without the feature"),
        ("cat --where", "a record without the feature"),
    ):
        whole -= 1  # the record does not match
    if command == "diff" and status == 1:
        return  # it printed what differs
    if count is not None and count != whole and not (command == "repair" and count == 0):
        assert messages, (command, damage, status, count)
    if damage in ("a missing shard", "two sets of shards", "a repaired copy"):
        assert messages, (command, damage, status, count)


def test_the_table_has_every_command_that_reads_records() -> None:
    assert {command.partition(" ")[0] for command in COMMANDS} | NOT_HERE | {"sql"} == set(VERBS)


def test_the_table_of_the_page_is_what_the_commands_do(cells: dict[str, list[str]]) -> None:
    check_page("the table of commands", shown(cells, "command", list(SOURCES)))


def test_the_row_of_sql_is_what_sql_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    assert dict(zip(SOURCES, row("sql", tmp_path, capsys), strict=True)) == SQL_CELLS
