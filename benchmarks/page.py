# SPDX-License-Identifier: Apache-2.0
"""Put a run of the suite into the pages that show it.

    python benchmarks/page.py RUN.json RUN.md

RUN.md goes whole into benchmarks/README.md; a short form of RUN.json into the project's README.md:
how many times as fast as TensorFlow. Each between two comments that mark the place.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
CASES = ("cifar", "photo", "tabular", "tokens", "embed", "ragged")
ROWS = (
    ("iterate over records", "iterate", "", ""),
    ("parse into batches", "parse", "", ""),
    ("shuffle everything, parse", "shuffle", "whole dataset", "whole dataset"),
    ("read GZIP, parse", "gzip", "", ""),
    ("write rows", "write", "rows", ""),
    ("write columns", "write", "columns", ""),
)


def times(comparison: dict[str, Any], variant: str, theirs: str) -> str:
    """Their time by ours; nothing where one is missing or made something else."""
    seconds = {}
    for m in comparison["measurements"]:
        if m["rounds"] and m["agrees"] is not False:
            seconds[m["peer"], m["variant"]] = statistics.median(m["rounds"]) / m["records"]
    ours, peer = seconds.get(("ours", variant)), seconds.get(("tensorflow", theirs))
    return f"{peer / ours:.1f}" if ours and peer else ""


def short(run: dict[str, Any]) -> list[str]:
    found = {(c["job"], c["case"]): c for c in run["comparisons"]}
    about, versions = run["about"], run["versions"]
    lines = ["| times as fast as TensorFlow | " + " | ".join(CASES) + " |",
             "|---|" + "--:|" * len(CASES)]  # fmt: skip
    for title, job, variant, theirs in ROWS:
        cells = [
            times(found[job, case], variant, theirs) if (job, case) in found else ""
            for case in CASES
        ]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    reached = sum(v["reached"] for v in run["verdicts"])
    measured = sum(v["share"] is not None for v in run["verdicts"])
    lines += ["", f"`make bench`, {about['date']}: {about['cpu']}, {about['cpus']} processors, "
              f"{about['system']}, tensorflow-cpu {versions.get('tensorflow', 'not installed')}. "
              f"{reached} of {measured} speed targets are met; every competitor and the spread "
              "of each figure are in [benchmarks/README.md](benchmarks/README.md)."]  # fmt: skip
    if run["warnings"]:
        lines += ["", *(f"*{warning[0].upper()}{warning[1:]}.*" for warning in run["warnings"])]
    return lines


def put(page: Path, lines: list[str]) -> None:
    text = page.read_text(encoding="utf-8")
    marked = re.compile(r"(<!-- measured -->\n).*?(<!-- /measured -->)", re.DOTALL)
    if not marked.search(text):
        raise SystemExit(f"{page} has no place marked for it")
    body = "\n".join(lines).strip() + "\n"
    page.write_text(marked.sub(lambda m: m[1] + body + m[2], text), encoding="utf-8")


def main() -> int:
    run_json, run_markdown = map(Path, sys.argv[1:])
    run = json.loads(run_json.read_text(encoding="utf-8"))
    put(ROOT / "benchmarks" / "README.md", run_markdown.read_text(encoding="utf-8").splitlines())
    put(ROOT / "README.md", short(run))
    return 0


if __name__ == "__main__":
    sys.exit(main())
