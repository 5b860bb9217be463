# SPDX-License-Identifier: Apache-2.0
"""Format a run as tables: for a terminal, as a Markdown page, and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from .engine import Comparison, Measurement, ratio
from .jobs import CEILING, JOBS, OURS, Job
from .suite import Run

__all__ = ["Table", "headline", "markdown", "tables", "to_json"]


class Table:
    """`rows` under `headers`; the first column contains text, the others numbers."""

    def __init__(self, title: str, headers: Sequence[str], rows: list[list[str]], note: str = ""):
        self.title: str = title
        self.headers: list[str] = list(headers)
        self.rows: list[list[str]] = rows
        self.note: str = note

    def markdown(self) -> Iterator[str]:
        """Yield the lines of the table as Markdown."""
        yield "| " + " | ".join(self.headers) + " |"
        yield "|---|" + "--:|" * (len(self.headers) - 1)
        for row in self.rows:
            yield "| " + " | ".join(row) + " |"


def _number(value: float) -> str:
    """Format a number with three digits and a unit: ``1.05 M``."""
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= limit * 0.9995:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.3g}"


def _seconds(value: float) -> str:
    for limit, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= limit:
            return f"{value / limit:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def amount(comparison: Comparison, measurement: Measurement) -> str:
    """Format a measurement: records and bytes per second, or time, or memory."""
    unit = comparison.job.unit
    if unit == "seconds":
        return _seconds(measurement.median)
    if unit == "bytes":
        return f"{measurement.median / (1 << 20):.0f} MiB"
    size = comparison.bytes_per_second(measurement)
    rate = f"{_number(1 / measurement.per_record)}/s"
    return f"{rate}, {size / 1e9:.2f} GB/s" if size else rate


def _reference(comparison: Comparison) -> Measurement | None:
    """Return the first measurement of fastrec."""
    ours = (m for m in comparison.measurements if m.entry.peer == OURS)
    return next((m for m in ours if m.seconds and m.agrees is not False), None)


def factor(comparison: Comparison, measurement: Measurement) -> str:
    """Format the time relative to ours, and the range over the rounds."""
    ours = _reference(comparison)
    if ours is None or measurement is ours or not measurement.seconds:
        return ""
    value, low, high = ratio(measurement, ours)
    return "" if math.isnan(value) else f"{value:.3g}x ({low:.3g} to {high:.3g})"


def _state(measurement: Measurement) -> str:
    if measurement.gap:
        return f"gap: {measurement.gap}"
    if measurement.error:
        return f"failed: {measurement.error}"
    return "WRONG: it made something else" if measurement.agrees is False else ""


def tables(run: Run) -> Iterator[Table]:
    """Yield one table per comparison: contestant, amount, ratio to fastrec, spread."""
    headers = ["", "median", "times fastrec's", "spread", "processors", "rounds"]
    for comparison in run.comparisons:
        rows = []
        for m in comparison.measurements:
            label = m.entry.label if m.entry.peer != CEILING else f"({m.entry.label})"
            if state := _state(m):
                rows.append([label, state, "", "", "", ""])
                continue
            cells = [amount(comparison, m), factor(comparison, m)]
            busy = "" if comparison.job.unit == "bytes" else f"{m.processors:.1f}"
            rows.append([label, *cells, f"{m.spread:.0%}", busy, str(len(m.seconds))])
        title = f"{comparison.job.title}: {comparison.case.name}".rstrip(": ")
        yield Table(title, headers, rows, comparison.job.note)


def verdict_table(run: Run) -> Table:
    """Return the table of targets and whether each was reached."""
    headers = ["what", "on", "against", "to reach", "measured", ""]
    rows = [[v.what, v.case, v.against, v.wanted, v.got, v.text] for v in run.verdicts]
    return Table("Targets", headers, rows)


def headline(run: Run) -> str:
    """Return how many targets were reached, and how many were not measured."""
    measured = [v for v in run.verdicts if v.share is not None]
    reached = sum(v.reached for v in measured)
    gaps = len(run.verdicts) - len(measured)
    return f"{reached} of {len(measured)} rows reached" + (f", {gaps} not measured" if gaps else "")


def _job_table(job: Job, comparisons: list[Comparison]) -> Table:
    """Return a table with one row per case and one column per contestant."""
    entries = list(dict.fromkeys(m.entry for c in comparisons for m in c.measurements))
    entries.sort(key=lambda entry: entry.peer == CEILING)
    headers = ["", *(f"*{e.label}*" if e.peer == CEILING else e.label for e in entries)]
    rows = []
    for comparison in comparisons:
        row = [comparison.case.name]
        for entry in entries:
            m = comparison.of(entry)
            row.append("" if m is None else _cell(comparison, m))
        rows.append(row)
    return Table(job.title, headers, rows, job.note)


def _cell(comparison: Comparison, measurement: Measurement) -> str:
    if measurement.gap:
        return "gap"
    if state := _state(measurement):
        return state
    parts = [amount(comparison, measurement), factor(comparison, measurement)]
    return "<br>".join(part for part in parts if part)


def markdown(run: Run, command: str) -> Iterator[str]:
    """Yield the lines of the whole page, from the machine to the last table."""
    about = run.about
    yield f"Made by `{command}` on {about['date']}, in {run.seconds:.0f} s."
    yield ""
    yield f"* {about['cpu']}, {about['cpus']} processors, {about['memory']}, {about['system']}"
    yield "* " + ", ".join(f"{name} {version}" for name, version in run.versions.items())
    for peer, why in run.gaps.items():
        yield f"* gap: {peer} ({why})"
    for text in (*run.warnings(), *run.disagreements):
        yield f"* **{text}**"
    yield ""
    yield f"## Targets: {headline(run)}"
    yield ""
    yield from verdict_table(run).markdown()
    for job in JOBS.values():
        comparisons = [c for c in run.comparisons if c.job is job]
        if not comparisons:
            continue
        table = _job_table(job, comparisons)
        yield from ("", f"## {table.title}", "")
        if table.note:
            yield from (table.note, "")
        yield from table.markdown()


def to_json(run: Run) -> str:
    """Return all results, including the seconds of each round."""
    comparisons: list[dict[str, Any]] = [
        {
            "job": c.job.name,
            "case": c.case.name,
            "records": c.case.records,
            "bytes": c.size,
            "measurements": [
                {
                    "peer": m.entry.peer,
                    "variant": m.entry.variant,
                    "records": m.records,
                    "rounds": m.seconds,
                    "busy": m.busy,
                    "agrees": m.agrees,
                    "gap": m.gap or None,
                    "error": m.error or None,
                }
                for m in c.measurements
            ],
        }
        for c in run.comparisons
    ]
    verdicts = [{**v.__dict__, "reached": v.reached} for v in run.verdicts]
    whole = {
        "about": run.about,
        "versions": run.versions,
        "gaps": run.gaps,
        "seconds": run.seconds,
        "others": run.others,
        "warnings": [*run.warnings(), *run.disagreements],
        "comparisons": comparisons,
        "verdicts": verdicts,
    }
    return json.dumps(whole, indent=1)
