# SPDX-License-Identifier: Apache-2.0
"""The recipe of docs/coming-from.md: record files are shards of a dataset of Zephon."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from page_code import block_of

import fastrec

pytest.importorskip("zephon", reason="zephon is not installed")

COUNT = 100


@pytest.fixture(autouse=True)
def reviews(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with fastrec.Writer("reviews.tfrecord", shards=3) as writer:
        for number in range(COUNT):
            writer.write({"text": f"text {number}", "label": number})


def recipe(monkeypatch: pytest.MonkeyPatch, loop: bool = True) -> Any:
    """Return the recipe as a module, without its loop on request."""
    code = block_of("coming-from", "import zephon")
    if not loop:
        code = code[: code.index("for batch in pipeline:")]
    Path("recipe.py").write_text("import numpy as np\nimport fastrec\n" + code)
    monkeypatch.delitem(sys.modules, "recipe", raising=False)
    import recipe  # type: ignore[import-not-found]

    return recipe


def rows(batch: Any) -> list[tuple[str, int]]:
    payloads = [record.payload for record in batch.records]
    return [(each["text"].decode(), int(each["label"])) for each in payloads]


def test_the_recipe_runs_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    names = recipe(monkeypatch)
    assert len(names.labels) == COUNT % 32
    assert names.dataset.counts().tolist() == [34, 33, 33]


def test_an_epoch_has_each_record_once_and_mixes_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [row for batch in recipe(monkeypatch, loop=False).pipeline for row in rows(batch)]
    assert sorted(found, key=lambda row: row[1]) == [(f"text {n}", n) for n in range(COUNT)]
    assert {label % 3 for _, label in found[:32]} == {0, 1, 2}
    assert found != sorted(found, key=lambda row: row[1])


@pytest.mark.parametrize("taken", [1, 2, 3])
def test_a_state_continues_with_the_same_samples(
    monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    whole = [rows(batch) for batch in recipe(monkeypatch, loop=False).pipeline]
    pipeline = recipe(monkeypatch, loop=False).pipeline
    batches = iter(pipeline)
    for _ in range(taken):
        next(batches)
    state = pipeline.checkpoint()
    again = recipe(monkeypatch, loop=False).pipeline
    again.restore(json.loads(json.dumps(state)))
    assert [rows(batch) for batch in again] == whole[taken:]


def test_a_shard_travels_to_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    names = recipe(monkeypatch, loop=False)
    shard = pickle.loads(pickle.dumps(names.shards[1]))
    assert len(shard) == 33
    assert shard.raw_bytes == Path(names.paths[1]).stat().st_size
    assert shard.getsamples([3, 0, 3]) == [shard[3], shard[0], shard[3]]
    assert shard[3] == names.shards[1][3]


def test_a_damaged_record_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    names = recipe(monkeypatch, loop=False)
    path = Path(names.paths[1])
    data = bytearray(path.read_bytes())
    data[int(fastrec.Index.build(path).offsets[7]) + 30] ^= 4
    path.write_bytes(data)
    pipeline = recipe(monkeypatch, loop=False).pipeline
    with pytest.raises(Exception, match=rf"{path.name}.*record 7|record 7 in .*{path.name}"):
        list(pipeline)
