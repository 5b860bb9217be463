# SPDX-License-Identifier: Apache-2.0
"""A transform that asks its own iterator, values without end, and other ways to be stuck."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from verbs import write_examples
from waiting import DEADLINE, interrupted, is_free

import fastrec
from fastrec.threads.pipeline import Pipeline

FEATURES = {"a": fastrec.FixedLenFeature((), np.int64)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_examples(tmp_path / "file", [{"a": [i]} for i in range(100)])


@pytest.mark.parametrize("threads", [1, 3])
def test_a_transform_that_takes_batches_of_its_own_iterator_is_told(
    path: Path, threads: int
) -> None:
    batches: Iterator[Any]

    def pull(batch: Any) -> Any:
        return next(batches)

    batches = iter(fastrec.Batcher(path, FEATURES, batch_size=10, transform=pull, threads=threads))
    outcome: list[Any] = []

    def take() -> None:
        try:
            outcome.append(next(batches))
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    thread.join(DEADLINE)
    assert outcome, "it waits for itself"
    assert isinstance(outcome[0], RuntimeError)
    assert "must not take batches of the iterator that calls it" in str(outcome[0])


def test_a_transform_may_take_batches_of_another_iterator(path: Path) -> None:
    other = iter(fastrec.Batcher(path, FEATURES, batch_size=10, transform=len))
    batcher = fastrec.Batcher(path, FEATURES, batch_size=10, transform=lambda _: next(other))
    assert sum(batcher) == 10


def test_fewer_threads_than_asked_for_do_all(monkeypatch: pytest.MonkeyPatch) -> None:
    real = threading.Thread.start
    started: list[threading.Thread] = []

    def start(self: threading.Thread) -> None:
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(self)
        real(self)

    monkeypatch.setattr(threading.Thread, "start", start)
    pipeline = Pipeline(iter(range(100)), str, threads=8, depth=16)
    assert list(pipeline) == list(map(str, range(100)))
    pipeline.close()
    with pytest.raises(RuntimeError, match="can't start"):
        Pipeline(iter(range(100)), str, threads=8, depth=16)


def test_buckets_of_another_type_are_refused(path: Path) -> None:
    for wrong in (5, "a", [10, 20], {"by": "a"}):
        with pytest.raises(TypeError, match="buckets must be a Buckets or None, got"):
            fastrec.Batcher(path, FEATURES, batch_size=4, buckets=wrong)  # type: ignore[arg-type]


def test_lists_that_contain_themselves_are_refused() -> None:
    endless: list[Any] = [1]
    endless.append(endless)
    only: list[Any] = []
    only.append(only)
    for value in (endless, only, [endless], [[only]]):
        for encode in (
            lambda value: fastrec.encode_example({"a": value}),
            lambda value: fastrec.encode_examples({"a": value}),
            lambda value: fastrec.encode_sequence_example({"a": value}, {}),
            lambda value: fastrec.encode_sequence_example({}, {"a": value}),
        ):
            with pytest.raises((ValueError, TypeError), match="feature 'a'"):
                encode(value)


def test_ctrl_c_at_any_call_of_a_wait_leaves_the_pipeline_usable() -> None:
    after, was_raised = 0, True
    while was_raised:
        pipeline = Pipeline(iter(range(8)), str, threads=2, depth=2)
        found, was_raised = interrupted(pipeline._ring.take, after)
        assert is_free(pipeline._ring.lock), f"an interrupt at call {after} leaves the lock"
        found += pipeline
        assert found == [*map(str, range(8 - len(found), 8))]
        assert len(found) >= 7
        pipeline.close()
        after += 1
    assert after > 2
