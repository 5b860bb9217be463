# SPDX-License-Identifier: Apache-2.0
"""Decoders of ``tf.contrib.slim``: each handler creates one item from features of an Example."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..._tf.dtypes import as_dtype, int64, uint8
from ..._tf.features import FixedLenFeature, FixedLenSequenceFeature
from ..._tf.kernels import codecs
from ..._tf.ops import Array
from ..._tf.ops.codecs import raw_array
from ..._tf.shape import TensorShape
from .._composites import SparseTensor as GraphSparseTensor
from .._composites import is_sparse
from .._nodes import Tensor as GraphTensor
from .._ops import pure
from ..array_ops import arrays, math, picking, reductions
from ..composite_ops import sparse_functions, sparse_tensor_to_dense
from ..constants import convert_to_tensor
from ..control_flow import cond, map_fn
from ..string_ops import parsers


class DataDecoder(abc.ABC):
    """Decoder of a serialized record into tensors."""

    @abc.abstractmethod
    def decode(self, data: Any, items: Sequence[str] | None = None) -> list[Any]:
        """Return the tensors of the given items in order, or of all items by default."""

    @abc.abstractmethod
    def list_items(self) -> list[str]:
        """Return the names of the available items."""


Tensors = Mapping[str, Any]


class ItemHandler(abc.ABC):
    """Handler that creates an item from some features.

    Parameters
    ----------
    keys : str or list of str
        The features.
    """

    def __init__(self, keys: Any) -> None:
        self._keys: list[str] = list(keys) if isinstance(keys, (list, tuple)) else [keys]

    @property
    def keys(self) -> list[str]:
        """The features that the handler needs."""
        return self._keys

    @abc.abstractmethod
    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        """Return the item for the given tensors of the features."""


class ItemHandlerCallback(ItemHandler):
    """Handler whose function creates the item from a dictionary of tensors by feature."""

    def __init__(self, keys: Any, func: Callable[[dict[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        return self._func(dict(keys_to_tensors))


class _Together(ItemHandler):
    """Handler that stacks sparse features ``[time, n]`` into one item ``[time, n, features]``."""

    usual: tuple[str, ...] = ()

    def __init__(
        self,
        keys: Sequence[str] | None = None,
        prefix: str | None = None,
        return_dense: bool = True,
        default_value: float = -1.0,
    ) -> None:
        names = list(self.usual if keys is None else keys)
        if len(names) != len(self.usual):
            kind = type(self).__name__
            raise ValueError(f"{kind} expects {len(self.usual)} keys but got {len(names)}")
        self._return_dense, self._default_value = return_dense, default_value
        super().__init__([(prefix or "") + name for name in names])

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        parts = [keys_to_tensors[key] for key in self._keys]
        sizes = arrays.concat([parts[0].dense_shape, convert_to_tensor([len(parts)], int64)], 0)
        columns = [
            arrays.concat([p.indices, arrays.expand_dims(_same(p.indices[:, 0], i), 1)], 1)
            for i, p in enumerate(parts)
        ]
        indices, values = (
            arrays.concat(columns, 0),
            arrays.concat([part.values for part in parts], 0),
        )
        order = pure("Order", _row_major, (indices,), int64, [None])
        tensor = GraphSparseTensor(
            picking.gather(indices, order), picking.gather(values, order), sizes
        )
        if self._return_dense:
            return sparse_tensor_to_dense(tensor, self._default_value)
        return tensor


def _same(like: GraphTensor, value: int) -> GraphTensor:
    return pure("Fill", lambda x: np.full(x.shape, value, np.int64), (like,), int64, like.shape)


def _row_major(indices: Array) -> Array:
    return np.lexsort(indices.T[::-1]).astype(np.int64)


class BoundingBoxSequence(_Together):
    """Boxes ``[time, n, 4]`` from four features of a SequenceExample.

    Parameters
    ----------
    keys : list of str, optional
        The sides; by default ymin, xmin, ymax and xmax.
    prefix : str, optional
        The prefix of the feature names.
    return_dense : bool
        Whether the result is a dense tensor.
    default_value : float
        The value for missing boxes in a dense tensor.
    """

    usual: tuple[str, ...] = ("ymin", "xmin", "ymax", "xmax")


class KeypointsSequence(_Together):
    """Points ``[time, n, 2]`` from two features; arguments as for BoundingBoxSequence."""

    usual: tuple[str, ...] = ("y", "x")


class NumBoxesSequence(ItemHandler):
    """The number of boxes at each time step.

    Parameters
    ----------
    keys : list of str
        Features of a SequenceExample. The first one determines the number.
    check_consistency : bool
        Whether to raise an error if the other features have different numbers.
    """

    def __init__(self, keys: Any = None, check_consistency: bool = True) -> None:
        if not keys:
            raise ValueError("keys must not be empty.")
        self._check_consistency = check_consistency
        super().__init__(keys)

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        parts = [keys_to_tensors[key] for key in self._keys]
        if not all(map(is_sparse, parts)):
            raise ValueError("tensor must be of type tf.SparseTensor.")
        if not self._check_consistency:
            parts = parts[:1]
        inputs = [each for part in parts for each in (part.indices, part.dense_shape)]
        return pure("NumBoxes", _counted, inputs, int64, [None], names=self._keys)


def _counted(*pairs: Array) -> Array:
    counts = []
    for indices, sizes in zip(pairs[::2], pairs[1::2], strict=True):
        count = np.zeros(int(sizes[0]), np.int64)
        np.maximum.at(count, indices[:, 0], indices[:, 1] + 1)
        counts.append(count)
    for other in counts[1:]:
        if not np.array_equal(counts[0], other):
            raise ValueError(
                f"assertion failed: numbers of boxes differ: {counts[0].tolist()} and "
                f"{other.tolist()}"
            )
    return counts[0]


def _dense(value: Any, default: Any = 0) -> Any:
    return sparse_tensor_to_dense(value, default) if is_sparse(value) else value


class BoundingBox(ItemHandler):
    """Boxes ``[n, 4]`` from four features, one for each side.

    Parameters
    ----------
    keys : list of str, optional
        The sides in the order of the result; by default ymin, xmin, ymax and xmax.
    prefix : str
        The prefix of the feature names.
    """

    def __init__(self, keys: Sequence[str] | None = None, prefix: str = "") -> None:
        sides = ["ymin", "xmin", "ymax", "xmax"] if keys is None else list(keys)
        if len(sides) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(sides)}")
        super().__init__([prefix + side for side in sides])

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        sides = [keys_to_tensors[key] for key in self._keys]
        rows = [arrays.expand_dims(side.values if is_sparse(side) else side, 0) for side in sides]
        return arrays.transpose(arrays.concat(rows, 0))


class Tensor(ItemHandler):
    """A feature as a dense tensor.

    Parameters
    ----------
    tensor_key : str
        The feature.
    shape_keys : str or list of str, optional
        The feature with the shape, or one feature for each dimension.
    shape : list of int, optional
        The shape.
    default_value : scalar
        The value for missing elements of a sparse feature.
    """

    def __init__(
        self,
        tensor_key: str,
        shape_keys: Any = None,
        shape: Any = None,
        default_value: Any = 0,
    ) -> None:
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        if shape_keys and not isinstance(shape_keys, list):
            shape_keys = [shape_keys]
        self._tensor_key, self._shape = tensor_key, shape
        self._shape_keys: list[str] = shape_keys or []
        self._default_value = default_value
        super().__init__([tensor_key, *self._shape_keys])

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        tensor, sizes = keys_to_tensors[self._tensor_key], self._shape
        if self._shape_keys:
            sizes = arrays.reshape(
                arrays.stack([_dense(keys_to_tensors[k]) for k in self._shape_keys]), [-1]
            )
        if is_sparse(tensor):
            if sizes is not None:
                tensor = sparse_functions.reshape(tensor, sizes)
            return sparse_tensor_to_dense(tensor, self._default_value)
        return tensor if sizes is None else arrays.reshape(tensor, sizes)


class LookupTensor(Tensor):
    """The result of a table lookup with a feature as the key.

    Parameters
    ----------
    tensor_key : str
        The feature.
    table : object
        The table. Its method ``lookup(tensor)`` is called.
    shape_keys, shape, default_value : optional
        As for :class:`Tensor`.
    """

    def __init__(
        self,
        tensor_key: str,
        table: Any,
        shape_keys: Any = None,
        shape: Any = None,
        default_value: Any = "",
    ) -> None:
        self._table = table
        super().__init__(tensor_key, shape_keys, shape, default_value)

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """The item of one handler, or of a second handler if the first item is empty."""

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for which, each in (("Primary", handler), ("Backup", backup)):
            if not isinstance(each, ItemHandler):
                raise ValueError(f"{which} handler is of type {type(each)} instead of ItemHandler")
        self._handler, self._backup = handler, backup
        super().__init__(handler.keys + backup.keys)

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        item = self._handler.tensors_to_item(keys_to_tensors)
        return cond(
            math.equal(reductions.reduce_prod(arrays.shape(item)), 0),
            lambda: self._backup.tensors_to_item(keys_to_tensors),
            lambda: item,
        )


class SparseTensor(ItemHandler):
    """A sparse item from one feature with the last coordinates and one with the values.

    Parameters
    ----------
    indices_key, values_key : str, optional
        The features.
    shape_key : str, optional
        The feature with the shape.
    shape : list of int, optional
        The shape.
    densify : bool
        Whether the result is a dense tensor.
    default_value : scalar
        The value for missing elements of a dense tensor.
    """

    def __init__(
        self,
        indices_key: str | None = None,
        values_key: str | None = None,
        shape_key: str | None = None,
        shape: Any = None,
        densify: bool = False,
        default_value: Any = 0,
    ) -> None:
        self._indices_key, self._values_key = indices_key or "indices", values_key or "values"
        self._shape_key, self._shape = shape_key, shape
        self._densify, self._default_value = densify, default_value
        keys = [self._indices_key, self._values_key]
        super().__init__([*keys, shape_key] if shape_key else keys)

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        places, values = (keys_to_tensors[k] for k in (self._indices_key, self._values_key))
        if self._shape_key:
            sizes = _dense(keys_to_tensors[self._shape_key])
        else:
            sizes = self._shape or places.dense_shape
        ids = arrays.reshape(math.cast(places.values, int64), [-1, 1])
        before = picking.gather(
            places.indices, arrays.range(arrays.shape(places.indices)[1] - 1), axis=1
        )
        indices = arrays.concat([before, ids], 1)
        tensor = GraphSparseTensor(
            indices, values.values, math.cast(convert_to_tensor(sizes), int64)
        )
        return sparse_tensor_to_dense(tensor, self._default_value) if self._densify else tensor


class Image(ItemHandler):
    """An image from an encoded file or from raw pixels.

    Parameters
    ----------
    image_key : str, optional
        The feature with the bytes; by default ``"image/encoded"``.
    format_key : str, optional
        The feature with the format, which is ``raw`` or ``RAW`` for raw pixels; by default
        ``"image/format"``.
    shape : list of int, optional
        The shape of all images.
    channels : int
        The number of channels of each pixel.
    dtype : DType
        The type of the result.
    repeated : bool
        Whether the feature has several images.
    dct_method : str
        The transform for JPEGs: INTEGER_FAST or INTEGER_ACCURATE.
    """

    def __init__(
        self,
        image_key: str | None = None,
        format_key: str | None = None,
        shape: Any = None,
        channels: int = 3,
        dtype: Any = uint8,
        repeated: bool = False,
        dct_method: str = "",
    ) -> None:
        self._image_key, self._format_key = (
            image_key or "image/encoded",
            format_key or "image/format",
        )
        self._shape, self._channels, self._dtype = shape, channels, as_dtype(dtype)
        self._repeated, self._dct_method = repeated, dct_method
        super().__init__([self._image_key, self._format_key])

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        data, form = keys_to_tensors[self._image_key], keys_to_tensors[self._format_key]
        if self._repeated:
            return map_fn(lambda each: self._decoded(each, form), data, dtype=self._dtype)
        return self._decoded(data, form)

    def _decoded(self, data: GraphTensor, form: GraphTensor) -> GraphTensor:
        wanted, channels = self._dtype.numpy, self._channels
        accurate = self._dct_method == "INTEGER_ACCURATE"

        def kernel(contents: Array, says: Array) -> Array:
            if says[()] in (b"raw", b"RAW"):
                return raw_array(contents, wanted)
            encoded: Any = contents[()]
            return codecs.decode(encoded, channels, accurate=accurate).astype(wanted)

        known = [None, None, channels]
        image = pure("DecodeImage", kernel, (data, form), self._dtype, known, "decode_image")
        return image if self._shape is None else arrays.reshape(image, self._shape)


# Decoders.


class _Decoder(DataDecoder):
    def __init__(self, items_to_handlers: Mapping[str, ItemHandler]) -> None:
        self._items_to_handlers = dict(items_to_handlers)

    def list_items(self) -> list[str]:
        return list(self._items_to_handlers)

    @abc.abstractmethod
    def _parsed(self, serialized: Any) -> dict[str, Any]:
        """Return the parsed features by key."""

    def decode(self, serialized: Any, items: Sequence[str] | None = None) -> list[Any]:
        """Return the tensors of the given items in order, or of all items by default."""
        found = self._parsed(serialized)
        handlers = [self._items_to_handlers[item] for item in items or self._items_to_handlers]
        return [
            handler.tensors_to_item({key: found[key] for key in handler.keys})
            for handler in handlers
        ]


class TFExampleDecoder(_Decoder):
    """Decoder of Examples into items.

    Parameters
    ----------
    keys_to_features : dict
        The features, as for ``tf.parse_single_example``.
    items_to_handlers : dict of str to ItemHandler
        The handler of each item.
    """

    def __init__(
        self, keys_to_features: Mapping[str, Any], items_to_handlers: Mapping[str, ItemHandler]
    ) -> None:
        super().__init__(items_to_handlers)
        self._keys_to_features = dict(keys_to_features)

    def _parsed(self, serialized: Any) -> dict[str, Any]:
        found = parsers.parse_single_example(serialized, self._keys_to_features)
        for key, feature in self._keys_to_features.items():
            if isinstance(feature, FixedLenFeature):
                found[key] = arrays.reshape(found[key], TensorShape(feature.shape).as_list() or [])
        return found


class TFSequenceExampleDecoder(_Decoder):
    """Decoder of SequenceExamples into items.

    Parameters
    ----------
    keys_to_context_features, keys_to_sequence_features : dict
        The features, as for ``tf.parse_single_sequence_example``.
    items_to_handlers : dict of str to ItemHandler
        The handler of each item.

    Raises
    ------
    ValueError
        If both have a feature of the same name.
    """

    def __init__(
        self,
        keys_to_context_features: Mapping[str, Any],
        keys_to_sequence_features: Mapping[str, Any],
        items_to_handlers: Mapping[str, ItemHandler],
    ) -> None:
        both = set(keys_to_context_features) & set(keys_to_sequence_features)
        if both:
            raise ValueError(f"Context and sequence keys are not unique. \n {sorted(both)}")
        super().__init__(items_to_handlers)
        self._context = dict(keys_to_context_features)
        self._sequence = dict(keys_to_sequence_features)

    def _parsed(self, serialized: Any) -> dict[str, Any]:
        context, sequence = parsers.parse_single_sequence_example(
            serialized, self._context, self._sequence
        )
        for key, feature in self._context.items():
            if isinstance(feature, FixedLenFeature):
                context[key] = arrays.reshape(context[key], feature.shape)
        for key, feature in self._sequence.items():
            if isinstance(feature, FixedLenSequenceFeature):
                sequence[key] = arrays.reshape(
                    sequence[key], [-1, *TensorShape(feature.shape).as_list()]
                )
        return {**context, **sequence}
