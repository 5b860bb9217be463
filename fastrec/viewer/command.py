# SPDX-License-Identifier: Apache-2.0
"""Show records on a local web page."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser

from fastrec.cli.files import STDIN, check_output, expand, write_output
from fastrec.cli.grammar import FINDING, Terminated, add_overwrite, add_paths, whole_number
from fastrec.cli.report import Report, counted, shown
from fastrec.viewer.model import Model
from fastrec.viewer.page import single_html
from fastrec.viewer.server import Server
from fastrec.viewer.tokens import load_tokens

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec view``."""
    add_paths(parser)
    parser.add_argument(
        "--html",
        metavar="FILE",
        help="write a single page with the first records, serve nothing; '-' is standard output",
    )
    add_overwrite(parser)
    parser.add_argument(
        "-n", "--limit", type=whole_number(0, 200), default=50, metavar="N",
        help="number of records in that page, up to 200 (default 50)",
    )  # fmt: skip
    parser.add_argument(
        "--port", type=whole_number(0, 65535), default=0, metavar="N",
        help="the port on 127.0.0.1 (default: a free one)",
    )  # fmt: skip
    parser.add_argument(
        "--tokenizer", metavar="FILE",
        help="decode lists of token ids: a tokenizer.json, or a vocabulary with one token per line",
    )  # fmt: skip
    parser.add_argument("--no-browser", action="store_true", help="print the address only")


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print the address of the page and serve it until Ctrl-C, or write it to a file."""
    files, missing = expand(arguments.paths, any_shards=arguments.any_shards)
    if missing:
        raise missing[0]
    if arguments.html:
        check_output(arguments.html, arguments.overwrite, files)
    model = Model(files, load_tokens(arguments.tokenizer) if arguments.tokenizer else ())
    if arguments.html:
        data = {"summary": model.summary(), **model.page(0, arguments.limit, inline=True)}
        write_output(arguments.html, single_html(data), arguments.overwrite, files)
        if arguments.html != STDIN:
            size = counted(len(data["records"]), "record")
            report.line(f"wrote    {shown(arguments.html)}: {size}")
        for lost in model.source.damage:
            report.complain(f"damage: {shown(lost['path'])}: {lost['reason']}")
        return FINDING if model.source.damage else 0
    with Server(model, arguments.port) as server:
        try:
            report.line(server.url)
            report.complain(f"{counted(model.source.count, 'record')}; Ctrl-C ends it")
            if not arguments.no_browser and sys.stdout.isatty() and not os.environ.get("SSH_TTY"):
                webbrowser.open(server.url)
            server.serve_forever()
        except Terminated:
            raise
        except KeyboardInterrupt:  # the usual way to end it
            report.complain("ended")
    return 0
