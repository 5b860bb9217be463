# SPDX-License-Identifier: Apache-2.0
"""Blocks, arrays and sequences that say of themselves what is not so."""

from __future__ import annotations

from typing import Any

import numpy as np

import fastrec

RECORDS = [fastrec.encode_example({"a": i}) for i in range(10)]
GOOD = fastrec.Bytes.from_list(RECORDS)


def block(
    offsets: Any, *, data: Any = GOOD.data, shape: tuple[int, ...] | None = None
) -> fastrec.Bytes:
    """A Bytes of these, whatever its constructor would say."""
    lying = fastrec.Bytes(GOOD.data, GOOD.offsets)
    lying.data, lying.offsets = data, offsets
    lying.shape = (len(offsets) - 1,) if shape is None else shape
    return lying


class Boastful(np.ndarray):
    """An array that says of itself what is not so."""

    size = nbytes = 1 << 40

    def __len__(self) -> int:
        return 1 << 20

    def view(self, *_: Any) -> Any:  # type: ignore[override]
        return np.zeros(1, np.uint8)

    def reshape(self, *_: Any, **__: Any) -> Any:
        return np.zeros(1, np.uint8)


class Lying(list[Any]):
    """A list that says it is longer than it is, or shorter."""

    said = 0

    def __len__(self) -> int:
        return self.said
