# SPDX-License-Identifier: Apache-2.0
"""Compare results with the speed targets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .cases import SMALL_BATCHES
from .engine import Comparison, Measurement, ratio
from .jobs import CEILING, OURS, Entry

__all__ = ["Verdict", "verdicts"]

_TF, _OURS = Entry("tensorflow"), Entry(OURS)
_PARSE = {"cifar": 15, "photo": 6, "tabular": 12, "tokens": 12, "embed": 12, "ragged": 10}
_ROWS = {"tabular": 10, "tokens": 20, "embed": 30, "cifar": 5, "ragged": 5}
_COLUMNS = {"tabular": 60, "tokens": 30, "embed": 60, "cifar": 10}
_MIB = 1 << 20

Found = Mapping[tuple[str, str], Comparison]


@dataclass(frozen=True)
class Verdict:
    """One row. `wanted` and `got` are texts; `share` is 1 if the target is just reached."""

    what: str
    case: str
    against: str
    wanted: str
    got: str
    share: float | None  # None if it could not be measured; `got` then states the reason

    @property
    def reached(self) -> bool:
        return self.share is not None and self.share >= 1

    @property
    def text(self) -> str:
        if self.share is None:
            return "gap"
        return "reached" if self.reached else f"short by {100 * (1 - self.share):.0f} %"


@dataclass(frozen=True)
class _Times:
    """The factor by which `ours` must be faster than `peer`; for a ceiling, the fraction of it."""

    what: str
    job: str
    cases: Mapping[str, float]
    ours: Entry
    peer: Entry
    within: bool = False  # whether the number limits our time relative to the peer's

    def verdicts(self, found: Found) -> Iterator[Verdict]:
        for case, factor in self.cases.items():
            comparison = found.get((self.job, case))
            if comparison is not None:
                yield self._verdict(comparison, factor)

    def _verdict(self, comparison: Comparison, factor: float) -> Verdict:
        ours, peer = comparison.of(self.ours), comparison.of(self.peer)
        wanted = f"within {factor:g}x" if self.within else f"{factor:g}x"
        row = (self.what, comparison.case.name, self.peer.label, wanted)
        if (missing := _missing(ours, self.ours) or _missing(peer, self.peer)) is not None:
            return Verdict(*row, missing, None)
        assert ours is not None
        assert peer is not None
        if ours.agrees is False or peer.agrees is False:
            return Verdict(*row, "the results differ", 0.0)
        if self.within:
            value, low, high = ratio(ours, peer)
            share = factor / value
        else:
            value, low, high = ratio(peer, ours)
            share = value / factor
        return Verdict(*row, f"{value:.3g}x ({low:.3g} to {high:.3g})", share)


def _missing(measurement: Measurement | None, entry: Entry) -> str | None:
    if measurement is None:
        return f"{entry.label}: not here"
    if measurement.gap or measurement.error:
        return f"{entry.label}: {measurement.gap or measurement.error}"
    return None


def _each(value: float, *cases: str) -> dict[str, float]:
    return dict.fromkeys(cases, value)


def _ours(variant: str) -> Entry:
    return Entry(OURS, variant)


_WHOLE, _BUFFER = "whole dataset", "buffer 2000"
_ONE, _MANY = "one at a time", "1024 at a time"
_DATASET, _ITERATED = "fastrec.torch.Dataset", "fastrec.grain.BatchIterDataset"

_TARGETS = (
    _Times("CRC32C of cold 1 KiB buffers, called from Python", "crc", _each(2, "1 KiB cold"),
           _OURS, Entry("google_crc32c")),
    _Times("check the CRC32C of 1 KiB records", "verify", _each(2, "kib"), _OURS,
           Entry("google_crc32c")),
    _Times("iterate, CRC verified", "iterate", _each(5, "tabular", "ragged", "cifar"), _OURS, _TF),
    _Times("iterate with views(), CRC verified", "iterate", _each(8, "photo"), _ours("views()"),
           _TF),
    _Times("iterate, CRC verified, theirs not", "iterate",
           _each(5, "tabular", "ragged", "cifar"), _OURS, Entry("tfrecord")),
    _Times("parse into dense batches", "parse", _PARSE, _OURS, _TF),
    _Times("first pass: files in the page cache, read once", "parse",
           {"cifar": 15, "embed": 12, "tokens": 12, "tabular": 15, "ragged": 15},
           _ours("new Batcher"), _TF),
    _Times("first pass beside reading the file", "parse", _each(1.25, "cifar", "embed", "photo"),
           _ours("new Batcher"), Entry(CEILING, "read(2)"), within=True),
    _Times("parse beside moving the payload", "parse", _each(1.6, "cifar", "embed", "photo"),
           _OURS, Entry(CEILING, "memcpy"), within=True),
    _Times("shuffled batches, buffer of 2,000", "shuffle", _PARSE, _ours(_BUFFER),
           Entry("tensorflow", _BUFFER)),
    _Times("shuffled batches, whole dataset", "shuffle", _PARSE, _ours(_WHOLE),
           Entry("tensorflow", _WHOLE)),
    _Times("whole dataset shuffled, against their buffer of 2,000", "shuffle", _PARSE,
           _ours(_WHOLE), Entry("tensorflow", _BUFFER)),
    _Times("whole dataset shuffled, beside its own order", "shuffle",
           _each(0.7, *_PARSE), _ours(_WHOLE), _ours("in order")),
    _Times("CIFAR-10's distorted images", "distort", _each(10, "cifar"), _OURS, _TF),
    _Times("ImageNet-like training batches", "train images", _each(2, "imagenet"), _OURS,
           Entry("tensorflow", "INTEGER_FAST")),
    _Times("ImageNet-like training batches beside C", "train images",
           _each(1.15, "imagenet"), _OURS, Entry(CEILING, "C over libjpeg-turbo"), within=True),
    _Times("ImageNet-like training batches beside decoding the regions", "train images",
           _each(1.15, "imagenet"), _OURS, Entry(CEILING, "libjpeg-turbo, the same regions"),
           within=True),
    _Times("whole dataset shuffled, cold, beside a read a record", "cold",
           _each(5, "cifar"), _OURS, Entry(CEILING, "pread(2)")),
    _Times("write rows as mappings", "write", _ROWS, _ours("rows"), _TF),
    _Times("write columns", "write", _COLUMNS, _ours("columns"), _TF),
    _Times("write columns beside writing the bytes", "write", _each(1.3, "cifar", "embed"),
           _ours("columns"), Entry(CEILING, "write(2)"), within=True),
    _Times("encode columns beside moving the bytes", "encode", _each(2, "cifar", "embed"), _OURS,
           Entry(CEILING, "memcpy"), within=True),
    _Times("read GZIP", "gzip", {"tabular": 4, "tokens": 4, "ragged": 2}, _OURS, _TF),
    _Times("read GZIP with its index", "gzip", _each(4, "tabular", "tokens"),
           _ours("with its index"), _TF),
    _Times("read GZIP beside inflating it", "gzip", _each(1.25, "tokens"), _OURS,
           Entry(CEILING, "inflating, 1 thread"), within=True),
    *(_Times(f"batches of {rows}, in NumPy", "small batches",
             _each(5, "scalars 1", "scalars 10", "scalars 40"), _ours(f"rows {rows}"),
             Entry("tensorflow", f"rows {rows}")) for rows in SMALL_BATCHES),
    _Times("random access, one at a time", "random", _each(2, "small"), _ours(_ONE),
           Entry("bagz", _ONE)),
    _Times("random access, in batches", "random", _each(10, "small"), _ours(_MANY),
           Entry("bagz", _MANY)),
    _Times("random access, in batches", "random", _each(10, "small"), _ours(_MANY),
           Entry("array_record", _MANY)),
    _Times("queue pipeline", "queue", _each(20, "cifar"), _OURS, _TF),
    _Times("queue pipeline, images distorted", "distort", _each(10, "cifar"), _ours("queues"),
           Entry("tensorflow", "queues")),
    _Times("unmodified DataLoader", "dataloader", _each(20, "cifar", "tabular"),
           Entry("torch", _DATASET), Entry("torch", "tfrecord.torch")),
    _Times("unmodified DataLoader", "dataloader", _each(20, "cifar", "tabular"),
           Entry("torch", _DATASET), Entry("torch", "one record at a time")),
    _Times("through Grain", "grain", _each(20, "cifar", "tabular"),
           Entry("grain", _ITERATED), Entry("grain", "its TFRecord reader")),
    _Times("through Grain", "grain", _each(20, "cifar", "tabular"),
           Entry("grain", _ITERATED), Entry("grain", "array_record")),
    _Times("TensorBoard events", "events", _each(50, "events"), _OURS, Entry("tensorboard")),
    _Times("2 threads beside 1", "parse", _each(1.7, "tabular"), _OURS, _ours("1 thread")),
)  # fmt: skip


def _index(found: Found) -> Iterator[Verdict]:
    comparison = found.get(("index", "small"))
    ours = comparison.of(_OURS) if comparison else None
    if ours is None or not ours.seconds:
        return
    rate = 1 / ours.per_record
    yield Verdict("index a file of small records", "small", "", "5 million records/s",
                  f"{rate / 1e6:.3g} million records/s", rate / 5e6)  # fmt: skip


def _large(found: Found) -> Iterator[Verdict]:
    comparison = found.get(("large", ""))
    ours = comparison.of(_OURS) if comparison else None
    if ours is None or not ours.seconds:
        return
    yield Verdict("first shuffled batch of 10 GB, with an index", "", "", "within 100 ms",
                  f"{ours.median * 1e3:.3g} ms", 0.1 / ours.median)  # fmt: skip


def _scatter(found: Found) -> Iterator[Verdict]:
    comparison = found.get(("scatter", ""))
    for files in ("one file", "10,000 files"):
        own = comparison.of(Entry(OURS, f"{files}, in order")) if comparison else None
        shuffled = comparison.of(Entry(OURS, f"{files}, shuffled")) if comparison else None
        if own is None or shuffled is None or not own.seconds or not shuffled.seconds:
            continue
        share = own.per_record / shuffled.per_record
        yield Verdict(f"whole-data-set shuffle of small records, {files}", "", "their own order",
                      "50 % of its speed", f"{share:.0%}", share / 0.5)  # fmt: skip


def _index_size(found: Found) -> Iterator[Verdict]:
    comparison = found.get(("index size", ""))
    ours = comparison.of(_OURS) if comparison else None
    if ours is None or not ours.seconds:
        return
    each = ours.per_record
    yield Verdict("memory of where records are", "", "", "2.5 bytes a record",
                  f"{each:.2f} bytes", 2.5 / each)  # fmt: skip


def _shards(found: Found) -> Iterator[Verdict]:
    comparison = found.get(("shards", ""))
    for variant in ("first batch", "first batch by a manifest"):
        ours = comparison.of(_ours(variant)) if comparison else None
        if ours is None or not ours.seconds:
            continue
        yield Verdict(f"100,000 shards, from nothing to the {variant}", "", "", "within 5 s",
                      f"{ours.median:.3g} s", 5 / ours.median)  # fmt: skip


def _importing(found: Found) -> Iterator[Verdict]:
    comparison = found.get(("import", ""))
    if comparison is None:
        return
    ours, numpy = comparison.of(_OURS), comparison.of(Entry(CEILING, "numpy"))
    if ours is None or numpy is None or not ours.seconds or not numpy.seconds:
        return
    extra = (ours.median - numpy.median) * 1e3
    yield Verdict("import", "", "import numpy", "within 15 ms", f"{extra:.1f} ms more",
                  15 / extra if extra > 0 else math.inf)  # fmt: skip


def _memory(found: Found) -> Iterator[Verdict]:
    """Yield verdicts about memory: a slab per thread, the ready ones, and one in use."""
    for case in ("cifar", "photo"):
        comparison = found.get(("memory", case))
        ours = comparison.of(_OURS) if comparison else None
        if comparison is None or ours is None or not ours.seconds:
            continue
        batch = comparison.size / comparison.case.records * comparison.case.batch
        allowed = (2 * comparison.threads + 2 + 1) * batch + 64 * _MIB
        yield Verdict("peak memory of a Batcher", case, "", f"{allowed / _MIB:.0f} MiB",
                      f"{ours.median / _MIB:.0f} MiB",
                      allowed / max(ours.median, 1))  # fmt: skip


def verdicts(comparisons: list[Comparison], native: list[Verdict]) -> list[Verdict]:
    """Return a verdict for each target that the run measured."""
    found = {(c.job.name, c.case.name): c for c in comparisons}
    rows = list(native)
    for target in _TARGETS:
        rows.extend(target.verdicts(found))
    return [
        *rows,
        *_index(found),
        *_large(found),
        *_scatter(found),
        *_index_size(found),
        *_shards(found),
        *_importing(found),
        *_memory(found),
    ]
