# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/pytorch.md run as they stand, and each epoch has every record once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_code import block_of
from pets import png

import fastrec
import fastrec.image

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch.utils.data import DataLoader  # noqa: E402

import fastrec.torch  # noqa: E402

COUNT = 300
pytestmark = pytest.mark.filterwarnings("ignore")  # frameworks, of each other


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that a program of the page has; its files are in the working directory."""
    for prefix in ("train", "validation"):
        with fastrec.Writer(tmp_path / f"{prefix}.tfrecord", shards=2) as writer:
            for number in range(COUNT):
                writer.write({"image": png(8, 8, 100), "label": number, "weight": 0.5})
    monkeypatch.chdir(tmp_path)
    return {
        "fastrec": fastrec,
        "DataLoader": DataLoader,
        "features": {"label": fastrec.FixedLenFeature((), np.int64)},
        "device": "cpu",
        "seen": [],
        **vars(fastrec.image),
    }


def check_epochs(seen: list[Any], count: int, *, shuffled: bool = True) -> None:
    """Each of `count` epochs has every record once, in an order of its own."""
    labels = [int(label) for batch in seen for label in batch["label"]]
    epochs = [labels[begin : begin + COUNT] for begin in range(0, len(labels), COUNT)]
    assert len(epochs) == count
    assert all(sorted(epoch) == list(range(COUNT)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == (count if shuffled else 1)


def test_a_data_loader_as_it_is(names: dict[str, Any]) -> None:
    code = block_of("pytorch", 'batch["weight"], batch["label"]')
    exec(
        code.replace('batch["weight"], batch', 'seen.append(batch), batch["weight"], batch'), names
    )
    check_epochs(names["seen"], 1)
    assert names["seen"][0]["weight"].dtype == torch.float32


def test_random_transforms_of_a_dataset(names: dict[str, Any]) -> None:
    names["seed"] = 0
    code = block_of("pytorch", "RandomResizedCrop(224), Flip()", body="seen.append(batch)")
    code = code.replace("(224)", "(4)").replace('{"image": image}', "features").replace("10", "3")
    names["features"]["image"] = None
    code = code.replace("dataset = ", 'features["image"] = image\ndataset = ')
    exec(code, names)
    check_epochs(names["seen"], 3)
    images = [
        {
            int(label): batch["image"][row].numpy().tobytes()
            for row, label in enumerate(batch["label"])
        }
        for batch in names["seen"]
    ]
    assert len({image[7] for image in images if 7 in image}) == 3


def test_batches_made_by_fastrec(names: dict[str, Any]) -> None:
    code = block_of("pytorch", "drop_remainder=True\n)\nloader", body="seen.append(batch)")
    exec(code.replace("=128", "=100"), names)
    check_epochs(names["seen"], 10)


def test_a_loop_of_ddp_in_one_process(names: dict[str, Any]) -> None:
    code = block_of(
        "pytorch", "prefetch_to(dataset, device)", 'uneven="drop"', body="seen.append(batch)"
    )
    exec(code.replace(" 128,", " 100,"), names)
    check_epochs(names["seen"], 10)


def test_one_rank_evaluates_alone(names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    code = block_of("pytorch", "validation-*", body="seen.append(batch)")
    for variables in ("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"):
        for name, value in zip(variables, "04", strict=True):
            monkeypatch.setenv(name, value)
        names["seen"].clear()
        exec(code, names | {"rank": 0})
        check_epochs(names["seen"], 1)


def test_batches_of_a_device(names: dict[str, Any]) -> None:
    code = block_of("pytorch", "pin_memory=True", body="seen.append(batch)")
    code = code.replace("(..., pin_memory=True)", '("train-*", features, 64)')
    exec(code.replace('"cuda"', "device"), names)
    check_epochs(names["seen"], 1)


@pytest.mark.parametrize("part", ["accelerator.prepare", "accelerator.device"])
def test_accelerate(names: dict[str, Any], part: str) -> None:
    accelerate = pytest.importorskip("accelerate")
    names["accelerator"] = accelerate.Accelerator(cpu=True)
    if part == "accelerator.prepare":
        names["dataset"] = fastrec.torch.Dataset("train-*", names["features"])
        exec(block_of("pytorch", part), names)
        for _ in range(2):
            names["seen"] += names["loader"]
    else:
        names["dataset"] = fastrec.torch.IterableDataset(
            "train-*", names["features"], 32, shuffle=True, seed=0
        )
        for _ in range(2):
            exec(block_of("pytorch", part, body="seen.append(batch)"), names)
    check_epochs(names["seen"], 2)
