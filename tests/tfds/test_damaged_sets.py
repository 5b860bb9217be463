# SPDX-License-Identifier: Apache-2.0
"""Directories that are not as they should be: an error that names the file, and what to do."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastrec
import fastrec.tfds
from fastrec.errors import FastrecError, MissingRecordsError
from fastrec.tfds import MetadataError, features

SETS = Path(__file__).parents[1] / "data" / "tfds"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    examples = [{"x": [i, -i], "label": i % 2} for i in range(20)]
    described = {"x": features.Tensor((2,)), "label": features.ClassLabel(names=["even", "odd"])}
    return Path(
        fastrec.tfds.write(
            tmp_path, "numbers", {"train": examples, "test": examples[:3]}, described,
            shard_bytes=300,
        )
    )  # fmt: skip


def change(file: Path, edit: Any) -> None:
    document = json.loads(file.read_text())
    edit(document)
    file.write_text(json.dumps(document))


# --- JSON -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be JSON"),
        ("{", "must be JSON"),
        ("[]", r"must be an object, got \[\]"),
        ("null", "must be an object, got None"),
        ('{"a": ' * 5000 + "1" + "}" * 5000, "must be JSON|must be nested at most 64 deep"),
        ('{"a": ' * 100 + "1" + "}" * 100, "must be nested at most 64 deep"),
        ('{"splits": {}}', r"splits: must be a list, got \{\}"),
        ('{"splits": [1]}', r"splits\[0\]: must be an object, got 1"),
        ('{"splits": [{"name": "../x"}]}', r"a split must be named by letters and digits"),
        ('{"splits": [{"name": "a", "shardLengths": ["x"]}]}', r"shardLengths\[0\]: must be an in"),
        ('{"splits": [{"name": "a", "shardLengths": [-1]}]}', "must be an integer from 0"),
        ('{"splits": [{"name": "a", "shardLengths": [1.5]}]}', "must be an integer from 0"),
        ('{"splits": [{"name": "a", "shardLengths": ["9223372036854775808"]}]}', "must be an int"),
        ('{"splits": [{"name": "a", "shardLengths": [true]}]}', "must be an integer from 0"),
        ('{"splits": [{"name":"a","shardLengths":[1]},{"name":"a","shardLengths":[1]}]}', "differ"),
        ('{"name": 5}', "name: must be a string, got 5"),
        ('{"fileFormat": "riegeli"}', "format 'riegeli', and fastrec reads tfrecord"),
        ('{"disableShuffling": "yes"}', "must be true or false"),
    ],
)
def test_damaged_info(path: Path, text: str, message: str) -> None:
    (path / "dataset_info.json").write_text(text)
    with pytest.raises(MetadataError, match=message) as caught:
        fastrec.tfds.load(path, split="train")
    assert caught.value.path == str(path / "dataset_info.json")
    assert "dataset_info.json" in str(caught.value)


@pytest.mark.parametrize(
    "template",
    ["../{SPLIT}-{SHARD_INDEX}", "/etc/passwd", "{SPLIT", "{HOME}", "a/../../{SPLIT}", "{SPLIT}/"],
)
def test_templates_that_lead_elsewhere(path: Path, template: str) -> None:
    def edit(document: Any) -> None:
        document["splits"][0]["filepathTemplate"] = template

    change(path / "dataset_info.json", edit)
    with pytest.raises(MetadataError, match="does not name files in the directory"):
        fastrec.tfds.info(path)


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        ({"pythonClassName": "my.Own"}, "'my.Own' is a connector that fastrec does not know"),
        ({"tensor": {"dtype": "complex64"}}, "features.x: dtype must be a bool, integer, float"),
        ({"tensor": {"dtype": "nothing"}}, "features.x: .*nothing"),
        ({"tensor": {"shape": {"dimensions": ["x"]}}}, r"dimensions\[0\]: must be an integer"),
        ({"tensor": {"shape": {"dimensions": ["1"] * 99}}}, "at most 32 dimensions"),
        ({"tensor": {"encoding": "lzma"}}, "encoding must be 'none', 'bytes' or 'zlib'"),
        ({"tensor": {"dtype": "string", "encoding": "zlib"}}, "encoding of strings must be 'none'"),
        ({"tensor": []}, r"must be an object, got \[\]"),
        ({"image": {"shape": {"dimensions": ["2"]}}}, "must have 3 dimensions"),
        ({"image": {"encodingFormat": "tga"}}, "encoding_format must be"),
        ({"video": {"shape": {"dimensions": ["2"]}}}, "a video must have 4 dimensions"),
        ({"sequence": {}}, "a sequence must have a feature"),
        ({"translation": {"languages": [1]}}, "languages must be strings"),
        ({"jsonFeature": {"json": "{"}, "pythonClassName": "a.Tensor"}, "must be JSON"),
        (7, "must be an object, got 7"),
    ],
)
def test_damaged_features(path: Path, feature: Any, message: str) -> None:
    def edit(document: Any) -> None:
        document["featuresDict"]["features"]["x"] = feature

    change(path / "features.json", edit)
    with pytest.raises(MetadataError, match=message) as caught:
        fastrec.tfds.load(path, split="train")
    assert caught.value.path == str(path / "features.json")


def test_names_that_do_not_fit(path: Path) -> None:
    labels = path / "label.labels.txt"
    labels.write_text("even\nodd\nneither\n")
    with pytest.raises(MetadataError, match=r"label.labels.txt.*must be 2 names, got 3"):
        fastrec.tfds.info(path)
    labels.write_text("even\neven\n")
    with pytest.raises(MetadataError, match="must differ from each other"):
        fastrec.tfds.info(path)
    labels.write_bytes(b"\xff\n\xfe\n")
    with pytest.raises(MetadataError, match=r"label\.labels\.txt"):
        fastrec.tfds.info(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "name",
                    "splits",
                    "shardLengths",
                    "numBytes",
                    "filepathTemplate",
                    "supervisedKeys",
                    "tuple",
                    "items",
                    "dict",
                    "featuresDict",
                    "features",
                    "tensor",
                    "shape",
                    "dimensions",
                    "dtype",
                    "encoding",
                    "image",
                    "sequence",
                    "feature",
                    "length",
                    "classLabel",
                    "numClasses",
                    "type",
                    "content",
                    "pythonClassName",
                    "video",
                    "audio",
                    "text",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(JSON, st.sampled_from(["dataset_info.json", "features.json"]))
def test_any_json_is_read_or_refused(tmp_path_factory: Any, document: Any, name: str) -> None:
    directory = tmp_path_factory.mktemp("set")
    (directory / "dataset_info.json").write_text('{"name": "a", "splits": []}')
    (directory / name).write_text(json.dumps(document))
    with contextlib.suppress(MetadataError, MissingRecordsError):
        fastrec.tfds.info(directory)
    shutil.rmtree(directory)


# --- files ------------------------------------------------------------------------------------


def shards(path: Path) -> list[Path]:
    return sorted(path.glob("numbers-train.tfrecord-*"))


def test_a_missing_shard(path: Path) -> None:
    lost = shards(path)[1]
    lost.unlink()
    dataset = fastrec.tfds.load(path, split="train")
    assert len(dataset) == 20  # as the set says, without a look at the files
    first = dataset.files[0].length
    uses: list[Any] = [list, lambda ds: ds[first], lambda ds: ds.batches(4)]
    for use in [*uses, lambda ds: ds.statistics()]:
        with pytest.raises(FileNotFoundError) as caught:
            use(dataset)
        assert caught.value.filename == str(lost)


def test_a_shard_of_another_length(path: Path) -> None:
    first = shards(path)[0]
    records = list(fastrec.Reader(first))
    for changed, count in ((records[:-1], str(len(records) - 1)), (records * 2, "more than")):
        with fastrec.Writer(first, overwrite=True) as writer:
            writer.write_many(changed)
        for use in (list, lambda ds: ds[0], lambda ds: ds.batches(4), lambda ds: list(ds[:1])):
            dataset = fastrec.tfds.load(path, split="train")
            message = f"must have {len(records)} records by dataset_info.json, got {count}"
            with pytest.raises(MissingRecordsError, match=message) as caught:
                use(dataset)
            assert caught.value.path == str(first)


@pytest.mark.parametrize("split", [None, "train", "train[:2]", "test+train"])
def test_a_shard_that_is_said_to_be_empty(path: Path, split: str | None) -> None:
    def edit(document: Any) -> None:
        (train,) = (each for each in document["splits"] if each["name"] == "train")
        train["shardLengths"][-1] = "0"

    change(path / "dataset_info.json", edit)
    with pytest.raises(MissingRecordsError, match=r"must have 0 records by .*, got more than 0"):
        fastrec.tfds.load(path, split=split)
    fastrec.Writer(shards(path)[-1], overwrite=True).close()
    assert fastrec.tfds.load(path, split=split)


def test_a_truncated_shard(path: Path) -> None:
    first = shards(path)[0]
    os.truncate(first, first.stat().st_size - 3)
    for use in (list, lambda ds: ds[0], lambda ds: ds.batches(4)):
        with pytest.raises(fastrec.TruncatedFileError, match=first.name):
            use(fastrec.tfds.load(path, split="train"))


def test_records_that_are_not_as_described(path: Path) -> None:
    first = shards(path)[0]
    records = list(fastrec.Reader(first))
    records[2] = fastrec.encode_example({"x": [1.0], "label": 0})
    with fastrec.Writer(first, overwrite=True) as writer:
        writer.write_many(records)
    dataset = fastrec.tfds.load(path, split="train")
    for use in (list, lambda ds: ds[2], lambda ds: ds[-18]):
        with pytest.raises(
            fastrec.ExampleParseError, match=r"record 2 in .*0-of-.*: feature 'x'"
        ) as it:
            use(dataset)
        assert (it.value.path, it.value.record) == (str(first), 2)
    assert dataset[0]["x"].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("feature", "value", "message"),
    [
        ("as_zlib", b"no stream", "must be a zlib stream"),
        ("as_zlib", b"x\x9c" + b"\0" * 9, "zlib stream"),
        ("as_bytes", b"1234567", "buffer size|must be of shape|multiple"),
        ("as_bytes", b"12345678", r"1 values must be of shape \(2, 3\)"),
        ("several_unknown/shape", [2**40, 2, 2**40], "must inflate to at most|must be of shape"),
        ("several_unknown/shape", [-1, 2, 3], r"its shape must be \(None, 2, None\)"),
        ("several_unknown/shape", [1, 3, 3], r"its shape must be \(None, 2, None\)"),
        ("unknown_last", [1, 2, 3], r"3 values must be of shape"),
    ],
)
def test_values_that_are_not_as_described(
    tmp_path: Path, feature: str, value: Any, message: str
) -> None:
    shutil.copytree(SETS / "tensors", tmp_path / "tensors")
    (file,) = tmp_path.glob("tensors/1.0.0/*train*")
    records = list(fastrec.Reader(file))
    example = fastrec.train.Example.FromString(records[1])
    found = example.features.feature[feature]
    found.Clear()
    if isinstance(value, bytes):
        found.bytes_list.value.append(value)
    else:
        found.int64_list.value.extend(value)
    records[1] = example.SerializeToString()
    with fastrec.Writer(file, overwrite=True) as writer:
        writer.write_many(records)
    dataset = fastrec.tfds.load(tmp_path, split="train")
    name = feature.removesuffix("/shape")
    with pytest.raises(
        fastrec.ExampleParseError, match=f"record 1 in .*: feature '{name}.*{message}"
    ):
        dataset[1]
    with pytest.raises(fastrec.ExampleParseError, match=f"feature '{name}.*{message}"):
        list(dataset.batches(4))


def test_a_stream_that_inflates_to_too_much(tmp_path: Path) -> None:
    import zlib

    described = {"x": features.Tensor((2,), "int8", "zlib")}
    examples = [{"x": np.array([1, 2], np.int8)}]
    path = fastrec.tfds.write(tmp_path, "bomb", {"train": examples}, described)
    (file,) = Path(path).glob("*.tfrecord*")
    with fastrec.Writer(file, overwrite=True) as writer:
        writer.write(fastrec.encode_example({"x": zlib.compress(bytes(1 << 24))}))
    with pytest.raises(fastrec.ExampleParseError, match="must inflate to at most 2"):
        fastrec.tfds.load(path, split="train")[0]


def test_an_image_that_is_none(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    described = {"image": features.Image((2, 2, 3)), "depth": features.Image((2, 2, 1), "uint16")}
    good = {"image": np.zeros((2, 2, 3), np.uint8), "depth": np.ones((2, 2, 1), np.uint16)}
    for name, data in (("image", b"nothing"), ("depth", b"nothing")):
        path = fastrec.tfds.write(
            tmp_path / name, "p", {"train": [good, {**good, name: data}]}, described
        )
        dataset = fastrec.tfds.load(path, split="train")
        assert dataset[0]["depth"].tolist() == [[[1], [1]], [[1], [1]]]
        with pytest.raises(fastrec.ExampleParseError, match=rf"record 1 in .*: feature '{name}'"):
            dataset[1]
    other = {**good, "image": np.zeros((2, 2, 3), np.uint8)}
    described["image"] = features.Image((None, None, 3))
    path = fastrec.tfds.write(tmp_path, "q", {"train": [other]}, described)
    change(Path(path) / "features.json", _of_size_three)
    with pytest.raises(
        fastrec.ExampleParseError, match=r"record 0 in .*: feature 'image': .*(3x3|3, 3)"
    ):
        fastrec.tfds.load(path, split="train")[0]


def _of_size_three(document: Any) -> None:
    document["featuresDict"]["features"]["image"]["image"]["shape"] = {"dimensions": ["3"] * 3}


def test_errors_are_fastrecs(path: Path) -> None:
    assert issubclass(MetadataError, FastrecError)
    with pytest.raises(IndexError, match=r"record 20 is out of range \(20 records\)"):
        fastrec.tfds.load(path, split="train")[20]
    with pytest.raises(ValueError, match="sliced in steps of 1"):
        fastrec.tfds.load(path, split="train")[::2]
