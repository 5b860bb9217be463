# SPDX-License-Identifier: Apache-2.0
"""Run an end-to-end demo on real images."""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import fastrec
from fastrec.cli import schema
from fastrec.cli.grammar import add_overwrite
from fastrec.cli.report import Failure, Report, bytes_text, count_text, counted, shown
from fastrec.demo import jpegs, stages, training
from fastrec.demo import samples as sources
from fastrec.demo.chart import chart
from fastrec.demo.contact_sheet import contact_sheet
from fastrec.records.output_rules import check_replaceable, check_set

__all__ = ["add_arguments", "run"]

PASS_MARK = 0.9
"""The share of the held-out digits that must be recognised."""

_IMAGES = ("shapes.png", "speed.png")
"""The contact sheet of the augmented JPEGs, and the chart of the speeds."""

_BATCH_BYTES = 1 << 26
"""Images in one batch take about this much memory at most."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec demo``."""
    parser.add_argument(
        "--images",
        metavar="DIR",
        help="your own images, labelled by sub-directory (default: scikit-learn's digits and "
        "photographs)",
    )
    parser.add_argument(
        "--out", metavar="DIR", default="./demo", help="output directory (default ./demo)"
    )
    for name, least, default, text in (
        ("--shards", 2, 8, "files to write to"),
        ("--epochs", 1, 20, "passes over the training files"),
        ("--batch-size", 1, 32, "records in a batch"),
        ("--seed", 0, 0, "of every shuffle and of the classifier"),
    ):
        parser.add_argument(
            name,
            type=_at_least(least),
            default=default,
            metavar="N",
            help=f"{text} (default {default})",
        )
    add_overwrite(parser)


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if not least <= value < 1 << 31:
            raise argparse.ArgumentTypeError(f"{text} is not a number from {least} to {2**31 - 1}")
        return value

    number.__name__ = "number"
    return number


@dataclass
class _Job:
    """One set of images on its way through the stages."""

    images: sources.Images
    written: stages.Written
    features: dict[str, Any]
    batch_size: int
    trained: training.Trained | None = None
    reduced: tuple[str, ...] = ()


@dataclass
class _Demo:
    arguments: argparse.Namespace
    report: Report
    jobs: list[_Job]
    timings: list[tuple[str, str, stages.Measured]]
    findings: list[str]

    def heading(self, number: int, title: str) -> None:
        self.report.line()
        self.report.line(f"{number}. {title}", style="bold")


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Run all stages; return 1 if an image changed or too few digits were recognised."""
    begun = time.perf_counter()
    sets = _sets(arguments, report)
    _check_outputs(arguments, sets)
    demo = _Demo(arguments, report, [], [], [])
    total = " and ".join(f"{count_text(len(some))} {some.what}" for some in sets)
    report.line(f"fastrec {_version()}: {total}, {fastrec.crc32c_implementation()} CRC-32C")
    with _directory(arguments.out):
        _write(demo, sets)
        _verify(demo)
        _infer(demo)
        _load(demo)
        _train(demo)
        _prove(demo)
        augmented = _augment(demo)
        _throughput(demo)
        sheets = [*_contact_sheets(demo), *_shape_images(demo, augmented)]
    _files(demo, sheets)
    report.line()
    if demo.findings:
        for finding in demo.findings:
            report.complain(f"error: {finding}")
        return 1
    report.line(f"All well, in {time.perf_counter() - begun:.1f} s.", style="bold green")
    return 0


def _sets(arguments: argparse.Namespace, report: Report) -> list[sources.Images]:
    if arguments.images is None:
        return [sources.digits(), sources.photos()]

    def unlisted(error: OSError) -> None:
        report.complain(f"skipped: {shown(str(error.filename))}: {error.strerror}")

    return [sources.from_directory(arguments.images, exclude=arguments.out, on_error=unlisted)]


def _check_outputs(arguments: argparse.Namespace, sets: list[sources.Images]) -> None:
    """Raise an error before the work begins if a file cannot be written."""
    stems = [images.stem for images in sets]
    for stem in [*stems, *([training.REDUCED] if sets[0].shape is None else [])]:
        path = os.path.join(arguments.out, stem)
        check_set(f"{path}.tfrecord", True, overwrite=arguments.overwrite, records=True)
        check_replaceable(f"{path}.png", overwrite=arguments.overwrite)
    for name in _IMAGES:
        check_replaceable(os.path.join(arguments.out, name), overwrite=arguments.overwrite)


def _version() -> str:
    return str(getattr(fastrec, "__version__", ""))


@contextlib.contextmanager
def _directory(path: str) -> Iterator[None]:
    """Create `path`, and remove it if the body fails before writing a file to it."""
    existed = os.path.isdir(path)
    if not existed:
        if os.path.lexists(path):
            raise Failure(f"{shown(path)}: not a directory", 2)
        os.makedirs(path)
    try:
        yield
    except BaseException:
        if not existed:
            with contextlib.suppress(OSError):
                os.rmdir(path)
        raise


def _write(demo: _Demo, sets: list[sources.Images]) -> None:
    demo.heading(1, "Write: a record an image, in sharded TFRecord files")
    arguments, report = demo.arguments, demo.report
    for images in sets:
        with report.progress(f"writing {images.what}", len(images)) as advance:
            written = stages.write(
                images,
                os.path.join(arguments.out, f"{images.stem}.tfrecord"),
                shards=min(arguments.shards, len(images)),
                overwrite=arguments.overwrite,
                advance=advance,
                on_skip=lambda error: report.complain(f"skipped: {_reason(error)}"),
            )
        features = stages.features_for(images.shape)
        batch_size = max(1, min(arguments.batch_size, _BATCH_BYTES // max(written.largest, 1)))
        demo.jobs.append(_Job(images, written, features, batch_size))
        demo.timings.append((images.stem, "write", written.measured))
        demo.timings.append((images.stem, "sync", written.synced))
        report.line(
            f"   {images.stem}: {counted(written.measured.records, 'record')} in "
            f"{counted(len(written.paths), 'file')}, {bytes_text(written.measured.size)}"
            + (f"; {count_text(written.skipped)} skipped" if written.skipped else "")
        )


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{shown(str(error.filename))}: {error.strerror}"
    return shown(str(error))


def _verify(demo: _Demo) -> None:
    demo.heading(2, "Verify: every length and every checksum")
    for job in demo.jobs:
        measured = stages.verify(job.written)
        demo.timings.append((job.images.stem, "verify", measured))
        demo.report.line(f"   {job.images.stem}: {counted(measured.records, 'record')}, all sound")


def _infer(demo: _Demo) -> None:
    demo.heading(3, "Infer: what is in there?")
    rows = []
    for job in demo.jobs:
        inferred = fastrec.infer_features(list(job.written.paths))
        rows += [
            (job.images.stem, *schema.feature_row(name, inferred[name]))
            for name in sorted(inferred)
        ]
    demo.report.table(("files", *schema.HEADERS), rows)


def _load(demo: _Demo) -> None:
    demo.heading(4, "Load: shuffled batches of arrays")
    rows = []
    for job in demo.jobs:
        with demo.report.progress(f"loading {job.images.stem}", len(job.images)) as advance:
            loaded = stages.load(
                job.written,
                job.features,
                batch_size=job.batch_size,
                seed=demo.arguments.seed,
                advance=advance,
            )
        demo.timings.append((job.images.stem, "load", loaded.measured))
        rows += [(job.images.stem, name, text) for name, text in loaded.arrays.items()]
    demo.report.table(("files", "column", "in the first batch"), rows)


def _train(demo: _Demo) -> None:
    demo.heading(5, "Train: a small classifier, in NumPy, on these batches")
    job = demo.jobs[0]
    reason = training.why_not_trained(job.written)
    if reason is not None:
        demo.report.line(f"   skipped: {reason}")
        return
    job.trained = trained = _trained(demo, job)
    shown_epochs = _some(trained.epochs, 6)
    rows = [
        (str(epoch.number), f"{epoch.loss:.4f}", f"{epoch.accuracy:.1%}") for epoch in shown_epochs
    ]
    demo.report.table(("epoch", "loss", "held-out accuracy"), rows, right=(0, 1, 2))
    demo.report.line(
        f"   {trained.accuracy:.1%} of {count_text(trained.held_out)} held-out images recognised "
        f"(always the commonest label: {trained.constant_guess:.1%})"
    )
    if demo.arguments.images is None and trained.accuracy <= PASS_MARK:
        demo.findings.append(
            f"only {trained.accuracy:.1%} of the held-out digits recognised, "
            f"{PASS_MARK:.0%} is the pass mark (--epochs {demo.arguments.epochs})"
        )


def _trained(demo: _Demo, job: _Job) -> training.Trained:
    paths, features = list(job.written.paths), job.features
    if job.images.shape is None:
        with demo.report.progress("reducing images", len(job.images)) as advance:
            paths = training.reduce(
                job.written,
                batch_size=job.batch_size,
                overwrite=demo.arguments.overwrite,
                advance=advance,
            )
        job.reduced = tuple(paths)
        features = stages.features_for((training.SIDE, training.SIDE, 3))
        demo.report.line(
            f"   reduced to {training.SIDE}x{training.SIDE} pixels by area means, "
            f"in {len(paths)} files of their own"
        )
    with demo.report.progress("training, epochs", demo.arguments.epochs) as advance:
        trained = training.train(
            paths,
            features,
            brightest=job.images.brightest,
            classes=len(job.images.labels),
            epochs=demo.arguments.epochs,
            batch_size=demo.arguments.batch_size,
            seed=demo.arguments.seed,
            advance=advance,
        )
    demo.timings.append((job.images.stem, "train", trained.measured))
    return trained


def _some(epochs: tuple[training.Epoch, ...], count: int) -> list[training.Epoch]:
    """Select at most `count` epochs, evenly spaced, including the first and the last."""
    last = len(epochs) - 1
    chosen = sorted({round(step * last / (count - 1)) for step in range(count)})
    return [epochs[index] for index in chosen]


def _prove(demo: _Demo) -> None:
    demo.heading(6, "Prove: every image, bit for bit, against its original")
    for job in demo.jobs:
        count = job.written.measured.records
        with demo.report.progress(f"comparing {job.images.stem}", count) as advance:
            proved = stages.prove(
                job.written, job.features, batch_size=job.batch_size, advance=advance
            )
        stem = job.images.stem
        measured = stages.Measured(proved.records, proved.size, proved.seconds)
        demo.timings.append((stem, "prove", measured))
        identical = proved.records - len(proved.different)
        demo.report.line(f"   {stem}: {count_text(identical)} of {count_text(count)} identical")
        for name in proved.different:
            demo.findings.append(f"{stem}: {shown(name)} came back changed")
        for name in proved.missing:
            demo.findings.append(f"{stem}: {shown(name)} did not come back")


def _augment(demo: _Demo) -> jpegs.Augmented:
    demo.heading(7, "Augment: JPEGs, decoded, cropped and flipped by the threads")
    arguments = demo.arguments
    with demo.report.progress(
        "training on JPEGs, epochs", jpegs.epochs_of(arguments.epochs)
    ) as advance:
        done = jpegs.augment(arguments.epochs, arguments.batch_size, arguments.seed, advance)
    rows = [
        ("fastrec.Batcher", count_text(round(done.fastrec_rate)), ""),
        (
            "a Python loop with Pillow",
            count_text(round(done.pillow_rate)),
            f"{done.fastrec_rate / done.pillow_rate:.1f} times the time",
        ),
    ]
    demo.report.line(f"   {counted(done.images, 'drawn JPEG')}, {bytes_text(done.size)}")
    demo.report.table(("shuffled, augmented batches", "images/s", ""), rows, right=(1,))
    demo.report.line(
        f"   {done.trained.accuracy:.1%} of {count_text(done.trained.held_out)} held-out shapes "
        f"recognised, each cropped at random"
    )
    return done


def _throughput(demo: _Demo) -> None:
    demo.heading(8, "Throughput: of each stage's own work")
    rows = [
        (
            stem,
            stage,
            count_text(m.records),
            bytes_text(m.size),
            count_text(m.passes),
            f"{m.seconds * 1000:,.1f} ms",
            count_text(round(m.records_per_second)),
            f"{m.bytes_per_second / 1e6:,.1f}",
        )
        for stem, stage, m in demo.timings
    ]
    headers = ("files", "stage", "records", "bytes", "passes", "time", "records/s", "MB/s")
    demo.report.table(headers, rows, right=range(2, 8))
    demo.report.line(
        "   Syncing is the disk's own time. Verifying and loading are repeated until the time is\n"
        "   measurable, and find their files in the page cache. Training includes loading."
    )


def _contact_sheets(demo: _Demo) -> list[str]:
    demo.heading(9, "Images: shuffled batches, and a chart of the speeds")
    sheets = []
    for job in demo.jobs:
        path = os.path.join(demo.arguments.out, f"{job.images.stem}.png")
        width, height = _contact_sheet(demo, job, path)
        demo.report.line(f"   {shown(path)}: {width}x{height} pixels")
        sheets.append(path)
    return sheets


def _shape_images(demo: _Demo, done: jpegs.Augmented) -> list[str]:
    """Write the contact sheet of the augmented images, and the chart of the speeds."""
    overwrite = demo.arguments.overwrite
    sheet, speeds = (os.path.join(demo.arguments.out, name) for name in _IMAGES)
    title = f"shapes: held-out JPEGs, cropped at random, {done.trained.accuracy:.1%} recognised"
    sizes = [contact_sheet(sheet, done.tiles, title=title, overwrite=overwrite)]
    values = {"fastrec.Batcher": done.fastrec_rate, "Python loop, Pillow": done.pillow_rate}
    title = "JPEGs per second: decoded, cropped, flipped, batched"
    sizes.append(chart(speeds, values, title=title, overwrite=overwrite))
    for path, (width, height) in zip((sheet, speeds), sizes, strict=True):
        demo.report.line(f"   {shown(path)}: {width}x{height} pixels")
    return [sheet, speeds]


def _contact_sheet(demo: _Demo, job: _Job, path: str) -> tuple[int, int]:
    paths, classify, subject = list(job.written.paths), None, "one shuffled batch"
    if job.trained is not None:
        paths = training.train_and_test(paths)[1]
        reduced = job.images.shape is None
        classify = training.classify_with(job.trained, job.images.brightest, reduced=reduced)
        subject = f"one shuffled batch of held-out images, {job.trained.accuracy:.1%} recognised"
    columns, rows, cell = _layout(job)
    tiles = training.tiles(
        paths,
        job.features,
        count=columns * rows,
        cell=cell,
        labels=job.images.labels,
        brightest=job.images.brightest,
        classify=classify,
        batch_size=job.batch_size,
        seed=demo.arguments.seed,
    )
    title = f"{job.images.stem}: {subject}"
    overwrite = demo.arguments.overwrite
    return contact_sheet(path, tiles, title=title, columns=columns, cell=cell, overwrite=overwrite)


def _layout(job: _Job) -> tuple[int, int, int]:
    """Return columns, rows and cell size; small images are shown in larger numbers."""
    if job.images.shape is not None:
        return 10, 5, 80
    return (6, 4, 150) if job.written.measured.records > 4 else (2, 2, 400)


def _files(demo: _Demo, sheets: list[str]) -> None:
    demo.report.line()
    demo.report.line("Written", style="bold")
    paths = [*sorted(_all_files(demo)), *sheets]
    rows = [(shown(path), bytes_text(os.path.getsize(path))) for path in paths]
    demo.report.table(("file", "size"), rows, right=(1,))


def _all_files(demo: _Demo) -> Iterator[str]:
    for job in demo.jobs:
        yield from job.written.paths
        yield from job.reduced
