# SPDX-License-Identifier: Apache-2.0
"""Sequences in dense batches: padded, by length, within a budget, each once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from verbs import gzipped, write_examples

import fastrec
from fastrec import Batcher, Buckets, Ragged, _core

FEATURES = {
    "i": fastrec.FixedLenFeature((), np.int64),
    "tokens": fastrec.RaggedFeature(np.int64),
    "name": fastrec.FixedLenFeature((), bytes),
    "words": fastrec.RaggedFeature(bytes),
}
COUNT = 300


def length_of(i: int) -> int:
    return i * i * 7 % 101


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_examples(
        tmp_path_factory.mktemp("padding") / "file",
        (
            {
                "i": i,
                "tokens": [i * 1000 + j for j in range(length_of(i))],
                "name": b"%d" % i,
                "words": [b"%d" % i] * (i % 3),
            }
            for i in range(COUNT)
        ),
    )


def check(batch: dict[str, Any], value: int = 0) -> None:
    """Every column belongs to the rows, and the padding is nothing but padding."""
    for row, i in enumerate(batch["i"].tolist()):
        assert batch["tokens/length"][row] == length_of(i)
        tokens = batch["tokens"][row].tolist()
        assert tokens[: length_of(i)] == [i * 1000 + j for j in range(length_of(i))]
        assert set(tokens[length_of(i) :]) <= {value}
        assert batch["name"][row] == b"%d" % i
        assert batch["words"][row].to_list() == [b"%d" % i] * (i % 3)


@given(
    bounds=st.lists(st.integers(1, 120), unique=True, max_size=5).map(sorted),
    tokens=st.none() | st.integers(1, 2000),
    window=st.none() | st.integers(1, 400),
    size=st.integers(1, 30),
    shuffle=st.sampled_from([False, True]),
    epochs=st.integers(1, 2),
)
def test_each_sequence_comes_once_in_a_batch_of_its_kind(
    path: Path, bounds: list[int], tokens: int | None, window: int | None, size: int, **options: Any
) -> None:
    buckets = Buckets("tokens", bounds, tokens, window, value=-1)
    seen = []
    for batch in Batcher(path, FEATURES, size, buckets=buckets, seed=1, **options):
        check(batch, -1)
        rows, width = batch["tokens"].shape
        lengths = batch["tokens/length"]
        bucket = {int(np.searchsorted(bounds, length)) for length in lengths}
        assert len(bucket) == 1
        bound = [*bounds, int(lengths.max())][bucket.pop()]
        assert width == bound
        assert rows == 1 or (rows <= size if tokens is None else rows * width <= tokens)
        seen += batch["i"].tolist()
    assert sorted(seen) == sorted(list(range(COUNT)) * options["epochs"])


def test_without_bounds_a_batch_is_padded_to_its_longest(path: Path) -> None:
    batches = list(Batcher(path, FEATURES, 16, buckets=Buckets("tokens")))
    assert [batch["i"].tolist() for batch in batches] == [
        list(range(k, min(k + 16, COUNT))) for k in range(0, COUNT, 16)
    ]
    for batch in batches:
        check(batch)
        assert batch["tokens"].shape[1] == batch["tokens/length"].max()


def test_dropping_remainders_leaves_full_batches_only(path: Path) -> None:
    buckets = Buckets("tokens", [50, 100], window=COUNT)
    batches = list(Batcher(path, FEATURES, 16, buckets=buckets, drop_remainder=True))
    assert {batch["tokens"].shape for batch in batches} == {(16, 50), (16, 100)}
    assert sum(len(batch["i"]) for batch in batches) > COUNT - 32


def test_a_budget_makes_batches_of_short_sequences_larger(path: Path) -> None:
    buckets = Buckets("tokens", [10, 50, 101], tokens=303, window=COUNT)
    rows: dict[int, int] = {}
    for batch in Batcher(path, FEATURES, buckets=buckets):
        count, width = batch["tokens"].shape
        rows[width] = max(rows.get(width, 0), count)
    assert rows == {10: 30, 50: 6, 101: 3}


@pytest.mark.parametrize("threads", [1, 4])
def test_bucketed_batches_resume_in_the_middle_of_a_window(path: Path, threads: int) -> None:
    def make(count: int = threads) -> Batcher:
        buckets = Buckets("tokens", [20, 60], tokens=300, window=70)
        return Batcher(
            path, FEATURES, buckets=buckets, shuffle=True, seed=4, epochs=2, threads=count
        )

    batches = iter(make())
    states, whole = [batches.state_dict()], []
    for batch in batches:
        whole.append(batch["i"].tolist())
        states.append(batches.state_dict())
    assert any(state["item"] for state in states)
    for done in range(0, len(states), 5):
        again = make(3)
        again.load_state_dict(states[done])
        assert [batch["i"].tolist() for batch in again] == whole[done:]


def test_streams_are_bucketed_alike(path: Path, tmp_path: Path) -> None:
    (tmp_path / "gz").write_bytes(gzipped(path.read_bytes()))
    buckets = Buckets("tokens", [20, 60], tokens=300, window=70)
    plain, packed = (
        [batch["tokens"].tolist() for batch in Batcher(source, FEATURES, buckets=buckets)]
        for source in (path, tmp_path / "gz")
    )
    assert plain == packed


@given(
    rows=st.lists(st.lists(st.integers(-5, 5), max_size=6), max_size=8),
    length=st.none() | st.integers(0, 8),
)
def test_padding_is_what_plain_python_does(rows: list[list[int]], length: int | None) -> None:
    flat = np.array([x for row in rows for x in row], np.int16)
    splits = np.cumsum([0, *map(len, rows)])
    width = max(map(len, rows), default=0) if length is None else length
    padded = fastrec.pad(Ragged(flat, splits), length, value=9)
    assert padded.shape == (len(rows), width)
    assert padded.dtype == np.dtype(np.int16)
    assert padded.tolist() == [(row + [9] * width)[:width] for row in rows]


@given(
    shapes=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=5),
    more=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    cut=st.booleans(),
)
def test_arrays_are_padded_as_in_numpy(
    shapes: list[tuple[int, int]], more: tuple[int, int], cut: bool
) -> None:
    arrays = [np.arange(a * b, dtype=np.float64).reshape(a, b) + 1 for a, b in shapes]
    sizes = [int(n) for n in np.max([(0, 0), *shapes], axis=0) + more]
    expected = np.full((len(shapes), *sizes), -1.0)
    for row, array in zip(expected, arrays, strict=True):
        row[: array.shape[0], : array.shape[1]] = array
    values = np.concatenate([np.zeros(0), *[array.reshape(-1) for array in arrays]])
    begins = np.cumsum([0, *[array.size for array in arrays]])[:-1]
    table = np.array(shapes, np.int64).reshape(-1, 2)
    if cut and values.size:
        with pytest.raises(ValueError, match="must lie within the values"):
            _core.pad_rows(values[:-1], begins, table, sizes, -1)
    else:
        assert np.array_equal(_core.pad_rows(values, begins, table, sizes, -1), expected)


def test_what_cannot_be_padded_or_measured_says_so(path: Path) -> None:
    with pytest.raises(TypeError, match="numbers"):
        fastrec.pad(Ragged(fastrec.Bytes.from_list([b"a"]), np.array([0, 1])))
    no: Any = np.zeros(0, np.int64)
    with pytest.raises(TypeError, match="vector of numbers"):
        _core.pad_rows(np.zeros((1, 1)), no, no.reshape(0, 1), [1], 0)
    with pytest.raises(ValueError, match="rank at least 1"):
        _core.pad_rows(np.zeros(1), no, no.reshape(0, 0), [], 0)
    with pytest.raises(TypeError, match="'i' must be a ragged"):
        list(Batcher(path, FEATURES, 4, buckets=Buckets("i")))
    with pytest.raises(ValueError, match="lengths must be at least 1, got 0"):
        Buckets("tokens", [0])
    for bounds in ([3, 2], [2, 2]):
        with pytest.raises(ValueError, match="ascending"):
            Buckets("tokens", bounds)
    with pytest.raises(ValueError, match="tokens must be"):
        Buckets("tokens", tokens=0)
    with pytest.raises(TypeError, match="number of batches"):
        len(Batcher(path, FEATURES, 4, buckets=Buckets("tokens", [2])))
    assert len(Batcher(path, FEATURES, 4, buckets=Buckets("tokens"))) > 0
    with pytest.raises(ValueError, match="batch_size=None"):
        Batcher(path, FEATURES, None, buckets=Buckets("tokens"))


@pytest.mark.parametrize("shuffle", [False, True])
def test_single_records_are_what_parsing_one_gives(path: Path, shuffle: bool) -> None:
    batcher = Batcher(path, FEATURES, None, shuffle=shuffle, seed=1, epochs=2)
    assert len(batcher) == 2 * COUNT
    seen, batches = [], iter(batcher)
    for record in batches:
        i = int(record["i"])
        seen.append(i)
        assert record["tokens"].tolist() == [i * 1000 + j for j in range(length_of(i))]
        assert record["name"] == b"%d" % i
        if len(seen) in (1, 63, 64, 65, COUNT, COUNT + 1):
            again = Batcher(path, FEATURES, None, shuffle=shuffle, seed=1, epochs=2)
            again.load_state_dict(batches.state_dict())
            following = next(iter(again))
            expected = next(batches)
            assert following["i"] == expected["i"]
            seen.append(int(expected["i"]))
    assert sorted(seen) == sorted([*range(COUNT)] * 2)
    records = list(Batcher(path, None, None))
    assert records == list(fastrec.Reader(path))
