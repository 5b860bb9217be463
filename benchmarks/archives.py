# SPDX-License-Identifier: Apache-2.0
"""Samples of a tar archive: fastrec, webdataset, Megatron Energon and Python's tarfile.

    python benchmarks/archives.py >> section.md

Prints a section in Markdown for benchmarks/README.md. Requires webdataset, megatron-energon and
Pillow. Each number comes from the least processor time of `ROUNDS` rounds, in which the ways take
turns. Before, the samples of each loader are compared with what was written, in their order.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import io
import itertools
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import webdataset
from megatron import energon
from PIL import Image

import fastrec
from fastrec.bench.machine import cpu_name, memory_text

ROUNDS = 5
BATCH = 128
SAMPLES = 20_000
SIZE = 2000  # bytes of the larger file of a sample
JPEGS, SIDE = 2000, 256
LABEL = fastrec.FixedLenFeature((), np.int64)

Sample = tuple[Any, Any]  # label and image
Way = Callable[[str], Any]


def make(folder: str, images: Iterable[bytes]) -> str:
    """Write an archive of images and their numbers as labels, and the side files of Energon."""
    path = os.path.join(folder, "samples.tar")
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for number, content in enumerate(images):
            for name, data in (("jpg", content), ("cls", b"%d" % number)):
                member = tarfile.TarInfo(f"{number:06d}.{name}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    command = [os.path.join(os.path.dirname(sys.executable), "energon"), "prepare", folder]
    command += ["--non-interactive", "--split-parts", "val:samples.tar", "--no-progress"]
    command += ["--sample-type", "CrudeWebdataset"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return path


def drawn(rng: np.random.Generator) -> bytes:
    """Return a JPEG of `SIDE` by `SIDE` pixels: smooth noise, as detailed as a photograph."""
    noise = rng.integers(0, 256, (SIDE // 8, SIDE // 8, 3), dtype=np.uint8)
    file = io.BytesIO()
    image = Image.fromarray(noise).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    image.save(file, "JPEG", quality=90)
    return file.getvalue()


@energon.stateless
def cook(sample: Any) -> Any:
    """Return the sample as it is."""
    return sample


class Encoder(energon.DefaultTaskEncoder):  # type: ignore[misc, type-arg]
    """Pass samples on in batches; stack the images of a batch if they are decoded."""

    cookers = (energon.Cooker(cook),)

    def __init__(self, decoder: Any) -> None:
        super().__init__()
        self.decoder = decoder

    def encode_sample(self, sample: Any) -> Any:
        return sample

    def batch(self, samples: Sequence[Any]) -> Any:
        images = [sample["jpg"] for sample in samples]
        labels = [int(sample["cls"]) for sample in samples]
        return labels, np.stack(images) if self.decoder else images

    def encode_batch(self, batch: Any) -> Any:
        return batch


def by_fastrec(path: str, image: Any) -> Iterator[Sample]:
    for batch in fastrec.Batcher(path, {"jpg": image, "cls": LABEL}, BATCH, threads=1):
        yield batch["cls"], batch["jpg"]


def by_webdataset(path: str, decode: bool) -> Iterator[Sample]:
    samples = webdataset.WebDataset(path, shardshuffle=False)
    if decode:
        yield from samples.decode("rgb8").to_tuple("cls", "jpg").batched(BATCH)
    else:
        for sample in samples:
            yield sample["cls"], sample["jpg"]


def by_energon(path: str, decode: bool) -> Iterator[Sample]:
    decoder = energon.SampleDecoder(image_decode="rgb8") if decode else None
    samples = energon.get_val_dataset(
        os.path.dirname(path),
        worker_config=energon.WorkerConfig(rank=0, world_size=1, num_workers=0),
        batch_size=BATCH,  # it collects garbage after every few batches, or else samples
        task_encoder=Encoder(decoder),
    )
    yield from energon.get_loader(samples)


def members(path: str) -> int:
    with tarfile.open(path) as tar:
        return sum(1 for _ in tar) // 2


def count(samples: Any) -> int:
    """Return the number of samples, one by one or in batches."""
    if isinstance(samples, int):
        return samples
    return sum(len(label) if np.ndim(label) else 1 for label, _ in samples)


def check(samples: Iterable[Sample], images: Sequence[Any], name: str) -> None:
    """Compare labels and images, one by one or in batches, with what was written."""
    number = 0
    for label, image in samples:
        batch = zip(label, image, strict=True) if np.ndim(label) else [(label, image)]
        for label, image in batch:
            if int(label) != number or not np.array_equal(image, images[number]):
                raise AssertionError(f"{name} delivered another sample for number {number}")
            number += 1
    if number != len(images):
        raise AssertionError(f"{name} delivered {number} samples instead of {len(images)}")


UNDECODED: dict[str, Way] = {
    "`Index.build`, 2 members per sample": lambda path: len(fastrec.Index.build(path)),
    "`Reader`, one Example per sample": lambda path: sum(1 for _ in fastrec.Reader(path)),
    "`Batcher`, one thread, batches of 128": lambda path: by_fastrec(
        path, fastrec.FixedLenFeature((), bytes)
    ),
    "webdataset": lambda path: by_webdataset(path, False),
    "energon": lambda path: by_energon(path, False),
    "`tarfile`, headers only": members,
}
DECODED: dict[str, Way] = {
    "`Batcher`, one thread": lambda path: by_fastrec(path, fastrec.ImageFeature((SIDE, SIDE))),
    "webdataset": lambda path: by_webdataset(path, True),
    "energon": lambda path: by_energon(path, True),
}


def measure(ways: dict[str, Way], images: Sequence[bytes], wanted: Sequence[Any]) -> None:
    """Check and measure the ways, and print a table."""
    least = dict.fromkeys(ways, float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        path = make(folder, images)
        for name, way in ways.items():
            samples = way(path)
            if not isinstance(samples, int):
                check(samples, wanted, name)
        for _, (name, way) in itertools.product(range(ROUNDS), ways.items()):
            began = time.process_time()
            if count(way(path)) != len(images):
                raise AssertionError(f"{name} did not deliver {len(images)} samples")
            least[name] = min(least[name], time.process_time() - began)
    print("| | samples per core second | times webdataset | times energon |\n|---|--:|--:|--:|")
    for name, seconds in least.items():
        ratios = " | ".join(f"{least[peer] / seconds:.1f}" for peer in ("webdataset", "energon"))
        print(f"| {name} | {len(images) / seconds:,.0f} | {ratios} |")


def main() -> None:
    peers = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("webdataset", "megatron-energon")
    )
    print(f"## Tar archives: {SAMPLES:,} samples of {SIZE:,} bytes and a label\n")
    print(
        f"`python benchmarks/archives.py`, {peers}, {cpu_name()}, {memory_text()}, "
        f"{datetime.date.today()}; processor time, least of {ROUNDS} rounds. Samples and their "
        "order were checked. Undecoded:\n"
    )
    content = os.urandom(SIZE)
    measure(UNDECODED, [content] * SAMPLES, [content] * SAMPLES)
    rng = np.random.default_rng(0)
    images = [drawn(rng) for _ in range(JPEGS)]
    size = sum(map(len, images)) / JPEGS
    print(f"\nJPEG to batch: {JPEGS:,} images of {SIDE}x{SIDE} pixels and {size:,.0f} bytes, as "
          f"uint8 in batches of {BATCH}, in the same run:\n")  # fmt: skip
    measure(DECODED, images, [np.asarray(Image.open(io.BytesIO(image))) for image in images])


if __name__ == "__main__":
    main()
