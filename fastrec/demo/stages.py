# SPDX-License-Identifier: Apache-2.0
"""The stages of the demo. Each processes data with fastrec and reports a measurement."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import fastrec
from fastrec.cli.report import Failure
from fastrec.demo.samples import Image, Images, UInt8Array, same
from fastrec.image import ImageError

__all__ = [
    "Loaded",
    "Measured",
    "Original",
    "Proved",
    "Written",
    "features_for",
    "load",
    "measured",
    "prove",
    "verify",
    "views",
    "write",
]

Advance = Callable[[int], object]
Batch = Mapping[str, Any]

_BURST_RECORDS, _BURST_BYTES = 256, 1 << 24
_ENOUGH_S = 0.3  # seconds that a measurement takes at least; shorter ones vary too much
_MOST_PASSES = 1000  # passes of a measurement, however short one is


def _nothing(_: object) -> None:
    pass


@dataclass(frozen=True)
class Measured:
    """The duration of a stage, and the number of `passes` over the same records."""

    records: int
    size: int
    seconds: float
    passes: int = 1

    @property
    def records_per_second(self) -> float:
        return self.records * self.passes / self.seconds if self.seconds else 0.0

    @property
    def bytes_per_second(self) -> float:
        return self.size * self.passes / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Original:
    """Data kept from an image to compare it later."""

    label: int
    remembered: object


@dataclass(frozen=True)
class Written:
    """The files of one set of images; `largest` is the size of the largest image in bytes.

    `measured` is the time for writing, and `synced` the time until the files are on the disk.
    """

    paths: tuple[str, ...]
    measured: Measured
    synced: Measured
    originals: dict[str, Original]
    largest: int
    skipped: int


@dataclass(frozen=True)
class Loaded:
    """A measured pass over the batches, and the shapes in the first batch."""

    measured: Measured
    batches: int
    arrays: dict[str, str]


@dataclass
class Proved:
    """The number of records that were read, and the names of those that differ."""

    records: int = 0
    size: int = 0
    seconds: float = 0.0
    different: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not self.different and not self.missing


def write(
    images: Images,
    path: str,
    *,
    shards: int,
    overwrite: bool = False,
    advance: Advance = _nothing,
    on_skip: Callable[[Exception], object] = _nothing,
) -> Written:
    """Write one record per image to `shards` files named after `path`.

    The writing (encoding, checksums, writing to the page cache) is timed separately from the disk,
    and reading the images is not timed. An image that cannot be read is passed to `on_skip` and
    left out.

    Raises
    ------
    Failure
        If no image could be read.
    OSError
        If a file cannot be written; no file remains then.
    """
    originals: dict[str, Original] = {}
    largest = 0
    seconds = 0.0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal largest
        for image in images:
            advance(1)
            try:
                pixels = image.read()
            except (ImageError, OSError) as error:
                on_skip(error)
                continue
            originals[image.name] = Original(image.label, images.remember(pixels))
            largest = max(largest, pixels.nbytes)
            yield record_of(image, pixels)

    with fastrec.Writer(path, shards=shards, overwrite=overwrite) as writer:
        for burst in _bursts(rows()):
            start = time.perf_counter()
            for row in burst:
                writer.write(row)
            seconds += time.perf_counter() - start
        if not originals:
            raise Failure(f"none of the {images.what} could be read")
        start = time.perf_counter()
        writer.flush()
        flushed = time.perf_counter()
        writer.close()
        closed = time.perf_counter()
    paths = tuple(os.fspath(path) for path in writer.paths)
    count, size = len(originals), sum(map(os.path.getsize, paths))
    return Written(
        paths,
        Measured(count, size, seconds + flushed - start),
        Measured(count, size, closed - flushed),
        originals,
        largest,
        len(images) - count,
    )


def record_of(image: Image, pixels: UInt8Array) -> dict[str, Any]:
    """Return the features of one record, as jobs that feed images to a model use them."""
    return {
        "image": pixels,
        "shape": list(pixels.shape),
        "label": image.label,
        "name": os.fsencode(image.name),
    }


def features_for(shape: tuple[int, int, int] | None) -> dict[str, Any]:
    """Describe the records of :func:`record_of`: dense if all images have one `shape`."""
    return {
        "image": fastrec.RawFeature(shape, np.uint8),
        "shape": fastrec.FixedLenFeature((3,), np.int64),
        "label": fastrec.FixedLenFeature((), np.int64),
        "name": fastrec.FixedLenFeature((), bytes),
    }


def views(batch: Batch) -> list[UInt8Array]:
    """Return views of the images of a batch, (height, width, channels) each."""
    if "shape" not in batch:  # the images are decoded to one size
        return [np.asarray(pixels) for pixels in batch["image"]]
    return [
        np.asarray(pixels).reshape(shape)
        for pixels, shape in zip(batch["image"], batch["shape"].tolist(), strict=True)
    ]


def verify(written: Written) -> Measured:
    """Check every length and checksum, repeatedly if one pass is too short to measure."""
    paths = list(written.paths)
    found = fastrec.verify(paths)
    if found.records != written.measured.records:
        raise Failure(f"{found.records} records instead of {written.measured.records}")

    def passes(count: int) -> None:
        for _ in range(count):
            fastrec.verify(paths)

    return measured(passes, found.records, written.measured.size)


def load(
    written: Written,
    features: Mapping[str, Any],
    *,
    batch_size: int,
    seed: int,
    advance: Advance = _nothing,
) -> Loaded:
    """Shuffle, read, check, parse and batch; images of varying size keep their shape."""
    paths = list(written.paths)
    ragged = features["image"].shape is None
    arrays: dict[str, str] = {}
    batches = 0

    def passes(count: int) -> None:
        nonlocal arrays, batches
        batches = 0
        with fastrec.Batcher(
            paths, features, batch_size, shuffle=True, seed=seed, epochs=count
        ) as batcher:
            for batch in batcher:
                batches += 1
                if ragged:
                    views(batch)
                arrays = arrays or {name: described(batch[name]) for name in batch}
                if count == 1:  # progress counts the first pass only
                    advance(len(batch["label"]))

    result = measured(passes, written.measured.records, written.measured.size)
    return Loaded(result, batches, arrays)


def measured(passes: Callable[[int], None], records: int, size: int) -> Measured:
    """Time ``passes(1)``, or several passes together if one is too short to measure."""
    count, seconds = 1, _seconds(passes, 1)
    while seconds < _ENOUGH_S and count < _MOST_PASSES:
        wanted = int(count * _ENOUGH_S * 1.2 / max(seconds, 1e-6)) + 1
        count = min(wanted, 10 * count, _MOST_PASSES)
        seconds = _seconds(passes, count)
    return Measured(records, size, seconds, count)


def prove(
    written: Written,
    features: Mapping[str, Any],
    *,
    batch_size: int,
    advance: Advance = _nothing,
) -> Proved:
    """Read every record back and compare label, shape and every bit of the image."""
    proved = Proved(size=written.measured.size)
    remaining = dict(written.originals)
    start = time.perf_counter()
    with fastrec.Batcher(list(written.paths), features, batch_size) as batcher:
        for batch in batcher:
            labels = batch["label"].tolist()
            for name, label, pixels in zip(batch["name"], labels, views(batch), strict=True):
                proved.records += 1
                original = remaining.pop(os.fsdecode(name), None)
                if (
                    original is None
                    or original.label != label
                    or not same(original.remembered, pixels)
                ):
                    proved.different.append(os.fsdecode(name))
            advance(len(labels))
    proved.missing = list(remaining)
    proved.seconds = time.perf_counter() - start
    return proved


def described(column: Any) -> str:
    """Return, for example, ``uint8 (128, 8, 8, 1)`` for an array; otherwise class and length."""
    if isinstance(column, np.ndarray):
        return f"{column.dtype} {column.shape}"
    return f"{type(column).__name__} of {len(column)}"


def _bursts(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield lists of rows, large enough to time and small enough for memory."""
    burst: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        burst.append(row)
        size += row["image"].nbytes
        if len(burst) == _BURST_RECORDS or size >= _BURST_BYTES:
            yield burst
            burst, size = [], 0
    if burst:
        yield burst


def _seconds(passes: Callable[[int], None], count: int) -> float:
    start = time.perf_counter()
    passes(count)
    return time.perf_counter() - start
