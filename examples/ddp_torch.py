# SPDX-License-Identifier: Apache-2.0
"""Train with DistributedDataParallel: each rank reads its own part of every epoch.

    pip install fastrec-io torch
    python examples/ddp_torch.py            # two processes on this machine
    torchrun --nproc-per-node 8 examples/ddp_torch.py 'train-*'

The dataset finds its rank, so there is no DistributedSampler. ``uneven="drop"`` gives all ranks the
same number of batches, as the collective operations of DDP require.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import fastrec
import fastrec.torch

RANKS, EPOCHS, BATCH = 2, 4, 64
FEATURES = {
    "x": fastrec.FixedLenFeature((16,), np.float32),
    "y": fastrec.FixedLenFeature((), np.int64),
}


def write(directory: str) -> str:
    """Write points of two classes, and return their pattern."""
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 2, 4000)
    points = (draw.normal(size=(4000, 16)) + labels[:, None]).astype(np.float32)
    with fastrec.Writer(os.path.join(directory, "train"), shards=3, index=True) as writer:
        writer.write_batch({"x": points, "y": labels})
    return os.path.join(directory, "train-*")


def train(pattern: str) -> None:
    """Train in a process whose group is initialized; rank 0 prints the loss of each epoch."""
    model = DistributedDataParallel(nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    dataset = fastrec.torch.IterableDataset(
        pattern, FEATURES, BATCH, shuffle=True, seed=0, uneven="drop", drop_remainder=True
    )
    for epoch in range(EPOCHS):
        dataset.set_epoch(epoch)
        total = torch.zeros(2)
        for batch in dataset:
            loss = nn.functional.cross_entropy(model(batch["x"]), batch["y"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += torch.tensor([loss.item(), 1])
        dist.all_reduce(total)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {total[0] / total[1]:.3f}, {int(total[1])} batches")


def start(rank: int, pattern: str, meeting: str) -> None:
    """Join the group of a process that this program has spawned."""
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=RANKS)
    train(pattern)
    dist.destroy_process_group()


def main() -> None:
    if "RANK" in os.environ:  # started by torchrun
        dist.init_process_group("gloo")
        train(sys.argv[1])
        dist.destroy_process_group()
        return
    with tempfile.TemporaryDirectory() as directory:
        pattern = sys.argv[1] if len(sys.argv) > 1 else write(directory)
        meeting = Path(directory, "meeting").as_posix()
        torch.multiprocessing.spawn(start, (pattern, meeting), nprocs=RANKS)


if __name__ == "__main__":
    main()
