# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's results for records, for comparison; TensorFlow is passed in, not imported."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from parsing_cases import DTYPES, Maker, Schema, deep, default_of, plain
from wire import has_field_zero_in_a_group

import fastrec
from fastrec import train

CASES = int(os.environ.get("FASTREC_ORACLE_CASES", "3000"))
EXAMPLE_KINDS = [
    "FixedLenFeature",
    "FixedLenFeature",
    "VarLenFeature",
    "SparseFeature",
    "RaggedFeature",
    "FixedLenSequenceFeature",
]
CONTEXT_KINDS = ["FixedLenFeature", "VarLenFeature"]
FRAME_KINDS = ["FixedLenSequenceFeature", "VarLenFeature"]


def theirs(tf: Any, description: dict[str, Any]) -> Any:
    d = dict(description)
    kind, name = d.pop("feature"), d.pop("dtype")
    if "default_value" in d:
        value = default_of(d["default_value"], DTYPES[name])
        # TensorFlow takes a Python float for one it has seen that is equal: -0.0 for 0.0.
        d["default_value"] = np.asarray(value, np.float32) if name == "float32" else value
    if kind == "RaggedFeature":
        d["row_splits_dtype"], d["validate"] = tf.int64, True
        d["partitions"] = [
            getattr(tf.io.RaggedFeature, partition)(argument)
            for partition, argument in d.get("partitions", [])
        ]
    dtype = tf.string if name == "bytes" else tf.as_dtype(DTYPES[name])
    return getattr(tf.io, kind)(dtype=dtype, **d)


def as_ours(tf: Any, value: Any) -> Any:
    if isinstance(value, tf.SparseTensor):
        values = value.values.numpy()
        return plain(
            fastrec.Sparse(value.indices.numpy(), values, tuple(value.dense_shape.numpy()))
        )
    if isinstance(value, tf.RaggedTensor):
        return ["ragged", deep(value.to_list())]
    return plain(value.numpy())


def tensorflow_parses(tf: Any, records: list[bytes], schema: Schema) -> Any:
    features = {name: theirs(tf, description) for name, description in schema.items()}
    try:
        result = tf.io.parse_example(records, features)
    except (tf.errors.InvalidArgumentError, ValueError):
        return None
    return {name: as_ours(tf, value) for name, value in result.items()}


def tensorflow_parses_sequence(tf: Any, records: Any, context: Schema, lists: Schema) -> Any:
    features = (
        {name: theirs(tf, description) for name, description in schema.items()} or None
        for schema in (context, lists)
    )
    try:
        results = tf.io.parse_sequence_example(records, *features)
    except (tf.errors.InvalidArgumentError, ValueError):
        return None
    return [{name: as_ours(tf, value) for name, value in result.items()} for result in results]


def canonical(kind: Any, record: bytes) -> bytes | None:
    """Record as protobuf reads and rewrites it; None when that is ambiguous."""
    from google.protobuf.message import DecodeError

    try:
        message = kind.FromString(record)
    except DecodeError:
        return None
    if has_field_zero_in_a_group(record) or _lost_entries(message):
        return None  # protobuf's runtimes disagree about those
    message.DiscardUnknownFields()
    if kind is train.SequenceExample:
        # A feature that is there without a kind takes its default in an Example, and is an error in
        # the context of a SequenceExample: fastrec treats both alike.
        for name in [n for n, f in message.context.feature.items() if not f.WhichOneof("kind")]:
            del message.context.feature[name]
    return bytes(message.SerializeToString(deterministic=True))


def _lost_entries(message: Any) -> bool:
    """Whether there is a map entry with unknown fields, which upb, and only upb, drops whole."""
    from google.protobuf import unknown_fields

    fields_of: Any = unknown_fields.UnknownFieldSet  # its stubs do not say that it is a sequence
    sequence = isinstance(message, train.SequenceExample)
    maps = [message.context, message.feature_lists] if sequence else [message.features]
    return any(field.field_number == 1 for one in maps for field in fields_of(one))


def uneven(records: list[bytes], schema: Schema) -> bool:
    """Whether a sparse feature has other numbers of indices than of values in one record."""
    for description in schema.values():
        if description["feature"] != "SparseFeature":
            continue
        keys = description["index_key"]
        for record in records:
            feature = train.Example.FromString(record).features.feature
            names = [*([keys] if isinstance(keys, str) else keys), "values"]
            counts = {_count(feature[name]) if name in feature else 0 for name in names}
            if len(counts) > 1:
                return True
    return False


def _count(feature: Any) -> int:
    kind = feature.WhichOneof("kind")
    return len(getattr(feature, kind).value) if kind else 0


def is_partitioned(schema: Schema) -> bool:
    return any("partitions" in description for description in schema.values())


def example_case(seed: str) -> tuple[Schema, list[bytes]]:
    maker = Maker(seed)
    schema = maker.schema(EXAMPLE_KINDS)
    count = maker.random.choice([1, 1, 2, 3, 5])
    records = [maker.example(schema).SerializeToString(deterministic=True) for _ in range(count)]
    if maker.random.random() < 0.5:
        at = maker.random.randrange(count)
        records[at] = maker.mutate(records[at])
    return schema, records


def sequence_case(seed: str) -> tuple[Schema, Schema, list[bytes]]:
    maker = Maker(seed)
    context = maker.schema(CONTEXT_KINDS) if maker.random.random() < 0.7 else {}
    lists = maker.schema(FRAME_KINDS, frames=True)
    lists["ragged"] = {"feature": "RaggedFeature", "dtype": "int64"}
    count = maker.random.choice([1, 2, 3])
    records = [
        maker.sequence(context, lists).SerializeToString(deterministic=True) for _ in range(count)
    ]
    if maker.random.random() < 0.5:
        at = maker.random.randrange(count)
        records[at] = maker.mutate(records[at])
    return context, lists, records
