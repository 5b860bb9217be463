# SPDX-License-Identifier: Apache-2.0
"""fastrec.grain by Grain's own contracts: sources, batches by number, batches in turn."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
import fastrec.image
import fastrec.tfds

grain = pytest.importorskip("grain", reason="grain is not installed")

from fastrec.grain import BatchIterDataset, BatchMapDataset, Source  # noqa: E402

COUNT = 103


@pytest.fixture
def dense(features: dict[str, Any]) -> dict[str, Any]:
    return {name: features[name] for name in ("id", "x")}


def ids(batches: Any) -> list[int]:
    return [int(i) for batch in batches for i in batch["id"]]


def even_sizes(total: int, count: int) -> list[int]:
    """The sizes that Grain's even_split() gives `count` shards."""
    return [total // count + (index < total % count) for index in range(count)]


# --- sources ------------------------------------------------------------------------------------


def test_a_source_of_records(files: str) -> None:
    source = Source(files)
    assert isinstance(source, grain.sources.RandomAccessDataSource)
    assert len(source) == COUNT
    reader = fastrec.Reader(files)
    assert list(grain.MapDataset.source(source)) == list(reader)
    assert source._getitems([5, 3]) == [reader[5], reader[3]]
    with pytest.raises(IndexError):
        source[COUNT]
    copy = pickle.loads(pickle.dumps(source))
    assert copy[7] == reader[7]
    assert repr(copy) == repr(source)


def test_a_source_of_parsed_records(files: str, features: dict[str, Any]) -> None:
    dataset = grain.MapDataset.source(Source(files, features)).seed(1).shuffle()
    elements = list(dataset)
    assert sorted(int(element["id"]) for element in elements) == list(range(COUNT))
    for element in elements:
        assert element["name"] == b"n%d" % element["id"]
        assert element["x"].tolist() == [element["id"]] * 5
    with pytest.raises(ValueError, match="features is empty"):
        Source(files, {})


def test_bytes_keep_nul_bytes_at_their_end_in_a_batch(tmp_path: Any) -> None:
    values = [b"a", b"b\0", b"\0\0", b""]
    with fastrec.Writer(tmp_path / "file") as writer:
        writer.write_batch({"raw": values, "x": np.arange(4)})
    features = {
        "raw": fastrec.FixedLenFeature((), bytes),
        "x": fastrec.FixedLenFeature((), np.int64),
    }
    rows = grain.MapDataset.source(fastrec.grain.Source(tmp_path / "file", features))
    [batch] = rows.batch(4, batch_fn=fastrec.grain.collate)
    assert list(batch["raw"]) == values
    assert batch["x"].tolist() == [0, 1, 2, 3]

    records = grain.MapDataset.source(fastrec.grain.Source(tmp_path / "file"))
    [batch] = records.batch(4, batch_fn=fastrec.grain.collate)
    assert list(batch) == list(fastrec.Reader(tmp_path / "file"))


def test_a_data_loader_is_checkpointed(files: str, dense: dict[str, Any]) -> None:
    def make(copy: str) -> Any:
        sampler = grain.samplers.IndexSampler(
            COUNT, grain.sharding.NoSharding(), shuffle=True, num_epochs=1, seed=3
        )
        transformations = [grain.transforms.Batch(10)]
        return grain.DataLoader(
            data_source=Source(copy, dense), sampler=sampler, operations=transformations
        )

    batches = iter(make(files))
    taken = ids([next(batches), next(batches)])
    state = batches.get_state()
    rest = ids(batches)
    assert sorted(taken + rest) == list(range(COUNT))
    again = iter(make(files))
    again.set_state(state)
    assert ids(again) == rest


# --- records that cannot be used ------------------------------------------------------------------


@pytest.fixture
def unusable(tmp_path: Path) -> str:
    """Write 40 records; 3 does not match, 11 is no message, and 25 is damaged."""
    records = [fastrec.encode_example({"id": n}) for n in range(40)]
    records[3] = fastrec.encode_example({"other": 3})
    records[11] = b"no message"
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_many(records)
    data = bytearray(path.read_bytes())
    data[sum(len(record) + 16 for record in records[:25]) + 13] ^= 1
    path.write_bytes(data)
    return str(path)


KEPT = [n for n in range(40) if n not in (3, 11, 25)]
ID = {"id": fastrec.FixedLenFeature((), np.int64)}


@pytest.mark.parametrize("calls", [False, True])
def test_a_source_leaves_out_records_that_cannot_be_used(unusable: str, calls: bool) -> None:
    errors: list[Any] = []
    source = Source(unusable, ID, on_error=errors.append if calls else "skip")
    rows = grain.MapDataset.source(source)
    assert [n for n in range(40) if source[n] is None] == [3, 11, 25]
    assert source[-1]["id"] == 39
    assert [int(row["id"]) for row in rows.to_iter_dataset()] == KEPT
    batches = list(rows.to_iter_dataset().batch(8))
    assert ids(batches) == KEPT
    assert [len(batch["id"]) for batch in batches] == [8, 8, 8, 8, 5]
    assert source._getitems([25, 4, 4])[0] is None
    assert sorted(lost.record for lost in source.skipped) == [3, 11, 25]
    assert len(errors) == (3 if calls else 0)
    with pytest.raises(IndexError):
        source[40 + 3]
    with pytest.raises(fastrec.ExampleParseError, match="record 3 in"):
        list(grain.MapDataset.source(Source(unusable, ID)))


def test_a_record_that_is_requested_repeatedly_is_judged_once(unusable: str) -> None:
    source = Source(unusable, ID, on_error="skip")
    assert [source[3] for _ in range(200)] == [None] * 200
    assert source[4]["id"] == 4
    assert [lost.record for lost in source.skipped] == [3]


def test_an_empty_source_leaves_out_nothing(tmp_path: Path) -> None:
    fastrec.Writer(tmp_path / "empty").close()
    source = Source(tmp_path / "empty", ID, on_error="skip")
    assert len(source) == 0
    assert list(source._getitems([])) == []
    assert source.skipped == []


def test_a_source_of_records_leaves_out_the_damaged_one(unusable: str) -> None:
    source = Source(unusable, on_error="skip")
    assert [n for n in range(40) if source[n] is None] == [25]
    assert [lost.record for lost in source.skipped] == [25]
    with pytest.raises(fastrec.CorruptRecordError, match="record 25"):
        Source(unusable)[25]


def test_batches_by_number_leave_out_records_that_cannot_be_used(unusable: str) -> None:
    batches = BatchMapDataset(unusable, ID, 8, on_error="skip")
    assert [len(batch["id"]) for batch in batches] == [7, 7, 8, 7, 8]
    assert ids(batches) == KEPT
    assert sorted(lost.record for lost in batches.skipped) == [3, 11, 25]
    singles = BatchMapDataset(unusable, ID, 1, on_error="skip")
    assert singles[3] is None
    assert ids(singles.to_iter_dataset()) == KEPT
    shuffled = BatchMapDataset(unusable, ID, 8, shuffle=True, seed=1, on_error="skip")
    assert sorted(ids(shuffled.repeat(2))) == sorted(KEPT * 2)
    copy = pickle.loads(pickle.dumps(shuffled))
    assert sorted(ids(copy)) == KEPT
    with pytest.raises(fastrec.CorruptRecordError, match="record 25"):
        BatchMapDataset(unusable, ID, 8)[3]


def test_a_feature_that_no_record_fits_is_an_error(unusable: str) -> None:
    features = {"id": fastrec.FixedLenFeature((2,), np.int64)}
    for dataset in (
        grain.MapDataset.source(Source(unusable, features, on_error="skip")),
        BatchMapDataset(unusable, features, 8, on_error="skip"),
    ):
        with pytest.raises(fastrec.ExampleParseError, match="expected 2 values, found 1"):
            list(dataset)
    wrong: Any = "pass"
    with pytest.raises(ValueError, match="on_error must be"):
        Source(unusable, ID, on_error=wrong)
    with pytest.raises(ValueError, match="on_error must be"):
        BatchMapDataset(unusable, ID, 8, on_error=wrong)


def test_a_source_that_shrinks_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        writer.write_batch({"id": np.arange(40)})
    datasets = (
        Source(path, on_error="skip"),
        Source(path, ID, on_error="skip"),
        BatchMapDataset(path, ID, 8, on_error="skip"),
    )
    for dataset in datasets:
        dataset[0]
    os.truncate(path, path.stat().st_size // 2)
    for dataset in datasets:
        with pytest.raises(fastrec.TruncatedFileError, match=r"shrank .* open it again"):
            [dataset[number] for number in range(len(dataset))]


def test_a_file_without_records_has_no_batch_by_number(tmp_path: Path) -> None:
    fastrec.Writer(tmp_path / "a.tfrecord").close()
    batches = BatchMapDataset(tmp_path / "a.tfrecord", ID, 8)
    assert len(batches) == 0
    for number in (0, -1, 3):
        with pytest.raises(IndexError, match="out of range"):
            batches[number]


# --- batches by number --------------------------------------------------------------------------


def test_batches_by_number_are_those_of_a_batcher(files: str, features: dict[str, Any]) -> None:
    for shuffle in (False, True):
        dataset = BatchMapDataset(files, features, 10, shuffle=shuffle, seed=4)
        batcher = fastrec.Batcher(files, features, 10, shuffle=shuffle, seed=4)
        assert len(dataset) == len(batcher) == 11
        for ours, theirs in zip(dataset, batcher, strict=True):
            assert ours["id"].tolist() == theirs["id"].tolist()
            assert ours["name"] == theirs["name"]
    with pytest.raises(ValueError, match="shuffle requires seed"):
        BatchMapDataset(files, features, 10, shuffle=True)
    with pytest.raises(ValueError, match="batch_size must be at least 1"):
        BatchMapDataset(files, features, 0)


def test_each_time_through_is_shuffled_anew(files: str, dense: dict[str, Any]) -> None:
    dataset = BatchMapDataset(files, dense, 10, shuffle=True, seed=4)
    epochs = [ids([dataset[e * 11 + i] for i in range(11)]) for e in range(2)]
    assert epochs[0] != epochs[1]
    assert all(sorted(epoch) == list(range(COUNT)) for epoch in epochs)
    assert ids(dataset.repeat(2)) == epochs[0] + epochs[1]
    assert ids([dataset[-1]]) == ids([dataset[-1]])


def test_short_batches_can_be_left_out(files: str, dense: dict[str, Any]) -> None:
    dataset = BatchMapDataset(files, dense, 10, drop_remainder=True)
    assert [len(batch["id"]) for batch in dataset] == [10] * 10


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_slices_share_the_batches_out(files: str, dense: dict[str, Any], count: int) -> None:
    dataset = BatchMapDataset(files, dense, 4, shuffle=True, seed=4)
    parts = [dataset[index::count] for index in range(count)]
    assert sorted(i for part in parts for i in ids(part)) == list(range(COUNT))
    assert [len(part) for part in parts] == even_sizes(len(dataset), count)


def test_batches_by_number_are_checkpointed(files: str, dense: dict[str, Any]) -> None:
    dataset = BatchMapDataset(files, dense, 25, shuffle=True, seed=4)
    options = grain.ReadOptions(num_threads=1, prefetch_buffer_size=4)
    grain.experimental.assert_equal_output_after_checkpoint(dataset.to_iter_dataset(options))
    mapped = dataset.map(lambda batch: {"id": batch["id"] * 2})
    assert sorted(ids(mapped)) == [2 * i for i in range(COUNT)]


@pytest.mark.parametrize("kind", ["map", "iter"])
def test_worker_processes_share_the_batches(kind: str, files: str, dense: dict[str, Any]) -> None:
    if kind == "map":
        dataset = BatchMapDataset(files, dense, 10, shuffle=True, seed=4).to_iter_dataset()
    else:
        dataset = BatchIterDataset(files, dense, 10, shuffle=True, seed=4)
    flags = pytest.importorskip("absl.flags")
    flags.FLAGS.mark_as_parsed()  # as absl's app.run() does
    workers = grain.MultiprocessingOptions(num_workers=2)
    assert sorted(ids(dataset.mp_prefetch(workers))) == list(range(COUNT))


# --- batches in turn ----------------------------------------------------------------------------


def test_batches_in_turn_are_those_of_a_batcher(files: str, features: dict[str, Any]) -> None:
    dataset = BatchIterDataset(files, features, 10, shuffle=True, seed=4, epochs=2)
    expected = ids(fastrec.Batcher(files, features, 10, shuffle=True, seed=4, epochs=2))
    assert ids(dataset) == expected
    assert ids(dataset) == expected  # each iter() begins anew
    assert ids(dataset.map(lambda batch: {"id": batch["id"]})) == expected


@pytest.mark.parametrize(
    "options", [{}, {"shuffle": True}, {"shuffle": 16}, {"shuffle": True, "epochs": 2}]
)
def test_batches_in_turn_are_checkpointed(
    files: str, dense: dict[str, Any], options: dict[str, Any]
) -> None:
    dataset = BatchIterDataset(files, dense, 25, seed=4, **options)
    grain.experimental.assert_equal_output_after_checkpoint(dataset)
    grain.experimental.assert_equal_output_after_checkpoint(
        dataset.map(lambda batch: {"id": batch["id"] + 1})
    )


def test_a_state_is_json(files: str, dense: dict[str, Any]) -> None:
    dataset = BatchIterDataset(files, dense, 10, shuffle=True, seed=4)
    batches = iter(dataset)
    next(batches)
    state = json.loads(json.dumps(batches.get_state()))
    rest = ids(batches)
    again = iter(dataset)
    again.set_state(state)
    assert ids(again) == rest
    with pytest.raises(fastrec.FastrecError):
        iter(BatchIterDataset(files, dense, 11, shuffle=True, seed=4)).set_state(state)


def test_a_closed_iterator_says_so(files: str, dense: dict[str, Any]) -> None:
    batches = iter(BatchIterDataset(files, dense, 10))
    batches.close()
    batches.close()
    with pytest.raises(ValueError, match="closed"):
        next(batches)


def test_orbax_keeps_the_state(files: str, dense: dict[str, Any], tmp_path: Any) -> None:
    checkpoint = pytest.importorskip("orbax.checkpoint")
    dataset = BatchIterDataset(files, dense, 10, shuffle=True, seed=4)
    batches = iter(dataset)
    next(batches)
    with checkpoint.CheckpointManager(tmp_path / "states") as manager:
        manager.save(1, args=grain.checkpoint.CheckpointSave(batches))
        manager.wait_until_finished()
        rest = ids(batches)
        again = iter(dataset)
        manager.restore(1, args=grain.checkpoint.CheckpointRestore(again))
        assert ids(again) == rest


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_shards_are_as_large_as_grains(files: str, dense: dict[str, Any], count: int) -> None:
    seen, sizes = [], []
    for index in range(count):
        dataset = BatchIterDataset(files, dense, 8, shuffle=True, seed=4, shard=(index, count))
        seen += (own := ids(dataset))
        sizes.append(len(own))
    assert sorted(seen) == list(range(COUNT))
    assert sizes == even_sizes(COUNT, count)
    with pytest.raises(ValueError, match="requires seed"):
        BatchIterDataset(files, dense, 8, shuffle=True, shard=(0, 2))


# --- as Grain's own tests of its TFRecord dataset have it ---------------------------------------


def test_missing_empty_and_truncated_files(
    files: str, dense: dict[str, Any], tmp_path: Any
) -> None:
    with pytest.raises(FileNotFoundError):
        BatchIterDataset(str(tmp_path / "missing"), dense, 2)
    empty = tmp_path / "empty.tfrecord"
    empty.write_bytes(b"")
    assert list(BatchIterDataset(str(empty), dense, 2)) == []
    assert len(BatchMapDataset(str(empty), dense, 2)) == 0
    torn = tmp_path / "torn.tfrecord"
    with fastrec.Writer(torn) as writer:
        writer.write_batch({"id": np.arange(3), "x": np.zeros((3, 5), np.float32)})
    torn.write_bytes(torn.read_bytes()[:-1])
    with pytest.raises(ValueError, match="truncated record"):
        list(BatchIterDataset(str(torn), dense, 2))


def test_a_prepared_data_set_is_a_source(tmp_path: Path) -> None:
    examples = [{"x": np.full(3, i, np.float32)} for i in range(20)]
    described = {"x": fastrec.tfds.features.Tensor((3,))}
    path = fastrec.tfds.write(tmp_path, "numbers", {"train": examples}, described)
    source = fastrec.tfds.load(path, "train").as_data_source()
    batches = list(grain.MapDataset.source(source).shuffle(seed=0).batch(8))
    assert [len(batch["x"]) for batch in batches] == [8, 8, 4]
    sampler = grain.samplers.IndexSampler(
        num_records=20, shard_options=grain.sharding.NoSharding(), num_epochs=1, seed=0
    )
    loaded = grain.DataLoader(data_source=source, sampler=sampler, worker_count=0)
    assert sorted(int(each["x"][0]) for each in loaded) == list(range(20))


# --- images -------------------------------------------------------------------------------------


def test_images_in_every_kind_of_dataset(tmp_path: Path) -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed")
    from jpegs import encode, photo

    path, rng = str(tmp_path / "a.tfrecord"), np.random.default_rng(3)
    with fastrec.Writer(path) as writer:
        for _ in range(12):
            writer.write({"image": encode(photo(rng, 20, 16))})
    plain = {"image": fastrec.ImageFeature((20, 16))}
    assert Source(path, plain)[3]["image"].shape == (20, 16, 3)
    assert BatchMapDataset(path, plain, 5)[2]["image"].shape == (2, 20, 16, 3)

    flip = fastrec.image.Flip()
    features = {"image": fastrec.ImageFeature(transforms=[fastrec.image.RandomCrop(8), flip])}
    source = Source(path, features, seed=4)
    batches = BatchMapDataset(path, features, 12, seed=4)
    for epoch, expected in enumerate(fastrec.Batcher(path, features, 12, seed=4, epochs=3)):
        source.set_epoch(epoch)
        images = np.stack([source[index]["image"] for index in range(12)])
        assert np.array_equal(images, expected["image"])
        assert np.array_equal(batches[epoch]["image"], expected["image"])
    shuffled = fastrec.Batcher(path, features, 5, shuffle=True, seed=4)
    ours = BatchMapDataset(path, features, 5, shuffle=True, seed=4)
    for epoch in range(2):
        for number, batch in enumerate(shuffled):
            assert np.array_equal(ours[epoch * 3 + number]["image"], batch["image"])
    for make in (Source, BatchMapDataset):
        with pytest.raises(ValueError, match="pass seed"):
            make(path, features, *([5] if make is BatchMapDataset else []))
