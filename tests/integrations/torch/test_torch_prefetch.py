# SPDX-License-Identifier: Apache-2.0
"""Batches are copied ahead on a stream of their own. Only the accelerator is imitated."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from fastrec.torch import Prefetch, prefetch_to  # noqa: E402

COUNT = 5


class Accelerator:
    """Stands for the module of a device: it logs streams and events, and runs nothing."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.active = "main"
        self.done: set[int] = set()  # numbers of the copies that the device has finished
        self.copies = 0

    def Stream(self, device: Any) -> str:
        return "copies"

    @contextlib.contextmanager
    def stream(self, stream: str) -> Iterator[None]:
        self.active = stream
        yield
        self.active = "main"

    def current_stream(self, device: Any) -> Any:
        return self

    def wait_event(self, event: Any) -> None:
        self.log.append(f"main waits for copy {event.number}")

    def Event(self) -> Any:
        accelerator = self

        class Event:
            number = accelerator.copies

            def record(self, stream: str) -> None:
                accelerator.copies += 1
                accelerator.log.append(f"copy {self.number} on {accelerator.active}")

            def query(self) -> bool:
                return self.number in accelerator.done

        return Event()


@pytest.fixture
def accelerator(monkeypatch: pytest.MonkeyPatch) -> Accelerator:
    made = Accelerator()
    monkeypatch.setattr(torch, "get_device_module", lambda device: made)
    module = sys.modules[Prefetch.__module__].__dict__

    def record(tensor: Any, stream: Any) -> None:
        made.log.append(f"used on {'main' if stream is made else stream}")

    monkeypatch.setitem(module, "_pinned", lambda tensor: tensor)
    monkeypatch.setitem(module, "_record", record)
    return made


def batches(arrays: list[Any]) -> Iterator[dict[str, Any]]:
    for number in range(COUNT):
        array = np.full(3, number)
        arrays.append(weakref.ref(array))
        yield {"x": array}


def test_copies_run_ahead_on_a_stream_of_their_own(accelerator: Accelerator) -> None:
    loop = prefetch_to(batches([]), "meta", ahead=2)
    first = next(loop)
    assert first["x"].device.type == "meta"
    expected = [f"copy {number} on copies" for number in range(3)]
    assert accelerator.log == [*expected, "main waits for copy 0", "used on main"]
    next(loop)
    assert accelerator.log[5:] == ["copy 3 on copies", "main waits for copy 1", "used on main"]
    assert len(list(loop)) == COUNT - 2
    assert accelerator.copies == COUNT


def test_memory_is_kept_until_it_has_been_copied(accelerator: Accelerator) -> None:
    arrays: list[Any] = []
    loop = prefetch_to(batches(arrays), "meta", ahead=1)
    for _ in range(3):
        next(loop)
    assert all(array() is not None for array in arrays)
    accelerator.done = {0, 1}
    next(loop)
    assert [array() is None for array in arrays[:3]] == [True, True, False]


def interrupted(errors: list[type[BaseException]]) -> Iterator[dict[str, Any]]:
    """Yield two batches, and raise each error in place of a batch."""
    yield {"x": np.full(3, 0)}
    yield {"x": np.full(3, 1)}
    for error in errors:
        raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_raised_at_once(
    accelerator: Accelerator, error: type[BaseException]
) -> None:
    loop = prefetch_to(interrupted([error]), "meta", ahead=3)
    with pytest.raises(error):
        next(loop)


def test_an_error_comes_in_place_of_its_batch(
    accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = prefetch_to(interrupted([KeyError]), "meta", ahead=3)
    assert len([next(loop), next(loop)]) == 2
    for _ in range(2):
        with pytest.raises(KeyError):
            next(loop)

    def fail(tensor: Any) -> Any:
        if tensor[0] == 1:
            raise MemoryError("of the device")
        return tensor

    monkeypatch.setitem(sys.modules[Prefetch.__module__].__dict__, "_pinned", fail)
    loop = prefetch_to(interrupted([]), "meta", ahead=3)
    next(loop)
    for _ in range(2):
        with pytest.raises(MemoryError, match="of the device"):
            next(loop)


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("ahead", [0, -1, "2", 1.5, True, None])
def test_ahead_must_be_a_positive_number(accelerator: Accelerator, ahead: Any, device: str) -> None:
    with pytest.raises((TypeError, ValueError), match="ahead must be"):
        prefetch_to([], device, ahead=ahead)
