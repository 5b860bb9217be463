# SPDX-License-Identifier: Apache-2.0
"""The report names the part that limits a loop: each is injected, and dwarfs the others."""

from __future__ import annotations

import io
import json
import logging
import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import Batcher, Report, _core
from fastrec.batches.report import STAGES

NUMBER = {"x": fastrec.FixedLenFeature((), np.int64)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "numbers.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_batch({"x": np.arange(200)})
    return path


class SlowFile(io.RawIOBase):
    """A file on a slow file system: each read waits, and returns at most `size` bytes."""

    def __init__(self, data: bytes, delay_s: float, size: int) -> None:
        self._file, self._delay_s, self._size = io.BytesIO(data), delay_s, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        time.sleep(self._delay_s)
        data = self._file.read(min(len(buffer), self._size))
        buffer[: len(data)] = data
        return len(data)


def spin(seconds: float) -> None:
    """Compute in Python, which holds the interpreter's lock, for this processor time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(200))


def png(side: int) -> bytes:
    """Return a PNG of noise, of so many pixels per side."""
    rows = np.random.default_rng(0).integers(0, 9, (side, 1 + 3 * side), np.uint8)
    rows[:, 0] = 0  # no filter

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


# --- what limits the loop -----------------------------------------------------------------------


@pytest.mark.parametrize("transform", [None, len])
def test_slow_reads_of_a_file_are_the_bottleneck(
    path: Path, transform: Callable[[Any], Any] | None
) -> None:
    file = SlowFile(path.read_bytes(), 0.03, 800)
    batches = iter(Batcher(file, NUMBER, 20, threads=2, transform=transform))
    list(batches)
    report = batches.report()
    assert report.bottleneck == "storage"
    starved_s = sum(group["starved_s"]["parse"] for group in report.work)
    assert report.stages["storage"] + starved_s > 0.2
    assert "shuffle='blocks'" in report.remedy


def test_a_slow_link_is_the_bottleneck(path: Path) -> None:
    pytest.importorskip("obstore")
    server = pytest.importorskip("object_server")
    data = path.read_bytes()
    objects = server.Objects({f"{number}.tfrecord": data for number in range(4)})
    with server.ObjectServer(objects, link=server.Link(latency_s=0.2)) as link:
        urls = [f"{link.url}/{number}.tfrecord" for number in range(4)]
        batches = iter(Batcher(urls, NUMBER, 100, threads=2))
        list(batches)
    report = batches.report()
    assert report.bottleneck == "storage"
    assert report.requests["requests"] >= 4
    assert report.requests["fetched_bytes"] >= 4 * len(data)
    assert "StorageOptions(cache=...)" in report.remedy


@pytest.mark.skipif(_core.png_version() is None, reason="built without libpng")
def test_decoding_large_images_on_one_thread_is_the_bottleneck(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "images.tfrecord") as writer:
        writer.write_batch({"image": [png(900)] * 6})
    features = {"image": fastrec.ImageFeature(shape=(900, 900))}
    batcher = Batcher(tmp_path / "images.tfrecord", features, 1, threads=1)
    list(batcher)
    assert batcher.report().bottleneck == "decode"
    assert "threads" in batcher.report().remedy


def test_a_transform_that_holds_the_lock_is_the_bottleneck(path: Path) -> None:
    batcher = Batcher(path, NUMBER, 10, threads=2, transform=lambda batch: spin(0.02))
    list(batcher)
    report = batcher.report()
    assert report.bottleneck == "transform"
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        assert "holds the interpreter's lock" in report.remedy


def test_a_transform_that_waits_does_not_hold_the_lock(path: Path) -> None:
    batcher = Batcher(path, NUMBER, 20, threads=2, transform=lambda batch: time.sleep(0.05))
    list(batcher)
    assert batcher.report().bottleneck == "transform"
    assert "holds the interpreter's lock" not in batcher.report().remedy


@pytest.mark.parametrize("transform", [None, len])
def test_a_slow_consumer_is_the_bottleneck(
    path: Path, transform: Callable[[Any], Any] | None
) -> None:
    batcher = Batcher(path, NUMBER, 20, threads=2, prefetch=10, transform=transform)
    batches = iter(batcher)
    next(batches)
    time.sleep(0.5)  # all batches can be ready after the first step
    for _ in batches:
        time.sleep(0.05)
    report = batcher.report()
    assert report.bottleneck == "consumer"
    assert report.exposed_share < 0.1
    assert "faster loading would not help" in str(report)


# --- what is counted ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{}, {"transform": len}, {"shuffle": True, "seed": 0}, {"shuffle": "blocks", "seed": 0},
     {"batch_size": None}, {"compression": "GZIP"}],
    ids=str,
)  # fmt: skip
def test_batches_records_and_bytes_are_counted(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path, compression=options.get("compression")) as writer:
        writer.write_many([b"0123456789"] * 150)
    options = {"batch_size": 20, "threads": 2, **options}
    batcher = Batcher(path, None, epochs=2, **options)
    batches = iter(batcher)
    assert batches.report().bottleneck == "unknown"
    count = len(list(batches))
    report = batches.report()
    assert (report.batches, report.records, report.bytes) == (count, 300, 3000)
    assert 0 < report.first_batch_s <= report.seconds
    assert batcher.report() == report
    assert report.seconds == batches.report().seconds  # the clock stops at the end


def test_the_wait_for_each_step_is_known(path: Path) -> None:
    batches = iter(Batcher(path, NUMBER, 20, threads=1, transform=lambda b: time.sleep(0.05)))
    assert batches.data_wait_ms == 0
    waits = [batches.data_wait_ms for _ in batches]
    assert sum(waits) == pytest.approx(
        1e3 * (batches.report().exposed_data_loading_s + batches.report().first_batch_s), rel=0.05
    )
    assert max(waits) > 40


def test_the_timeline_stays_short_and_even(path: Path) -> None:
    batches = iter(Batcher(path, NUMBER, 1, epochs=10))
    list(batches)
    timeline = batches.report().timeline
    assert 256 <= len(timeline) <= 512
    times = [seconds for seconds, _, _ in timeline]
    assert times == sorted(times)
    assert all(0 <= depth <= 100 and wait >= 0 for _, wait, depth in timeline)


def test_a_report_is_plain_data(path: Path) -> None:
    batcher = Batcher(path, NUMBER, 20)
    list(batcher)
    report = batcher.report()
    values = json.loads(json.dumps(report.as_dict()))
    assert values["bottleneck"] == report.bottleneck
    assert set(values["stages"]) == set(STAGES)
    again = Report.from_dict(values)
    assert again.as_dict() == values
    assert all(isinstance(value, (int, float)) for value in report.scalars().values())


def test_a_loop_that_is_left_has_a_report(path: Path) -> None:
    batcher = Batcher(path, NUMBER, 20)
    with pytest.raises(fastrec.FastrecError, match="before the first pass has ended"):
        batcher.report()
    batches = iter(batcher)
    list(islice(batches, 3))
    assert batcher.report().batches == 3
    batches.close()
    assert batcher.report().batches == batches.report().batches == 3
    other = iter(batcher), iter(batcher)
    with pytest.raises(fastrec.FastrecError, match="2 iterators of this Batcher are live"):
        batcher.report()
    del other


@pytest.mark.parametrize("transform", [None, len])
def test_spans_are_of_the_stages(path: Path, transform: Callable[[Any], Any] | None) -> None:
    batches = iter(Batcher(path, NUMBER, 20, threads=2, transform=transform))
    assert batches.spans() == []
    list(batches)
    spans = batches.spans()
    assert sum(span.stage == "parse" for span in spans) >= 10
    assert sum(span.stage == "transform" for span in spans) == (10 if transform else 0)
    begin = batches.began_ns - 1e9
    assert all(begin < span.began_ns <= span.ended_ns for span in spans)


# --- on_stats -----------------------------------------------------------------------------------


def test_a_function_gets_reports_while_the_loop_runs(path: Path) -> None:
    reports: list[Report] = []
    list(Batcher(path, NUMBER, 20, on_stats=reports.append, every=0))
    assert [report.batches for report in reports] == [*range(1, 11), 10]
    reports.clear()
    list(Batcher(path, NUMBER, 20, on_stats=reports.append, every=1e6))
    assert [report.batches for report in reports] == [10]


def test_no_batch_is_lost_when_the_function_fails(path: Path) -> None:
    def fail(report: Report) -> None:
        if report.batches == 3:
            raise ConnectionError("no metrics server")

    batches = iter(Batcher(path, NUMBER, 20, on_stats=fail, every=0.0))
    first = list(islice(batches, 3))
    with pytest.raises(ConnectionError):
        next(batches)
    batches._on_stats = None
    numbers = np.concatenate([batch["x"] for batch in [*first, *batches]])
    assert numbers.tolist() == list(range(200))


@pytest.mark.parametrize("every", [-1.0, float("nan"), float("inf")])
def test_the_period_is_a_number_of_seconds(path: Path, every: float) -> None:
    with pytest.raises(ValueError, match="every must be"):
        Batcher(path, every=every)


# --- the rule, for times that a test chooses ------------------------------------------------------


def group(threads: int, room_s: float = 0.0, **stages: float) -> dict[str, Any]:
    zero = dict.fromkeys(STAGES, 0.0)
    return {
        "name": "threads", "threads": threads, "stages": zero | stages, "blocked_s": dict(zero),
        "starved_s": dict(zero), "idle_s": {"input": 0.0, "room": room_s}, "lock_s": 0.0,
    }  # fmt: skip


def report_of(*work: dict[str, Any], exposed_s: float = 5.0, seconds: float = 10.0) -> Report:
    return Report(
        batches=100, records=1000, bytes=10**6, seconds=seconds, first_batch_s=0.0,
        exposed_data_loading_s=exposed_s, work=list(work), requests={},
    )  # fmt: skip


def cases() -> Iterator[tuple[Report, str]]:
    for stage in STAGES:
        yield report_of(group(2, parse=1.0) | {}, group(2, **{stage: 15.0})), stage
        yield report_of(group(2, **{stage: 15.0}), exposed_s=0.9), "consumer"
    # One thread that is always busy limits more than eight that are busy half of the time.
    yield report_of(group(1, storage=9.0), group(8, decode=40.0)), "storage"
    yield report_of(group(1, storage=2.0), group(8, decode=40.0)), "decode"


@pytest.mark.parametrize(("report", "expected"), list(cases()))
def test_the_busiest_threads_are_the_bottleneck(report: Report, expected: str) -> None:
    assert report.bottleneck == expected
    assert STAGES.get(expected, expected) in str(report).splitlines()[-1]


def test_threads_without_a_processor_are_said_to_wait_for_one() -> None:
    starving = group(8, parse=20.0, decode=30.0)
    starving["starved_s"] |= {"parse": 19.0, "decode": 20.0}
    report = report_of(starving)
    assert report.bottleneck == "decode"
    assert report.remedy.startswith("threads wait for a processor")


# --- FASTREC_LOG --------------------------------------------------------------------------------


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger("fastrec")
    before = logger.level, list(logger.handlers)
    yield logger
    logger.setLevel(before[0])
    logger.handlers[:] = before[1]


def test_the_log_has_the_report_of_each_pass(
    path: Path,
    logger: logging.Logger,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    list(Batcher(path, NUMBER, 20))
    assert not caplog.records
    monkeypatch.setenv("FASTREC_LOG", "info")
    batcher = Batcher(path, NUMBER, 20)
    list(batcher)
    begin, end = (record.getMessage() for record in caplog.records)
    assert begin == "epoch 0 begins in shard 0 of 1"
    assert end.startswith("epoch 0 has ended\n10 batches, 200 records")
    caplog.clear()
    monkeypatch.setenv("FASTREC_LOG", "error")
    list(batcher)
    assert not caplog.records


def test_a_wrong_level_of_the_log_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTREC_LOG", "loud")
    with pytest.raises(ValueError, match="FASTREC_LOG must be debug, info, warning or error"):
        list(Batcher(path))
