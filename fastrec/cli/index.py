# SPDX-License-Identifier: Apache-2.0
"""Write where the records of files begin, for random access."""

from __future__ import annotations

import argparse

import fastrec
from fastrec.cli.files import STDIN, expand
from fastrec.cli.grammar import USAGE, add_json, add_overwrite, add_paths, status_of
from fastrec.cli.parallel import Check, in_order
from fastrec.cli.report import Failure, Report, counted, explained, shown
from fastrec.errors import MissingRecordsError
from fastrec.parsing.index_columns import names_of
from fastrec.records.paths import DATASET_SUFFIX, beside

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec index``."""
    add_paths(parser, alone=True)
    parser.add_argument(
        "--text",
        action="store_true",
        help="write lines of 'offset size' into FILE.idx, which DALI and the tfrecord package "
        "read, as their tfrecord2idx does; default: FILE.frindex, which fastrec finds by itself",
    )
    parser.add_argument(
        "--columns",
        metavar="LIST",
        help="also keep numbers of each record, for where=, weights= and packing=, in "
        "FILE.frcolumns, or INDEX.frcolumns with --dataset: 'label,len(tokens),size(image)'; reads "
        "and verifies every record",
    )
    parser.add_argument(
        "--dataset",
        metavar="INDEX",
        help="write one index of all files, whose name ends in .frdataset, and none for each; every"
        "  command and function reads the files that it describes",
    )
    parser.add_argument("-o", "--output", metavar="INDEX", help="write it there; for one file")
    add_overwrite(parser)
    add_json(parser)


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print a line for each index."""
    if STDIN in (*arguments.paths, arguments.output, arguments.dataset):
        raise Failure("index requires files, got -: an index holds the positions of a file", USAGE)
    if arguments.dataset is not None:
        return _dataset(arguments, report)
    files, missing = expand(arguments.paths)
    failures: list[Exception] = []
    for problem in missing:
        if isinstance(problem, MissingRecordsError):  # each file has a separate index
            report.complain(f"warning: {explained(problem, hints=False)}")
        else:
            failures.append(problem)
    if arguments.output and len(files) + len(failures) > 1:
        raise Failure("--output and several files are mutually exclusive", USAGE)
    if arguments.columns is not None and (arguments.text or arguments.output):
        raise Failure("--columns is kept beside the file: leave out --text and --output", USAGE)
    columns = None if arguments.columns is None else _checked(arguments.columns)

    def build(path: str, _: Check) -> tuple[str, int]:
        index = fastrec.Index.build(path, columns=columns)
        if not arguments.text:
            return index.save(arguments.output, overwrite=arguments.overwrite), len(index)
        target = arguments.output or beside(path, ".idx")
        index.write_text(target, overwrite=arguments.overwrite)
        return target, len(index)

    with report.progress("indexing files", len(files)) as advance:
        for path, done in in_order(build, files, 1, here=lambda _: True):
            advance(1)
            if isinstance(done, Exception):
                failures.append(done)
            elif arguments.json:
                report.json({"path": path, "index": done[0], "records": done[1]})
            else:
                report.line(f"{shown(done[0])}: {counted(done[1], 'record')}")
    for error in failures:
        report.complain(f"error: {explained(error)}")
    return max(map(status_of, failures), default=0)


def _dataset(arguments: argparse.Namespace, report: Report) -> int:
    """Write one index of all files."""
    if arguments.text or arguments.output:
        raise Failure("--dataset and --text or --output are mutually exclusive", USAGE)
    if not arguments.dataset.endswith(DATASET_SUFFIX):
        raise Failure(f"--dataset must end in {DATASET_SUFFIX}, got {arguments.dataset}", USAGE)
    columns = None if arguments.columns is None else _checked(arguments.columns)
    index = fastrec.DatasetIndex.build(
        arguments.paths, arguments.dataset, overwrite=arguments.overwrite, columns=columns
    )
    if arguments.json:
        line = {"index": index.path, "files": len(index), "records": index.records}
        report.json(line)
    else:
        files, records = counted(len(index), "file"), counted(index.records, "record")
        report.line(f"{shown(arguments.dataset)}: {files}, {records}")
    return 0


def _checked(columns: str) -> str:
    try:
        names_of(columns)
    except ValueError as error:
        raise Failure(f"--columns: {error}", USAGE) from error
    return columns
