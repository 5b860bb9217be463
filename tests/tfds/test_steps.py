# SPDX-License-Identifier: Apache-2.0
"""Steps of all episodes: each once, from where they lie, resumed, sharded, in windows."""

from __future__ import annotations

import gc
import json
import os
import pickle
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
import fastrec.tfds
from fastrec import _core
from fastrec.errors import (
    CorruptRecordError,
    ExampleParseError,
    FastrecError,
    TruncatedFileError,
)
from fastrec.tfds import features
from fastrec.tfds.fetch import Fetch

SETS = Path(__file__).parents[1] / "data" / "tfds"
LENGTHS = [1, 2, 3, 4]  # of the episodes that write_tfds.py makes

STEP = {
    "observation": {"state": features.Tensor((2,)), "text": features.Text()},
    "action": features.Tensor((3,), "float64"),
    "is_last": "bool",
}


def write(
    directory: Path, lengths: list[int], *, shard_bytes: int = 1 << 20, name: str = "arm"
) -> str:
    episodes = [
        {
            "steps": [
                {
                    "observation": {"state": [e, t], "text": f"{e}:{t}"},
                    "action": [e, t, -1],
                    "is_last": t == length - 1,
                }
                for t in range(length)
            ],
            "id": e,
        }
        for e, length in enumerate(lengths)
    ]
    described = {"steps": features.Dataset(STEP), "id": "int64"}
    return fastrec.tfds.write(
        directory, name, {"train": episodes}, described, shard_bytes=shard_bytes
    )


def places(batches: Any) -> list[tuple[int, int]]:
    return [
        place
        for batch in batches
        for place in zip(batch["_traj_index"].tolist(), batch["_frame_index"].tolist(), strict=True)
    ]


def all_places(lengths: list[int]) -> list[tuple[int, int]]:
    return [(e, t) for e, length in enumerate(lengths) for t in range(length)]


def test_steps_are_those_of_the_episodes() -> None:
    pytest.importorskip("PIL")
    dataset = fastrec.tfds.load(SETS, split="train", name="episodes")
    episodes = [list(episode["steps"]) for episode in dataset]
    batcher = dataset.steps(3, shuffle=True, seed=5, metadata=True)
    assert sorted(places(batcher)) == all_places(LENGTHS)
    for batch in batcher:
        for row, (e, t) in enumerate(places([batch])):
            step = episodes[e][t]
            assert batch["_len"][row] == LENGTHS[e]
            for key in ("image", "depth", "state", "embedding"):
                ours, theirs = batch["observation"][key][row], step["observation"][key]
                assert ours.dtype == theirs.dtype
                assert np.array_equal(ours, theirs), key
            for key in ("action", "reward", "is_first", "is_last", "counter", "packed"):
                assert np.array_equal(batch[key][row], step[key]), key
            assert batch["instruction"][row] == step["instruction"]
            assert batch["episode_metadata"]["id"][row] == e
            assert batch["episode_metadata"]["file_path"][row] == b"/data/%d" % e
    assert "tags" not in batch  # their number varies from step to step


@pytest.mark.parametrize("window", [None, 1, 3])
@pytest.mark.parametrize("chunk", [None, 2, 9])
def test_windows_end_with_the_episode(tmp_path: Path, window: Any, chunk: Any) -> None:
    lengths = [3, 1, 5]
    dataset = fastrec.tfds.load(write(tmp_path, lengths), split="train")
    seen = 0
    for batch in dataset.steps(4, window=window, chunk=chunk, shuffle=True, seed=0):
        for row, (e, t) in enumerate(places([batch])):
            seen += 1
            before = [t] if window is None else list(range(t - window + 1, t + 1))
            after = [t] if chunk is None else list(range(t, t + chunk))
            state = batch["observation"]["state"][row].reshape(-1, 2).tolist()
            assert state == [[e, max(0, at)] for at in before]
            texts = batch["observation"]["text"][row]
            texts = [texts] if window is None else texts.to_list()
            assert texts == [b"%d:%d" % (e, max(0, at)) for at in before]
            last = lengths[e] - 1
            action = batch["action"][row].reshape(-1, 3).tolist()
            assert action == [[e, min(last, at), -1] for at in after]
            if window is not None:
                assert batch["_window_mask"][row].tolist() == [at >= 0 for at in before]
            if chunk is not None:
                assert batch["_chunk_mask"][row].tolist() == [at <= last for at in after]
            assert batch["is_last"][row] == (t == last)
    assert seen == sum(lengths)


def test_a_batch_of_one_step_is_like_others(tmp_path: Path) -> None:
    (batch,) = fastrec.tfds.load(write(tmp_path, [1]), split="train").steps(1)
    arrays = [batch["observation"]["state"], batch["action"]]
    for array in arrays:  # the strides of a row's field are those of rows, which PyTorch refuses
        assert all(stride % array.itemsize == 0 for stride in array.strides)


def test_shuffling_goes_over_all_steps(tmp_path: Path) -> None:
    lengths = [20] * 50
    dataset = fastrec.tfds.load(write(tmp_path, lengths, shard_bytes=4000), split="train")
    assert len(dataset.files) > 5
    order = places(dataset.steps(16, shuffle=True, seed=3))
    assert sorted(order) == all_places(lengths)
    assert len({e for e, _ in order[:60]}) > 20  # a batch is of everywhere


def test_a_run_is_resumed_at_the_next_batch(tmp_path: Path) -> None:
    lengths = [5, 9, 2, 7]
    path = write(tmp_path / "one", lengths)
    options: dict[str, Any] = {"shuffle": True, "seed": 7, "window": 2, "chunk": 3}
    dataset = fastrec.tfds.load(path, split="train")
    batches = iter(dataset.steps(4, **options))
    next(batches)
    state = json.loads(json.dumps(batches.state_dict()))
    rest = places(batches)
    # Another process has another directory, and makes its rows anew.
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    again = fastrec.tfds.load(tmp_path / "two", split="train").steps(4, **options)
    again.load_state_dict(state)
    assert places(again) == rest
    other = fastrec.tfds.load(path, split="train[:3]").steps(4, **options)
    with pytest.raises(FastrecError, match="state"):
        other.load_state_dict(state)


def test_shards_share_the_steps(tmp_path: Path) -> None:
    lengths = [5, 9, 2, 7]
    dataset = fastrec.tfds.load(write(tmp_path, lengths), split="train")
    shards = [
        places(dataset.steps(4, shuffle=True, seed=1, shard=(index, 3))) for index in range(3)
    ]
    assert sorted(place for shard in shards for place in shard) == all_places(lengths)
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


def test_part_of_the_episodes(tmp_path: Path) -> None:
    lengths = [5, 9, 2, 7]
    dataset = fastrec.tfds.load(write(tmp_path, lengths, shard_bytes=300), split="train[1:3]")
    found = [batch["observation"]["state"].tolist() for batch in dataset.steps(100)]
    assert found[0] == [[e, t] for e in (1, 2) for t in range(lengths[e])]


def test_a_batcher_of_steps_goes_to_another_process(tmp_path: Path) -> None:
    dataset = fastrec.tfds.load(write(tmp_path, [3, 4]), split="train")
    batcher = dataset.steps(2, shuffle=True, seed=0, chunk=2)
    there = pickle.loads(pickle.dumps(batcher))
    assert places(there) == places(batcher)
    assert places(pickle.loads(pickle.dumps(dataset)).steps(7)) == all_places([3, 4])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork()")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_of_fork_waits_for_no_thread_of_its_parent(tmp_path: Path) -> None:
    dataset = fastrec.tfds.load(write(tmp_path, [3, 4]), split="train")
    gc.collect()
    batcher = dataset.steps(2)
    (fetch,) = (each for each in gc.get_objects() if type(each) is Fetch)
    with fetch._lock.current(), dataset._lock.current():
        child = os.fork()
        if not child:
            signal.alarm(60)
            good = places(batcher) == all_places([3, 4]) and int(dataset[1]["id"]) == 1
            os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert places(batcher) == all_places([3, 4])  # the child has removed nothing


def test_rows_are_kept_for_the_next_time(tmp_path: Path) -> None:
    path = write(tmp_path / "set", [3, 4])
    index = tmp_path / "index"
    first = fastrec.tfds.load(path, split="train").steps(2, index=index)
    (kept,) = index.iterdir()
    stamp = kept.stat().st_mtime_ns
    second = fastrec.tfds.load(path, split="train").steps(2, index=index)
    assert places(first) == places(second) == all_places([3, 4])
    assert [each.stat().st_mtime_ns for each in index.iterdir()] == [stamp]
    fastrec.tfds.load(path, split="train").steps(2, index=index, features=["action"])
    assert len(list(index.iterdir())) == 2  # other features are other rows


def test_rows_that_were_not_kept_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    dataset = fastrec.tfds.load(write(tmp_path, [3, 4]), split="train")
    batcher = dataset.steps(2)
    assert len(list(temporary.rglob("*.rows"))) == 1
    del batcher
    gc.collect()
    assert not list(temporary.iterdir())


def test_some_features_of_steps(tmp_path: Path) -> None:
    dataset = fastrec.tfds.load(write(tmp_path, [3, 4]), split="train")
    batch = next(iter(dataset.steps(2, features=["observation/state"])))
    assert set(batch) == {"observation", "_traj_index", "_frame_index", "_len"}
    assert set(batch["observation"]) == {"state"}
    with pytest.raises(ValueError, match=r"features must be in .* got 'steps/reward'"):
        dataset.steps(2, features=["reward"])
    with pytest.raises(ValueError, match="window must be at least 1"):
        dataset.steps(2, window=0)
    with pytest.raises(ValueError, match="decode must name features of a step, got 'image'"):
        dataset.steps(2, decode={"image": fastrec.ImageFeature()})
    tags = fastrec.tfds.load(SETS, split="train", name="episodes")
    with pytest.raises(ValueError, match=r"'steps/tags' .* varies from step to step"):
        tags.steps(2, features=["tags"])


def test_images_are_decoded_as_asked() -> None:
    pytest.importorskip("PIL")
    dataset = fastrec.tfds.load(SETS, split="train", name="episodes")
    small = {"observation/image": fastrec.ImageFeature((3, 2), fit="resize")}
    batch = next(iter(dataset.steps(4, decode=small, window=2)))
    assert batch["observation"]["image"].shape == (4, 2, 3, 2, 3)
    raw = next(iter(dataset.steps(4, decode=False, features=["observation/image"])))
    assert raw["observation"]["image"][0].startswith(b"\x89PNG")


def test_images_of_another_size_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    step = {"observation": {"image": features.Image((None, None, 3))}, "action": "float32"}
    rows = [{"observation": {"image": np.zeros((2, 3, 3), np.uint8)}, "action": 0}]
    described = {"steps": features.Dataset(step)}
    path = fastrec.tfds.write(tmp_path, "arm", {"train": [{"steps": rows}]}, described)
    dataset = fastrec.tfds.load(path, split="train")
    (batch,) = dataset.steps(2)
    assert batch["observation"]["image"][0].shape == (2, 3, 3)
    with pytest.raises(ValueError, match="several sizes: a window of them requires decode="):
        dataset.steps(2, window=2)
    sized = {"observation/image": fastrec.ImageFeature((4, 4), fit="resize")}
    (batch,) = dataset.steps(2, window=2, decode=sized)
    assert batch["observation"]["image"].shape == (1, 2, 4, 4, 3)
    file = Path(path) / "features.json"
    file.write_text(file.read_text().replace('"-1"', '"4"', 2))
    with pytest.raises(ExampleParseError, match="image must be 4x4, got 2x3"):
        list(fastrec.tfds.load(path, split="train").steps(2))


def test_a_transform_has_the_batch(tmp_path: Path) -> None:
    dataset = fastrec.tfds.load(write(tmp_path, [3, 4]), split="train")
    assert sum(dataset.steps(2, transform=_rows)) == 7


def _rows(batch: Any) -> int:
    return len(batch["action"])


# --- damage -----------------------------------------------------------------------------------


def test_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, [3, 4])
    dataset = fastrec.tfds.load(path, split="train")
    batcher = dataset.steps(2)
    file = Path(dataset.files[0].path)
    with open(file, "ab") as out:
        out.write(b"more")
    with pytest.raises(FastrecError, match=r"train.tfrecord.* has changed since its steps"):
        list(batcher)


def test_bytes_that_changed_are_found(tmp_path: Path) -> None:
    path = write(tmp_path, [3, 4])
    dataset = fastrec.tfds.load(path, split="train")
    batcher = dataset.steps(7)
    file = Path(dataset.files[0].path)
    status, data = file.stat(), bytearray(file.read_bytes())
    at = data.index(b"1:2")
    data[at] ^= 1
    with open(file, "r+b") as out:
        out.write(data)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(CorruptRecordError, match="'observation/text': the checksum differs") as it:
        list(batcher)
    assert it.value.path == str(file)
    assert it.value.offset == at


def test_a_damaged_episode_is_found_while_rows_are_made(tmp_path: Path) -> None:
    path = write(tmp_path, [3, 4])
    dataset = fastrec.tfds.load(path, split="train")
    file = Path(dataset.files[0].path)
    data = bytearray(file.read_bytes())
    data[data.index(b"1:2")] ^= 1
    file.write_bytes(data)
    with pytest.raises(CorruptRecordError, match="tfrecord-00000-of-00001"):
        dataset.steps(7)


def rewrite(path: str, change: Any) -> None:
    """Write the records of a set again, with the features of each changed."""
    (file,) = Path(path).glob("*.tfrecord-*")
    records = []
    for record in list(fastrec.Reader(file)):
        example = fastrec.train.Example.FromString(record)
        change(example.features.feature)
        records.append(example.SerializeToString())
    with fastrec.Writer(file, overwrite=True) as writer:
        writer.write_many(records)


@pytest.mark.parametrize(
    ("feature", "values", "message"),
    [
        ("steps/action", [0.5] * 4, "4 values must be of shape"),
        ("steps/action", [0.5] * 3, "has .* steps, and 'steps/"),
        ("steps/observation/text", [b"one"], "has .* steps, and 'steps/"),
        ("steps/observation/text", [1.0], "must be a list of bytes|expected bytes_list"),
        ("steps/is_last", [2, 0, 0], "2 does not fit|out of range|is not"),
    ],
)
def test_episodes_of_other_lengths_are_refused(
    tmp_path: Path, feature: str, values: list[Any], message: str
) -> None:
    path = write(tmp_path, [3, 3])

    def change(found: Any) -> None:
        del found[feature]
        kind = {bytes: "bytes_list", float: "float_list", int: "int64_list"}[type(values[0])]
        getattr(found[feature], kind).value.extend(values)

    rewrite(path, change)
    dataset = fastrec.tfds.load(path, split="train")
    with pytest.raises(ExampleParseError, match=message) as caught:
        dataset.steps(2)
    assert "record 0" in str(caught.value)
    assert "arm-train.tfrecord" in str(caught.value)
    with pytest.raises(ExampleParseError, match=r"record 0 in .*arm-train.tfrecord"):
        list(dataset[0]["steps"])


def test_a_set_without_steps(tmp_path: Path) -> None:
    path = fastrec.tfds.write(tmp_path, "flat", {"train": [{"x": 1}]}, {"x": "int64"})
    with pytest.raises(ValueError, match="must have a dataset of steps"):
        fastrec.tfds.load(path, split="train").steps(2)
    empty = write(tmp_path, [0, 0])
    with pytest.raises(FastrecError, match="has no steps"):
        fastrec.tfds.load(empty, split="train").steps(2)


# --- statistics -------------------------------------------------------------------------------


def test_statistics(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(3, 2, (1000, 3)).astype(np.float32)
    path = fastrec.tfds.write(
        tmp_path, "n", {"train": [{"x": row} for row in rows]}, {"x": features.Tensor((3,))}
    )
    found = fastrec.tfds.load(path, split="train").statistics(quantiles=(0.1, 0.5))["x"]
    exact = rows.astype(np.float64)
    assert found.count == 1000
    assert np.allclose(found.mean, exact.mean(axis=0), rtol=1e-12)
    assert np.allclose(found.std, exact.std(axis=0), rtol=1e-12)
    assert np.array_equal(found.min, exact.min(axis=0))
    assert np.array_equal(found.max, exact.max(axis=0))
    assert np.array_equal(found.quantiles[0.1], np.quantile(exact, 0.1, axis=0))
    few = fastrec.tfds.load(path, split="train").statistics(max_sample=100, quantiles=(0.5,))["x"]
    assert np.allclose(few.quantiles[0.5], exact[::16].mean(axis=0), atol=1)
    assert np.allclose(few.mean, found.mean)
    assert set(found.to_dict()) == {"count", "mean", "std", "min", "max", "q10", "q50"}


def test_statistics_count_values_that_are_not_finite(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(3, 2, (100, 3)).astype(np.float32)
    rows[::7, 0], rows[5, 1], rows[6:8, 1] = np.nan, np.inf, -np.inf
    rows[:, 2] = np.nan
    path = fastrec.tfds.write(
        tmp_path, "n", {"train": [{"x": row} for row in rows]}, {"x": features.Tensor((3,))}
    )
    found = fastrec.tfds.load(path, split="train").statistics(quantiles=(0.5,))["x"]
    assert found.count == 100
    assert found.nan.tolist() == [15, 0, 100]
    assert found.infinite.tolist() == [0, 3, 0]
    for place in (0, 1):
        exact = rows[:, place][np.isfinite(rows[:, place])].astype(np.float64)
        assert np.isclose(found.mean[place], exact.mean(), rtol=1e-12)
        assert np.isclose(found.std[place], exact.std(), rtol=1e-12)
        assert (found.min[place], found.max[place]) == (exact.min(), exact.max())
        assert np.isclose(found.quantiles[0.5][place], np.median(exact))
    assert all(np.isnan(each[2]) for each in (found.mean, found.std, found.min, found.max))
    assert found.to_dict()["nan"] == [15, 0, 100]


def test_statistics_of_steps(tmp_path: Path) -> None:
    dataset = fastrec.tfds.load(write(tmp_path, [3, 4]), split="train")
    found = dataset.statistics()
    assert set(found) == {"steps/observation/state", "steps/action", "id"}
    assert found["steps/action"].count == 7
    assert found["steps/action"].max.tolist() == [1, 3, -1]
    assert found["id"].count == 2
    with pytest.raises(ValueError, match="is not of numbers"):
        dataset.statistics(["steps/observation/text"])


# --- a real set -------------------------------------------------------------------------------


@pytest.mark.parametrize("split", ["train", "val", "val[40%:]"])
def test_a_real_set_of_episodes(shared_data: Path, split: str) -> None:
    pytest.importorskip("PIL")
    dataset = fastrec.tfds.load(shared_data / "tfds" / "bridge_dataset", split=split)
    episodes = [episode["steps"] for episode in dataset]
    batcher = dataset.steps(32, shuffle=True, seed=2, window=2, chunk=4)
    assert sorted(places(batcher)) == all_places([len(each) for each in episodes])
    for batch in batcher:
        for row, (e, t) in enumerate(places([batch])):
            now, before = episodes[e][t], episodes[e][max(0, t - 1)]
            image = batch["observation"]["image_0"][row]
            assert np.array_equal(image[1], now["observation"]["image_0"])
            assert np.array_equal(image[0], before["observation"]["image_0"])
            last = episodes[e][min(len(episodes[e]) - 1, t + 3)]
            assert np.array_equal(batch["action"][row, 3], last["action"])
            assert np.array_equal(batch["language_embedding"][row], now["language_embedding"])
            assert batch["language_instruction"][row] == now["language_instruction"]


def pieces_of(*rows: tuple[int, int, int, int]) -> Any:
    return np.array(list(rows), _core.PIECE)


def test_pieces_of_files_are_held_against_their_checksums(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(range(100)))
    crc = fastrec.crc32c(bytes(range(10, 14)))
    out = np.zeros(8, np.uint8)
    out[4:] = range(10, 14)
    with path.open("rb") as file:
        fds = np.array([file.fileno(), -1], np.intc)
        read = _core.read_pieces
        # The second is there already, and only checked; a piece may be empty.
        read(pieces_of((10, 4, crc, 0), (50, 0, 0, 0), (0, 4, crc, 1)), fds, out, [path, "else"])
        assert out.tolist() == [10, 11, 12, 13] * 2
        read(pieces_of(), fds, out[:0], [])
        with pytest.raises(CorruptRecordError, match=r"at 11 in .*data.*\(record 1\)") as caught:
            read(pieces_of((10, 4, crc, 0), (11, 4, crc, 0)), fds, out, [path])
        assert (caught.value.offset, caught.value.kind) == (11, "data-crc")
        with pytest.raises(TruncatedFileError, match="the file ends 2 bytes before"):
            read(pieces_of((98, 4, crc, 0)), fds, out[:4], [path])
        for row in ((0, 4, crc, 2), (2**63 - 3, 4, crc, 0), (2**64 - 1, 4, crc, 0)):
            with pytest.raises(ValueError, match="piece 0 is out of range"):
                read(pieces_of(row), fds, out[:4], [path])
        with pytest.raises(ValueError, match="out must have 4 bytes, got 8"):
            read(pieces_of((0, 4, crc, 0)), fds, out, [path])
        with pytest.raises(TypeError, match="pieces must be of"):
            read(np.zeros(1), fds, out, [path])
    closed = np.array([fds[0]], np.intc)
    with pytest.raises(OSError, match="Bad file descriptor") as failed:
        _core.read_pieces(pieces_of((10, 4, crc, 0)), closed, out[:4], [str(path)])
    assert failed.value.filename == str(path)


def test_elements_of_lists_are_found() -> None:
    values = [b"one", b"", bytes(300), b"\xff"]
    record = fastrec.train.BytesList(value=values).SerializeToString()
    found = _core.find_pieces(b"ahead" + record, 5, 5 + len(record), 1000)
    assert [record[at - 1000 : at - 1000 + size] for at, size, _, _ in found.tolist()] == values
    assert found["crc"].tolist() == [fastrec.crc32c(value) for value in values]
    numbers = np.arange(6, dtype="<f4").tobytes()
    pairs = _core.find_pieces(numbers, 0, 24, 7, 8)
    assert pairs["offset"].tolist() == [7, 15, 23]
    assert pairs["crc"].tolist() == [fastrec.crc32c(numbers[i : i + 8]) for i in (0, 8, 16)]
    assert len(_core.find_pieces(b"", 0, 0, 0)) == 0
    whole = {0, 5, 7, 310}  # bytes after which an element ends
    for size in set(range(len(record))) - whole:
        with pytest.raises(ExampleParseError, match="is not inside a bytes_list value"):
            _core.find_pieces(record, 0, size, 0)
    for data, each, message in (
        (b"\x0a\x05abc", 0, "offset 0 is not inside a bytes_list value"),
        (b"\x12\x01a", 0, "field 2 of a list of bytes is not known"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 0, "is not inside a bytes_list value"),
        (b"12345", 4, "5 bytes are no elements of 4"),
    ):
        with pytest.raises(ExampleParseError, match=message):
            _core.find_pieces(data, 0, len(data), 0, each)
    for arguments in ((2, 1, 0), (0, 4, 0), (0, 3, 2**63 - 1)):
        with pytest.raises(ValueError, match="are out of range"):
            _core.find_pieces(b"abc", *arguments)
