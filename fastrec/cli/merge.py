# SPDX-License-Identifier: Apache-2.0
"""Write the records of files into one."""

from __future__ import annotations

import argparse

from fastrec.cli.files import STDIN, expand, open_output
from fastrec.cli.grammar import USAGE, add_output, add_paths, add_selection
from fastrec.cli.report import Failure, Report, counted, shown
from fastrec.cli.select import Selector

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec merge``."""
    add_paths(parser)
    add_output(parser, "the new file, or '-' for standard output")
    add_selection(parser, features=False)


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Write the selected records unchanged, in the order of the files.

    An error leaves no output, unless ``--skip-damage`` continues after it.
    """
    selector = Selector.of(arguments, report)
    files, missing = expand(arguments.paths, any_shards=arguments.any_shards)
    if missing:
        raise missing[0]
    selector.strict = True
    try:
        with open_output(
            arguments.output,
            None if arguments.compression == "none" else arguments.compression,
            overwrite=arguments.overwrite,
            inputs=files,
        ) as output:
            for block in selector.blocks(files):
                output.write_many(block.records)
    except ValueError as error:
        if type(error) is ValueError:
            raise Failure(str(error), USAGE) from None
        raise
    if arguments.output != STDIN:
        report.line(f"wrote    {shown(arguments.output)}: {counted(output.count, 'record')}")
    return selector.status
