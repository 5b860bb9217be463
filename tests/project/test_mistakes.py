# SPDX-License-Identifier: Apache-2.0
"""Common mistakes, and the errors that fastrec raises for them."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
import fastrec.image
from fastrec import _core

INT = fastrec.FixedLenFeature((), np.int64)
ANYTHING = fastrec.FixedLenFeature((), bytes)
RECORD = fastrec.encode_example({"label": 1, "image": b"x"})
FRAME = _core.frame(RECORD)


def write(directory: Path, record: Any, **options: Any) -> str:
    with fastrec.Writer(directory / "x", **options) as writer:
        writer.write(record)
    return str(directory / "x")


def two_kinds(directory: Path) -> str:
    with fastrec.Writer(directory / "x") as writer:
        writer.write({"label": 1})
        writer.write({"label": b"one"})
    return str(directory / "x")


def put(directory: Path, data: bytes) -> str:
    (directory / "x").write_bytes(data)
    return str(directory / "x")


MISTAKES: dict[str, tuple[Callable[[Path], Any], type[Exception], str]] = {
    "a number as a record": (
        lambda d: write(d, 3),
        TypeError,
        "a record must be bytes or a mapping, got int",
    ),
    "text as a record": (
        lambda d: write(d, "x"),
        TypeError,
        "a record must be bytes or a mapping, got str; encode the text",
    ),
    "an array as a record": (
        lambda d: write(d, np.zeros(3)),
        TypeError,
        "a record must be bytes or a mapping, got an array of float64 and shape (3,); pass tobytes",
    ),
    "no files at all": (
        lambda d: fastrec.Reader([]),
        FileNotFoundError,
        "no files to read: the list of paths is empty",
    ),
    "no files to make batches of": (
        lambda d: fastrec.Batcher([], {"label": INT}),
        FileNotFoundError,
        "no files to read: the list of paths is empty",
    ),
    "augment of encoded bytes": (
        lambda d: fastrec.Batcher(
            write(d, RECORD), {"image": ANYTHING}, augment={"image": fastrec.Augment(flip=True)}
        ),
        TypeError,
        "augment 'image' requires an ImageFeature (one encoded image) or a RawFeature "
        "(pixels), got FixedLenFeature(shape=(), dtype=<class 'bytes'>",
    ),
    "an array that is stored as bytes": (
        lambda d: fastrec.parse_example(
            [fastrec.encode_example({"image": bytes(48)})],
            {"image": fastrec.FixedLenFeature((4, 4, 3), np.uint8)},
        ),
        fastrec.ExampleParseError,
        "expected int64_list, found bytes_list (ask for bytes); its value has 48 bytes: a "
        "RawFeature of uint8?",
    ),
    "a shuffle of a file that is a device": (
        lambda d: fastrec.Batcher([write(d, RECORD, compression="GZIP"), os.devnull], shuffle=True),
        fastrec.RandomAccessError,
        "'/dev/null' can only be read in sequence; shuffle=10000 shuffles through a buffer",
    ),
    "a shard that is a number": (
        lambda d: fastrec.Batcher(write(d, RECORD), shard=2),  # type: ignore[arg-type]
        ValueError,
        "shard must be (index, count), 'auto' or None, got 2",
    ),
    "a shard that is not among them": (
        lambda d: fastrec.Batcher(write(d, RECORD), shard=(2, 2)),
        ValueError,
        "shard must be (index, count) with index < count, got (2, 2)",
    ),
    "a batch size that is no whole number": (
        lambda d: fastrec.Batcher(write(d, RECORD), batch_size=4.0),  # type: ignore[arg-type]
        TypeError,
        "batch_size must be an int or None, got 4.0",
    ),
    "a batch size that is text": (
        lambda d: fastrec.Batcher(write(d, RECORD), batch_size="4"),  # type: ignore[arg-type]
        TypeError,
        "batch_size must be an int or None, got '4'",
    ),
    "a batch size of nothing": (
        lambda d: fastrec.Batcher(write(d, RECORD), batch_size=0),
        ValueError,
        "batch_size must be at least 1, got 0",
    ),
    "a dtype as a feature": (
        lambda d: fastrec.parse_example([RECORD], {"label": np.int64}),  # type: ignore[dict-item]
        TypeError,
        "must be a FixedLenFeature or its like, got <class 'numpy.int64'>; for one value, "
        "FixedLenFeature((), np.int64)",
    ),
    "a batch size in the place of features": (
        lambda d: fastrec.Batcher(write(d, RECORD), 128),  # type: ignore[arg-type]
        TypeError,
        "batch_size is the third argument: Batcher(source, features, 128)",
    ),
    "a feature of text": (
        lambda d: fastrec.FixedLenFeature((), str),
        TypeError,
        "dtype must be bytes for text, got str; decode the values",
    ),
    "a dtype that there is not": (
        lambda d: fastrec.FixedLenFeature((), "int65"),
        TypeError,
        "dtype must be a NumPy dtype or bytes, got 'int65'",
    ),
    "a home directory": (
        lambda d: fastrec.Reader("~/a.tfrecord"),
        FileNotFoundError,
        "~ is not expanded: use os.path.expanduser()",
    ),
    "braces": (
        lambda d: fastrec.Reader("a-{0,1}.tfrecord"),
        FileNotFoundError,
        "braces are not expanded: pass a list of names",
    ),
    "a file that is text": (
        lambda d: list(fastrec.Reader(put(d, b"hello, this is a text\n" * 3))),
        fastrec.CorruptRecordError,
        "x': it looks like text",
    ),
    "several records as one": (
        lambda d: fastrec.parse_single_example([RECORD], {"label": INT}),  # type: ignore[arg-type]
        TypeError,
        "record must be bytes-like, got list",
    ),
    "a path as one record": (
        lambda d: fastrec.parse_single_example("a.tfrecord", {"label": INT}),  # type: ignore[arg-type]
        TypeError,
        "record must be bytes-like, got str; if that is a file, pass a record of it",
    ),
    "text to parse": (
        lambda d: fastrec.parse_example(["x"], {"label": INT}),  # type: ignore[list-item]
        TypeError,
        "a record must be bytes, got str",
    ),
    "another feature": (
        lambda d: fastrec.parse_example([RECORD], {"pixels": INT}),
        fastrec.ExampleParseError,
        "the record has 2 other features: 'image', 'label'",
    ),
    "no image": (
        lambda d: fastrec.parse_example([RECORD], {"image": fastrec.ImageFeature()}),
        fastrec.ExampleParseError,
        "record 0: feature 'image': cannot be decoded: the value is text;",
    ),
    "a file of text": (
        lambda d: fastrec.Reader(io.StringIO("text")),
        TypeError,
        "open it with mode 'rb'",
    ),
    "a URL": (
        lambda d: fastrec.Reader("https://localhost/train-*.tfrecord"),
        OSError,
        "a pattern or folder requires a listing, which HTTP servers do not give",
    ),
    "a batch by its number, as a DataLoader requests it": (
        lambda d: fastrec.Batcher(write(d, RECORD), {"label": INT})[0],
        TypeError,
        "iterate over it, or, in a DataLoader, use fastrec.torch.IterableDataset",
    ),
    "GZIP twice": (
        lambda d: list(fastrec.Reader(put(d, gzip.compress(gzip.compress(FRAME))))),
        fastrec.CorruptRecordError,
        "it looks like GZIP data inside of GZIP data; decompress it once",
    ),
    "GZIP for a file that is not compressed": (
        lambda d: list(fastrec.Reader(write(d, RECORD), compression="GZIP")),
        fastrec.CorruptRecordError,
        "the file is not compressed: compression='auto' reads it",
    ),
    "a login page": (
        lambda d: list(fastrec.Reader(put(d, b"<html>" * 50), on_error="skip")),
        fastrec.CorruptRecordError,
        "it looks like an HTML page; it may be a login page; the download failed",
    ),
    "a Parquet file": (
        lambda d: list(fastrec.Reader(put(d, b"PAR1" + bytes(range(60)) + b"PAR1"))),
        fastrec.CorruptRecordError,
        "it looks like a Parquet file; `fastrec convert FILE -o OUT.tfrecord` converts it",
    ),
    "a path as records": (
        lambda d: fastrec.parse_example("a.tfrecord", {"label": INT}),  # type: ignore[arg-type]
        TypeError,
        "if that is a file, pass fastrec.Reader(...) of it",
    ),
    "an empty list": (
        lambda d: fastrec.parse_example([fastrec.encode_example({"label": []})], {"label": INT}),
        fastrec.ExampleParseError,
        "the record has it without values; a RaggedFeature reads it as empty",
    ),
    "a feature that no record fits, with skip": (
        lambda d: list(fastrec.Batcher(write(d, RECORD), {"image": INT}, 1, on_error="skip")),
        fastrec.ExampleParseError,
        "no record can be used: all of the first 1 were left out",
    ),
    "two kinds of a feature": (
        lambda d: fastrec.infer_features(two_kinds(d)),
        fastrec.ExampleParseError,
        "it is int64_list in record 0, and bytes_list first in record 1 of ",
    ),
    "a seed that is text": (
        lambda d: fastrec.Batcher(write(d, RECORD), shuffle=True, seed="0"),  # type: ignore[arg-type]
        TypeError,
        "seed must be an int or None, got '0'",
    ),
    "a number of shards that is text": (
        lambda d: fastrec.Writer(d / "x", shards="4"),  # type: ignore[arg-type]
        TypeError,
        "shards must be an int or None, got '4'",
    ),
    "one size of an image": (
        lambda d: fastrec.ImageFeature(64),  # type: ignore[arg-type]
        ValueError,
        "shape must be (height, width), got 64",
    ),
    "an array to pad": (
        lambda d: fastrec.pad(np.zeros(3)),  # type: ignore[arg-type]
        TypeError,
        "ragged must be a Ragged, got array([0., 0., 0.])",
    ),
    "the bytes of an image as a path": (
        lambda d: fastrec.image.decode(b"\xff\xd8\xff\xe0" + bytes(20)),  # type: ignore[arg-type]
        TypeError,
        "fastrec.ImageFeature().decode([data]) decodes bytes",
    ),
    "means for pixels up to 255": (
        lambda d: fastrec.image.Normalize(mean=(123, 116, 103), std=(58, 57, 57)),
        ValueError,
        "Normalize works on x / 255",
    ),
    "a shuffle of one": (
        lambda d: fastrec.Batcher(write(d, RECORD), shuffle=1),
        ValueError,
        "write shuffle=True to shuffle all records",
    ),
    "a variable": (
        lambda d: fastrec.Reader("$DATA/a.tfrecord"),
        FileNotFoundError,
        "variables are not expanded: use os.path.expandvars()",
    ),
    "a name that there is not": (
        lambda d: fastrec.Batchr,
        AttributeError,
        "module 'fastrec' has no attribute 'Batchr'",
    ),
}


NEEDS = {"no image": "PIL", "a URL": "obstore"}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_answered(name: str, tmp_path: Path) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    mistake, kind, text = MISTAKES[name]
    with pytest.raises(kind) as caught:
        mistake(tmp_path)
    assert text in str(caught.value)


def test_a_batcher_that_can_give_no_batch_warns(tmp_path: Path) -> None:
    path = write(tmp_path, RECORD)
    batcher = fastrec.Batcher(path, batch_size=2, drop_remainder=True)
    with pytest.warns(RuntimeWarning, match="leaves no batch of 2 records: an epoch of this shard"):
        assert list(batcher) == []


def test_a_file_that_is_no_record_file_says_so_first(tmp_path: Path) -> None:
    path = put(tmp_path, b"hello, this is a text\n" * 3)
    with pytest.raises(fastrec.CorruptRecordError) as caught:
        list(fastrec.Reader(path))
    assert str(caught.value).startswith(f"not a TFRecord file in {path!a}: it looks like text")


def test_dtypes_of_other_libraries_are_taken_by_name() -> None:
    torch = pytest.importorskip("torch")
    for name in ("int64", "float32", "uint8", "bool"):
        feature = fastrec.FixedLenFeature((), getattr(torch, name))
        column = fastrec.parse_example(
            [fastrec.encode_example({"x": [1.0] if name == "float32" else [1]})], {"x": feature}
        )["x"]
        assert column.dtype == np.dtype(name)
    with pytest.raises(TypeError, match=r"must be"):  # ml_dtypes may know it
        fastrec.FixedLenFeature((), torch.bfloat16)


def test_random_access_to_some_that_are_compressed_names_one(tmp_path: Path) -> None:
    paths = [tmp_path / "x.tfrecord.gz", tmp_path / "x.tfrecord"]
    for path in paths:
        with fastrec.Writer(path) as writer:
            writer.write(b"x")
    with pytest.raises(fastrec.RandomAccessError, match=r"x\.tfrecord\.gz' can only be iterated"):
        len(fastrec.Reader(paths))


def test_what_is_closed_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with fastrec.Writer(path) as writer:
        writer.write(b"x")
        assert repr(writer) == f"<fastrec.Writer of {str(path)!a}, 1 record>"
    assert repr(writer).endswith(", 1 record, closed>")
    reader = fastrec.Reader(path)
    assert repr(reader) == f"<fastrec.Reader of {str(path)!a}>"
    reader.close()
    assert repr(reader).endswith(", closed>")
    batcher = fastrec.Batcher(path, batch_size=2, shuffle=True, seed=3)
    assert "batch_size=2, shuffle=True, seed=3" in repr(batcher)
    with iter(batcher) as batches:
        next(batches)
        assert repr(batches) == "<fastrec.Batches, 1 delivered>"
    assert repr(batches) == "<fastrec.Batches, 1 delivered, closed>"


def test_completion_offers_what_is_public() -> None:
    offered = [name for name in dir(fastrec) if not name.startswith("__")]
    assert sorted([*fastrec.__all__, "errors", *fastrec._MODULES]) == offered
