# SPDX-License-Identifier: Apache-2.0
"""``cache(filename)``: files that appear whole, are read again, or are refused."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as v1
import fastrec.compat.v2 as tf


def counted(calls: list[int], count: int = 7) -> Any:
    def note(number: Any) -> Any:
        calls.append(int(number))
        return np.int64(number) * 3, str(number).encode()

    numbers = tf.data.Dataset.range(count)
    return numbers.map(lambda x: tf.numpy_function(note, [x], [tf.int64, tf.string]))


def values(dataset: Any) -> list[Any]:
    return [tuple(part.numpy() for part in each) for each in dataset]


EXPECTED = [(3 * number, str(number).encode()) for number in range(7)]


def test_a_cache_in_files_is_made_once(tmp_path: Path) -> None:
    calls: list[int] = []
    name = str(tmp_path / "elements")
    for _ in range(2):
        dataset = counted(calls).cache(name)
        assert values(dataset) == values(dataset) == EXPECTED
    assert calls == list(range(7))
    assert [each.name for each in tmp_path.iterdir()] == ["elements.cache"]


def test_a_pass_that_ends_early_leaves_nothing(tmp_path: Path) -> None:
    calls: list[int] = []
    dataset = counted(calls).cache(tmp_path / "elements")
    iterator = iter(dataset)
    next(iterator), next(iterator)
    del iterator
    gc.collect()
    assert list((tmp_path / "elements.cache").iterdir()) == []
    assert values(dataset) == EXPECTED
    # The last element is enough; the end need not be asked for.
    calls.clear()
    iterator = iter(counted(calls).cache(tmp_path / "others"))
    for _ in range(7):
        next(iterator)
    assert values(counted(calls).cache(tmp_path / "others")) == EXPECTED
    assert calls == list(range(7))


def test_a_process_that_is_killed_leaves_what_is_made_anew(tmp_path: Path) -> None:
    code = f"""
import os
import fastrec.compat.v2 as tf
it = iter(tf.data.Dataset.range(7).map(lambda x: (x * 3, tf.strings.as_string(x)))
          .cache({str(tmp_path / "elements")!r}))
next(it); next(it)
os._exit(1)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=False)
    assert values(counted([]).cache(tmp_path / "elements")) == EXPECTED


def test_two_passes_at_a_time(tmp_path: Path) -> None:
    first, second = (iter(counted([]).cache(tmp_path / "elements")) for _ in range(2))
    found = list(zip(first, second, strict=True))
    assert [tuple(part.numpy() for part in pair[0]) for pair in found] == EXPECTED
    assert values(counted([]).cache(tmp_path / "elements")) == EXPECTED


def test_what_is_of_other_elements_is_refused(tmp_path: Path) -> None:
    name = str(tmp_path / "elements")
    values(counted([]).cache(name))
    with pytest.raises(tf.errors.InvalidArgumentError, match="has elements of"):
        list(tf.data.Dataset.range(3).cache(name))


def test_damage_is_an_error(tmp_path: Path) -> None:
    dataset = counted([]).cache(tmp_path / "elements")
    values(dataset)
    (records,) = tmp_path.glob("*/*/*/*.snapshot")
    whole = records.read_bytes()
    for damaged in (whole[:-1], whole[:20], b"", whole[:30] + b"\xff" + whole[31:]):
        records.write_bytes(damaged)
        with pytest.raises(tf.errors.DataLossError):
            values(dataset)
    metadata = tmp_path / "elements.cache" / "snapshot.metadata"
    known = metadata.read_bytes()
    for end in range(len(known)):
        metadata.write_bytes(known[:end])
        records.write_bytes(whole)
        try:
            found = values(dataset)
        except tf.errors.OpError:
            continue
        assert found == EXPECTED


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a folder that is refused")
def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(tf.errors.PermissionDeniedError):
        values(counted([]).cache(tmp_path / "elements"))


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "elements.cache").write_bytes(b"")
    with pytest.raises(tf.errors.OpError, match=r"elements\.cache"):
        values(counted([]).cache(tmp_path / "elements"))


def test_elements_that_cannot_be_saved_stay_in_memory(tmp_path: Path) -> None:
    windows = tf.data.Dataset.range(4).window(2).cache(tmp_path / "elements")
    for _ in range(2):
        found = [[int(each) for each in window] for window in windows]
        assert found == [[0, 1], [2, 3]]
    assert list(tmp_path.iterdir()) == []


def test_a_graph_caches_in_files(tmp_path: Path) -> None:
    for _ in range(2):
        with v1.Graph().as_default(), v1.Session() as session:
            dataset = v1.data.Dataset.range(3).cache(str(tmp_path / "elements"))
            number = v1.data.make_one_shot_iterator(dataset).get_next()
            assert [session.run(number) for _ in range(3)] == [0, 1, 2]
            with pytest.raises(v1.errors.OutOfRangeError):
                session.run(number)
    assert (tmp_path / "elements.cache" / "snapshot.metadata").exists()


def test_a_snapshot_is_of_a_pipeline(tmp_path: Path) -> None:
    def pipeline(factor: int) -> Any:
        return tf.data.Dataset.range(5).map(lambda x: x * factor).snapshot(str(tmp_path))

    assert values_of(pipeline(2)) == values_of(pipeline(2)) == [0, 2, 4, 6, 8]
    (records,) = tmp_path.glob("*/*/*/*.snapshot")
    applied = tf.data.Dataset.range(5).map(lambda x: x * 3)
    applied = applied.apply(tf.data.experimental.snapshot(str(tmp_path)))
    assert values_of(applied) == [0, 3, 6, 9, 12]
    assert len(list(tmp_path.iterdir())) == 2
    records.write_bytes(records.read_bytes()[:-3])
    with pytest.raises(tf.errors.DataLossError):
        values_of(pipeline(2))


def values_of(dataset: Any) -> list[int]:
    return [int(each) for each in dataset]


SNAPSHOT = """
import sys
import numpy as np
import fastrec.compat.v2 as tf

table = np.arange(5) * int(sys.argv[2])
made = []

def look(x):
    print("made")
    return table[x]

dataset = tf.data.Dataset.range(5).shuffle(5, seed=1).map(
    lambda x: tf.numpy_function(look, [x], tf.int64)
)
print(sorted(int(x) for x in dataset.snapshot(sys.argv[1], compression="GZIP")))
"""


def test_another_process_finds_the_snapshot(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment["PYTHONHASHSEED"] = "random"

    def run(factor: int) -> list[str]:
        command = [sys.executable, "-c", SNAPSHOT, str(tmp_path), str(factor)]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        return done.stdout.split("\n")[:-1]

    assert run(2) == ["made"] * 5 + ["[0, 2, 4, 6, 8]"]
    assert run(2) == ["[0, 2, 4, 6, 8]"]
    assert run(3) == ["made"] * 5 + ["[0, 3, 6, 9, 12]"]


def test_shards_are_read_as_the_program_says(tmp_path: Path) -> None:
    def kept() -> Any:
        return tf.data.Dataset.range(9).snapshot(
            tmp_path, shard_func=lambda x: x % 3, reader_func=lambda ds: ds.flat_map(lambda x: x)
        )

    assert values_of(kept()) == list(range(9))
    assert values_of(kept()) == [0, 3, 6, 1, 4, 7, 2, 5, 8]


def test_what_has_no_description_stays_in_memory(tmp_path: Path) -> None:
    numbers = iter(range(5))
    dataset = tf.data.Dataset.from_generator(lambda: numbers, tf.int64, []).snapshot(tmp_path)
    assert values_of(dataset) == values_of(dataset) == list(range(5))
    assert list(tmp_path.iterdir()) == []
