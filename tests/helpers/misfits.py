# SPDX-License-Identifier: Apache-2.0
"""Record files of which some or all records do not match a scalar feature ``id``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fastrec
from fastrec import _core

COUNT = 40  # records of a file

FAULTS: dict[str, bytes] = {
    "missing": fastrec.encode_example({"other": 1}),
    "another kind": fastrec.encode_example({"id": "text"}),
    "another count": fastrec.encode_example({"id": [1, 2]}),
    "malformed": b"no message",
    "damaged": fastrec.encode_example({"id": 1}),
}


def write_misfits(folder: Path, fault: str, unusable: tuple[bool, ...]) -> list[Any]:
    """Write a file for each element, all of whose records are `unusable`; return the paths.

    In other files, every fourth record is unusable, and the ids are the numbers of the other ones.
    """
    paths = []
    for number, is_unusable in enumerate(unusable):
        blocks = []
        for row in range(COUNT):
            if is_unusable or row % 4 == 0:
                block = bytearray(_core.frame(FAULTS[fault]))
                block[14] ^= fault == "damaged"
            else:
                block = bytearray(_core.frame(fastrec.encode_example({"id": row})))
            blocks.append(bytes(block))
        paths.append(folder / f"{number}.tfrecord")
        paths[-1].write_bytes(b"".join(blocks))
    return paths


USABLE = [row for row in range(COUNT) if row % 4]
