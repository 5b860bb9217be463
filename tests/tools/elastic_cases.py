# SPDX-License-Identifier: Apache-2.0
"""Random cases of elastic resume, each of which counts every record.

PYTHONPATH=tests/helpers python tests/tools/elastic_cases.py [CASES [FIRST]]
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

from elastic import Files, check_random


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    warnings.simplefilter("ignore", RuntimeWarning)
    outcomes: Counter[str] = Counter()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        files = Files(Path(folder))
        for number in range(first, first + cases):
            outcomes[check_random(files, number)] += 1
    print(f"{cases} cases, {dict(outcomes)}, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
