# SPDX-License-Identifier: Apache-2.0
"""The record orders that callers can request from a Batcher."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..arguments import check_fields, check_int

__all__ = ["BLOCK_BYTES", "BlockShuffle", "Shuffle", "order_fields", "plan_blocks", "plan_tail"]

BLOCK_BYTES = 1 << 20  # least bytes of a block whose size is not given
_FEWEST, _MOST = 64, 1024  # range of the number of virtual shards, if the dataset has enough blocks
_SHARD_BYTES = 1 << 30  # bytes per virtual shard within this range


@dataclass(frozen=True)
class BlockShuffle:
    """Blocks of neighbouring records in random order, and records shuffled within some of them.

    This order suits disks and remote files, which are slow to read in random order, because each
    block is read as a whole. The shuffled blocks are distributed to virtual shards: 64 for datasets
    of 60 MiB and more, up to 1,024 for terabytes, and fewer for small datasets. Each virtual shard
    shuffles the records of `window` blocks at a time, and all virtual shards take turns.
    ``shuffle="blocks"`` is short for ``BlockShuffle()``.

    Parameters
    ----------
    block : int, optional
        Maximum number of records per block; sizes of blocks differ by at most one record. By
        default, a block has about 1 MiB to 2 MiB, or in compressed files at least the bytes between
        four checkpoints, 2 MiB.
    window : int
        Number of blocks that each virtual shard shuffles together.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_batch({"x": list(range(12))})
    >>> features, order = {"x": fastrec.FixedLenFeature((), int)}, BlockShuffle(block=3, window=2)
    >>> batcher = fastrec.Batcher(path, features, 4, shuffle=order, seed=0)
    >>> sorted(x for batch in batcher for x in batch["x"].tolist()) == [*range(12)]
    True
    """

    block: int | None = None
    window: int = 4

    def __post_init__(self) -> None:
        check_fields(self)
        window = check_int("window", self.window, 1, 2**31 - 1)
        block = 1 if self.block is None else check_int("block", self.block, 1, 2**31 - 1)
        if block * window > 2**31 - 1:
            raise ValueError(f"block * window must be at most {2**31 - 1}, got {self!r}")


def plan_blocks(
    block: int, window: int, count: int, size: int, least: int = BLOCK_BYTES
) -> tuple[int, int]:
    """Return the most records per block and the number of virtual shards of a dataset.

    The plan does not depend on the number of shards that read the dataset.

    Parameters
    ----------
    block : int
        Most records per block; 0 to choose it by size.
    window : int
        Number of blocks that a virtual shard shuffles together.
    count, size : int
        Number of records in the dataset, and their bytes with framing.
    least : int
        Minimum size of a block that is chosen by size, in bytes, unless the dataset is smaller.
    """
    if block:
        return block, _power_of_two(min(_FEWEST, -(-count // block) // (2 * window)))
    blocks = min(size // least, count)
    # Larger blocks have fewer virtual shards, to limit the memory of their windows.
    fewest = max(1, _FEWEST * BLOCK_BYTES // least)
    most = min(max(size // _SHARD_BYTES, fewest), _MOST)
    # With slightly smaller blocks, 64 readers of 64 MB have a virtual shard each.
    shards = _power_of_two(min(blocks * 16 // 15, count, most))
    return max(1, -(-count // (shards * max(1, blocks // shards)))), shards


def plan_tail(block: int, window: int, virtual_shards: int, shards: int) -> int:
    """Return the number of records that one of several shards knows in advance.

    They are one block of each virtual shard of the shard. Other shards may need records of these
    blocks too. If several shards share each virtual shard, they are the shard's part of a window.
    """
    blocks = virtual_shards * (window if shards > virtual_shards else 1)
    return -(-block * blocks // shards)


def _power_of_two(number: int) -> int:
    """Return the largest power of two that is at most `number`, or 1."""
    return 1 << max(0, number.bit_length() - 1)


Shuffle = bool | int | Literal["blocks"] | BlockShuffle


def order_fields(shuffle: Shuffle) -> dict[str, Any]:
    """Return the fields of an ``OrderSpec`` for `shuffle`.

    Raises
    ------
    ValueError
        If `shuffle` is not valid.
    """
    fields = {"shuffle": "none", "block": 0, "window": 0, "buffer": 0}
    if shuffle == "blocks":
        shuffle = BlockShuffle()
    if isinstance(shuffle, BlockShuffle):
        return fields | {"shuffle": "blocks", "block": shuffle.block or 0, "window": shuffle.window}
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
