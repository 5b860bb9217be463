# SPDX-License-Identifier: Apache-2.0
"""``tf.keras``: the functions that input code uses, without layers, models and training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .faces import Functions


class Backend(Functions):
    """The functions of ``tf.keras.backend``, which call the functions of one TensorFlow version.

    Parameters
    ----------
    tf : module
        ``fastrec.compat.v1`` or ``fastrec.compat.v2``.
    """

    def __init__(self, tf: Any) -> None:
        super().__init__()
        self._tf = tf

    def floatx(self) -> str:
        """Return the name of the default type of floats."""
        return "float32"

    def epsilon(self) -> float:
        """Return the small number that functions add to divisors."""
        return 1e-7

    def image_data_format(self) -> str:
        """Return ``"channels_last"``: images are of shape (height, width, channels)."""
        return "channels_last"

    def is_sparse(self, tensor: Any) -> bool:
        """Return whether a tensor is sparse."""
        return isinstance(tensor, self._tf.SparseTensor)

    def is_tensor(self, x: Any) -> bool:
        """Return whether a value is a tensor."""
        return bool(self._tf.is_tensor(x))

    def constant(self, value: Any, dtype: Any = None, shape: Any = None, name: Any = None) -> Any:
        """Return a constant tensor, of float32 by default."""
        return self._tf.constant(value, dtype or self.floatx(), shape, name or "Const")

    def cast(self, x: Any, dtype: Any) -> Any:
        """Convert the elements of a tensor to another type."""
        return self._tf.cast(x, dtype)

    def cast_to_floatx(self, x: Any) -> Any:
        """Convert the elements of a tensor or an array to float32."""
        if self._tf.is_tensor(x):
            return self._tf.cast(x, self.floatx())
        return np.asarray(x, self.floatx())

    def dtype(self, x: Any) -> str:
        """Return the name of the type of a tensor's elements."""
        name: str = x.dtype.name
        return name

    def int_shape(self, x: Any) -> tuple[int | None, ...] | None:
        """Return the static shape of a tensor as a tuple; None if its rank is unknown."""
        shape = x.shape
        return None if shape.ndims is None else tuple(shape.as_list())

    def ndim(self, x: Any) -> int | None:
        """Return the rank of a tensor; None if it is unknown."""
        rank: int | None = x.shape.ndims
        return rank

    def clip(self, x: Any, min_value: Any, max_value: Any) -> Any:
        """Limit each element to a range; either end may be None."""
        plain = isinstance(min_value, (int, float)) and isinstance(max_value, (int, float))
        least = -np.inf if min_value is None else min_value
        most = np.inf if max_value is None else max(min_value, max_value) if plain else max_value
        return self._tf.clip_by_value(x, least, most)

    def dot(self, x: Any, y: Any) -> Any:
        """Multiply two tensors: the last axis of `x` with the last but one of `y`."""
        if self.is_sparse(x):
            return self._tf.sparse.sparse_dense_matmul(x, y)
        ranks = self.ndim(x), self.ndim(y)
        if None in ranks or ranks == (2, 2):
            return self._tf.matmul(x, y)
        return self._tf.tensordot(x, y, [[-1], [max((ranks[1] or 0) - 2, 0)]])

    def transpose(self, x: Any) -> Any:
        """Reverse the axes of a tensor."""
        return self._tf.transpose(x)

    def permute_dimensions(self, x: Any, pattern: Sequence[int]) -> Any:
        """Reorder the axes of a tensor."""
        return self._tf.transpose(x, perm=pattern)

    def expand_dims(self, x: Any, axis: int = -1) -> Any:
        """Insert an axis of size 1."""
        return self._tf.expand_dims(x, axis)

    def squeeze(self, x: Any, axis: int) -> Any:
        """Remove an axis of size 1."""
        return self._tf.squeeze(x, [axis])

    def reshape(self, x: Any, shape: Any) -> Any:
        """Give a tensor another shape."""
        return self._tf.reshape(x, shape)

    def flatten(self, x: Any) -> Any:
        """Give a tensor one axis."""
        return self._tf.reshape(x, [-1])

    def concatenate(self, tensors: Sequence[Any], axis: int = -1) -> Any:
        """Join tensors along an axis."""
        return self._tf.concat(tensors, axis)

    def any(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """Compute the logical OR over some axes, or over all elements."""
        return self._tf.reduce_any(self._tf.cast(x, "bool"), axis, keepdims)

    def all(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """Compute the logical AND over some axes, or over all elements."""
        return self._tf.reduce_all(self._tf.cast(x, "bool"), axis, keepdims)

    def max(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """Return the maximum over some axes, or over all elements."""
        return self._tf.reduce_max(x, axis, keepdims)

    def min(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """Return the minimum over some axes, or over all elements."""
        return self._tf.reduce_min(x, axis, keepdims)

    def sum(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """Compute the sum over some axes, or over all elements."""
        return self._tf.reduce_sum(x, axis, keepdims)

    def prod(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """Compute the product over some axes, or over all elements."""
        return self._tf.reduce_prod(x, axis, keepdims)

    def mean(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """Compute the mean over some axes, or over all elements; of bools the share of true."""
        x = self._tf.convert_to_tensor(x)
        x = self._tf.cast(x, self.floatx()) if x.dtype.is_bool else x
        return self._tf.reduce_mean(x, axis, keepdims)

    def argmax(self, x: Any, axis: int = -1) -> Any:
        """Return the index of the largest element along an axis."""
        return self._tf.argmax(x, axis)

    def argmin(self, x: Any, axis: int = -1) -> Any:
        """Return the index of the smallest element along an axis."""
        return self._tf.argmin(x, axis)


def to_categorical(x: Any, num_classes: int | None = None, dtype: Any = "float32") -> Any:
    """Return one row for each class number: 1 at that number and 0 elsewhere.

    Parameters
    ----------
    x : array of int
        An axis of size 1 at the end is left out.
    num_classes : int, optional
        The size of a row; by default the largest number plus 1.
    dtype : numpy.dtype or str, optional
    """
    numbers = np.asarray(x, np.int64)
    if numbers.ndim > 1 and numbers.shape[-1] == 1:
        numbers = numbers[..., 0]
    count = int(numbers.max()) + 1 if num_classes is None else num_classes
    return np.eye(count, dtype=np.dtype(dtype))[numbers]


def normalize(x: Any, axis: int = -1, order: int = 2) -> Any:
    """Divide an array by its norm along an axis; norms of 0 count as 1."""
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    return x / np.expand_dims(np.where(norms == 0, 1, norms), axis)


def pad_sequences(
    sequences: Sequence[Sequence[Any]],
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: Any = 0.0,
) -> Any:
    """Return an array of sequences, cut and padded to one length.

    Parameters
    ----------
    sequences : sequence of sequences
    maxlen : int, optional
        By default the length of the longest.
    dtype : numpy.dtype or str, optional
    padding, truncating : {"pre", "post"}
        The padded end, and the end that is cut.
    value : scalar, optional
        The padding.
    """
    for name, side in (("padding", padding), ("truncating", truncating)):
        if side not in ("pre", "post"):
            raise ValueError(f'{name} must be "pre" or "post", got {side!r}')
    arrays = [np.asarray(each, dtype) for each in sequences]
    length = max(map(len, arrays), default=0) if maxlen is None else maxlen
    inner = next((each.shape[1:] for each in arrays if len(each)), ())
    result = np.full((len(arrays), length, *inner), value, dtype)
    for row, each in zip(result, arrays, strict=True):
        part = each[len(each) - length :] if truncating == "pre" and len(each) > length else each
        part = part[:length]
        if len(part):
            place = slice(length - len(part), None) if padding == "pre" else slice(len(part))
            row[place] = part
    return result
