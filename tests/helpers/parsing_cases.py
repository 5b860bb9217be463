# SPDX-License-Identifier: Apache-2.0
"""Random schemas with Examples that mostly fit them, in a form that can be kept in a file.

A schema maps names to descriptions: dicts of JSON values from which `ours` makes fastrec's
features, and the oracle's tests TensorFlow's.
"""

from __future__ import annotations

import random
import struct
from typing import Any

import numpy as np

import fastrec
from fastrec import train

Schema = dict[str, dict[str, Any]]

KEYS = ["a", "b", "c", "label", "a much longer key than most of them", "\N{SNOWMAN}", ""]
DTYPES: dict[str, Any] = {"int64": np.int64, "float32": np.float32, "bytes": bytes}
SHAPES = [(), (), (1,), (2,), (2, 2), (3, 1)]
PARTITIONS = ["RowSplits", "RowLengths", "RowStarts", "RowLimits", "ValueRowIds"]


def ours(description: dict[str, Any]) -> Any:
    """The feature that is described."""
    d = dict(description)
    kind, dtype = d.pop("feature"), DTYPES[d.pop("dtype")]
    if "default_value" in d:
        d["default_value"] = default_of(d["default_value"], dtype)
    if "partitions" in d:
        d["partitions"] = [
            getattr(fastrec.RaggedFeature, name)(argument) for name, argument in d["partitions"]
        ]
    return getattr(fastrec, kind)(dtype=dtype, **d)


def default_of(value: Any, dtype: Any) -> Any:
    """Bytes are kept as text, a character a byte."""
    if isinstance(value, list):
        return [default_of(item, dtype) for item in value]
    return value.encode("latin-1") if dtype is bytes else value


class Maker:
    """Everything that is random about a case."""

    def __init__(self, seed: int | str) -> None:
        self.random = random.Random(seed)

    def value(self, dtype: str) -> Any:
        r = self.random
        if dtype == "bytes":
            return r.randbytes(r.choice([0, 1, 3, 20]))
        if dtype == "float32":
            bits = r.choice([r.getrandbits(32), 0x80000000, 0x7FC00001, 0xFF800000, 1])
            return struct.unpack("<f", struct.pack("<I", bits))[0]
        return r.choice([r.randint(-3, 3), r.randint(-(2**63), 2**63 - 1), r.getrandbits(31)])

    def default(self, dtype: str, count: int) -> Any:
        values = [self.value(dtype) for _ in range(count)]
        if dtype == "float32":
            return [v if v == v and abs(v) < 1e38 else 0.5 for v in values]
        return [v.decode("latin-1") for v in values] if dtype == "bytes" else values

    def fixed(self, dtype: str) -> dict[str, Any]:
        shape = self.random.choice(SHAPES)
        description: dict[str, Any] = {"shape": list(shape)}
        if self.random.random() < 0.5:
            values = self.default(dtype, int(np.prod(shape)))
            nested = np.array(values, object).reshape(shape).tolist()
            description["default_value"] = values[0] if shape == () else nested
        return description

    def padded(self, dtype: str, frames: bool) -> dict[str, Any]:
        description: dict[str, Any] = {"shape": list(self.random.choice(SHAPES))}
        description["allow_missing"] = not frames or self.random.random() < 0.7
        if not frames and self.random.random() < 0.4:
            description["default_value"] = self.default(dtype, 1)[0]
        return description

    def ragged(self) -> dict[str, Any]:
        r = self.random
        if r.random() < 0.4:
            return {}
        partitions: list[tuple[str, Any]] = []
        for level in range(r.choice([1, 1, 2, 3])):
            if r.random() < 0.25:
                partitions.append(("UniformRowLength", r.choice([1, 2, 3])))
            else:
                partitions.append((r.choice(PARTITIONS), f"p{level}"))
        return {"value_key": "values", "partitions": partitions}

    def sparse(self) -> dict[str, Any]:
        r = self.random
        keys = [f"i{axis}" for axis in range(r.choice([1, 2, 3]))]
        single = len(keys) == 1 and r.random() < 0.7
        return {
            "index_key": keys[0] if single else keys,
            "value_key": "values",
            "size": 10 if single else [10] * len(keys),
            "already_sorted": r.random() < 0.3,
        }

    def description(self, kinds: list[str], frames: bool = False) -> dict[str, Any]:
        kind = self.random.choice(kinds)
        dtype = self.random.choice(list(DTYPES))
        more = {
            "FixedLenFeature": lambda: self.fixed(dtype),
            "FixedLenSequenceFeature": lambda: self.padded(dtype, frames),
            "RaggedFeature": self.ragged,
            "SparseFeature": self.sparse,
            "VarLenFeature": dict,
        }[kind]()
        return {"feature": kind, "dtype": dtype, **more}

    def schema(self, kinds: list[str], frames: bool = False) -> Schema:
        count = self.random.choice([1, 1, 2, 3])
        names = self.random.sample(KEYS, count)
        schema = {name: self.description(kinds, frames) for name in names}
        shared = [n for n, d in schema.items() if "value_key" in d]
        for name in shared[1:]:  # TensorFlow takes no key that is read in two ways
            del schema[name]
        return schema

    def example(self, schema: Schema) -> train.Example:
        example = train.Example()
        for name, description in schema.items():
            self.fill_features(example.features.feature, name, description)
        for _ in range(self.random.choice([0, 0, 1])):
            self.put(example.features.feature["nobody asks"], "int64", [self.value("int64")])
        return example

    def fill_features(self, features: Any, name: str, description: dict[str, Any]) -> None:
        r, dtype = self.random, description["dtype"]
        if description["feature"] == "SparseFeature":
            self.fill_sparse(features, description)
        elif "partitions" in description:
            self.fill_partitions(features, description)
        elif r.random() < 0.9:
            count = self.count(description)
            self.put(features[name], dtype, [self.value(dtype) for _ in range(count)])

    def count(self, description: dict[str, Any]) -> int:
        stride = int(np.prod(description.get("shape", [])))
        if self.random.random() < 0.03:
            return self.random.randrange(4)
        if description["feature"] == "FixedLenFeature":
            return stride
        return stride * self.random.choice([0, 1, 2, 3, 7])

    def put(self, feature: Any, dtype: str, values: list[Any]) -> None:
        if self.random.random() < 0.02:
            feature.SetInParent()  # no kind
            return
        if self.random.random() < 0.01:
            dtype, values = "int64", [1]
        name = {"bytes": "bytes_list", "float32": "float_list", "int64": "int64_list"}[dtype]
        getattr(feature, name).SetInParent()
        getattr(feature, name).value.extend(values)

    def fill_sparse(self, features: Any, description: dict[str, Any]) -> None:
        r, dtype = self.random, description["dtype"]
        count = r.choice([0, 1, 2, 5])
        keys = description["index_key"]
        for key in [keys] if isinstance(keys, str) else keys:
            indices = [r.randrange(-1, 10) for _ in range(count + (r.random() < 0.02))]
            self.put(features[key], "int64", indices)
        if count or r.random() < 0.5:
            self.put(features["values"], dtype, [self.value(dtype) for _ in range(count)])

    def fill_partitions(self, features: Any, description: dict[str, Any]) -> None:
        """From the outermost level in: so many rows, of so many items each."""
        r, rows = self.random, self.random.choice([0, 1, 2, 3])
        for kind, argument in description["partitions"]:
            if kind == "UniformRowLength":
                rows *= argument
                continue
            lengths = [r.choice([0, 1, 2, 3]) for _ in range(rows)]
            if kind == "ValueRowIds" and lengths:
                lengths[-1] = max(lengths[-1], 1)
            self.put(features[argument], "int64", say(kind, lengths))
            rows = sum(lengths)
        if r.random() < 0.02:
            rows += 1
        dtype = description["dtype"]
        self.put(features["values"], dtype, [self.value(dtype) for _ in range(rows)])

    def sequence(self, context: Schema, lists: Schema) -> train.SequenceExample:
        sequence = train.SequenceExample()
        for name, description in context.items():
            self.fill_features(sequence.context.feature, name, description)
        for name, description in lists.items():
            if self.random.random() < 0.1:
                continue
            feature_list = sequence.feature_lists.feature_list[name]
            frame = {**description, "feature": "FixedLenFeature"}
            for _ in range(self.random.choice([0, 1, 2, 4])):
                count = self.count(frame if "shape" in description else description)
                dtype = description["dtype"]
                self.put(feature_list.feature.add(), dtype, [self.value(dtype)] * count)
        return sequence

    def partitioned_sequence(self, lists: Schema) -> train.SequenceExample:
        """Feature lists of values and their partitions, frame by frame."""
        sequence = train.SequenceExample()
        for description in lists.values():
            frames = Frames(sequence.feature_lists.feature_list)
            for _ in range(self.random.choice([0, 1, 2, 4])):
                self.fill_partitions(frames, description)
        return sequence

    def mutate(self, data: bytes) -> bytes:
        """A few bytes changed, cut, doubled or joined."""
        r, out = self.random, bytearray(data)
        for _ in range(r.choice([1, 1, 2, 4])):
            at = r.randrange(len(out) + 1)
            kind = r.randrange(6)
            if kind == 0 and at < len(out):
                out[at] ^= 1 << r.randrange(8)
            elif kind == 1 and at < len(out):
                out[at] = r.choice([0, 1, 2, 8, 10, 18, 26, 127, 128, 255])
            elif kind == 2:
                del out[at : at + r.randrange(4)]
            elif kind == 3:
                out[at:at] = r.randbytes(r.randrange(3))
            elif kind == 4:
                out += data  # protobuf merges what is concatenated
            else:
                out += r.choice([b"\n\0", b"\x12\0", b"\x98\x06\x01", b"\x13\x14", b"\x1a\x01x"])
        return bytes(out)


class Frames:
    """Feature lists where the features of a frame are expected: each is a frame more."""

    def __init__(self, lists: Any) -> None:
        self.lists = lists

    def __getitem__(self, key: str) -> Any:
        return self.lists[key].feature.add()


def say(kind: str, lengths: list[int]) -> list[int]:
    """Row lengths in the terms of a partition."""
    ends = [int(end) for end in np.cumsum(lengths)]
    if kind == "RowSplits":
        return [0, *ends]
    if kind == "RowLengths":
        return lengths
    if kind == "RowLimits":
        return ends
    if kind == "RowStarts":
        return [0, *ends][:-1]
    return [row for row, length in enumerate(lengths) for _ in range(length)]


def plain(value: Any) -> Any:
    """A column as JSON values: floats by their bits, bytes as hexadecimal text."""
    if isinstance(value, fastrec.Sparse):
        dense_shape = [int(size) for size in value.dense_shape]
        return ["sparse", value.indices.tolist(), deep(_list(value.values)), dense_shape]
    if isinstance(value, fastrec.Ragged):
        return ["ragged", deep(value.to_list())]
    if isinstance(value, bytes):
        return ["dense", [], value.hex()]
    return ["dense", list(np.shape(value)), deep(_list(value))]


def _list(values: Any) -> Any:
    return values.to_list() if hasattr(values, "to_list") else np.asarray(values).tolist()


def deep(value: Any) -> Any:
    """The same nested lists, of JSON values."""
    if isinstance(value, list):
        return [deep(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    return struct.pack("<f", value).hex() if isinstance(value, float) else value


def parsed(records: list[bytes], schema: Schema) -> Any:
    """Return the result of `parse_example` for records, or None when it refuses them."""
    try:
        columns = fastrec.parse_example(records, {n: ours(d) for n, d in schema.items()})
    except fastrec.ExampleParseError:
        return None
    return {name: plain(column) for name, column in columns.items()}


def parsed_single(record: bytes, schema: Schema) -> Any:
    """Return the result of `parse_single_example` for a record, or None when it refuses it."""
    try:
        items = fastrec.parse_single_example(record, {n: ours(d) for n, d in schema.items()})
    except fastrec.ExampleParseError:
        return None
    return {name: plain(item) for name, item in items.items()}


def parsed_single_sequence(record: bytes, context: Schema, lists: Schema) -> Any:
    """Result of `parse_single_sequence_example` for a record, or None when it refuses it."""
    features = ({n: ours(d) for n, d in schema.items()} for schema in (context, lists))
    try:
        results = fastrec.parse_single_sequence_example(record, *features)
    except fastrec.ExampleParseError:
        return None
    return [{name: plain(item) for name, item in result.items()} for result in results]


def parsed_sequence(records: list[bytes], context: Schema, lists: Schema) -> Any:
    """Result of `parse_sequence_example` for records, or None when it refuses them."""
    features = ({n: ours(d) for n, d in schema.items()} for schema in (context, lists))
    try:
        results = fastrec.parse_sequence_example(records, *features)
    except fastrec.ExampleParseError:
        return None
    return [{name: plain(column) for name, column in result.items()} for result in results]
