# SPDX-License-Identifier: Apache-2.0
"""Rewrite files as others, in order or shuffled, also if they are larger than memory."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable

import fastrec
from fastrec.cli.files import STDIN, expand, spooled, through_file
from fastrec.cli.grammar import FINDING, USAGE, add_output, add_paths, whole_number
from fastrec.cli.report import Failure, Report, counted, explained, shown
from fastrec.cli.split import size_of
from fastrec.errors import FastrecError

__all__ = ["Skip", "Steps", "add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec reshard``."""
    add_paths(parser)
    add_output(parser, "train.tfrecord stands for train-00000-of-00004.tfrecord and so on")
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--shards", type=whole_number(1, 99999), metavar="N", help="number of files (default 1)"
    )
    size.add_argument(
        "--shard-records", type=whole_number(1), metavar="N", help="number of records per file"
    )
    size.add_argument(
        "--size", type=size_of, metavar="BYTES", help="begin another file at this size"
    )
    parser.add_argument(
        "--shuffle", action="store_true", help="put all records into a random order"
    )
    parser.add_argument(
        "--seed",
        type=whole_number(0, 2**64 - 1),
        metavar="N",
        help="seed of the order (default: a random one)",
    )
    parser.add_argument(
        "--memory", type=size_of, default=256 << 20, metavar="BYTES",
        help="memory for records, approximately (default 256Mi)",
    )  # fmt: skip
    parser.add_argument("--resume", action="store_true", help="resume a job that was interrupted")
    parser.add_argument(
        "--work", metavar="DIR",
        help="directory for intermediate files; required to resume if the output is a URL",
    )  # fmt: skip
    parser.add_argument("--skip-damage", action="store_true", help="leave damaged records out")


class Steps:
    """Progress that is reported as a part of a total."""

    def __init__(self, report: Report, what: str) -> None:
        self._report, self._what = report, what
        self._stack = contextlib.ExitStack()
        self._advance: Callable[[int], object] | None = None
        self._done = 0

    def __call__(self, done: int, total: int | None) -> None:
        if self._advance is None:
            self._advance = self._stack.enter_context(self._report.progress(self._what, total or 0))
        self._advance(done - self._done)
        self._done = done

    def __enter__(self) -> Steps:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stack.close()


class Skip:
    """Continues after damage, and reports each damaged place once, even if files are read twice.

    Attributes
    ----------
    status : int
        The exit status so far.
    """

    def __init__(self, report: Report) -> None:
        self.status: int = 0
        self._report = report
        self._named: set[tuple[object, int | None]] = set()

    def __call__(self, error: FastrecError) -> None:
        if (error.path, error.offset) not in self._named:
            self._named.add((error.path, error.offset))
            self._report.complain(f"damage: {explained(error, hints=False)}")
        self.status = FINDING


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Write all files or none, and print their number; return 1 if there is damage."""
    sizes = (arguments.shards, arguments.shard_records, arguments.size)
    if arguments.output == STDIN and (arguments.resume or any(sizes)):
        raise Failure("--output - and several shards or --resume are mutually exclusive", USAGE)
    if STDIN in arguments.paths and arguments.resume:
        raise Failure("--resume and standard input are mutually exclusive", USAGE)
    files, missing = expand(arguments.paths, any_shards=arguments.any_shards)
    if missing:
        raise missing[0]
    skip = Skip(report)
    try:
        with (
            spooled(files) as paths,
            through_file(arguments.output) as output,
            Steps(report, "resharding") as steps,
        ):
            done = fastrec.reshard(
                paths,
                output,
                shards=arguments.shards,
                shard_records=arguments.shard_records,
                shard_bytes=arguments.size,
                shuffle=arguments.shuffle,
                seed=arguments.seed,
                compression=None if arguments.compression == "none" else arguments.compression,
                memory=arguments.memory,
                resume=arguments.resume,
                overwrite=arguments.overwrite,
                on_error=skip if arguments.skip_damage else "raise",
                progress=steps,
                work=arguments.work,
                source_shards="any",
            )
    except ValueError as error:
        if type(error) is ValueError:
            raise Failure(str(error), USAGE) from None
        raise
    if arguments.output == STDIN:
        return skip.status
    first, last = shown(done.paths[0]), shown(done.paths[-1])
    names = first if first == last else f"{first} to {last}"
    report.line(f"wrote    {names}: {counted(done.records, 'record')}")
    return skip.status
