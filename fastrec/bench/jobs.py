# SPDX-License-Identifier: Apache-2.0
"""The jobs of the suite, with their contestants and cases."""

from __future__ import annotations

from dataclasses import dataclass

from .cases import CASES, RAW_CASES, Case

__all__ = ["FRAMEWORKS", "JOBS", "PEERS", "Entry", "Job", "crc_case"]

OURS = "ours"
CEILING = "ceiling"

# Modules in benchmarks/peers/ of a checkout, with their titles and required packages.
PEERS: dict[str, str] = {
    "tensorflow": "tensorflow-cpu",
    "tfrecord": "tfrecord",
    "tfrecords": "tfrecords",
    "google_crc32c": "google-crc32c",
    "crc32c": "crc32c",
    "awscrt": "awscrt",
    "array_record": "array-record",
    "bagz": "bagz",
    "torch": "torch",
    "grain": "grain",
    "tensorboard": "tensorboard",
    "torchvision": "torchvision",
    "dali": "nvidia-dali-cuda120",
}

# In these frameworks fastrec runs inside the framework, whose interpreter must import it.
FRAMEWORKS = ("torch", "grain")


@dataclass(frozen=True)
class Entry:
    """A contestant: a process, and the variant of the job that it runs."""

    peer: str
    variant: str = ""

    @property
    def label(self) -> str:
        name = {OURS: "fastrec", CEILING: ""}.get(self.peer, self.peer)
        return " ".join(part for part in (name, self.variant) if part)


@dataclass(frozen=True)
class Job:
    """A job. If `shuffled`, the order of rows is not compared. `unit` is the measured quantity."""

    name: str
    title: str
    cases: tuple[str, ...]
    shuffled: bool = False
    unit: str = "records"
    note: str = ""


_SIX = ("cifar", "photo", "tabular", "tokens", "embed", "ragged")
_ROWS = ("cifar", "tabular", "ragged")
CRC_SIZES = (64, 256, 1 << 10, 4 << 10, 64 << 10, 1 << 20, 16 << 20)


def _size_text(size: int) -> str:
    for shift, unit in ((20, "MiB"), (10, "KiB")):
        if size >= 1 << shift:
            return f"{size >> shift} {unit}"
    return f"{size} B"


def crc_case(size: int, cold: bool) -> Case:
    """Return the case of the checksum job for buffers of `size` bytes."""
    total = (128 << 20) if cold else max(256 << 10, size)
    name = f"{_size_text(size)} {'cold' if cold else 'warm'}"
    return Case(name, f"buffers of {_size_text(size)}", (), max(total // size, 1))


_BUFFERS = [crc_case(size, cold) for cold in (False, True) for size in CRC_SIZES]
CRC_CASES = {case.name: case for case in _BUFFERS}

JOBS: dict[str, Job] = {
    job.name: job
    for job in (
        Job("crc", "CRC32C of one buffer, called from Python", tuple(CRC_CASES),
            note="Cold: 128 MiB of buffers, one after the other. Warm: 256 KiB, again and again. "
                 "The ceiling is NumPy reading the same bytes in one call."),
        Job("verify", "Check every checksum of a file", ("kib", "cifar", "tabular"),
            note="google-crc32c and crc32c are given the records already cut out of the file."),
        Job("count", "Count the records of a file", ("small", "tabular")),
        Job("index", "Find where every record of a file begins", ("small", "tabular")),
        Job("iterate", "Iterate over records", (*_SIX, "small"),
            note="Checksums are verified by fastrec, TensorFlow and tfrecords; tfrecord does not."),
        Job("random", "Read records in random order", ("small", "tabular"),
            note="fastrec verifies what it reads; bagz does not."),
        Job("parse", "Parse into dense batches of 128 (photo: 16)", _SIX),
        Job("shuffle", "Shuffled, parsed batches", _SIX, shuffled=True,
            note="`memcpy` copies the payload in file order. Copying whole records one by one in "
                 "random order shows the cost of shuffling to the memory alone."),
        Job("distort", "Images cropped, flipped, brightened, contrasted and standardised",
            ("cifar",), shuffled=True,
            note="CIFAR-10's `distorted_inputs`, through a buffer of 2,000; in queues, as in "
                 "TensorFlow 1. Random numbers differ, so results are not compared here; "
                 "the tests compare fastrec with the formulas."),
        Job("train images", "ImageNet-like training batches: random resized crop, flip, mean/std",
            ("imagenet",), shuffled=True,
            note="224 by 224 pixels of float32, channels last, of the whole dataset in random "
                 "order. Ceilings, by as many threads, on images in memory: a C program that "
                 "decodes the crops by libjpeg-turbo and resizes them into uint8, two neighbours a "
                 "side (`benchmarks/jpeg_ceiling.c`); and the same regions decoded and dropped."),
        Job("cold", "Shuffled, parsed batches of a file that is not in memory", ("cifar",),
            shuffled=True,
            note="The file is dropped from the page cache before each pass; fastrec has its index "
                 "beside it, opens, shuffles, verifies and parses. Beside it, `pread(2)` of one "
                 "record after the other in random order, without processing, and `read(2)` of the "
                 "whole file in file order."),
        Job("gzip", "Parse a GZIP file into batches", ("tabular", "tokens", "ragged"),
            note="Ceilings: isal, which fastrec inflates with, and nothing else; and the same from "
                 "checkpoints, by as many threads."),
        Job("small batches", "Parse into batches of a few rows",
            ("scalars 1", "scalars 10", "scalars 40"),
            note="Per row. tf.data by its `as_numpy_iterator`."),
        Job("queue", "The queue pipeline of TensorFlow 1: shuffle_batch", ("cifar", "pairs"),
            shuffled=True,
            note="pairs: the tutorials' segmentation pairs of PASCAL VOC, two a batch, each "
                 "cropped and padded to 384 by 384 pixels."),
        Job("dataset", "A program of tf.data: shuffle, map, batch", ("cifar", "tabular", "embed"),
            shuffled=True,
            note="One function parses one example, as in most programs; fastrec runs the same code "
                 "by `import fastrec.compat.v2 as tf`."),
        Job("loader", "A program of the tfrecord package: tfrecord_loader",
            ("cifar", "tabular", "ragged"),
            note="Row by row; fastrec by `import fastrec.compat.tfrecord as tfrecord`, which "
                 "verifies checksums."),
        Job("dataloader", "PyTorch's DataLoader, unmodified, over a map-style dataset",
            ("cifar", "tabular"), shuffled=True,
            note="`DataLoader(dataset, batch_size=128, shuffle=True)`, without workers; one record "
                 "at a time is the same dataset without `__getitems__`. The tfrecord package's "
                 "dataset is iterable, in file order. `Batcher` is shuffled by itself."),
        Job("grain", "Batches of 128 through Grain, shuffled", ("cifar", "tabular"), shuffled=True,
            note="Grain's own sources give one record at a time, which protobuf parses; its "
                 "TFRecord reader has no random access, and reads in file order."),
        Job("events", "The scalars of a TensorBoard event file, as columns", ("events",)),
        Job("write", "Write examples", _SIX,
            note="Without fsync. Outputs are compared by reading them back."),
        Job("encode", "Encode columns, in memory", ("cifar", "embed"),
            note="`memcpy` copies the encoded bytes into newly allocated memory, as the others "
                 "use."),
        Job("first batch", "From nothing to the first batch", ("cifar", "tabular"), unit="seconds"),
        Job("large", "From nothing to the first shuffled batch of 10 GB", ("",), unit="seconds",
            note="A file of records like those of cifar, with its index beside it. It is sparse: "
                 "only the records of the first batches are stored."),
        Job("scatter", "Ten million records of 44 bytes, in batches of 512", ("",),
            note="In file order and shuffled as a whole, in one file and in 10,000."),
        Job("index size", "The index of ten million records of 44 bytes, in memory", ("",),
            unit="bytes"),
        Job("shards", "A billion records of 10 kB in 100,000 shards, shuffled", ("",),
            unit="seconds", note="From nothing to the first batch of 256, and each batch after it, "
                                 "nearly every record of which is in another file. Each shard has "
                                 "its index beside it. They are names of 100 sparse files, and "
                                 "only what is read is in them. A manifest says how many records "
                                 "each has, so that none is opened before it is read."),
        Job("import", "Import, in a new interpreter", ("",), unit="seconds"),
        Job("memory", "Peak memory of its own while batches are made", ("cifar", "photo"),
            unit="bytes", note="fastrec shuffles the whole dataset, TensorFlow with a buffer of "
                               "2,000 (photo: everything)."),
    )
}  # fmt: skip


def case_named(name: str, scale: float = 1.0) -> Case:
    """Return the case with this name. Checksum buffers and empty cases have a fixed size."""
    if name in CRC_CASES:
        return CRC_CASES[name]
    if not name:
        return Case("", "", (), 1)
    return (CASES.get(name) or RAW_CASES[name]).scaled(scale)
