# SPDX-License-Identifier: Apache-2.0
"""The drawings are those of their texts, and what they say is so."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ElementTree
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

import fastrec

DOCS = Path(__file__).parents[2] / "docs"
TEXTS = sorted((DOCS / "diagrams").glob("*.dot"))


def program() -> Any:
    spec = spec_from_file_location("diagrams", DOCS / "diagrams.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(name: str) -> dict[str, list[tuple[int, str]]]:
    """The cells of each row of a table: number and colour."""
    text = (DOCS / "diagrams" / f"{name}.dot").read_text()
    found = {}
    for row in text.split("<tr>"):
        head = re.search(r"<b>(.*?)</b>", row)
        cells = re.findall(r'bgcolor="(\w+)">(\d+)</td>', row)
        if head:
            found[head[1]] = [(int(number), colour) for colour, number in cells]
    return found


def numbers(cells: list[tuple[int, str]]) -> list[int]:
    return [number for number, _ in cells]


def write(folder: Path, count: int) -> Path:
    path = folder / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_many([b"%d" % number for number in range(count)])
    return path


def records(batches: Any) -> list[int]:
    return [int(record) for batch in batches for record in batch]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_a_drawing_is_that_of_its_text_and_is_shown(path: Path) -> None:
    drawing = path.with_suffix(".svg").read_text()
    assert f'data-text="{program().digest(path.read_text())}"' in drawing, "make diagrams"
    assert any(f"(diagrams/{path.stem}.svg)" in page.read_text() for page in DOCS.glob("*.md"))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_a_drawing_is_itself_alone_and_has_the_colours_of_the_page(path: Path) -> None:
    drawing = path.with_suffix(".svg").read_text()
    ElementTree.fromstring(drawing)
    assert re.findall(r'(?:href|src)="|url\(|<script|@import', drawing) == []
    assert {"black", "white"} & set(re.findall(r'(?:fill|stroke)="(\w+)"', drawing)) == set()


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_a_text_is_drawn() -> None:
    for path in TEXTS:
        ElementTree.fromstring(program().draw(path.read_text(), "title"))


def test_the_orders_that_are_drawn_are_those_of_a_batcher(tmp_path: Path) -> None:
    path = write(tmp_path, 16)
    drawn = rows("shuffle")
    assert len(drawn) == 4
    for said, cells in drawn.items():
        shuffle = eval(said.removeprefix("shuffle="), {"BlockShuffle": fastrec.BlockShuffle})
        batcher = fastrec.Batcher(path, None, batch_size=4, shuffle=shuffle, seed=1)
        assert numbers(cells) == records(batcher), said


def test_the_shards_that_are_drawn_are_those_of_batchers(tmp_path: Path) -> None:
    path = write(tmp_path, 18)

    def batcher(shard: tuple[int, int]) -> fastrec.Batcher:
        return fastrec.Batcher(path, None, batch_size=1, shuffle=True, seed=2, shard=shard)

    drawn = rows("shards")
    assert numbers(drawn["one order"]) == records(batcher((0, 1)))
    colours = "blue", "green", "orange"
    running = [iter(batcher((number, 3))) for number in range(3)]
    for colour, batches in zip(colours, running, strict=True):
        used = [number for number, each in drawn["stopped after 2 batches"] if each == colour]
        assert used == [int(next(batches)[0]) for _ in range(2)]
    state = running[0].state_dict()
    for number, colour in enumerate(colours):
        whole = [record for record, each in drawn["three processes"] if each == colour]
        assert whole == records(batcher((number, 3)))
        if number < 2:
            rest = batcher((number, 2))
            rest.load_state_dict(state)
            assert records(rest) == [n for n, each in drawn["two go on"] if each == colour]


def test_nothing_is_left_over() -> None:
    stems = {path.stem for path in TEXTS}
    assert {path.stem for path in (DOCS / "diagrams").iterdir()} == stems
