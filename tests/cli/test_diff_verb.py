# SPDX-License-Identifier: Apache-2.0
"""`fastrec diff`: which records and features differ, whatever their encoding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from commands import Captured, objects, printed
from verbs import write

import fastrec
from fastrec import cli
from fastrec.cli import diff


def test_diff_of_the_same_records_is_0(pets: Path, capsys: Captured) -> None:
    assert printed(capsys, "diff", "pets.tfrecord", "train-*") == [
        "60 records the same; 0 different, 0 only in A, 0 only in B"
    ]


def test_diff_names_the_features_that_differ(pets: Path, capsys: Captured) -> None:
    found = objects(capsys, "diff", "--json", "--key", "id", "pets.tfrecord", "changed.tfrecord",
                    status=1)  # fmt: skip
    assert found[:2] == [
        {
            "a": ["pets.tfrecord", 20],
            "b": ["changed.tfrecord", 37],
            "features": {"name": [["Ada"], ["Kiro"]]},
        },
        {
            "a": ["pets.tfrecord", 3],
            "b": ["changed.tfrecord", 54],
            "features": {"label": [[0], [2]]},
        },
    ]
    assert found[-1] == {"same": 56, "same_values": 0, "only_a": 2, "only_b": 0, "different": 2}
    [last] = objects(capsys, "diff", "--json", "-n", 0, "--unordered", "pets.tfrecord",
                     "changed.tfrecord", status=1)  # fmt: skip
    assert (last["same"], last["only_a"], last["only_b"]) == (56, 4, 2)
    lines = printed(capsys, "diff", "pets.tfrecord", "changed.tfrecord", status=1)
    assert lines[-1].startswith("0 records the same; 58 different, 2 only in A")


def test_another_encoding_of_the_same_values_is_no_difference(
    tmp_path: Path, capsys: Captured
) -> None:
    one = fastrec.encode_example({"a": 1, "b": 2})
    entries = [fastrec.encode_example({name: value})[2:] for name, value in (("b", 2), ("a", 1))]
    body = b"".join(entries)
    other = b"\x0a" + bytes([len(body)]) + body
    assert one != other
    a, b = (write(tmp_path / name, [record]) for name, record in (("a", one), ("b", other)))
    assert "1 with the same values in another encoding" in printed(capsys, "diff", a, b)[0]
    assert printed(capsys, "diff", "--bytes", a, b, status=1)[0].endswith(
        "the same values, other bytes"
    )


def test_a_key_that_is_missing_or_there_twice_is_an_error(pets: Path, capsys: Captured) -> None:
    for key, text in (("tags", "has no feature 'tags'"), ("label", "two records of A have")):
        assert cli.main(["diff", "--key", key, "pets.tfrecord", "pets.tfrecord"]) == 2
        assert text in capsys.readouterr().err


def test_values_that_look_the_same_in_brief_say_where_they_differ() -> None:
    from fastrec.cli.select import Found

    a, b = np.zeros(100, np.float32), np.zeros(100, np.float32)
    b[50] = 1
    one, other = (Found("x", 0, b"", {"v": each}) for each in (a, b))
    assert diff._first_difference(one, other, "v") == " (from value 50 on)"
