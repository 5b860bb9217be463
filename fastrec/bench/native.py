# SPDX-License-Identifier: Apache-2.0
"""Run benchmarks/crc32c_bench.c, which measures CRC32C in C without call overhead."""

from __future__ import annotations

import re
import statistics
import subprocess

from .targets import Verdict

__all__ = ["checksums"]

_RUNS = 3
_SMALL_NS = {"64": 8.0, "128": 8.0, "256": 8.0}

Row = dict[str, list[float]]


def _tables(text: str) -> dict[tuple[str, str], Row]:
    """Return numbers by (title, size) and column. The first table is warm, the second cold."""
    rows: dict[tuple[str, str], Row] = {}
    title, names = "", [""]
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if line.strip() in ("warm", "cold"):
            title = line.strip()
        elif cells[0] == "size":
            names = cells
        elif title and cells[0].isdigit():
            numbers = [[float(n) for n in re.findall(r"[\d.]+", cell)] for cell in cells]
            rows[title, cells[0]] = dict(zip(names, numbers))  # noqa: B905
    return rows


def checksums(driver: str, implementation: str) -> list[Verdict]:
    """Run the compiled driver several times, and compare the medians with the targets."""
    runs = []
    for _ in range(_RUNS):
        done = subprocess.run(
            [driver, "3", "5"], capture_output=True, text=True, timeout=120, check=True
        )
        runs.append(_tables(done.stdout))
    return [*_bandwidth(runs, implementation), *_small(runs, implementation)]


def _bandwidth(runs: list[dict[tuple[str, str], Row]], name: str) -> list[Verdict]:
    shares = [run["cold", "1024"][name][0] / run["cold", "1024"]["read"][0] for run in runs]
    rates = [run["cold", "1024"][name][0] for run in runs]
    share = statistics.median(shares)
    got = f"{100 * share:.0f} % ({100 * min(shares):.0f} to {100 * max(shares):.0f}), "
    got += f"{statistics.median(rates):.1f} GB/s"
    return [Verdict(f"CRC32C in C ({name}), cold", "1 KiB records", "read bandwidth",
                    "90 % of it", got, share / 0.9)]  # fmt: skip


def _small(runs: list[dict[tuple[str, str], Row]], name: str) -> list[Verdict]:
    made = []
    for size, wanted in _SMALL_NS.items():
        times = [run["warm", size][name][2] for run in runs]
        got = f"{statistics.median(times):.1f} ns ({min(times):.1f} to {max(times):.1f})"
        made.append(Verdict(f"CRC32C in C ({name})", f"{size} B records", "",
                            f"under {wanted:g} ns a record", got,
                            wanted / statistics.median(times)))  # fmt: skip
    return made
