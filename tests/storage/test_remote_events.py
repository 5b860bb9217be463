# SPDX-License-Identifier: Apache-2.0
"""Event files are named as any other source: by URLs, folders of stores, and patterns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from event_messages import Event, Value, event

import fastrec
from fastrec import events

NAME = "events.out.tfevents.1"


def data_of(folder: Path, *steps: int) -> bytes:
    path = folder / "made"
    with fastrec.Writer(path, overwrite=True) as writer:
        writer.write(Event(wall_time=0.5, file_version="brain.Event:2").SerializeToString())
        for step in steps:
            writer.write(event(step, Value(tag="loss", simple_value=step / 2)))
    return path.read_bytes()


def rows(table: Any) -> list[tuple[Any, ...]]:
    return list(zip(table["run"], table["step"].tolist(), table["value"].tolist(), strict=True))


def test_a_folder_of_a_store_is_searched_for_runs(memory: Any, tmp_path: Path) -> None:
    memory.put(f"logs/{NAME}", data_of(tmp_path, 1))
    memory.put(f"logs/deep/run/{NAME}", data_of(tmp_path, 2, 3))
    memory.put("logs/deep/notes.txt", b"notes")
    url = f"{memory.url}/logs"
    expected = [(".", 1, 0.5), ("deep/run", 2, 1.0), ("deep/run", 3, 1.5)]
    assert sorted(rows(events.scalars(url))) == expected
    assert sorted(rows(events.scalars(f"{url}/"))) == expected
    assert [row[1:] for row in rows(events.scalars(f"{url}/{NAME}"))] == [(1, 0.5)]
    assert [row[1:] for row in rows(events.scalars(f"{url}/*tfevents*"))] == [(1, 0.5)]


def test_a_run_that_goes_on_in_a_store_is_followed(memory: Any, tmp_path: Path) -> None:
    memory.put(f"logs/{NAME}", data_of(tmp_path, 1))
    tables = events.follow(f"{memory.url}/logs", interval=0.01, timeout=5)
    assert [row[1] for row in rows(next(tables))] == [1]
    memory.put(f"logs/{NAME}", data_of(tmp_path, 1, 2, 3))
    assert [row[1] for row in rows(next(tables))] == [2, 3]
    tables.close()  # type: ignore[attr-defined]


def test_patterns_and_file_urls_name_local_files(tmp_path: Path) -> None:
    for run in ("a", "b"):
        (tmp_path / run).mkdir()
        (tmp_path / run / NAME).write_bytes(data_of(tmp_path, 4))
    assert [row[1] for row in rows(events.scalars(str(tmp_path / "*" / "*tfevents*")))] == [4, 4]
    assert [row[1] for row in rows(events.scalars(f"file://{tmp_path}/a/{NAME}"))] == [4]
    with pytest.raises(FileNotFoundError):
        events.scalars(str(tmp_path / "none"))
