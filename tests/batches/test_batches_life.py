# SPDX-License-Identifier: Apache-2.0
"""The iterator's life: transforms, waiting, dropping, forking, pickling, and what it says of it."""

from __future__ import annotations

import gc
import io
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from verbs import gzipped, native_threads, run_python, thread_ids, write_examples
from waiting import DEADLINE

import fastrec
from fastrec import Batcher
from fastrec.batches.progress import Progress
from fastrec.threads.pipeline import Pipeline

pytestmark = pytest.mark.slow

NUMBER = {"i": fastrec.FixedLenFeature((), np.int64)}
TASKS = Path("/proc/self/task")


def total(batch: Any) -> int:
    return int(batch["i"].sum())


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("life")
    return write_examples(folder / "file", ({"i": i} for i in range(1000)))


@pytest.fixture(scope="module")
def packed(path: Path) -> Path:
    target = path.with_suffix(".gz")
    target.write_bytes(gzipped(path.read_bytes()))
    return target


# --- transforms ---------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 3, 8])
def test_transforms_run_side_by_side_and_come_in_order(path: Path, threads: int) -> None:
    where = set()

    def slow(batch: Any) -> int:
        where.add(threading.get_ident())
        time.sleep(0.001 * (total(batch) % 7))
        return int(batch["i"][0])

    with Batcher(path, NUMBER, 10, transform=slow, threads=threads, prefetch=3) as batcher:
        assert list(batcher) == list(range(0, 1000, 10))
    assert threading.get_ident() not in where
    assert len(where) == threads


def explode(batch: Any) -> int:
    if batch["i"][0] == 500:
        raise ZeroDivisionError("here it is")
    return total(batch)


@pytest.mark.parametrize("kind", ["plain", "packed"])
def test_a_transform_that_raises_does_so_at_its_batch_with_its_traceback(
    path: Path, packed: Path, kind: str
) -> None:
    before = thread_ids()
    source = path if kind == "plain" else packed
    batches = iter(Batcher(source, NUMBER, 10, transform=explode, threads=4))
    assert list(islice(batches, 50)) == [sum(range(k, k + 10)) for k in range(0, 500, 10)]
    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="here it is") as caught:
            next(batches)
        text = "".join(traceback.format_exception(caught.value))
        assert "in explode" in text
    del caught
    batches.close()
    assert thread_ids() <= before  # threads of an earlier test may end in the meantime


def test_a_transform_that_stops_iteration_is_an_error_not_the_end(path: Path) -> None:
    def stop(batch: Any) -> None:
        raise StopIteration

    with pytest.raises(RuntimeError, match="StopIteration"):
        list(Batcher(path, NUMBER, 10, transform=stop))


@pytest.mark.parametrize("threads", [1, 4])
def test_a_damaged_stream_is_an_error_at_its_batch(
    packed: Path, tmp_path: Path, threads: int
) -> None:
    cut = tmp_path / "cut.gz"
    cut.write_bytes(packed.read_bytes()[:-3])
    seen: list[int] = []

    def read() -> None:
        for batch in Batcher(cut, NUMBER, 10, threads=threads):
            seen.extend(batch["i"].tolist())

    with pytest.raises(fastrec.TruncatedFileError):
        read()
    assert seen == list(range(len(seen)))
    assert len(seen) >= 980


# --- dropping, closing, forking -----------------------------------------------------------------


@pytest.mark.skipif(not TASKS.exists(), reason="counts threads in /proc")
@pytest.mark.parametrize("transform", [None, total])
def test_dropped_half_way_a_thousand_times_nothing_is_left(
    path: Path, packed: Path, transform: Any
) -> None:
    def drop(count: int) -> None:
        for k in range(count):
            source = packed if k % 10 == 0 else path
            batches = iter(
                Batcher(source, NUMBER, 7, transform=transform, threads=1 + k % 3, epochs=None)
            )
            for _ in range(k % 4):
                next(batches)
            if k % 2:
                batches.close()

    drop(20)
    gc.collect()
    before = native_threads(), len(os.listdir("/proc/self/fd")), threading.active_count()
    drop(1000)
    gc.collect()
    assert (native_threads(), len(os.listdir("/proc/self/fd")), threading.active_count()) == before


def test_a_consumer_that_stops_asking_is_waited_for_in_bounded_memory(path: Path) -> None:
    made = []

    def note(batch: Any) -> int:
        made.append(1)
        return total(batch)

    with Batcher(path, NUMBER, 10, transform=note, threads=2, prefetch=3, epochs=None) as batcher:
        batches = iter(batcher)
        next(batches)
        time.sleep(0.2)
        assert len(made) <= 1 + 2 + 3


def test_a_closed_iterator_says_so_and_does_not_seem_to_end(path: Path, packed: Path) -> None:
    for source, transform in ((path, None), (path, total), (packed, None)):
        batcher = Batcher(source, NUMBER, 10, transform=transform)
        with iter(batcher) as batches:
            next(batches)
        unused = iter(batcher)
        unused.close()
        for closed in (batches, unused):
            with pytest.raises(ValueError, match="the iterator is closed"):
                next(closed)
        whole = iter(batcher)
        assert list(whole)
        whole.close()
        assert list(whole) == []  # at the end of its pass, which is no loss
        assert len(list(batcher)) == 100


@pytest.mark.parametrize("transform", [None, total])
def test_a_closed_batcher_closes_its_iterators(path: Path, transform: Any) -> None:
    batcher = Batcher(path, NUMBER, 10, transform=transform, shuffle=True, seed=3)
    with batcher:
        begun, waiting = iter(batcher), iter(batcher)
        expected = [str(next(begun)) for _ in range(30)]
        state = begun.state_dict()
    for batches in (begun, waiting):
        with pytest.raises(ValueError, match="the iterator is closed"):
            next(batches)
    batcher.close()
    assert begun.state_dict() == state
    batcher.set_epoch(0)
    assert [str(batch) for batch in batcher][:30] == expected
    batcher.load_state_dict(state)
    assert len(list(batcher)) == 70


@pytest.mark.parametrize("kind", ["native", "transformed", "streamed"])
def test_threads_that_share_an_iterator_get_every_batch_once(
    path: Path, packed: Path, kind: str
) -> None:
    source, transform = packed if kind == "streamed" else path, dict if kind != "native" else None
    with Batcher(source, NUMBER, 4, transform=transform, threads=3, epochs=4) as batcher:
        batches = iter(batcher)
        with ThreadPoolExecutor(8) as pool:
            parts = list(pool.map(lambda _: [b["i"].tolist() for b in batches], range(8)))
    assert sorted(batch for part in parts for batch in part) == sorted(
        list(range(k, k + 4)) for _ in range(4) for k in range(0, 1000, 4)
    )


@pytest.mark.parametrize("kind", ["native", "transformed", "streamed"])
def test_closing_is_an_error_for_all_threads_that_ask(path: Path, packed: Path, kind: str) -> None:
    source, transform = packed if kind == "streamed" else path, dict if kind != "native" else None
    for turn in range(20):
        batches = iter(Batcher(source, NUMBER, 4, transform=transform, threads=2, epochs=None))
        with ThreadPoolExecutor(4) as pool:
            taken = [pool.submit(until_closed, batches) for _ in range(4)]
            time.sleep(0.001 * (turn % 5))
            batches.close()
            for each in taken:
                assert all(len(batch["i"]) == 4 for batch in each.result(DEADLINE))


def until_closed(batches: Any) -> list[Any]:
    taken: list[Any] = []
    with pytest.raises(ValueError, match="the iterator is closed"):
        taken.extend(batches)
    return taken


def in_child(function: Any) -> bytes:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, function())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python warns of forks beside threads")
@pytest.mark.parametrize("transform", [None, total])
def test_a_forked_child_is_told_and_can_begin_anew(path: Path, transform: Any) -> None:
    batcher = Batcher(path, NUMBER, 10, transform=transform, threads=2)
    batches = iter(batcher)
    next(batches)

    def child() -> bytes:
        try:
            next(batches)
        except ValueError as error:
            batches.close()
            return b"%d %d" % ("in the child" in str(error), len(list(batcher)))
        return b"no error"

    for _ in range(20):
        assert in_child(child) == b"1 100"
    assert len(list(batches)) == 99


def numbers_of(batcher: Any) -> list[list[int]]:
    return [batch["i"].tolist() for batch in batcher]


def test_a_spawned_process_gets_the_same_batches(path: Path) -> None:
    batcher = Batcher(path, NUMBER, 300, shuffle=True, threads=2)
    batches = iter(batcher)
    next(batches)
    copy = pickle.loads(pickle.dumps(batcher))
    assert numbers_of(copy) == numbers_of(batcher)
    resumed = Batcher(path, NUMBER, 300, shuffle=True)
    resumed.load_state_dict(batches.state_dict())
    assert numbers_of(pickle.loads(pickle.dumps(resumed))) == numbers_of(batches)


def test_spawn_itself(path: Path) -> None:
    batcher = Batcher(path, NUMBER, 300, shuffle=True, seed=3)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(list, (batcher,))[0]["i"].tolist() == numbers_of(batcher)[0]


@pytest.mark.parametrize("where", ["transform", "consumer"])
def test_ctrl_c_ends_a_wait_at_once(path: Path, where: str) -> None:
    sleep = "transform=lambda batch: time.sleep(0.05) or batch" if where == "transform" else ""
    code = (
        "import sys, time, fastrec\n"
        f"batches = iter(fastrec.Batcher(sys.argv[1], batch_size=5, epochs=None, {sleep}))\n"
        "print('ready', flush=True)\n"
        "for _ in batches:\n"
        "    pass\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.4)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=DEADLINE)
        assert b"KeyboardInterrupt" in error


@pytest.mark.parametrize("end", ["pass", "raise SystemExit(0)", "del batches"])
def test_the_interpreter_ends_while_workers_work(path: Path, end: str) -> None:
    code = f"""
        import sys, time, fastrec
        batches = iter(fastrec.Batcher(
            sys.argv[1], batch_size=5, epochs=None, transform=lambda batch: batch, threads=4))
        for _ in range(5):
            next(batches)
        {end}
    """
    for _ in range(3):
        run_python(code, path)


# --- what it says -------------------------------------------------------------------------------


def test_progress_is_said_when_asked(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list(Batcher(path, NUMBER, 10, epochs=2, progress=True))
    assert "batch 200 of 200 (100%)" in capsys.readouterr().err
    list(islice(Batcher(path, NUMBER, 10), 3))
    assert capsys.readouterr().err == ""


def test_progress_on_a_terminal_rewrites_one_line() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    progress = Progress(None, terminal)
    progress.update(1, 0.0)
    assert terminal.getvalue() == ""  # a tenth of a second has not passed
    time.sleep(0.11)
    progress.update(5, 0.05)
    progress.update(6, 0.05, last=True)
    lines = terminal.getvalue()
    assert lines.count("\r") == 2
    assert lines.endswith("\n")
    assert "batch 6, " in lines


def test_a_pipeline_gives_the_results_before_an_error_of_its_source() -> None:
    def source() -> Any:
        yield from range(5)
        raise OSError("gone")

    pipeline = Pipeline(source(), lambda x: x * x, threads=3, depth=4)
    assert list(islice(pipeline, 5)) == [0, 1, 4, 9, 16]
    with pytest.raises(OSError, match="gone"):
        next(pipeline)
    pipeline.close()


def test_ctrl_c_while_the_threads_start_ends_those_that_did(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        if thread.name == "fastrec-1":
            raise KeyboardInterrupt
        begin(thread)

    before = set(threading.enumerate())  # threads of earlier tests may end meanwhile
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Pipeline(iter(range(100)), str, threads=3, depth=3)
    for pipeline in list(Pipeline._live):
        pipeline.close()
    assert set(threading.enumerate()) <= before
