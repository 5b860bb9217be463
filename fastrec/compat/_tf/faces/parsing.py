# SPDX-License-Identifier: Apache-2.0
"""Functions that parse Examples, SequenceExamples, tensors and lines of text."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import DType, as_dtype, string
from ..features import Checked, checked_context, checked_example, checked_sequence
from ..methods import SparseMethods
from ..ops import Op, constant_of, parsing
from ..ops import parsing as messages
from ..ops.codecs import DECODE_RAW, RAW_TYPES
from . import Faces

if TYPE_CHECKING:
    from ..kernels.csv import Field

_Columns = dict[Any, Any]

# The features are cached because preparing them takes longer than parsing one Example.
_OPS: dict[Any, Op] = {}
_MOST_OPS = 64
_COLUMNS = ["float32", "float64", "int32", "int64", "string"]


def _kept(key: Any, make: Callable[[], Op]) -> Op:
    try:
        found = _OPS.get(key)
    except TypeError:  # a default value is not hashable
        return make()
    if found is None:
        if len(_OPS) >= _MOST_OPS:
            _OPS.clear()
        found = _OPS[key] = make()
    return found


def _described(features: Any) -> Any:
    if not isinstance(features, dict):
        return None
    return tuple((key, type(feature), feature, repr(feature)) for key, feature in features.items())


def _keys(checked: Checked, frames: bool = False) -> list[Any]:
    return parsing.Outputs(checked, frames).keys


class Parsers(Faces):
    """The functions of ``tf.io`` that parse messages."""

    def _outputs(
        self, op: Op, inputs: Sequence[Any], name: str | None, **attributes: Any
    ) -> Sequence[Any]:
        """Return the outputs of an operation, including composite ones."""
        found: Sequence[Any] = self._version.apply_all(op, inputs, name, **attributes)
        return found

    def _serialized(self, value: Any) -> Any:
        return self._tensor(value)

    def _scalar(self, serialized: Any) -> Any:
        record = self._serialized(serialized)
        if record.shape.ndims not in (0, None):
            raise ValueError("Input serialized must be a scalar")
        return record

    def _inputs(self, records: Any, names: Any) -> list[Any]:
        return [records] if names is None else [records, self._tensor(names)]

    def parse_single_example(
        self,
        serialized: Any,
        features: Any,
        example_names: Any = None,
        name: str | None = None,
    ) -> _Columns:
        """Parse one Example into tensors, by feature."""
        checked = checked_example(features, single=True)
        return self._single(self._scalar(serialized), features, checked, name)

    def _single(self, record: Any, features: Any, checked: Checked, name: str | None) -> _Columns:
        op = _kept(("single", _described(features)), lambda: parsing.single_example(checked))
        return dict(zip(_keys(checked), self._outputs(op, [record], name), strict=True))

    def parse_example(
        self,
        serialized: Any,
        features: Any,
        example_names: Any = None,
        name: str | None = None,
    ) -> _Columns:
        """Parse Examples into tensors, by feature; a scalar is parsed as a single Example."""
        checked, records = checked_example(features), self._serialized(serialized)
        rank = records.shape.ndims
        if rank is not None and rank > 1:
            raise ValueError(
                f"Shape must be at most rank 1 but is rank {rank} for 'ParseExampleV2'"
            )
        if rank == 0:
            return self._single(records, features, checked, name or "ParseExample")
        named = example_names is not None
        op = _kept(("batch", named, _described(features)), lambda: parsing.examples(checked, named))
        found = self._outputs(op, self._inputs(records, example_names), name or "ParseExample")
        return dict(zip(_keys(checked), found, strict=True))

    def parse_single_sequence_example(
        self,
        serialized: Any,
        context_features: Any = None,
        sequence_features: Any = None,
        example_name: Any = None,
        name: str | None = None,
    ) -> tuple[_Columns, _Columns]:
        """Parse one SequenceExample into the tensors of its context and of its feature lists."""
        records = self._scalar(serialized)
        found = self._sequence(
            records, context_features, sequence_features, example_name, name, single=True
        )
        return found[0], found[1]

    def parse_sequence_example(
        self,
        serialized: Any,
        context_features: Any = None,
        sequence_features: Any = None,
        example_names: Any = None,
        name: str | None = None,
    ) -> tuple[_Columns, _Columns, _Columns]:
        """Parse SequenceExamples into tensors of contexts, feature lists and their lengths."""
        records = self._serialized(serialized)
        return self._sequence(
            records, context_features, sequence_features, example_names, name, single=False
        )

    def _sequence(
        self, records: Any, context: Any, frames: Any, names: Any, name: str | None, *, single: bool
    ) -> tuple[_Columns, _Columns, _Columns]:
        if not (context or frames):
            raise ValueError(
                "Both `context_features` and `sequence_features` argument are None, but at least "
                "one should have values."
            )
        before, lists = checked_context(context), checked_sequence(frames)
        make = parsing.single_sequence if single else parsing.sequences
        key = "sequence", single, _described(context or {}), _described(frames or {})
        op = _kept(key, lambda: make(before, lists))
        found = iter(self._outputs(op, self._inputs(records, names), name))
        counted = [] if single else [item.key for item in lists.dense]
        first, second, third = (
            {key: next(found) for key in keys}
            for keys in (_keys(before), _keys(lists, True), counted)
        )
        return first, second, third

    def decode_raw(
        self,
        input_bytes: Any,
        out_type: Any,
        little_endian: bool = True,
        fixed_length: int | None = None,
        name: str | None = None,
    ) -> Any:
        """Interpret the bytes of strings as numbers, which add one dimension."""
        strings, dtype = self._tensor(input_bytes, string), as_dtype(out_type)
        if dtype.name not in RAW_TYPES or (fixed_length and dtype.is_bool):
            raise self._version.refused_type("out_type", "out_type", dtype, RAW_TYPES)
        how = {"little_endian": bool(little_endian), "fixed_length": fixed_length}
        return self._apply(DECODE_RAW, [strings], name, out_type=dtype, **how)

    def decode_json_example(self, json_examples: Any, name: str | None = None) -> Any:
        """Convert Examples from JSON to serialized messages."""
        return self._apply(parsing.DECODE_JSON, [self._tensor(json_examples, string)], name)

    def serialize_tensor(self, tensor: Any, name: str | None = None) -> Any:
        """Serialize a tensor as ``TensorProto``."""
        value = self._tensor(tensor)
        return self._apply(messages.SERIALIZE_TENSOR, [value], name, T=value.dtype)

    def parse_tensor(self, serialized: Any, out_type: Any, name: str | None = None) -> Any:
        """Parse a tensor from a serialized ``TensorProto``."""
        inputs = [self._tensor(serialized, string)]
        return self._apply(messages.PARSE_TENSOR, inputs, name, out_type=as_dtype(out_type))

    def _sparse_message(self, op: Op, sparse: Any, name: str | None, out_type: Any) -> Any:
        if not isinstance(sparse, SparseMethods):
            raise TypeError("Input must be a SparseTensor.")
        if as_dtype(out_type) is not string:
            raise NotImplementedError(f"out_type must be tf.string, got {out_type!r}")
        return self._outputs(op, [sparse], name)[0]

    def serialize_sparse(
        self, sp_input: Any, name: str | None = None, out_type: Any = "string"
    ) -> Any:
        """Serialize a sparse tensor as three strings: indices, values and shape."""
        return self._sparse_message(messages.SERIALIZE_SPARSE, sp_input, name, out_type)

    def serialize_many_sparse(
        self, sp_input: Any, name: str | None = None, out_type: Any = "string"
    ) -> Any:
        """Serialize each row of a sparse tensor as three strings."""
        return self._sparse_message(messages.SERIALIZE_MANY_SPARSE, sp_input, name, out_type)

    def deserialize_many_sparse(
        self, serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
    ) -> Any:
        """Parse results of :meth:`serialize_sparse` as the rows of one sparse tensor."""
        inputs = [self._tensor(serialized_sparse, string)]
        op, how = messages.DESERIALIZE_SPARSE, {"dtype": as_dtype(dtype), "rank": rank}
        return self._outputs(op, inputs, name, **how)[0]

    def decode_csv(
        self,
        records: Any,
        record_defaults: Sequence[Any],
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
        name: str | None = None,
    ) -> list[Any]:
        """Parse lines of comma-separated values into one tensor per column."""
        lines = self._tensor(records, string)
        if not isinstance(record_defaults, (list, tuple)):
            raise TypeError(
                f"Expected list for 'record_defaults' argument to 'decode_csv' Op, not "
                f"{record_defaults!r}."
            )
        fields = [self._field(default) for default in record_defaults]
        if not fields:
            raise ValueError("record_defaults must have a default for one column at least")
        if len(field_delim.encode()) != 1:
            raise ValueError("field_delim should be only 1 char")
        chosen = None if select_cols is None else list(select_cols)
        if chosen is not None and any(a >= b for a, b in itertools.pairwise(chosen)):
            raise ValueError("select_cols is not strictly increasing.")
        if chosen and chosen[0] < 0:
            raise ValueError("select_cols contains negative values.")
        if chosen is not None and len(chosen) != len(fields):
            raise ValueError("Length of select_cols and record_defaults do not match.")
        options = field_delim.encode(), use_quote_delim, na_value.encode(), chosen
        return list(self._version.apply_all(parsing.decode_csv(fields, options), [lines], name))

    def _field(self, default: Any) -> Field:
        from ..kernels.csv import Field

        # A type, as opposed to a number, which is a default value.
        if isinstance(default, (DType, np.dtype, type)):
            return Field(as_dtype(default).numpy, None)
        tensor = self._tensor(default)
        found = constant_of(getattr(tensor, "raw", tensor))
        if found is not None and found.ndim > 1:
            raise ValueError(
                f"Shape must be at most rank 1 but is rank {found.ndim} for 'DecodeCSV'"
            )
        if found is None or found.size > 1:
            raise ValueError("each of record_defaults must be a constant of at most one element")
        if as_dtype(found.dtype).name not in _COLUMNS:
            raise TypeError(
                f"Value passed to parameter 'record_defaults' has DataType "
                f"{as_dtype(found.dtype).name} not in list of allowed values: {', '.join(_COLUMNS)}"
            )
        return Field(found.dtype, found.reshape(-1)[0] if found.size else None)
