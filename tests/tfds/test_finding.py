# SPDX-License-Identifier: Apache-2.0
"""Finding sets, choosing versions, and the forms that older TFDS versions left."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
import fastrec.tfds
from fastrec.tfds import MetadataError, features


def make(directory: Path, name: str, count: int = 3, **options: Any) -> str:
    examples = [{"x": i} for i in range(count)]
    return fastrec.tfds.write(directory, name, {"train": examples}, {"x": "int32"}, **options)


def version_of(*arguments: Any, **options: Any) -> str:
    return fastrec.tfds.info(*arguments, **options).full_name


def test_a_set_is_found_from_above(tmp_path: Path) -> None:
    path = make(tmp_path, "one", version="1.2.0")
    for directory in (path, tmp_path / "one", tmp_path, str(tmp_path)):
        assert version_of(directory) == "one/1.2.0"
    make(tmp_path, "one", version="1.10.0")
    make(tmp_path, "one", version="0.9.9")
    assert version_of(tmp_path) == "one/1.10.0"
    assert version_of(tmp_path, version="1.2.0") == "one/1.2.0"
    assert version_of(tmp_path, version="0.*.*") == "one/0.9.9"
    assert version_of(tmp_path, name="one:1.2.*") == "one/1.2.0"
    with pytest.raises(FileNotFoundError, match=r"no dataset_info.json of version 2.\*.\*"):
        version_of(tmp_path, version="2.*.*")
    with pytest.raises(ValueError, match="version is given twice"):
        version_of(tmp_path, name="one:1.2.0", version="1.2.0")


def test_several_sets_and_configurations(tmp_path: Path) -> None:
    make(tmp_path, "one")
    make(tmp_path, "two", config="small")
    make(tmp_path, "two", config="large")
    with pytest.raises(ValueError, match="several datasets, name one of them: one, two"):
        version_of(tmp_path)
    with pytest.raises(ValueError, match="name one of them: large, small"):
        version_of(tmp_path, name="two")
    assert version_of(tmp_path, name="two/small") == "two/small/1.0.0"
    assert version_of(tmp_path / "two" / "large") == "two/large/1.0.0"
    (tmp_path / "two" / ".config").mkdir()
    (tmp_path / "two" / ".config" / "metadata.json").write_text('{"defaultConfigName": "small"}')
    assert version_of(tmp_path, name="two") == "two/small/1.0.0"
    for name in ("../one", "/etc", "one/../two", ""):
        with pytest.raises(ValueError, match="name must be as"):
            version_of(tmp_path, name=name)
    with pytest.raises(FileNotFoundError, match="no such directory"):
        version_of(tmp_path, name="three")


def test_several_directories_are_one_set(tmp_path: Path) -> None:
    paths = [make(tmp_path / str(n), "one", count=n) for n in (3, 5)]
    dataset = fastrec.tfds.load(paths, split="train[-6:]")
    assert [int(each["x"]) for each in dataset] == [2, 0, 1, 2, 3, 4]
    assert fastrec.tfds.info(paths).splits["train"].shard_lengths == (3, 5)
    other = fastrec.tfds.write(tmp_path, "other", {"train": [{"x": 1.0}]}, {"x": "float32"})
    with pytest.raises(ValueError, match="differ in their features"):
        fastrec.tfds.load([paths[0], other], split="train")


def test_all_splits(tmp_path: Path) -> None:
    path = fastrec.tfds.write(
        tmp_path, "s", {"train": [{"x": 1}], "test": [{"x": 2}, {"x": 3}]}, {"x": "int32"}
    )
    found = fastrec.tfds.load(path)
    assert {name: [int(each["x"]) for each in ds] for name, ds in found.items()} == {
        "train": [1],
        "test": [2, 3],
    }


def test_as_a_data_source(tmp_path: Path) -> None:
    path = make(tmp_path, "one", count=300, shard_bytes=1000)
    source = fastrec.tfds.load(path, split="train[7:]").as_data_source()
    assert len(source) == 293
    assert [int(each["x"]) for each in source.__getitems__([292, 0, -1, 150, 0])] == [
        299, 7, 299, 157, 7,
    ]  # fmt: skip
    there = pickle.loads(pickle.dumps(source))
    assert there[5] == source[5]
    assert repr(there) == repr(source) == (
        "<fastrec.tfds.Dataset of one/1.0.0, split 'train[7:]', 293 records>"
    )  # fmt: skip
    part = source[10:20]
    assert [int(each["x"]) for each in part] == list(range(17, 27))
    assert len(source[20:10]) == 0
    assert list(source[20:10]) == []
    assert source.__getitems__([]) == []


@pytest.mark.parametrize("workers", [0, 2])
def test_a_dataloader_takes_it_as_it_is(tmp_path: Path, workers: int) -> None:
    torch = pytest.importorskip("torch")
    examples = [{"x": np.full(3, i, np.float32), "label": i % 4} for i in range(20)]
    described = {"x": features.Tensor((3,)), "label": features.ClassLabel(4)}
    path = fastrec.tfds.write(tmp_path, "numbers", {"train": examples}, described)
    source = fastrec.tfds.load(path, "train").as_data_source()
    loader = torch.utils.data.DataLoader(source, 8, shuffle=True, num_workers=workers)
    batches = list(loader)
    assert [len(batch["label"]) for batch in batches] == [8, 8, 4]
    assert batches[0]["x"].shape == (8, 3)
    assert sorted(torch.cat([b["x"][:, 0] for b in batches]).tolist()) == list(range(20))


def test_ids(tmp_path: Path) -> None:
    path = make(tmp_path, "one", count=300, shard_bytes=1000)
    dataset = fastrec.tfds.load(path, split="train[7:]", tfds_id=True)
    assert dataset[0]["tfds_id"] == dataset.tfds_id(0).encode()
    assert dataset.tfds_id(0).startswith("one-train.tfrecord-00000-of-000")
    assert [each["tfds_id"].decode() for each in dataset][:3] == [
        dataset.tfds_id(i) for i in range(3)
    ]
    assert dataset.tfds_id(0).endswith("__7")


@pytest.mark.parametrize("shuffle", [False, True, 10])
def test_batches_of_part_of_a_split_resume(tmp_path: Path, shuffle: Any) -> None:
    path = make(tmp_path, "one", count=100, shard_bytes=1000)
    dataset = fastrec.tfds.load(path, split="train[5:90]")
    batcher = dataset.batches(8, shuffle=shuffle, seed=3)
    whole = [batch["x"].tolist() for batch in batcher]
    assert sorted(x for batch in whole for x in batch) == list(range(5, 90))
    again = dataset.batches(8, shuffle=shuffle, seed=3)
    batches = iter(again)
    next(batches)
    third = dataset.batches(8, shuffle=shuffle, seed=3)
    third.load_state_dict(batches.state_dict())
    assert [batch["x"].tolist() for batch in third] == whole[1:]
    with pytest.raises(ValueError, match="augment requires whole files"):
        dataset.batches(8, augment={"x": fastrec.Augment()})


def test_batches_are_plain_where_records_are(tmp_path: Path) -> None:
    path = make(tmp_path, "one", count=10)
    dataset = fastrec.tfds.load(path, split="train")
    assert dataset._structure.is_plain  # nothing of Python between the loader and the loop
    batcher = dataset.batches(4)
    assert [batch["x"].tolist() for batch in batcher][2] == [8, 9]
    assert next(iter(batcher))["x"].dtype == np.int32


# --- older forms ------------------------------------------------------------------------------


def legacy(name: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": f"tensorflow_datasets.core.features.{name}", "content": content, **more}


def test_the_legacy_form_of_features(tmp_path: Path) -> None:
    described = {
        "image": features.Image((2, 2, 3)),
        "label": features.ClassLabel(names=["a", "b"]),
        "tokens": features.Sequence(features.Tensor((), "int64"), 2),
        "text": features.Text(),
        "box": features.BBox(),
    }
    example = {
        "image": b"\x89PNG", "label": 1, "tokens": [3, 4], "text": "t", "box": [0, 0, 0.5, 1],
    }  # fmt: skip
    path = Path(fastrec.tfds.write(tmp_path, "old", {"train": [example]}, described))
    before = repr(fastrec.tfds.info(path).features)
    module = "tensor_feature.Tensor"
    content = {
        "image": legacy(
            "image_feature.Image",
            {"shape": [2, 2, 3], "dtype": "uint8", "encoding_format": "png"},
        ),
        "label": legacy("class_label_feature.ClassLabel", {"num_classes": 2}),
        "tokens": legacy(
            "sequence_feature.Sequence",
            {
                "feature": legacy(
                    module, {"shape": [], "dtype": "int64", "encoding": "none"}
                ),
                "length": 2,
            },
        ),
        "text": legacy("text_feature.Text", {"use_encoder": False}),
        "box": legacy(
            "bounding_boxes.BBoxFeature", '{"shape": {"dimensions": ["4"]}}',
            proto_cls="tensorflow_datasets.BoundingBoxFeature",
        ),
    }  # fmt: skip
    (path / "features.json").write_text(json.dumps(legacy("features_dict.FeaturesDict", content)))
    after = fastrec.tfds.info(path)
    assert repr(after.features).replace("Tensor((), int64)", "") == before.replace(
        "Tensor((), int64)", ""
    )
    value = fastrec.tfds.load(path, split="train", decode=False)[0]
    assert value["tokens"].tolist() == [3, 4]
    assert value["box"].tolist() == [0, 0, 0.5, 1]
    label: Any = after.features["label"] if after.features else None
    assert label.names == ["a", "b"]
    # A protocol buffer in JSON of its own, as TFDS 4.5 had it.
    content["tokens"]["content"] = json.dumps(
        {"feature": {"pythonClassName": "x.Tensor", "tensor": {"dtype": "int64"}}, "length": "2"}
    )
    (path / "features.json").write_text(
        json.dumps(legacy("features_dict.FeaturesDict", content, proto_cls="FeaturesDict"))
    )
    assert fastrec.tfds.load(path, split="train", decode=False)[0]["tokens"].tolist() == [3, 4]
    content["text"]["type"] = "somebody.Else"
    (path / "features.json").write_text(json.dumps(legacy("features_dict.FeaturesDict", content)))
    with pytest.raises(MetadataError, match=r"'somebody\.Else' is a connector that fastrec"):
        fastrec.tfds.info(path)


def test_a_set_without_features(tmp_path: Path) -> None:
    path = Path(make(tmp_path, "old", count=20, shard_bytes=200))
    (path / "features.json").unlink()
    dataset = fastrec.tfds.load(path, split="train[3:]")
    assert dataset.info.features is None
    assert [each["x"] for each in dataset] == list(range(3, 20))


def test_a_set_without_shard_lengths(tmp_path: Path) -> None:
    path = Path(make(tmp_path, "old", count=20, shard_bytes=200))
    document = json.loads((path / "dataset_info.json").read_text())
    shards = len(document["splits"][0].pop("shardLengths"))
    document["splits"][0]["numShards"] = str(shards)
    (path / "dataset_info.json").write_text(json.dumps(document))
    assert [int(each["x"]) for each in fastrec.tfds.load(path, split="train")] == list(range(20))
    sorted(path.glob("*.tfrecord*"))[0].unlink()
    with pytest.raises(fastrec.MissingRecordsError, match=f"-00000-of-{shards:05d}' is missing"):
        fastrec.tfds.info(path)


def test_files_by_a_template_of_their_own(tmp_path: Path) -> None:
    path = Path(make(tmp_path, "one", count=20, shard_bytes=200))
    document = json.loads((path / "dataset_info.json").read_text())
    count = len(document["splits"][0]["shardLengths"])
    document["splits"][0]["filepathTemplate"] = "{SPLIT}/{DATASET}-{SHARD_INDEX}.{FILEFORMAT}"
    (path / "dataset_info.json").write_text(json.dumps(document))
    (path / "train").mkdir()
    for index, file in enumerate(sorted(path.glob("*.tfrecord*"))):
        file.rename(path / "train" / f"one-{index:05d}.tfrecord")
    assert count > 1
    assert [int(each["x"]) for each in fastrec.tfds.load(path, split="train")] == list(range(20))


def test_records_in_another_format_beside(tmp_path: Path) -> None:
    path = Path(make(tmp_path, "one"))
    document = json.loads((path / "dataset_info.json").read_text())
    document |= {"fileFormat": "array_record", "alternativeFileFormats": ["tfrecord"]}
    (path / "dataset_info.json").write_text(json.dumps(document))
    assert len(list(fastrec.tfds.load(path, split="train"))) == 3


# --- writing ----------------------------------------------------------------------------------


def test_nothing_is_left_of_a_set_that_fails(tmp_path: Path) -> None:
    def examples() -> Any:
        yield {"x": 1}
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        fastrec.tfds.write(tmp_path, "one", {"train": examples()}, {"x": "int32"})
    assert list(tmp_path.iterdir()) == []
    make(tmp_path, "one")
    with pytest.raises(FileExistsError):
        make(tmp_path, "one")


@pytest.mark.parametrize(
    ("example", "described", "message"),
    [
        ({}, {"x": "int32"}, "split 'train', example 0: the example lacks 'x'"),
        ({"x": 1, "y": 2}, {"x": "int32"}, "the example has 'y'"),
        ({"x": [1]}, {"x": "int32"}, r"feature 'x': must be of shape \(\), got \(1,\)"),
        ({"x": "a"}, {"x": "int32"}, "feature 'x': "),
        ({"x": 3}, {"x": features.ClassLabel(3)}, r"label 3 is out of range \(-1 to 2\)"),
        ({"x": "c"}, {"x": features.ClassLabel(names=["a"])}, "no class is named 'c'"),
        ({"x": [1, 2]}, {"x": features.Sequence("int32", 3)}, "must have 3 elements, got 2"),
        ({"x": 5}, {"x": features.Text()}, "must be str or bytes, got int"),
        ({"x": 5}, {"x": {"y": "int32"}}, "feature 'x' must be a mapping"),
        ({"x": np.zeros((2, 2))}, {"x": features.Image()}, "an image must be of shape"),
        ({"x": [[1], []]}, {"x": features.Tensor((None, None), "int8")}, "requires|inhomogeneous"),
    ],
)
def test_examples_that_do_not_fit(
    tmp_path: Path, example: Any, described: Any, message: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        fastrec.tfds.write(tmp_path, "one", {"train": [example]}, described)
    assert "example 0" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "Caps"}, "name must be of lower-case"),
        ({"name": "../x"}, "name must be of lower-case"),
        ({"version": "1"}, "version must be as"),
        ({"config": "../x"}, "config must be of"),
        ({"splits": {"a/b": []}}, "splits must be named"),
        ({"splits": {"all": []}}, "splits must be named"),
        ({"shard_bytes": 0}, "shard_bytes must be at least 1"),
        ({"features": 5}, "must be"),
    ],
)
def test_names_that_are_refused(tmp_path: Path, options: Any, message: str) -> None:
    arguments = {"name": "one", "splits": {"train": []}, "features": {"x": "int32"}, **options}
    with pytest.raises((ValueError, TypeError), match=message):
        fastrec.tfds.write(tmp_path, **arguments)


def test_a_split_without_records(tmp_path: Path) -> None:
    path = fastrec.tfds.write(tmp_path, "one", {"train": []}, {"x": "int32"})
    assert len(fastrec.tfds.load(path, split="train")) == 0
    assert list(fastrec.tfds.load(path, split="train")) == []
    with pytest.raises(ValueError, match="0 records> has none to make batches of"):
        fastrec.tfds.load(path, split="train").batches(2)
