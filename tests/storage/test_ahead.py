# SPDX-License-Identifier: Apache-2.0
"""Jobs that are done ahead: their threads end with the consumer, wherever that is dropped."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from waiting import DEADLINE, interrupted, is_free

from fastrec.storage import ahead
from fastrec.storage.ahead import Ahead, Job


def endless() -> Iterator[Job]:
    while True:
        yield Job(lambda pause: 1, 1)


OTHERS: set[threading.Thread] = set()


@pytest.fixture(autouse=True)
def of_others() -> Iterator[None]:
    """Threads of what earlier tests have kept are not counted."""
    OTHERS.update(threading.enumerate())
    yield
    OTHERS.clear()


def fetching() -> list[threading.Thread]:
    started = [thread for thread in threading.enumerate() if thread not in OTHERS]
    return [thread for thread in started if thread.name == "fastrec-fetch"]


def ended(within: float = DEADLINE) -> bool:
    ends = time.monotonic() + within
    while fetching() and time.monotonic() < ends:
        time.sleep(0.01)
    return not fetching()


def test_threads_end_with_a_consumer_that_is_dropped() -> None:
    results: Any = Ahead(endless(), budget=10)
    assert next(results) == 1
    assert fetching()
    del results
    assert ended()


def test_a_pause_ends_with_the_consumer() -> None:
    begun = threading.Event()

    def slow(pause: Any) -> None:
        begun.set()
        pause(600)

    results: Any = Ahead([Job(slow, 1)], budget=10)
    with results._state.changed:
        results._start_threads()
    assert begun.wait(DEADLINE)
    del results
    assert ended()


def test_nothing_of_ours_runs_where_one_is_dropped() -> None:
    """No Python code, in which a Ctrl-C would be lost, and no lock, that its owner waits with."""
    assert not hasattr(Ahead, "__del__")
    results: Any = Ahead(endless(), budget=10)
    next(results)
    state = results._state
    holds, go = threading.Event(), threading.Event()

    def hold() -> None:
        with state.changed:
            holds.set()
            go.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert holds.wait(DEADLINE)
    del results  # does not wait for the lock
    go.set()
    holder.join()
    assert ended()


def test_the_collector_may_run_inside_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Consumers in circles of garbage, collected while threads of others ask for jobs."""
    monkeypatch.setattr(ahead, "_LOOK_S", 0.01)

    def collecting(count: int) -> Iterator[Job]:
        for _ in range(count):
            circle: list[Any] = [Ahead(endless(), budget=3)]
            next(circle[0])
            circle.append(circle)
            del circle
            gc.collect()
            yield Job(lambda pause: gc.collect(), 1)

    assert len(list(Ahead(collecting(30), budget=10))) == 30
    gc.collect()  # which did nothing in a thread while another one collected
    assert ended()


@pytest.mark.parametrize("budget", [1, 3, 1000])
@pytest.mark.parametrize("threads", [1, 4])
def test_results_of_following_jobs_come_after_the_result_of_their_job(
    budget: int, threads: int
) -> None:
    def job(name: tuple[int, ...], depth: int) -> Job:
        followers = [(*name, number) for number in range(3)] if depth else []
        return Job(lambda pause: name, 2, lambda: (job(each, depth - 1) for each in followers))

    jobs = [job((number,), number % 3) for number in range(12)]
    pairs: Ahead[tuple[int, ...]] = Ahead(jobs, budget=budget, threads=threads, most=8)
    results = list(pairs)
    assert results == sorted(results)
    assert len(results) == 12 + 3 * 4 + (3 + 9) * 4
    assert ended()


def test_an_error_of_the_jobs_comes_after_the_results_of_following_jobs() -> None:
    def jobs() -> Iterator[Job]:
        yield Job(lambda pause: 0, 1, lambda: [Job(lambda pause: 1, 1)])
        raise KeyError("no more")

    results: Any = Ahead(jobs(), budget=1)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(KeyError):
        next(results)


def test_an_error_of_a_following_job_is_raised_in_its_place() -> None:
    def fail(pause: Any) -> None:
        raise OSError("broken")

    jobs = [Job(lambda pause: 0, 1, lambda: [Job(fail, 1)]), Job(lambda pause: 2, 1)]
    results: Any = Ahead(jobs, budget=100)
    assert next(results) == 0
    with pytest.raises(OSError, match="broken"):
        next(results)


@pytest.mark.parametrize("helps", [False, True])
def test_ctrl_c_at_any_call_leaves_the_jobs_usable(*, helps: bool) -> None:
    after, was_raised = 0, True
    while was_raised:
        jobs = [Job(lambda pause, i=i: i, 1) for i in range(8)]  # type: ignore[misc]
        results: Any = Ahead(jobs, budget=2, threads=2, most=2, helps=helps)
        results.start()  # CPython's Thread.start() is not safe from interrupts
        found, was_raised = interrupted(results.__next__, after)
        assert is_free(results._state.lock), f"an interrupt at call {after} leaves the lock"
        found += results
        assert found == [*range(8 - len(found), 8)]
        assert len(found) >= 7
        after += 1
    assert after > 2


def test_a_consumer_that_helps_runs_jobs_beside_the_threads() -> None:
    both = threading.Barrier(2, timeout=DEADLINE)

    def meet(pause: Any) -> int:
        both.wait()  # returns when another thread is here, too
        return threading.get_ident()

    results: Any = Ahead([Job(meet, 1)] * 2, budget=2, threads=2, most=2, helps=True)
    assert threading.get_ident() in results


def test_ctrl_c_in_a_job_of_the_consumer_lets_it_run_again() -> None:
    interrupted_in: list[int] = []
    own = threading.Event()

    def run(pause: Any) -> bool:
        is_own = threading.current_thread() is threading.main_thread()
        if is_own and not interrupted_in:
            interrupted_in.append(threading.get_ident())
            own.set()
            raise KeyboardInterrupt
        assert own.wait(DEADLINE)  # no thread ends before the consumer has a job
        return True

    results: Any = Ahead([Job(run, 1)] * 2, budget=2, threads=2, most=2, helps=True)
    with pytest.raises(KeyboardInterrupt):
        next(results)
    assert [*results] == [True, True]


def test_ctrl_c_at_any_call_of_close_leaves_the_lock_free() -> None:
    after, was_raised = 0, True
    while was_raised:
        results: Any = Ahead(endless(), budget=2)
        next(results)
        _, was_raised = interrupted(results.close, after)
        assert is_free(results._state.lock), f"an interrupt at call {after} leaves the lock"
        results.close()
        after += 1
    assert after > 2
    assert ended()
