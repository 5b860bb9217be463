# SPDX-License-Identifier: Apache-2.0
"""What somebody new to it does wrong, and what fastrec says to that."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec

INT = fastrec.FixedLenFeature((), np.int64)
RECORD = fastrec.encode_example({"label": 1, "image": b"x"})


def write(directory: Path, record: Any) -> None:
    with fastrec.Writer(directory / "x") as writer:
        writer.write(record)


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
    "several records as one": (
        lambda d: fastrec.parse_single_example([RECORD], {"label": INT}),  # type: ignore[arg-type]
        TypeError,
        "a record is bytes, not list",
    ),
    "text to parse": (
        lambda d: fastrec.parse_example(["x"], {"label": INT}),  # type: ignore[list-item]
        TypeError,
        "a record is bytes, not str",
    ),
    "another feature": (
        lambda d: fastrec.parse_example([RECORD], {"pixels": INT}),
        fastrec.ExampleParseError,
        "the record has 2 other features: 'image', 'label'",
    ),
    "no picture": (
        lambda d: fastrec.parse_example([RECORD], {"image": fastrec.ImageFeature()}),
        fastrec.ExampleParseError,
        "record 0: feature 'image': no picture that can be decoded: it is none of BMP,",
    ),
    "a file of text": (
        lambda d: fastrec.Reader(io.StringIO("text")),
        TypeError,
        "open it with mode 'rb'",
    ),
    "a URL": (
        lambda d: fastrec.Reader("s3://bucket/train-*.tfrecord"),
        FileNotFoundError,
        "what a URL names is read through an open file",
    ),
    "a name that there is not": (
        lambda d: fastrec.Batchr,
        AttributeError,
        "module 'fastrec' has no attribute 'Batchr'",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_answered(name: str, tmp_path: Path) -> None:
    mistake, kind, text = MISTAKES[name]
    with pytest.raises(kind) as caught:
        mistake(tmp_path)
    assert text in str(caught.value)


def test_random_access_to_what_is_compressed_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.tfrecord.gz"
    with fastrec.Writer(path, compression="GZIP") as writer:
        writer.write(b"x")
    with pytest.raises(fastrec.RandomAccessError, match=r"x\.tfrecord\.gz' can only be iterated"):
        len(fastrec.Reader(path))


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
    assert sorted([*fastrec.__all__, "errors", "image", "train"]) == offered
