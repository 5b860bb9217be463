# SPDX-License-Identifier: Apache-2.0
"""Input pipelines as published programs have them, under TensorFlow and the drop-in modules.

    make .venv-oracle/installed && .venv-oracle/bin/python benchmarks/programs.py [WORD...]

``published.py`` has the programs and ``program_files.py`` makes their data. A word selects the
programs whose names contain it. Each runs with ``tensorflow`` or ``tensorflow.compat.v1``, and with
the module of fastrec in its place, in turns. A row has the quotient of TensorFlow's time and ours,
by the clock and by processor time, each by the least of `ROUNDS` times `RUNS`, then the largest
difference of the first elements, where nothing is drawn by chance.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow
from program_files import Files, make_files
from published import PROGRAMS

import fastrec.compat.v1 as ours1
import fastrec.compat.v2 as ours2

ROUNDS, RUNS = 4, 2
CLOCKS = (time.perf_counter, time.process_time)


def at_once(tf: Any, program: Callable[..., Any], files: Files) -> list[Any]:
    dataset, first = program(tf, files), []
    for number, element in enumerate(dataset):
        if number < 2:
            first.append([np.asarray(part) for part in element])
    return first


def in_a_graph(tf: Any, program: Callable[..., Any], files: Files) -> list[Any]:
    first: list[Any] = []
    with tf.Graph().as_default():
        following = program(tf, files)
        start = [tf.global_variables_initializer(), tf.local_variables_initializer()]
        with tf.Session() as session:
            session.run(start)
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            try:
                while True:
                    found = session.run(following)
                    if len(first) < 2:
                        first.append(list(found))
            except tf.errors.OutOfRangeError:
                coordinator.request_stop()
            coordinator.join(threads)
    return first


def apart(one: list[Any], other: list[Any]) -> float:
    """The largest difference, of elements that have to be of one shape."""
    worst = 0.0
    for ours, theirs in zip(one, other, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert a.shape == b.shape, f"{a.shape} and {b.shape}"
            if a.dtype == object:
                assert a.tolist() == b.tolist()
            elif a.size:
                worst = max(worst, float(np.abs(a.astype(float) - b.astype(float)).max()))
    return worst


def main() -> None:
    modules = {"1": (tensorflow.compat.v1, ours1), "2": (tensorflow, ours2)}
    words = sys.argv[1:] or [""]
    chosen = [name for name in PROGRAMS if any(word in name for word in words)]
    found: dict[str, list[list[Any]]] = {name: [[], []] for name in chosen}
    best = {name: np.full((2, len(CLOCKS)), np.inf) for name in chosen}
    with tempfile.TemporaryDirectory() as folder:
        files = make_files(Path(folder))
        # Rounds of all, for a machine that is busy for a while then slows none in each; several
        # runs of one, for the first maps the memory that others gave back.
        for name in chosen * ROUNDS:
            version, _, program = PROGRAMS[name]
            run = at_once if version == "2" else in_a_graph
            for side, tf in list(enumerate(modules[version])) * RUNS:
                begin = [clock() for clock in CLOCKS]
                found[name][side] = run(tf, program, files)
                taken = [clock() - start for clock, start in zip(CLOCKS, begin, strict=True)]
                best[name][side] = np.minimum(best[name][side], taken)
    ratios = [theirs / ours for theirs, ours in best.values()]
    for name, (ratio, of_processor) in zip(chosen, ratios, strict=True):
        chance = PROGRAMS[name][1]
        difference = "by chance" if chance else f"{apart(*found[name]):.1e}"
        print(f"{name:34} {ratio:6.2f} {of_processor:6.2f}  {difference}")
    ratio, of_processor = np.median(ratios, axis=0)
    print(f"{'median':34} {ratio:6.2f} {of_processor:6.2f}")


if __name__ == "__main__":
    main()
