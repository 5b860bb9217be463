# SPDX-License-Identifier: Apache-2.0
"""Record files and Parquet on Ray and Spark: fastrec beside what the engines have.

    python benchmarks/engines.py ray|spark [MEGABYTES] >> section.md

Prints a section in Markdown for benchmarks/README.md. Run it where the engine is installed: Ray's
own reader of record files requires TensorFlow as well, and is a gap without it. The ways take
turns, the first of which start the engine's processes; the least time of `ROUNDS` counts, and a way
that takes over a minute has two turns. All read the same columns of the same records to the end,
and the sum of one is checked.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fastrec
from fastrec.bench.machine import cpu_name, memory_text

ROUNDS = 7
SLOW = 60  # seconds
WIDTH = 16
FILES = 4

FEATURES = {
    "id": fastrec.FixedLenFeature((), np.int64),
    "x": fastrec.FixedLenFeature((WIDTH,), np.float32),
    "word": fastrec.FixedLenFeature((), bytes),
}


def make(folder: Path, size: int) -> int:
    """Write record files, and the same rows as Parquet; returns how many."""
    rows = size // (WIDTH * 4 + 70)
    draw = np.random.default_rng(0)
    (folder / "records").mkdir()
    (folder / "parquet").mkdir()
    with fastrec.Writer(folder / "records" / "x.tfrecords", shards=FILES) as writer:
        for begin in range(0, rows, 8192):
            count = min(8192, rows - begin)
            columns: dict[str, Any] = {"id": np.arange(begin, begin + count)}
            columns["x"] = draw.random((count, WIDTH), np.float32)
            columns["word"] = [b"word %d" % n for n in range(count)]
            writer.write_batch(columns)
    for number, path in enumerate(writer.paths):
        fastrec.convert(path, folder / "parquet" / f"{number}.parquet", features=FEATURES)
    return rows


def measure(ways: dict[str, Callable[[], int] | None], rows: int) -> dict[str, float | None]:
    """The least time of each way, which take turns; None for one that is not here."""
    least: dict[str, float | None] = dict.fromkeys(ways)
    for number in range(ROUNDS):
        for name, way in ways.items():
            if way is None or (number > 1 and (least[name] or 0) > SLOW):
                continue
            print(f"round {number + 1} of {ROUNDS}: {name}", file=sys.stderr)
            begun = time.perf_counter()
            total = way()
            spent = time.perf_counter() - begun
            assert total == rows * (rows - 1) // 2, (name, total)
            least[name] = min(spent, least[name] or spent)
    return least


def section(engine: str, megabytes: int, rows: int, least: dict[str, float | None]) -> str:
    """The measurements in Markdown, with what is needed to repeat them."""
    package = {"ray": "ray", "spark": "pyspark"}[engine]
    version = importlib.metadata.version(package)
    ours = least["fastrec"]
    assert ours is not None
    lines = [
        f"### {engine.capitalize()}: {rows:,} rows, {megabytes} MB in {FILES} files",
        "",
        f"`python benchmarks/engines.py {engine} {megabytes}`, {package} {version}, "
        f"{cpu_name()}, {os.cpu_count()} processors, {memory_text()}, "
        f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}; least of {ROUNDS} rounds.",
        "",
        "| read by | time | rows/s | time, fastrec's is 1 |",
        "|---|--:|--:|--:|",
    ]
    for name, seconds in least.items():
        if seconds is None:
            lines.append(f"| {name} | | | not here |")
        else:
            figures = f"{seconds:.2f} s | {rows / seconds:,.0f} | {seconds / ours:.2f}"
            lines.append(f"| {name} | {figures} |")
    return "\n".join(lines)


def on_ray(folder: Path, rows: int) -> dict[str, float | None]:
    import ray
    import ray.data

    import fastrec.ray

    home = str(Path(fastrec.__file__).parents[1])
    runtime = {"env_vars": {"PYTHONPATH": home}}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=runtime)
    ray.data.DataContext.get_current().enable_progress_bars = False

    def total(dataset: Any) -> int:
        found = 0
        for batch in dataset.iter_batches(batch_size=None, batch_format="pyarrow"):
            found += sum(batch["id"].to_pylist())
        return found

    records, parquet = str(folder / "records"), str(folder / "parquet")
    ways: dict[str, Callable[[], int] | None] = {
        "fastrec": lambda: total(fastrec.ray.read_tfrecords(records + "/*", features=FEATURES)),
        "ray.data.read_parquet": lambda: total(ray.data.read_parquet(parquet)),
        "ray.data.read_tfrecords": None,
    }
    if importlib.util.find_spec("tensorflow") is not None:
        ways["ray.data.read_tfrecords"] = lambda: total(ray.data.read_tfrecords(records))
    least = measure(ways, rows)
    ray.shutdown()
    return least


def on_spark(folder: Path, rows: int) -> dict[str, float | None]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    home = str(Path(fastrec.__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([home, os.environ.get("PYTHONPATH", "")])
    session = (
        SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    schema = "id long, x array<float>, word binary"

    def total(frame: Any) -> int:
        found = frame.selectExpr("sum(id)", "sum(size(x))", "sum(length(word))").collect()[0]
        assert found[1] == rows * WIDTH
        return int(found[0])

    source = session.read.format("fastrec").schema(schema)
    parquet = session.read.schema(schema)
    ways: dict[str, Callable[[], int] | None] = {
        "fastrec": lambda: total(source.load(str(folder / "records"))),
        "spark.read.parquet": lambda: total(parquet.parquet(str(folder / "parquet"))),
    }
    least = measure(ways, rows)
    session.stop()
    return least


def main(engine: str, megabytes: int = 100) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = make(folder, megabytes * 1_000_000)
        least = {"ray": on_ray, "spark": on_spark}[engine](folder, rows)
    print(section(engine, megabytes, rows, least))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in ("ray", "spark"):
        sys.exit(__doc__)
    main(sys.argv[1], *map(int, sys.argv[2:]))
