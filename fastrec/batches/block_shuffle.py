# SPDX-License-Identifier: Apache-2.0
"""Orders of the records of a Batcher, as callers say them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

__all__ = ["BlockShuffle", "Shuffle", "order_fields"]


@dataclass(frozen=True)
class BlockShuffle:
    """Blocks of neighbouring records in random order, and records shuffled within a window of them.

    For disks and remote files that hate random reads: a block is read in one go, and no record
    leaves its window. ``shuffle="blocks"`` stands for ``BlockShuffle()``.

    Parameters
    ----------
    block : int
        Records a block.
    window : int
        Blocks a window.
    """

    block: int = 256
    window: int = 64

    def __post_init__(self) -> None:
        if self.block < 1 or self.window < 1 or self.block * self.window > 2**31 - 1:
            raise ValueError(f"block and window are out of range, got {self!r}")


Shuffle = bool | int | Literal["blocks"] | BlockShuffle


def order_fields(shuffle: Shuffle) -> dict[str, Any]:
    """Fields of an ``OrderSpec`` for `shuffle`.

    Raises
    ------
    ValueError
        For anything that it cannot be.
    """
    fields = {"shuffle": "none", "block": 0, "window": 0, "buffer": 0}
    if shuffle == "blocks":
        shuffle = BlockShuffle()
    if isinstance(shuffle, BlockShuffle):
        return fields | {"shuffle": "blocks", "block": shuffle.block, "window": shuffle.window}
    if isinstance(shuffle, (bool, np.bool_)):
        return fields | {"shuffle": "records" if shuffle else "none"}
    if isinstance(shuffle, np.integer):
        shuffle = int(shuffle)
    if isinstance(shuffle, int) and shuffle in (0, 1):
        hint = "shuffle all records" if shuffle else "keep the order of the files"
        raise ValueError(
            f"a number for shuffle must be a buffer size of at least 2 records, got {shuffle}: "
            f"write shuffle={bool(shuffle)} to {hint}"
        )
    if isinstance(shuffle, int) and 2 <= shuffle < 2**32:
        return fields | {"shuffle": "buffer", "buffer": shuffle}
    raise ValueError(
        f"shuffle must be True, False, 'blocks', a BlockShuffle or the size of a buffer, "
        f"got {shuffle!r}"
    )
