# SPDX-License-Identifier: Apache-2.0
"""Against tensorflow_datasets itself: what it wrote is read alike, what we write it reads."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tfds_values import same

import fastrec
import fastrec.tfds
from fastrec.tfds import features

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
pytest.importorskip("tensorflow")
tfds = pytest.importorskip("tensorflow_datasets")

# Pillow has no fast transform of JPEGs, which is TensorFlow's; the others are equal to the bit.
NOT_EXACT = "jpeg" if str(fastrec.image.decoders()["JPEG"]).startswith("Pillow") else None
# Nor 16-bit colours, which stay files.
NOT_DECODED = "wide_colour" if str(fastrec.image.decoders()["PNG"]).startswith("Pillow") else None
TESTS = Path(__file__).parents[2]
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="session")
def tool() -> Any:
    sys.path.insert(0, str(TESTS / "tools"))
    import write_tfds

    sys.path.pop(0)
    return write_tfds


@pytest.fixture(scope="session")
def sets(tool: Any, tmp_path_factory: Any) -> Path:
    directory: Path = tmp_path_factory.mktemp("sets")
    tool.main(str(directory))
    return directory


@pytest.mark.parametrize("name", ["tensors", "images", "sequences", "episodes"])
def test_what_tfds_writes_is_read_alike(sets: Path, name: str) -> None:
    expected = json.loads((sets / "expected.json").read_text())[name]
    for number, (ours, theirs) in enumerate(
        zip(fastrec.tfds.load(sets, split="train", name=name), expected, strict=True)
    ):
        for key, value in theirs.items():
            if key not in (NOT_EXACT, NOT_DECODED):
                same(ours[key], value, f"{name}[{number}]/{key}")


def test_the_files_of_the_suite_are_what_the_tool_makes(sets: Path) -> None:
    kept = TESTS / "data" / "tfds"
    for name in ("tensors", "sequences", "episodes"):
        for path in (kept / name).rglob("*tfrecord*"):
            ours = list(fastrec.Reader(path))
            theirs = list(fastrec.Reader(sets / path.relative_to(kept)))
            spec = fastrec.infer_features(path)
            for one, other in zip(ours, theirs, strict=True):
                one_value = fastrec.parse_example([one], spec)
                other_value = fastrec.parse_example([other], spec)
                assert repr(one_value) == repr(other_value)


def test_splits_by_the_thousand(tool: Any) -> None:
    sys.path.insert(0, str(TESTS / "tfds"))
    from test_splits import found, splits_of

    sys.path.pop(0)
    splits = splits_of(tool.SPLIT_SIZES)
    for text, n, k, drop, theirs in tool.split_results(8000):
        assert found(splits, text, n, k, drop) == theirs, (text, n, k, drop)


def test_whole_per_cent_are_those_of_tfds(tool: Any) -> None:
    from fastrec.tfds import ReadInstruction, SplitInfo, Splits

    for count in (100, 101, 199, 250, 12345):
        ours = Splits([SplitInfo("train", ("a",), (count,))])
        theirs = {"train": tfds.core.SplitInfo(name="train", shard_lengths=[count], num_bytes=0)}
        for start in range(-100, 101, 7):
            for stop in range(start if start >= 0 else -100, 101, 9):
                arguments: Any = ("train", start, stop, "%", "pct1_dropremainder")
                keys = ("split_name", "from_", "to", "unit", "rounding")
                their = tfds.core.ReadInstruction(
                    **dict(zip(keys, arguments, strict=True))
                ).to_absolute(theirs)[0]
                first = their.from_ or 0
                last = count if their.to is None else their.to
                if first <= last:
                    assert ours.resolve(ReadInstruction(*arguments)) == [("train", first, last)]


DESCRIBED: dict[str, Any] = {
    "image": features.Image((None, None, 3), encoding_format="png"),
    "depth": features.Image((2, 3, 1), "float32"),
    "wide": features.Image((2, 3, 1), "uint16"),
    "mask": features.LabeledImage(["no", "yes"], (2, 2, 1)),
    "label": features.ClassLabel(names=["a", "b"]),
    "text": features.Text(),
    "optional": features.Tensor((2,), "float32", optional=True),
    "packed": features.Tensor((None, 2, None), "float64", "zlib"),
    "u64": "uint64",
    "half": features.Tensor((2,), "float16"),
    "box": features.BBox(),
    "sound": features.Audio(sample_rate=8000),
    "words": features.Translation(["en", "de"]),
    "ragged": features.Sequence(features.Sequence("int16")),
    "ragged_texts": features.Sequence(features.Sequence(features.Text())),
    "rows": features.Sequence({"a": "int8", "b": features.Text()}),
    "fixed": features.Sequence("float32", 2),
    "clip": features.Video((None, 2, 2, 3)),
    "nested": {"deep/er": {"label": features.ClassLabel(3)}},
    "steps": features.Dataset({"x": features.Tensor((2,)), "image": features.Image((2, 2, 3))}),
}


def example(i: int) -> dict[str, Any]:
    rng = np.random.default_rng(i)
    return {
        "image": rng.integers(0, 256, (2 + i, 3, 3), np.uint8),
        "depth": rng.normal(size=(2, 3, 1)).astype(np.float32),
        "wide": rng.integers(0, 65536, (2, 3, 1), np.uint16),
        "mask": rng.integers(0, 2, (2, 2, 1), np.uint8),
        "label": "b",
        "text": f"h\u00e9llo {i}",
        "optional": None if i % 2 else [i, 1.5],
        "packed": np.full((i, 2, i + 1), i / 7),
        "u64": 2**64 - 1 - i,
        "half": [0.1, i],
        "box": [0, 0.25, 0.5, 1],
        "sound": np.arange(i * 5) - 3,
        "words": {"en": "cat", "de": "Katze"},
        "ragged": [[k] * k for k in range(i)],
        "ragged_texts": [["x"] * k for k in range(i)],
        "rows": [{"a": k, "b": str(k)} for k in range(i)],
        "fixed": [1, i],
        "clip": rng.integers(0, 256, (i, 2, 2, 3), np.uint8),
        "nested": {"deep/er": {"label": i % 3}},
        "steps": [
            {"x": [t, i], "image": np.full((2, 2, 3), t, np.uint8)} for t in range(i + 1)
        ],
    }  # fmt: skip


def test_what_we_write_tfds_reads(tool: Any, tmp_path: Path) -> None:
    examples = [example(i) for i in range(6)]
    path = fastrec.tfds.write(
        tmp_path, "ours", {"train": examples, "test": examples[:2]}, DESCRIBED,
        supervised_keys=("image", "label"), shard_bytes=2500, config="small",
    )  # fmt: skip
    builder = tfds.builder_from_directory(path)
    assert builder.info.splits["train"].num_examples == 6
    assert builder.info.splits["train"].num_shards > 1
    assert builder.info.supervised_keys == ("image", "label")
    assert builder.info.features["label"].names == ["a", "b"]
    assert builder.info.features["mask"].names == ["no", "yes"]
    assert builder.info.full_name == "ours/small/1.0.0"
    config = tfds.ReadConfig(interleave_cycle_length=1, add_tfds_id=True)
    for split in ("train", "test", "train[2:5]", "train[50%:]+test"):
        theirs = list(tfds.as_numpy(builder.as_dataset(split=split, read_config=config)))
        ours = list(fastrec.tfds.load(path, split=split, tfds_id=True))
        assert len(ours) == len(theirs)
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            same(one, tool.plain(other), f"{split}[{number}]")


def test_what_we_write_tfds_reads_without_tensorflow(tmp_path: Path) -> None:
    plain = {key: DESCRIBED[key] for key in ("label", "text", "half", "fixed", "box", "rows")}
    examples = [{key: example(i)[key] for key in plain} for i in range(3)]
    path = fastrec.tfds.write(tmp_path, "ours", {"train": examples}, plain)
    theirs = tfds.features.FeaturesDict.from_config(path)
    (file,) = Path(path).glob("*.tfrecord*")
    for record, value in zip(fastrec.Reader(file), fastrec.tfds.load(path, "train"), strict=True):
        other = theirs.deserialize_example_np(record)
        assert np.array_equal(value["half"], other["half"])
        assert np.array_equal(value["fixed"], other["fixed"])
        assert np.array_equal(value["box"], other["box"])
        assert value["label"] == other["label"]
        assert value["rows"]["b"].tolist() == list(other["rows"]["b"])


def test_the_json_that_tfds_makes_of_ours(tmp_path: Path) -> None:
    path = fastrec.tfds.write(tmp_path, "ours", {"train": [example(1)]}, DESCRIBED)
    theirs = tfds.features.FeaturesDict.from_config(path)
    theirs.save_config(str(tmp_path))
    (tmp_path / "dataset_info.json").write_text("{}")
    ours, again = (fastrec.tfds.info(each).features for each in (path, tmp_path))
    assert ours is not None
    assert again is not None
    assert {leaf.name: str(leaf) for leaf in ours.leaves()} == {
        leaf.name: str(leaf) for leaf in again.leaves()
    }


def test_a_real_set_of_episodes(shared_data: Path) -> None:
    path = shared_data / "tfds" / "bridge_dataset" / "1.0.0"
    theirs = tfds.features.FeaturesDict.from_config(str(path))
    for split in ("train", "val"):
        dataset = fastrec.tfds.load(path, split=split)
        for record, ours in zip(fastrec.Reader(dataset.files[0].path), dataset, strict=True):
            other = theirs.deserialize_example_np(record)
            steps = list(other["steps"])
            assert len(ours["steps"]) == len(steps)
            for one, two in zip(ours["steps"], steps, strict=True):
                _equal(one, two)
            _equal(ours["episode_metadata"], other["episode_metadata"])


@pytest.mark.skipif(NOT_EXACT is not None, reason="Pillow decodes JPEGs")
def test_images_of_a_real_set_are_those_of_tensorflow(shared_data: Path) -> None:
    path = shared_data / "tfds" / "bridge_dataset" / "1.0.0"
    config = tfds.ReadConfig(interleave_cycle_length=1)
    theirs = tfds.builder_from_directory(str(path)).as_dataset(split="val", read_config=config)
    for one, two in zip(fastrec.tfds.load(path, "val"), tfds.as_numpy(theirs), strict=True):
        for ours, other in zip(one["steps"], two["steps"], strict=True):
            for key, image in other["observation"].items():
                assert np.array_equal(ours["observation"][key], image)


def _equal(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, dict):
        assert set(ours) == set(theirs)
        for key, value in theirs.items():
            _equal(ours[key], value)
    elif isinstance(theirs, np.ndarray) and theirs.ndim == 3:
        assert ours.shape == theirs.shape
        # Without TensorFlow tfds has Pillow's accurate transform; ours is TensorFlow's fast one.
        apart = np.abs(ours.astype(int) - theirs)
        assert apart.max() <= 17
        assert apart.mean() < 2.5
    else:
        assert np.array_equal(ours, theirs)
