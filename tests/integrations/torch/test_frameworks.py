# SPDX-License-Identifier: Apache-2.0
"""fastrec.torch in accelerate, transformers' Trainer and Lightning, as they are."""

from __future__ import annotations

import json
import os
import socket
from typing import Any

import pytest
from pets import png

import fastrec
from fastrec.image import Flip, RandomResizedCrop

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
        if self.training:
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


@pytest.mark.parametrize("workers", [0, 2])
def test_accelerate_gives_each_epoch_its_images_and_skips_batches(
    tmp_path: Any, workers: int
) -> None:
    accelerate = pytest.importorskip("accelerate")
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        for number in range(30):
            writer.write({"id": number, "image": png(9, 9, number)})
    features = {
        "id": fastrec.FixedLenFeature((), int),
        "image": fastrec.ImageFeature(transforms=[RandomResizedCrop(4), Flip()]),
    }

    def images_of(batches: Any) -> dict[int, bytes]:
        return {
            int(number): image.numpy().tobytes()
            for batch in batches
            for number, image in zip(batch["id"], batch["image"], strict=True)
        }

    dataset = Dataset(tmp_path / "a.tfrecord", features, seed=0)
    loader = DataLoader(dataset, 4, shuffle=True, num_workers=workers)
    loader = accelerate.Accelerator(cpu=True).prepare(loader)
    seen = [images_of(loader) for _ in range(2)]
    loader.set_epoch(2)
    seen.append(images_of(accelerate.skip_first_batches(loader, 5)))
    assert [len(images) for images in seen] == [30, 30, 10]
    for epoch, images in enumerate(seen):
        dataset.set_epoch(epoch)
        expected = images_of(DataLoader(dataset, 10))
        assert images == {number: expected[number] for number in images}
    assert seen[0] != seen[1]


def train(folder: Any, dataset: Any, checkpoint: str | None = None) -> tuple[Model, list[int]]:
    """Train and evaluate for two epochs; return the model and the records of the evaluations."""
    transformers = pytest.importorskip("transformers")
    model, evaluated = Model(), []
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=10,
        num_train_epochs=2,
        remove_unused_columns=False,
        report_to=[],
        use_cpu=True,
        save_steps=4,
        eval_strategy="epoch",
        prediction_loss_only=True,
        disable_tqdm=True,
    )

    def note(model: Any, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        if not model.training:
            evaluated.extend(named["id"].tolist())

    model.register_forward_pre_hook(note, with_kwargs=True)
    trainer = transformers.Trainer(
        model=model,
        args=arguments,
        train_dataset=dataset,
        eval_dataset=dataset,
        data_collator=collate,
    )
    trainer.train(resume_from_checkpoint=checkpoint)
    return model, evaluated


def test_a_trainer_of_transformers(files: str, dense: dict[str, Any], tmp_path: Any) -> None:
    model, evaluated = train(tmp_path, Dataset(files, dense))
    seen = model.seen
    assert sorted(evaluated) == sorted([*range(COUNT)] * 2)
    assert sorted(seen[:COUNT]) == sorted(seen[COUNT:]) == list(range(COUNT))
    assert seen[:COUNT] != seen[COUNT:]
    for step in (4, 12, 20):  # of 11 steps in each epoch
        resumed, _ = train(
            tmp_path / "again", Dataset(files, dense), f"{tmp_path}/checkpoint-{step}"
        )
        assert resumed.seen == seen[step * 10 - (step > 11) * 7 :]


@pytest.mark.parametrize("workers", [0, 2])
def test_lightning_validates_with_every_record_after_its_sanity_check(
    files: str, dense: dict[str, Any], tmp_path: Any, workers: int
) -> None:
    lightning = pytest.importorskip("lightning")

    class Module(lightning.LightningModule):  # type: ignore[misc,name-defined,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.model = Model()
            self.passes: list[list[int]] = []

        def training_step(self, batch: Any, number: int) -> Any:
            return self.model(**batch)["loss"]

        def on_validation_epoch_start(self) -> None:
            self.passes.append([])

        def validation_step(self, batch: Any, number: int) -> None:
            self.passes[-1] += batch["id"].tolist()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.01)

    train, validate = (
        DataLoader(
            IterableDataset(files, dense, 10, shuffle=shuffle, seed=1),
            batch_size=None,
            num_workers=workers,
        )
        for shuffle in (True, False)
    )
    module = Module()
    trainer = lightning.Trainer(
        max_epochs=2,
        val_check_interval=5,
        num_sanity_val_steps=2,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=os.fspath(tmp_path),
    )
    trainer.fit(module, train, validate)
    seen = module.model.seen
    assert sorted(seen[:COUNT]) == sorted(seen[COUNT:]) == list(range(COUNT))
    sanity, *passes = module.passes
    assert len(sanity) == 20
    assert len(passes) == 4
    assert all(sorted(numbers) == list(range(COUNT)) for numbers in passes)


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
