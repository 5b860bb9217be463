# SPDX-License-Identifier: Apache-2.0
"""Parse serialized Examples, SequenceExamples, tensors and lines of text."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import fastrec
from fastrec import ExampleParseError

from ..columns import VarLen, arrays_of
from ..dtypes import as_dtype
from ..errors import invalid
from ..features import Checked, Dense, Sparse
from ..shape import in_messages
from ..specs import RaggedTensorSpec, SparseTensorSpec, TensorSpec, TypeSpec
from ..tensor import as_array
from . import Block, Op
from .strings import mapped

if TYPE_CHECKING:
    from fastrec.parsing.parse import ExampleParser
    from fastrec.parsing.sequence import SequenceParser

    from ..kernels.csv import Field
from .. import tensor_proto
from ..columns import batch_of
from ..dtypes import DType, int64
from . import Array
from .sparse import flat_places


class Outputs:
    """The outputs of an operation that parses features, in TensorFlow's order.

    Parameters
    ----------
    checked : Checked
    frames : bool
        Whether the features belong to the feature lists of SequenceExamples.
    """

    def __init__(self, checked: Checked, frames: bool = False) -> None:
        self.items: list[Any] = [*checked.sparse, *checked.dense, *checked.ragged]
        self.keys = [item.key for item in self.items]
        self.features = checked.features
        self._frames = frames

    def specs(self, batch: list[int | None]) -> list[TypeSpec]:
        """Return the specs of the outputs, with the leading dimensions `batch`."""
        return [self._spec(item, batch) for item in self.items]

    def _spec(self, item: Any, batch: list[int | None]) -> TypeSpec:
        if isinstance(item, Sparse):
            size: Any = getattr(item.feature, "size", [None])
            inner = [size] if isinstance(size, int) else list(size)
            return SparseTensorSpec([*batch, *[None] * self._frames, *inner], item.dtype)
        if isinstance(item, Dense):
            return TensorSpec([*batch, *[None] * item.rows, *item.shape], item.dtype)
        levels = item.levels + len(batch) + self._frames
        if not levels:
            return TensorSpec([None, *item.inner], item.dtype)
        shape = [*batch, *[None] * (levels + 1 - len(batch)), *item.inner]
        return RaggedTensorSpec(shape, item.dtype, levels, item.splits)

    def columns(self, found: dict[Any, Any]) -> tuple[Any, ...]:
        """Return the value of each feature."""
        return tuple(map(_value, map(found.__getitem__, self.keys)))


def _value(column: Any) -> Any:
    """Convert a part of an Example to its internal representation."""
    if isinstance(column, (bytes, np.ndarray, fastrec.Bytes, fastrec.Sparse, fastrec.Ragged)):
        return column
    return np.asarray(column)


class Rows(Outputs):
    """The outputs for many records that are parsed together: columns with one row per record."""

    def __init__(self, checked: Checked, frames: bool = False) -> None:
        super().__init__(checked, frames)
        self.features = {item.key: self._feature(item) for item in self.items}

    def _feature(self, item: Any) -> Any:
        """Return a feature that keeps all values of each record, whose number may vary."""
        if isinstance(item.feature, fastrec.VarLenFeature):
            return fastrec.RaggedFeature(item.feature.dtype)
        if isinstance(item, Dense) and item.rows and not self._frames:
            parts = [fastrec.RaggedFeature.UniformRowLength(size) for size in item.shape]
            return fastrec.RaggedFeature(item.feature.dtype, None, parts)
        return item.feature

    def columns(self, found: dict[Any, Any]) -> tuple[Any, ...]:
        """Return a column for each feature."""
        return tuple(self._column(item, found[item.key]) for item in self.items)

    def _column(self, item: Any, column: Any) -> Any:
        if isinstance(column, fastrec.Sparse):
            return _sparse_rows(column)
        if not isinstance(column, fastrec.Ragged):
            return column
        if isinstance(item, Sparse):
            return [VarLen(row).batch() for row in column] if self._frames else VarLen(column)
        if isinstance(column.values, np.ndarray) and column.values.ndim > 1:
            return arrays_of(column.values, column.row_splits)
        flat = not isinstance(column.values, fastrec.Ragged) and len(column.values.shape) == 1
        return column if flat else list(column)


def _sparse_rows(column: fastrec.Sparse) -> list[fastrec.Sparse]:
    """Split a sparse column, whose records are consecutive, into its records."""
    places, inner = column.indices, column.dense_shape[1:]
    ends = np.searchsorted(places[:, 0], np.arange(len(column) + 1)).tolist()
    parts = itertools.pairwise(ends)
    return [fastrec.Sparse(places[a:b, 1:], column.values[a:b], inner) for a, b in parts]


def _record(serialized: Any) -> bytes:
    if isinstance(serialized, bytes):
        return serialized
    record = as_array(serialized)
    if record.ndim:
        raise invalid(f"Input serialized must be a scalar, got {in_messages(record.shape)}")
    found: bytes = record.item()
    return found


def _records(serialized: Any, names: tuple[Any, ...]) -> tuple[Any, list[bytes]]:
    """Return the records of a batch and their names; the list of names may be empty."""
    shape = () if isinstance(serialized, bytes) else serialized.shape
    if len(shape) != 1:
        raise invalid(
            f"Expected serialized to be a scalar or vector, got shape: {in_messages(shape)}"
        )
    called = as_array(names[0]) if names else np.empty(0, object)
    if called.size and called.shape != shape:
        raise invalid(
            f"Expected names have the same shape as serialized: name.shape="
            f"{in_messages(called.shape)}, serialized.shape={in_messages(shape)}"
        )
    records = serialized if isinstance(serialized, fastrec.Bytes) else serialized.tolist()
    return records, called.reshape(-1).tolist()


def _is_block(records: Block, others: Sequence[Block]) -> bool:
    strings = isinstance(records.value, (fastrec.Bytes, list))
    return records.many and strings and not any(other.many for other in others)


# These modules are imported on first use, because many programs parse no messages, and few cause
# errors.


def _failure(*arguments: Any, **more: Any) -> Exception:
    from ..record_errors import parse_failure

    return parse_failure(*arguments, **more)


def _sequence_failure(*arguments: Any) -> Exception:
    from ..record_errors import sequence_failure

    return sequence_failure(*arguments)


# Parsers are cached, because creating a parser takes longer than using it.


def _example_parser(outputs: Outputs) -> Callable[[], ExampleParser]:
    """Return a function that creates the parser of features once."""

    @functools.cache
    def made() -> ExampleParser:
        from fastrec.parsing.parse import ExampleParser

        return ExampleParser(outputs.features)

    return made


def _sequence_parser(
    first: Outputs, second: Outputs, padded: bool = True
) -> Callable[[], SequenceParser]:
    """Return a function that creates the parser of context features and feature lists once."""

    @functools.cache
    def made() -> SequenceParser:
        from fastrec.parsing.sequence import SequenceParser

        return SequenceParser(first.features, second.features, padded)

    return made


def single_example(checked: Checked) -> Op:
    """Return the operation that parses an Example."""
    outputs, rows = Outputs(checked), Rows(checked)
    parser, parser_of_rows = _example_parser(outputs), _example_parser(rows)

    def kernel(serialized: Any) -> tuple[Any, ...]:
        record = _record(serialized)
        try:
            return outputs.columns(parser().single(record))
        except ExampleParseError as error:
            raise _failure(error, checked, [record], single=True) from error

    def block(_: int, records: Block) -> Any:
        if not _is_block(records, ()):
            return None
        return rows.columns(parser_of_rows()(records.value))

    def infer(*_: Any) -> list[TypeSpec]:
        return outputs.specs([])

    return Op("ParseSingleExample", kernel, infer, block, parsing=rows)


def _known_count(specs: Sequence[Any]) -> int | None:
    sizes = specs[0].shape.sizes
    count: int | None = sizes[0] if sizes else None
    return count


def examples(checked: Checked, named: bool = False) -> Op:
    """Return the operation that parses a batch of Examples, with names as an input if `named`."""
    outputs = Outputs(checked)
    parser = _example_parser(outputs)

    def kernel(serialized: Any, *names: Any) -> tuple[Any, ...]:
        records, called = _records(serialized, names)
        try:
            return outputs.columns(parser()(records))
        except ExampleParseError as error:
            raise _failure(error, checked, records, called) from error

    def infer(specs: Sequence[Any], *_: Any) -> list[TypeSpec]:
        return outputs.specs([_known_count(specs)])

    return Op("ParseExampleV2", kernel, infer, parsing=None if named else outputs)


def single_sequence(context: Checked, frames: Checked) -> Op:
    """Return the operation that parses a SequenceExample."""
    before, lists = Outputs(context), Outputs(frames, frames=True)
    many = Rows(context), Rows(frames, frames=True)
    parser = _sequence_parser(before, lists)
    parser_of_rows = _sequence_parser(*many, padded=False)

    def kernel(serialized: Any, *names: Any) -> tuple[Any, ...]:
        record = _record(serialized)
        try:
            found = parser()([record])
        except ExampleParseError as error:
            called = [as_array(each).item() for each in names if as_array(each).size]
            raise _sequence_failure(error, context, frames, [record], called) from error
        first, second = ({key: column[0] for key, column in part.items()} for part in found[:2])
        return before.columns(first) + lists.columns(second)

    def block(_: int, records: Block, *names: Block) -> Any:
        if not _is_block(records, names):
            return None
        found = parser_of_rows()(records.value)
        return many[0].columns(found[0]) + many[1].columns(found[1])

    def infer(*_: Any) -> list[TypeSpec]:
        return before.specs([]) + lists.specs([])

    return Op("ParseSequenceExampleV2", kernel, infer, block)


def sequences(context: Checked, frames: Checked) -> Op:
    """Return the operation that parses SequenceExamples; the last outputs are frame counts."""
    before, lists = Outputs(context), Outputs(frames, frames=True)
    counted = [item.key for item in frames.dense]
    parser = _sequence_parser(before, lists)

    def kernel(serialized: Any, *names: Any) -> tuple[Any, ...]:
        records, called = _records(serialized, names)
        try:
            found = parser()(records)
        except ExampleParseError as error:
            raise _sequence_failure(error, context, frames, records, called) from error
        lengths = [np.asarray(found[2][key], np.int64) for key in counted]
        return (*before.columns(found[0]), *lists.columns(found[1]), *lengths)

    def infer(specs: Sequence[Any], *_: Any) -> list[TypeSpec]:
        batch = [_known_count(specs)]
        counts = [TensorSpec(batch, "int64") for _ in counted]
        return [*before.specs(batch), *lists.specs(batch), *counts]

    return Op("ParseSequenceExampleV2", kernel, infer)


def _of_json(text: bytes) -> bytes:
    from ..tensor_proto import example_of_json

    return example_of_json(text)


DECODE_JSON = mapped("DecodeJSONExample", _of_json)


def decode_csv(fields: Sequence[Field], options: Any) -> Op:
    """Return the operation that parses lines of text into a column for each of `fields`."""
    from ..kernels.csv import read_lines

    def kernel(lines: Any) -> tuple[Any, ...]:
        if isinstance(lines, fastrec.Bytes) and len(lines.shape) == 1:
            return tuple(read_lines(lines, fields, *options))
        array = as_array(lines)
        texts = fastrec.Bytes.from_list(array.reshape(-1).tolist())
        columns = map(as_array, read_lines(texts, fields, *options))
        return tuple([column.reshape(array.shape) for column in columns])

    def block(_: int, lines: Block) -> Any:
        alone = isinstance(lines.value, list) or len(lines.value.shape) == 1
        if not lines.many or not alone:
            return None
        texts = lines.value
        if not isinstance(texts, fastrec.Bytes):
            texts = fastrec.Bytes.from_list(list(texts))
        return tuple(read_lines(texts, fields, *options))

    def infer(specs: Sequence[Any], *_: Any) -> list[TypeSpec]:
        return [TensorSpec(specs[0].shape, as_dtype(field.dtype)) for field in fields]

    return Op("DecodeCSV", kernel, infer, block)


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


def _serialized_parts(
    places: Array, values: Array, sizes: Sequence[int], ends: Sequence[int]
) -> Array:
    """Return the indices, the values and the shape of each part between two `ends`."""
    dtype = as_dtype("string" if values.dtype == object else values.dtype)
    rows = np.empty((len(ends) - 1, 3), object)
    rows[:, 0] = tensor_proto.contents_of(places, int64, ends)
    rows[:, 1] = tensor_proto.contents_of(values, dtype, ends)
    rows[:, 2] = tensor_proto.content_of(np.array(sizes, np.int64), int64)
    return rows


def _serialized(sparse: fastrec.Sparse) -> Array:
    places, values = sparse.indices, as_array(sparse.values)
    (found,) = _serialized_parts(places, values, sparse.dense_shape, [0, len(values)])
    return np.asarray(found)


def _many_serialized(sparse: fastrec.Sparse) -> Array:
    places, values, sizes = sparse.indices, as_array(sparse.values), sparse.dense_shape
    if len(sizes) < 2:
        raise invalid(f"Rank of input SparseTensor should be > 1, but saw rank: {len(sizes)}")
    if places.size:
        flat_places(places, np.array(sizes), True)
    ends = np.searchsorted(places[:, 0], np.arange(sizes[0] + 1)).tolist()
    return _serialized_parts(places[:, 1:], values, sizes[1:], ends)


def _of_three(number: int, parts: Sequence[bytes], dtype: DType) -> fastrec.Sparse:
    try:
        places, values, sizes = map(tensor_proto.decode_alike, parts)
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
    rows = [_of_three(i, parts, dtype) for i, parts in enumerate(texts.tolist())]
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
