# SPDX-License-Identifier: Apache-2.0
"""A policy from robot episodes in RLDS form, with PyTorch, without TensorFlow.

    python examples/rlds_pytorch.py [directory of a set that TFDS has prepared]

Steps are drawn from all episodes at random; a run that is stopped goes on with the next batch.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import fastrec
import fastrec.tfds

SIDE, CHUNK, BATCH = 64, 4, 32


def make_episodes(directory: Path) -> str:
    """An arm that reaches for a light spot, where real episodes are not at hand."""
    rng = np.random.default_rng(0)

    def episode() -> dict[str, Any]:
        goal, hand, steps = rng.integers(8, SIDE - 8, 2), np.array([SIDE / 2] * 2), []
        for t in range(12):
            image = np.zeros((SIDE, SIDE, 3), np.uint8)
            image[goal[0] - 4 : goal[0] + 4, goal[1] - 4 : goal[1] + 4] = 255
            move = np.clip((goal - hand) / SIDE, -0.2, 0.2)
            observation = {"image": image, "state": hand / SIDE}
            steps.append({"observation": observation, "action": move, "is_last": t == 11})
            hand = hand + move * SIDE
        return {"steps": steps}

    features = fastrec.tfds.features
    step = {
        "observation": {
            "image": features.Image((SIDE, SIDE, 3), encoding_format="png"),
            "state": features.Tensor((2,)),
        },
        "action": features.Tensor((2,)),
        "is_last": "bool",
    }
    described = {"steps": features.Dataset(step)}
    return fastrec.tfds.write(
        directory, "reach", {"train": [episode() for _ in range(60)]}, described
    )


class Policy(nn.Module):
    """Image and state to a chunk of actions."""

    def __init__(self, state: int, action: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inner, outer in ((3, 16), (16, 32), (32, 32)):
            layers += [nn.Conv2d(inner, outer, 5, stride=3, padding=2), nn.ReLU()]
        self.eye = nn.Sequential(*layers, nn.Flatten())
        self.head = nn.Sequential(nn.LazyLinear(128), nn.ReLU(), nn.Linear(128, CHUNK * action))
        self.action = action

    def forward(self, image: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        seen = self.eye(image.permute(0, 3, 1, 2).float() / 255)
        found: torch.Tensor = self.head(torch.cat([seen, state], dim=1))
        return found.unflatten(1, (CHUNK, self.action))


def main(directory: str | None = None, epochs: int = 3) -> list[float]:
    """The mean error of each epoch."""
    work = Path(tempfile.mkdtemp())
    dataset = fastrec.tfds.load(directory or make_episodes(work), split="train")
    steps = dataset.features["steps"].feature
    image = next(name for name in steps["observation"] if name.startswith("image"))
    stats = dataset.statistics(["steps/action"])["steps/action"]
    mean, scale = torch.tensor(stats.mean).float(), torch.tensor(stats.std).float() + 1e-6
    torch.manual_seed(0)
    policy = Policy(steps["observation"]["state"].shape[0], steps["action"].shape[0])
    optimizer = torch.optim.Adam(policy.parameters(), 1e-3)
    checkpoint, errors = work / "checkpoint.json", []
    batcher = dataset.steps(
        BATCH,
        chunk=CHUNK,
        features=[f"observation/{image}", "observation/state", "action"],
        decode={f"observation/{image}": fastrec.ImageFeature((SIDE, SIDE), fit="resize")},
        shuffle=True,
        seed=0,
    )
    for epoch in range(epochs):  # in another order each time
        batches, sums = iter(batcher), []
        for batch in batches:
            seen = batch["observation"]
            found = policy(torch.from_numpy(seen[image]), torch.from_numpy(seen["state"]))
            wanted = (torch.from_numpy(batch["action"]).float() - mean) / scale
            mask = torch.from_numpy(batch["_chunk_mask"])[..., None]
            loss = ((found - wanted).square() * mask).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            sums.append(loss.item())
            checkpoint.write_text(json.dumps(batches.state_dict()))  # beside the weights
        errors.append(float(np.mean(sums)))
        print(f"epoch {epoch}: {len(batcher)} batches, error {errors[-1]:.3f}")
    return errors


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
