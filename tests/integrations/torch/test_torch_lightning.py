# SPDX-License-Identifier: Apache-2.0
"""Lightning goes on after a checkpoint as docs/pytorch.md says, within an epoch and at its end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fastrec

torch = pytest.importorskip("torch", reason="torch is not installed")
try:
    lightning = pytest.importorskip("lightning", reason="lightning is not installed")
except RuntimeError as error:  # Its metrics import torchvision, whose operators may not load.
    pytest.skip(f"lightning cannot be imported: {error}", allow_module_level=True)
stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")

from torch.utils.data import DataLoader  # noqa: E402

from fastrec.torch import IterableDataset  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # theirs, of each other
EPOCHS, BATCH = 3, 10
STEPS = {0: 11, 2: 12}  # of an epoch, by the number of workers


class Module(lightning.LightningModule):  # type: ignore[misc,name-defined,unused-ignore]
    """Notes the epoch and the records of each batch."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(5, 1)
        self.seen: list[tuple[int, list[int]]] = []

    def training_step(self, batch: Any, number: int) -> Any:
        self.seen.append((self.current_epoch, batch["id"].tolist()))
        return self.layer(batch["x"]).mean()

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), 0.01)


class WithLoader(Module):
    """The pattern of the page: a StatefulDataLoader."""

    def __init__(self, dataset: Any, workers: int) -> None:
        super().__init__()
        self.dataset, self.workers = dataset, workers

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        loop = checkpoint["loops"]["fit_loop"]
        if loop["epoch_loop.batch_progress"]["is_last_batch"]:
            loop["state_dict"].pop("combined_loader", None)

    def train_dataloader(self) -> Any:
        loop = self.trainer.fit_loop
        is_over = loop.epoch_loop.batch_progress.is_last_batch
        epoch = loop.epoch_progress.current
        self.dataset.set_epoch(epoch.ready if is_over else epoch.processed)
        return stateful.StatefulDataLoader(self.dataset, batch_size=None, num_workers=self.workers)


class Data(lightning.LightningDataModule):  # type: ignore[misc,name-defined,unused-ignore]
    """The pattern of the page: the state of the dataset itself."""

    def __init__(self, dataset: Any, workers: int) -> None:
        super().__init__()
        self.dataset, self.workers = dataset, workers

    def train_dataloader(self) -> Any:
        return DataLoader(self.dataset, batch_size=None, num_workers=self.workers)

    def state_dict(self) -> dict[str, Any]:
        state: dict[str, Any] = self.dataset.state_dict()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.dataset.load_state_dict(state)


def fit(
    folder: Path, files: str, features: Any, kind: str, workers: int, epochs: int, **options: Any
) -> list[tuple[int, list[int]]]:
    dense = {name: features[name] for name in ("id", "x")}
    dataset = IterableDataset(files, dense, BATCH, shuffle=True, seed=5)
    module = WithLoader(dataset, workers) if kind == "loader" else Module()
    trainer = lightning.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=str(folder),
        callbacks=options.get("callbacks"),
        enable_checkpointing="callbacks" in options,
    )
    data = None if kind == "loader" else Data(dataset, workers)
    trainer.fit(module, datamodule=data, ckpt_path=options.get("checkpoint"))
    return module.seen


@pytest.mark.parametrize(("kind", "workers"), [("loader", 0), ("loader", 2), ("data", 0)])
@pytest.mark.parametrize("steps", [None, 5, 15, "one epoch", "two epochs"])
def test_a_resumed_run_trains_on_what_is_left(
    files: str, features: dict[str, Any], tmp_path: Path, kind: str, workers: int, steps: Any
) -> None:
    per_epoch = STEPS[workers]
    steps = {"one epoch": per_epoch, "two epochs": 2 * per_epoch}.get(steps, steps)
    arguments = (files, features, kind, workers)
    uninterrupted = fit(tmp_path, *arguments, EPOCHS)
    checkpoint = lightning.pytorch.callbacks.ModelCheckpoint(
        tmp_path, filename="saved", every_n_train_steps=steps, save_top_k=1
    )
    epochs = 1 if steps is None else (steps - 1) // per_epoch + 1
    fit(tmp_path, *arguments, epochs, callbacks=[checkpoint])
    (path,) = tmp_path.glob("saved*.ckpt")
    saved = torch.load(path, weights_only=False)["global_step"]
    resumed = fit(tmp_path, *arguments, EPOCHS, checkpoint=str(path))
    assert resumed == uninterrupted[saved:]
    assert resumed


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_state_without_a_batch_left_is_refused(
    files: str,
    features: dict[str, Any],
    tmp_path: Path,
    workers: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checkpoint = lightning.pytorch.callbacks.ModelCheckpoint(
        tmp_path, filename="saved", every_n_train_steps=STEPS[workers], save_top_k=1
    )
    fit(tmp_path, files, features, "loader", workers, 1, callbacks=[checkpoint])
    (path,) = tmp_path.glob("saved*.ckpt")
    monkeypatch.delattr(WithLoader, "on_load_checkpoint")
    with pytest.raises(fastrec.FastrecError, match="on_load_checkpoint"):
        fit(tmp_path, files, features, "loader", workers, EPOCHS, checkpoint=str(path))


def test_the_state_of_a_dataset_of_workers_is_refused(
    files: str, features: dict[str, Any], tmp_path: Path
) -> None:
    checkpoint = lightning.pytorch.callbacks.ModelCheckpoint(tmp_path)
    with pytest.raises(fastrec.FastrecError, match="StatefulDataLoader"):
        fit(tmp_path, files, features, "data", 2, 1, callbacks=[checkpoint])
