# SPDX-License-Identifier: Apache-2.0
"""A model of tokens in JAX, data-parallel over all devices and processes.

    pip install fastrec-io jax
    python examples/token_model_jax.py

In several processes call ``jax.distributed.initialize()`` first: ``shard="auto"`` then gives each
its records, and the local batches become one global array.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import fastrec

VOCABULARY, LENGTH, WIDTH = 32, 16, 24


def write(path: Path, count: int) -> None:
    """Sequences in which each token says the next one."""
    rng = np.random.default_rng(0)
    steps = np.arange(LENGTH + 1) * 5
    tokens = (rng.integers(0, VOCABULARY, count)[:, None] + steps) % VOCABULARY
    with fastrec.Writer(path, overwrite=True) as writer:
        writer.write_batch({"tokens": tokens})


def loss_of(weights: dict[str, jax.Array], tokens: jax.Array) -> jax.Array:
    """Cross entropy of each next token."""
    hidden = jax.nn.relu(weights["embedding"][tokens[:, :-1]] @ weights["hidden"])
    scores = jax.nn.log_softmax(hidden @ weights["output"])
    return -jnp.take_along_axis(scores, tokens[:, 1:, None], axis=-1).mean()


def train(files: str, batch_size: int = 64, epochs: int = 3) -> list[float]:
    """The loss of each step; `batch_size` is that of a process."""
    batcher = fastrec.Batcher(
        files,
        {"tokens": fastrec.FixedLenFeature((LENGTH + 1,), np.int32)},
        batch_size,
        shuffle=True,
        seed=0,
        shard="auto",
        uneven="drop",
        drop_remainder=True,
    )
    mesh = Mesh(np.array(jax.devices()), ("data",))
    sharding = NamedSharding(mesh, PartitionSpec("data"))
    keys = jax.random.split(jax.random.key(0), 3)
    shapes = {
        "embedding": (VOCABULARY, WIDTH),
        "hidden": (WIDTH, WIDTH),
        "output": (WIDTH, VOCABULARY),
    }
    weights = {
        name: jax.random.normal(key, shape) * 0.3
        for key, (name, shape) in zip(keys, shapes.items(), strict=True)
    }

    @jax.jit
    def step(
        weights: dict[str, jax.Array], tokens: jax.Array
    ) -> tuple[dict[str, jax.Array], jax.Array]:
        loss, gradients = jax.value_and_grad(loss_of)(weights, tokens)
        return jax.tree.map(lambda w, g: w - 1.0 * g, weights, gradients), loss

    losses = []
    for _ in range(epochs):
        for batch in batcher:
            tokens = jax.make_array_from_process_local_data(sharding, batch["tokens"])
            weights, loss = step(weights, tokens)
            losses.append(float(loss))
    return losses


def main(folder: Path, count: int = 4000) -> list[float]:
    path = folder / "tokens.tfrecord"
    write(path, count)
    return train(str(path))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        losses = main(Path(directory))
    print(f"loss {losses[0]:.2f} at first, {losses[-1]:.2f} after {len(losses)} steps")
