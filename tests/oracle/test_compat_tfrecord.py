# SPDX-License-Identifier: Apache-2.0
"""The same programs under the ``tfrecord`` package and under ours."""

from __future__ import annotations

import filecmp
import gc
import gzip
import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec.compat.tfrecord as ours

# The package leaves files open.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    theirs = pytest.importorskip("tfrecord")

DATA = [
    {
        "id": (i, "int"),
        "many": (list(range(i % 5)), "int"),
        "x": ([i / 7, -1.5], "float"),
        "name": (b"%d" % i, "byte"),
        "names": ([b"a" * i, b"b"], "byte"),
    }
    for i in range(300)
]
STEPS = {"tokens": ([[1, 2], [3], [4, 5, 6]], "int"), "words": ([b"x", b"y"], "byte")}
DESCRIPTIONS: list[Any] = [None, ["id", "name"], {"x": "float", "many": "int", "names": "byte"}]


@pytest.fixture(autouse=True)
def _collect() -> Iterator[None]:
    yield
    gc.collect()


def write(package: Any, path: Path, sequences: bool = False) -> str:
    writer = package.TFRecordWriter(str(path))
    for datum in DATA:
        if sequences:
            writer.write(datum, STEPS)
        else:
            writer.write(datum)
    writer.close()
    return str(path)


def plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.tolist()
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def same(loaded: Any, expected: Any) -> None:
    for one, other in itertools.zip_longest(loaded, expected):
        assert plain(one) == plain(other)


@pytest.mark.parametrize("description", DESCRIPTIONS)
@pytest.mark.parametrize("writer", [ours, theirs])
def test_examples(tmp_path: Path, writer: Any, description: Any) -> None:
    path = write(writer, tmp_path / "x.tfrecord")
    same(*(p.tfrecord_loader(path, None, description) for p in (ours, theirs)))


@pytest.mark.parametrize("writer", [ours, theirs])
def test_sequences(tmp_path: Path, writer: Any) -> None:
    path = write(writer, tmp_path / "x.tfrecord", sequences=True)
    for lists in ([], ["words"], {"tokens": "int"}):
        same(*(p.tfrecord_loader(path, None, ["id"], None, lists) for p in (ours, theirs)))


def test_indexes_and_shards(tmp_path: Path) -> None:
    path = write(theirs, tmp_path / "x.tfrecord")
    ours.tools.create_index(path, path + ".ours")
    theirs.tools.create_index(path, path + ".theirs")
    assert filecmp.cmp(path + ".ours", path + ".theirs", shallow=False)
    for count in (1, 4, 7):
        for which in range(count):
            same(
                *(
                    p.tfrecord_loader(path, path + ".ours", None, (which, count))
                    for p in (ours, theirs)
                )
            )


def test_the_last_shard_of_a_gzip_file_reads_to_the_end(tmp_path: Path) -> None:
    path = write(theirs, tmp_path / "x.tfrecord")
    theirs.tools.create_index(path, path + ".idx")
    index, zipped = Path(path + ".idx"), path + ".gz"
    Path(zipped).write_bytes(gzip.compress(Path(path).read_bytes()))
    index.write_text("".join(index.read_text().splitlines(keepends=True)[:4]))
    for which in range(2):
        arguments = (zipped, str(index), None, (which, 2), None, "gzip")
        same(*(p.tfrecord_loader(*arguments) for p in (ours, theirs)))


def drawn(package: Any, pattern: str, infinite: bool) -> list[Any]:
    np.random.seed(11)  # noqa: NPY002
    rows = package.multi_tfrecord_loader(pattern, None, {"a": 0.3, "b": 0.7}, infinite=infinite)
    return list(itertools.islice(package.shuffle_iterator(rows, 32), 1000))


@pytest.mark.parametrize("infinite", [True, False])
def test_the_same_seed_draws_the_same_records(tmp_path: Path, infinite: bool) -> None:
    for name in "ab":
        write(ours, tmp_path / f"{name}.tfrecord")
    pattern = str(tmp_path / "{}.tfrecord")
    same(*(drawn(package, pattern, infinite) for package in (ours, theirs)))


@pytest.mark.parametrize(
    "description", [{"id": "float"}, {"name": "int"}, ["nothing"]], ids=["float", "int", "missing"]
)
def test_errors(tmp_path: Path, description: Any) -> None:
    path = write(ours, tmp_path / "x.tfrecord")
    errors = []
    for package in (ours, theirs):
        with pytest.raises((TypeError, KeyError)) as caught:
            next(iter(package.tfrecord_loader(path, None, description)))
        errors.append((type(caught.value), str(caught.value).partition("(select")[0]))
    assert errors[0] == errors[1]
