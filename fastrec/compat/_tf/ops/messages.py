# SPDX-License-Identifier: Apache-2.0
"""Tensors as ``TensorProto`` messages; a sparse tensor consists of three messages."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import fastrec

from .. import tensor_proto
from ..columns import batch_of
from ..dtypes import DType, as_dtype, int64
from ..shape import in_messages
from ..specs import SparseTensorSpec, TensorSpec, TypeSpec
from ..tensor import as_array
from . import Array, Op, invalid
from .sparse import flat_places

__all__ = [
    "DESERIALIZE_SPARSE",
    "PARSE_TENSOR",
    "SERIALIZE_MANY_SPARSE",
    "SERIALIZE_SPARSE",
    "SERIALIZE_TENSOR",
]


def _parsed(serialized: Any, *, out_type: DType) -> Any:
    data = as_array(serialized)
    if data.ndim:
        raise invalid(f"Expected `serialized` to be a scalar, got shape: {in_messages(data.shape)}")
    return tensor_proto.parse(data.item(), out_type)


SERIALIZE_TENSOR = Op(
    "SerializeTensor",
    lambda x, *, T: tensor_proto.serialize(as_array(x), T),
    lambda *_, T: [TensorSpec((), "string")],
)
PARSE_TENSOR = Op("ParseTensor", _parsed, lambda *_, out_type: [TensorSpec(None, out_type)])


def _three(places: Array, values: Array, sizes: Sequence[int]) -> list[bytes]:
    dtype = as_dtype("string" if values.dtype == object else values.dtype)
    return [
        tensor_proto.content_of(places, int64),
        tensor_proto.content_of(values, dtype),
        _sizes_content(tuple(sizes)),
    ]


@functools.lru_cache(64)
def _sizes_content(sizes: tuple[int, ...]) -> bytes:
    return tensor_proto.content_of(np.array(sizes, np.int64), int64)


def _serialized(sparse: fastrec.Sparse) -> Array:
    return np.array(_three(sparse.indices, as_array(sparse.values), sparse.dense_shape), object)


def _many_serialized(sparse: fastrec.Sparse) -> Array:
    places, values, sizes = sparse.indices, as_array(sparse.values), sparse.dense_shape
    if len(sizes) < 2:
        raise invalid(f"Rank of input SparseTensor should be > 1, but saw rank: {len(sizes)}")
    if places.size:
        flat_places(places, np.array(sizes), True)
    ends = np.searchsorted(places[:, 0], np.arange(sizes[0] + 1)).tolist()
    rows = [_three(places[a:b, 1:], values[a:b], sizes[1:]) for a, b in itertools.pairwise(ends)]
    return np.array(rows, object).reshape(-1, 3)


def _of_three(number: int, parts: Sequence[bytes], dtype: DType) -> fastrec.Sparse:
    try:
        places, values, sizes = map(tensor_proto.decode, parts)
        places = places.reshape(-1, len(sizes))
    except tensor_proto.UNREADABLE:
        raise invalid("Could not parse serialized proto") from None
    if values.dtype != dtype.numpy:
        raise invalid(
            f"Requested SparseTensor of type {dtype.name} but SparseTensor[{number}]"
            f".values.dtype() == {as_dtype(values.dtype).name}"
        )
    return fastrec.Sparse(places, values, tuple(sizes.tolist()))


def _deserialized(serialized: Any, *, dtype: DType, rank: int | None) -> fastrec.Sparse:
    texts = as_array(serialized)
    if texts.ndim != 2:
        raise invalid(f"Serialized sparse should have rank 2 {in_messages(texts.shape)}")
    shape = in_messages(texts.shape)
    if texts.shape[-1] != 3:
        raise invalid(f"Serialized sparse should have 3 as the last dimension {shape}")
    if not texts.size:
        raise invalid(
            "Serialized sparse should have at least 1 serialized tensor, but has a zero dimension "
            f"{shape}"
        )
    rows = [_of_three(i, parts, dtype) for i, parts in enumerate(texts.reshape(-1, 3).tolist())]
    ranks = [len(row.dense_shape) for row in rows]
    if other := next((i for i, rank in enumerate(ranks) if rank != ranks[0]), None):
        raise invalid(
            f"Inconsistent shape across SparseTensors: rank prior to SparseTensor[{other}] was: "
            f"{ranks[0]} but rank of SparseTensor[{other}] is: {ranks[other]}"
        )
    whole: fastrec.Sparse = batch_of(rows)
    return whole


def _sparse_spec(specs: Sequence[Any], _: Any, *, dtype: DType, rank: int | None) -> list[TypeSpec]:
    given = specs[0].shape.ndims
    if given not in (None, 2):
        raise ValueError(f"Shape must be rank 2 but is rank {given} for 'DeserializeManySparse'")
    return [SparseTensorSpec(None if rank is None else [None] * rank, dtype)]


SERIALIZE_SPARSE = Op("SerializeSparse", _serialized, lambda *_: [TensorSpec([3], "string")])
SERIALIZE_MANY_SPARSE = Op(
    "SerializeManySparse",
    _many_serialized,
    lambda specs, _: [TensorSpec([(specs[0].shape.sizes or (None,))[0], 3], "string")],
)
DESERIALIZE_SPARSE = Op("DeserializeManySparse", _deserialized, _sparse_spec)
