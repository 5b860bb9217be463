# SPDX-License-Identifier: Apache-2.0
"""Make the benchmarks' record files: the same bytes for the same seed and writer.

    python benchmarks/data.py DIRECTORY [--case cifar ...] [--scale 1] [--seed 1]
                              [--tensorflow PYTHON]

TensorFlow writes them, with its features in whatever order it emits them, where this interpreter
or the one that is named has it; fastrec does otherwise. What is in them is in fastrec.bench.cases.
"""

from __future__ import annotations

import argparse
import sys

from fastrec.bench.cases import CASES, RAW_CASES
from fastrec.bench.data import Folder
from fastrec.bench.jobs import case_named
from fastrec.bench.processes import Contestant

EVERY = (*CASES, *RAW_CASES)


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the benchmarks' record files.")
    parser.add_argument("directory")
    parser.add_argument("--case", action="append", choices=EVERY, help="only this; may be repeated")
    parser.add_argument("--scale", type=float, default=1.0, help="so much of the records")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tensorflow", default=sys.executable, metavar="PYTHON")
    arguments = parser.parse_args()
    makers = [
        Contestant("tensorflow", arguments.tensorflow, None),
        Contestant("ours", sys.executable, None),
    ]
    able = [maker for maker in makers if not maker.gap]
    folder = Folder(arguments.directory, arguments.seed, able)
    print("written by", *next(iter(able[0].about["versions"].items())))
    for name in arguments.case or EVERY:
        print(folder.of(case_named(name, arguments.scale)))
    for maker in makers:
        maker.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
