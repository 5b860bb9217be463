# SPDX-License-Identifier: Apache-2.0
"""A Batcher parses SequenceExamples as parse_sequence_example does, in its workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from verbs import gzipped, write

import fastrec
from fastrec import Batcher, SequenceFeatures

CONTEXT = {"label": fastrec.FixedLenFeature((), np.int64)}
SEQUENCE = {
    "x": fastrec.FixedLenSequenceFeature((2,), np.float32),
    "word": fastrec.RaggedFeature(bytes),
}
FEATURES = SequenceFeatures(CONTEXT, SEQUENCE)


def record(i: int) -> bytes:
    frames = [[i + k, k] for k in range(i % 4)]
    words = [[b"w%d" % i] * (k + 1) for k in range(i % 3)]
    return fastrec.encode_sequence_example(
        {"label": i}, {"x": np.array(frames, np.float32).reshape(-1, 2), "word": words}
    )


RECORDS = [record(i) for i in range(50)]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("sequences") / "file", RECORDS)


def as_lists(parts: tuple[Any, ...]) -> list[Any]:
    return [
        {key: np.asarray(c).tolist() if isinstance(c, np.ndarray) else c.to_list()}
        for part in parts
        for key, c in part.items()
    ]


@pytest.mark.parametrize("kind", ["plain", "packed"])
@pytest.mark.parametrize("threads", [1, 3])
def test_batches_are_what_parsing_gives(
    path: Path, tmp_path: Path, kind: str, threads: int
) -> None:
    source = path
    if kind == "packed":
        source = tmp_path / "file.gz"
        source.write_bytes(gzipped(path.read_bytes()))
    batches = list(Batcher(source, FEATURES, 8, threads=threads))
    assert len(batches) == 7
    for begin, batch in zip(range(0, 50, 8), batches, strict=True):
        expected = fastrec.parse_sequence_example(RECORDS[begin : begin + 8], CONTEXT, SEQUENCE)
        assert as_lists(batch) == as_lists(expected)


def test_they_are_shuffled_resumed_and_transformed(path: Path) -> None:
    def label(batch: Any) -> list[int]:
        labels: list[int] = batch[0]["label"].tolist()
        return labels

    options: dict[str, Any] = {"shuffle": True, "seed": 1, "transform": label}
    whole = list(Batcher(path, FEATURES, 8, **options))
    assert sorted(i for batch in whole for i in batch) == list(range(50))
    batches = iter(Batcher(path, FEATURES, 8, **options))
    next(batches)
    again = Batcher(path, FEATURES, 8, **options)
    again.load_state_dict(batches.state_dict())
    assert list(again) == whole[1:]


def test_single_ones_are_what_parsing_one_gives(path: Path) -> None:
    for data, (context, lists) in zip(RECORDS, Batcher(path, FEATURES, None), strict=True):
        expected = fastrec.parse_single_sequence_example(data, CONTEXT, SEQUENCE)
        assert context == expected[0]
        assert np.array_equal(lists["x"], expected[1]["x"])
        assert lists["word"].to_list() == expected[1]["word"].to_list()


def test_an_error_names_file_and_record(tmp_path: Path) -> None:
    bad = write(tmp_path / "bad", [*RECORDS[:20], b"\xff\xff", *RECORDS[20:]])
    with pytest.raises(fastrec.ExampleParseError, match=r"record 20 in '.*bad'") as caught:
        list(Batcher([bad], FEATURES, 8, threads=2))
    assert caught.value.record == 20
    assert caught.value.path == str(bad)


def test_a_specification_of_nothing_or_with_options_of_examples_is_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="context, sequence, or both"):
        SequenceFeatures()
    with pytest.raises(ValueError, match="buckets: 'x' is not in features"):
        Batcher(path, FEATURES, 8, buckets=fastrec.Buckets("x"))
    with pytest.raises(ValueError, match="'x' is not in features"):
        Batcher(path, FEATURES, 8, augment={"x": fastrec.Augment(flip=True)})
