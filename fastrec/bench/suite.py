# SPDX-License-Identifier: Apache-2.0
"""Run the suite, from the requested selection to the results."""

from __future__ import annotations

import contextlib
import datetime
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..threads.cpus import usable_cpus
from . import jobs, machine, native, userfile
from .cases import CASES, RAW_CASES, Case
from .data import Folder
from .engine import Comparison, Engine, Rules
from .jobs import CEILING, JOBS, OURS, PEERS, Job
from .processes import Contestant, interpreters, peers_folder
from .targets import Verdict, verdicts

__all__ = ["Request", "Run", "run"]

_ENVIRONMENTS = ".venv-bench-*/bin/python"
_MODULES = {"array_record": "array_record.python.array_record_module"}
_NO_CHECKOUT = "other libraries are measured in a checkout only (benchmarks/peers)"
_BUSY = 0.15
_NOISY_SPREAD = 0.25

Say = Callable[[str], object]


@dataclass(frozen=True)
class Request:
    """Selection of measurements; empty selects all. `peers` maps a peer to an interpreter or ""."""

    cases: Sequence[str] = ()
    jobs: Sequence[str] = ()
    peers: Mapping[str, str] = field(default_factory=dict)
    no_peers: bool = False
    file: str = ""
    data: str = ""
    scale: float = 1.0
    rules: Rules = field(default_factory=Rules)
    crc_driver: str = ""
    jpeg_driver: str = ""


@dataclass
class Run:
    """The results. `others` is the number of processors that other programs used during the run."""

    comparisons: list[Comparison]
    verdicts: list[Verdict]
    versions: dict[str, str]
    gaps: dict[str, str]
    about: dict[str, str]
    seconds: float
    others: float | None

    def warnings(self) -> list[str]:
        """Return the reasons to distrust the figures: other programs, or too much noise."""
        made = []
        if self.others is not None and self.others > _BUSY:
            made.append(
                f"other programs kept {self.others:.1f} of {self.about['cpus']} processors busy "
                "during this run: its figures say less than they should"
            )
        measured = [m for c in self.comparisons for m in c.measurements if len(m.seconds) >= 3]
        noisy = [m for m in measured if m.spread > _NOISY_SPREAD]
        if measured and len(noisy) > len(measured) / 4:
            made.append(
                f"{len(noisy)} of {len(measured)} measurements have a middle half that is wider "
                f"than {_NOISY_SPREAD:.0%} of their median: this machine is too noisy to say"
            )
        return made

    @property
    def disagreements(self) -> list[str]:
        return [
            f"{c.job.name} {c.case.name}: {m.entry.label} made something else"
            for c in self.comparisons
            for m in c.measurements
            if m.agrees is False
        ]


def run(request: Request, say: Say = lambda text: None) -> Run:
    """Measure the requested selection.

    Raises
    ------
    ValueError
        If a case, a job or a peer is unknown.
    DataFailed, FastrecError, OSError
        If the data to measure on is missing.
    """
    _check(request)
    with contextlib.ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="fastrec-bench-"))
        log = stack.enter_context(tempfile.TemporaryFile())
        watch = machine.Watch.start()
        contestants = {
            peer: Contestant(peer, python, log, request.rules.threads)
            for peer, python in _pythons(request).items()
        }
        judge = Contestant(OURS, sys.executable, log)
        everybody = [*contestants.values(), judge]
        for each in everybody:
            stack.callback(each.close)
        gap = "not installed" if peers_folder() else _NO_CHECKOUT
        gaps = {peer: gap for peer in _wanted(request) if peer not in contestants}
        gaps |= {peer: each.gap for peer, each in contestants.items() if each.gap}
        able = {peer: each for peer, each in contestants.items() if not each.gap}
        made = _comparisons(request, able, judge, scratch, say)
        own = sum(os.times()[:4]) + sum(each.cpu_seconds for each in everybody)
        others, seconds = watch.others(own), os.times().elapsed - watch.began
        versions = {k: v for each in able.values() for k, v in each.about["versions"].items()}
        return Run(made, verdicts(made, _native(request, versions, say)), versions, gaps,
                   _about(request), seconds, others)  # fmt: skip


def _wanted(request: Request) -> list[str]:
    return [] if request.no_peers else list(request.peers or PEERS)


def _check(request: Request) -> None:
    known: list[tuple[str, Sequence[str], Any]] = [
        ("job", request.jobs, JOBS),
        ("peer", list(request.peers), PEERS),
        ("case", request.cases, {**CASES, **RAW_CASES, **jobs.CRC_CASES}),
    ]
    for what, words, names in known:
        for word in words:
            if word not in names:
                raise ValueError(f"there is no {what} {word!r}; there are {', '.join(names)}")


def _pythons(request: Request) -> dict[str, str]:
    """Return an interpreter for fastrec, for each installed peer, and for the ceilings."""
    if not peers_folder():
        return {OURS: sys.executable, CEILING: sys.executable}
    unnamed = [peer for peer in _wanted(request) if not request.peers.get(peer)]
    found = interpreters(unnamed, _ENVIRONMENTS)
    pythons = {OURS: sys.executable}
    for peer in _wanted(request):
        python = request.peers.get(peer) or found.get(peer)
        if python:
            pythons[peer] = python
    return {**pythons, CEILING: sys.executable}


def _comparisons(
    request: Request, able: dict[str, Contestant], judge: Contestant, scratch: str, say: Say
) -> list[Comparison]:
    makers = [able[peer] for peer in ("tensorflow",) if peer in able] + [judge]
    folder = Folder(request.data or os.path.join(scratch, "data"), request.rules.seed, makers)
    outputs = os.path.join(folder.path, "out")
    os.makedirs(outputs, exist_ok=True)
    engine = Engine(able, judge, request.rules, outputs, jpeg_driver=request.jpeg_driver)
    saved = os.path.join(scratch, "columns.npz") if request.file else ""
    made = []
    for job, case in _pairs(request, saved):
        say(f"{job.name} {case.name}")
        path = request.file or (folder.of(case) if _needs_file(job) else "")
        if job.name == "gzip":
            path = folder.gzip_of(case, path)
        made.append(engine.compare(job, case, path, saved))
    for name in os.listdir(outputs):
        os.unlink(os.path.join(outputs, name))
    return made


def _needs_file(job: Job) -> bool:
    return job.name not in ("crc", "import", "large", "scatter", "index size", "shards")


def _pairs(request: Request, saved: str) -> Iterator[tuple[Job, Case]]:
    if request.file:
        case = userfile.case_of(request.file, saved)
        for name in request.jobs or userfile.JOBS:
            yield JOBS[name], case
        return
    for job in JOBS.values():
        if request.jobs and job.name not in request.jobs:
            continue
        for name in job.cases:
            if name in request.cases or not request.cases:
                yield job, jobs.case_named(name, request.scale)


def _native(request: Request, versions: Mapping[str, str], say: Say) -> list[Verdict]:
    if not request.crc_driver or (request.jobs and "crc" not in request.jobs):
        return []
    say("crc in C")
    name = versions["fastrec"].partition("(")[2].rstrip(")")
    return native.checksums(request.crc_driver, name)


def _about(request: Request) -> dict[str, str]:
    return {
        "cpu": machine.cpu_name(),
        "cpus": str(usable_cpus()),
        "memory": machine.memory_text(),
        "system": machine.system_text(),
        "threads": str(request.rules.threads),
        "scale": f"{request.scale:g}",
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    }
