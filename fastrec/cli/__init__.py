# SPDX-License-Identifier: Apache-2.0
"""The ``fastrec`` command: each verb is a module with ``add_arguments`` and ``run``."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Sequence

from fastrec import __version__
from fastrec.cli.report import Failure, Report, shown
from fastrec.errors import FastrecError

__all__ = ["main"]

# Loaded by name: the demonstration and the benchmarks are built on this package.
_COMMANDS = {
    "demo": "fastrec.demo.command",
    "images": "fastrec.cli.images",
    "verify": "fastrec.cli.verify",
    "repair": "fastrec.cli.repair",
    "schema": "fastrec.cli.schema",
    "count": "fastrec.cli.count",
    "bench": "fastrec.bench.command",
}

NO_COMMAND = 2
INTERRUPTED = 130
BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        The words after the program's name; ``sys.argv[1:]`` by default.

    Returns
    -------
    int
        The exit status: 0 if all is well, 1 for a finding or a failure, 2 for a wrong request, 130
        after Ctrl-C, 141 when the reader of standard output has closed it.

    Raises
    ------
    SystemExit
        From argparse, after ``--help`` and for words that it does not know.
    """
    _accept_any_name(sys.stdout)
    parser = _parser()
    words = sys.argv[1:] if argv is None else argv
    if not words:
        parser.print_help(sys.stderr)
        return NO_COMMAND
    arguments = parser.parse_args(words)
    report = Report()
    try:
        status: int = arguments.run(arguments, report)
        sys.stdout.flush()
    except BrokenPipeError:
        _silence_stdout()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        report.complain("interrupted")
        return INTERRUPTED
    except (Failure, FastrecError, OSError, ImportError, MemoryError) as error:
        report.complain(f"error: {_explained(error)}")
        return error.status if isinstance(error, Failure) else 1
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fastrec", description="Inspect, verify, repair and write TFRecord files."
    )
    parser.add_argument("--version", action="version", version=f"fastrec {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, home in _COMMANDS.items():
        module = importlib.import_module(home)
        text = (module.__doc__ or "").strip().splitlines()[0]
        command = commands.add_parser(name, help=text[0].lower() + text[1:-1], description=text)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def _explained(error: BaseException) -> str:
    """One line about `error`, with the file that it is about."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{shown(os.fsdecode(error.filename))}: " if _is_name(error.filename) else ""
        return f"{where}{error.strerror}"
    if isinstance(error, MemoryError):
        return "out of memory"
    return shown(str(error)) or type(error).__name__


def _is_name(filename: object) -> bool:
    return isinstance(filename, (str, bytes, os.PathLike)) and bool(os.fspath(filename))


def _accept_any_name(stream: object) -> None:
    """File names may hold what the terminal's encoding does not: print those escaped."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _silence_stdout() -> None:
    """Keep the interpreter's last flush from failing when nobody reads standard output."""
    with contextlib.suppress(OSError, ValueError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
        os.close(devnull)
