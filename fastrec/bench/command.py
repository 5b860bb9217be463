# SPDX-License-Identifier: Apache-2.0
"""Measure fastrec against other libraries and the limits of this machine."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from dataclasses import replace

import fastrec
from fastrec.bench import chart, suite
from fastrec.bench.cases import CASES
from fastrec.bench.data import DataFailed
from fastrec.bench.engine import Rules
from fastrec.bench.jobs import JOBS, PEERS
from fastrec.bench.report import Table, headline, markdown, tables, to_json, verdict_table
from fastrec.cli.files import check_output, write_output
from fastrec.cli.grammar import add_overwrite
from fastrec.cli.report import Failure, Report
from fastrec.records.targets import write_file
from fastrec.threads.cpus import usable_cpus

__all__ = ["add_arguments", "run"]

_LOOP_STEPS, _LOOP_BATCH, _LONGEST_STEP_MS = 50, 128, 60_000
_QUICK_SCALE, _QUICK = 0.1, Rules(rounds=3, budget_s=2.0, turn_s=0.02)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec bench``."""
    parser.add_argument(
        "--case",
        action="append",
        default=[],
        metavar="NAME",
        help=f"only this case; repeat for more: {', '.join(CASES)}",
    )
    parser.add_argument(
        "--job",
        action="append",
        default=[],
        metavar="NAME",
        help=f"only this job; repeat for more: {', '.join(JOBS)}",
    )
    parser.add_argument("--file", metavar="PATH", help="measure on this file instead")
    parser.add_argument(
        "--step-ms",
        type=float,
        metavar="X",
        help="with --file: run a loop of steps of X milliseconds instead, and print how much "
        "faster loading would help, and what limits it",
    )
    parser.add_argument(
        "--peers",
        action="append",
        default=[],
        metavar="NAME[=PYTHON]",
        help="only these peers, separated by commas, each in the interpreter that "
        f"is named: {', '.join(PEERS)}; or 'none'",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a tenth of the data and 3 rounds: a rough result in a few minutes",
    )
    parser.add_argument(
        "--scale", type=float, metavar="X", help="scale factor for the data size (default 1)"
    )
    parser.add_argument("--rounds", type=int, metavar="N", help="maximum number of rounds")
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        default=usable_cpus(),
        help="threads per library (default: the usable processors)",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the data")
    parser.add_argument("--data", metavar="DIRECTORY", help="directory to keep the data in")
    parser.add_argument("--json", metavar="FILE", help="write all results there; '-' is stdout")
    parser.add_argument("--chart", metavar="PNG", help="draw the comparison with TensorFlow")
    parser.add_argument("--markdown", metavar="FILE", help="write the tables there")
    add_overwrite(parser)
    parser.add_argument("--crc-driver", metavar="FILE", default="",
                        help="benchmarks/crc32c_bench.c, compiled")  # fmt: skip
    parser.add_argument("--jpeg-driver", metavar="FILE", default="",
                        help="benchmarks/jpeg_ceiling.c, compiled")  # fmt: skip


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print the tables; return 1 if the results of a peer differ from those of fastrec."""
    if arguments.step_ms is not None:
        return _run_loop(arguments, report)
    request = _request(arguments)
    for path in filter(None, (arguments.json, arguments.markdown, arguments.chart)):
        check_output(path, arguments.overwrite, [arguments.file] if arguments.file else [])
    if arguments.chart:
        _need_matplotlib()
    try:
        found = suite.run(request, lambda text: print(f"measuring: {text}", file=sys.stderr))
    except (ValueError, DataFailed) as error:
        raise Failure(str(error), 2 if isinstance(error, ValueError) else 1) from None
    command = shlex.join(["fastrec", *sys.argv[1:]])
    if arguments.json == "-":
        print(to_json(found))
    else:
        _print(found, report)
    if arguments.json and arguments.json != "-":
        write_output(arguments.json, to_json(found) + "\n", arguments.overwrite)
    if arguments.markdown:
        text = "\n".join(markdown(found, command)) + "\n"
        write_output(arguments.markdown, text, arguments.overwrite)
    if arguments.chart:
        try:
            write_file(arguments.chart, chart.draw(found, arguments.chart),
                       overwrite=arguments.overwrite)  # fmt: skip
        except chart.NothingToDraw as error:
            report.complain(f"no chart: {error}")
    return 1 if found.disagreements else 0


def _run_loop(arguments: argparse.Namespace, report: Report) -> int:
    """Print the headroom of a loop over a file, and the report of its loader."""
    if not arguments.file:
        raise Failure("--step-ms requires --file", 2)
    if not 0 <= arguments.step_ms <= _LONGEST_STEP_MS:
        raise Failure(f"--step-ms must be 0 to {_LONGEST_STEP_MS}, got {arguments.step_ms}", 2)
    if arguments.threads < 1:
        raise Failure("--threads must be at least 1", 2)
    features = fastrec.infer_features(arguments.file)
    reports: list[fastrec.Report] = []
    batcher = fastrec.Batcher(
        arguments.file, features, _LOOP_BATCH, epochs=None, threads=arguments.threads,
        on_stats=reports.append, every=0.0,
    )  # fmt: skip
    measured = fastrec.headroom(batcher, batches=_LOOP_STEPS)
    for _ in measured:
        time.sleep(arguments.step_ms / 1e3)
    report.line(measured.report())
    for line in str(reports[-1]).splitlines():
        report.line(line)
    return 0


def _peers(words: list[str]) -> dict[str, str]:
    pairs = [word.partition("=") for each in words for word in each.split(",") if word]
    return {name.replace("-", "_"): python for name, _, python in pairs}


def _request(arguments: argparse.Namespace) -> suite.Request:
    if arguments.file and arguments.case:
        raise Failure("--file and --case are mutually exclusive", 2)
    base = _QUICK if arguments.quick else Rules()
    scale = _QUICK_SCALE if arguments.quick else 1.0
    if not 0 < (arguments.scale or 1) <= 100:
        raise Failure("--scale must be more than 0 and at most 100", 2)
    if arguments.threads < 1 or (arguments.rounds or 3) < 3:
        raise Failure("--threads must be at least 1, --rounds at least 3", 2)
    peers = _peers(arguments.peers)
    return suite.Request(
        cases=arguments.case,
        jobs=arguments.job,
        peers={} if "none" in peers else peers,
        no_peers="none" in peers,
        file=arguments.file or "",
        data=arguments.data or "",
        scale=arguments.scale or scale,
        rules=replace(base, rounds=arguments.rounds or base.rounds, seed=arguments.seed,
                      threads=arguments.threads),
        crc_driver=os.path.abspath(arguments.crc_driver) if arguments.crc_driver else "",
        jpeg_driver=os.path.abspath(arguments.jpeg_driver) if arguments.jpeg_driver else "",
    )  # fmt: skip


def _need_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise Failure("--chart requires matplotlib: pip install 'fastrec-io[bench]'", 2) from None


def _print(found: suite.Run, report: Report) -> None:
    for table in tables(found):
        _print_table(table, report)
    if found.verdicts:
        _print_table(verdict_table(found), report, right=())
        report.line(headline(found))
    for peer, why in found.gaps.items():
        report.line(f"gap: {peer}: {why}")
    for text in (*found.warnings(), *found.disagreements):
        report.line(f"warning: {text}", "bold")
    report.line(f"{found.about['cpu']}, {found.about['cpus']} processors, {found.about['system']}")


def _print_table(table: Table, report: Report, right: tuple[int, ...] = (1, 2, 3, 4, 5)) -> None:
    report.line(table.title, "bold")
    report.table(table.headers, table.rows, right=right)
    if table.note:
        report.line(f"   {table.note}")
    report.line()
