# SPDX-License-Identifier: Apache-2.0
"""The commands, and what other libraries are given, with URLs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_server import Objects, ObjectServer

import fastrec
from fastrec.cli import main


@pytest.fixture
def url(memory: Any) -> str:
    with fastrec.Writer(f"{memory.url}/t.tfrecord", shards=2) as writer:
        for number in range(10):
            writer.write({"n": number})
    memory.put("empty.tfrecord", b"")
    return str(memory.url)


def test_the_commands_take_urls(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["count", f"{url}/t-*", f"{url}/empty.tfrecord"]) == 0
    shown = capsys.readouterr().out
    assert "10  total" in shown
    assert "(empty file)" in shown
    manifest = str(tmp_path / "t.json")
    assert main(["verify", f"{url}/*.tfrecord", "--write-manifest", manifest]) == 0
    assert main(["verify", f"{url}/*.tfrecord", "--manifest", manifest]) == 0
    assert len(json.loads(Path(manifest).read_text())["files"]) == 3
    assert f"{url}/t-00001-of-00002.tfrecord: 5 records" in capsys.readouterr().out
    assert main(["verify", f"{url}/no.tfrecord"]) not in (0, 1)
    assert "no such object" in capsys.readouterr().err
    assert main(["schema", f"{url}/t-*"]) == 0
    assert "FixedLenFeature" in capsys.readouterr().out


def test_a_server_of_files_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    data = fastrec._core.frame(fastrec.encode_example({"n": 1}))
    with ObjectServer(Objects({"t.tfrecord": data})) as server:
        assert main(["count", f"{server.url}/t.tfrecord"]) == 0
        assert main(["count", f"{server.url}/t*.tfrecord"]) != 0
        assert "listing" in capsys.readouterr().err


def test_loaders_of_torch_take_urls(url: str) -> None:
    data = pytest.importorskip("torch.utils.data")
    import fastrec.torch

    features = {"n": fastrec.FixedLenFeature((), np.int64)}
    dataset = fastrec.torch.Dataset(f"{url}/t-*", features)
    loader = data.DataLoader(dataset, batch_size=4, shuffle=True)
    assert sorted(int(n) for batch in loader for n in batch["n"]) == list(range(10))
    stream = fastrec.torch.IterableDataset(f"{url}/t-*", features, batch_size=4, shuffle="blocks")
    loaded = data.DataLoader(stream, batch_size=None)
    assert sorted(int(n) for batch in loaded for n in batch["n"]) == list(range(10))


def test_sets_of_tfds_are_read_where_they_live(memory: Any, tmp_path: Path) -> None:
    import fastrec.tfds
    from fastrec.tfds import features

    examples = [{"x": [i, -i], "label": i % 2} for i in range(20)]
    described = {"x": features.Tensor((2,)), "label": features.ClassLabel(names=["even", "odd"])}
    local = fastrec.tfds.write(tmp_path, "numbers", {"train": examples}, described, shard_bytes=300)
    for path in Path(local).iterdir():
        memory.put(f"numbers/1.0.0/{path.name}", path.read_bytes())
    there = fastrec.tfds.load(f"{memory.url}/numbers/1.0.0", "train")
    assert there.info.features["label"].names == ["even", "odd"]
    assert [row["x"].tolist() for row in there] == [row["x"] for row in examples]
    assert there[7]["x"].tolist() == [7, -7]
    found = [batch["label"].tolist() for batch in there.batches(10)]
    assert found == [[0, 1] * 5] * 2
    with pytest.raises(FileNotFoundError):
        fastrec.tfds.load(f"{memory.url}/numbers/2.0.0", "train")


def test_ranges_of_urls_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="filesystem"):
        fastrec.file_ranges(f"{url}/t-*")
