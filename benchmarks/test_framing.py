# SPDX-License-Identifier: Apache-2.0
"""Getting at records, by their size: indexing, verifying, iterating, in blocks; read(2) alone."""

from __future__ import annotations

import os
from typing import Any

import fastrec


def exhaust(items: Any) -> None:
    for _ in items:
        pass


def test_index(measure: Any, sized_file: tuple[str, int, int]) -> None:
    path, records, _ = sized_file
    measure(lambda: len(fastrec.Reader(path)), records=records, size=os.path.getsize(path))


def test_verify(measure: Any, sized_file: tuple[str, int, int]) -> None:
    path, records, _ = sized_file
    measure(lambda: fastrec.verify(path), records=records, size=os.path.getsize(path))


def test_iterate(measure: Any, sized_file: tuple[str, int, int]) -> None:
    path, records, _ = sized_file
    measure(lambda: exhaust(fastrec.Reader(path)), records=records, size=os.path.getsize(path))


def test_iterate_unverified(measure: Any, sized_file: tuple[str, int, int]) -> None:
    path, records, _ = sized_file
    reader = fastrec.Reader(path, verify=False)
    measure(lambda: exhaust(reader), records=records, size=os.path.getsize(path))


def test_blocks(measure: Any, sized_file: tuple[str, int, int]) -> None:
    path, records, size = sized_file
    count = max((1 << 20) // size, 1)
    reader = fastrec.Reader(path)
    measure(lambda: exhaust(reader.blocks(count)), records=records, size=os.path.getsize(path))


def test_random_access(measure: Any, sized_file: tuple[str, int, int]) -> None:
    path, records, _ = sized_file
    reader = fastrec.Reader(path)
    numbers = [(number * 7919) % records for number in range(records)]

    def once() -> None:
        for number in numbers:
            reader[number]

    measure(once, records=records, size=os.path.getsize(path))


def test_ceiling_read(measure: Any, sized_file: tuple[str, int, int]) -> None:
    path, records, _ = sized_file
    buffer = bytearray(1 << 20)

    def once() -> None:
        with open(path, "rb", buffering=0) as file:
            while file.readinto(buffer):
                pass

    measure(once, records=records, size=os.path.getsize(path))
