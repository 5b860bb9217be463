# SPDX-License-Identifier: Apache-2.0
"""Convert between Spark types and the features of records."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types

import fastrec

from .. import _core
from ..parsing.column_parser import ColumnParser, Optional, Record

__all__ = ["RECORD", "inferred", "inferred_sequence", "is_array", "parser_of"]

RECORD = "byteArray"  # the column for whole records
_BLOCK = 8192  # records that are surveyed in one call


def inferred(paths: Sequence[Any], sample: int, on_error: Any) -> Any:
    """Infer a schema; like spark-tfrecord, use arrays only where a record has several values."""
    described = fastrec.infer_features(paths, sample, shards="any", on_error=on_error)
    if isinstance(described, fastrec.SequenceFeatures):
        names = ", ".join(map(ascii, described.sequence))
        raise ValueError(f"records have feature lists ({names}): set recordType to SequenceExample")
    texts = [name for name in described if "bytes_list" in described.stats[name].kinds]
    binary = _binary(paths, texts, sample, on_error)
    fields = []
    for name, feature in described.items():
        stats = described.stats[name]
        spec: Any = feature
        dtype = bytes if isinstance(feature, fastrec.RawFeature) else spec.dtype
        kind = _spark_type(dtype)
        if name in binary:
            kind = types.BinaryType()
        fields.append(types.StructField(name, types.ArrayType(kind) if stats.most > 1 else kind))
    return types.StructType(fields)


def _spark_type(dtype: Any) -> Any:
    kinds = {np.dtype(np.int64): types.LongType(), np.dtype(np.float32): types.FloatType()}
    return types.StringType() if dtype is bytes else kinds[np.dtype(dtype)]


def _binary(paths: Sequence[Any], names: Iterable[str], sample: int, on_error: Any) -> set[str]:
    """Return the features that have a non-UTF-8 value within the first records."""
    features = {name: fastrec.RaggedFeature(bytes) for name in names}
    if not features:
        return set()
    parser = ColumnParser(features)
    failures: Any = [] if on_error == "skip" else None
    found: set[str] = set()
    left = sample
    for block in fastrec.Reader(paths, shards="any", on_error=on_error).blocks(_BLOCK):
        part = block[:left]
        for name, column in parser(part, failures).items():
            lists = column.column if isinstance(column, _core.Masked) else column
            try:
                pa.array(lists.values, pa.large_string())
            except ValueError:
                found.add(name)
        left -= len(part)
        if not left:
            break
    return found


def inferred_sequence(paths: Sequence[Any], sample: int, on_error: Any) -> Any:
    """Infer a schema: the context as for an Example, and feature lists as arrays of arrays."""
    from google.protobuf.message import DecodeError

    context: dict[str, tuple[str, int]] = {}
    lists: dict[str, tuple[str, int]] = {}
    reader = fastrec.Reader(paths, shards="any", on_error=on_error)
    for record in itertools.islice(reader, sample):
        try:
            message = fastrec.train.SequenceExample.FromString(record)
        except DecodeError:
            if on_error != "skip":
                raise
            continue
        for name, feature in message.context.feature.items():
            _note(context, name, feature)
        for name, frames in message.feature_lists.feature_list.items():
            for feature in frames.feature:
                _note(lists, name, feature)
    fields = []
    for name in sorted(context):
        kind, most = context[name]
        each = _LIST_TYPES[kind]()
        fields.append(types.StructField(name, types.ArrayType(each) if most > 1 else each))
    for name in sorted(lists):
        inner = types.ArrayType(_LIST_TYPES[lists[name][0]]())
        fields.append(types.StructField(name, types.ArrayType(inner)))
    return types.StructType(fields)


_LIST_TYPES: dict[str, Any] = {
    "int64_list": types.LongType,
    "float_list": types.FloatType,
    "bytes_list": types.StringType,
    "binary": types.BinaryType,
}


def _note(seen: dict[str, tuple[str, int]], name: str, feature: Any) -> None:
    kind = feature.WhichOneof("kind")
    if kind is None:
        return
    values = getattr(feature, kind).value
    if kind == "bytes_list":
        try:
            for value in values:
                value.decode()
        except UnicodeDecodeError:
            kind = "binary"
    known, most = seen.get(name, (kind, 0))
    if known != kind:
        if {known, kind} != {"bytes_list", "binary"}:
            raise ValueError(f"feature {name!a} is {known} and {kind} in different records")
        kind = "binary"
    seen[name] = kind, max(most, len(values))


_DTYPES: dict[Any, Any] = {
    **dict.fromkeys(
        (types.LongType, types.IntegerType, types.ShortType, types.ByteType, types.BooleanType),
        np.int64,
    ),
    **dict.fromkeys((types.FloatType, types.DoubleType, types.DecimalType), np.float32),
    **dict.fromkeys((types.StringType, types.BinaryType), bytes),
}


def _dtype(field: Any, kind: Any) -> Any:
    for known, dtype in _DTYPES.items():
        if isinstance(kind, known):
            return dtype
    raise TypeError(f"column {field.name!a}: {kind.simpleString()} cannot be a feature")


def parser_of(schema: Any, kind: str) -> ColumnParser:
    """Return the parser that reads records into the columns of a schema, before casts."""
    features: dict[str, Any] = {}
    sequence: dict[str, Any] = {}
    for field in schema:
        inner = field.dataType.elementType if is_array(field.dataType) else None
        if kind == "ByteArray":
            if len(schema) != 1 or not isinstance(field.dataType, types.BinaryType):
                raise TypeError(f"of ByteArray the schema must be {RECORD} binary")
            features[field.name] = Record()
        elif inner is None:
            dtype = _dtype(field, field.dataType)
            features[field.name] = (
                Optional(dtype) if field.nullable else fastrec.FixedLenFeature((), dtype)
            )
        elif not is_array(inner):
            features[field.name] = fastrec.RaggedFeature(_dtype(field, inner))
        elif kind == "SequenceExample":
            sequence[field.name] = fastrec.RaggedFeature(_dtype(field, inner.elementType))
        else:
            raise TypeError(f"column {field.name!a}: arrays of arrays require SequenceExample")
    lists = sequence if kind == "SequenceExample" else None
    return ColumnParser(features, lists, threads=1)


def is_array(kind: Any) -> bool:
    """Return whether a Spark type is an array."""
    return isinstance(kind, types.ArrayType)
