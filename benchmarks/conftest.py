# SPDX-License-Identifier: Apache-2.0
"""Data for the benchmarks, and what they say beside seconds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastrec
from fastrec.bench import cases
from fastrec.bench.cases import Case

SCALE = 0.05
SEED = 1

Measure = Callable[..., None]


@pytest.fixture
def measure(benchmark: Any) -> Measure:
    """``measure(once, records=, size=)`` times `once` and adds records/s and GB/s."""

    def measured(once: Callable[[], object], *, records: int, size: int) -> None:
        benchmark(once)
        if benchmark.stats is None:  # timing is disabled
            return
        seconds = benchmark.stats.stats.median
        benchmark.extra_info["records/s"] = records / seconds
        benchmark.extra_info["GB/s"] = size / seconds / 1e9

    return measured


@pytest.fixture(scope="session")
def file_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Case], str]:
    """The path of a case's records, written once."""
    folder = tmp_path_factory.mktemp("benchmarks")

    def written(case: Case) -> str:
        path = Path(folder, f"{case.name}.tfrecord")
        if not path.exists():
            with fastrec.Writer(path, fsync=False) as writer:
                if case.fields:
                    columns = cases.columns_of(case, SEED)
                    for row in cases.rows(columns, case.records):
                        writer.write(row)
                else:
                    for record in cases.raw_records(case, SEED).to_list():
                        writer.write(record)
        return str(path)

    return written


@pytest.fixture(params=list(cases.CASES))
def case(request: pytest.FixtureRequest) -> Case:
    """Each of the kinds of examples."""
    return cases.CASES[request.param].scaled(SCALE)


@pytest.fixture(params=[64, 1 << 10, 16 << 10, 1 << 20], ids=lambda size: f"{size}B")
def sized_file(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, int, int]:
    """A file of equal records: its path, how many, and of what size."""
    size, records = request.param, max((16 << 20) // (request.param + 16), 4)
    path = tmp_path / "sized.tfrecord"
    with fastrec.Writer(path, fsync=False) as writer:
        for number in range(records):
            writer.write(bytes([number % 251]) * size)
    return str(path), records, size
