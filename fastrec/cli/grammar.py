# SPDX-License-Identifier: Apache-2.0
"""Names, options and exit status that all verbs share."""

from __future__ import annotations

import argparse
import difflib
import importlib
import re
import shutil
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from fastrec import __version__
from fastrec.cli.examples import EXAMPLES
from fastrec.cli.report import Failure, Report
from fastrec.errors import FastrecError
from fastrec.records.compression import WRITABLE
from fastrec.threads.cpus import usable_cpus

__all__ = [
    "BROKEN_PIPE",
    "FINDING",
    "INTERRUPTED",
    "IO",
    "TERMINATED",
    "USAGE",
    "VERBS",
    "Terminated",
    "add_any_shards",
    "add_json",
    "add_output",
    "add_paths",
    "add_selection",
    "add_threads",
    "is_verb",
    "program",
    "status_of",
    "unknown_verb",
    "verb_parser",
    "whole_number",
]

FINDING = 1
USAGE = 2
IO = 74  # EX_IOERR of sysexits.h
INTERRUPTED = 130
BROKEN_PIPE = 141
TERMINATED = 143

_NAME_WIDTH = 12  # characters of a name in the list of commands
_LEAST_WIDTH = 40  # characters of a line of this list in a narrow terminal


class Terminated(KeyboardInterrupt):
    """Ends a command after SIGTERM, as Ctrl-C does, so that unfinished files are removed."""


class Verb(NamedTuple):
    """A command: its module, which is imported on use, and its line in the list of commands.

    The line is repeated here because ``python -OO`` removes docstrings.
    """

    module: str
    summary: str


GROUPS: dict[str, dict[str, Verb]] = {
    "look at records": {
        "head": Verb("fastrec.cli.head", "Print the first records as lines of JSON."),
        "tail": Verb("fastrec.cli.tail", "Print the last records as lines of JSON."),
        "cat": Verb("fastrec.cli.cat", "Print records as lines of JSON."),
        "grep": Verb("fastrec.cli.grep", "Print the records with a value that contains a text."),
        "sql": Verb("fastrec.cli.sql", "Query record files with SQL, through DuckDB."),
        "view": Verb("fastrec.viewer.command", "Show records on a local web page."),
    },
    "describe files": {
        "schema": Verb(
            "fastrec.cli.schema",
            "Show which features the records of a file have, as a table and as code to paste.",
        ),
        "count": Verb("fastrec.cli.count", "Count the records of files."),
        "stats": Verb(
            "fastrec.cli.stats",
            "Print statistics of every feature: presence, ranges, quantiles, common values.",
        ),
        "diff": Verb("fastrec.cli.diff", "Compare the records of two files."),
    },
    "check and repair files": {
        "verify": Verb("fastrec.cli.verify", "Check every length and checksum of files."),
        "doctor": Verb(
            "fastrec.cli.doctor",
            "Check the meaning of records: values, times, episodes, images, labels and texts.",
        ),
        "repair": Verb(
            "fastrec.cli.repair", "Save the sound records of damaged files to new ones."
        ),
        "clean": Verb("fastrec.cli.clean", "List and delete what killed jobs have left."),
    },
    "write record files": {
        "index": Verb(
            "fastrec.cli.index", "Write where the records of files begin, for random access."
        ),
        "split": Verb("fastrec.cli.split", "Write the records of files into several, in order."),
        "merge": Verb("fastrec.cli.merge", "Write the records of files into one."),
        "reshard": Verb(
            "fastrec.cli.reshard",
            "Rewrite files as others, in order or shuffled, also if they are larger than memory.",
        ),
    },
    "convert files": {
        "convert": Verb(
            "fastrec.cli.convert",
            "Convert between record files and tables, or other formats of records.",
        ),
        "images": Verb("fastrec.cli.images", "Write a directory of images to record files."),
        "extract": Verb(
            "fastrec.cli.extract", "Write the images, or other bytes, of records to files."
        ),
    },
    "this program": {
        "demo": Verb("fastrec.demo.command", "Run an end-to-end demo on real images."),
        "bench": Verb(
            "fastrec.bench.command",
            "Measure fastrec against other libraries and the limits of this machine.",
        ),
        "completion": Verb(
            "fastrec.cli.completion",
            "Print a script that makes a shell complete the arguments of this program.",
        ),
        "man": Verb("fastrec.cli.man", "Write manual pages."),
    },
}
"""Commands by the purpose under which ``fastrec --help`` lists them."""

VERBS: dict[str, Verb] = {name: verb for group in GROUPS.values() for name, verb in group.items()}

STATUS = (
    "exit status: 0 if all is well; 1 for a finding: damage, a difference, nothing found; 2 for a "
    "wrong request; 74 if a file cannot be read or written; 130 after Ctrl-C; 141 when standard "
    "output was closed; 143 after SIGTERM"
)


class _StoreOnce(argparse.Action):
    """Store the value of an option; a second value of the option is an error.

    argparse would use the last of them, so that the first of two ``--where`` had no effect.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        stored: dict[str, str] = parser.__dict__.setdefault("stored", {})  # option by its name
        if option_string is not None and self.dest in stored:
            first = stored[self.dest]
            text = "may be given only once"
            if first not in self.option_strings:
                text = f"{first} and {option_string} are mutually exclusive"
            raise argparse.ArgumentError(self, text)
        if option_string is not None:
            stored[self.dest] = option_string
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """An argparse parser that prints examples and whose errors suggest similar words."""

    examples: tuple[tuple[str, str], ...] = ()

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.register("action", None, _StoreOnce)
        self.register("action", "store", _StoreOnce)

    def format_help(self) -> str:
        """Return the help text, with examples before the exit statuses."""
        text = super().format_help()
        if not self.examples:
            return text
        lines = "".join(f"  # {purpose}\n  {command}\n" for purpose, command in self.examples)
        head, mark, tail = text.rpartition("\nexit status:")
        return f"{head}\nexamples:\n{lines}{mark}{tail}"

    def error(self, message: str) -> NoReturn:
        """Print the error, with the closest valid name if one was misspelt, and exit."""
        if found := re.match(r"unrecognized arguments: (\S+)", message):
            close = difflib.get_close_matches(found[1], self._option_string_actions, 1)
            message += f" (did you mean {close[0]!r}?)" if close else ""
        super().error(message)


def is_verb(word: str) -> bool:
    """Return whether a word is the name of a command."""
    return word in VERBS


class _Listing(argparse.HelpFormatter):
    """A formatter that keeps the lines of texts that have several."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" not in text:
            return super()._fill_text(text, width, indent)
        return textwrap.indent(text, indent)


def program() -> Parser:
    """Return the parser of the program's own options, which lists all verbs."""
    parser = Parser(
        prog="fastrec", epilog=STATUS, formatter_class=_Listing,
        usage="fastrec [-h] [--version] COMMAND ...",
        description="Look into, check, repair, compare and write TFRecord files. "
        "`fastrec COMMAND --help` describes a command.",
    )  # fmt: skip
    text = "print the version; with -v, also libraries and the machine"
    parser.add_argument("--version", action="version", version=f"fastrec {__version__}", help=text)
    parser.add_argument("command", metavar="COMMAND", help=argparse.SUPPRESS)
    width = max(shutil.get_terminal_size().columns - 4, _LEAST_WIDTH)
    for title, verbs in GROUPS.items():
        lines = [
            textwrap.fill(
                verb.summary[0].lower() + verb.summary[1:-1], width,
                initial_indent=f"{name:<{_NAME_WIDTH}}", subsequent_indent=" " * _NAME_WIDTH,
            )
            for name, verb in verbs.items()
        ]  # fmt: skip
        parser.add_argument_group(title, "\n".join(lines))
    return parser


def unknown_verb(word: str) -> str:
    """Return the message about a word that is not a command, with the most similar one."""
    close = difflib.get_close_matches(word, VERBS, 1)
    hint = f"did you mean {close[0]!r}?" if close else "`fastrec --help` lists the commands"
    return f"{word!r} is not a command; {hint}"


def verb_parser(verb: str) -> Parser:
    """Return the parser of one verb, without importing the others."""
    module = importlib.import_module(VERBS[verb].module)
    parser = Parser(prog=f"fastrec {verb}", description=VERBS[verb].summary, epilog=STATUS)
    parser.examples = EXAMPLES[verb]
    module.add_arguments(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    run: Callable[[argparse.Namespace, Report], int] = module.run
    parser.set_defaults(run=run)
    return parser


def status_of(error: BaseException) -> int:
    """Return the exit status for an error that ended a verb or a file."""
    if isinstance(error, Failure):
        return error.status
    if isinstance(error, (OSError, MemoryError)):
        return IO
    is_of_data = isinstance(error, FastrecError) and not isinstance(error, TypeError)
    return FINDING if is_of_data else USAGE


# -- Options that several verbs have ---------------------------------------------------------------


def whole_number(least: int, most: int = 2**63 - 1) -> Callable[[str], int]:
    """Return the type of an option that is an integer from `least` to `most`."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}") from None
        if not least <= value <= most:
            no_limit = most == 2**63 - 1 and value < least
            limits = f"at least {least}" if no_limit else f"{least} to {most}"
            raise argparse.ArgumentTypeError(f"must be {limits}, got {value}")
        return value

    return number


def add_paths(parser: argparse.ArgumentParser, *, alone: bool = False) -> None:
    """Add the input files; with `alone`, each is processed separately, without standard input."""
    text = "a record file, a directory, a pattern or name@10"
    if alone:
        parser.add_argument("paths", nargs="+", metavar="FILE", help=text)
        return
    parser.add_argument("paths", nargs="+", metavar="FILE", help=f"{text}; '-' is standard input")
    add_any_shards(parser)


def add_any_shards(parser: argparse.ArgumentParser) -> None:
    """Add ``--any-shards``, which turns off the check of shard sets."""
    parser.add_argument(
        "--any-shards", action="store_true",
        help="read sets of shards as they are: incomplete, or of two generations",
    )  # fmt: skip


def add_json(parser: argparse.ArgumentParser, what: str = "print JSON, one object a line") -> None:
    """Add ``--json``, with `what` as its help."""
    parser.add_argument("--json", action="store_true", help=what)


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add ``--threads``."""
    parser.add_argument(
        "-j",
        "--threads",
        type=whole_number(1, 1024),
        default=usable_cpus(),
        metavar="N",
        help="threads (default: the usable processors)",
    )


def add_output(parser: argparse.ArgumentParser, text: str) -> None:
    """Add ``--output``, ``--compression`` and ``--overwrite``; `text` describes the output."""
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help=text)
    parser.add_argument(
        "--compression",
        choices=("none", *WRITABLE),
        default="auto",
        type=lambda text: text if text in ("none", "auto") else text.upper(),
        help="compression of the output (default: GZIP for a name that ends in .gz, ZSTD for .zst)",
    )
    add_overwrite(parser)


def add_overwrite(parser: argparse.ArgumentParser) -> None:
    """Add ``--overwrite``."""
    parser.add_argument(
        "--overwrite", action="store_true", help="replace an existing output, but no input"
    )


def add_selection(
    parser: argparse.ArgumentParser, *, limit: int | None = None, features: bool = True
) -> None:
    """Add the options that select records and, unless `features` is False, features."""
    many = "all" if limit is None else str(limit)
    parser.add_argument(
        "-n", "--limit", type=whole_number(0), metavar="N",
        help=f"number of records (default {many})",
    )  # fmt: skip
    parser.set_defaults(default_limit=limit)
    parser.add_argument(
        "--record", type=_record, dest="span", metavar="N",
        help="only record N of each file, counted from 0 as in error messages",
    )  # fmt: skip
    parser.add_argument(
        "--records", type=_span, dest="span", metavar="START:STOP",
        help="only records START to STOP - 1 of each file; either number may be omitted",
    )  # fmt: skip
    parser.set_defaults(features=None)
    if features:
        parser.add_argument(
            "--features", type=_names, metavar="A,B", help="only these features, in this order"
        )
    parser.add_argument(
        "--where", metavar="EXPR", help="only records for which this holds, such as 'label == 3'"
    )
    parser.add_argument(
        "--sample",
        type=whole_number(1),
        metavar="N",
        help="this number of records, drawn at random",
    )
    parser.add_argument(
        "--seed", type=whole_number(0), default=0, metavar="N", help="seed of --sample (default 0)"
    )
    parser.add_argument(
        "--skip-damage", action="store_true",
        help="continue after damaged records, which are named on standard error",
    )  # fmt: skip


def _record(text: str) -> range:
    number = whole_number(0)(text)
    return range(number, number + 1)


def _span(text: str) -> range:
    start, colon, stop = text.partition(":")
    if not colon:
        raise argparse.ArgumentTypeError(f"must be START:STOP, such as 100:110, got {text!r}")
    first = whole_number(0)(start or "0")
    return range(first, whole_number(first)(stop) if stop else 2**63 - 1)


def _names(text: str) -> tuple[str, ...]:
    names: Any = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError("must name at least one feature")
    return tuple(names)
