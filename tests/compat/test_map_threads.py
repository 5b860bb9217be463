# SPDX-License-Identifier: Apache-2.0
"""A map uses threads only while they save time."""

from __future__ import annotations

import threading

import pytest

from fastrec.compat._tf.data import threads


class _Clock:
    """A clock by which a call takes 1 s in the main thread and `seconds` in the others."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._now = threading.local()

    def perf_counter(self) -> float:
        step = 1.0 if threading.current_thread() is threading.main_thread() else self._seconds
        self._now.value = getattr(self._now, "value", 0.0) + step
        return float(self._now.value)


@pytest.mark.parametrize(("seconds", "helps"), [(1.0, True), (1.7, True), (2.0, False)])
def test_threads_end_if_two_calls_take_as_long_as_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, seconds: float, helps: bool
) -> None:
    monkeypatch.setattr(threads, "time", _Clock(seconds))

    def call(value: int) -> tuple[int, bool]:
        return value, threading.current_thread() is threading.main_thread()

    found = list(threads.in_order(call, iter(range(100)), 2))
    assert [value for value, _ in found] == list(range(100))
    in_main = [is_main for _, is_main in found]
    assert in_main[:5] == [True] * 4 + [False]
    assert all(in_main[50:]) is not helps


def test_short_calls_start_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_LONG_S", 1.0)  # a call takes exactly this long
    monkeypatch.setattr(threads, "time", _Clock(1.0))
    found = set(threads.in_order(lambda _: threading.get_ident(), iter(range(100)), 2))
    assert found == {threading.get_ident()}
