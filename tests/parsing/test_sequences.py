# SPDX-License-Identifier: Apache-2.0
"""SequenceExamples: contexts, and lists of frames."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import wire

import fastrec
from fastrec import FixedLenFeature, FixedLenSequenceFeature, RaggedFeature, VarLenFeature, train


def sequence(context: dict[str, Any] | None = None, **lists: Any) -> bytes:
    """Frames are lists of values; None is a frame without a kind."""
    message = train.SequenceExample()
    features = train.Example.FromString(fastrec.encode_example(context or {})).features
    message.context.CopyFrom(features)
    for name, frames in lists.items():
        message.feature_lists.feature_list[name].SetInParent()
        for frame in frames:
            feature = message.feature_lists.feature_list[name].feature.add()
            if frame is not None:
                encoded = fastrec.encode_example({"": frame})
                feature.CopyFrom(train.Example.FromString(encoded).features.feature[""])
    return bytes(message.SerializeToString(deterministic=True))


def parse(records: list[bytes], **features: Any) -> Any:
    return fastrec.parse_sequence_example(records, sequence_features=features)[1:]


BATCH = [
    sequence({"n": 1}, x=[[1, 2], [3, 4]], y=[["a"], [], None, ["b", "c"]]),
    sequence({}, x=[]),
    sequence({"n": 3}, x=[[5, 6]], y=[]),
]


def test_frames_of_one_shape_are_padded_and_counted() -> None:
    lists, lengths = parse(BATCH, x=FixedLenSequenceFeature((2,), np.int64))
    assert lists["x"].tolist() == [[[1, 2], [3, 4]], [[0, 0], [0, 0]], [[5, 6], [0, 0]]]
    assert lengths["x"].tolist() == [2, 0, 1]
    assert lengths["x"].dtype == np.int64


def test_frames_of_varying_number_are_sparse_in_three_dimensions() -> None:
    lists, lengths = parse(BATCH, y=VarLenFeature(bytes))
    assert lists["y"].indices.tolist() == [[0, 0, 0], [0, 3, 0], [0, 3, 1]]
    assert list(lists["y"].values) == [b"a", b"b", b"c"]
    assert lists["y"].dense_shape == (3, 4, 2)
    assert lengths == {}


def test_ragged_frames_are_rows_of_rows() -> None:
    lists, _ = parse(BATCH, y=RaggedFeature(bytes), x=RaggedFeature(np.int32))
    assert lists["y"].to_list() == [[[b"a"], [], [], [b"b", b"c"]], [], []]
    assert lists["x"].to_list() == [[[1, 2], [3, 4]], [], [[5, 6]]]


def test_frames_are_partitioned_one_by_one() -> None:
    records = [
        sequence(v=[[1, 2, 3], [4]], n=[[1, 2], [0, 1]]),
        sequence(v=[[5, 6]], n=[[2]]),
    ]
    feature = RaggedFeature(np.int64, "v", [RaggedFeature.RowLengths("n")])
    lists, _ = parse(records, x=feature)
    assert lists["x"].to_list() == [[[[1], [2, 3]], [[], [4]]], [[[5, 6]]]]
    broken = [records[0], sequence(v=[[1], [2]], n=[[1], [2]])]
    with pytest.raises(fastrec.ExampleParseError, match="record 1: feature 'n': it has"):
        parse(broken, x=feature)
    uneven = [records[0], sequence(v=[[1], [2]], n=[[1]])]
    with pytest.raises(fastrec.ExampleParseError, match=r"record 1: .* as many frames"):
        parse(uneven, x=feature)


def test_the_context_is_read_as_an_example_is() -> None:
    features = {"n": FixedLenFeature((), np.int64, -1)}
    context, lists, lengths = fastrec.parse_sequence_example(BATCH, features)
    assert context["n"].tolist() == [1, -1, 3]
    assert (lists, lengths) == ({}, {})
    plain = fastrec.encode_example({"n": 7})
    assert fastrec.parse_sequence_example([plain], features)[0]["n"].tolist() == [7]


def test_one_sequence_has_no_batch_dimension() -> None:
    context, lists = fastrec.parse_single_sequence_example(
        BATCH[0],
        {"n": FixedLenFeature((), np.int64)},
        {
            "x": FixedLenSequenceFeature((2,), np.int64),
            "y": RaggedFeature(bytes),
        },
    )
    assert context == {"n": 1}
    assert lists["x"].tolist() == [[1, 2], [3, 4]]
    assert lists["y"].to_list() == [[b"a"], [], [], [b"b", b"c"]]


def test_a_missing_list_is_an_error_unless_it_may_be_missing() -> None:
    records = [sequence(x=[[1]], other=[])]
    with pytest.raises(fastrec.ExampleParseError, match=r"'othr': it is missing, .* is it 'other'"):
        parse(records, othr=FixedLenSequenceFeature((), np.int64))
    lists, lengths = parse(records, z=FixedLenSequenceFeature((), np.int64, allow_missing=True))
    assert (lists["z"].shape, lengths["z"].tolist()) == ((1, 0), [0])
    assert parse(records, z=VarLenFeature(np.int64))[0]["z"].dense_shape == (1, 0, 0)
    example = fastrec.encode_example({"x": 1})
    with pytest.raises(fastrec.ExampleParseError, match="is it an Example"):
        parse([example], x=FixedLenSequenceFeature((), np.int64))


@pytest.mark.parametrize(
    ("frames", "problem"),
    [
        ([[1, 2], [3]], "frame 1: feature 'x': expected 2 values, found 1"),
        ([[1, 2], None], "frame 1: feature 'x': expected 2 values, found 0"),
        ([[1, 2, 3]], "frame 0: feature 'x': expected 2 values, found 3"),
        ([[1, 2], [1.5, 2.5]], "frame 1: feature 'x': expected int64_list, found float_list"),
    ],
)
def test_a_frame_that_does_not_fit_is_named(frames: Any, problem: str) -> None:
    records = [BATCH[0], sequence(x=frames)]
    with pytest.raises(fastrec.ExampleParseError) as caught:
        parse(records, x=FixedLenSequenceFeature((2,), np.int64))
    assert str(caught.value) == f"record 1: {problem}".replace(
        "found float_list", "found float_list (ask for float32)"
    )
    assert caught.value.record == 1


def test_lists_that_come_in_pieces_are_put_together_and_the_last_of_a_key_counts() -> None:
    one = train.FeatureList(feature=[train.Feature(int64_list=train.Int64List(value=[1]))])
    frame = one.SerializeToString()
    entry = wire.sized(1, b"x") + wire.sized(2, frame) + wire.sized(2, frame)
    pieces = wire.sized(2, wire.sized(1, entry))
    assert parse([pieces], x=RaggedFeature(np.int64))[0]["x"].to_list() == [[[1], [1]]]
    twice = pieces + wire.sized(2, wire.sized(1, wire.sized(1, b"x") + wire.sized(2, frame)))
    assert parse([twice], x=RaggedFeature(np.int64))[0]["x"].to_list() == [[[1]]]


def test_a_sequence_cut_anywhere_gets_protobufs_verdict() -> None:
    from google.protobuf.message import DecodeError

    features = {"x": RaggedFeature(np.int64), "y": RaggedFeature(bytes)}
    for size in range(len(BATCH[0])):
        data = BATCH[0][:size]
        try:
            train.SequenceExample.FromString(data)
        except DecodeError:
            with pytest.raises(fastrec.ExampleParseError):
                fastrec.parse_sequence_example([data], {"n": VarLenFeature(np.int64)}, features)
        else:
            fastrec.parse_sequence_example([data], {"n": VarLenFeature(np.int64)}, features)


def test_calls_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="context_features, sequence_features"):
        fastrec.parse_sequence_example(BATCH)
    with pytest.raises(TypeError, match="FixedLenFeature cannot describe a feature list"):
        parse(BATCH, x=FixedLenFeature((), np.int64))
    with pytest.raises(ValueError, match="default_value"):
        parse(BATCH, x=FixedLenSequenceFeature((), np.int64, default_value=3))
    with pytest.raises(TypeError, match="sequence of records"):
        fastrec.parse_sequence_example(cast(Any, BATCH[0]), {"n": VarLenFeature(np.int64)})


def test_an_empty_batch_is_empty() -> None:
    lists, lengths = parse([], x=FixedLenSequenceFeature((2,), np.int64), y=VarLenFeature(bytes))
    assert lists["x"].shape == (0, 0, 2)
    assert lists["y"].dense_shape == (0, 0, 0)
    assert lengths["x"].shape == (0,)
