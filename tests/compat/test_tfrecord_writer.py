# SPDX-License-Identifier: Apache-2.0
"""Writing, indexing, iterators and datasets of ``fastrec.compat.tfrecord``."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
import fastrec.compat.tfrecord as tfrecord
from fastrec.train import Example


def features(datum: Any) -> dict[str, Any]:
    message = Example.FromString(tfrecord.TFRecordWriter.serialize_tf_example(datum))
    return {
        key: (kind, list(getattr(feature, kind).value))
        for key, feature in message.features.feature.items()
        if (kind := feature.WhichOneof("kind"))
    }


def test_values_and_their_types_become_features() -> None:
    datum = {
        "one": (1, "int"),
        "many": (np.arange(3, dtype=np.uint8), "int"),
        "none": ([], "int"),
        "float": ((1, 2.5), "float"),
        "huge": (1e300, "float"),
        "bytes": (b"a", "byte"),
        "several": ([b"a", b""], "byte"),
    }
    assert features(datum) == {
        "one": ("int64_list", [1]),
        "many": ("int64_list", [0, 1, 2]),
        "none": ("int64_list", []),
        "float": ("float_list", [1.0, 2.5]),
        "huge": ("float_list", [float("inf")]),
        "bytes": ("bytes_list", [b"a"]),
        "several": ("bytes_list", [b"a", b""]),
    }


@pytest.mark.parametrize(
    ("value", "dtype", "error"),
    [
        (1.5, "int", TypeError),
        (b"a", "int", TypeError),
        ("text", "byte", TypeError),
        (b"a", "float", TypeError),
        (2**70, "int", ValueError),
        (2**63, "int", ValueError),
        (1, "long", KeyError),
    ],
)
def test_values_of_another_type_are_refused(value: Any, dtype: str, error: Any) -> None:
    with pytest.raises(error):
        tfrecord.TFRecordWriter.serialize_tf_example({"x": (value, dtype)})


def test_checksums_are_masked_and_little_endian() -> None:
    assert tfrecord.TFRecordWriter.masked_crc(b"a").hex() == "786ee428"


def write(path: Path, count: int) -> str:
    with tfrecord.TFRecordWriter(path) as writer:
        for i in range(count):
            writer.write({"id": (i, "int")})
    return str(path)


def test_an_index_has_a_line_for_each_record(tmp_path: Path) -> None:
    path = write(tmp_path / "x.tfrecord", 3)
    tfrecord.tools.tfrecord2idx.create_indices(str(tmp_path))
    lines = (tmp_path / "x.tfindex").read_text().splitlines()
    sizes = [len(record) + 16 for record in fastrec.Reader(path)]
    assert lines == [f"{sum(sizes[:i])} {size}" for i, size in enumerate(sizes)]


def run(*arguments: str) -> Any:
    command = [sys.executable, "-m", "fastrec.compat.tfrecord.tools.tfrecord2idx", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_the_command_line_makes_indexes(tmp_path: Path) -> None:
    path = write(tmp_path / "x.tfrecord", 3)
    assert run(path, str(tmp_path / "i")).returncode == 0
    assert run(str(tmp_path)).returncode == 0
    assert (tmp_path / "i").read_text() == (tmp_path / "x.tfindex").read_text()
    assert "Usage" in run().stdout


def test_no_index_is_made_of_a_file_that_is_cut_off(tmp_path: Path) -> None:
    path = write(tmp_path / "x.tfrecord", 3)
    os.truncate(path, os.path.getsize(path) - 1)
    done = run(path, str(tmp_path / "i"))
    assert done.returncode == 1
    assert "Failed to parse TFRecord." in done.stderr
    assert not (tmp_path / "i").exists()


def test_a_shuffle_has_every_element_once_and_warns_when_it_is_short() -> None:
    np.random.seed(3)  # noqa: NPY002
    shuffled = list(tfrecord.shuffle_iterator(iter(range(100)), 10))
    assert shuffled != list(range(100))
    assert sorted(shuffled) == list(range(100))
    with pytest.warns(UserWarning, match="less than the queue size"):
        assert list(tfrecord.shuffle_iterator(iter([1]), 2)) == [1]


def test_a_cycle_of_nothing_ends() -> None:
    assert list(tfrecord.cycle(lambda: iter(()))) == []


class Worker(types.SimpleNamespace):
    """Worker information as PyTorch gives it."""


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """PyTorch, or what the datasets use of it."""
    fake, utils, data = (types.ModuleType(n) for n in ("torch", "torch.utils", "torch.utils.data"))
    data.IterableDataset = type("IterableDataset", (), {})  # type: ignore[attr-defined]
    data.get_worker_info = lambda: None  # type: ignore[attr-defined]
    fake.utils, utils.data = utils, data  # type: ignore[attr-defined]
    for module in (fake, utils, data):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    prefix = "fastrec.compat.tfrecord.torch"
    for name in (prefix, prefix + ".dataset"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield data
    for name in (prefix, prefix + ".dataset"):
        sys.modules.pop(name, None)
    vars(tfrecord).pop("torch", None)


def ids(rows: Any) -> list[int]:
    return [int(row["id"][0]) for row in rows]


def test_a_data_set_of_pytorch_iterates_and_transforms(tmp_path: Path, torch: Any) -> None:
    path = write(tmp_path / "x.tfrecord", 20)
    module = importlib.import_module("fastrec.compat.tfrecord.torch")
    dataset = module.TFRecordDataset(path, None, {"id": "int"})
    assert isinstance(dataset, torch.IterableDataset)
    assert ids(dataset) == ids(dataset) == list(range(20))
    dataset = module.TFRecordDataset(path, None, ["id"], shuffle_queue_size=5, transform=len)
    assert list(dataset) == [1] * 20


def test_workers_read_a_part_each(tmp_path: Path, torch: Any) -> None:
    path = write(tmp_path / "x.tfrecord", 20)
    module = importlib.import_module("fastrec.compat.tfrecord.torch")
    found = []
    for which in range(3):
        torch.get_worker_info = lambda which=which: Worker(id=which, num_workers=3, seed=2**40)
        found += ids(module.TFRecordDataset(path, None))
    assert found == list(range(20))


def test_a_data_set_of_several_files(tmp_path: Path, torch: Any) -> None:
    for name in "ab":
        write(tmp_path / f"{name}.tfrecord", 4)
    module = importlib.import_module("fastrec.compat.tfrecord.torch")
    pattern = str(tmp_path / "{}.tfrecord")
    dataset = module.MultiTFRecordDataset(pattern, None, {"a": 0.5, "b": 0.5}, infinite=False)
    assert sorted(ids(dataset)) == [0, 0, 1, 1, 2, 2, 3, 3]
