# SPDX-License-Identifier: Apache-2.0
"""Loading into the memory of a GPU: rates end to end, and the loader's share of a training step.

    python benchmarks/gpu_loading.py [--json out.json] [--device cpu --records 8 --batch 4]

Needs torch. Every way of loading gives the same bytes: images of 3 x 224 x 224 uint8 with a label,
shuffled, in batches. Rounds are interleaved; the best of each counts. On a CPU, which shows
that the program works, nothing is copied ahead or pinned, and the rates say nothing about a GPU.
So far the program has run on a CPU only: no rate of a GPU has been measured.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

import fastrec
import fastrec.torch

ROUNDS, FILES = 3, 8
SHAPE = (3, 224, 224)
FEATURES = {
    "image": fastrec.RawFeature(SHAPE, np.uint8),
    "label": fastrec.FixedLenFeature((), np.int64),
}


def write(folder: Path, records: int) -> str:
    """Write the records into files: 1.9 GB for 12,800 records."""
    rng = np.random.default_rng(0)
    for number in range(FILES):
        with fastrec.Writer(folder / f"train-{number}.tfrecord", index=True) as writer:
            left = records // FILES
            while left:
                count = min(left, 200)
                images = rng.integers(0, 256, (count, *SHAPE), dtype=np.uint8)
                writer.write_batch({"image": images, "label": rng.integers(0, 1000, count)})
                left -= count
    return str(folder / "train-*.tfrecord")


def iterable(files: str, size: int, **options: Any) -> Any:
    return fastrec.torch.IterableDataset(
        files, FEATURES, size, shuffle=True, seed=0, drop_remainder=True, **options
    )


def copied(batches: Iterable[Any], device: torch.device, non_blocking: bool) -> Iterator[Any]:
    for batch in batches:
        yield {key: value.to(device, non_blocking=non_blocking) for key, value in batch.items()}


def ways(files: str, size: int, device: torch.device) -> dict[str, Callable[[], Iterator[Any]]]:
    """Ways of having batches on the device, by name."""
    dataset = fastrec.torch.Dataset(files, FEATURES)

    def loader(**options: Any) -> Any:
        return DataLoader(dataset, size, shuffle=True, drop_last=True, **options)

    plain = {
        "DataLoader": lambda: copied(loader(), device, False),
        "IterableDataset, .to(device)": lambda: copied(iterable(files, size), device, False),
        "IterableDataset, prefetch_to": lambda: fastrec.torch.prefetch_to(
            iterable(files, size), device
        ),
    }
    if device.type == "cpu":
        return plain
    return plain | {
        "DataLoader, pin_memory": lambda: copied(loader(pin_memory=True), device, True),
        "DataLoader, 4 workers, pin_memory": lambda: copied(
            loader(pin_memory=True, num_workers=4), device, True
        ),
        "IterableDataset, pin_memory, prefetch_to": lambda: fastrec.torch.prefetch_to(
            iterable(files, size, pin_memory=True), device
        ),
    }


def wait_for(device: torch.device) -> None:
    """Wait for all work of the device."""
    if device.type != "cpu":
        torch.get_device_module(device).synchronize(device)


def loaded(batches: Iterator[Any], device: torch.device) -> dict[str, float]:
    """Images a second and bytes a second into the device."""
    began, images, size = time.perf_counter(), 0, 0
    for batch in batches:
        images += len(batch["label"])
        size += batch["image"].nbytes
    wait_for(device)
    seconds = time.perf_counter() - began
    return {"images/s": images / seconds, "GB/s": size / seconds / 1e9}


class Step:
    """A training step of a convolutional network in bfloat16."""

    def __init__(self, device: torch.device) -> None:
        layers: list[torch.nn.Module] = []
        for before, after in ((3, 64), (64, 128), (128, 256), (256, 512)):
            layers += [
                torch.nn.Conv2d(before, after, 3, stride=2, padding=1),
                torch.nn.BatchNorm2d(after),
                torch.nn.ReLU(),
                torch.nn.Conv2d(after, after, 3, padding=1),
                torch.nn.ReLU(),
            ]
        layers += [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(512, 1000)]
        self.device = device
        self.model = torch.nn.Sequential(*layers).to(device, memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def __call__(self, batch: Any) -> None:
        images = batch["image"].to(torch.float32).div_(255)
        images = images.contiguous(memory_format=torch.channels_last)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type != "cpu"):
            loss = torch.nn.functional.cross_entropy(self.model(images), batch["label"])
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()


def trained(batches: Iterator[Any], step: Step) -> float:
    """Seconds a step, with loading."""
    count, began = 0, time.perf_counter()
    for batch in batches:
        step(batch)
        count += 1
    wait_for(step.device)
    return (time.perf_counter() - began) / count


def same_batch(batches: Iterator[Any], count: int) -> Iterator[Any]:
    """Yield the first batch `count` times, which costs no loading."""
    first = next(batches)
    for _ in range(count):
        yield first


def check(files: str, size: int, device: torch.device) -> None:
    """Prefetched batches have the bytes of those that are not."""
    for options in ({}, {"pin_memory": True})[: 1 if device.type == "cpu" else 2]:
        ahead = fastrec.torch.prefetch_to(iterable(files, size, **options), device, ahead=3)
        for there, here in zip(ahead, iterable(files, size), strict=True):
            assert torch.equal(there["image"].cpu(), here["image"])
            assert torch.equal(there["label"].cpu(), here["label"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--device", type=torch.device, default="cuda")
    parser.add_argument("--records", type=int, default=12_800, help=f"a multiple of {FILES}")
    parser.add_argument("--batch", type=int, default=256, help="records in a batch")
    arguments = parser.parse_args()
    device, size = arguments.device, arguments.batch
    name = "CPU" if device.type == "cpu" else torch.get_device_module(device).get_device_name()
    results: dict[str, Any] = {"device": name}
    with tempfile.TemporaryDirectory() as folder:
        files = write(Path(folder), arguments.records)
        check(files, size, device)
        step = Step(device)
        every = ways(files, size, device)
        alone = "step alone"
        for _ in range(ROUNDS):
            for name, make in every.items():
                found = results.setdefault(name, {})
                for unit, rate in loaded(make(), device).items():
                    found[unit] = max(found.get(unit, 0), rate)
                seconds = trained(make(), step)
                found["step ms"] = min(found.get("step ms", 1e9), seconds * 1e3)
            best = trained(same_batch(every["DataLoader"](), arguments.records // size), step) * 1e3
            results[alone] = min(results.get(alone, 1e9), best)
    for name in every:
        share = 1 - results[alone] / results[name]["step ms"]
        results[name]["loader's share"] = share
        row = ", ".join(f"{unit} {value:,.2f}" for unit, value in results[name].items())
        print(f"{name}: {row}")
    print(f"{alone}: {results[alone]:.2f} ms on {results['device']}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
