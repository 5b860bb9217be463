# SPDX-License-Identifier: Apache-2.0
"""fastrec.torch in accelerate, transformers' Trainer and Lightning, as they are."""

from __future__ import annotations

import json
import os
import socket
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch.utils.data import DataLoader  # noqa: E402
from torch_programs import accelerate_rank  # noqa: E402

from fastrec.torch import Dataset, IterableDataset, collate  # noqa: E402

COUNT = 103
pytestmark = pytest.mark.filterwarnings("ignore")  # theirs, of each other


@pytest.fixture
def dense(features: dict[str, Any]) -> dict[str, Any]:
    return {name: features[name] for name in ("id", "x")}


class Model(torch.nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Notes which records it saw."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(5, 1)
        self.seen: list[int] = []

    def forward(self, x: Any, id: Any) -> Any:
        self.seen += id.tolist()
        return {"loss": self.layer(x).mean()}


def test_accelerate_shares_out_once(files: str, dense: dict[str, Any], tmp_path: Any) -> None:
    pytest.importorskip("accelerate")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = (2, port, files, dense, str(tmp_path))
    torch.multiprocessing.spawn(accelerate_rank, arguments, nprocs=2)
    seen = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    prepared = [number for rank in seen for number in rank["prepared"]]
    assert set(prepared) == set(range(COUNT))
    assert len(prepared) == 104  # accelerate makes batches even by repeating
    assert sorted(number for rank in seen for number in rank["own"]) == list(range(COUNT))
    for rank in seen:
        assert len(rank["refused"]) == 2
        assert all(
            "fastrec.torch.IterableDataset already takes" in text for text in rank["refused"]
        )


def test_a_trainer_of_transformers(files: str, dense: dict[str, Any], tmp_path: Any) -> None:
    transformers = pytest.importorskip("transformers")
    model = Model()
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        per_device_train_batch_size=10,
        num_train_epochs=2,
        remove_unused_columns=False,
        report_to=[],
        use_cpu=True,
        save_strategy="no",
        disable_tqdm=True,
    )
    trainer = transformers.Trainer(
        model=model, args=arguments, train_dataset=Dataset(files, dense), data_collator=collate
    )
    trainer.train()
    assert sorted(model.seen[:COUNT]) == sorted(model.seen[COUNT:]) == list(range(COUNT))
    assert model.seen[:COUNT] != model.seen[COUNT:]


def test_lightning(files: str, dense: dict[str, Any], tmp_path: Any) -> None:
    lightning = pytest.importorskip("lightning")

    class Module(lightning.LightningModule):  # type: ignore[misc,name-defined,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.model = Model()

        def training_step(self, batch: Any, number: int) -> Any:
            return self.model(**batch)["loss"]

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.01)

    own = IterableDataset(files, dense, 10, shuffle=True, seed=1)
    loaders = (
        DataLoader(own, batch_size=None),
        DataLoader(Dataset(files, dense), 10, shuffle=True),
    )
    for loader in loaders:
        module = Module()
        trainer = lightning.Trainer(
            max_epochs=2,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=os.fspath(tmp_path),
        )
        trainer.fit(module, loader)
        seen = module.model.seen
        assert sorted(seen[:COUNT]) == sorted(seen[COUNT:]) == list(range(COUNT))
        assert seen[:COUNT] != seen[COUNT:]
