# SPDX-License-Identifier: Apache-2.0
"""Reports in files and systems of metrics."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import fastrec
from fastrec import Batcher, Report, metrics


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_many([b"0123456789"] * 40)
    return path


@pytest.fixture
def report(path: Path) -> Report:
    batcher = Batcher(path, None, 10)
    list(batcher)
    return batcher.report()


def test_prometheus_reads_one_sample_of_each_number(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "fastrec.prom"
    exporter = metrics.Prometheus(out, {"host": 'a"b\\c\n'})
    batcher = Batcher(path, None, 10, on_stats=exporter, every=0.0)
    list(batcher)
    lines = out.read_text().splitlines()
    samples = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    labels = r'{host="a\"b\\c\n"}'
    assert {name: float(value) for name, value in samples.items()} == {
        f"fastrec_{name}{labels}": pytest.approx(value)
        for name, value in batcher.report().scalars().items()
    }
    assert all(re.fullmatch(r"# TYPE fastrec_\w+ gauge", line) for line in lines[::2])


def test_tensorboard_shows_the_numbers_of_each_report(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "run"
    batcher = Batcher(path, None, 10, on_stats=metrics.TensorBoard(folder), every=0.0)
    list(batcher)
    table = fastrec.events.scalars(folder, tags=["fastrec/batches"])
    assert table["step"].tolist() == table["value"].tolist() == [1, 2, 3, 4, 4]
    names = set(fastrec.events.scalars(folder)["tag"])
    assert names == {f"fastrec/{name}" for name in batcher.report().scalars()}


def test_opentelemetry_gets_a_gauge_for_each_number(report: Report) -> None:
    values: dict[str, float] = {}

    class Gauge:
        def __init__(self, name: str) -> None:
            self.name = name

        def set(self, value: float) -> None:
            values[self.name] = value

    class Meter:
        def create_gauge(self, name: str) -> Gauge:
            assert name not in values
            return Gauge(name)

    exporter = metrics.OpenTelemetry(Meter())
    for _ in range(2):
        exporter(report)
    assert values == {f"fastrec.{name}": value for name, value in report.scalars().items()}


def test_wandb_gets_the_numbers_with_the_next_step(report: Report) -> None:
    calls: list[Any] = []

    class Run:
        def log(self, values: dict[str, float], *, commit: bool) -> None:
            calls.append((values, commit))

    metrics.WandB(Run())(report)
    assert calls == [({f"fastrec/{k}": v for k, v in report.scalars().items()}, False)]


@pytest.mark.parametrize("transform", [None, len])
def test_a_trace_has_the_stages_of_each_thread(path: Path, tmp_path: Path, transform: Any) -> None:
    batches = iter(Batcher(path, None, 10, threads=2, transform=transform))
    list(batches)
    metrics.write_trace(batches, tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    threads = {event["tid"] for event in events if event["ph"] == "M"}
    stages = [event for event in events if event["ph"] == "X"]
    assert {event["tid"] for event in stages} <= threads
    expected = {"parse", "transform"} if transform else {"parse"}
    assert {event["name"] for event in stages} >= expected
    assert all(event["dur"] >= 0 for event in stages)
    counters = [event for event in events if event["ph"] == "C"]
    assert {event["name"] for event in counters} == {"ready batches", "data wait (ms)"}
    # Both are on one axis of time: the first batch is delivered after its first stage began.
    assert min(e["ts"] for e in stages) <= min(e["ts"] for e in counters)
    with pytest.raises(FileExistsError):
        metrics.write_trace(batches, tmp_path / "trace.json")
