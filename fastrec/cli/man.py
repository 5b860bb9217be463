# SPDX-License-Identifier: Apache-2.0
"""Write manual pages."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from fastrec import __version__
from fastrec.cli.files import write_output
from fastrec.cli.grammar import STATUS, VERBS, Parser, add_overwrite, program, verb_parser
from fastrec.cli.report import Report, counted, shown

__all__ = ["add_arguments", "page", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec man``."""
    parser.add_argument(
        "directory", metavar="DIR", help="directory to write to, such as ~/.local/share/man/man1"
    )
    add_overwrite(parser)


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Write fastrec.1 and one page per verb."""
    os.makedirs(arguments.directory, exist_ok=True)
    for verb in (None, *VERBS):
        name = "fastrec.1" if verb is None else f"fastrec-{verb}.1"
        path = os.path.join(arguments.directory, name)
        write_output(path, page(verb), arguments.overwrite)
    report.line(f"wrote    {counted(len(VERBS) + 1, 'page')} into {shown(arguments.directory)}")
    return 0


def page(verb: str | None) -> str:
    """Return the manual page of a verb, or of the program, in the language of man(7)."""
    return "\n".join(_lines(verb)) + "\n"


def _lines(verb: str | None) -> Iterator[str]:
    parser = program() if verb is None else verb_parser(verb)
    name = "fastrec" if verb is None else f"fastrec-{verb}"
    text = parser.description or ""
    yield f'.TH {name.upper()} 1 "" "fastrec {__version__}" "User Commands"'
    yield ".SH NAME"
    yield _roff(f"{name} - {text[0].lower()}{text[1:].rstrip('.')}")
    yield ".SH SYNOPSIS"
    usage = parser.format_usage().removeprefix("usage: ")
    yield _roff(" ".join(usage.split()))
    yield ".SH DESCRIPTION"
    yield _roff(text)
    if verb is None:
        yield ".SH COMMANDS"
        for each in VERBS:
            yield ".TP"
            yield f".BR fastrec\\-{each} (1)"
            yield _roff(VERBS[each].summary)
    else:
        yield from _options(parser)
        yield ".SH EXAMPLES"
        for purpose, command in parser.examples:
            yield ".TP"
            yield _roff(f"{purpose[0].upper()}{purpose[1:]}:")
            yield _roff(command)
    yield ".SH EXIT STATUS"
    yield _roff(STATUS.removeprefix("exit status: "))


def _options(parser: Parser) -> Iterator[str]:
    yield ".SH OPTIONS"
    formatter = parser._get_formatter()
    for action in parser._actions:
        yield ".TP"
        yield ".B " + _roff(formatter._format_action_invocation(action))
        yield _roff((action.help or "").replace("%%", "%"))


def _roff(text: str) -> str:
    """Escape the characters of `text` that would be commands."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
