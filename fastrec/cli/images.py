# SPDX-License-Identifier: Apache-2.0
"""Write a directory of images to record files."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from fastrec import image
from fastrec.cli.files import STDIN, check_local
from fastrec.cli.grammar import USAGE, add_overwrite, whole_number
from fastrec.cli.report import Failure, Report, counted, shown

__all__ = ["add_arguments", "run"]


_MOST_LINES = 20  # skipped images that are named; the others are counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec images``."""
    parser.add_argument(
        "directory", metavar="DIR", help="directory of images, searched recursively"
    )
    parser.add_argument(
        "output",
        metavar="OUT",
        help="output file, such as train.tfrecord; shards are named after it",
    )
    parser.add_argument(
        "--shards", type=whole_number(1, 99999), default=1, metavar="N", help="number of files"
    )
    parser.add_argument(
        "--format",
        choices=("jpeg", "png", "webp", "raw"),
        help="format to store, raw for pixels (default: that of each image)",
    )
    parser.add_argument(
        "--resize",
        type=whole_number(1),
        metavar="SIDE",
        help="make images smaller whose shorter side has more than SIDE pixels",
    )
    parser.add_argument(
        "--quality",
        type=whole_number(1, 100),
        metavar="Q",
        help="quality of images that become JPEG or WebP (default 90)",
    )
    parser.add_argument(
        "--labels",
        default="directories",
        metavar="CSV",
        help="a CSV file of filename,label; 'directories' (the default) or 'none'",
    )
    parser.add_argument(
        "--threads",
        type=whole_number(1, 99999),
        metavar="N",
        help="number of threads",
    )
    parser.add_argument(
        "--no-check", action="store_true", help="read headers only; do not check that images decode"
    )
    parser.add_argument("--restart", action="store_true", help="write finished shards again")
    add_overwrite(parser)


def _steps(advance: Callable[[int], object]) -> Callable[[int, int], None]:
    """Convert totals to increments."""
    before = 0

    def progress(done: int, _: int) -> None:
        nonlocal before
        advance(done - before)
        before = done

    return progress


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print one line per file that was left out, and a total; return 1 if nothing was written."""
    check_local([arguments.directory, arguments.output], "images")
    if STDIN in (arguments.directory, arguments.output):
        raise Failure("images requires a directory and the name of a record file, got -", USAGE)
    found = image.find(arguments.directory)
    total = len(found)
    root = Path(arguments.directory)
    if total and arguments.labels == "directories" and all(path.parent == root for path in found):
        raise Failure(
            f"no image is in a sub-directory of {shown(arguments.directory)}, which would be its "
            f"label; use --labels none or --labels FILE.csv",
            USAGE,
        )
    with report.progress("writing", total) as advance:
        try:
            written = image.write_directory(
                arguments.directory,
                arguments.output,
                shards=arguments.shards,
                format=arguments.format,
                resize=arguments.resize,
                quality=arguments.quality,
                labels=None if arguments.labels == "none" else arguments.labels,
                check=not arguments.no_check,
                threads=arguments.threads,
                resume=not arguments.restart,
                overwrite=arguments.overwrite,
                progress=_steps(advance),
            )
        except ValueError as error:
            raise Failure(str(error)) from None
    for name, reason in written.skipped[:_MOST_LINES]:
        report.line(f"skipped  {shown(name)}: {shown(reason)}", style="yellow")
    if len(written.skipped) > _MOST_LINES:
        more = counted(len(written.skipped) - _MOST_LINES, "file")
        report.line(f"skipped  {more} more", style="yellow")
    resumed = f", {written.resumed} of them finished before" if written.resumed else ""
    report.line(
        f"wrote    {counted(written.count, 'image')} of {counted(len(written.labels), 'label')} "
        f"into {counted(len(written.paths), 'file')}{resumed}; {len(written.skipped)} skipped"
    )
    first, last = shown(written.paths[0]), shown(written.paths[-1])
    report.line(f"files    {first}" + ("" if first == last else f" to {last}"))
    return 0 if written.count else 1
