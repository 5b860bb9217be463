# SPDX-License-Identifier: Apache-2.0
"""Tables become records and tables again without a difference, or an error says why not."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastrec
from fastrec.cli import main

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32),
    "large_binary": st.binary(max_size=4),
}


@st.composite
def tables(draw: st.DrawFn) -> Any:
    """A table whose columns have values, nulls, empty strings, empty lists, NaN and infinities."""
    rows = draw(st.integers(0, 5))
    columns = {}
    for name in draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True)):
        kind = draw(st.sampled_from(sorted(SCALARS)))
        values = draw(st.lists(st.none() | SCALARS[kind], min_size=rows, max_size=rows))
        columns[name] = pa.array(values, kind)
    return pa.table(columns)


def plain(table: Any) -> list[Any]:
    return [
        {
            name: "NaN" if isinstance(value, float) and math.isnan(value) else value
            for name, value in row.items()
        }
        for row in table.to_pylist()
    ]


@settings(max_examples=60, deadline=None)
@given(tables())
def test_tables_survive_records(tmp_path_factory: pytest.TempPathFactory, table: Any) -> None:
    folder = tmp_path_factory.mktemp("tables")
    pq.write_table(table, folder / "a.parquet")
    fastrec.convert(folder / "a.parquet", folder / "a.tfrecord")
    assert fastrec.count(folder / "a.tfrecord") == table.num_rows
    if table.num_rows == 0:
        return
    fastrec.convert(folder / "a.tfrecord", folder / "b.parquet")
    assert plain(pq.read_table(folder / "b.parquet").select(table.column_names)) == plain(table)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.none() | st.integers(0, 9), min_size=1, max_size=6))
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "arrow"])
def test_a_column_of_nulls_keeps_its_rows(
    tmp_path_factory: pytest.TempPathFactory, kind: str, values: list[int | None]
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    with fastrec.Writer(folder / "a.tfrecord") as writer:
        for value in values:
            writer.write({"a": value})
    fastrec.convert(folder / "a.tfrecord", folder / f"a.{kind}")
    fastrec.convert(folder / f"a.{kind}", folder / "b.tfrecord")
    found = pa.table(fastrec.arrow.table(folder / "b.tfrecord"))["a"].to_pylist()
    assert found == values


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "arrow"])
def test_a_name_that_is_not_utf8_is_refused_in_one_line(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        writer.write({b"caf\xe9": 1})
    target = tmp_path / f"a.{kind}"
    assert main(["convert", str(tmp_path / "a.tfrecord"), "-o", str(target)]) == 2
    error = capsys.readouterr().err
    assert "has a name that is not UTF-8" in error
    assert error.count("\n") == 1
    assert not target.exists()
