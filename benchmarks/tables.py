# SPDX-License-Identifier: Apache-2.0
"""Record files as tables: inferred against described features, and queries against Parquet.

    python benchmarks/tables.py >> section.md

Prints a section in Markdown for benchmarks/README.md. Requires pyarrow, polars, duckdb and
datasets. Each number is the least processor time of `ROUNDS` rounds, in which the ways take
turns.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import duckdb
import numpy as np
import polars
import pyarrow
import pyarrow.parquet

import fastrec
import fastrec.huggingface
from fastrec import arrow
from fastrec.bench.machine import cpu_name, memory_text
from fastrec.tables import scan

ROUNDS = 15
ROWS = 200_000


def make(folder: Path) -> tuple[str, str]:
    """Write a record file of 16 numbers and words per row, and the same rows as Parquet."""
    draw = np.random.default_rng(0)
    columns: dict[str, Any] = {f"i{k}": draw.integers(0, 1000, ROWS) for k in range(6)}
    columns |= {f"f{k}": draw.random(ROWS, np.float32) for k in range(7)}
    columns |= {f"s{k}": [b"w%d" % n for n in draw.integers(0, 5000, ROWS)] for k in range(3)}
    records, parquet = str(folder / "rows.tfrecord"), str(folder / "rows.parquet")
    with fastrec.Writer(records) as writer:
        writer.write_batch(columns)
    pyarrow.parquet.write_table(pyarrow.table(arrow.table(records)), parquet)
    return records, parquet


def least(*ways: Callable[[], Any]) -> list[float]:
    """Return the least processor time of each way, in milliseconds."""
    times = [float("inf")] * len(ways)
    for _ in range(ROUNDS):
        for number, way in enumerate(ways):
            began = time.process_time()
            way()
            times[number] = min(times[number], time.process_time() - began)
    return [1e3 * each for each in times]


def tables(path: str, features: Any) -> None:
    """Print the times of tables and of streams with described and with inferred features."""
    datasets.disable_progress_bars()

    def first_row(*description: Any) -> Any:
        return next(iter(fastrec.huggingface.load_dataset(path, *description, streaming=True)))

    rows: dict[str, list[float]] = {
        "`pyarrow.table(arrow.table(...))`": least(
            lambda: pyarrow.table(arrow.table(path, features)),
            lambda: pyarrow.table(arrow.table(path)),
        ),
        "first row of `load_dataset(streaming=True)`": least(
            lambda: first_row(features), lambda: first_row()
        ),
    }
    print("\n| | features described | features inferred | ratio |\n|---|--:|--:|--:|")
    for name, (described, inferred) in rows.items():
        ratio = inferred / described
        print(f"| {name} | {described:.0f} ms | {inferred:.0f} ms | {ratio:.2f} |")


def queries(path: str, features: Any, parquet: str) -> None:
    """Print the times of queries of polars and DuckDB, over a scan and over Parquet."""
    duckdb.register("rows", scan(path, features).to_dataset())
    frames = scan(path, features).to_polars(), polars.scan_parquet(parquet)
    column = polars.col
    plans: dict[str, tuple[Callable[[Any], Any], str]] = {
        "all columns": (lambda frame: frame, "select * from X"),
        "sum of one column": (
            lambda frame: frame.select(column("f0").sum()),
            "select sum(f0) from X",
        ),
        "group by one column, sum of another": (
            lambda frame: frame.group_by("i0").agg(column("f1").sum()),
            "select i0, sum(f1) from X group by i0",
        ),
        "two columns where a third is 3": (
            lambda frame: frame.filter(column("i0") == 3).select("s0", "f2"),
            "select s0, f2 from X where i0 = 3",
        ),
        "the first 5 rows": (lambda frame: frame.head(5), "select * from X limit 5"),
    }

    def run(text: str) -> Any:
        return duckdb.sql(text).to_arrow_table()

    print("\n| query | polars, scan | polars, Parquet | DuckDB, scan | DuckDB, Parquet |")
    print("|---|--:|--:|--:|--:|")
    for name, (plan, text) in plans.items():
        sources = [text.replace("X", source) for source in ("rows", f"'{parquet}'")]
        times = least(
            *(plan(frame).collect for frame in frames), *(partial(run, text) for text in sources)
        )
        print(f"| {name} | " + " | ".join(f"{each:.0f} ms" for each in times) + " |")


def main() -> None:
    names = ("pyarrow", "polars", "duckdb", "datasets")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    print(f"## Tables: {ROWS:,} rows of 16 numbers and words, 53 MB\n")
    print(
        f"`python benchmarks/tables.py`, {versions}, {cpu_name()}, "
        f"{os.cpu_count()} processors, {memory_text()}, "
        f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}; processor time, "
        f"least of {ROUNDS} rounds."
    )
    with tempfile.TemporaryDirectory() as folder:
        path, parquet = make(Path(folder))
        features = arrow.table(path).description
        tables(path, features)
        queries(path, features, parquet)


if __name__ == "__main__":
    main()
