# SPDX-License-Identifier: Apache-2.0
"""What a Dataset with ``on_error`` leaves out, and what remains an error."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch.utils.data import DataLoader, Subset  # noqa: E402

from fastrec.torch import Dataset, collate  # noqa: E402

FEATURES = {"id": fastrec.FixedLenFeature((), np.int64)}
SHARDS, SIZE = 20, 100


def write_shards(folder: Path) -> list[Path]:
    paths = [folder / f"a-{shard:05d}-of-{SHARDS:05d}" for shard in range(SHARDS)]
    for shard, path in enumerate(paths):
        with fastrec.Writer(path) as writer:
            writer.write_batch({"id": np.arange(SIZE) + shard * SIZE})
    return paths


def write_with(path: Path, unusable: set[int], count: int = 40) -> Dataset:
    """Write records of which some lack the feature, and open them."""
    with fastrec.Writer(path) as writer:
        for number in range(count):
            writer.write({"other" if number in unusable else "id": number})
    return Dataset(path, FEATURES, on_error="skip")


def ids(batches: Any) -> list[int]:
    return [int(number) for batch in batches for number in batch["id"]]


def shorten(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def shorten_by_one_byte(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def overwrite(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.write(np.random.default_rng(1).bytes(size))


def overwrite_with_zeros(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.write(bytes(size))


def write_other_records(path: Path) -> None:
    other = path.with_name("other")
    with fastrec.Writer(other) as writer:
        writer.write_many([b"another record"] * 300)
    with path.open("r+b") as file:
        file.write(other.read_bytes())
        file.truncate()


CHANGES = [
    shorten,
    shorten_by_one_byte,
    empty,
    overwrite,
    overwrite_with_zeros,
    write_other_records,
]


@pytest.mark.parametrize("calls", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_a_shard_that_changes_after_it_was_opened_is_an_error(
    tmp_path: Path, change: Callable[[Path], None], calls: bool
) -> None:
    paths = write_shards(tmp_path)
    errors: list[Any] = []
    dataset = Dataset(paths, FEATURES, on_error=errors.append if calls else "skip")
    assert len(dataset) == SHARDS * SIZE
    assert int(dataset[0]["id"]) == 0
    change(paths[7])
    generator = torch.Generator().manual_seed(0)
    loader = DataLoader(dataset, shuffle=True, batch_size=64, generator=generator)
    with pytest.raises(fastrec.CorruptRecordError, match="open it again") as raised:
        list(loader)
    assert raised.value.path == str(paths[7])
    assert raised.value.kind != "data-crc"
    assert not [lost for lost in dataset.skipped if lost.kind in ("shrunk", "length-crc")]


@pytest.mark.parametrize("indices", [[43, 1], [1, 43], [3, 40], [40 + 3], [-41, 1], [2**70]])
def test_a_number_out_of_range_is_an_error(tmp_path: Path, indices: list[int]) -> None:
    dataset = write_with(tmp_path / "a", {3})
    assert len(list(dataset)) == 39  # now number 3 is known
    with pytest.raises((IndexError, TypeError), match=r"out of range|must be integers"):
        dataset.__getitems__(indices)
    with pytest.raises((IndexError, TypeError), match=r"out of range|must be integers"):
        dataset[max(indices, key=abs)]


def test_a_source_without_records_has_no_record_by_number(tmp_path: Path) -> None:
    dataset = write_with(tmp_path / "a", set(), 0)
    for index in (0, -1, 5):
        with pytest.raises(IndexError, match="out of range"):
            dataset[index]
    assert list(dataset) == []
    assert len(dataset.__getitems__([])) == 0


def test_a_loop_over_a_subclass_calls_its_method(tmp_path: Path) -> None:
    class Doubled(Dataset):
        def __getitem__(self, index: Any) -> Any:
            return 2 * int(super().__getitem__(index)["id"])

    write_with(tmp_path / "a", {3}, 5)
    assert list(Doubled(tmp_path / "a", FEATURES, on_error="skip")) == [0, 2, 4, 8]
    write_with(tmp_path / "b", set(), 3)
    assert list(Doubled(tmp_path / "b", FEATURES)) == [0, 2, 4]


def test_a_warning_names_the_line_of_the_loop(tmp_path: Path) -> None:
    dataset = write_with(tmp_path / "a", set(range(0, 200, 5)), 200)
    loops: list[Callable[[], Any]] = [
        lambda: list(DataLoader(dataset, batch_size=100)),
        lambda: list(Dataset(tmp_path / "a", FEATURES, on_error="skip")),
    ]
    for loop in loops:
        with pytest.warns(RuntimeWarning, match=r"left out \d+ of \d+ records; the") as caught:
            loop()
        assert [warning.filename for warning in caught] == [__file__]


def test_a_loop_over_a_dataset_omits_unusable_records(tmp_path: Path) -> None:
    unusable = {0, 3, 4, 5, 39}
    dataset = write_with(tmp_path / "a", unusable)
    expected = [number for number in range(40) if number not in unusable]
    for _ in range(2):
        assert [int(row["id"]) for row in dataset] == expected
    assert {lost.record for lost in dataset.skipped} == unusable
    doubled = Dataset(tmp_path / "a", FEATURES, lambda row: row["id"] * 2, on_error="skip")
    assert [int(each) for each in doubled] == [2 * number for number in expected]


@pytest.mark.parametrize(
    ("unusable", "batch_size"), [({3}, 1), ({39}, 13), ({8, 9, 10, 11}, 4)], ids=str
)
@pytest.mark.parametrize("collated", [None, collate])
def test_a_batch_of_unusable_records_only_is_an_error_with_a_remedy(
    tmp_path: Path, unusable: set[int], batch_size: int, collated: Any
) -> None:
    dataset = write_with(tmp_path / "a", unusable)
    for _ in range(2):
        loader = DataLoader(dataset, batch_size=batch_size, collate_fn=collated)
        with pytest.raises(fastrec.ExampleParseError, match="IterableDataset") as raised:
            list(loader)
        message = str(raised.value)
        assert f"record {min(unusable)} in" in message
        assert f"left out all {len(unusable)} requested records" in message
        assert "larger batch_size" in message
        assert raised.value.record == min(unusable)
    sound = Subset(dataset, [number for number in range(40) if number not in unusable])
    assert len(ids(DataLoader(sound, batch_size=batch_size))) == 40 - len(unusable)


@pytest.mark.parametrize("calls", [False, True])
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
def test_each_worker_warns_once_at_its_first_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: bool
) -> None:
    path, log = tmp_path / "a", tmp_path / "log"
    write_with(path, {3, 11, 13, 25}, 200)
    dataset = Dataset(path, FEATURES, on_error=(lambda error: None) if calls else "skip")

    def write(message: Any, *others: Any) -> None:
        with log.open("a") as file:
            file.write(f"{message}\n")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", write)
        loader = DataLoader(dataset, batch_size=8, num_workers=2, multiprocessing_context="fork")
        assert len(ids(loader)) == 196
    messages = log.read_text().splitlines() if log.exists() else []
    losses = sorted(message for message in messages if "left out record" in message)
    assert len(losses) == (0 if calls else 2)
    if not calls:
        assert f"record 11 of {str(path)!a} in worker process" in losses[0]
        assert f"record 3 of {str(path)!a} in worker process" in losses[1]
    assert not dataset.skipped


def test_a_process_with_the_list_of_losses_does_not_warn_at_the_first(tmp_path: Path) -> None:
    dataset = write_with(tmp_path / "a", {3}, 200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(ids(DataLoader(dataset, batch_size=8))) == 199
    assert [lost.record for lost in dataset.skipped] == [3]
