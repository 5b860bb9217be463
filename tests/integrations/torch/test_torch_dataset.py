# SPDX-License-Identifier: Apache-2.0
"""fastrec.torch.Dataset in an unmodified DataLoader, and in what else takes a map-style dataset."""

from __future__ import annotations

import functools
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from jpegs import encode, photo
from misfits import USABLE, write_misfits

import fastrec
import fastrec.image
from fastrec.columns import Arrays

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch.utils.data import (  # noqa: E402
    BatchSampler,
    ConcatDataset,
    DataLoader,
    DistributedSampler,
    StackDataset,
    Subset,
    WeightedRandomSampler,
    random_split,
)
from torch_programs import fail_on_seven, tuple_of  # noqa: E402

from fastrec.torch import Batch, Dataset, Row, Rows, collate  # noqa: E402

COUNT = 103


@pytest.fixture
def dataset(files: str, features: dict[str, Any]) -> Any:
    return Dataset(files, features)


def ids(loader: Any) -> list[int]:
    return [int(i) for batch in loader for i in batch["id"]]


def check(batch: Any) -> None:
    """All columns of a batch are of the same records."""
    numbers = batch["id"].numpy()
    assert batch["id"].dtype == torch.int64
    assert batch["x"].dtype == torch.float32
    assert (batch["x"].numpy() == numbers[:, None]).all()
    assert batch["name"] == [b"n%d" % n for n in numbers]
    assert [len(row) for row in batch["tokens"].unbind()] == list(numbers % 4)


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_data_loader_makes_batches_of_tensors(dataset: Any, shuffle: bool) -> None:
    batches = list(DataLoader(dataset, batch_size=16, shuffle=shuffle))
    assert [len(batch["id"]) for batch in batches] == [16] * 6 + [7]
    for batch in batches:
        assert isinstance(batch, Batch)
        check(batch)
    assert sorted(ids(batches)) == list(range(COUNT))
    assert shuffle or ids(batches) == list(range(COUNT))


def test_tensors_share_the_memory_of_the_columns(dataset: Any) -> None:
    rows = dataset.__getitems__([3, 1, 2])
    batch = collate(rows)
    assert batch["x"].data_ptr() == rows.columns["x"].ctypes.data
    assert batch["id"].tolist() == [3, 1, 2]
    batch["x"].add_(1)  # writable, and nobody else's
    assert rows[0]["x"].tolist() == [4] * 5


METHODS = [
    "fork",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("spawn", "forkserver")),
]


@pytest.mark.parametrize("method", METHODS)
def test_workers_give_the_same_batches(dataset: Any, method: str) -> None:
    alone = ids(DataLoader(dataset, batch_size=8))
    loader = DataLoader(
        dataset,
        batch_size=8,
        num_workers=2,
        multiprocessing_context=method,
        persistent_workers=True,
    )
    for _ in range(2):
        batches = list(loader)
        assert ids(batches) == alone
        for batch in batches:
            check(batch)


def test_the_last_batch_can_be_dropped(dataset: Any) -> None:
    loader = DataLoader(dataset, batch_size=10, drop_last=True)
    assert len(loader) == len(list(loader)) == 10


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_a_distributed_sampler_shares_the_records_out(dataset: Any, ranks: int) -> None:
    seen = []
    for rank in range(ranks):
        sampler = DistributedSampler(dataset, ranks, rank, shuffle=True, seed=4, drop_last=True)
        sampler.set_epoch(2)
        seen += ids(DataLoader(dataset, batch_size=8, sampler=sampler))
    assert len(seen) == len(set(seen)) == COUNT - COUNT % ranks


def test_samplers_subsets_and_splits(dataset: Any) -> None:
    assert ids(DataLoader(Subset(dataset, [5, 9, 5]), batch_size=2)) == [5, 9, 5]
    parts = random_split(dataset, [0.5, 0.5], torch.Generator().manual_seed(0))
    assert sorted(i for part in parts for i in ids(DataLoader(part, batch_size=7))) == [
        *range(COUNT)
    ]
    weights = torch.zeros(COUNT)
    weights[17] = 1
    assert ids(DataLoader(dataset, 4, sampler=WeightedRandomSampler(weights, 6))) == [17] * 6
    sampler = BatchSampler(range(5, 0, -1), 2, drop_last=False)
    assert ids(DataLoader(dataset, batch_sampler=sampler)) == [5, 4, 3, 2, 1]


def test_datasets_that_take_samples_one_by_one(dataset: Any) -> None:
    both = ConcatDataset([dataset, Subset(dataset, range(3))])
    batches = list(DataLoader(both, batch_size=53, collate_fn=collate))
    assert ids(batches) == [*range(COUNT), 0, 1, 2]
    for batch in batches:
        check(batch)
    stacked = DataLoader(StackDataset(a=dataset, b=dataset), batch_size=50, collate_fn=list)
    assert [int(sample["b"]["id"]) for batch in stacked for sample in batch] == [*range(COUNT)]


def test_a_collate_function_sees_samples_as_mappings(dataset: Any) -> None:
    def by_hand(samples: Any) -> Any:
        assert all(isinstance(sample, Mapping) for sample in samples)
        assert list(samples[0]) == ["id", "x", "name", "tokens"]
        return torch.stack([dict(s)["x"] for s in samples]), [s["name"] for s in samples]

    values, names = next(iter(DataLoader(dataset, batch_size=3, collate_fn=by_hand)))
    assert values[:, 0].tolist() == [0, 1, 2]
    assert names == [b"n0", b"n1", b"n2"]


def test_rows_in_another_order_are_stacked(dataset: Any) -> None:
    rows = dataset.__getitems__(range(10))
    for samples in (rows[::-1], rows[2:5], [rows[4], rows[4]], [*rows, dataset[50]]):
        check(collate(samples))
    assert collate(list(rows))["x"].data_ptr() == rows.columns["x"].ctypes.data


def test_a_single_sample(dataset: Any) -> None:
    sample = dataset[-1]
    assert isinstance(sample, Row)
    assert len(sample) == 4
    assert sample["id"].item() == COUNT - 1
    assert sample["x"].shape == (5,)
    assert sample["name"] == b"n102"
    assert sample["tokens"].tolist() == list(range(151, 153))
    assert dataset[torch.tensor(3)]["id"].item() == 3
    assert "tensor" in repr(sample)
    with pytest.raises(IndexError):
        dataset[COUNT]
    assert len(list(dataset)) == COUNT
    copy = pickle.loads(pickle.dumps(sample))
    assert copy["name"] == b"n102"


def test_a_transform_sees_a_dict_of_each_sample(files: str, features: dict[str, Any]) -> None:
    dataset = Dataset(files, features, transform=tuple_of)
    for workers in (0, 2):
        loader = DataLoader(dataset, batch_size=25, num_workers=workers)
        assert [int(i) for _, i in loader for i in i] == list(range(COUNT))
    x, number = dataset[7]
    assert x.tolist() == [14] * 5
    assert number == 7
    with pytest.raises(TypeError, match="transform must be callable, got int"):
        Dataset(files, features, transform=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("workers", [0, 2])
def test_ways_to_represent_ragged_columns(dataset: Any, workers: int) -> None:
    def first(ragged: Any) -> Any:
        function = functools.partial(collate, ragged=ragged, padding=-1)
        loader = DataLoader(dataset, batch_size=4, num_workers=workers, collate_fn=function)
        return next(iter(loader))

    rows = [[], [0], [1, 2], [3, 4, 5]]
    assert [t.tolist() for t in first("list")["tokens"]] == rows
    assert [t.tolist() for t in first("nested")["tokens"].unbind()] == rows
    padded = first("padded")
    assert padded["tokens"].tolist() == [row + [-1] * (3 - len(row)) for row in rows]
    assert padded["tokens_length"].tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="ragged must be one of"):
        collate([], ragged="jagged")  # type: ignore[arg-type]


def test_sparse_columns_become_sparse_tensors(files: str) -> None:
    dataset = Dataset(files, {"tokens": fastrec.VarLenFeature(np.int64)})
    batch = next(iter(DataLoader(dataset, batch_size=4)))
    assert batch["tokens"].to_dense().tolist() == [[0, 0, 0], [0, 0, 0], [1, 2, 0], [3, 4, 5]]
    texts = Dataset(files, {"name": fastrec.VarLenFeature(bytes)})
    assert next(iter(DataLoader(texts, batch_size=2)))["name"] == [[b"n0"], [b"n1"]]


def test_sequence_examples_are_padded(tmp_path: Any) -> None:
    path = tmp_path / "sequences.tfrecord"
    with fastrec.Writer(path) as writer:
        for n in range(5):
            frames = {"f": [[i, i] for i in range(n)]}
            writer.write(fastrec.encode_sequence_example({"id": n}, frames))
    dataset = Dataset(
        path,
        {"id": fastrec.FixedLenFeature((), np.int64)},
        sequence_features={"f": fastrec.FixedLenSequenceFeature((2,), np.int64, True)},
    )
    (batch,) = DataLoader(dataset, batch_size=5)
    assert batch["f"].shape == (5, 4, 2)
    assert batch["f_length"].tolist() == [0, 1, 2, 3, 4]
    assert dataset[3]["f"].tolist() == [[0, 0], [1, 1], [2, 2]]
    rows = dataset.__getitems__([4, 2])
    assert rows[1]["f"].shape == (2, 2)  # without what pads it
    other = collate(rows[::-1])
    assert other["f"].tolist()[0] == [[0, 0], [1, 1], [0, 0], [0, 0]]
    assert other["f_length"].tolist() == [2, 4]
    with pytest.raises(ValueError, match="'id' is in features and in sequence_features"):
        Dataset(path, dataset.features, sequence_features=dataset.features)


def test_inferred_feature_lists_are_read(tmp_path: Any) -> None:
    path = tmp_path / "sequences.tfrecord"
    with fastrec.Writer(path) as writer:
        for n in range(5):
            writer.write(fastrec.encode_sequence_example({"id": n}, {"f": [[n]] * n}))
    features: Any = fastrec.infer_features(path)
    for each in (features, fastrec.SequenceFeatures(features.context, features.sequence)):
        dataset = Dataset(path, each)
        assert [len(row["f"]) for row in dataset] == [0, 1, 2, 3, 4]
    with pytest.raises(TypeError, match="mutually exclusive"):
        Dataset(path, features, sequence_features={})


def test_names_that_lengths_would_take_are_refused() -> None:
    rows = fastrec.Ragged(np.arange(3), np.array([0, 1, 3]))
    with pytest.raises(ValueError, match="rename the feature"):
        collate(Rows({"r": rows, "r_length": np.zeros(2)}, 2), ragged="padded")


def test_what_cannot_work_is_refused_at_once(files: str, features: dict[str, Any]) -> None:
    with pytest.raises(FileNotFoundError):
        Dataset("/nowhere/*.tfrecord", features)
    with pytest.raises(ValueError, match="features is empty"):
        Dataset(files, {})
    with pytest.raises(TypeError, match="'id' must be a FixedLenFeature"):
        Dataset(files, {"id": int})


def test_a_reader_brings_its_options(files: str, features: dict[str, Any]) -> None:
    reader = fastrec.Reader(files, verify=False)
    assert Dataset(reader, features).reader is reader


@pytest.mark.parametrize("workers", [0, 1])
def test_errors_name_file_and_record(tmp_path: Any, workers: int) -> None:
    path = tmp_path / "odd.tfrecord"
    with fastrec.Writer(path) as writer:
        for n in range(9):
            writer.write({"id": n} if n != 6 else {"other": 1})
    dataset = Dataset(path, {"id": fastrec.FixedLenFeature((), np.int64)})
    with pytest.raises(fastrec.ExampleParseError) as caught:
        list(DataLoader(dataset, batch_size=4, num_workers=workers))
    assert "record 6 in " in str(caught.value)
    assert "odd.tfrecord" in str(caught.value)
    if workers == 0:
        assert caught.value.record == 6
        assert caught.value.path == os.fspath(path)
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    path.write_bytes(data)
    with pytest.raises(fastrec.CorruptRecordError, match=r"odd\.tfrecord"):
        list(DataLoader(dataset, batch_size=4, sampler=[8], num_workers=workers))


def test_an_exception_of_a_transform_comes_through(files: str, features: dict[str, Any]) -> None:
    dataset = Dataset(files, features, transform=fail_on_seven)
    with pytest.raises(ZeroDivisionError):
        list(DataLoader(dataset, batch_size=4, num_workers=1))


@pytest.mark.parametrize("error", [StopIteration, IndexError])
def test_no_exception_of_a_transform_ends_a_pass(
    files: str, features: dict[str, Any], error: type[Exception]
) -> None:
    def fail(sample: dict[str, Any]) -> Any:
        if int(sample["id"]) == 50:
            raise error("of the transform")
        return sample

    ids_only = {"id": features["id"]}
    dataset = Dataset(files, ids_only, transform=fail)
    expected = RuntimeError if error is StopIteration else error
    for samples in (
        dataset,
        DataLoader(dataset, batch_size=4),
        DataLoader(dataset, batch_size=4, num_workers=1),
        DataLoader(dataset, batch_size=None),
    ):
        with pytest.raises(expected):
            list(samples)
    assert len(list(Dataset(files, ids_only))) == COUNT


def write_unusable(path: Any) -> dict[str, Any]:
    """Write 40 records; 3 does not match, 11 is no message, and 25 is damaged."""
    records = [fastrec.encode_example({"id": n}) for n in range(40)]
    records[3] = fastrec.encode_example({"other": 3})
    records[11] = b"no message"
    with fastrec.Writer(path) as writer:
        writer.write_many(records)
    data = bytearray(path.read_bytes())
    data[sum(len(record) + 16 for record in records[:25]) + 13] ^= 1
    path.write_bytes(data)
    return {"id": fastrec.FixedLenFeature((), np.int64)}


@pytest.mark.parametrize("kind", ["features", "sequences", "callable"])
@pytest.mark.parametrize("workers", [0, 1])
def test_records_that_cannot_be_used_are_left_out(tmp_path: Any, kind: str, workers: int) -> None:
    features = write_unusable(tmp_path / "a.tfrecord")
    errors: list[Any] = []
    on_error: Any = errors.append if kind == "callable" else "skip"
    lists: Any = {"f": fastrec.RaggedFeature(np.int64)} if kind == "sequences" else None
    dataset = Dataset(tmp_path / "a.tfrecord", features, sequence_features=lists, on_error=on_error)
    kept = [n for n in range(40) if n not in (3, 11, 25)]
    for _ in range(2):
        loader = DataLoader(dataset, batch_size=8, collate_fn=collate, num_workers=workers)
        with warnings.catch_warnings():
            if workers:  # each warns at its first loss
                warnings.filterwarnings("ignore", "on_error left out record")
            batches = list(loader)
        assert ids(batches) == kept
        assert [len(batch["id"]) for batch in batches] == [7, 7, 8, 7, 8]
    if not workers:
        assert sorted(lost.record for lost in dataset.skipped) == [3, 11, 25]
        assert len(errors) == (3 if kind == "callable" else 0)
    with pytest.raises(fastrec.ExampleParseError, match="record 3 in"):
        dataset[3]
    with pytest.raises(fastrec.CorruptRecordError, match="record 25"):
        dataset[25]


def test_a_feature_that_no_record_fits_is_an_error(tmp_path: Any) -> None:
    write_unusable(tmp_path / "a.tfrecord")
    features = {"id": fastrec.FixedLenFeature((2,), np.int64)}
    dataset = Dataset(tmp_path / "a.tfrecord", features, on_error="skip")
    with pytest.raises(fastrec.ExampleParseError, match="expected 2 values, found 1"):
        list(DataLoader(dataset, batch_size=8))
    with pytest.raises(ValueError, match="on_error must be"):
        Dataset(tmp_path / "a.tfrecord", features, on_error="tolerate_tail")  # type: ignore[arg-type]


def test_many_records_that_are_left_out_are_a_warning(tmp_path: Any) -> None:
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        for number in range(200):
            writer.write({"id": number} if number % 4 else {"other": 1})
    features = {"id": fastrec.FixedLenFeature((), np.int64)}
    dataset = Dataset(tmp_path / "a.tfrecord", features, on_error="skip")
    with pytest.warns(RuntimeWarning, match="on_error left out .* is missing") as caught:
        assert len(ids(DataLoader(dataset, batch_size=8))) == 150
    assert len(caught) == 1


@pytest.mark.parametrize("workers", [0, 2])
def test_compressed_files_are_shuffled(tmp_path: Any, workers: int) -> None:
    path = tmp_path / "x.tfrecord.gz"
    with fastrec.Writer(path, compression="GZIP") as writer:
        writer.write_batch({"id": np.arange(300)})
    dataset = Dataset(path, {"id": fastrec.FixedLenFeature((), np.int64)})
    assert len(dataset) == 300
    loaded = ids(DataLoader(dataset, batch_size=32, shuffle=True, num_workers=workers))
    assert sorted(loaded) == list(range(300)) != loaded


def test_threads_share_a_dataset(dataset: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        loaded = pool.map(lambda i: ids([collate(dataset.__getitems__([i, i + 1]))]), range(102))
        assert list(loaded) == [[i, i + 1] for i in range(102)]


def test_it_can_be_pickled(dataset: Any) -> None:
    again = pickle.loads(pickle.dumps(dataset))
    assert ids(DataLoader(again, batch_size=50)) == list(range(COUNT))
    assert "3 files" in repr(again)


IMAGE = fastrec.ImageFeature(transforms=[fastrec.image.RandomResizedCrop(8), fastrec.image.Flip()])


@pytest.fixture(scope="module")
def image_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    rng = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("images") / "a.tfrecord"
    with fastrec.Writer(path) as writer:
        for number in range(12):
            writer.write({"image": encode(photo(rng, 20, 16)), "id": number})
    return str(path)


@pytest.mark.parametrize("feature", [fastrec.ImageFeature((20, 16)), fastrec.ImageFeature()])
def test_images_are_a_column(image_file: str, feature: Any) -> None:
    dataset = Dataset(image_file, {"image": feature})
    assert len(dataset) == 12
    assert dataset[3]["image"].shape == (20, 16, 3)
    batches = list(DataLoader(dataset, 5))
    assert [len(batch["image"]) for batch in batches] == [5, 5, 2]


@pytest.mark.parametrize("method", [None, "fork", pytest.param("spawn", marks=pytest.mark.slow)])
@pytest.mark.parametrize("persistent", [False, True])
def test_random_images_follow_seed_and_epoch(
    image_file: str, method: str | None, persistent: bool
) -> None:
    features = {"image": IMAGE, "id": fastrec.FixedLenFeature((), np.int64)}
    dataset = Dataset(image_file, features, seed=4)
    loader = DataLoader(
        dataset,
        4,
        shuffle=True,
        num_workers=2 if method else 0,
        multiprocessing_context=method,
        persistent_workers=bool(persistent and method),
    )
    batcher = fastrec.Batcher(image_file, features, 12, seed=4)
    for epoch in range(3):
        dataset.set_epoch(epoch)
        (expected,) = batcher
        for batch in loader:
            images = expected["image"][batch["id"].numpy()]
            assert np.array_equal(batch["image"].numpy(), images)
    with pytest.raises(ValueError, match="pass seed"):
        Dataset(image_file, features)
    with pytest.raises(ValueError, match="epoch must be at least 0, got -1"):
        dataset.set_epoch(-1)


def test_a_reader_that_skips_every_record_is_an_error(tmp_path: Any) -> None:
    features = {"id": fastrec.FixedLenFeature((), np.int64)}
    paths = write_misfits(tmp_path, "damaged", (True, False))
    dataset = Dataset(fastrec.Reader(paths, on_error="skip"), features)
    assert [int(i) for batch in DataLoader(dataset, 7) for i in batch["id"]] == USABLE
    dataset = Dataset(fastrec.Reader(paths[0], on_error="skip"), features)
    with pytest.raises(fastrec.CorruptRecordError, match="no record can be used"):
        list(DataLoader(dataset, 7))


LEAVE = """
import sys
import fastrec, fastrec.torch
from torch.utils.data import DataLoader

features = {"id": fastrec.FixedLenFeature((), int)}
if sys.argv[2] == "Dataset":
    loader = DataLoader(fastrec.torch.Dataset(sys.argv[1], features), 4, num_workers=2)
else:
    dataset = fastrec.torch.IterableDataset(sys.argv[1], features, 4, shuffle=True, seed=0)
    loader = DataLoader(dataset, batch_size=None, num_workers=2, persistent_workers=True)
batches = iter(loader)
next(batches)
"""


@pytest.mark.parametrize("kind", ["Dataset", "IterableDataset"])
def test_a_program_that_ends_while_workers_live_prints_no_error(tmp_path: Any, kind: str) -> None:
    with fastrec.Writer(tmp_path / "a.tfrecord") as writer:
        writer.write_batch({"id": np.arange(1000)})
    command = [sys.executable, "-W", "ignore", "-c", LEAVE, str(tmp_path / "a.tfrecord"), kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0
    assert done.stderr == ""


def test_columns_stay_columns_when_a_loader_pins_batches() -> None:
    from torch.utils.data._utils.pin_memory import pin_memory  # what the pinning thread calls

    features = {
        "name": fastrec.FixedLenFeature((), bytes),
        "values": fastrec.RaggedFeature(np.int64),
        "sparse": fastrec.VarLenFeature(np.int64),
    }
    records = [
        fastrec.encode_example({"name": b"n", "values": [1, 2][:n], "sparse": [n]})
        for n in range(3)
    ]
    batch: dict[str, Any] = fastrec.parse_example(records, features)
    batch["arrays"] = Arrays(np.arange(5), np.array([0, 4, 5]), np.array([[2, 2], [1, 1]]))
    pinned = pin_memory(batch)
    assert pinned is not batch
    assert all(pinned[name] is column for name, column in batch.items())
