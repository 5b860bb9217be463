# SPDX-License-Identifier: Apache-2.0
"""Convert between record files and tables, or other formats of records."""

from __future__ import annotations

import argparse

import fastrec
from fastrec.cli import lerobot
from fastrec.cli.files import STDIN, expand, spooled, through_file
from fastrec.cli.grammar import USAGE, add_overwrite, add_paths, add_threads, whole_number
from fastrec.cli.report import Failure, Report, counted, shown
from fastrec.cli.reshard import Skip, Steps
from fastrec.tables.formats import FOLDERS, KNOWN, TFRECORD

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec convert``."""
    add_paths(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE",
        help="the new file, or - for standard output; its name tells the format: .parquet, .arrow, "
        ".csv, .jsonl, .tar, .bagz, .array_record, .riegeli, .npz, records, or a directory: "
        ".lance, .mds, .litdata",
    )  # fmt: skip
    for name in ("from", "to"):
        parser.add_argument(
            f"--{name}", choices=(*KNOWN, lerobot.LEROBOT), dest=f"{name}_format",
            help="the format, where no name tells it",
        )  # fmt: skip
    parser.add_argument(
        "--features", type=_names, metavar="A,B", help="only these columns, in this order"
    )
    for name in ("text", "images"):
        parser.add_argument(
            f"--{name}", type=_names, metavar="A,B",
            help=f"columns of bytes that are {name} in Parquet"
            f"{' and Arrow' if name == 'text' else ''} (default: detected)",
        )  # fmt: skip
    parser.add_argument(
        "--keep-bytes", action="store_true",
        help="keep all columns of bytes that --text and --images do not name",
    )  # fmt: skip
    parser.add_argument(
        "--tensors", action="store_true",
        help="store arrays of fixed shape as arrow.fixed_shape_tensor, not as flat lists",
    )  # fmt: skip
    parser.add_argument(
        "--key", metavar="FEATURE",
        help="the feature whose values name the samples in tar (default: the record's number)",
    )  # fmt: skip
    parser.add_argument(
        "--extensions", type=_pairs, metavar="A=jpg,B=cls",
        help="extensions of features in tar (default: the feature and the type of its values)",
    )  # fmt: skip
    parser.add_argument("--raw", action="store_true", help="store whole records in one column")
    parser.add_argument(
        "--base64", action="store_true", help="represent bytes as base64 in CSV and JSON lines"
    )
    parser.add_argument(
        "--compression", metavar="NAME", help="compression of the output, such as zstd for Parquet"
    )
    parser.add_argument("--level", type=whole_number(0), metavar="N", help="compression level")
    parser.add_argument(
        "--shard-records", type=whole_number(1), metavar="N", help="number of records per file"
    )
    parser.add_argument(
        "--row-group", type=whole_number(1), default=1 << 17, metavar="N",
        help="most rows of a row group of Parquet (default 131072)",
    )  # fmt: skip
    add_overwrite(parser)
    parser.add_argument("--skip-damage", action="store_true", help="leave damaged records out")
    add_threads(parser)
    lerobot.add_arguments(parser, _pairs)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _pairs(text: str) -> dict[str, str]:
    pairs = [each.rpartition("=") for each in _names(text)]
    if odd := [value for name, _, value in pairs if not name]:
        raise argparse.ArgumentTypeError(f"must be FEATURE=VALUE, got {odd[0]!a}")
    return {name: value for name, _, value in pairs}


# Replacements for the names of fastrec.convert's arguments in messages.
_OPTIONS = {
    "fastrec.reshard": "`fastrec reshard`",
    "source_format and target_format": "--from and --to",
    "name the columns by features": "name the columns by --features",
    "base64=True": "--base64",
    "key= names": "--key names",
    "extensions= chooses": "--extensions chooses",
}


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Write the whole file or nothing, and print a summary; return 1 if there is damage."""
    if lerobot.is_wanted(arguments):
        return lerobot.run(arguments, report)
    if arguments.output == STDIN and arguments.to_format in FOLDERS:
        text = f"--output - cannot be a directory, which {arguments.to_format} is; name one"
        raise Failure(text, USAGE)
    if arguments.output == STDIN and arguments.shard_records:
        raise Failure("--output - and --shard-records are mutually exclusive", USAGE)
    files, missing = expand(arguments.paths, any_shards=arguments.any_shards, tables=True)
    if missing:
        raise missing[0]
    skip = Skip(report)
    detected = False if arguments.keep_bytes else None
    try:
        suffix = "" if arguments.from_format in (None, TFRECORD) else f".{arguments.from_format}"
        with (
            spooled(files, suffix) as paths,
            through_file(arguments.output) as output,
            Steps(report, "converting") as steps,
        ):
            done = fastrec.convert(
                paths,
                output,
                source_format=arguments.from_format,
                target_format=arguments.to_format,
                features=arguments.features,
                raw=arguments.raw,
                key=arguments.key,
                extensions=arguments.extensions,
                text=arguments.text or detected,
                images=arguments.images or detected,
                tensors=arguments.tensors,
                base64=arguments.base64,
                compression=arguments.compression,
                level=arguments.level,
                row_group_size=arguments.row_group,
                shard_records=arguments.shard_records,
                overwrite=arguments.overwrite,
                threads=arguments.threads,
                on_error=skip if arguments.skip_damage else "raise",
                progress=steps,
                source_shards="any",
            )
    except (TypeError, ValueError) as error:
        if type(error) in (TypeError, ValueError):
            text = str(error)
            for name, option in _OPTIONS.items():
                text = text.replace(name, option)
            raise Failure(text, USAGE) from None
        raise
    if arguments.output == STDIN:
        return skip.status
    first, last = shown(done.paths[0]), shown(done.paths[-1])
    names = first if first == last else f"{first} to {last}"
    report.line(f"wrote    {names}: {counted(done.records, 'record')}")
    for kind, columns in (("text", done.text), ("images", done.images)):
        if columns:
            report.line(f"{kind:<8} {', '.join(map(shown, columns))}")
    return skip.status
