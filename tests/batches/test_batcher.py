# SPDX-License-Identifier: Apache-2.0
"""Batches: every record once an epoch, in an order that the seed alone decides."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from verbs import flip, gzipped, number_records, offsets_of, write, write_examples

import fastrec
from fastrec import Batcher

NUMBER = {"i": fastrec.FixedLenFeature((), np.int64)}
FEATURES: dict[str, Any] = {
    **NUMBER,
    "image": fastrec.RawFeature((4, 3), np.uint8),
    "words": fastrec.RaggedFeature(bytes),
    "name": fastrec.FixedLenFeature((), bytes),
}


def row(i: int) -> dict[str, Any]:
    words = [b"w%d" % j for j in range(i % 4)]
    return {"i": i, "image": np.full((4, 3), i % 256, np.uint8), "words": words, "name": b"%d" % i}


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """100 records, which say their number, in files of 40, 0, 1 and 59."""
    folder = tmp_path_factory.mktemp("batcher")
    ends = [0, 40, 40, 41, 100]
    return [
        write_examples(folder / f"part-{k}", map(row, range(ends[k], ends[k + 1])))
        for k in range(4)
    ]


def numbers(batcher: Batcher) -> list[list[int]]:
    with batcher:
        return [batch["i"].tolist() for batch in batcher]


def flat(batches: list[list[int]]) -> list[int]:
    return [number for batch in batches for number in batch]


@pytest.mark.filterwarnings("ignore:drop_remainder=True leaves no batch")
@pytest.mark.parametrize("size", [1, 7, 10, 99, 100, 101])
@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.filterwarnings("ignore:drop_remainder")
def test_in_order_every_record_comes_once(paths: list[Path], size: int, drop: bool) -> None:
    expected = [list(range(k, min(k + size, 100))) for k in range(0, 100, size)]
    if drop and len(expected[-1]) < size:
        expected.pop()
    batcher = Batcher(paths, NUMBER, size, drop_remainder=drop)
    assert len(batcher) == len(expected)
    assert numbers(batcher) == expected


@given(
    size=st.integers(1, 40),
    epochs=st.integers(1, 3),
    drop=st.booleans(),
    seed=st.integers(0, 2**64 - 1),
    threads=st.integers(1, 4),
    prefetch=st.integers(1, 5),
)
def test_shuffled_every_record_comes_once_an_epoch(
    paths: list[Path], size: int, epochs: int, drop: bool, seed: int, threads: int, prefetch: int
) -> None:
    options: dict[str, Any] = {"shuffle": True, "seed": seed, "epochs": epochs}
    options["drop_remainder"] = drop
    batcher = Batcher(paths, NUMBER, size, **options, threads=threads, prefetch=prefetch)
    batches = numbers(batcher)
    per_epoch = 100 // size if drop else -(-100 // size)
    assert len(batches) == len(batcher) == epochs * per_epoch
    for epoch in range(epochs):
        seen = flat(batches[epoch * per_epoch : (epoch + 1) * per_epoch])
        assert len(set(seen)) == len(seen) == (100 // size * size if drop else 100)
        assert set(seen) <= set(range(100))
    assert numbers(Batcher(paths, NUMBER, size, **options, threads=5 - threads)) == batches


def test_a_seed_decides_the_order_and_each_epoch_has_its_own(paths: list[Path]) -> None:
    orders = [
        flat(numbers(Batcher(paths, NUMBER, 100, shuffle=True, seed=seed, epochs=2)))
        for seed in (0, 0, 1, 2**63)
    ]
    assert orders[0] == orders[1]
    epochs = {tuple(order[k : k + 100]) for order in orders for k in (0, 100)}
    assert len(epochs) == 6
    assert tuple(range(100)) not in epochs


def test_without_a_seed_every_batcher_shuffles_anew(paths: list[Path]) -> None:
    orders = {tuple(flat(numbers(Batcher(paths, NUMBER, 10, shuffle=True)))) for _ in range(3)}
    assert len(orders) == 3


def test_a_shuffle_is_uniform_enough(paths: list[Path]) -> None:
    # Where record 0 lands over 4,000 epochs: each of 100 places 40 times, give or take 5 sigma.
    batcher = Batcher(paths, NUMBER, 100, shuffle=True, seed=7, epochs=4000)
    places = np.bincount([int(np.flatnonzero(b["i"] == 0)[0]) for b in batcher], minlength=100)
    assert abs(places - 40).max() < 5 * np.sqrt(40)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 100, 130])
@pytest.mark.parametrize("shuffle", [False, True])
def test_shards_are_disjoint_covering_and_even(
    paths: list[Path], count: int, shuffle: bool
) -> None:
    options: dict[str, Any] = {"shuffle": shuffle, "seed": 3, "epochs": 2}
    shards = [
        flat(numbers(Batcher(paths, NUMBER, 4, shard=(index, count), **options)))
        for index in range(count)
    ]
    sizes = [len(shard) // 2 for shard in shards]
    assert max(sizes) - min(sizes) <= 1
    for epoch in (0, 1):
        seen = [n for s, k in zip(shards, sizes, strict=True) for n in s[epoch * k :][:k]]
        assert sorted(seen) == list(range(100))


def test_epochs_none_goes_on_for_ever(paths: list[Path]) -> None:
    with Batcher(paths, NUMBER, 30, epochs=None) as batcher:
        iterator = iter(batcher)
        seen = [next(iterator)["i"].tolist() for _ in range(50)]
    assert seen[:5] == [
        *([*range(k, k + 30)] for k in (0, 30, 60)),
        [*range(90, 100)],
        [*range(30)],
    ]


def test_every_kind_of_column_is_what_parsing_gives(paths: list[Path]) -> None:
    whole = list(fastrec.Reader(paths))
    for k, batch in enumerate(Batcher(paths, FEATURES, 30, threads=2)):
        expected = fastrec.parse_example(whole[30 * k : 30 * k + 30], FEATURES)
        assert list(batch) == list(FEATURES)
        np.testing.assert_array_equal(batch["image"], expected["image"])
        assert batch["words"] == expected["words"]
        assert batch["name"] == expected["name"]


@pytest.mark.parametrize("threads", [1, 3])
def test_without_features_batches_are_raw_records(paths: list[Path], threads: int) -> None:
    records = list(fastrec.Reader(paths))
    batches = list(Batcher(paths, batch_size=30, threads=threads))
    assert all(isinstance(batch, fastrec.Bytes) for batch in batches)
    assert [record for batch in batches for record in batch] == records
    shuffled = [r for b in Batcher(paths, batch_size=7, shuffle=True, seed=1) for r in b]
    assert shuffled != records
    assert sorted(shuffled) == sorted(records)


def test_a_transform_is_applied_to_every_batch_in_order(paths: list[Path]) -> None:
    sums = list(Batcher(paths, NUMBER, 10, transform=lambda batch: int(batch["i"].sum())))
    assert sums == [sum(range(k, k + 10)) for k in range(0, 100, 10)]


def test_trouble_in_a_transform_comes_through(paths: list[Path]) -> None:
    def trouble(batch: Any) -> Any:
        raise KeyError("mine")

    with (
        Batcher(paths, NUMBER, 10, transform=trouble) as batcher,
        pytest.raises(KeyError, match="mine"),
    ):
        next(iter(batcher))


def test_a_batcher_can_be_iterated_again_and_twice_at_once(paths: list[Path]) -> None:
    batcher = Batcher(paths, NUMBER, 10, shuffle=True, seed=5)
    whole = [batch["i"].tolist() for batch in batcher]
    one, two = iter(batcher), iter(batcher)
    pairs = [(a["i"].tolist(), b["i"].tolist()) for a, b in zip(one, two, strict=True)]
    again = Batcher(paths, NUMBER, 10, shuffle=True, seed=5, epochs=3)
    whole += [a for a, _ in pairs] + [b for _, b in pairs]
    assert whole == [batch["i"].tolist() for batch in again]


@pytest.mark.parametrize("features", [NUMBER, None])
def test_compressed_files_are_read_in_their_order(tmp_path: Path, features: Any) -> None:
    records = [reference.encode(row(i)) for i in range(50)]
    for k in range(2):
        data = reference.write_frames(records[25 * k : 25 * k + 25])
        (tmp_path / f"{k}.gz").write_bytes(gzipped(data))
    batches = list(Batcher(str(tmp_path / "*.gz"), features, 10, epochs=2))
    if features:
        assert flat([batch["i"].tolist() for batch in batches]) == [*range(50)] * 2
    else:
        assert [record for batch in batches for record in batch] == records * 2


@pytest.mark.parametrize("shuffle", [True, "blocks"])
def test_compressed_files_are_shuffled_as_others(tmp_path: Path, shuffle: Any) -> None:
    frames = [reference.write_frames(number_records(500, start)) for start in (0, 500)]
    for number, data in enumerate(frames):
        (tmp_path / f"{number}.plain").write_bytes(data)
        (tmp_path / f"{number}.packed").write_bytes(gzipped(data))
    plain, packed = (
        Batcher(str(tmp_path / f"*.{kind}"), batch_size=7, shuffle=shuffle, seed=3, shard=(1, 2))
        for kind in ("plain", "packed")
    )
    assert len(packed) == len(plain)
    for _ in range(2):
        assert [list(batch) for batch in packed] == [list(batch) for batch in plain]


def test_no_records_are_no_batches(tmp_path: Path) -> None:
    path = write(tmp_path / "empty", [])
    for epochs in (1, 3, None):
        batcher = Batcher(path, NUMBER, 4, epochs=epochs, shuffle=True)
        assert list(batcher) == []


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 0},
        {"batch_size": -1},
        {"epochs": -1},
        {"epochs": 0},
        {"threads": 0},
        {"threads": -1},
        {"prefetch": -1},
        {"shard": (1, 1)},
        {"shard": (-1, 2)},
        {"shard": (0, 0)},
        {"shard": 3},
        {"batch_size": 2.5},
        {"features": {}},
        {"features": {"a": int}},
        {"seed": "x"},
        {"threads": 10**6},
        {"batch_size": 2**63},
        {"features": ["i"]},
        {"seed": 1.5},
        {"shard": (0, 2, 3)},
        {"shard": "all"},
        {"transform": 3},
        {"buckets": fastrec.Buckets("absent")},
        {"buckets": fastrec.Buckets("i"), "features": None},
        {"augment": {"i": "flip"}},
        {"augment": {"absent": fastrec.Augment(flip=True)}},
    ],
    ids=str,
)
def test_options_that_cannot_be_are_refused_at_once(
    paths: list[Path], options: dict[str, Any]
) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError)):
        Batcher(paths, **{"features": NUMBER, "shuffle": True, **options})


def test_a_seed_can_be_of_any_integer_type(paths: list[Path]) -> None:
    seeds: list[Any] = [3, np.int64(3), np.uint8(3), 3 + 2**64]
    orders = [numbers(Batcher(paths, NUMBER, 10, shuffle=True, seed=seed)) for seed in seeds]
    assert all(order == orders[0] for order in orders)


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_damaged_record_is_an_error_at_its_batch(tmp_path: Path, threads: int) -> None:
    records = [reference.encode(row(i)) for i in range(50)]
    offsets = offsets_of(records)
    whole = write(tmp_path / "a", records)
    frames = flip(reference.write_frames(records), 8 * (offsets[33] + 12))
    (tmp_path / "b").write_bytes(frames)
    seen = []
    iterator = iter(Batcher([whole, tmp_path / "b"], NUMBER, 10, threads=threads))
    for _ in range(8):
        seen += next(iterator)["i"].tolist()
    assert seen == [*range(50), *range(30)]
    with pytest.raises(fastrec.CorruptRecordError) as caught:
        next(iterator)
    error = caught.value
    place = (error.path, error.record, error.offset, error.kind)
    assert place == (str(tmp_path / "b"), 33, offsets[33], "data-crc")
    with pytest.raises((StopIteration, fastrec.CorruptRecordError)):
        next(iterator)
    unverified = Batcher([whole, tmp_path / "b"], batch_size=10, verify=False, threads=threads)
    assert sum(map(len, unverified)) == 100


@pytest.mark.parametrize("bad", [{"i": "text"}, {}, {"i": [1, 2]}, b"\xff\xff", b"\x0a"])
def test_an_example_that_does_not_fit_is_an_error_with_its_place(tmp_path: Path, bad: Any) -> None:
    records = [reference.encode(row(i)) for i in range(20)]
    records[13] = bad if isinstance(bad, bytes) else reference.encode(bad)
    path = write(tmp_path / "file", records)
    iterator = iter(Batcher(path, NUMBER, 5, threads=2))
    assert [next(iterator)["i"].tolist() for _ in range(2)] == [[*range(5)], [*range(5, 10)]]
    with pytest.raises(fastrec.ExampleParseError) as caught:
        next(iterator)
    error = caught.value
    assert (error.path, error.record, error.offset) == (str(path), 13, offsets_of(records)[13])
    assert error.kind == ("malformed" if isinstance(bad, bytes) else "schema")


@pytest.mark.parametrize(
    ("feature", "bad"),
    [
        (fastrec.RaggedFeature(np.int64, "v", [fastrec.RaggedFeature.RowLengths("n")]), [9]),
        (fastrec.SparseFeature("n", "v", np.int64, 10), [1, 2, 3]),
        (fastrec.FixedLenSequenceFeature((2,), np.int64, True), None),
    ],
    ids=["ragged", "sparse", "padded"],
)
@pytest.mark.parametrize("shuffle", [False, True])
def test_columns_that_do_not_fit_each_other_are_an_error_of_their_record(
    tmp_path: Path, feature: Any, bad: Any, shuffle: bool
) -> None:
    records = [reference.encode({"v": [1, 2], "n": [0, 2]}) for _ in range(40)]
    records[33] = reference.encode({"v": [1, 2] if bad else [1, 2, 3], "n": bad or [0, 2]})
    first, second = write(tmp_path / "a", records[:20]), write(tmp_path / "b", records[20:])
    batcher = Batcher([first, second], {"v": feature}, 5, threads=2, shuffle=shuffle, seed=4)
    batches = iter(batcher)
    with pytest.raises(fastrec.ExampleParseError) as caught:
        list(batches)
    error = caught.value
    assert (error.path, error.record, error.kind) == (str(second), 13, "schema")
    assert error.offset == offsets_of(records[20:])[13]
    assert str(error).startswith(f"record 13 in '{second}': feature ")
    with pytest.raises(fastrec.ExampleParseError):  # again and again
        next(batches)
    packed = tmp_path / "gz"
    packed.write_bytes(gzipped(first.read_bytes() + second.read_bytes()))
    with pytest.raises(
        fastrec.ExampleParseError, match=r"^record 33 in '.*gz': feature "
    ) as caught:
        list(Batcher(packed, {"v": feature}, 5))
    assert caught.value.record == 33


def test_a_truncated_file_is_never_a_short_epoch(tmp_path: Path) -> None:
    records = [reference.encode(row(i)) for i in range(20)]
    frames = reference.write_frames(records)
    (tmp_path / "file").write_bytes(frames[:-1])
    for shuffle in (False, True):
        with pytest.raises(fastrec.TruncatedFileError) as caught:
            list(Batcher(tmp_path / "file", NUMBER, 5, shuffle=shuffle))
        assert (caught.value.record, caught.value.offset) == (19, offsets_of(records)[19])


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        list(Batcher(tmp_path / "absent", NUMBER))
    assert os.fspath(caught.value.filename) == str(tmp_path / "absent")


def test_single_records_do_not_depend_on_their_neighbours(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "rows") as writer:
        for count in (3, 0, 1):
            writer.write_many([fastrec.encode_example({"x": list(range(count))})])
    for feature in (
        fastrec.VarLenFeature(np.int64),
        fastrec.FixedLenSequenceFeature((), np.int64, True),
        fastrec.RaggedFeature(np.int64),
    ):
        rows = [row["x"] for row in Batcher(tmp_path / "rows", {"x": feature}, None)]
        for row, record in zip(rows, fastrec.Reader(tmp_path / "rows"), strict=True):
            alone = fastrec.parse_single_example(record, {"x": feature})["x"]
            assert getattr(row, "dense_shape", np.shape(row)) == getattr(
                alone, "dense_shape", np.shape(alone)
            )
