# SPDX-License-Identifier: Apache-2.0
"""Packed rows: every token once, no document mixed with another, the same for any shards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastrec
from fastrec import _core

FEATURES = {"tokens": fastrec.RaggedFeature(np.int64)}
FITS = ("best", "first", "split")


def write(path: Path, documents: list[list[int]], **options: Any) -> str:
    with fastrec.Writer(path, **options) as writer:
        for document in documents:
            writer.write({"tokens": document, "weight": [token / 2 for token in document]})
    return str(path)


def lognormal(count: int, seed: int = 0) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    sizes = np.clip(rng.lognormal(4, 1, count).astype(int), 1, 400)
    return [rng.integers(1, 60_000, size).tolist() for size in sizes]


@pytest.fixture(scope="module")
def documents() -> list[list[int]]:
    return lognormal(600)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, documents: list[list[int]]) -> str:
    folder = tmp_path_factory.mktemp("packing")
    write(folder / "d.tfrecord", documents, shards=3, index=True)
    return f"{folder}/d-*"


def in_file_order(source: str) -> list[list[int]]:
    return [
        row.tolist() for batch in fastrec.Batcher(source, FEATURES, 64) for row in batch["tokens"]
    ]


def segments_of(batch: dict[str, Any], key: str = "tokens") -> list[list[int]]:
    """The segments of a batch, which its other columns have to agree with."""
    tokens, ids, positions = batch[key], batch["segment_ids"], batch["positions"]
    segments, boundaries = [], [0]
    for row in range(len(tokens)):
        used = 0
        for number in range(1, ids[row].max(initial=0) + 1):
            places = np.flatnonzero(ids[row] == number)
            assert places.tolist() == list(range(used, used + len(places)))
            assert positions[row, places].tolist() == list(range(len(places)))
            segments.append(tokens[row, places].tolist())
            used += len(places)
            boundaries.append(row * tokens.shape[1] + used)
        assert not ids[row, used:].any()
        if used < tokens.shape[1]:
            boundaries.append((row + 1) * tokens.shape[1])
    assert batch["cu_seqlens"].tolist() == boundaries
    return segments


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("shuffle", [False, True, "blocks"])
def test_an_epoch_has_every_token_once(
    source: str, documents: list[list[int]], fit: Any, shuffle: Any
) -> None:
    packing = fastrec.Packing("tokens", 256, fit=fit, window=100)
    batcher = fastrec.Batcher(source, FEATURES, 8, shuffle=shuffle, seed=1, packing=packing)
    batches = list(batcher)
    assert len(batches) == len(fastrec.Batcher(source, FEATURES, 8, seed=1, shuffle=shuffle,
                                               packing=packing))  # fmt: skip
    segments = [segment for batch in batches for segment in segments_of(batch)]
    if fit == "split":
        expected = np.concatenate(documents)
        assert sorted(np.concatenate(segments).tolist()) == sorted(expected.tolist())
        return
    short = [document for document in documents if len(document) <= 256]
    cut = [document for document in documents if len(document) > 256]
    pieces = short + [document[:256] for document in cut] + [document[256:] for document in cut]
    assert sorted(segments) == sorted(pieces)


def test_split_keeps_the_order_of_the_documents(source: str) -> None:
    packing = fastrec.Packing("tokens", 128, fit="split", eos=0)
    batches = fastrec.Batcher(source, FEATURES, 4, packing=packing)
    stream = np.concatenate([segment for batch in batches for segment in segments_of(batch)])
    expected = [token for document in in_file_order(source) for token in (*document, 0)]
    assert stream.tolist() == expected


@pytest.mark.parametrize("fit", FITS)
def test_rows_are_nearly_full(tmp_path: Path, fit: Any) -> None:
    sizes = np.clip(np.random.default_rng(0).lognormal(6, 1, 1 << 16).astype(np.uint32), 1, None)
    plan = _core.RowPlan(sizes, length=2048, fit=fit, overlong="split")
    fill = plan.tokens / (len(plan) * 2048)
    assert fill >= (0.99 if fit == "first" else 0.999)
    assert plan.tokens == sizes.sum()


@pytest.mark.parametrize("shuffle", [False, True, "blocks"])
@pytest.mark.parametrize("uneven", ["longer", "drop", "pad"])
def test_global_batches_are_the_same_for_any_number_of_shards(
    source: str, shuffle: Any, uneven: Any
) -> None:
    whole = 48

    def global_batches(shards: int) -> list[list[list[int]]]:
        parts = []
        for shard in range(shards):
            batcher = fastrec.Batcher(
                source, FEATURES, whole // shards, shuffle=shuffle, seed=3, uneven=uneven,
                shard=(shard, shards), packing=fastrec.Packing("tokens", 128, window=150),
                drop_remainder=True,
            )  # fmt: skip
            parts.append(list(batcher))
            assert len(parts[-1]) == len(batcher)
        return [
            np.concatenate([batch["tokens"] for batch in step]).tolist()
            for step in zip(*parts, strict=True)
        ]

    expected = global_batches(1)
    assert len(expected) > 2
    for shards in (2, 3, 4, 8, 16):
        assert global_batches(shards) == expected


@pytest.mark.parametrize("uneven", ["longer", "drop", "pad"])
@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_shards_share_the_rows_of_the_last_step(source: str, uneven: Any, shards: int) -> None:
    packing = fastrec.Packing("tokens", 128, window=150)

    def rows(shard: int, count: int, **options: Any) -> list[tuple[int, ...]]:
        batcher = fastrec.Batcher(
            source, FEATURES, 5, shard=(shard, count), packing=packing, seed=0, **options
        )
        batches = list(batcher)
        assert len(batches) == len(batcher)
        return [tuple(row) for batch in batches for row in batch["tokens"].tolist()]

    everything = rows(0, 1)
    parts = [rows(shard, shards, uneven=uneven) for shard in range(shards)]
    counts = [len(part) for part in parts]
    if uneven == "longer":
        assert sorted(sum(parts, [])) == sorted(everything)  # noqa: RUF017
        assert max(counts) - min(counts) <= 1
    else:
        assert max(counts) == min(counts)
        assert abs(sum(counts) - len(everything)) < shards


def test_a_run_resumes_exactly_also_on_other_shards(source: str) -> None:
    def batcher(shard: tuple[int, int]) -> fastrec.Batcher:
        return fastrec.Batcher(
            source,
            FEATURES,
            12,
            shuffle=True,
            seed=3,
            shard=shard,
            uneven="drop",
            epochs=2,
            packing=fastrec.Packing("tokens", 128, window=150),
        )

    batches = iter(batcher((0, 2)))
    for _ in range(7):
        next(batches)
    state = json.loads(json.dumps(batches.state_dict()))
    assert len(json.dumps(state)) < 1000
    expected = [batch["tokens"].tolist() for batch in batches]
    same = batcher((0, 2))
    same.load_state_dict(state)
    assert [batch["tokens"].tolist() for batch in same] == expected
    for shard in range(3):
        other = batcher((shard, 3))
        other.load_state_dict(state)
        rows = next(iter(other))["tokens"].tolist()
        assert len(rows) == 12
        assert shard != 0 or rows == expected[0]


def test_epochs_pack_differently_and_a_pass_over_several_is_counted(source: str) -> None:
    packing = fastrec.Packing("tokens", 128)
    batcher = fastrec.Batcher(source, FEATURES, 8, shuffle=True, seed=0, epochs=3, packing=packing)
    batches = list(batcher)
    assert len(batches) == len(batcher)

    def first_of_epoch(epoch: int) -> list[list[int]]:
        batcher = fastrec.Batcher(source, FEATURES, 8, shuffle=True, seed=0, packing=packing)
        batcher.set_epoch(epoch)
        return next(iter(batcher))["tokens"].tolist()  # type: ignore[no-any-return]

    assert first_of_epoch(0) != first_of_epoch(1)
    assert first_of_epoch(1) == first_of_epoch(1)


def test_several_features_make_one_document_with_a_loss_mask(tmp_path: Path) -> None:
    rows = [{"prompt": [1, 2, 3], "completion": [4, 5]}, {"prompt": [6], "completion": [7, 8, 9]},
            {"completion": [10]}]  # fmt: skip
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        for row in rows:
            writer.write(row)
    features = {name: fastrec.RaggedFeature(np.int64) for name in ("prompt", "completion")}
    packing = fastrec.Packing(
        ("prompt", "completion"), 16, fit="split", bos=100, eos=200, loss="completion", pad=-1
    )
    [batch] = fastrec.Batcher(str(path), features, 4, packing=packing)
    assert batch["tokens"].tolist() == [
        [100, 1, 2, 3, 4, 5, 200, 100, 6, 7, 8, 9, 200, 100, 10, 200]
    ]
    counted = [4, 5, 200, 7, 8, 9, 200, 10, 200]
    assert batch["tokens"][batch["loss_mask"]].tolist() == counted


def test_other_features_are_aligned_with_the_tokens(source: str) -> None:
    features = {**FEATURES, "weight": fastrec.RaggedFeature(np.float32)}
    packing = fastrec.Packing("tokens", 128, eos=1)
    for batch in fastrec.Batcher(source, features, 8, shuffle=True, seed=0, packing=packing):
        ends = (batch["tokens"] == 1) & (batch["weight"] == 0)
        expected = np.where(ends | (batch["segment_ids"] == 0), 0, batch["tokens"] / 2)
        assert (batch["weight"] == expected.astype(np.float32)).all()


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.uint32, np.int64])
def test_tokens_have_the_dtype_that_was_asked_for(source: str, dtype: Any) -> None:
    packing = fastrec.Packing("tokens", 128, dtype=dtype)
    batch = next(iter(fastrec.Batcher(source, FEATURES, 8, packing=packing)))
    assert batch["tokens"].dtype == dtype


def test_a_token_out_of_the_range_of_the_dtype_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tfrecord", [[1, 2], [70_000]])
    packing = fastrec.Packing("tokens", 8, dtype=np.uint16)
    with pytest.raises(fastrec.FastrecError, match="value 70000 does not fit uint16"):
        list(fastrec.Batcher(path, FEATURES, 8, packing=packing))


def test_max_segments_limits_the_documents_of_a_row(tmp_path: Path) -> None:
    fit: Any
    path = write(tmp_path / "a.tfrecord", [[number] for number in range(1, 30)])
    for fit in FITS:
        packing = fastrec.Packing("tokens", 16, fit=fit, max_segments=4)
        for batch in fastrec.Batcher(path, FEATURES, 3, packing=packing):
            assert batch["segment_ids"].max() <= 4


def test_documents_that_are_too_long_are_split_dropped_or_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tfrecord", [[1, 2], list(range(1, 21)), [3]])

    def segments(overlong: Any) -> list[list[int]]:
        packing = fastrec.Packing("tokens", 8, fit="first", overlong=overlong)
        [batch] = fastrec.Batcher(path, FEATURES, 9, packing=packing)
        return segments_of(batch)

    assert sorted(map(len, segments("split"))) == [1, 2, 4, 8, 8]
    assert sorted(segments("drop")) == [[1, 2], [3]]
    with pytest.raises(fastrec.ExampleParseError, match=r"record 1 in .*at most 8 tokens, got 20"):
        segments("error")


def test_documents_without_tokens_are_in_no_row(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tfrecord", [[], [5], []])
    [batch] = fastrec.Batcher(path, FEATURES, 4, packing=fastrec.Packing("tokens", 4, eos=9))
    assert batch["tokens"].tolist() == [[5, 9, 0, 0]]
    empty = write(tmp_path / "b.tfrecord", [[], []])
    batcher = fastrec.Batcher(empty, FEATURES, 4, packing=fastrec.Packing("tokens", 4))
    assert len(batcher) == 0
    assert list(batcher) == []


def test_a_length_that_disagrees_with_the_record_names_both(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tfrecord", [[1, 2], [3, 4]])
    columns = fastrec.Index.build(path, columns="len(tokens)").columns
    values = columns.columns["len(tokens)"].values.copy()
    values[1] = 3
    columns.columns["len(tokens)"] = columns.columns["len(tokens)"]._replace(values=values)
    columns.save()
    with pytest.raises(fastrec.IndexMismatchError, match=r"record 1 in .* has 2 tokens.*say 3"):
        list(fastrec.Batcher(path, FEATURES, 4, packing=fastrec.Packing("tokens", 8)))


@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_feature_lists_of_sequence_examples_are_packed(
    tmp_path: Path, documents: list[list[int]], compression: Any
) -> None:
    path = tmp_path / "sequences.tfrecord"
    with fastrec.Writer(path, compression=compression) as writer:
        for document in documents[:80]:
            lists = {"tokens": [[token] for token in document], "w": [[t / 2] for t in document]}
            writer.write(fastrec.encode_sequence_example({"id": 1}, lists))
    features = fastrec.SequenceFeatures(
        sequence={
            "tokens": fastrec.FixedLenSequenceFeature((), np.int64),
            "w": fastrec.FixedLenSequenceFeature((), np.float32),
        }
    )
    packing = fastrec.Packing("tokens", 400)
    batches = list(fastrec.Batcher(str(path), features, 4, shuffle=True, seed=0, packing=packing))
    segments = [segment for batch in batches for segment in segments_of(batch)]
    assert sorted(segments) == sorted(documents[:80])
    for batch in batches:
        assert (batch["w"] == (batch["tokens"] / 2).astype(np.float32)).all()
    wrong = fastrec.SequenceFeatures(sequence={"tokens": fastrec.RaggedFeature(np.int64)})
    with pytest.raises(TypeError, match="must be a FixedLenSequenceFeature of single numbers"):
        fastrec.Batcher(str(path), wrong, 4, packing=packing)


def test_packing_works_with_subsets_weights_and_mixtures(source: str, tmp_path: Path) -> None:
    packing = fastrec.Packing("tokens", 64)
    for options in ({"where": "len(tokens) < 50"}, {"weights": "len(tokens)"},
                    {"split": (0, 2)}):  # fmt: skip
        batcher = fastrec.Batcher(source, FEATURES, 4, seed=0, packing=packing, **options)
        batches = list(batcher)
        assert len(batches) == len(batcher) > 0
    other = write(tmp_path / "b.tfrecord", [[7] * 5] * 50)
    mixture = fastrec.Mixture([source, other], [1, 1])
    batches = list(fastrec.Batcher(mixture, FEATURES, 4, shuffle=True, seed=0, packing=packing))
    assert sum(int((batch["tokens"] == 7).sum()) for batch in batches) >= 250


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ({"length": 0}, {}, "length"),
        ({"length": None}, {}, "length must be an int, got None"),
        ({"length": 1 << 25}, {}, "length"),
        ({"fit": "worst"}, {}, "fit must be 'best', 'first' or 'split'"),
        ({"overlong": "keep"}, {}, "overlong must be 'split', 'drop' or 'error'"),
        ({"window": 0}, {}, "window"),
        ({"tokens": None}, {}, "tokens must be a feature or several, got None"),
        ({"loss": 3}, {}, "loss must be a feature or several, got 3"),
        ({"loss": "other"}, {}, "loss must name features of tokens"),
        ({"dtype": np.float32}, {}, "dtype must be of native integers"),
        ({"tokens": ("a", "a")}, {}, "each feature once"),
        ({"tokens": "other"}, {}, "'other' is not in features"),
        ({}, {"batch_size": None}, "packing and batch_size=None are mutually exclusive"),
        ({}, {"shuffle": 100}, "packing and shuffle=N"),
        ({}, {"on_error": "skip"}, "packing and on_error"),
        ({}, {"buckets": fastrec.Buckets("tokens")}, "packing and buckets"),
        (
            {},
            {"features": {"tokens": fastrec.VarLenFeature(np.int64)}},
            "must be a RaggedFeature of single numbers",
        ),
        ({}, {"features": None}, "packing requires features"),
        ({"pad": 70_000, "dtype": np.uint16}, {}, "70000 does not fit uint16"),
    ],
    ids=repr,
)
def test_wrong_options_say_what_is_wrong(
    source: str, arguments: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    given = {"tokens": "tokens", "length": 64, **arguments}
    call = {"features": FEATURES, "batch_size": 4, **options}
    with pytest.raises((ValueError, TypeError, fastrec.FastrecError), match=message):
        list(fastrec.Batcher(source, seed=0, packing=fastrec.Packing(**given), **call))


SIZES = st.lists(st.integers(0, 40), max_size=30)


@settings(max_examples=4 * settings().max_examples, deadline=None)
@given(SIZES, st.integers(1, 16), st.sampled_from(FITS), st.sampled_from([0, 1, 3]),
       st.sampled_from(["split", "drop"]), st.integers(0, 2**64 - 1))  # fmt: skip
def test_plans_have_each_token_once_in_rows_that_have_space(
    sizes: list[int], length: int, fit: str, most: int, overlong: str, seed: int
) -> None:
    plan = _core.RowPlan(
        sizes, length=length, fit=fit, overlong=overlong, max_segments=most, seed=seed
    )
    segments, splits = plan.rows(0, len(plan))
    assert splits[0] == 0
    assert splits[-1] == len(segments)
    places: dict[int, list[int]] = {}
    for row in range(len(plan)):
        own = segments[splits[row] : splits[row + 1]]
        assert 0 < own[:, 2].sum() <= length
        assert not most or len(own) <= most
        assert (np.diff(own[:, 0].astype(int)) >= 0).all()
        for document, begin, count in own.tolist():
            places.setdefault(document, []).extend(range(begin, begin + count))
    for document, size in enumerate(sizes):
        kept = 0 if overlong == "drop" and size > length else size
        assert sorted(places.get(document, [])) == list(range(kept))
    assert plan.tokens == len([place for each in places.values() for place in each])
    assert [part.tolist() for part in plan.rows(0, len(plan))] == [
        segments.tolist(), splits.tolist()]  # fmt: skip


def test_layouts_refuse_segments_outside_of_documents_and_rows() -> None:
    values, splits = np.arange(4), np.array([0, 2, 4])
    begins = np.array([0, 1], np.uint32)
    for segment in ([2, 0, 1], [0, 1, 2], [1, 0, 2**32 - 1], [0, 2**32 - 1, 2]):
        with pytest.raises(ValueError, match="not within its document"):
            _core.RowLayout(
                np.array([segment], np.uint32), begins, 8, 2, [((values, splits), False)]
            )
    with pytest.raises(ValueError, match="space for 1"):
        _core.RowLayout(np.array([[0, 0, 2]], np.uint32), begins, 1, 2, [((values, splits), False)])
    for bad in ([0, 3, 2], [0, 2, 9], [-1, 2, 4], [0, 4]):
        with pytest.raises(ValueError, match="splits of a part"):
            _core.RowLayout(
                np.array([[0, 0, 1]], np.uint32), begins, 8, 2, [((values, np.array(bad)), False)]
            )
