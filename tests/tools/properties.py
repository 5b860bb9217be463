# SPDX-License-Identifier: Apache-2.0
"""Repeat the property tests about silent loss and silent overwriting, each time with a new seed.

    python tests/tools/properties.py [SECONDS] [--seed N]

Each test draws new examples in every round: commands and the files that they may replace, kinds of
input, records that are skipped, and round trips through every writer, reader and converter. It ends
after the round of a file in which SECONDS are over, and prints the number of examples.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

TESTS = Path(__file__).parent.parent
# `python -m pytest` would import the package of the checkout instead of the installed one.
PYTEST = str(Path(sys.executable).with_name("pytest"))
FILES = [
    "cli/test_generated_commands.py",
    "records/test_shard_sets.py",
    "records/test_inputs.py",
    "batches/test_skipping.py",
    "parsing/test_leaving_out.py",
    "tables/test_round_trips.py",
    "encoding/test_encode_roundtrip.py",
    "encoding/test_encode.py",
    "encoding/test_encode_columns.py",
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=float, nargs="?", default=3600)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    environment = {"HYPOTHESIS_PROFILE": "quick", **os.environ}
    environment.pop("CI", None)  # its profile has fixed seeds
    examples = 0
    for number, file in enumerate(itertools.cycle(FILES)):
        if number >= len(FILES) and time.monotonic() >= end:
            break
        seed = arguments.seed + number
        command = [
            PYTEST, "-q", "-p", "no:xdist", "-p", "no:cacheprovider",
            "-m", "hypothesis", f"--hypothesis-seed={seed}", "--hypothesis-show-statistics",
            str(TESTS / file),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            print(done.stdout[-20000:], done.stderr[-2000:], f"seed {seed}: {file}", sep="\n")
            return 1
        examples += sum(map(int, re.findall(r"- (\d+) passing", done.stdout)))
        print(f"seed {seed}: {file}: {examples} examples so far", flush=True)
    print(f"{examples} examples, no failure")
    return 0 if examples else 1


if __name__ == "__main__":
    sys.exit(main())
