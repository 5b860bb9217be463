# SPDX-License-Identifier: Apache-2.0
"""Examples and SequenceExamples into tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

import fastrec
from fastrec.errors import ExampleParseError
from fastrec.parsing.sequence import SequenceParser

from .._tf import errors as _errors
from .._tf.columns import VarLen
from .._tf.features import (
    Checked,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
    checked_context,
    checked_example,
    checked_sequence,
)
from .._tf.parse_errors import parse_failure
from .._tf.sequence_errors import sequence_failure
from .._tf.shape import in_messages
from .._tf.specs import RaggedTensorSpec, SparseTensorSpec, TensorSpec, TypeSpec
from .._tf.tensor import as_array, convert_to_tensor
from .._tf.trace import Block, Op, run

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "VarLenFeature",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
]


def _invalid(text: str) -> _errors.OpError:
    return _errors.InvalidArgumentError(None, None, text)


def _specs(checked: Checked, batch: list[int | None], frames: bool = False) -> list[TypeSpec]:
    """Specs of the parsed values, in the order of `checked`."""
    found: list[TypeSpec] = []
    more = len(batch) + frames
    for sparse in checked.sparse:
        sizes: Any = getattr(sparse.feature, "size", [None])
        inner = [sizes] if isinstance(sizes, int) else list(sizes)
        found.append(SparseTensorSpec([*batch, *[None] * frames, *inner], sparse.dtype))
    for dense in checked.dense:
        rows = [None] if dense.rows else []
        found.append(TensorSpec([*batch, *rows, *dense.shape], dense.dtype))
    for ragged in checked.ragged:
        levels = ragged.levels + more
        if levels:
            shape = [*batch, *[None] * (levels + 1 - len(batch)), *ragged.inner]
            found.append(RaggedTensorSpec(shape, ragged.dtype, levels, ragged.splits))
        else:
            found.append(TensorSpec([None, *ragged.inner], ragged.dtype))
    return found


def _keys(checked: Checked) -> list[Any]:
    items: list[Any] = [*checked.sparse, *checked.dense, *checked.ragged]
    return [item.key for item in items]


def _value(column: Any) -> Any:
    """A part of an Example, as values are kept."""
    if isinstance(column, (bytes, np.ndarray, fastrec.Bytes, fastrec.Sparse, fastrec.Ragged)):
        return column
    return np.asarray(column)


class _Alike:
    """Features that can be parsed for many Examples at once, with a row for each."""

    def __init__(self, checked: Checked) -> None:
        self.features: dict[Any, Any] = {}
        self.possible = True
        for sparse in checked.sparse:
            self.possible &= isinstance(sparse.feature, fastrec.VarLenFeature)
            self.features[sparse.key] = fastrec.RaggedFeature(sparse.feature.dtype)
        for dense in checked.dense:
            self.possible &= not dense.rows or len(dense.shape) == 0
            ragged = fastrec.RaggedFeature(dense.feature.dtype)
            self.features[dense.key] = ragged if dense.rows else dense.feature
        for item in checked.ragged:
            self.possible &= not item.levels and not item.inner
            self.features[item.key] = item.feature
        self._sparse = {sparse.key for sparse in checked.sparse}
        self._keys = _keys(checked)

    def columns(self, found: dict[Any, Any]) -> tuple[Any, ...]:
        """A column for each key."""
        sparse = self._sparse
        return tuple(VarLen(found[k]) if k in sparse else found[k] for k in self._keys)


class _Together:
    """All of the features for many Examples at once, as one value each."""

    def __init__(self, checked: Checked) -> None:
        self.features = checked.features
        self._keys = _keys(checked)

    def columns(self, found: dict[Any, Any]) -> tuple[Any, ...]:
        """The value of each key."""
        return tuple(_value(found[key]) for key in self._keys)


def _single_op(checked: Checked) -> Op:
    keys, features, alike = _keys(checked), checked.features, _Alike(checked)

    def kernel(serialized: Any) -> Any:
        record: Any = serialized if isinstance(serialized, bytes) else as_array(serialized)
        if not isinstance(record, bytes):
            if record.ndim:
                raise _invalid(
                    f"Input serialized must be a scalar, got {in_messages(record.shape)}"
                )
            record = record[()]
        try:
            found = fastrec.parse_single_example(record, features)
        except ExampleParseError as error:
            raise parse_failure(error, checked, [record], single=True) from error
        return tuple(_value(found[key]) for key in keys)

    def block(_: int, records: Block) -> Any:
        if (
            not records.many
            or not alike.possible
            or not isinstance(records.value, (fastrec.Bytes, list))
        ):
            return None
        return alike.columns(fastrec.parse_example(records.value, alike.features))

    parsing = alike if alike.possible else None
    return Op("ParseSingleExample", kernel, lambda *_: _specs(checked, []), block, parsing=parsing)


def _batch_op(checked: Checked, names: Any) -> Op:
    features, together = checked.features, _Together(checked)
    called = [] if names is None else convert_to_tensor(names).array.reshape(-1).tolist()

    def kernel(serialized: Any) -> Any:
        shape = () if isinstance(serialized, bytes) else serialized.shape
        if len(shape) != 1:
            raise _invalid(
                f"Expected serialized to be a scalar or vector, got shape: {in_messages(shape)}"
            )
        records = serialized if isinstance(serialized, fastrec.Bytes) else serialized.tolist()
        if called and len(called) != len(records):
            raise _invalid(
                f"Expected names have the same shape as serialized: name.shape=[{len(called)}], "
                f"serialized.shape=[{len(records)}]"
            )
        try:
            found = fastrec.parse_example(records, features)
        except ExampleParseError as error:
            raise parse_failure(error, checked, records, called) from error
        return together.columns(found)

    def infer(specs: list[TypeSpec], _: Any) -> list[TypeSpec]:
        sizes = specs[0].shape.sizes
        return _specs(checked, [sizes[0] if sizes else None])

    return Op("ParseExampleV2", kernel, infer, parsing=None if called else together)


# Preparing the features takes longer than parsing one Example.
_OPS: dict[Any, Op] = {}
_MOST_OPS = 64


def _kept(key: Any, make: Any) -> Op:
    try:
        found = _OPS.get(key)
    except TypeError:  # a default that has no hash
        made: Op = make()
        return made
    if found is None:
        if len(_OPS) >= _MOST_OPS:
            _OPS.clear()
        found = _OPS[key] = make()
    return found


def _described(features: Any) -> Any:
    if not isinstance(features, dict):
        return None
    return tuple((key, type(feature), feature, repr(feature)) for key, feature in features.items())


def _parsed(op: Op, serialized: Any, keys: list[Any]) -> dict[Any, Any]:
    found = run(op, [serialized])
    found = found if isinstance(found, tuple) else (found,)
    return dict(zip(keys, found, strict=True))


def parse_single_example(
    serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> dict[Any, Any]:
    """One Example as tensors, by feature."""
    checked = checked_example(features, single=True)
    record = convert_to_tensor(serialized)
    if record.shape.ndims not in (0, None):
        raise ValueError("Input serialized must be a scalar")
    op = _kept(("single", _described(features)), lambda: _single_op(checked))
    return _parsed(op, record, _keys(checked))


def parse_example(
    serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> dict[Any, Any]:
    """Examples as tensors, by feature; a scalar is a single one."""
    checked = checked_example(features)
    records = convert_to_tensor(serialized)
    if records.shape.ndims == 0:
        op = _kept(("single", _described(features)), lambda: _single_op(checked))
    elif example_names is not None:
        op = _batch_op(checked, example_names)
    else:
        op = _kept(("batch", _described(features)), lambda: _batch_op(checked, None))
    return _parsed(op, records, _keys(checked))


def _sequence(
    serialized: Any, context: Any, sequence: Any, single: bool, names: Any = None
) -> tuple[dict[Any, Any], dict[Any, Any], dict[Any, Any]]:
    if not (context or sequence):
        raise ValueError(
            "Both `context_features` and `sequence_features` argument are None, but at least one "
            "should have values."
        )
    before, frames = checked_context(context), checked_sequence(sequence)
    called = [] if names is None else convert_to_tensor(names).array.reshape(-1).tolist()
    lengths = [] if single else [item.key for item in frames.dense]
    first, second = _keys(before), _keys(frames)
    parser: list[SequenceParser] = []  # which takes longer to make than to parse a record

    def parse(rows: Any) -> Any:
        if not parser:
            parser.append(SequenceParser(before.features, frames.features))
        found = parser[0]([rows] if single else rows)
        if not single:
            return found
        return [{name: column[0] for name, column in part.items()} for part in found]

    def kernel(records: Any) -> Any:
        array = as_array(records)
        rows: Any = array[()] if single else array.reshape(-1).tolist()
        try:
            found: Any = parse(rows)
        except ExampleParseError as error:
            serialized = [rows] if single else rows
            raise sequence_failure(error, before, frames, serialized, called) from error
        parts = [found[0][key] for key in first] + [found[1][key] for key in second]
        return tuple(_value(part) for part in [*parts, *[found[2][key] for key in lengths]])

    def infer(specs: list[TypeSpec], _: Any) -> list[TypeSpec]:
        sizes = specs[0].shape.sizes
        batch = [] if single else [sizes[0] if sizes else None]
        counts: list[TypeSpec] = [TensorSpec(batch, "int64") for _ in lengths]
        return [*_specs(before, batch), *_specs(frames, batch, frames=True), *counts]

    found = run(Op("ParseSequenceExampleV2", kernel, infer), [convert_to_tensor(serialized)])
    parts = iter(found if isinstance(found, tuple) else (found,))
    one, two, three = ({key: next(parts) for key in keys} for keys in (first, second, lengths))
    return one, two, three


def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """One SequenceExample as tensors: those of its context, and those of its feature lists."""
    context, lists, _ = _sequence(
        serialized, context_features, sequence_features, True, example_name
    )
    return context, lists


def parse_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[Any, Any], dict[Any, Any], dict[Any, Any]]:
    """SequenceExamples as tensors: of contexts, of feature lists, and how long these are."""
    return _sequence(serialized, context_features, sequence_features, False, example_names)
