# SPDX-License-Identifier: Apache-2.0
"""Split syntax: the records that TFDS reads for it (tests/tools/write_tfds.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fastrec.tfds import (
    Part,
    ReadInstruction,
    SplitInfo,
    Splits,
    even_splits,
    split_for_jax_process,
)

GOLDEN = json.loads((Path(__file__).parents[1] / "data" / "tfds" / "splits.json").read_text())


def splits_of(sizes: dict[str, list[int]]) -> Splits:
    return Splits(
        [
            SplitInfo(
                name,
                tuple(f"d-{name}.tfrecord-{i:05d}-of-{len(n):05d}" for i in range(len(n))),
                tuple(n),
            )
            for name, n in sizes.items()
        ]
    )


def found(splits: Splits, text: str, n: int, k: int, drop: bool) -> Any:
    try:
        part: str | Part = even_splits(text, n, drop_remainder=drop)[k] if n else text
        return [[span.path, span.skip, span.take] for span in splits.spans(part)]
    except ValueError:
        return None


def test_boundaries_are_those_of_tfds() -> None:
    splits = splits_of(GOLDEN["sizes"])
    answered = 0
    for text, n, k, drop, theirs in GOLDEN["cases"]:
        assert found(splits, text, n, k, drop) == theirs, (text, n, k, drop)
        answered += theirs is not None
    assert answered > 1000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("valid", "split must be one of .'train', 'test'., got 'valid'"),
        ("train[:200]", "split 'train' has 100 records, and records from 0 to 200 are asked for"),
        ("train[:101%]", "per cent must be from -100 to 100, got 101"),
        ("train[5]", "only a shard is named by its number alone"),
        ("all[:5]", "split 'all' cannot be sliced"),
        ("train[50:10]", "record 50 is behind record 10"),
        ("train[1:2:3]", "a split must be as"),
        ("train[:]", "a split must be as"),
        ("train[a:b]", "a split must be as"),
        ("train[1.5:3]", "a split must be as"),
        ("train[1.2.3%:]", "a split must be as"),
        ("", "a split must be as"),
        ("train+", "a split must be as"),
    ],
)
def test_what_is_no_split_is_refused(text: str, message: str) -> None:
    splits = splits_of({"train": [60, 40], "test": [7]})
    with pytest.raises(ValueError, match=message):
        splits.spans(text)


def test_parts_are_joined() -> None:
    splits = splits_of({"train": [60, 40], "test": [7]})
    part = ReadInstruction("train", to=10, unit="%") + "test[:2]"
    assert splits.resolve(part) == [("train", 0, 10), ("test", 0, 2)]
    assert splits.resolve("test[:2]" + ReadInstruction("train", -5)) == [
        ("test", 0, 2),
        ("train", 95, 100),
    ]
    assert splits["train[:55]+test"].shard_lengths == (55, 7)
    assert splits["all"].num_examples == 107


def test_whole_per_cent_leave_out_the_remainder() -> None:
    splits = splits_of({"train": [250], "few": [99]})
    one = ReadInstruction("train", 0, 1, "%", "pct1_dropremainder")
    all_of_it = ReadInstruction("train", 0, 100, "%", "pct1_dropremainder")
    assert splits.resolve(one) == [("train", 0, 2)]
    assert splits.resolve(all_of_it) == [("train", 0, 200)]
    with pytest.raises(ValueError, match="requires at least 100 records, got 99"):
        splits.resolve(ReadInstruction("few", 0, 1, "%", "pct1_dropremainder"))
    with pytest.raises(ValueError, match="rounding must be"):
        ReadInstruction("train", rounding="up")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unit must be"):
        ReadInstruction("train", unit="kg")  # type: ignore[arg-type]


def test_parts_of_processes() -> None:
    splits = splits_of({"train": [7, 4]})
    parts = [
        split_for_jax_process("train", process_index=index, process_count=3) for index in range(3)
    ]
    assert [splits.resolve(part)[0][1:] for part in parts] == [(0, 4), (4, 8), (8, 11)]
    with pytest.raises(ValueError, match="process_index must be at most 2"):
        split_for_jax_process("train", process_index=3, process_count=3)
    with pytest.raises(ValueError, match="n must be at least 1"):
        even_splits("train", 0)
