# SPDX-License-Identifier: Apache-2.0
"""Conversion of episodes to LeRobot's format and back, and steps in the form of its items."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
import fastrec.tfds
from fastrec import cli
from fastrec.errors import CorruptRecordError, ExampleParseError, FastrecError
from fastrec.tfds import features

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("PIL", reason="Pillow is not installed")
pq = pytest.importorskip("pyarrow.parquet")

HEIGHT, WIDTH = 32, 48
STEP = {
    "observation": {
        "image": features.Image((HEIGHT, WIDTH, 3), encoding_format="png"),
        "grey": features.Image((None, None, 1), encoding_format="png"),
        "state": features.Tensor((4,)),
        "matrix": features.Tensor((2, 3), "int64"),
    },
    "action": features.Tensor((3,)),
    "reward": "float32",
    "is_first": "bool",
    "is_last": "bool",
    "is_terminal": "bool",
    "language_instruction": features.Text(),
    "note": features.Text(),
    "exact": features.Tensor((2,), "float64", "bytes"),
    "one": features.Tensor((1,), "int32"),
}
EPISODE = {
    "steps": features.Dataset(STEP),
    "episode_metadata": {"file_path": features.Text(), "id": "int64", "success": "bool"},
}
LENGTHS = [5, 1, 7, 3, 4]
FPS = 10


def picture(episode: int, step: int, channels: int) -> Any:
    """An image that a video can represent: colours that change slowly."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    planes = [(rows * 2 + columns + 20 * step + 30 * episode + 50 * c) % 200 for c in range(3)]
    return np.stack(planes[:channels], axis=-1).astype(np.uint8)


def episode(number: int, length: int) -> dict[str, Any]:
    draw = np.random.default_rng(number)
    steps = [
        {
            "observation": {
                "image": picture(number, step, 3),
                "grey": picture(number, step, 1),
                "state": draw.normal(size=4),
                "matrix": draw.integers(-9, 9, (2, 3)),
            },
            "action": draw.normal(size=3),
            "reward": step / length,
            "is_first": step == 0,
            "is_last": step == length - 1,
            "is_terminal": number % 2 == 0 and step == length - 1,
            "language_instruction": f"do {(number + step // 4) % 2} é",
            "note": f"{number}:{step}",
            "exact": draw.normal(size=2),
            "one": [number * 100 + step],
        }
        for step in range(length)
    ]
    about = {"file_path": f"/data/{number}", "id": number, "success": number % 2 == 1}
    return {"steps": steps, "episode_metadata": about}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> str:
    episodes = [episode(number, length) for number, length in enumerate(LENGTHS)]
    folder = tmp_path_factory.mktemp("sets")
    return fastrec.tfds.write(folder, "arm", {"train": episodes}, EPISODE, shard_bytes=6_000)


@pytest.fixture(scope="module")
def dataset(directory: str) -> Any:
    return fastrec.tfds.load(directory, split="train")


@pytest.fixture(scope="module")
def converted(dataset: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    return convert(dataset, tmp_path_factory.mktemp("converted") / "arm")


def convert(dataset: Any, target: Path, **options: Any) -> str:
    return fastrec.tfds.to_lerobot(dataset, target, fps=FPS, **{"shard_bytes": 6_000} | options)


def check_equal(ours: Any, theirs: Any, where: str = "") -> None:
    if isinstance(theirs, dict):
        for name, value in theirs.items():
            check_equal(ours[name], value, f"{where}/{name}")
    else:
        assert ours.dtype == theirs.dtype, where
        assert np.array_equal(ours, theirs), where


def contents(folder: str | Path) -> dict[str, bytes]:
    root = Path(folder)
    files = [path for path in root.rglob("*") if path.is_file()]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


# --- there and back ---------------------------------------------------------------------------


def test_the_way_there_and_back_keeps_every_value(
    dataset: Any, converted: str, tmp_path: Path
) -> None:
    back = fastrec.tfds.from_lerobot(converted, tmp_path, "back", version="2.0.0")
    assert back == str(tmp_path / "back" / "2.0.0")
    again = fastrec.tfds.load(back, split="train")
    assert len(again) == len(dataset) == len(LENGTHS)
    for ours, theirs in zip(again, dataset, strict=True):
        expected = theirs["steps"].columns()
        one = expected.pop("one")
        found = ours["steps"].columns()
        check_equal(found, expected)
        assert found["one"].tolist() == one[:, 0].tolist()  # LeRobot has no arrays of one number
        assert ours["episode_metadata"] == theirs["episode_metadata"]
    # Images have the bytes of their files.
    for kept in (again, dataset):
        path = kept.info.directory
        encoded = fastrec.tfds.load(path, split="train", decode=False)
        images = [e["steps"].columns()["observation"]["image"].tolist() for e in encoded]
        assert images[0][0][:4] == b"\x89PNG"
        if kept is again:
            those = images
    assert images == those


def test_the_files_are_as_the_format_says(converted: str) -> None:
    info = json.loads(Path(converted, "meta/info.json").read_text())
    total = sum(LENGTHS)
    assert info["codebase_version"] == "v3.0"
    assert (info["total_episodes"], info["total_frames"]) == (len(LENGTHS), total)
    assert (info["total_tasks"], info["fps"]) == (2, FPS)
    assert info["splits"] == {"train": f"0:{len(LENGTHS)}"}
    described = info["features"]
    image = {
        "dtype": "image",
        "shape": [HEIGHT, WIDTH, 3],
        "names": ["height", "width", "channels"],
    }
    assert described["observation.images.image"] == image
    assert described["observation.images.grey"]["shape"] == [HEIGHT, WIDTH, 1]
    assert described["observation.matrix"] == {"dtype": "int64", "shape": [2, 3], "names": None}
    assert described["one"] == {"dtype": "int32", "shape": [1], "names": None}
    assert {"next.reward", "next.done", "timestamp", "index"} < set(described)
    assert "task" not in described
    files = sorted(Path(converted, "data").rglob("*.parquet"))
    assert len(files) > 1
    table = pa.concat_tables([pq.read_table(file, partitioning=None) for file in files])
    assert table["index"].to_pylist() == list(range(total))
    assert table["frame_index"].to_pylist() == [t for n in LENGTHS for t in range(n)]
    assert table["timestamp"].to_numpy()[3] == np.float32(0.3)
    assert table.schema.field("action").type == pa.list_(pa.float32(), 3)
    tasks = pq.read_table(Path(converted, "meta/tasks.parquet"))
    assert tasks.to_pydict() == {"task_index": [0, 1], "__index_level_0__": ["do 0 é", "do 1 é"]}
    episodes = pa.concat_tables(
        [
            pq.read_table(file, partitioning=None)
            for file in sorted(Path(converted, "meta/episodes").rglob("*.parquet"))
        ]
    ).to_pylist()
    begin = 0
    for number, (row, length) in enumerate(zip(episodes, LENGTHS, strict=True)):
        assert row["episode_index"] == number
        assert (row["dataset_from_index"], row["dataset_to_index"]) == (begin, begin + length)
        file = Path(converted, f"data/chunk-000/file-{row['data/file_index']:03d}.parquet")
        rows = pq.read_table(file, partitioning=None)["episode_index"].to_pylist()
        assert rows.count(number) == row["length"] == length
        texts = {f"do {(number + step // 4) % 2} é" for step in range(length)}
        assert set(row["tasks"]) == texts
        begin += length


def test_statistics_are_those_of_all_steps(dataset: Any, converted: str) -> None:
    stats = json.loads(Path(converted, "meta/stats.json").read_text())
    episodes = [each["steps"].columns() for each in dataset]
    numbers = {
        "action": np.concatenate([each["action"] for each in episodes]),
        "observation.matrix": np.concatenate([e["observation"]["matrix"] for e in episodes]),
        "next.reward": np.concatenate([each["reward"] for each in episodes])[:, None],
    }
    for name, values in numbers.items():
        assert stats[name]["count"] == [len(values)]
        for key in ("min", "max", "mean", "std"):
            want = getattr(values.astype(float), key)(axis=0)
            assert np.allclose(stats[name][key], want, atol=1e-12), (name, key)
        assert np.shape(stats[name]["q50"]) == values.shape[1:]
    images = np.concatenate([each["observation"]["image"] for each in episodes]) / 255
    found = stats["observation.images.image"]
    for key in ("min", "max", "mean", "std"):
        want = getattr(images, key)(axis=(0, 1, 2))[:, None, None]
        assert np.allclose(found[key], want, atol=1e-12), key
    assert found["count"] == [sum(LENGTHS)]
    assert "note" not in stats


def test_quantiles_of_images_are_exact() -> None:
    from fastrec.tfds.lerobot.statistics import of_images

    images = np.random.default_rng(0).integers(0, 256, (3, 11, 7, 3), np.uint8)
    found = of_images(images)
    for key, quantile in (("q01", 0.01), ("q10", 0.1), ("q50", 0.5), ("q99", 0.99)):
        want = np.quantile(images, quantile, axis=(0, 1, 2)) / 255
        assert np.allclose(np.ravel(found[key]), want, atol=1e-12), key


def test_part_of_a_split_with_other_names(dataset: Any, tmp_path: Path) -> None:
    part = fastrec.tfds.load(
        dataset.info.directory, "train[1:3]", features=["steps/observation/state", "steps/note"]
    )
    names = {"observation/state": "observation.proprio", "note": "task"}
    path = convert(part, tmp_path / "part", names=names)
    described = json.loads(Path(path, "meta/info.json").read_text())["features"]
    assert "observation.proprio" in described
    assert "action" not in described
    back = fastrec.tfds.from_lerobot(path, tmp_path, "part2", task="note")
    steps = [each["steps"].columns() for each in fastrec.tfds.load(back, split="train")]
    assert [text for each in steps for text in each["note"]] == [
        f"{e}:{t}".encode() for e in (1, 2) for t in range(LENGTHS[e])
    ]
    assert steps[1]["is_first"].tolist() == [True] + [False] * 6
    assert steps[1]["is_last"].tolist() == steps[1]["is_terminal"].tolist() == [False] * 6 + [True]
    assert steps[1]["observation"]["proprio"].shape == (7, 4)


def test_features_without_a_form_are_left_out(tmp_path: Path) -> None:
    step = {
        "action": features.Tensor((2,)),
        "tags": features.Sequence(features.Text()),
        "depth": features.Image((4, 4, 1), "uint16"),
    }
    image = np.zeros((4, 4, 1), np.uint16)
    rows = [{"action": [0, 1], "tags": ["a"], "depth": image}]
    described = {"steps": features.Dataset(step)}
    path = fastrec.tfds.write(tmp_path, "arm", {"train": [{"steps": rows}]}, described)
    dataset = fastrec.tfds.load(path, split="train")
    with pytest.warns(RuntimeWarning, match="are left out: 'depth'"):
        out = convert(dataset, tmp_path / "out")
    named = json.loads(Path(out, "meta/info.json").read_text())["features"]
    assert "action" in named
    assert "depth" not in named


# --- failures ---------------------------------------------------------------------------------


class StopError(Exception):
    """An interruption."""


def stopping_after(count: int) -> Any:
    def advance(done: int, total: int | None) -> None:
        assert total == len(LENGTHS)
        if done > count:
            raise StopError

    return advance


@pytest.mark.parametrize("count", [0, 3])
def test_a_conversion_is_resumed(dataset: Any, converted: str, tmp_path: Path, count: int) -> None:
    target = tmp_path / "arm"
    with pytest.raises(StopError):
        convert(dataset, target, resume=True, progress=stopping_after(count))
    assert not target.exists()
    work = tmp_path / "arm.reshard"
    kept = {path: path.stat().st_ino for path in work.rglob("meta/episodes/*/*")}
    assert bool(kept) == (count > 0)
    with pytest.raises(FileExistsError, match="resume=True goes on"):
        convert(dataset, target)
    with pytest.raises(ValueError, match="work of other arguments"):
        convert(dataset, target, resume=True, names={"note": "observation.note"})
    assert convert(dataset, target, resume=True) == str(target)
    assert contents(target) == contents(converted)
    for path, inode in kept.items():
        assert (target / path.relative_to(work)).stat().st_ino == inode
    assert not work.exists()


@pytest.mark.parametrize("count", [0, 3])
def test_the_way_back_is_resumed(converted: str, tmp_path: Path, count: int) -> None:
    whole = fastrec.tfds.from_lerobot(converted, tmp_path / "whole", "arm")
    options: dict[str, Any] = {"resume": True, "progress": stopping_after(count)}
    with pytest.raises(StopError):
        fastrec.tfds.from_lerobot(converted, tmp_path, "arm", **options)
    work = tmp_path / "arm" / "1.0.0.reshard"
    kept = {path: path.stat().st_ino for path in work.glob("*.tfrecord-*")}
    with pytest.raises(ValueError, match="work of other arguments"):
        fastrec.tfds.from_lerobot(converted, tmp_path, "arm", task="text", resume=True)
    path = fastrec.tfds.from_lerobot(converted, tmp_path, "arm", resume=True)
    assert contents(path) == contents(whole)
    assert bool(kept) == (count > 0)
    assert {Path(path, old.name).stat().st_ino for old in kept} == set(kept.values())


def test_nothing_is_left_of_a_failed_conversion(dataset: Any, tmp_path: Path) -> None:
    with pytest.raises(StopError):
        convert(dataset, tmp_path / "arm", progress=stopping_after(3))
    assert not list(tmp_path.iterdir())
    (tmp_path / "arm").mkdir()
    with pytest.raises(FileExistsError, match="the directory exists"):
        convert(dataset, tmp_path / "arm")


def test_a_damaged_episode_is_named(directory: str, tmp_path: Path) -> None:
    path = tmp_path / "arm" / "1.0.0"
    shutil.copytree(directory, path)
    file = sorted(path.glob("*.tfrecord-*"))[-1]
    data = bytearray(file.read_bytes())
    data[-20] ^= 1
    file.write_bytes(data)
    with pytest.raises(CorruptRecordError, match=file.name):
        convert(fastrec.tfds.load(path, split="train"), tmp_path / "out")


def one_step(tmp_path: Path, step: dict[str, Any], rows: list[Any]) -> Any:
    described = {"steps": features.Dataset(step)}
    path = fastrec.tfds.write(tmp_path, "one", {"train": [{"steps": rows}]}, described)
    return fastrec.tfds.load(path, split="train")


def test_wrong_episodes_are_refused(tmp_path: Path) -> None:
    image = features.Image((None, None, 3))
    sizes = [{"image": np.zeros((size, 2, 3), np.uint8)} for size in (2, 3)]
    with pytest.raises(ExampleParseError, match=r"record 0.*must be 2x2 as the first.* got 3x2"):
        convert(one_step(tmp_path / "a", {"image": image}, sizes), tmp_path / "out")
    with pytest.raises(FastrecError, match="episode 0 has no steps"):
        convert(one_step(tmp_path / "b", {"action": "float32"}, []), tmp_path / "out")
    texts = one_step(tmp_path / "c", {"note": features.Text()}, [{"note": b"\xff"}])
    with pytest.raises(ExampleParseError, match="must be UTF-8"):
        convert(texts, tmp_path / "out")
    plain = fastrec.tfds.write(tmp_path, "plain", {"train": [{"x": 1}]}, {"x": "int64"})
    with pytest.raises(ValueError, match="must have a dataset of steps"):
        convert(fastrec.tfds.load(plain, split="train"), tmp_path / "out")
    only = one_step(tmp_path / "d", {"tags": features.Tensor((None,), "int64", "bytes")},
                    [{"tags": [1]}])  # fmt: skip
    with pytest.raises(ValueError, match="no feature of a step that LeRobot has a form for"):
        convert(only, tmp_path / "out")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"nothing": "a"}, "names must be of features of a step, got 'nothing'"),
        ({"note": "action"}, "'action' and 'note' would both be 'action'"),
        ({"note": "index"}, "'index' cannot be the name of 'note'"),
        ({"note": "a/b"}, "'a/b' cannot be the name of 'note'"),
        ({"action": "task"}, "'task' cannot be the name of 'action'"),
    ],
)
def test_wrong_names_are_refused(
    dataset: Any, tmp_path: Path, names: dict[str, str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        convert(dataset, tmp_path / "out", names=names)
    with pytest.raises(ValueError, match=message):
        dataset.steps(2, fps=FPS, names=names)


def changed_info(folder: Path, **values: Any) -> None:
    path = folder / "meta/info.json"
    info = json.loads(path.read_text())
    for name, value in values.items():
        path_of, _, last = name.rpartition("__")
        (info["features"][path_of.replace("_", ".")] if path_of else info)[last] = value
    path.write_text(json.dumps(info))


def changed_table(folder: Path, name: str, column: str, values: Any) -> None:
    path = folder / name
    table = pq.read_table(path, partitioning=None)
    number = table.column_names.index(column)
    if values is None:
        table = table.remove_column(number)
    else:
        found = table[column].to_pylist()
        found[-1] = None if values == "null" else values
        table = table.set_column(number, column, pa.array(found))
    pq.write_table(table, path)


FIRST = "chunk-000/file-000.parquet"
DAMAGE: dict[str, tuple[Any, str]] = {
    "version": (lambda d: changed_info(d, codebase_version="v2.1"), "must be 'v3.0', got 'v2.1'"),
    "paths": (lambda d: changed_info(d, data_path="../{x}"), "data_path must be"),
    "fps": (lambda d: changed_info(d, fps=0), "fps: must be an integer from 1"),
    "no features": (lambda d: changed_info(d, features=None), "must have features"),
    "name": (lambda d: changed_info(d, features={"../x": {}}), "must have no '/'"),
    "dtype": (lambda d: changed_info(d, action__dtype="complex64"), "action: dtype"),
    "shape": (lambda d: changed_info(d, action__shape=[4]), "'action' must be of numbers of shape"),
    "json": (lambda d: (d / "meta/info.json").write_text("{"), "must be JSON"),
    "task": (lambda d: changed_table(d, f"data/{FIRST}", "task_index", 7), "task_index must be"),
    "order": (lambda d: changed_table(d, f"data/{FIRST}", "frame_index", 0), "steps of episode"),
    "column": (lambda d: changed_table(d, f"data/{FIRST}", "action", None), "column 'action'"),
    "null": (lambda d: changed_table(d, f"data/{FIRST}", "one", "null"), "no null"),
    "image": (
        lambda d: changed_table(d, f"data/{FIRST}", "observation.images.image", None),
        "column 'observation.images.image'",
    ),
    "length": (
        lambda d: changed_table(d, f"meta/episodes/{FIRST}", "length", 99),
        "must have .* rows, got fewer",
    ),
    "negative": (
        lambda d: changed_table(d, f"meta/episodes/{FIRST}", "length", -1), "length: must be",
    ),
    "number": (
        lambda d: changed_table(d, f"meta/episodes/{FIRST}", "episode_index", 9),
        "episode_index must be",
    ),
    "tasks": (
        lambda d: changed_table(d, "meta/tasks.parquet", "task_index", 5),
        "number its texts from 0",
    ),
    "parquet": (lambda d: (d / f"data/{FIRST}").write_bytes(b"PAR1" * 9), "must be Parquet"),
    "footer": (lambda d: (d / f"meta/episodes/{FIRST}").write_bytes(b"x"), "must be Parquet"),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_dataset_is_refused_by_file(converted: str, tmp_path: Path, kind: str) -> None:
    copy = tmp_path / "arm"
    shutil.copytree(converted, copy)
    change, message = DAMAGE[kind]
    change(copy)
    with pytest.raises(fastrec.tfds.MetadataError, match=message) as it:
        fastrec.tfds.from_lerobot(copy, tmp_path / "sets", "back")
    assert str(it.value.path).startswith(str(copy))
    assert not list((tmp_path / "sets").rglob("*.tfrecord*"))


def test_a_missing_file_is_named(converted: str, tmp_path: Path) -> None:
    copy = tmp_path / "arm"
    shutil.copytree(converted, copy)
    (copy / f"data/{FIRST}").unlink()
    with pytest.raises(FileNotFoundError, match=r"file-000\.parquet"):
        fastrec.tfds.from_lerobot(copy, tmp_path / "sets", "back")
    shutil.rmtree(copy / "meta/episodes")
    with pytest.raises(FileNotFoundError, match="no list of episodes"):
        fastrec.tfds.from_lerobot(copy, tmp_path / "sets", "back")


# --- videos -----------------------------------------------------------------------------------


def test_images_become_videos_and_images_again(dataset: Any, tmp_path: Path) -> None:
    pytest.importorskip("av", reason="PyAV is not installed")
    path = convert(dataset, tmp_path / "arm", videos=True, shard_bytes=4_000)
    files = sorted(Path(path, "videos/observation.images.image").rglob("*.mp4"))
    assert len(files) > 1
    assert len(files) == len(list(Path(path, "data").rglob("*.parquet")))
    info = json.loads(Path(path, "meta/info.json").read_text())
    assert info["features"]["observation.images.grey"]["shape"] == [HEIGHT, WIDTH, 3]
    back = fastrec.tfds.from_lerobot(path, tmp_path, "back", encoding_format="jpeg")
    for ours, theirs in zip(fastrec.tfds.load(back, split="train"), dataset, strict=True):
        found, wanted = ours["steps"].columns(), theirs["steps"].columns()
        check_equal(found["action"], wanted["action"])
        one = found["observation"]["image"].astype(int)
        difference = np.abs(one - wanted["observation"]["image"]).mean(axis=(1, 2, 3))
        assert (
            difference.max() < 12
        )  # colours have half the resolution; another frame differs by 20
    for file in files:
        file.write_bytes(b"no video")
    with pytest.raises(fastrec.tfds.MetadataError, match="must be a video"):
        fastrec.tfds.from_lerobot(path, tmp_path, "other")


# --- steps in the form of items ---------------------------------------------------------------


def test_steps_have_the_form_of_items(dataset: Any) -> None:
    episodes = [each["steps"].columns() for each in dataset]
    times = {
        "action": [-0.1, 0.0, 0.1, 0.3],
        "observation.state": [-0.2, 0],
        "observation.images.image": [0.0, -0.1],
    }
    decode = {"observation/grey": fastrec.ImageFeature((16, 24), 1, fit="resize")}
    batches = dataset.steps(
        4, fps=FPS, delta_timestamps=times, decode=decode, shuffle=True, seed=1, metadata=True
    )
    seen = []
    for batch in batches:
        count = len(batch["index"])
        assert batch["observation.images.grey"].shape == (count, 1, 16, 24)
        for row in range(count):
            e, t = int(batch["episode_index"][row]), int(batch["frame_index"][row])
            seen.append((e, t))
            steps, last = episodes[e], LENGTHS[e] - 1
            assert batch["index"][row] == sum(LENGTHS[:e]) + t
            assert batch["timestamp"][row] == np.float32(t / FPS)
            assert batch["task"][row] == steps["language_instruction"][t].decode()
            assert batch["next.reward"][row] == steps["reward"][t]
            assert batch["next.done"][row] == steps["is_last"][t]
            assert batch["one"][row] == steps["one"][t][0]
            assert batch["episode_metadata.id"][row] == e
            for name, path in (("action", "action"), ("observation.state", "observation/state")):
                at = [t + round(each * FPS) for each in times[name]]
                values = steps["action"] if path == "action" else steps["observation"]["state"]
                assert np.array_equal(batch[name][row], values[np.clip(at, 0, last)])
                pad = [not 0 <= each <= last for each in at]
                assert batch[f"{name}_is_pad"][row].tolist() == pad
            images = steps["observation"]["image"][[t, max(t - 1, 0)]].transpose(0, 3, 1, 2)
            assert batch["observation.images.image"].dtype == np.float32
            found = batch["observation.images.image"][row]
            assert np.allclose(found, images / np.float32(255), atol=1e-6)
    assert sorted(seen) == [(e, t) for e, length in enumerate(LENGTHS) for t in range(length)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta_timestamps": {"action": [0]}}, "delta_timestamps and names require fps"),
        ({"fps": 10, "window": 2}, "mutually exclusive: use delta_timestamps"),
        ({"fps": 10, "delta_timestamps": {"act": [0]}}, "delta_timestamps must be of .* got 'act'"),
        ({"fps": 10, "delta_timestamps": {"action": [0.05]}}, r"multiples of 1/10 s, got 0\.05"),
        ({"fps": 10, "delta_timestamps": {"action": []}}, "must be a list of times"),
        ({"fps": 10, "delta_timestamps": {"action": ["a"]}}, "must be seconds, got 'a'"),
        ({"fps": 0}, "fps must be at least 1"),
        ({"fps": 10}, "batches of LeRobot's form require decode="),
    ],
)
def test_wrong_options_of_items(dataset: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataset.steps(2, **options)


# --- the command line -------------------------------------------------------------------------


def test_convert_goes_to_lerobot_and_back(
    directory: str, converted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, back = str(tmp_path / "out"), str(tmp_path / "sets" / "arm")
    words = ["convert", directory, "--to", "lerobot", "-o", out, "--fps", str(FPS)]
    assert cli.main([*words, "--split", "train[:3]", "--names", "note=observation.note"]) == 0
    assert "out: 3 episodes" in capsys.readouterr().out
    info = json.loads(Path(out, "meta/info.json").read_text())
    assert "observation.note" in info["features"]
    assert cli.main(["convert", converted, "--from", "lerobot", "-o", back]) == 0
    assert f"1.0.0: {len(LENGTHS)} episodes" in capsys.readouterr().out
    assert cli.main(["doctor", f"{back}/1.0.0"]) == 0
    capsys.readouterr()
    for more, message in [
        (["--to", "lerobot"], "requires --fps"),
        (["--to", "lerobot", "--fps", "10", "--raw"], "--raw is not an option of"),
        (["--to", "lerobot", "--fps", "10", "--from", "csv"], "requires a dataset of record files"),
        (["--from", "lerobot", "--fps", "10"], "--fps is not an option of"),
        (["--to", "parquet", "--fps", "10"], "--fps requires --to lerobot"),
        (["x", "--to", "lerobot", "--fps", "10"], "require one directory"),
    ]:
        assert cli.main(["convert", directory, "-o", f"{tmp_path}/new", *more]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
