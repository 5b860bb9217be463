# SPDX-License-Identifier: Apache-2.0
"""Random schemas over random Examples: the columns, and the refusals, of tf.io.parse_example."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from verbs import assert_same_array, outcome

import fastrec

ROUNDS = 600  # of up to five Examples, for each seed
NAMES = ["a", "b", "label", "\N{SNOWMAN}", ""]
DTYPES = [np.dtype(np.int64), np.dtype(np.float32), bytes]
RAW_DTYPES = ["u1", "i1", "u2", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"]


class Maker:
    """Schemas, and Examples that fit them mostly."""

    def __init__(self, tf: Any, seed: int) -> None:
        self.tf, self.random = tf, random.Random(seed)

    def value(self, dtype: Any) -> Any:
        r = self.random
        if dtype is bytes:
            return r.randbytes(r.choice([0, 1, 3, 20]))
        if dtype == np.float32:
            return float(np.uint32(r.getrandbits(32)).view(np.float32))
        return r.choice([r.randint(-3, 3), r.randint(-(2**63), 2**63 - 1), r.getrandbits(31)])

    def feature(self) -> tuple[Any, Any]:
        """One of ours and the one of TensorFlow's that means the same."""
        tf, r = self.tf, self.random
        dtype = r.choice(DTYPES)
        theirs = tf.string if dtype is bytes else tf.as_dtype(dtype)
        kind = r.choice(["fixed", "fixed", "ragged", "raw"])
        if kind == "ragged":
            return (
                fastrec.RaggedFeature(dtype),
                tf.io.RaggedFeature(theirs, row_splits_dtype=tf.int64),
            )
        if kind == "raw":
            shape = tuple(r.choice([(), (1,), (2, 3), (4,)]))
            raw = np.dtype(r.choice(RAW_DTYPES))
            little = r.random() < 0.5
            return (
                fastrec.RawFeature(shape, raw, little_endian=little),
                tf.io.FixedLenFeature((), tf.string),
            )
        shape = tuple(r.choice([(), (1,), (2,), (2, 2), (3, 1)]))
        default = None
        if r.random() < 0.5:
            values = [self.value(dtype) for _ in range(int(np.prod(shape)))]
            default = np.array(values, object if dtype is bytes else dtype).reshape(shape)
            if dtype is bytes:
                default = default.tolist() if shape else values[0]
        return (
            fastrec.FixedLenFeature(shape, dtype, default),
            tf.io.FixedLenFeature(shape, theirs, default),
        )

    def count(self, wanted: Any) -> int:
        if self.random.random() < 0.03 or isinstance(wanted, fastrec.RaggedFeature):
            return self.random.randrange(4)
        if isinstance(wanted, fastrec.RawFeature):
            return 1
        return int(np.prod(wanted.shape))

    def fill(self, feature: Any, wanted: Any) -> None:
        r = self.random
        if r.random() < 0.1:
            return  # no kind
        raw = isinstance(wanted, fastrec.RawFeature)
        dtype = bytes if raw else wanted.dtype
        if r.random() < 0.02:
            dtype = r.choice(DTYPES)
        names = {bytes: "bytes_list", np.dtype(np.float32): "float_list"}
        values = getattr(feature, names.get(dtype, "int64_list"))
        values.SetInParent()
        for _ in range(self.count(wanted)):
            value = self.value(dtype)
            if raw and dtype is bytes and r.random() < 0.97:
                value = r.randbytes(int(np.prod(wanted.shape)) * np.dtype(wanted.dtype).itemsize)
            if dtype == np.float32:
                values.MergeFromString(b"\x0d" + np.float32(value).tobytes())
            else:
                values.value.append(value)

    def example(self, schema: dict[str, Any]) -> bytes:
        r = self.random
        data = b""
        for _ in range(1 + (r.random() < 0.1)):  # two concatenated Examples, now and then
            example = self.tf.train.Example()
            for name in r.sample(NAMES, len(NAMES)):
                if name in schema and r.random() < 0.95:
                    self.fill(example.features.feature[name], schema[name])
            if data and any(
                f.WhichOneof("kind") is None for f in example.features.feature.values()
            ):
                continue  # TensorFlow's parsers disagree about these with each other
            data += example.SerializeToString()
        return data


def their_columns(tf: Any, records: list[bytes], ours: Any, theirs: Any) -> dict[str, Any]:
    columns = tf.io.parse_example(tf.constant(records, tf.string), theirs)
    for name, feature in ours.items():
        if isinstance(feature, fastrec.RawFeature):
            dtype = np.dtype(feature.dtype)
            columns[name] = tf.reshape(
                tf.io.decode_raw(columns[name], dtype, little_endian=feature.little_endian),
                (len(records), *feature.shape),
            )
    return columns


def assert_same_column(tf: Any, ours: Any, theirs: Any) -> None:
    if isinstance(ours, fastrec.Ragged):
        assert isinstance(theirs, tf.RaggedTensor)
        assert ours.row_splits.tolist() == theirs.row_splits.numpy().tolist()
        ours, theirs = ours.values, theirs.values
    if isinstance(ours, fastrec.Bytes):
        assert ours.shape == tuple(theirs.shape)
        assert ours.to_numpy().tolist() == theirs.numpy().tolist()
    elif ours.dtype == np.float32:
        assert_same_array(ours, theirs.numpy())
    else:
        np.testing.assert_array_equal(ours, theirs.numpy())
        assert ours.dtype == theirs.numpy().dtype


@pytest.mark.parametrize("seed", range(5))
def test_columns_and_refusals_are_the_same(tf: Any, seed: int) -> None:
    maker = Maker(tf, seed)
    agreed = refused = 0
    for _ in range(ROUNDS):
        pairs = {
            name: maker.feature()
            for name in maker.random.sample(NAMES, maker.random.randint(1, len(NAMES)))
        }
        ours = {name: pair[0] for name, pair in pairs.items()}
        theirs = {name: pair[1] for name, pair in pairs.items()}
        records = [maker.example(ours) for _ in range(maker.random.randrange(1, 6))]
        mine = outcome(lambda r=records, o=ours: fastrec.parse_example(r, o))
        try:
            expected = their_columns(tf, records, ours, theirs)
        except tf.errors.InvalidArgumentError:
            assert mine is fastrec.ExampleParseError, (records, ours)
            refused += 1
            continue
        assert isinstance(mine, dict), (mine, records, ours)
        for name in ours:
            assert_same_column(tf, mine[name], expected[name])
        agreed += 1
    assert agreed > ROUNDS / 5
    assert refused > ROUNDS / 20


@pytest.mark.parametrize("seed", range(3))
def test_encoded_mappings_are_their_examples(tf: Any, seed: int) -> None:
    maker = Maker(tf, seed)
    for _ in range(300):
        example = tf.train.Example()
        example.features.SetInParent()
        mapping: dict[str, Any] = {}
        for name in maker.random.sample(NAMES, maker.random.randrange(len(NAMES) + 1)):
            dtype = maker.random.choice(DTYPES)
            values = [maker.value(dtype) for _ in range(maker.random.randrange(1, 4))]
            feature = example.features.feature[name]
            if dtype is bytes:
                feature.bytes_list.value.extend(values)
            elif dtype == np.float32:
                values = [0.5 if np.isnan(value) else value for value in values]
                feature.float_list.value.extend(values)
            else:
                feature.int64_list.value.extend(values)
            mapping[name] = (
                values
                if maker.random.random() < 0.5
                else np.array(values, dtype=(object if dtype is bytes else dtype))
            )
        found = fastrec.encode_example(mapping)
        assert tf.train.Example.FromString(found) == example
        assert fastrec.train.Example.FromString(example.SerializeToString()) == (
            fastrec.train.Example.FromString(found)
        )
