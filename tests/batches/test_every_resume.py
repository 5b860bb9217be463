# SPDX-License-Identifier: Apache-2.0
"""Each resume of many small datasets goes on exactly where the pass was.

The orders are asked for their record numbers, without reading a record.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec.batches.checkpoint import Start
from fastrec.batches.epoch_pass import Pass
from fastrec.batches.options import Options
from fastrec.batches.order import Ordering

Steps = list[tuple[int, list[int]]]


@pytest.fixture(scope="module", params=[1, 2, 3, 5, 7])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("resumes") / f"{request.param}.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_batch({"x": np.arange(request.param)})
    return path


def steps_of(ordering: Ordering, shard: tuple[int, int], start: Start) -> tuple[Pass, Steps]:
    """The steps of a shard: epoch and record numbers of each batch."""
    run = Pass(ordering, replace(ordering.spec, shard=shard), start)
    steps: Steps = []
    while (step := run.native.numbers(len(steps))) is not None:
        steps.append((step[0], step[1].tolist()))
    return run, steps


def specs() -> Iterator[dict[str, Any]]:
    for size, epochs, across, drop, uneven, shuffle in itertools.product(
        (1, 2, 3, 4), (1, 2, 3), (False, True), (False, True), ("longer", "drop", "pad"),
        (False, True),
    ):  # fmt: skip
        yield {
            "batch_size": size,
            "epochs": epochs,
            "batch_across_epochs": across,
            "drop_remainder": drop,
            "uneven": uneven,
            "shuffle": shuffle,
        }


def test_a_shard_resumes_after_each_step_as_if_uninterrupted(path: Path) -> None:
    for options in specs():
        ordering = Ordering(path, Options({}, seed=0, **options))
        for count in (1, 2, 3, 4):
            for index in range(count):
                run, steps = steps_of(ordering, (index, count), Start())
                for done in range(1, len(steps) + 1):
                    start = run.start_after(done)
                    _, rest = steps_of(ordering, (index, count), start)
                    assert rest == steps[done:], (options, index, count, done, start)


def test_shards_in_step_leave_each_record_that_is_left_to_any_number_of_shards(path: Path) -> None:
    for options in specs():
        if options["drop_remainder"] or options["uneven"] != "longer":
            continue  # which records are dropped or repeated depends on the number of shards
        ordering = Ordering(path, Options({}, seed=0, **options))
        for count, other in itertools.product((1, 2, 3), (1, 2, 4)):
            shards = [steps_of(ordering, (index, count), Start()) for index in range(count)]
            for done in range(1, max(len(steps) for _, steps in shards)):
                starts = {run.start_after(done) for run, steps in shards if done <= len(steps)}
                if not all(start.in_step for start in starts):
                    continue
                assert len(starts) == 1, (options, count, done)
                (start,) = starts
                left = Counter(
                    number for _, steps in shards for _, numbers in steps[done:]
                    for number in numbers
                )  # fmt: skip
                resumed = Counter(
                    number
                    for index in range(other)
                    for _, numbers in steps_of(ordering, (index, other), start)[1]
                    for number in numbers
                )
                assert resumed == left, (options, count, other, done, start)
