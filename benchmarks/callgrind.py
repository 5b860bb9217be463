# SPDX-License-Identifier: Apache-2.0
"""Compares the instructions of the hot loops with those recorded: a guard without a clock.

    python benchmarks/callgrind.py DRIVER             compare with guard.json; 1 when it is exceeded
    python benchmarks/callgrind.py DRIVER --update    record what is counted now

DRIVER is benchmarks/guard.c, compiled. valgrind runs it as a processor without AVX-512, so the
implementations that depend on the processor are pinned to those that such a one has.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

BASELINE = Path(__file__).with_name("guard.json")
LOOPS = {
    "parse-tabular": 500,
    "parse-cifar": 200,
    "parse-tokens": 50,
    "parse-ragged": 500,
    "parse-sequences": 200,
    "parse-string-sequences": 200,
    "sparse-indices": 500,
    "nested-indices": 480,
    "pad-ragged": 500,
    "join-cifar": 200,
    "unfilter-cifar": 100,
    "unfilter-pairs": 100,
    "iterate": 1000,
    "schedule": 500,
    "encode-tabular": 500,
    "encode-tokens": 50,
    "encode-cifar": 200,
    "distort-cifar": 200,
}
BATCH = 128
# The counters of a report, of which each batch needs one set, and the parsing of its records.
LARGEST_SHARE_OF_A_REPORT = 0.01
PINNED = {"FASTREC_CRC": "sse42", "FASTREC_VARINT": "bmi2"}
ALLOWED = 1.10
ALLOWED_OF_ANOTHER_COMPILER = 1.30


def instructions(driver: str, loop: str, records: int) -> float:
    """Instructions a record, those of the C library included."""
    command = ["valgrind", "--tool=callgrind", "--toggle-collect=measured",
               "--callgrind-out-file=/dev/null", driver, loop, str(records)]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **PINNED}
    )
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or collected is None or int(collected[1]) == 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return int(collected[1]) / records


def compiler(driver: str) -> str:
    """The compiler, such as ``GCC 12``: counts differ between compilers."""
    note = re.search(rb"(GCC): \([^)]*\) (\d+)|(clang) version (\d+)", Path(driver).read_bytes())
    return b" ".join(part for part in note.groups() if part).decode() if note else "unknown"


def judged(counts: dict[str, float], baseline: dict[str, float], allowed: float) -> list[str]:
    """Prints every loop beside its baseline; returns the ones that are over."""
    over = []
    for loop, count in counts.items():
        before = baseline.get(loop)
        change = "new" if before is None else f"{count / before - 1:+.1%}"
        print(f"{loop:22} {count:12,.0f} a record  {change:>8}")
        if before is None or count > before * allowed:
            over.append(loop)
    return over


def report_is_cheap(counts: dict[str, float]) -> bool:
    """Whether a batch of tabular records needs few instructions for the report."""
    share = counts["schedule"] / (BATCH * counts["parse-tabular"])
    print(f"a report takes {share:.2%} of parsing a batch of tabular records")
    return share <= LARGEST_SHARE_OF_A_REPORT


def main() -> int:
    parser = argparse.ArgumentParser(description="Count the instructions of the hot loops.")
    parser.add_argument("driver")
    parser.add_argument("--update", action="store_true", help="record what is counted now")
    arguments = parser.parse_args()
    counts = {loop: instructions(arguments.driver, loop, n) for loop, n in LOOPS.items()}
    own = compiler(arguments.driver)
    if arguments.update:
        rounded = {loop: round(count) for loop, count in counts.items()}
        record = {"compiler": own, "pinned": PINNED, "instructions_a_record": rounded}
        BASELINE.write_text(json.dumps(record, indent=2) + "\n")
        return 1 if judged(counts, rounded, ALLOWED) else 0
    before = json.loads(BASELINE.read_text())
    allowed = ALLOWED
    if before["compiler"] != own:
        allowed = ALLOWED_OF_ANOTHER_COMPILER
        print(
            f"recorded with {before['compiler']}, compiled by {own}: {allowed - 1:.0%} is allowed"
        )
    over = judged(counts, before["instructions_a_record"], allowed)
    if over:
        print(f"more than {allowed - 1:.0%} more instructions, or never recorded: "
              f"{', '.join(over)}; if it is meant: make guard-update", file=sys.stderr)  # fmt: skip
    if not report_is_cheap(counts):
        print(f"more than {LARGEST_SHARE_OF_A_REPORT:.0%} of parsing for a report", file=sys.stderr)
        return 1
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
