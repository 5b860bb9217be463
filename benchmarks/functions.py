# SPDX-License-Identifier: Apache-2.0
"""Compare each public function with its peers, for every kind of feature and format of images.

    pip install tensorflow opencv-python-headless pillow && python benchmarks/functions.py [NAME...]

Each row of function_rows.py is a function of a batch, or of one record or image, and the fastest
equivalent of the peers: TensorFlow, and OpenCV and Pillow for images. Both sides take turns in one
process, with one thread each. The figures are processor time, the least of `ROUNDS` turns, so
other programs on the machine do not count. A name selects the rows that begin with it. Rows below
`GOAL` times the speed of the peer are listed again at the end.
"""

from __future__ import annotations

import gc
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import cv2
import tensorflow as tf
from function_rows import TABLES, UNMEASURED, Call

ROUNDS, LEAST, GOAL = 5, 0.02, 2.0  # turns, seconds of one turn, and the speed to reach


def least(calls: list[Call]) -> list[float]:
    """Seconds of processor time that each takes."""
    counts = []
    for call in calls:
        call()
        begin = time.process_time()
        call()
        counts.append(max(1, int(LEAST / max(time.process_time() - begin, 1e-6))))
    best = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for place, (call, count) in enumerate(zip(calls, counts, strict=True)):
            begin = time.process_time()
            for _ in range(count):
                call()
            best[place] = min(best[place], (time.process_time() - begin) / count)
    return best


def main(wanted: list[str]) -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    cv2.setNumThreads(1)
    gc.disable()
    below = []
    print("| function | ours, us | fastest peer, us | | ratio |\n|---|--:|--:|---|--:|")
    for table in TABLES:
        for name, ours, peers in table():
            if wanted and not any(name.startswith(each) for each in wanted):
                continue
            mine, *others = least([ours, *peers.values()])
            peer, other = min(zip(peers, others, strict=True), key=lambda pair: pair[1])
            ratio = other / mine
            line = f"| {name} | {1e6 * mine:.1f} | {1e6 * other:.1f} | {peer} | {ratio:.1f} |"
            print(line, flush=True)
            if ratio < GOAL:
                below.append(line)
    print(f"\nBelow {GOAL} times the fastest peer:\n")
    print("\n".join(below) or "no row")
    print("\nWithout a row:\n")
    for reason in dict.fromkeys(UNMEASURED.values()):
        names = [f"`{name}`" for name, each in UNMEASURED.items() if each == reason]
        print(f"* {', '.join(names)} {reason}")


if __name__ == "__main__":
    main(sys.argv[1:])
