# SPDX-License-Identifier: Apache-2.0
"""Record files for the command line: the same bytes wherever they are made."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import fastrec

_NAMES = ("Ada", "Bello", "Kira", "Luna", "Milo", "Nero", "Otto", "Pina", "Rex", "Sina")


def png(width: int, height: int, shade: int) -> bytes:
    """A PNG that is not compressed, so that it is the same with every zlib."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    row = b"\0" + bytes((shade + 5 * x) % 256 for x in range(width) for _ in range(3))
    stored = struct.pack("<BHH", 1, len(row) * height, 0xFFFF - len(row) * height) + row * height
    body = b"\x78\x01" + stored + struct.pack(">I", zlib.adler32(row * height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
    )


def pet(number: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": number,
        "image": png(24 + number % 3 * 8, 24, number),
        "label": number * 7 % 3,
        "name": _NAMES[number * 7 % len(_NAMES)],
        "weight": 2.5 + number * 37 % 100 / 8,
        "embedding": [((number * 31 + i * 17) % 64) / 64 for i in range(16)],
    }
    if number % 4:
        found["tags"] = ["tame", "loud", "small"][: number % 4]
    return found


def write_pets(directory: Path) -> None:
    """Write pets.tfrecord, two shards of it, one with changes, and one that is damaged."""
    pets = [pet(number) for number in range(60)]
    _write(directory / "pets.tfrecord", pets)
    for shard in range(2):
        _write(
            directory / f"train-0000{shard}-of-00002.tfrecord", pets[30 * shard : 30 * shard + 30]
        )
    changed = [dict(each) for each in pets[:58]]
    changed[3]["label"], changed[20]["name"] = 2, "Kiro"
    _write(directory / "changed.tfrecord", changed[::-1])
    data = bytearray((directory / "pets.tfrecord").read_bytes())
    offsets = fastrec.Index.build(directory / "pets.tfrecord").offsets
    data[int(offsets[7]) + 100] ^= 4
    del data[int(offsets[40]) + 30 :]
    (directory / "damaged.tfrecord").write_bytes(data)


def _write(path: Path, pets: list[dict[str, Any]]) -> None:
    with fastrec.Writer(path) as writer:
        for each in pets:
            writer.write(each)
