# SPDX-License-Identifier: Apache-2.0
"""The ``fastrec`` command: each verb is a module with ``add_arguments`` and ``run``."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence

from fastrec.cli.grammar import (
    BROKEN_PIPE,
    INTERRUPTED,
    TERMINATED,
    USAGE,
    Terminated,
    is_verb,
    program,
    status_of,
    unknown_verb,
    verb_parser,
)
from fastrec.cli.report import Failure, Report, explained, shown
from fastrec.cli.streams import flush_stdout, silence_stdout, standard_streams
from fastrec.errors import FastrecError
from fastrec.storage.urls import local_path

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        The words after the program's name; ``sys.argv[1:]`` by default.

    Returns
    -------
    int
        The exit status: 0 if all is well, 1 for a finding, such as damage or a difference, 2 for
        a wrong request, 74 for an error of the operating system, 130 after Ctrl-C except
        for ``view``, 141 when the reader of standard output has closed it, 143 after SIGTERM.

    Raises
    ------
    SystemExit
        From argparse, after ``--help`` and for words that it does not know.
    """
    with standard_streams(), _terminable():
        _accept_any_name(sys.stdout)
        _accept_any_name(sys.stderr)
        try:
            return _run(list(sys.argv[1:] if argv is None else argv))
        except SystemExit:  # argparse has printed a help text, a version, or an error
            try:
                flush_stdout()
            except BrokenPipeError:
                silence_stdout()
                return BROKEN_PIPE
            except OSError as error:
                Report().complain(f"error: {explained(error)}")
                return status_of(error)
            raise
        except Terminated:
            Report().complain("terminated")
            return TERMINATED
        except KeyboardInterrupt:
            Report().complain("interrupted")
            return INTERRUPTED


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Raise an exception for SIGTERM, unless the process has another handler."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def end(*_: object) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


# The text of these errors is for the user; any other error is a bug, shown with its traceback.
_ERRORS = (Failure, FastrecError, OSError, ImportError, MemoryError, TypeError, ValueError)


def _run(words: list[str]) -> int:
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    if not words:
        program().print_help(sys.stderr)
        return USAGE
    if "--version" in words and set(words) <= {"--version", "-v", "--verbose"} and len(words) > 1:
        from fastrec import show_versions

        show_versions()
        return 0
    if words[:2] == ["completion", "features"]:
        from fastrec.cli.completion import print_names

        return print_names(words[2:])
    if not is_verb(words[0]):
        if not words[0].startswith("-"):
            program().error(unknown_verb(words[0]))
        program().parse_args(words)  # --help, --version, or an error
        return USAGE
    parser = verb_parser(words[0])
    try:
        arguments = parser.parse_intermixed_args(_marked([*map(_local_word, words[1:])]))
    except ValueError as error:
        parser.error(str(error))
    for name, value in vars(arguments).items():
        setattr(arguments, name, _unmarked(value))
    from fastrec.cli.files import check_outputs_of

    report = Report(quiet=getattr(arguments, "quiet", False))
    try:
        with _warnings_on(report):
            check_outputs_of(arguments)
            status: int = arguments.run(arguments, report)
        flush_stdout()
    except BrokenPipeError:
        silence_stdout()
        return BROKEN_PIPE
    except _ERRORS as error:
        report.complain(f"error: {explained(error)}")
        return error.status if isinstance(error, Failure) else status_of(error)
    return status


def _local_word(word: str) -> str:
    """Replace a ``file://`` URL, also one that follows ``--option=``, by the path that it names.

    An empty word, such as ``"$FILE"`` of a variable that is not set, is an error.
    """
    option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
    if not value and (equals or not option):
        raise ValueError(f"an argument must not be empty, got {word!a}")
    return f"{option}{equals}{local_path(value)}"


_MARK = "\0"  # no argument of a process has a null character


def _marked(words: list[str]) -> list[str]:
    """Mark words after ``--`` that begin with a dash, which argparse would take for options."""
    if "--" not in words:
        return words
    end = words.index("--")
    return words[:end] + [_MARK + w if len(w) > 1 and w[0] == "-" else w for w in words[end + 1 :]]


def _unmarked(value: object) -> object:
    if isinstance(value, list):
        return [*map(_unmarked, value)]
    return value.removeprefix(_MARK) if isinstance(value, str) else value


@contextlib.contextmanager
def _warnings_on(report: Report) -> Iterator[None]:
    """Print each warning as one line, without the line of source code that Python adds."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        report.complain(f"warning: {shown(str(message))}")

    with warnings.catch_warnings():
        warnings.simplefilter("default", RuntimeWarning)
        warnings.showwarning = show
        yield


def _accept_any_name(stream: object) -> None:
    """Escape characters of file names that the terminal's encoding lacks."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
