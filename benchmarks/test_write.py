# SPDX-License-Identifier: Apache-2.0
"""Examples out of values, by what is in them: rows and columns, in memory and to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec.bench import cases
from fastrec.bench.cases import Case
from fastrec.bench.peers.ceiling import memcpy
from fastrec.bench.peers.ours import given

SEED = 1


@pytest.fixture
def columns(case: Case) -> cases.Columns:
    n = case.write_records
    return {name: cases.head(c, n) for name, c in cases.columns_of(case, SEED).items()}


def encoded_size(columns: cases.Columns) -> int:
    return fastrec.encode_examples({name: given(c) for name, c in columns.items()}).nbytes


def test_encode_rows(measure: Any, case: Case, columns: cases.Columns) -> None:
    rows = list(cases.rows(columns, case.write_records))

    def once() -> None:
        for row in rows:
            fastrec.encode_example(row)

    measure(once, records=len(rows), size=encoded_size(columns))


def test_encode_columns(measure: Any, case: Case, columns: cases.Columns) -> None:
    values = {name: given(column) for name, column in columns.items()}
    size = encoded_size(columns)
    measure(lambda: fastrec.encode_examples(values), records=case.write_records, size=size)


def test_write_rows(measure: Any, case: Case, columns: cases.Columns, tmp_path: Path) -> None:
    rows = list(cases.rows(columns, case.write_records))

    def once() -> None:
        with fastrec.Writer(tmp_path / "rows.tfrecord", fsync=False, overwrite=True) as writer:
            for row in rows:
                writer.write(row)

    measure(once, records=len(rows), size=encoded_size(columns))


def test_write_columns(measure: Any, case: Case, columns: cases.Columns, tmp_path: Path) -> None:
    values = {name: given(column) for name, column in columns.items()}

    def once() -> None:
        with fastrec.Writer(tmp_path / "columns.tfrecord", fsync=False, overwrite=True) as writer:
            writer.write_batch(values)

    measure(once, records=case.write_records, size=encoded_size(columns))


def test_ceiling_memcpy(measure: Any, case: Case, columns: cases.Columns) -> None:
    size = encoded_size(columns)
    measure(memcpy(np.ones(size, np.uint8), 1 << 18), records=case.write_records, size=size)
