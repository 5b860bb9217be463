# SPDX-License-Identifier: Apache-2.0
"""A Batcher that skips leaves out exactly the records that cannot be used, and lists them."""

from __future__ import annotations

import gzip
import io
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from misfits import COUNT, write_misfits
from misfits import FAULTS as SCALAR_FAULTS

import fastrec
from fastrec import (
    Batcher,
    FixedLenFeature,
    RaggedFeature,
    SequenceFeatures,
    SparseFeature,
    _core,
    arrow,
)

pytestmark = pytest.mark.filterwarnings("ignore:on_error left out", "ignore:drop_remainder=True")

FEATURES: dict[str, Any] = {
    "id": FixedLenFeature((), np.int64),
    "pair": FixedLenFeature((2,), np.float32),
    "name": FixedLenFeature((), bytes),
    "tokens": RaggedFeature(np.int64),
    "words": RaggedFeature(bytes),
    "sparse": SparseFeature("at", "value", np.int64, 10),
}

# What is changed in a sound row, so that it does not fit.
FAULTS: dict[str, dict[str, Any]] = {
    "missing": {"pair": None},
    "kind": {"name": 3},
    "count": {"pair": np.array([1, 2, 3], np.float32)},
    "ragged kind": {"words": [1.5]},
    "range": {"at": [1, 2, 3]},
}


def sound(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "pair": np.array([number, -number], np.float32),
        "name": b"n%d" % number,
        "tokens": list(range(number % 4)),
        "words": [b"w"] * (number % 3),
        "at": [1, 4],
        "value": [number, number],
    }


def make(path: Path, faults: list[str], first: int = 0) -> Path:
    """A file with a record of each fault, or a sound one for ""."""
    blocks = []
    for number, fault in enumerate(faults, first):
        row = sound(number) | FAULTS.get(fault, {})
        row = {name: value for name, value in row.items() if value is not None}
        record = b"no message" if fault == "malformed" else fastrec.encode_example(row)
        block = bytearray(_core.frame(record))
        if fault == "data":
            block[14] ^= 1
        blocks.append(bytes(block))
    path.write_bytes(b"".join(blocks))
    return path


def equal_rows(batches: list[Any]) -> dict[int, Any]:
    """Each record by its id, as plain values."""
    rows = {}
    for batch in batches:
        ids = batch["id"].tolist()
        for row, number in enumerate(ids):
            rows[number] = (
                batch["pair"][row].tolist(),
                batch["name"][row],
                np.asarray(batch["tokens"][row]).tolist(),
                list(batch["words"][row]),
                batch["sparse"].values[batch["sparse"].indices[:, 0] == row].tolist(),
            )
        assert batch["sparse"].dense_shape[0] == len(ids) == len(batch["words"])
    return rows


def expected_row(number: int) -> Any:
    row = sound(number)
    return (
        row["pair"].tolist(), row["name"], row["tokens"], row["words"], row["value"],
    )  # fmt: skip


faulty = st.lists(
    st.sampled_from(["", "", "", "", "malformed", "data", *FAULTS]), min_size=1, max_size=30
).filter(lambda faults: "" in faults)


@given(
    files=st.lists(faulty, min_size=1, max_size=3),
    size=st.sampled_from([1, 2, 5, 40]),
    shuffle=st.sampled_from([False, True, "blocks", fastrec.BlockShuffle(3, 2), 4]),
    threads=st.integers(1, 3),
    shards=st.integers(1, 3),
    packed=st.booleans(),
    transform=st.sampled_from([None, dict]),
    handled=st.booleans(),
)
def test_exactly_the_records_that_cannot_be_used_are_left_out(
    tmp_path: Path, files: list[list[str]], shuffle: Any, packed: bool, handled: bool, shards: int,
    **options: Any,
) -> None:  # fmt: skip
    paths, good, bad = [], [], []
    for number, faults in enumerate(files):
        path = make(tmp_path / f"{number}.tfrecord", faults, 100 * number)
        if packed:
            packed_path = tmp_path / f"{number}.tfrecord.gz"
            packed_path.write_bytes(gzip.compress(path.read_bytes(), 1))
            path = packed_path
        paths.append(path)
        good += [100 * number + row for row, fault in enumerate(faults) if not fault]
        for row, fault in enumerate(faults):
            kind = {"data": "data-crc", "malformed": "malformed"}.get(fault, "schema")
            if fault:
                bad.append((str(path), row, kind))
    if packed and shuffle is not False and not isinstance(shuffle, int):
        shuffle = False
    errors: list[Any] = []
    on_error: Any = errors.append if handled else "skip"
    rows: dict[int, Any] = {}
    listed = set()
    for shard in range(shards):
        batcher = Batcher(
            paths, FEATURES, options["size"], shuffle=shuffle, seed=3, shard=(shard, shards),
            threads=options["threads"], transform=options["transform"], on_error=on_error,
        )  # fmt: skip
        own = equal_rows(list(batcher))
        assert not rows.keys() & own.keys()
        rows |= own
        own_skipped = [(lost.path, lost.record) for lost in batcher.skipped]
        order = {str(path): number for number, path in enumerate(paths)}
        assert own_skipped == sorted(own_skipped, key=lambda each: (order[each[0]], each[1]))
        listed |= {(lost.path, lost.record, lost.kind) for lost in batcher.skipped}
    assert sorted(rows) == good
    assert rows == {number: expected_row(number) for number in good}
    assert listed == set(bad)
    assert not handled or len(errors) >= len(bad)


@given(
    faults=faulty,
    size=st.sampled_from([1, 2, 3, 7, None]),
    shuffle=st.sampled_from([False, True, "blocks", 4]),
    epochs=st.integers(1, 3),
    across=st.booleans(),
    transform=st.sampled_from([None, dict]),
)
def test_a_run_that_skips_resumes_from_each_of_its_states(
    tmp_path: Path, faults: list[str], size: int | None, transform: Any, **options: Any
) -> None:
    path = make(tmp_path / "a.tfrecord", faults)
    across = options.pop("across")
    batcher = Batcher(
        path, FEATURES, size, seed=1, on_error="skip", batch_across_epochs=across,
        transform=transform, **options,
    )  # fmt: skip
    batches = iter(batcher)
    states, whole = [batches.state_dict()], []
    for batch in batches:
        whole.append(np.atleast_1d(batch["id"]).tolist())
        states.append(batches.state_dict())
    for done, state in enumerate(states):
        batcher.load_state_dict(json.loads(json.dumps(state)))
        rest = [np.atleast_1d(batch["id"]).tolist() for batch in batcher]
        assert rest == whole[done:]


def test_the_order_of_other_records_is_that_of_a_source_without_faults(tmp_path: Path) -> None:
    faults = [["", "count", "data"][number % 7 % 3] for number in range(60)]
    broken = make(tmp_path / "broken.tfrecord", faults)
    whole = make(tmp_path / "whole.tfrecord", [""] * 60)
    for options in ({}, {"shuffle": True}, {"shuffle": "blocks"}, {"shuffle": 9}):
        chosen: dict[str, Any] = {"seed": 2, **options}
        found = [
            batch["id"].tolist()
            for batch in Batcher(broken, FEATURES, 5, on_error="skip", **chosen)
        ]
        batches = [batch["id"].tolist() for batch in Batcher(whole, FEATURES, 5, **chosen)]
        kept = [[number for number in batch if not faults[number]] for batch in batches]
        assert found == [batch for batch in kept if batch]


def test_damage_is_found_when_it_is_read(tmp_path: Path) -> None:
    path = make(tmp_path / "a.tfrecord", [""] * 500 + ["data"])
    batcher = Batcher(path, FEATURES, 10, threads=1, prefetch=0, on_error="skip")
    with iter(batcher) as batches:
        next(batches)
        assert batcher.skipped == []
        assert sum(len(batch["id"]) for batch in batches) == 490
    (lost,) = batcher.skipped
    assert (lost.record, lost.kind, lost.end) == (500, "data-crc", path.stat().st_size)
    assert fastrec.Reader(path, on_error="skip").skipped == []


def test_a_damaged_header_is_gone_past_before_records_have_numbers(tmp_path: Path) -> None:
    make(tmp_path / "a.tfrecord", [""] * 30)
    path = make(tmp_path / "b.tfrecord", [""] * 30, 100)
    data = bytearray(path.read_bytes())
    data[3] ^= 1
    path.write_bytes(bytes(data))
    batcher = Batcher(tmp_path / "*.tfrecord", FEATURES, 7, shuffle=True, seed=0, on_error="skip")
    assert sorted(equal_rows(list(batcher))) == [*range(30), *range(101, 130)]
    assert [(lost.path, lost.record) for lost in batcher.skipped] == [(str(path), 0)]


SEQUENCES = SequenceFeatures(
    {"id": FixedLenFeature((), np.int64)},
    {"x": fastrec.FixedLenSequenceFeature((2,), np.int64), "y": RaggedFeature(np.float32)},
)


def sequences() -> Iterator[bytes]:
    for number in range(40):
        x: Any = [[number, 1]] * (number % 3)
        if number % 5 == 1:
            x = [[number]]
        context = {"id": [number, number]} if number % 7 == 2 else {"id": number}
        yield fastrec.encode_sequence_example(context, {"x": x, "y": [[1.5]] * (number % 4)})


def test_sequences_that_do_not_fit_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_many(list(sequences()))
    bad = [number for number in range(40) if number % 5 == 1 or number % 7 == 2]
    batcher = Batcher(path, SEQUENCES, 6, on_error="skip")
    ids, frames = [], 0
    for context, lists, lengths in batcher:
        ids += context["id"].tolist()
        frames += int(lengths["x"].sum())
        assert len(lists["x"]) == len(lists["y"]) == len(context["id"])
    good = [number for number in range(40) if number not in bad]
    assert ids == good
    assert frames == sum(number % 3 for number in good)
    assert [lost.record for lost in batcher.skipped] == bad


# --- too much is left out -------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 20, 3000])
@pytest.mark.parametrize("size", [1, 64, None])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("on_error", ["skip", lambda error: None], ids=["skip", "callable"])
def test_features_that_no_record_fits_are_an_error(
    tmp_path: Path, count: int, size: int | None, packed: bool, on_error: Any
) -> None:
    path = make(tmp_path / "a.tfrecord", [""] * count)
    if packed:
        path = tmp_path / "a.gz"
        path.write_bytes(gzip.compress((tmp_path / "a.tfrecord").read_bytes(), 1))
    features = {**FEATURES, "pear": FixedLenFeature((2,), np.float32)}
    batches = iter(Batcher(path, features, size, on_error=on_error))
    for _ in range(2):
        with pytest.raises(fastrec.ExampleParseError, match=r"no record can be used.*'pair'"):
            next(batches)


@pytest.mark.parametrize("packed", [False, True])
def test_a_shard_is_not_judged_by_itself(tmp_path: Path, packed: bool) -> None:
    def source(name: str, faults: list[str]) -> Path:
        path = make(tmp_path / name, faults)
        if packed:
            path.write_bytes(gzip.compress(path.read_bytes(), 1))
        return path

    for count in (5, 40, 1100):
        path = source(f"first-{count}", ["count"] * count + [""] * count)
        ids, skipped = [], 0
        for shard in range(2):
            batcher = Batcher(path, FEATURES, count, shard=(shard, 2), on_error="skip")
            ids += [int(number) for batch in batcher for number in batch["id"]]
            skipped += len(batcher.skipped)
        assert sorted(ids) == list(range(count, 2 * count))
        assert skipped == count
    path = source("dropped", ["count"] * 8 + [""] * 4)
    batcher = Batcher(path, FEATURES, 8, drop_remainder=True, on_error="skip")
    assert list(batcher) == []
    path = source("useless", ["count"] * 10)
    for shard in range(2):
        batcher = Batcher(path, FEATURES, 2, shard=(shard, 2), on_error="skip")
        with pytest.raises(fastrec.ExampleParseError, match="no record can be used"):
            list(batcher)


def test_an_endless_run_without_a_record_that_fits_ends(tmp_path: Path) -> None:
    path = make(tmp_path / "a.tfrecord", ["count", "missing"])
    with pytest.raises(fastrec.ExampleParseError, match="no record can be used"):
        list(Batcher(path, FEATURES, 2, epochs=None, on_error="skip"))


@pytest.mark.parametrize("shuffle", [False, "blocks"])
def test_a_first_file_without_a_record_that_fits_is_no_error(tmp_path: Path, shuffle: Any) -> None:
    make(tmp_path / "a.tfrecord", ["count"] * 100)
    make(tmp_path / "b.tfrecord", [""] * 100)
    batcher = Batcher(tmp_path / "*", FEATURES, 8, shuffle=shuffle, seed=1, on_error="skip")
    assert sum(len(batch["id"]) for batch in batcher) == 100 == len(batcher.skipped)


def test_a_file_of_another_kind_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "login.tfrecord"
    path.write_bytes(b"<html>please sign in</html>" * 20)
    for features in (None, FEATURES):
        with pytest.raises(fastrec.CorruptRecordError, match=r"no record can be used|not a TF"):
            list(Batcher(path, features, 8, on_error="skip"))


def test_images_of_a_wrong_size_are_an_error(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image").new("RGB", (9, 8))
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        for number in range(120):
            file = io.BytesIO()
            image.save(file, "PNG")
            writer.write({"image": file.getvalue() if number else b"another fault"})
    for feature in (
        fastrec.ImageFeature((64, 64)),
        fastrec.ImageFeature(transforms=[fastrec.image.RandomCrop(300)]),
    ):
        batcher = Batcher(tmp_path / "a.tfrecord", {"image": feature}, 16, on_error="skip")
        with pytest.raises(fastrec.ExampleParseError, match="no record can be used") as caught:
            list(batcher)
        assert "The most common cause, 31 times: record 1 in " in str(caught.value)


def test_more_than_a_tenth_is_a_warning(tmp_path: Path) -> None:
    path = make(tmp_path / "a.tfrecord", ["", "", "", "", "count", "", "", "data"] * 50)
    batcher = Batcher(path, FEATURES, 10, on_error="skip")
    with pytest.warns(RuntimeWarning, match=r"left out .*'pair': expected # values") as caught:
        batches = [list(batcher) for _ in range(3)]
    assert len(batches[0]) == len(batches[2])
    assert [each.filename for each in caught] == [__file__]
    path = make(tmp_path / "b.tfrecord", ["", *[*[""] * 10, "data"] * 9])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(Batcher(path, FEATURES, 10, on_error="skip"))) == 10


# --- features that no record has ------------------------------------------------------------------


@pytest.mark.parametrize("count", [3, 1500])
@pytest.mark.parametrize(
    "feature",
    [RaggedFeature(np.int64), fastrec.VarLenFeature(np.int64), FixedLenFeature((), np.int64, 0)],
    ids=["ragged", "sparse", "default"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_feature_that_no_record_has_is_a_warning(
    tmp_path: Path, count: int, feature: Any, packed: bool
) -> None:
    path = make(tmp_path / "a.tfrecord", [""] * count)
    if packed:
        path = tmp_path / "a.gz"
        path.write_bytes(gzip.compress((tmp_path / "a.tfrecord").read_bytes(), 1))
    batcher = Batcher(path, {**FEATURES, "tokns": feature}, 10)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        batches = iter(batcher)
        for _ in range(min(count, 1000) // 10 + 2):
            next(batches, None)
        assert len(caught) == 1
        assert "has feature 'tokns'" in str(caught[0].message)
        assert str(caught[0].message).endswith("is it 'tokens'?")
        list(batches)
        list(batcher)
    assert len(caught) == 1


def test_a_rare_feature_is_no_warning(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        for number in range(3000):
            writer.write({"id": number, **({"flag": 1} if number == 2999 else {})})
    features = {"id": FixedLenFeature((), np.int64), "flag": RaggedFeature(np.int64)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(Batcher(path, features, 10))


@pytest.mark.parametrize("fault", SCALAR_FAULTS)
def test_records_that_ranges_of_one_file_leave_out_are_all_listed(
    tmp_path: Path, fault: str
) -> None:
    ranges = fastrec.file_ranges(write_misfits(tmp_path, fault, (False,)), 300)
    assert len(ranges) > 3
    features = {"id": FEATURES["id"]}
    batcher = Batcher(ranges, features, 8, on_error="skip")
    for _ in range(2):
        assert sum(len(batch["id"]) for batch in batcher) == COUNT - COUNT // 4
        assert len(batcher.skipped) == COUNT // 4
    whole = Batcher([each.path for each in ranges[:1]], features, 8, on_error="skip")
    list(whole)
    assert [lost.record for lost in whole.skipped] == list(range(0, COUNT, 4))
    assert {lost.file_range for lost in whole.skipped} == {None}
    assert {lost.path for lost in batcher.skipped} == {os.fspath(ranges[0].path)}
    bounds = [(each.begin, each.end) for each in ranges]
    assert {lost.file_range for lost in batcher.skipped} <= set(bounds)
    if fault == "damaged":
        assert [lost.begin for lost in batcher.skipped] == [lost.begin for lost in whole.skipped]
    else:  # all records are sound, so the records before each range can be counted
        counts = [len(list(fastrec.Reader(each))) for each in ranges]
        before: dict[Any, int] = dict(zip(bounds, np.cumsum([0, *counts]).tolist(), strict=False))
        found = [before[lost.file_range] + lost.record for lost in batcher.skipped]
        assert found == [lost.record for lost in whole.skipped]
    assert f"record 0 of [0:{ranges[0].end}]" in str(batcher.skipped[0])


@pytest.mark.parametrize("fault", SCALAR_FAULTS)
def test_an_error_of_a_range_names_the_file_and_the_range(tmp_path: Path, fault: str) -> None:
    part = fastrec.file_ranges(write_misfits(tmp_path, fault, (False,)), 300)[1]
    for read in (
        lambda: list(Batcher(part, {"id": FEATURES["id"]}, 8)),
        lambda: list(arrow.table(part, {"id": FEATURES["id"]}).batches()),
    ):
        with pytest.raises(fastrec.FastrecError, match=rf"\[{part.begin}:{part.end}\]") as raised:
            read()
        error = raised.value
        assert (error.path, error.file_range) == (part.path, (part.begin, part.end))
        assert error.record in range(4)
