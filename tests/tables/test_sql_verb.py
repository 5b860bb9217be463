# SPDX-License-Identifier: Apache-2.0
"""``fastrec sql`` queries record files through DuckDB."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from commands import Captured, objects, printed
from pets import write_pets
from verbs import write_examples

from fastrec import cli


@pytest.fixture
def pets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_pets(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_sql_queries_record_files(pets: Path, capsys: Captured) -> None:
    pytest.importorskip("duckdb")
    query = "select label, count(*) n from 'train-*' where id < 30 group by label order by label"
    assert objects(capsys, "sql", "--json", query) == [
        {"label": label, "n": 10} for label in range(3)
    ]
    assert printed(capsys, "sql", query)[0].split() == ["label", "n"]
    join = "select count(*) n from 'pets.tfrecord' a join 'train-*' b on a.id = b.id"
    assert objects(capsys, "sql", "--json", join) == [{"n": 60}]
    assert cli.main(["sql", "select nope from 'train-*'"]) == 1
    assert "query failed: Binder Error" in capsys.readouterr().err
    assert cli.main(["sql", "select * from 'none.tfrecord'"]) == 74
    assert "none.tfrecord" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("select nmae from 'train-*'", ["Binder Error", "Candidate bindings", '"name"']),
        ("select id + name from 'train-*'", ["No function matches"]),
        ("select * from pets.tfrecord", ["quote the names of record files: FROM 'pets.tfrecord'"]),
        ("select * from train-*", ["quote the names of record files: FROM 'train-*'"]),
        ("selct 1", ["Parser Error"]),
    ],
)
def test_a_failed_query_is_one_short_line_with_a_hint(
    pets: Path, capsys: Captured, query: str, words: list[str]
) -> None:
    pytest.importorskip("duckdb")
    assert cli.main(["sql", query]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("fastrec: error: query failed: ")
    assert len(line) < 300
    assert [word for word in words if word not in line] == []


def test_sql_names_its_extra(pets: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert cli.main(["sql", "select 1"]) == 2
    assert "pip install 'fastrec-io[sql]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("select count(*) n from 'pets.tfrecord' where id < 7", {"n": 7}),
        ("SELECT count(*) n FROM 'pets.tfrecord' AS t LEFT JOIN 'train-*' u USING (id)", {"n": 60}),
        ("select name from 'pets.tfrecord' order by id limit 1", {"name": "Ada"}),
        ("select 1.5 x, null y, [1, 2] z, 'nan'::float w", {"x": "1.5", "y": None, "z": [1, 2]}),
    ],
)
def test_queries_of_several_forms(
    pets: Path, capsys: Captured, query: str, first: dict[str, object]
) -> None:
    pytest.importorskip("duckdb")
    [row] = objects(capsys, "sql", "--json", query)
    assert {name: row[name] for name in first} == first


def test_bytes_and_long_lists_are_shown_briefly(pets: Path, capsys: Captured) -> None:
    pytest.importorskip("duckdb")
    path = write_examples(pets / "a.tfrecord", [{"x": b"\x00\xff", "y": list(range(20))}])
    lines = printed(capsys, "sql", f"select x, y from '{path}'")
    assert "2 bytes: 00 ff" in lines[2]
    assert "20 values" in lines[2]
