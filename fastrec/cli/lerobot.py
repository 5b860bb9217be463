# SPDX-License-Identifier: Apache-2.0
"""Convert episodes of TFDS to LeRobot's format and back, for ``fastrec convert``."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from fastrec.cli.grammar import USAGE, whole_number
from fastrec.cli.report import Failure, Report, counted, shown
from fastrec.cli.reshard import Steps

if TYPE_CHECKING:
    from fastrec import tfds

__all__ = ["LEROBOT", "add_arguments", "is_wanted", "run"]

LEROBOT = "lerobot"

_OPTIONS = ("fps", "videos", "split", "names", "resume")
_OTHERS = (
    "features", "text", "images", "keep_bytes", "tensors", "key", "extensions", "raw", "base64",
    "compression", "level", "shard_records", "overwrite", "skip_damage",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser, pairs: object) -> None:
    """Add the options of ``fastrec convert`` for LeRobot."""
    group = parser.add_argument_group(
        "LeRobot", "--to lerobot reads the directory of a TFDS dataset of episodes; "
        "--from lerobot -o DIR/NAME writes one",
    )  # fmt: skip
    group.add_argument(
        "--fps", type=whole_number(1), metavar="N", help="steps per second, for --to lerobot"
    )
    group.add_argument(
        "--split", metavar="NAME", help="the episodes, such as 'train[:90%%]' (default: the split)"
    )
    group.add_argument(
        "--videos", action="store_true", help="store images as MP4 videos, which requires PyAV"
    )
    group.add_argument(
        "--names", type=pairs, metavar="A=X,B=Y",  # type: ignore[arg-type]
        help="LeRobot names of features, such as observation/proprio=observation.state",
    )  # fmt: skip
    group.add_argument(
        "--resume", action="store_true",
        help="keep finished files after a failure, and continue after those of an earlier call",
    )  # fmt: skip


def is_wanted(arguments: argparse.Namespace) -> bool:
    """Return whether a side of the conversion is LeRobot's format.

    Raises
    ------
    Failure
        If an option belongs to another conversion.
    """
    names = (*_OPTIONS, *_OTHERS)
    given = [name for name in names if getattr(arguments, name) not in (None, False)]
    allowed: tuple[str, ...] = _OTHERS
    if arguments.to_format == LEROBOT:
        allowed = _OPTIONS
    elif arguments.from_format == LEROBOT:
        allowed = ("resume",)
    for name in given:
        if name not in allowed:
            option = f"--{name.replace('_', '-')}"
            if allowed is _OTHERS:
                raise Failure(f"{option} requires --to lerobot", USAGE)
            raise Failure(f"{option} is not an option of a conversion of LeRobot's format", USAGE)
    return allowed is not _OTHERS


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Convert one directory, and print a summary."""
    if len(arguments.paths) != 1 or "-" in (arguments.paths[0], arguments.output):
        raise Failure("--from lerobot and --to lerobot require one directory, and -o", USAGE)
    [source] = arguments.paths
    from fastrec import tfds

    try:
        with Steps(report, "converting") as steps:
            if arguments.to_format != LEROBOT:
                folder, name = os.path.split(os.path.normpath(arguments.output))
                target = tfds.from_lerobot(
                    source, folder or ".", name, resume=arguments.resume, progress=steps
                )
                dataset = tfds.load(target, split="train")
            else:
                dataset = _dataset(source, arguments)
                target = tfds.to_lerobot(
                    dataset,
                    arguments.output,
                    fps=arguments.fps,
                    videos=arguments.videos,
                    names=arguments.names,
                    resume=arguments.resume,
                    progress=steps,
                )
    except (TypeError, ValueError) as error:
        if type(error) in (TypeError, ValueError):
            raise Failure(str(error), USAGE) from None
        raise
    report.line(f"wrote    {shown(target)}: {counted(len(dataset), 'episode')}")
    return 0


def _dataset(source: str, arguments: argparse.Namespace) -> tfds.Dataset:
    if arguments.fps is None:
        raise Failure("--to lerobot requires --fps, the number of steps per second", USAGE)
    if arguments.from_format not in (None, "tfrecord"):
        raise Failure("--to lerobot requires a dataset of record files", USAGE)
    from fastrec import tfds

    if arguments.split is not None:
        dataset: tfds.Dataset = tfds.load(source, split=arguments.split)
        return dataset
    splits = tfds.load(source)
    if len(splits) != 1:
        raise Failure(f"--split must be one of {', '.join(splits)}", USAGE)
    [dataset] = splits.values()
    return dataset
