# SPDX-License-Identifier: Apache-2.0
"""Closing waits until one deadline, whatever number of threads hang."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from waiting import DEADLINE

import fastrec
from fastrec import Batcher
from fastrec.threads import pipeline

FAR_LESS_S = 12.0  # than 16 waits of a second, of which one is meant and a busy machine adds some
FEATURES = {"x": fastrec.FixedLenFeature((), np.int64)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        writer.write_batch({"x": np.arange(64)})
    return tmp_path / "a.tfrecord"


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Ends the transforms that hang; a wait for them is short here."""
    monkeypatch.setattr(pipeline, "_JOIN_S", 1.0)
    monkeypatch.setattr(pipeline, "_gave_up_at", -10.0)
    release = threading.Event()
    yield release
    release.set()


def hang(batcher: Batcher) -> Any:
    """An iterator all of whose threads are inside of the transform."""
    batches = iter(batcher)

    def ask() -> None:
        with pytest.raises(ValueError, match="the iterator is closed"):
            next(batches)

    threading.Thread(target=ask, daemon=True).start()
    time.sleep(0.02)
    return batches


def stuck(release: threading.Event) -> Any:
    def transform(batch: Any) -> Any:
        release.wait()
        return batch

    return transform


@pytest.mark.parametrize("threads", [1, 16])
def test_an_iterator_with_any_number_of_threads(
    path: Path, release: threading.Event, threads: int
) -> None:
    batches = hang(Batcher(path, FEATURES, 4, threads=threads, transform=stuck(release)))
    began = time.monotonic()
    batches.close()
    assert time.monotonic() - began < FAR_LESS_S


def test_a_batcher_with_several_iterators(path: Path, release: threading.Event) -> None:
    batcher = Batcher(path, FEATURES, 4, threads=2, transform=stuck(release))
    iterators = [hang(batcher) for _ in range(16)]
    began = time.monotonic()
    batcher.close()
    assert time.monotonic() - began < FAR_LESS_S
    assert not any(each.is_live for each in iterators)


def test_iterators_that_are_closed_one_after_the_other(
    path: Path, release: threading.Event
) -> None:
    batcher = Batcher(path, FEATURES, 4, threads=2, transform=stuck(release))
    iterators = [hang(batcher) for _ in range(16)]
    began = time.monotonic()
    for each in iterators:
        each.close()
    assert time.monotonic() - began < FAR_LESS_S


def test_leaving_the_interpreter(path: Path) -> None:
    program = f"""
import threading, time, fastrec, numpy as np
from fastrec.threads import pipeline
pipeline._JOIN_S = 0.5
batcher = fastrec.Batcher({str(path)!r}, {{"x": fastrec.FixedLenFeature((), np.int64)}}, 4,
                          threads=4, transform=lambda batch: time.sleep(999))
kept = [iter(batcher) for _ in range(6)]
for each in kept:
    threading.Thread(target=lambda each=each: next(each, None), daemon=True).start()
time.sleep(0.3)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=DEADLINE)


@pytest.mark.parametrize("shuffle", [1, 0, np.int64(1)])
def test_a_buffer_that_shuffles_nothing_is_an_error(path: Path, shuffle: Any) -> None:
    with pytest.raises(ValueError, match=f"got {shuffle}: write shuffle={bool(shuffle)}"):
        Batcher(path, FEATURES, 4, shuffle=shuffle)


@pytest.mark.parametrize("shuffle", [np.bool_(True), np.int64(10)])
def test_numbers_of_numpy_are_taken_for_shuffle(path: Path, shuffle: Any) -> None:
    (batch,) = Batcher(path, FEATURES, 64, shuffle=shuffle, seed=1)
    assert sorted(batch["x"]) == list(range(64)) != batch["x"].tolist()
