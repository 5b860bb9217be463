# SPDX-License-Identifier: Apache-2.0
"""Output of commands: lines, tables and progress, with rich or without.

Rich is used if it is installed and the stream is a terminal. Everywhere else the same words are
printed as aligned plain text, which suits logs, ``grep`` and ``awk``.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from fastrec.cli.streams import naming_stdout
from fastrec.errors import CorruptRecordError, FastrecError, MissingRecordsError
from fastrec.records.object_rules import OBJECT_EXISTS
from fastrec.records.output_rules import EXISTS, UNFINISHED
from fastrec.records.shard_sets import ANY_SHARDS
from fastrec.storage.stores import public

__all__ = [
    "Failure",
    "Report",
    "bytes_text",
    "count_text",
    "counted",
    "damage_text",
    "explained",
    "json_text",
    "plain_table",
    "shown",
]

Advance = Callable[[int], object]

_REASONS = {
    EXISTS: "the file exists; --overwrite replaces it",
    OBJECT_EXISTS: "the object exists; --overwrite replaces it",
    UNFINISHED: "work of another call is here; --resume goes on with it",
}
"""Reasons of an OSError in the words of the command line."""

_NOT_REPAIRED = ("shrunk", "changed", "cut")
"""Kinds of damage that are not in the file."""

_PATIENCE_S = 1.0
"""Seconds before progress is shown."""

_LINE_EVERY_S = 5.0
"""Between two plain lines of progress."""

_INDENT = 3
_GAP = 3
"""Before the columns of a table, and between them."""

_LEAST_CELL = 12
"""Characters of a long cell that are shown even in the narrowest terminal."""


class Failure(Exception):
    """Ends a command with one line on standard error and an exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


class Report:
    """Writes results to `out`, and messages to `err`.

    Parameters
    ----------
    out, err : text stream, optional
        Standard output and standard error by default.
    rich : bool, optional
        Whether to use rich; by default if it is installed and the stream is a terminal.
    quiet : bool
        Whether to hide progress.
    """

    def __init__(
        self,
        out: TextIO | None = None,
        err: TextIO | None = None,
        *,
        rich: bool | None = None,
        quiet: bool = False,
    ) -> None:
        self._out = sys.stdout if out is None else out
        self._err = sys.stderr if err is None else err
        self._console = _console(self._out, rich)
        self._progress_console = _console(self._err, rich)
        self._quiet = quiet
        self._bar: _Bar | None = None

    @property
    def width(self) -> int | None:
        """Columns of the terminal; None if lines may have any length."""
        if self._console is not None:
            return int(self._console.width)
        return shutil.get_terminal_size().columns if self._out.isatty() else None

    def can_write(self, text: str) -> bool:
        """Return whether the encoding of the output has all characters of a text."""
        try:
            text.encode(getattr(self._out, "encoding", None) or "utf-8")
        except UnicodeEncodeError:
            return False
        return True

    def write(self, text: str) -> None:
        """Write many lines in one call, without flushing."""
        self._hide_bar()
        with naming_stdout():
            self._out.write(text)

    def json(self, value: Any) -> None:
        """Write one line of JSON."""
        self._hide_bar()
        if isinstance(value, dict) and isinstance(value.get("path"), str):
            value = {**value, "path": public(value["path"])}
        with naming_stdout():
            print(json_text(value), file=self._out, flush=True)

    def line(self, text: str = "", style: str = "") -> None:
        """Write one line; `style`, such as ``"bold"``, applies to terminals only."""
        self._hide_bar()
        with naming_stdout():
            if self._console is None:
                print(text, file=self._out, flush=True)
                return
            self._console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    def complain(self, text: str) -> None:
        """Write one line to standard error, beginning with the program's name."""
        self._hide_bar()
        print(f"fastrec: {text}", file=self._err, flush=True)

    def _hide_bar(self) -> None:
        """Hide the progress bar; the next step shows it again below the printed text."""
        if self._bar is not None:
            self._bar.hide()

    def table(
        self,
        headers: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        right: Sequence[int] = (),
        spare: Sequence[int] = (),
        keep: int | None = None,
    ) -> None:
        """Print rows under headers; the columns whose numbers are in `right` are right-aligned.

        If the terminal is too narrow, the columns in `spare` are left out, in this order, and a
        line after the table names them. With `keep`, long cells are cut, and the widest columns
        are left out, but not the first `keep` ones.
        """
        names, kept = headers, list(range(len(headers)))
        if keep is not None and self.width and _table_width(headers, rows, kept) > self.width:
            most = max(self.width // 3, _LEAST_CELL)
            rows = [[*row[:keep], *(_cut(cell, most) for cell in row[keep:])] for row in rows]
            # The last column stays, however wide it is.
            spare = sorted(kept[keep:], key=lambda at: (_width(headers, rows, at), at))[:0:-1]
        for column in spare:
            if self.width is None or _table_width(headers, rows, kept) <= self.width:
                break
            kept.remove(column)
        headers = [headers[column] for column in kept]
        rows = [[row[column] for column in kept] for row in rows]
        right = [kept.index(column) for column in right if column in kept]
        if self._console is None:
            for text in plain_table(headers, rows, right=right):
                self.line(f"{' ' * _INDENT}{text}")
        else:
            with naming_stdout():
                self._console.print(_rich_table(headers, rows, right))
        if hidden := [name for column, name in enumerate(names) if column not in kept]:
            text = f"(not shown at {self.width} columns: {', '.join(hidden)})"
            for line in textwrap.wrap(text, max((self.width or 80) - _INDENT, 20)):
                self.line(f"{' ' * _INDENT}{line}")

    @contextmanager
    def progress(self, what: str, total: int) -> Iterator[Advance]:
        """Show a progress bar on standard error once the body has taken a second.

        Yields a function to call with the number of steps just done. Without a terminal, a plain
        line is printed from time to time instead. A `total` of 0 means unknown.
        """
        if self._quiet or self._bar is not None:  # only one bar at a time
            yield _ignore
            return
        if self._progress_console is None:
            yield _Lines(self._err, what, total).advance
            return
        bar = self._bar = _Bar(self._progress_console, what, total)
        try:
            yield bar.advance
        finally:
            bar.hide()
            self._bar = None


class _Bar:
    def __init__(self, console: Any, what: str, total: int) -> None:
        self._console, self._what, self._total = console, what, total
        self._due = time.monotonic() + _PATIENCE_S
        self._done = 0
        self._progress: Any = None
        self._task: Any = None

    def advance(self, steps: int) -> None:
        self._done += steps
        if self._progress is not None:
            self._progress.update(self._task, completed=self._done)
        elif time.monotonic() >= self._due:
            self._show()

    def _show(self) -> None:
        from rich.progress import Progress

        self._progress = Progress(console=self._console, transient=True)
        total = self._total or None
        self._task = self._progress.add_task(self._what, total=total, completed=self._done)
        self._progress.start()

    def hide(self) -> None:
        """Clear the line of the bar; the next step shows it again."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


class _Lines:
    def __init__(self, stream: TextIO, what: str, total: int) -> None:
        self._stream, self._what, self._total = stream, what, total
        self._due = time.monotonic() + _PATIENCE_S
        self._done = 0

    def advance(self, steps: int) -> None:
        self._done += steps
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _LINE_EVERY_S
        done = count_text(self._done)
        if self._total:
            percent = 100 * self._done // self._total
            done += f" of {count_text(self._total)} ({percent}%)"
        print(f"   {self._what}: {done}", file=self._stream, flush=True)


def _ignore(_: int) -> None:
    """Do nothing, in place of progress."""


def _console(stream: TextIO, wanted: bool | None) -> Any:
    forced = bool(os.environ.get("FORCE_COLOR"))
    if wanted is False or (wanted is None and not stream.isatty() and not forced):
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(file=stream, highlight=False, force_terminal=wanted)


def _rich_table(headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> Any:
    from rich import box
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False)
    for number, header in enumerate(headers):
        table.add_column(header, justify="right" if number in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return Padding(table, (0, 0, 0, _INDENT), expand=False)


def _table_width(headers: Sequence[str], rows: Sequence[Sequence[str]], kept: Sequence[int]) -> int:
    widths = (_width(headers, rows, column) for column in kept)
    return _INDENT + sum(widths) + _GAP * (len(kept) - 1)


def _width(headers: Sequence[str], rows: Sequence[Sequence[str]], column: int) -> int:
    return max(len(row[column]) for row in (headers, *rows))


def _cut(cell: str, most: int) -> str:
    return cell if len(cell) <= most else f"{cell[: most - 3]}..."


def plain_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()
) -> list[str]:
    """Yield the lines of a table: headers, a rule, and rows, with two spaces between columns."""
    widths = [max(len(cell) for cell in column) for column in zip(headers, *rows, strict=True)]
    rule = ["-" * width for width in widths]
    return [
        "  ".join(
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (headers, rule, *rows)
    ]


def shown(path: str | os.PathLike[str]) -> str:
    """Format `path` for a person: without control characters and unencodable ones.

    The credentials of URLs are left out.
    """
    text = public(os.fsencode(path).decode("utf-8", "backslashreplace"))
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def json_text(value: Any) -> str:
    """Format `value` as JSON on one line, without control characters of terminals."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))
    return text if text.isprintable() else _UNPRINTABLE.sub(_escape, text)


_UNPRINTABLE = re.compile(r"[^ -~]")


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    return character if character.isprintable() else json.dumps(character)[1:-1]


def explained(error: BaseException, *, hints: bool = True) -> str:
    """Describe an error in one line for a shell, with the file and the remedy."""
    if isinstance(error, OSError) and error.strerror:
        name = error.filename if _is_name(error.filename) else ""
        if not name and error.errno == errno.EBADF:  # a command opens all other files itself
            name = "standard input"
        where = f"{shown(os.fsdecode(name))}: " if name else ""
        return where + _REASONS.get(error.strerror, error.strerror)
    if isinstance(error, MemoryError):
        return "out of memory"
    text = str(error)
    if isinstance(error, FastrecError):
        hint = _hint(error) if hints else ""
        text = f"{error.headline}; {hint}" if hint else error.headline
    return shown(text) or type(error).__name__


def _hint(error: FastrecError) -> str:
    """Return the hint of an error in the words of the command line."""
    if isinstance(error, MissingRecordsError) and error.hint == ANY_SHARDS:
        return "--any-shards reads the files as they are"
    if not isinstance(error, CorruptRecordError) or error.kind in _NOT_REPAIRED or error.content:
        return error.hint
    if not error.hint:
        return ""
    if not error.path or error.path.startswith("<"):
        return ""
    return f"`fastrec repair {shlex.quote(error.path)}` saves the rest"


def damage_text(lost: Any) -> str:
    """Describe damage in one line: record, offset, kind, numbers, and the size of the loss."""
    if lost.record < 0:
        return shown(lost.reason)
    return f"record {lost.record} at offset {lost.begin}: {lost.kind}: {shown(lost.reason)}"


def _is_name(filename: object) -> bool:
    return isinstance(filename, (str, bytes, os.PathLike)) and bool(os.fspath(filename))


def count_text(count: int) -> str:
    """Format a count: ``1797`` as ``1,797``."""
    return f"{count:,}"


def counted(count: int, noun: str) -> str:
    """Format a count with its noun: ``1 record``, ``1,797 records``."""
    return f"{count_text(count)} {noun}" + ("" if count == 1 else "s")


def bytes_text(size: float) -> str:
    """Format a size with a decimal unit: ``1.64 MB``."""
    if size < 1000:
        return f"{int(size)} B"
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 999.5:
            return f"{size:.3g} {unit}"
    return f"{size / 1000:.3g} TB"
