# SPDX-License-Identifier: Apache-2.0
"""Files of comma-separated values under TensorFlow and both modules."""

from __future__ import annotations

import gzip
import random
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as ours1
import fastrec.compat.v2 as ours

FILES = 200


def plain(part: Any) -> Any:
    value = part.numpy()
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def walked(tf: Any, dataset: Any) -> list[Any]:
    """The rows, with the messages of errors in their places."""
    found: list[Any] = []
    rows = iter(dataset)
    while len(found) < 100:
        try:
            row = next(rows)
        except StopIteration:
            return found
        except tf.errors.OpError as error:
            found.append(re.sub(r"^\{\{.*?\}\} *| \[Op:.*", "", error.message))
        else:
            found.append([[part.dtype.name, plain(part)] for part in row])
    raise AssertionError("a file without an end")


def both_ways(tf: Any, make: Any) -> None:
    expected = walked(tf, make(tf))
    for fast in (True, False):
        before = ours.data.set_lowering(fast)
        try:
            assert walked(ours, make(ours)) == expected, fast
        finally:
            ours.data.set_lowering(before)


@pytest.mark.parametrize("seed", range(FILES))
def test_rows_of_random_text(tf: Any, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    letters = draw.choice(["a1,\n", "12,\n.- e", 'a",\n', 'a",\n\r', '1",\r\n '])
    text = "".join(draw.choices(letters, k=draw.randint(0, 60)))
    path = tmp_path / "rows.csv"
    path.write_bytes(text.encode())
    width = draw.randint(1, 3)
    kinds = [[""], ["-"], [7], "int64", [0.5], "float64"]
    defaults: list[Any] = [draw.choice(kinds) for _ in range(width)]
    if draw.random() < 0.2:
        defaults[0] = []
    options: dict[str, Any] = {"header": draw.random() < 0.2 and bool(text)}
    options["use_quote_delim"] = draw.random() < 0.8
    if draw.random() < 0.3:
        options["select_cols"] = sorted(draw.sample(range(4), width))
    elif draw.random() < 0.2:
        options["exclude_cols"] = [draw.randint(0, 2)]
    if draw.random() < 0.2:
        options["na_value"] = "a"

    def make(tf: Any) -> Any:
        given: list[Any] = [
            tf.constant([8], each) if each in ("int64", "float64") else each for each in defaults
        ]
        return tf.data.experimental.CsvDataset([str(path), str(path)], given, **options)

    both_ways(tf, make)


def test_many_rows_of_a_large_file(tf: Any, tmp_path: Path) -> None:
    draw = random.Random(1)
    rows = [f'{n},{n / 7},"a ""{n}"" b",x{n}\n' if draw.random() < 0.3 else f"{n},{n / 3},,y\n"
            for n in range(20_000)]  # fmt: skip
    path = tmp_path / "rows.csv"
    path.write_text("".join(rows))
    names = [str(path), *(str(tmp_path / f"rows.{kind}") for kind in ("GZIP", "ZLIB"))]
    Path(names[1]).write_bytes(gzip.compress(path.read_bytes()))
    Path(names[2]).write_bytes(zlib.compress(path.read_bytes()))
    for name, kind in zip(names, (None, "GZIP", "ZLIB"), strict=True):
        found = [
            [plain(part) for part in batch]
            for module in (tf, ours)
            for batch in module.data.experimental.CsvDataset(
                name, [0, 0.0, "", "z"], compression_type=kind
            ).batch(30_000)
        ]
        assert found[0] == found[1]


@pytest.mark.parametrize(
    "options",
    [
        {"shuffle": False},
        {"shuffle_seed": 4},
        {"shuffle_seed": 4, "label_name": "b", "num_epochs": 3, "num_parallel_reads": 2},
        {"shuffle": False, "select_columns": ["c", "a"], "na_value": "2"},
        {"shuffle": False, "column_defaults": [0.5, "?", 0], "ignore_errors": True},
        {"shuffle": False, "column_names": ["x", "y", "z"], "label_name": "y"},
    ],
)
def test_batches_of_features(tf: Any, tmp_path: Path, options: dict[str, Any]) -> None:
    for number in range(3):
        rows = [f"{n},{n}.5,t{n}" for n in range(number, 9 + number)]
        (tmp_path / f"{number}.csv").write_text("a,b,c\n" + "\n".join([*rows, ",,"]))

    def batches(tf: Any) -> list[Any]:
        tf.random.set_seed(1)
        dataset = tf.data.experimental.make_csv_dataset(
            str(tmp_path / "*.csv"), 4, **{"num_epochs": 2, **options}
        )
        found = [repr(dataset.element_spec).replace("OrderedDict", "")]
        for batch in dataset:
            parts = batch if isinstance(batch, tuple) else (batch,)
            found += [
                {key: plain(part) for key, part in each.items()}
                if isinstance(each, dict)
                else plain(each)
                for each in parts
            ]
        return found

    assert batches(ours)[1:] == batches(tf)[1:]


def test_rows_in_a_graph(tf: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,x\n2,y\n3,z\n")

    def run(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            name = tf.placeholder(tf.string, [])
            rows = tf.data.experimental.CsvDataset(name, [0, ""], header=True)
            iterator = rows.map(lambda n, t: (n + 1, t)).batch(2).make_initializable_iterator()
            following = iterator.get_next()
            session.run(iterator.initializer, {name: str(path)})
            found = [[part.tolist() for part in session.run(following)] for _ in range(2)]
            named = tf.data.experimental.make_csv_dataset(
                str(path), 3, num_epochs=1, shuffle=False, label_name="a"
            )
            features, label = session.run(named.make_one_shot_iterator().get_next())
            return found, features["b"].tolist(), label.tolist()

    assert run(ours1) == run(tf.compat.v1)
