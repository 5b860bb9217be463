# SPDX-License-Identifier: Apache-2.0
"""How much faster a loop would run if loading took no time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fastrec
from fastrec.batches import headroom


class Clock:
    """A clock that only moves when a test says so."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(headroom, "time", clock)
    return clock


def loaded(clock: Clock, count: int, seconds: float) -> Iterator[int]:
    for number in range(count):
        clock.now += seconds
        yield number


@pytest.mark.parametrize(("load_s", "step_s"), [(3.0, 1.0), (0.5, 2.0), (0.0, 1.0)])
def test_headroom_is_the_time_of_loading_relative_to_the_step(
    clock: Clock, load_s: float, step_s: float
) -> None:
    measured = fastrec.headroom(loaded(clock, 100, load_s), batches=10)
    for _ in measured:
        clock.now += step_s
    assert measured.loaded_s == pytest.approx(load_s + step_s)
    assert measured.memory_s == pytest.approx(step_s)
    assert measured.speedup == pytest.approx((load_s + step_s) / step_s)
    words = "times as fast" if load_s else "does not limit"
    assert words in measured.report()


def test_half_of_the_batches_come_from_memory() -> None:
    batches = list(fastrec.headroom(range(1000), batches=10, keep=4))
    assert batches[:15] == list(range(15))
    assert batches[15:] == [number % 4 for number in range(15)]


def test_the_result_is_refused_before_the_loop_has_finished() -> None:
    measured = fastrec.headroom(range(100), batches=10)
    next(iter(measured))
    with pytest.raises(RuntimeError, match="after the loop has finished"):
        _ = measured.speedup
    with pytest.raises(RuntimeError, match="iterated over once"):
        next(iter(measured))


def test_a_loader_of_too_few_batches_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least 6 batches, got 5"):
        list(fastrec.headroom(range(5)))


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match="loader must be an iterable"):
        fastrec.headroom(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="batches"):
        fastrec.headroom([], batches=0)
