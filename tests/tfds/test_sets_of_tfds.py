# SPDX-License-Identifier: Apache-2.0
"""Datasets that TFDS wrote (tests/tools/write_tfds.py): the same values, to the bit."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tfds_values import same

import fastrec
import fastrec.tfds
from fastrec import _core
from fastrec.tfds import features

SETS = Path(__file__).parents[1] / "data" / "tfds"
EXPECTED = json.loads((SETS / "expected.json").read_text())
NAMES = list(EXPECTED)


# Pillow has no 16-bit colours, so that these stay files without libpng.
NOT_DECODED = {"wide_colour"} if _core.png_version() is None else set()
# Pillow has no fast transform of JPEGs, which is TensorFlow's; the others are equal to the bit.
ROUNDED = {"jpeg"} if str(fastrec.image.decoders()["JPEG"]).startswith("Pillow") else set()


@pytest.mark.parametrize("name", NAMES)
def test_records_are_what_tfds_gives(name: str) -> None:
    if name in ("images", "episodes"):
        pytest.importorskip("PIL")
    dataset = fastrec.tfds.load(SETS, split="train", name=name)
    assert len(dataset) == len(EXPECTED[name])
    for number, theirs in enumerate(EXPECTED[name]):
        for ours in (dataset[number], list(dataset)[number]):
            for key, value in theirs.items():
                if key in NOT_DECODED:
                    assert ours[key].startswith(b"\x89PNG")
                elif key in ROUNDED:
                    shape = tuple(value["shape"])
                    exact = np.frombuffer(base64.b64decode(value["array"]), np.uint8)
                    apart = np.abs(ours[key].astype(int) - exact.reshape(shape))
                    assert ours[key].shape == shape
                    assert apart.max() <= 8  # of noise
                    assert apart.mean() < 3
                else:
                    same(ours[key], value, f"{name}[{number}]/{key}")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("split", ["train", "train[1:]+test"])
def test_batches_have_what_records_have(name: str, split: str) -> None:
    if name in ("images", "episodes"):
        pytest.importorskip("PIL")
    dataset = fastrec.tfds.load(SETS, split=split, name=name)
    rows = list(dataset)
    seen = 0
    for batch in dataset.batches(2):
        first = _first(batch)
        for row in range(first):
            _held(batch, row, rows[seen + row])
        seen += first
    assert seen == len(rows)


def _first(batch: Any) -> int:
    while isinstance(batch, dict):
        batch = next(iter(batch.values()))
    return len(batch)


def _held(batch: Any, row: int, value: Any) -> None:
    if hasattr(value, "columns"):  # steps
        value = value.columns()
    if isinstance(value, dict):
        for key, each in value.items():
            _held(batch[key], row, each)
        return
    found = batch[row]
    if isinstance(found, (fastrec.Ragged, fastrec.Bytes)):
        found = found.to_list() if isinstance(found, fastrec.Ragged) else found.to_numpy()
        value = value.to_list() if isinstance(value, fastrec.Ragged) else value
    if isinstance(value, list):
        assert len(found) == len(value)
        pairs = zip(found, value, strict=True)
        assert found == value if _is_plain(value) else all(np.array_equal(*pair) for pair in pairs)
    else:
        assert np.array_equal(found, value)


def _is_plain(value: Any) -> bool:
    return all(_is_plain(each) if isinstance(each, list) else np.isscalar(each) for each in value)


def test_names_of_labels_come_along() -> None:
    found = fastrec.tfds.info(SETS, name="tensors").features
    assert found is not None
    label: Any = found["label"]
    assert label.names == ["cat", "dog", "h\u00f6rse"]
    assert (label.int2str(2), label.str2int("dog"), label.num_classes) == ("h\u00f6rse", 1, 3)
    nested: Any = found["nested"]
    assert nested["deep/er"]["label"].names == ["a", "b"]
    unnamed: Any = found["label_number"]
    assert (unnamed.int2str(4), unnamed.str2int("4")) == ("4", 4)
    with pytest.raises(ValueError, match=r"label 5 is out of range \(0 to 4\)"):
        unnamed.int2str(5)
    with pytest.raises(ValueError, match="no class is named 'cow'"):
        label.str2int("cow")
    sequence: Any = fastrec.tfds.info(SETS, name="sequences").features
    assert sequence["labels"].names == ["x", "y", "z"]
    images: Any = fastrec.tfds.info(SETS, name="images").features
    assert images["labelled"].names == ["sky", "ground"]


def test_what_describes_a_set() -> None:
    found = fastrec.tfds.info(SETS, name="tensors:1.*.*")
    assert (found.name, found.version, found.full_name) == ("tensors", "1.0.0", "tensors/1.0.0")
    assert found.supervised_keys == ("text", "label")
    assert found.disable_shuffling
    assert {name: split.num_examples for name, split in found.splits.items()} == {
        "train": 4,
        "test": 1,
    }


def test_decode_false_leaves_files() -> None:
    ours = fastrec.tfds.load(SETS, split="train", name="images", decode=False)[2]
    assert ours["png"].startswith(b"\x89PNG")
    assert [each[:4] for each in ours["video"]] == [b"\x89PNG"] * 2
    steps = fastrec.tfds.load(SETS, split="train", name="episodes", decode=False)[1]["steps"]
    assert steps[0]["observation"]["image"].startswith(b"\x89PNG")
    assert steps[1]["packed"].tolist() == [[1, 1], [1, 1]]  # no file of its own


def test_some_features() -> None:
    ours = fastrec.tfds.load(
        SETS, split="train", name="episodes", features=["steps/observation/state", "steps/action"]
    )
    assert set(ours[1]) == {"steps"}
    assert set(ours[1]["steps"][0]) == {"observation", "action"}
    with pytest.raises(ValueError, match=r"features must be in .* got 'stop'"):
        fastrec.tfds.load(SETS, split="train", name="episodes", features=["stop"])


def test_a_set_that_tfds_wrote_is_written_again_as_it_was(tmp_path: Path) -> None:
    for name in NAMES:
        there = fastrec.tfds.info(SETS, name=name)
        examples = fastrec.tfds.load(SETS, split="train", name=name, decode=False)
        assert there.features is not None
        path = fastrec.tfds.write(
            tmp_path, name, {"train": map(_writable, examples)}, there.features
        )
        described = fastrec.tfds.info(path)
        assert repr(described.features) == repr(there.features)
        records = list(fastrec.Reader(there.splits["train"].paths[0]))
        again = list(fastrec.Reader(described.splits["train"].paths[0]))
        specs = fastrec.tfds.load(path, split="train")._structure.spec
        for one, other in zip(records, again, strict=True):
            theirs = fastrec.parse_example([one], specs)
            ours = fastrec.parse_example([other], specs)
            assert _keys(one) == _keys(other)
            for key in specs:
                assert _plain(ours[key]) == _plain(theirs[key]), key


def _keys(record: bytes) -> set[str]:
    return set(fastrec.train.Example.FromString(record).features.feature)


def _plain(column: Any) -> Any:
    return column.tolist() if isinstance(column, np.ndarray) else column.to_list()


def _writable(value: Any) -> Any:
    """A value as write() takes it: what was None is None again."""
    if isinstance(value, dict):
        missing = {"optional": np.iinfo(np.int32).min, "optional_string": b""}
        missing |= {"optional_tensor": np.finfo(np.float32).min, "optional_bool": False}
        return {
            key: None if key in missing and np.all(each == missing[key]) else _writable(each)
            for key, each in value.items()
        }
    if isinstance(value, fastrec.Ragged):
        return value.to_list()
    return value


def test_connectors_print_what_they_are() -> None:
    assert repr(features.Sequence({"a": "int32"})) == (
        "Sequence(FeaturesDict({'a': Scalar((), int32)}))"
    )
    assert repr(features.Tensor((None, 2), "uint8", "zlib")) == "Tensor((None, 2), uint8, 'zlib')"
