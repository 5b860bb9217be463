# SPDX-License-Identifier: Apache-2.0
"""Record files and Parquet on Ray and Spark: fastrec beside what the engines have.

    python benchmarks/engines.py ray|spark [MEGABYTES]

Run it where the engine is installed: Ray's own reader of record files requires TensorFlow as well,
and is a gap without it. The ways take turns; the least time of `ROUNDS` counts. All read the same
columns of the same records to the end, and the sum of one is checked.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fastrec

ROUNDS = 3
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


def measure(ways: dict[str, Callable[[], int]], rows: int) -> None:
    least = dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):
        for name, way in ways.items():
            begun = time.perf_counter()
            total = way()
            least[name] = min(least[name], time.perf_counter() - begun)
            assert total == rows * (rows - 1) // 2, (name, total)
    ours = least["fastrec"]
    for name, seconds in least.items():
        print(f"{name:24} {seconds:8.2f} s {rows / seconds:12,.0f} rows/s {seconds / ours:8.2f} x")


def on_ray(folder: Path, rows: int) -> None:
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
    ways: dict[str, Callable[[], int]] = {
        "fastrec": lambda: total(fastrec.ray.read_tfrecords(records + "/*", features=FEATURES)),
        "read_parquet": lambda: total(ray.data.read_parquet(parquet)),
    }
    try:
        import tensorflow  # noqa: F401

        ways["ray.data.read_tfrecords"] = lambda: total(ray.data.read_tfrecords(records))
    except ModuleNotFoundError:
        print("no tensorflow here: ray.data.read_tfrecords is a gap")
    measure(ways, rows)


def on_spark(folder: Path, rows: int) -> None:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
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
    parquet = session.read.parquet(str(folder / "parquet"))
    ways: dict[str, Callable[[], int]] = {
        "fastrec": lambda: total(source.load(str(folder / "records"))),
        "read.parquet": lambda: total(parquet),
    }
    measure(ways, rows)
    session.stop()


def main(engine: str, megabytes: int = 100) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = make(folder, megabytes * 1_000_000)
        {"ray": on_ray, "spark": on_spark}[engine](folder, rows)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
