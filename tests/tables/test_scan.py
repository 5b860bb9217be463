# SPDX-License-Identifier: Apache-2.0
"""A lazy scan gives the rows of the whole table, and reads no more than a query needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastrec
from fastrec import arrow
from fastrec.tables import Scan, scan

pa = pytest.importorskip("pyarrow")
dataset = pytest.importorskip("pyarrow.dataset")

COUNT, BATCH = 100, 16
NAMES = ["id", "word", "x", "tags"]
ROWS = [
    {"id": i, "x": [i / 2, 1.0], "tags": list(range(i % 3))}
    | ({"word": f"w{i % 7}"} if i % 5 else {})
    for i in range(COUNT)
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scan") / "rows.tfrecord"
    with fastrec.Writer(path) as writer:
        for row in ROWS:
            writer.write(row)
    return path


@pytest.fixture(scope="module")
def rows(path: Path) -> Scan:
    return scan(path, batch_size=BATCH)


@pytest.fixture(scope="module")
def table(path: Path) -> Any:
    return pa.table(arrow.table(path, tensors=False))


@given(
    columns=st.none() | st.lists(st.sampled_from(NAMES), unique=True, min_size=1),
    bound=st.none() | st.integers(-1, COUNT),
)
def test_a_dataset_has_the_columns_and_the_rows_of_a_query(
    columns: list[str] | None, bound: int | None, rows: Scan, table: Any
) -> None:
    wanted = None if bound is None else dataset.field("id") < bound
    found = rows.to_dataset().scanner(columns=columns, filter=wanted).to_table()
    whole = table if wanted is None else table.filter(wanted)
    assert found.equals(whole if columns is None else whole.select(columns))


@pytest.mark.parametrize("names", [["id"], ["word"], ["tags", "id"], []])
def test_a_scan_parses_only_the_columns_of_a_query(names: list[str], path: Path) -> None:
    described = {"id": fastrec.FixedLenFeature((), np.int64), "word": arrow.Optional(bytes)}
    described |= {"tags": fastrec.RaggedFeature(np.int64)}
    wrong = scan(path, {**described, "x": fastrec.FixedLenFeature((), np.int64)})
    assert sum(len(batch) for batch in wrong.batches(names)) == COUNT
    with pytest.raises(fastrec.ExampleParseError, match="'x'"):
        list(wrong.batches())


def test_a_column_that_a_scan_lacks_is_an_error(rows: Scan) -> None:
    with pytest.raises(ValueError, match="columns must be among id, tags, word, x, got 'y'"):
        list(rows.batches(["id", "y"]))


def test_feature_lists_are_columns_of_a_scan(tmp_path: Path) -> None:
    path = tmp_path / "sequences.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write(fastrec.encode_sequence_example({"id": 1}, {"steps": [[1], [2, 3]]}))
    found = scan(path).to_dataset()
    assert found.scanner(columns=["steps"]).to_table().to_pylist() == [{"steps": [[1], [2, 3]]}]
    assert found.scanner(columns=["id"]).to_table().to_pylist() == [{"id": 1}]


def damaged(path: Path, folder: Path) -> Path:
    """A copy of which the last record is damaged."""
    copy = folder / "damaged.tfrecord"
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    copy.write_bytes(data)
    return copy


QUERIES = ["head", "filter", "head filter", "filter head", "select", "group", "len", "tail"]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("count", [0, 1, BATCH, 3 * BATCH + 1, COUNT, 2 * COUNT])
def test_a_query_of_polars_gives_the_rows_of_the_whole_table(
    query: str, count: int, rows: Scan, path: Path
) -> None:
    pl = pytest.importorskip("polars")

    def ask(frame: Any) -> Any:
        wanted = pl.col("id") % 3 == 1
        return {
            "head": lambda: frame.head(count),
            "filter": lambda: frame.filter(wanted & (pl.col("id") < count)).select("word"),
            "head filter": lambda: frame.head(count).filter(wanted).select("x", "id"),
            "filter head": lambda: frame.filter(wanted).head(count),
            "select": lambda: frame.select("tags", (pl.col("id") + count).alias("more")),
            "group": lambda: frame.group_by("word").agg(pl.col("id").sum()).sort("word"),
            "len": lambda: frame.select(pl.len()),
            "tail": lambda: frame.tail(count),
        }[query]()

    eager = pl.DataFrame(arrow.table(path, tensors=False)).lazy()
    assert ask(rows.to_polars()).collect().equals(ask(eager).collect())


def test_polars_stops_at_the_rows_that_it_needs(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("polars")
    described = scan(path).description
    frame = scan(damaged(path, tmp_path), described, batch_size=BATCH).to_polars()
    assert frame.head(BATCH).collect()["id"].to_list() == list(range(BATCH))
    with pytest.raises(fastrec.CorruptRecordError, match="record 99"):
        frame.collect()


@pytest.mark.parametrize(
    "query",
    [
        "select count(*) from rows",
        "select sum(id), count(word) from rows",
        "select x from rows where id between 10 and 20",
        "select word, sum(id) from rows where word <> 'w1' group by word order by word",
        "select tags from rows where word is null order by id",
        "select a.id from rows a join rows b on a.id = b.id + 90 order by all",
        "select * from rows order by id limit 7",
    ],
)
def test_a_query_of_duckdb_gives_the_rows_of_the_whole_table(
    query: str, path: Path, table: Any
) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.register("rows", table)
        expected = connection.sql(query).fetchall()
        connection.register("rows", scan(path, batch_size=BATCH).to_dataset())
        assert connection.sql(query).fetchall() == expected


def test_duckdb_stops_at_its_limit_and_reports_damage(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "long.tfrecord"  # pyarrow and DuckDB read some batches ahead
    with fastrec.Writer(path) as writer:
        for i in range(1000 * BATCH):
            writer.write({"id": i})
    rows = scan(damaged(path, tmp_path), scan(path).description, batch_size=BATCH).to_dataset()
    assert rows is not None  # a query finds it by its name
    assert duckdb.sql("select id from rows limit 3").fetchall() == [(0,), (1,), (2,)]
    with pytest.raises(duckdb.Error, match=r"damaged\.tfrecord"):
        duckdb.sql("select sum(id) from rows").fetchall()
