# SPDX-License-Identifier: Apache-2.0
"""Calls that are made while another thread writes to the arrays that they take."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import fastrec

COUNT = 2000


class Race(NamedTuple):
    """A call, and the arrays that a thread writes to meanwhile."""

    call: Callable[[], Any]
    arrays: list[NDArray[Any]]


def strings(size: int = 8, byte: int = 49) -> fastrec.Bytes:
    offsets = np.arange(COUNT + 1, dtype=np.int64) * size
    return fastrec.Bytes(np.full(COUNT * size, byte, np.uint8), offsets)


def pixels(dtype: Any = np.float32) -> NDArray[Any]:
    return np.ones((4, 32, 32, 3), dtype)


def keys(count: int = 4) -> NDArray[np.uint64]:
    return np.arange(count, dtype=np.uint64)


RACES: dict[str, Callable[[Path], Race]] = {}


def race(*names: str) -> Callable[[Callable[[Path], Race]], Callable[[Path], Race]]:
    """Register the race of the functions of these names."""

    def register(build: Callable[[Path], Race]) -> Callable[[Path], Race]:
        for name in names:
            RACES[name] = build
        return build

    return register


def over(name: str, call: Callable[..., Any], *arrays: Callable[[], NDArray[Any]]) -> None:
    """Register a race of a call that takes new arrays of these kinds."""

    def build(_: Path) -> Race:
        own = [make() for make in arrays]
        return Race(lambda: call(*own), own)

    RACES[name] = build


def of_strings(
    name: str, call: Callable[..., Any], size: int = 8, comma: bool = False, byte: int = 49
) -> None:
    """Register a race of a call that takes the data and the offsets of strings."""

    def build(_: Path) -> Race:
        block = strings(size, byte)
        if comma:
            block.data[size // 2 :: size] = 44
        return Race(lambda: call(block.data, block.offsets), [block.data, block.offsets])

    RACES[name] = build
