# SPDX-License-Identifier: Apache-2.0
"""A small transformer on packed documents, on one process or several, resumed on another number.

    pip install fastrec-io torch
    python examples/packed_tokens_torch.py

The corpus is the source of Python's standard library, one token per byte. Documents are packed into
rows; a token attends only to earlier tokens of its own document. The losses are the same for any
number of processes, since the rows of a step are.
"""

from __future__ import annotations

import os
import socket
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

import fastrec

LENGTH, WIDTH, HEADS, LAYERS, VOCABULARY = 256, 32, 2, 2, 257
END = 256  # the token after each document
ROWS = 8  # of a global step


def write(path: Path, count: int) -> None:
    """Write the tokens of some modules of the standard library."""
    library = Path(sysconfig.get_path("stdlib"))
    modules = [file for file in sorted(library.glob("*.py")) if file.stat().st_size < 1 << 14]
    with fastrec.Writer(path, overwrite=True) as writer:
        for file in modules[:count]:
            writer.write({"tokens": list(file.read_bytes())})
    fastrec.Index.build(path, columns="len(tokens)").save()


def make_batcher(path: str, rank: int, ranks: int) -> fastrec.Batcher:
    """The rows of one process; a step of all processes has ROWS rows."""
    return fastrec.Batcher(
        path,
        {"tokens": fastrec.RaggedFeature(np.int64)},
        ROWS // ranks,
        shuffle=True,
        seed=0,
        shard=(rank, ranks),
        uneven="drop",
        drop_remainder=True,
        packing=fastrec.Packing("tokens", length=LENGTH, eos=END, dtype=np.int64),
    )


class Block(nn.Module):
    """Attention within documents, and a network for each token."""

    def __init__(self) -> None:
        super().__init__()
        self.before = nn.ModuleList([nn.LayerNorm(WIDTH) for _ in range(2)])
        self.attention, self.output = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.network = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        rows, length, _ = tokens.shape
        parts = self.attention(self.before[0](tokens)).reshape(rows, length, 3, HEADS, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        tokens = tokens + self.output(attended.transpose(1, 2).reshape(rows, length, WIDTH))
        return tokens + self.network(self.before[1](tokens))


class Model(nn.Module):
    """A transformer that predicts the next token of each document."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.scores = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the sum of the losses of all tokens that have a next one in their document."""
        tokens, ids = batch["tokens"], batch["segment_ids"]
        same = ids[:, :, None] == ids[:, None, :]
        earlier = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
        hidden = self.tokens(tokens) + self.positions(batch["positions"])
        for block in self.blocks:
            hidden = block(hidden, (same & earlier)[:, None])
        counts = has_next(ids)
        losses = nn.functional.cross_entropy(
            self.scores(hidden[:, :-1]).transpose(1, 2), tokens[:, 1:], reduction="none"
        )
        return (losses * counts).sum()


def has_next(ids: torch.Tensor) -> torch.Tensor:
    """Tell which tokens are followed by another token of the same document."""
    return (ids[:, 1:] == ids[:, :-1]) & (ids[:, 1:] > 0)


def epochs(batcher: fastrec.Batcher) -> Iterator[tuple[Any, dict[str, torch.Tensor]]]:
    """Yield the iterator and the batch of each step, epoch after epoch."""
    while True:
        batches = iter(batcher)
        for batch in batches:
            names = ("tokens", "segment_ids", "positions")
            yield batches, {name: torch.from_numpy(batch[name]) for name in names}


def train(
    path: str, steps: int, rank: int = 0, ranks: int = 1, saved: dict[str, Any] | None = None
) -> tuple[list[float], dict[str, Any]]:
    """Train for some steps, and return the loss of each and a checkpoint."""
    torch.manual_seed(0)
    model, batcher = Model(), make_batcher(path, rank, ranks)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    if saved is not None:
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        batcher.load_state_dict(saved["loader"])
    losses: list[float] = []
    state: dict[str, Any] = {}
    for batches, batch in epochs(batcher):
        counted = has_next(batch["segment_ids"]).sum().to(torch.float32)
        loss = model(batch)
        optimizer.zero_grad()
        loss.backward()
        total = torch.stack([loss.detach(), counted])
        if ranks > 1:
            dist.all_reduce(total)
        for parameter in model.parameters():
            if ranks > 1:
                dist.all_reduce(parameter.grad)
            parameter.grad /= total[1]
        optimizer.step()
        losses.append(float(total[0] / total[1]))
        if len(losses) == steps:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            state["loader"] = batches.state_dict()
            break
    return losses, state


def _worker(rank: int, ranks: int, port: int, path: str, steps: int, result: str) -> None:
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks)
    found = train(path, steps, rank, ranks)
    if rank == 0:
        torch.save(found, result)
    dist.destroy_process_group()


def train_together(path: str, steps: int, ranks: int) -> tuple[list[float], dict[str, Any]]:
    """Train on several processes of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    result = os.path.join(os.path.dirname(path), "result.pt")
    torch.multiprocessing.spawn(_worker, (ranks, port, path, steps, result), ranks)
    found: tuple[list[float], dict[str, Any]] = torch.load(result, weights_only=False)
    return found


def main(folder: Path, count: int = 60, steps: int = 12) -> dict[str, list[float]]:
    """Train on one process; on two; and half of the steps on two, the rest on one."""
    path = str(folder / "library.tfrecord")
    write(Path(path), count)
    alone, _ = train(path, steps)
    together, _ = train_together(path, steps, 2)
    first, saved = train_together(path, steps // 2, 2)
    rest, _ = train(path, steps - steps // 2, saved=saved)
    return {"one process": alone, "two processes": together, "two, then one": first + rest}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        for name, losses in main(Path(directory)).items():
            print(f"{name:14}", " ".join(f"{loss:.3f}" for loss in losses))
