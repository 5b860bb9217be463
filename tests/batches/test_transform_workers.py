# SPDX-License-Identifier: Apache-2.0
"""Worker processes of a transform: results, errors, and what remains when a process ends."""

from __future__ import annotations

import functools
import gc
import gzip
import mmap
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import waiting
import worker_transforms as transforms

import fastrec
from fastrec import Batcher, FastrecError
from fastrec.batches import transform_processes

NUMBER = {"x": fastrec.FixedLenFeature((), np.int64)}
COUNT = 60

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="requires Linux or macOS")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("workers") / "numbers.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_batch({"x": np.arange(COUNT)})
    return path


@pytest.fixture(scope="module")
def doubler(path: Path) -> Iterator[Batcher]:
    """A Batcher whose two worker processes serve several tests."""
    with Batcher(
        path, NUMBER, 4, shuffle=True, seed=3, transform=transforms.double, transform_workers=2
    ) as batcher:
        yield batcher


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def plain(batches: Any) -> list[Any]:
    return [
        {key: each.tolist() for key, each in batch.items() if key != "pid"} for batch in batches
    ]


# --- results ------------------------------------------------------------------------------------


def test_batches_and_states_are_those_without_processes(path: Path, doubler: Batcher) -> None:
    expected = Batcher(path, NUMBER, 4, shuffle=True, seed=3, transform=transforms.double)
    for _ in range(2):
        assert plain(doubler) == plain(expected)
    ours, theirs = iter(doubler), iter(expected)
    for _ in range(3):
        assert plain([next(ours)]) == plain([next(theirs)])
        state = ours.state_dict()
        assert state == theirs.state_dict()
    rest = plain(ours)
    expected.load_state_dict(state)
    assert plain(expected) == rest
    doubler.load_state_dict(state)
    assert plain(doubler) == rest


def test_all_processes_work_and_remain_for_later_passes(doubler: Batcher) -> None:
    first = {batch["pid"] for _ in range(3) for batch in doubler}
    later = {batch["pid"] for batch in doubler}
    assert len(first) == 2
    assert later <= first
    assert os.getpid() not in first


def test_transforms_that_hold_the_lock_run_at_the_same_time(path: Path, tmp_path: Path) -> None:
    transform = functools.partial(transforms.meet, str(tmp_path))
    options: Any = {"threads": 1, "transform": transform, "transform_workers": 2}
    with Batcher(path, NUMBER, COUNT // 2, **options) as batcher:
        # One process alone would wait in the first batch, and make the second afterwards.
        assert len(list(batcher)) == 2
    assert len(os.listdir(tmp_path)) == 2


def test_results_are_views_of_shared_memory(doubler: Batcher) -> None:
    batches = iter(doubler)
    batch = next(batches)
    for name in ("x", "double", "even"):
        base: Any = batch[name]
        while not isinstance(base, mmap.mmap):
            assert isinstance(base, (np.ndarray, memoryview)), name
            base = base.base if isinstance(base, np.ndarray) else base.obj
        batch[name][0] = 5  # as writable as without processes
    batches.close()


def test_an_unchanged_array_is_not_copied(tmp_path: Path) -> None:
    array = np.arange(1000)
    block = transform_processes._new_block()
    packed = transform_processes._write([array], block)
    mapped = transform_processes._map(block, packed.size)
    [same] = transform_processes._read(packed, mapped)
    again = transform_processes._write([same, array[::2], same[3:5]], block, mapped)
    os.close(block)
    assert again.places[0] == packed.places[0]
    assert again.places[2] == (24, 16)
    assert again.size - packed.size < 8 * 500 + 64


def test_more_results_than_the_limit_can_be_kept(path: Path, doubler: Batcher) -> None:
    before = len(os.listdir("/dev/fd"))
    kept = [batch for _ in range(6) for batch in doubler]
    assert len(os.listdir("/dev/fd")) - before < 60
    numbers = np.concatenate([batch["x"] for batch in kept])
    assert np.bincount(numbers, minlength=COUNT).tolist() == [6] * COUNT
    assert all((batch["double"] == 2 * batch["x"]).all() for batch in kept)


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": None},
        {"features": None},
        {"features": {"x": fastrec.RaggedFeature(np.int64)}},
        {"source": "pipe"},
    ],
    ids=["records", "bytes", "ragged", "stream"],
)
def test_every_kind_of_batch_arrives_unchanged(
    path: Path, options: dict[str, Any], tmp_path: Path
) -> None:
    if options.get("source"):
        (tmp_path / "a.gz").write_bytes(gzip.compress(path.read_bytes()))
        options = {"source": tmp_path / "a.gz"}
    known: dict[str, Any] = {"source": path, "features": NUMBER, "batch_size": 7, **options}
    expected = list(Batcher(**known))
    with Batcher(**known, transform=transforms.keep, transform_workers=1) as batcher:
        batches = list(batcher)
    assert repr(batches) == repr(expected)
    assert list(map(type, batches)) == list(map(type, expected))


def test_arrays_that_a_transform_keeps_are_not_overwritten(path: Path) -> None:
    options: dict[str, Any] = {"threads": 1, "transform_workers": 1}
    with Batcher(path, NUMBER, 4, transform=transforms.remember, **options) as batcher:
        assert list(batcher) == np.arange(COUNT).reshape(-1, 4).sum(1).cumsum().tolist()


# --- errors -------------------------------------------------------------------------------------


def test_an_exception_has_the_traceback_of_the_transform(path: Path) -> None:
    with Batcher(path, NUMBER, 4, transform=transforms.fail, transform_workers=2) as batcher:
        for _ in range(2):  # also in the next pass
            batches = iter(batcher)
            assert next(batches)["x"].tolist() == [0, 1, 2, 3]
            with pytest.raises(KeyError, match="seven is unwanted") as caught:
                next(batches)
            assert 'raise KeyError("seven is unwanted")' in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("transform", "kind", "text"),
    [
        (transforms.fail_peculiarly, RuntimeError, "Peculiar: 1 and 2"),
        (transforms.stop, RuntimeError, "raised StopIteration"),
        (transforms.no_result, TypeError, "generator"),
        (transforms.leave, FastrecError, "ended with exit code 3"),
    ],
)
def test_every_failure_of_a_transform_is_an_error(
    path: Path, transform: Any, kind: type[Exception], text: str
) -> None:
    with (
        Batcher(path, NUMBER, 4, transform=transform, transform_workers=1) as batcher,
        pytest.raises(kind, match=text),
    ):
        next(iter(batcher))


def test_a_killed_process_is_an_error_in_place_of_its_batch(path: Path) -> None:
    with Batcher(path, NUMBER, 4, transform=transforms.die, transform_workers=2) as batcher:
        for _ in range(2):
            batches = iter(batcher)
            next(batches)
            with pytest.raises(FastrecError, match="was killed by signal 9"):
                next(batches)


def test_a_transform_that_cannot_be_pickled_is_refused(path: Path) -> None:
    with pytest.raises(TypeError, match="top level of a module"):
        Batcher(path, NUMBER, 4, transform=lambda batch: batch, transform_workers=1)
    with pytest.raises(ValueError, match="transform_workers requires transform"):
        Batcher(path, NUMBER, 4, transform_workers=1)


def test_a_transform_that_cannot_be_imported_is_an_error(path: Path) -> None:
    code = (
        "import sys, fastrec\n"
        "def transform(batch): return batch\n"
        "list(fastrec.Batcher(sys.argv[1], transform=transform, transform_workers=1))"
    )
    result = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert result.returncode == 1
    assert "TypeError: transform cannot be imported in a worker process" in result.stderr


def test_a_program_without_a_main_guard_is_told_so(path: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, fastrec\n"
        "def transform(batch): return batch\n"
        "list(fastrec.Batcher(sys.argv[1], transform=transform, transform_workers=1))"
    )
    result = subprocess.run([sys.executable, program, path], capture_output=True, text=True)
    assert result.returncode == 1
    assert '`if __name__ == "__main__":`' in result.stderr.strip().splitlines()[-1]


def test_daemonic_processes_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing.current_process(), "_config", {"daemon": True})
    batcher = Batcher(path, NUMBER, 4, transform=transforms.keep, transform_workers=1)
    with pytest.raises(FastrecError, match="worker of a DataLoader"):
        next(iter(batcher))


# --- the end ------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["close", "delete"])
def test_the_processes_end_with_the_batcher(path: Path, how: str) -> None:
    batcher = Batcher(path, NUMBER, 4, transform=transforms.double, transform_workers=2)
    pids = {batch["pid"] for batch in batcher}
    assert all(map(is_running, pids))
    if how == "close":
        batcher.close()
        assert plain(batcher)  # other processes
    del batcher
    gc.collect()
    waiting.until(lambda: not any(map(is_running, pids)))


def test_an_iterator_is_closed_during_a_transform(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARTED", str(tmp_path))
    batcher = Batcher(path, NUMBER, 4, transform=transforms.wait, transform_workers=2)
    batches = iter(batcher)
    first = waiting.Started(lambda: next(batches))
    waiting.until(lambda: len(os.listdir(tmp_path)) == 2)
    batches.close()
    with pytest.raises(ValueError, match="closed"):
        first.result()
    waiting.until(lambda: not any(is_running(int(pid)) for pid in os.listdir(tmp_path)))


def test_nothing_remains_after_the_parent_is_killed(path: Path, tmp_path: Path) -> None:
    def names() -> set[str]:
        return set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()

    before = names()
    program = [sys.executable, transforms.__file__, str(path)]
    process = subprocess.Popen(program, env=os.environ | {"STARTED": str(tmp_path)})
    waiting.until(lambda: len(os.listdir(tmp_path)) == 2 or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(os.listdir(tmp_path)) == 2
    waiting.until(lambda: not any(is_running(int(pid)) for pid in os.listdir(tmp_path)))
    assert not [name for name in names() - before if "fastrec" in name]


def test_systems_without_anonymous_memory_use_unlinked_files(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    with Batcher(path, NUMBER, 4, transform=transforms.double, transform_workers=1) as batcher:
        assert sum(len(batch["double"]) for batch in batcher) == COUNT
