# SPDX-License-Identifier: Apache-2.0
"""Subsets, weights, orders and splits of a Batcher, beside NumPy on the same columns."""

from __future__ import annotations

import contextlib
import itertools
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastrec
from fastrec.batches.selection import Selection

COUNT, FILES = 1000, 4
FEATURES = {"id": fastrec.FixedLenFeature((), np.int64)}
IDS = np.arange(COUNT)
LABELS = IDS * 7919 % 7
SCORES = (IDS * 104_729 % 997).astype(np.float32)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("selection")
    with fastrec.Writer(folder / "a.tfrecord", shards=FILES, index=True) as writer:
        for number in range(COUNT):
            writer.write(
                {
                    "id": number,
                    "label": int(LABELS[number]),
                    "score": float(SCORES[number]),
                    "name": b"even" if number % 2 == 0 else b"odd",
                    "tokens": [1] * (number % 5),
                }
            )
    return f"{folder}/a-*"


def numbers_of(source: str) -> np.ndarray[Any, Any]:
    """The ids in the order of the files."""
    return ids(source)


def ids(source: str, batch_size: int = 32, **options: Any) -> np.ndarray[Any, Any]:
    batcher = fastrec.Batcher(source, FEATURES, batch_size, **options)
    return np.concatenate([batch["id"] for batch in batcher])


CONDITIONS = {
    "label in (1, 2)": np.isin(LABELS, (1, 2)),
    "score > 500 and not label == 3": (SCORES > 500) & (LABELS != 3),
    "name == 'even' or len(tokens) > 3": (IDS % 2 == 0) | (IDS % 5 > 3),
    "size(name) == 3": IDS % 2 == 1,
}


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("shuffle", [False, True, "blocks", 50])
def test_where_leaves_the_records_for_which_the_condition_holds(
    source: str, condition: str, shuffle: Any
) -> None:
    found = ids(source, where=condition, shuffle=shuffle, seed=3)
    assert sorted(found.tolist()) == IDS[CONDITIONS[condition]].tolist()
    if not shuffle:
        assert found.tolist() == [i for i in ids(source).tolist() if CONDITIONS[condition][i]]


def test_columns_beside_the_files_give_the_same_records(source: str, tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        writer.write_many(list(fastrec.Reader(source)))
    path = str(tmp_path / "a.tfrecord")
    before = ids(path, where="label == 3")
    fastrec.Index.build(path, columns="label").save()
    assert ids(path, where="label == 3").tolist() == before.tolist()
    with pytest.raises(fastrec.IndexMismatchError, match=r"columns score.*--columns 'label,score'"):
        ids(path, where="score > 3")


@pytest.mark.parametrize(
    "options",
    [
        {"where": "label in (1, 2)"},
        {"where": "label in (1, 2)", "shuffle": True},
        {"where": "label != 0", "shuffle": "blocks"},
        {"balance": "label"},
        {"weights": "score"},
        {"order": "-score"},
        {"split": ("train", {"train": 0.8, "val": 0.2}), "shuffle": True},
        {"where": "score > 9", "interleave": 3},
    ],
    ids=repr,
)
def test_global_batches_are_the_same_for_any_number_of_shards(
    source: str, options: dict[str, Any]
) -> None:
    whole = 96

    def global_batches(shards: int) -> list[list[int]]:
        parts = [
            list(
                fastrec.Batcher(
                    source,
                    FEATURES,
                    whole // shards,
                    seed=5,
                    shard=(shard, shards),
                    uneven="drop",
                    drop_remainder=True,
                    **options,
                )
            )
            for shard in range(shards)
        ]
        return [
            sorted(np.concatenate([batch["id"] for batch in step]).tolist())
            for step in zip(*parts, strict=True)
        ]

    expected = global_batches(1)
    assert len(expected) > 1
    for shards in (2, 3, 4, 8):
        assert global_batches(shards) == expected


@pytest.mark.parametrize(
    "options",
    [
        {"where": "label > 2"},
        {"balance": "name"},
        {"balance": ("name", {"even": 3, "odd": 1})},
        {"weights": np.arange(COUNT)},
        {"split": ("train", {"train": 0.8, "val": 0.2})},
        {"split": fastrec.Split(1, 3, by="score")},
    ],
    ids=repr,
)
def test_a_run_resumes_exactly(source: str, options: dict[str, Any]) -> None:
    def batcher() -> fastrec.Batcher:
        return fastrec.Batcher(source, FEATURES, 16, shuffle=True, seed=1, **options)

    batches = iter(batcher())
    for _ in range(5):
        next(batches)
    state = json.loads(json.dumps(batches.state_dict()))
    rest = [batch["id"].tolist() for batch in batches]
    resumed = batcher()
    resumed.load_state_dict(state)
    assert [batch["id"].tolist() for batch in resumed] == rest


def test_a_state_of_another_selection_is_refused(source: str) -> None:
    batches = iter(fastrec.Batcher(source, FEATURES, 16, where="label > 2"))
    next(batches)
    other = fastrec.Batcher(source, FEATURES, 16, where="label > 3")
    with pytest.raises(fastrec.FastrecError, match="selection"):
        other.load_state_dict(batches.state_dict())


def chi_square(observed: Any, expected: Any) -> float:
    observed, expected = np.asarray(observed, float), np.asarray(expected, float)
    return float((((observed - expected) ** 2) / expected).sum())


def test_balance_draws_each_value_equally_often(source: str) -> None:
    found = ids(source, balance="label", seed=2, epochs=20)
    counts = np.bincount(LABELS[found], minlength=7)
    assert len(found) == 20 * COUNT
    assert chi_square(counts, np.full(7, len(found) / 7)) < 22.5  # p = 0.001, 6 degrees


def test_balance_takes_shares_and_leaves_out_nothing_else(source: str) -> None:
    found = ids(source, balance=("name", {"even": 3, "odd": 1}), seed=2, epochs=20)
    even = int((found % 2 == 0).sum())
    assert chi_square([even, len(found) - even], [len(found) * 0.75, len(found) * 0.25]) < 10.9


def test_weights_draw_records_in_proportion(source: str) -> None:
    weights = np.arange(COUNT) % 3  # of the records in file order
    found = ids(source, weights=weights, seed=2, epochs=60)
    order = numbers_of(source)
    counts = np.bincount(found, minlength=COUNT)[order]
    assert not counts[weights == 0].any()
    expected = weights / weights.sum() * len(found)
    chosen = weights > 0
    assert chi_square(counts[chosen], expected[chosen]) < chosen.sum() + 5 * np.sqrt(
        2 * chosen.sum()
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": "x"}, "seed must be an int"),
        ({"seed": None}, "seed must be an int"),
        ({"by": 3}, "by must be a str or None"),
        ({"complement": "yes"}, "complement"),
        ({"part": "x"}, "part must be an int"),
    ],
    ids=repr,
)
def test_wrong_parts_of_a_split_say_what_is_wrong(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        fastrec.Split(**{"part": 0, "parts": 3, **arguments})


def test_a_split_takes_numbers_of_numpy() -> None:
    assert fastrec.Split(np.int64(1), 3).part == 1  # type: ignore[arg-type]


def test_a_descending_order_keeps_records_of_one_value_in_file_order(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    values = [5, -(2**63), 2**63 - 1, 5, 5]
    with fastrec.Writer(path) as writer:
        writer.write_batch({"id": np.arange(5), "x": np.array(values)})
    assert ids(str(path), order="-x").tolist() == [2, 0, 3, 4, 1]
    assert ids(str(path), order="x").tolist() == [1, 0, 3, 4, 2]


def test_epochs_and_seeds_draw_differently(source: str) -> None:
    batcher = fastrec.Batcher(source, FEATURES, COUNT, balance="label", seed=2)
    first, second = (next(iter(batcher))["id"].tolist() for _ in range(2))
    assert first != second
    assert first == ids(source, COUNT, balance="label", seed=2).tolist()
    assert first != ids(source, COUNT, balance="label", seed=3).tolist()


def test_order_reads_from_the_lowest_to_the_highest_value(source: str) -> None:
    assert (np.diff(SCORES[ids(source, order="score")]) >= 0).all()
    assert (np.diff(SCORES[ids(source, order="-score")]) <= 0).all()
    names = ids(source, order="name") % 2
    assert (np.diff(names) >= 0).all()


@pytest.mark.parametrize("by", [None, "label", "name", "score"])
def test_parts_of_a_split_are_disjoint_and_cover_everything(source: str, by: str | None) -> None:
    parts = {"train": 0.7, "val": 0.2, "test": 0.1}
    found = []
    for part in parts:
        # With few different values a part can be empty, which is an error.
        with contextlib.suppress(fastrec.FastrecError):
            found.append(ids(source, split=fastrec.Split(part, parts, by=by)).tolist())
    assert sorted(itertools.chain(*found)) == IDS.tolist()
    if by == "label":
        labels = [set(LABELS[part]) for part in found]
        assert sum(map(len, labels)) == 7


def test_folds_and_their_complements_cover_everything(source: str) -> None:
    for fold in range(5):
        held_out = ids(source, split=(fold, 5)).tolist()
        rest = ids(source, split=fastrec.Split(fold, 5, complement=True)).tolist()
        assert sorted(held_out + rest) == IDS.tolist()
        assert 100 < len(held_out) < 300


def test_the_parts_of_a_split_stay_when_files_are_added(source: str) -> None:
    paths = fastrec.Reader(source).paths
    split = ("val", {"train": 0.8, "val": 0.2})
    few, all_files = ids(paths[:2], split=split), ids(paths, split=split)  # type: ignore[arg-type]
    mine = set(ids(paths[:2]).tolist())  # type: ignore[arg-type]
    assert few.tolist() == [number for number in all_files.tolist() if number in mine]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"where": "lable == 3"}, "has the feature 'lable'; similar names: 'label'"),
        ({"where": "label == 99"}, r"^where='label == 99' must leave a record, got none of 1000$"),
        ({"where": "label =="}, "column 9"),
        ({"where": "label == 'x'"}, "holds numbers: compare with a value without quotes"),
        ({"where": 3}, "where must be a str"),
        ({"weights": "score", "balance": "label"}, "mutually exclusive"),
        ({"weights": "name"}, "weights must be numbers, got the strings of name"),
        ({"weights": np.zeros(COUNT)}, "finite sum above 0"),
        ({"weights": -np.ones(COUNT)}, "finite and at least 0, got -1"),
        ({"weights": np.full(COUNT, np.nan)}, "finite and at least 0"),
        ({"weights": np.ones(3)}, r"one number per record, shape \(1000,\), got \(3,\)"),
        ({"weights": ("label", {1: 2.0})}, "a number for each value of label, got none for"),
        ({"balance": "label", "shuffle": "blocks"}, "leave out shuffle"),
        ({"order": "label,score"}, "one column was expected"),
        ({"split": ("x", {"train": 1.0})}, "part must be one of"),
        ({"split": ("train", {"train": 0.5})}, "add up to 1"),
        ({"split": (5, 5)}, "part must be at most 4, got 5"),
        ({"split": "train"}, "split must be a Split"),
        ({"weights": {"a": 1}}, "weights must be a column, .* or a vector of numbers, got"),
        ({"weights": ("label",)}, "weights must be a column"),
        ({"weights": ("label", "x")}, "weights must be a column"),
        ({"weights": [[1.0]]}, "weights must be a column"),
        ({"balance": ["label", {1: 2}]}, "balance must be a column"),
        ({"weights": "score", "interleave": 2}, "mutually exclusive"),
    ],
    ids=repr,
)
def test_wrong_options_say_what_is_wrong(
    source: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises((ValueError, TypeError, fastrec.FastrecError), match=message):
        list(fastrec.Batcher(source, FEATURES, 8, seed=0, **options))


def test_records_without_the_value_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        for row in ({"id": 1, "label": 1}, {"id": 2}, {"id": 3, "label": 2}):
            writer.write(row)
    with pytest.raises(fastrec.FastrecError, match="got 1 records without one; where='label'"):
        ids(str(path), balance="label", seed=0)
    assert set(ids(str(path), balance="label", where="label", seed=0).tolist()) <= {1, 3}
    assert ids(str(path), order="label").tolist() == [1, 3, 2]


def test_files_may_be_empty_or_lack_a_feature(tmp_path: Path) -> None:
    rows: list[list[dict[str, Any]]] = [[], [{"id": 1, "name": b"a"}], [{"id": 2}]]
    for number, part in enumerate(rows):
        with fastrec.Writer(tmp_path / f"{number}.tfrecord") as writer:
            for row in part:
                writer.write(row)
    assert ids(f"{tmp_path}/*", where="name == 'a'").tolist() == [1]
    assert ids(f"{tmp_path}/*", order="name").tolist() == [1, 2]


def test_a_batcher_that_selects_can_be_pickled(source: str) -> None:
    batcher = fastrec.Batcher(source, FEATURES, 8, where="label == 3 and name =~ '^e'")
    copy = pickle.loads(pickle.dumps(batcher))
    assert [b["id"].tolist() for b in copy] == [b["id"].tolist() for b in batcher]


def test_parts_of_a_split_may_be_numbers(source: str) -> None:
    assert len(ids(source, split=(0, {0: 0.5, 1: 0.5}))) > 300


def test_a_source_without_random_access_is_refused(source: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(b"")
    with (
        open(path, "rb") as file,
        pytest.raises(fastrec.RandomAccessError, match="where= requires"),
    ):
        fastrec.Batcher(file, FEATURES, 8, where="label == 3")


def test_reading_everything_for_a_column_is_announced(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fastrec.parsing.dataset_columns._WARN_BYTES", 0)
    with pytest.warns(
        RuntimeWarning, match=r"where= reads all records of 4 files.*--columns 'label'"
    ):
        ids(source, where="label == 1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ids(source, split=(0, 2))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.integers(0, 2**64 - 1))
def test_records_of_weight_zero_are_never_drawn(
    tmp_path_factory: pytest.TempPathFactory, weights: list[int], seed: int
) -> None:
    if not any(weights):
        weights[0] = 1
    path = tmp_path_factory.mktemp("weights") / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_batch({"id": np.arange(len(weights))})
    found = ids(str(path), weights=np.array(weights), seed=seed, epochs=5)
    assert all(weights[number] for number in found.tolist())


def test_a_selection_without_options_is_false() -> None:
    assert not Selection()
    assert Selection(order="x")
