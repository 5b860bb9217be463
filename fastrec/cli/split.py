# SPDX-License-Identifier: Apache-2.0
"""Write the records of files into several, in order."""

from __future__ import annotations

import argparse
import bisect
import contextlib
from typing import Any

import fastrec
from fastrec.cli.files import STDIN, expand, spooled
from fastrec.cli.grammar import USAGE, add_output, add_paths, add_selection, whole_number
from fastrec.cli.report import Failure, Report, counted, shown
from fastrec.cli.select import Selector
from fastrec.records.shard_writer import ShardWriter

__all__ = ["add_arguments", "run", "size_of"]

_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
          "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec split``."""
    add_paths(parser)
    add_output(parser, "train.tfrecord stands for train-00000-of-00004.tfrecord and so on")
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument(
        "--shards", type=whole_number(1, 99999), metavar="N",
        help="number of files, with equally many consecutive records",
    )  # fmt: skip
    size.add_argument(
        "--shard-records", type=whole_number(1), metavar="N", help="number of records per file"
    )
    size.add_argument(
        "--size",
        type=size_of,
        metavar="BYTES",
        help="begin a new file at this size, such as 100M",
    )
    add_selection(parser, features=False)


def size_of(text: str) -> int:
    """Return the number of bytes that a size such as ``100M`` or ``1Gi`` denotes."""
    number = text.rstrip("bB")
    unit = number.lstrip("0123456789")
    try:
        value = int(number.removesuffix(unit)) * _UNITS[unit]
    except (ValueError, KeyError):
        raise argparse.ArgumentTypeError(f"must be a size such as 100M, got {text!r}") from None
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1 byte")
    return value


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Write all files or none, and print their number."""
    if arguments.output == STDIN:
        raise Failure("--output must be a file name, got standard output", USAGE)
    selector = Selector.of(arguments, report)
    files, missing = expand(arguments.paths, any_shards=arguments.any_shards)
    if missing:
        raise missing[0]
    selector.strict = True
    with contextlib.ExitStack() as stack:
        if arguments.shards is not None:
            files = stack.enter_context(spooled(files))  # counts the records first
        writer = stack.enter_context(_writer(arguments, files))
        for block in selector.blocks(files):
            writer.write_many(block.records)
    first, last = shown(writer.paths[0]), shown(writer.paths[-1])
    names = first if first == last else f"{first} to {last}"
    report.line(f"wrote    {names}: {counted(writer.count, 'record')}")
    return selector.status


class _EvenWriter(ShardWriter):
    """Writes `total` records to its shards, one shard after the other, as evenly as possible."""

    def __init__(self, path: str, total: int, shards: int, **options: Any) -> None:
        super().__init__(path, shards=shards, **options)
        self._ends = [total * (index + 1) // shards for index in range(shards)]

    def _write_block(self, records: Any) -> None:
        start = 0
        while start < len(records):
            number = bisect.bisect_right(self._ends, self._turn)
            stop = min(len(records), start + self._ends[number] - self._turn)
            self._shards[number].write_many(records, start, stop)
            self._turn += stop - start
            start = stop


def _writer(arguments: argparse.Namespace, files: list[str]) -> ShardWriter:
    options: dict[str, Any] = {
        "compression": None if arguments.compression == "none" else arguments.compression,
        "overwrite": arguments.overwrite,
        "inputs": files,
    }
    shards = arguments.shards
    if shards is None:
        sizes = {"shard_records": arguments.shard_records, "shard_bytes": arguments.size}
        return ShardWriter(arguments.output, **sizes, **options)
    if arguments.where or arguments.skip_damage or arguments.span is not None:
        raise Failure(
            "--shards and --where, --records or --skip-damage are mutually exclusive; "
            "use --shard-records instead",
            USAGE,
        )
    total = sum(map(fastrec.count, files))
    for most in (arguments.limit, arguments.sample):
        total = total if most is None else min(total, most)
    if total < shards:
        raise Failure(f"--shards must be at most {total}, the number of records", USAGE)
    return _EvenWriter(arguments.output, total, shards, **options)
