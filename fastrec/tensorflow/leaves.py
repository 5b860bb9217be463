# SPDX-License-Identifier: Apache-2.0
"""Leaves of a batch: the arrays that a column is passed in, and the tensor that they become."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from ..columns import Arrays, Bytes, Ragged, Sparse

_NONE = tf.type_spec_from_value(None)

# In bytes. TensorFlow's kernels abort the process if a tensor's memory is aligned to less.
_ALIGNMENT = 64

__all__ = ["Leaf", "as_array", "eager", "leaves_of", "pack", "walk"]


class Leaf:
    """One tensor of an element: its type, and the dense arrays that carry it.

    Parameters
    ----------
    name : str
        Path within the element, for error messages.
    spec : tf.TypeSpec
        A TensorSpec, RaggedTensorSpec or SparseTensorSpec.

    Raises
    ------
    TypeError
        For any other spec.
    """

    def __init__(self, name: str, spec: Any) -> None:
        self.name: str = name
        self.spec: Final = spec
        if isinstance(spec, tf.RaggedTensorSpec) and spec.ragged_rank:
            self.parts: list[Any] = _ragged_parts(spec)
        elif isinstance(spec, tf.SparseTensorSpec):
            rank = spec.shape.rank
            self.parts = [
                tf.TensorSpec((None, rank), tf.int64),
                tf.TensorSpec((None,), spec.dtype),
                tf.TensorSpec((rank,), tf.int64),
            ]
        elif spec == _NONE:
            self.parts = []
        elif isinstance(spec, (tf.TensorSpec, tf.RaggedTensorSpec)):
            self.parts = [tf.TensorSpec(spec.shape, spec.dtype)]
        else:
            raise TypeError(
                f"{name} must be a dense, ragged or sparse tensor, got {spec!r}: "
                "convert it with map() before it is passed to TensorFlow"
            )
        self.is_dense: bool = len(self.parts) == 1
        self.is_number: bool = self.is_dense and self.parts[0].dtype != tf.string

    def split(self, value: Any) -> list[NDArray[Any]]:
        """Return the arrays that carry `value`, in the order of `parts`.

        Raises
        ------
        TypeError
            When `value` is dense, ragged or sparse, and the spec is not.
        """
        if self.is_dense:
            return [as_array(value)]
        if isinstance(self.spec, tf.SparseTensorSpec):
            arrays = _sparse_arrays(value)
        elif len(self.parts) > 1:
            arrays = _ragged_arrays(value, self.spec)
        else:
            if value is not None:
                raise TypeError(f"{self.name} must be None, got {type(value).__name__}")
            arrays = []
        return arrays

    def check(self, arrays: Sequence[NDArray[Any]]) -> None:
        """Raise unless the arrays of :meth:`split` fit the dtypes and shapes of `parts`."""
        for array, part in zip(arrays, self.parts, strict=True):
            if (object if part.dtype == tf.string else part.dtype.as_numpy_dtype) != array.dtype:
                raise TypeError(f"{self.name} must be of {self.spec}, got dtype {array.dtype}")
            if not part.shape.is_compatible_with(array.shape):
                raise ValueError(f"{self.name} must be of {self.spec}, got shape {array.shape}")

    @property
    def output(self) -> Any:
        """The spec of what :meth:`encode` returns."""
        return self.parts[0] if self.is_dense else tf.TensorSpec(None, tf.variant)

    def encode(self, tensors: Sequence[Any]) -> Any:
        """Return the value as one tensor, in TensorFlow's encoding for elements of datasets."""
        if isinstance(self.spec, tf.SparseTensorSpec):
            return tf.io.serialize_sparse(tf.SparseTensor(*tensors), out_type=tf.variant)
        if self.is_dense:
            return tensors[0]
        *splits, values = tensors
        return tf.raw_ops.RaggedTensorToVariant(
            rt_nested_splits=splits, rt_dense_values=values, batched_input=False
        )


def _ragged_parts(spec: Any) -> list[Any]:
    sizes = spec.shape.as_list()
    rows = None if sizes[0] is None else sizes[0] + 1
    splits = [
        tf.TensorSpec((rows if depth == 0 else None,), spec.row_splits_dtype)
        for depth in range(spec.ragged_rank)
    ]
    return [*splits, tf.TensorSpec((None, *sizes[spec.ragged_rank + 1 :]), spec.dtype)]


def as_array(value: Any) -> NDArray[Any]:
    """Return a dense value as an array; strings become objects of bytes."""
    if type(value) is np.ndarray and value.dtype.kind not in "OUS":
        return np.asarray(value, order="C")
    if isinstance(value, Bytes):
        return value.to_numpy()
    if isinstance(value, (Ragged, Sparse, Arrays)):
        raise TypeError(f"a dense value is required, got {value!r}")
    if not isinstance(value, np.ndarray):
        value = value.numpy() if hasattr(value, "numpy") else value
        if isinstance(value, (bytes, str)):
            value = value.encode() if isinstance(value, str) else value
            array = np.empty((), object)
            array[()] = value
            return array
        value = _dense(value)
    if value.dtype.kind in "US":
        strings = [s.encode() if isinstance(s, str) else s for s in value.reshape(-1).tolist()]
        return np.fromiter(strings, object, len(strings)).reshape(value.shape)
    return np.asarray(value, order="C")


def _dense(value: Any) -> NDArray[Any]:
    """Return what is not an array yet as one: a number, or a list, which is one tensor."""
    if value is None:
        raise TypeError("a dense value is required, got None")
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(
            f"a list must have the values of one tensor ({error}): put several columns into a "
            "tuple or a dict"
        ) from None


def _ragged_arrays(value: Any, spec: Any) -> list[NDArray[Any]]:
    """The row splits, the outermost first, and the flat values."""
    dtype = spec.row_splits_dtype.as_numpy_dtype
    if hasattr(value, "nested_row_splits"):  # a tensor of fastrec.compat
        splits = [as_array(each) for each in value.nested_row_splits]
        values = value.flat_values
    else:
        *splits, values = _flattened(value)
    if len(splits) != spec.ragged_rank:
        raise TypeError(f"{spec} requires {spec.ragged_rank} row splits, got {len(splits)}")
    return [*(each.astype(dtype, copy=False) for each in splits), as_array(values)]


def _flattened(values: Any) -> list[Any]:
    """The row splits of a Ragged, the outermost first, which begin at 0, and the flat values."""
    parts = []
    while isinstance(values, Ragged):
        begin, end = int(values.row_splits[0]), int(values.row_splits[-1])
        inner = values.values
        whole = begin == 0 and end == len(inner)
        parts.append(values.row_splits if whole else values.row_splits - begin)
        values = inner if whole else inner[begin:end]
    return [*parts, values]


def _sparse_arrays(value: Any) -> list[NDArray[Any]]:
    if not hasattr(value, "dense_shape"):
        raise TypeError(f"a sparse value is required, got {type(value).__name__}")
    shape = as_array(value.dense_shape).astype(np.int64, copy=False)
    return [as_array(value.indices), as_array(value.values), shape]


# --- structures -----------------------------------------------------------------------------------


def walk(structure: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield path and value of each leaf, in the order of ``tf.nest.flatten``.

    Mappings and tuples are structure; everything else, lists included, is a leaf.
    """
    if isinstance(structure, Mapping):
        for key in sorted(structure):
            yield from walk(structure[key], f"{name}[{key!r}]")
    elif isinstance(structure, tuple):
        for number, each in enumerate(structure):
            yield from walk(each, f"{name}[{number}]")
    else:
        yield name or "the element", structure


def flat_values(structure: Any) -> list[Any]:
    """Return the leaves of :func:`walk` without their paths, which take most of its time."""
    if isinstance(structure, Mapping):
        parts: Iterable[Any] = [structure[key] for key in sorted(structure)]
    elif isinstance(structure, tuple):
        parts = structure
    else:
        return [structure]
    values: list[Any] = []
    for part in parts:
        if isinstance(part, np.ndarray):
            values.append(part)
        else:
            values += flat_values(part)
    return values


def pack(structure: Any, leaves: Iterator[Any]) -> Any:
    """Return `structure` with its leaves replaced, in the order of :func:`walk`."""
    if isinstance(structure, Mapping):
        values = {key: pack(structure[key], leaves) for key in sorted(structure)}
        return {key: values[key] for key in structure}
    if isinstance(structure, tuple):
        parts = [pack(each, leaves) for each in structure]
        return type(structure)(*parts) if hasattr(structure, "_fields") else tuple(parts)
    return next(leaves)


def leaves_of(spec: Any) -> list[Leaf]:
    """Return the leaves of a structure of TypeSpecs."""
    return [Leaf(name, each) for name, each in walk(spec)]


# --- eager tensors --------------------------------------------------------------------------------


@functools.cache
def _aliasing() -> Callable[[Any], Any]:
    """Return a function that makes an eager tensor over the memory of an array.

    The tensor keeps the memory alive. TensorFlow's public function looks the context up for each
    tensor, which is a third of its time.
    """
    try:
        from tensorflow.python import pywrap_tfe
        from tensorflow.python.eager import context

        context.ensure_initialized()
        from_capsule = pywrap_tfe.TFE_FromDlpackCapsule
        handle = context.context()._handle
    except (ImportError, AttributeError):
        from_capsule, handle = (
            (lambda capsule, _: tf.experimental.dlpack.from_dlpack(capsule)),
            None,
        )
    address, view = ctypes.addressof, ctypes.c_char.from_buffer

    def aliased(array: Any) -> Any:
        try:
            # This takes a third of the time of array.ctypes.data.
            if not address(view(array)) % _ALIGNMENT:
                return from_capsule(array.__dlpack__(), handle)
        except (BufferError, RuntimeError, TypeError, ValueError, tf.errors.OpError):
            pass  # The array is read-only, strided, empty, or of a dtype that DLPack does not have.
        if array.dtype.hasobject or array.dtype.kind in "US":
            return tf.constant(as_array(array), tf.string)
        return tf.convert_to_tensor(array)

    return aliased


def _aliased(array: Any) -> Any:
    return _aliasing()(array)


@functools.cache
def _partitioning() -> Callable[[Any, Any], Any]:
    """Return a function that makes an eager RaggedTensor of values and row splits.

    The public function takes three times as long, because it converts its arguments in several
    layers.
    """
    try:
        from tensorflow.python.ops.ragged import row_partition

        key, partition = row_partition._row_partition_factory_key, row_partition.RowPartition
    except (ImportError, AttributeError):
        return lambda rows, splits: tf.RaggedTensor.from_row_splits(rows, splits, validate=False)
    ragged = tf.RaggedTensor
    return lambda rows, splits: ragged(rows, partition(splits, internal=key), internal=True)


def _ragged(splits: Sequence[Any], flat: Any) -> Any:
    rows, partitioned = _aliased(flat), _partitioning()
    for each in reversed(splits):
        rows = partitioned(rows, _aliased(each))
    return rows


def _of_ragged(column: Ragged) -> Any:
    *splits, flat = _flattened(column)
    return _ragged(splits, as_array(flat))


def eager(value: Any) -> Any:
    """Return `value` with each column as an eager tensor, without a copy of its numbers.

    Raises
    ------
    TypeError
        For an :class:`~fastrec.Arrays`, whose arrays differ in shape.
    """
    if value is None:
        return None
    convert = _EAGER.get(type(value))
    if convert is not None:
        return convert(value)
    if isinstance(value, Mapping):
        aliased, array = _aliasing(), np.ndarray
        return {
            key: aliased(each) if type(each) is array else eager(each)
            for key, each in value.items()
        }
    if isinstance(value, tuple):
        parts = [eager(each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if hasattr(value, "nested_row_splits"):
        return _ragged(list(map(as_array, value.nested_row_splits)), as_array(value.flat_values))
    if hasattr(value, "dense_shape"):
        return tf.SparseTensor(*map(_aliased, _sparse_arrays(value)))
    return _aliased(as_array(value))


def _refused(value: Arrays) -> Any:
    raise TypeError(
        f"{value!r} has no common shape, which a tensor requires: give the feature `pad`, "
        "`crop_or_pad`, a shape, or a transform that does"
    )


_EAGER: dict[type, Callable[[Any], Any]] = {
    np.ndarray: _aliased,
    Ragged: _of_ragged,
    Arrays: _refused,
    Bytes: lambda column: tf.constant(column.to_numpy(), tf.string),
    Sparse: lambda column: tf.SparseTensor(*map(_aliased, _sparse_arrays(column))),
}
