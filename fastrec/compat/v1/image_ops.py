# SPDX-License-Identifier: Apache-2.0
"""Resize images, and rarely used functions that are composed of others."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from .._tf.dtypes import DType, as_dtype, int32
from .._tf.naming import named
from .._tf.ops.geometry import RESIZE, new_size
from ..extra.boxes import GLIMPSE
from ._nodes import Tensor
from ._ops import checked_kind, record
from .constants import convert_to_tensor


class ResizeMethod:
    """Methods for resizing an image."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS = {
    ResizeMethod.BILINEAR: "bilinear",
    ResizeMethod.NEAREST_NEIGHBOR: "nearest",
    ResizeMethod.BICUBIC: "bicubic",
    ResizeMethod.AREA: "area",
    "bilinear": "bilinear",
    "nearest": "nearest",
    "bicubic": "bicubic",
    "area": "area",
}


def _size(size: Any) -> Tensor:
    wanted = convert_to_tensor(size, int32, "size")
    if not wanted.shape.is_compatible_with([2]):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    return wanted


def _resized(
    image: Any,
    size: Any,
    method: str,
    align: bool,
    half_pixel: bool,
    name: str | None,
    keep: bool = False,
) -> Tensor:
    tensor = checked_kind(RESIZE, convert_to_tensor(image))
    wanted = _size(size)
    if half_pixel and align:
        raise ValueError("If half_pixel_centers is True, align_corners must be False.")
    return record(
        RESIZE,
        (tensor, wanted),
        name,
        method=method,
        antialias=False,
        align=align,
        centers=half_pixel,
        keep=keep,
    )


def resize_images(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resize to ``[height, width]``, as ``float32`` except for nearest neighbour."""
    tensor = convert_to_tensor(images, name="images")
    if tensor.shape.ndims is None:
        raise ValueError("'images' contains no shape.")
    if tensor.shape.ndims not in (3, 4):
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    wanted = _size(size)
    if method not in _METHODS:
        raise ValueError("Resize method is not implemented.")
    found = new_size(tensor.shape, wanted, preserve_aspect_ratio)
    if None not in found and tensor.shape.as_list()[-3:-1] == list(found):
        return tensor
    return _resized(
        tensor, wanted, _METHODS[method], align_corners, False, name, preserve_aspect_ratio
    )


resize = resize_images


def _stacked(images: Any) -> Tensor:
    tensor = convert_to_tensor(images, name="images")
    if tensor.shape.ndims not in (4, None):
        raise ValueError(f"Shape must be rank 4 but is rank {tensor.shape.ndims}")
    return tensor


def _resizing(name: str, method: str, doc: str) -> Callable[..., Tensor]:
    def resize(
        images: Any,
        size: Any,
        align_corners: bool = False,
        name: str | None = None,
        half_pixel_centers: bool = False,
    ) -> Tensor:
        return _resized(_stacked(images), size, method, align_corners, half_pixel_centers, name)

    return named(resize, name, doc=f"Resize images to ``[height, width]``; each pixel is {doc}.")


resize_nearest_neighbor: Final = _resizing("resize_nearest_neighbor", "nearest", "its nearest one")
resize_bilinear: Final = _resizing("resize_bilinear", "bilinear", "interpolated between four")
resize_bicubic: Final = _resizing("resize_bicubic", "bicubic", "interpolated between sixteen")
resize_area: Final = _resizing("resize_area", "area", "the mean of the pixels that it covers")


def _tf() -> Any:
    return sys.modules[__package__]


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """Take elements of each row of `params`; all but the last axis of `indices` are batches."""
    wanted = convert_to_tensor(indices)
    count = wanted.shape.ndims
    if count is None:
        raise ValueError("batch_gather does not allow indices with unknown shape.")
    return _tf().gather(params, wanted, axis=count - 1, batch_dims=count - 1, name=name)


def diag(diagonal: Any, name: str | None = None) -> Any:
    """Return a tensor of twice the rank with these elements on its diagonal."""
    tensor = convert_to_tensor(diagonal)
    if tensor.shape.ndims == 1:
        return _tf().matrix_diag(tensor, name)
    sizes = _tf().shape(tensor)
    flat = _tf().matrix_diag(_tf().reshape(tensor, [-1]))
    return _tf().reshape(flat, _tf().concat([sizes, sizes], 0), name)


def diag_part(input: Any, name: str | None = None) -> Any:
    """Return the diagonal of a tensor of shape ``[d1, ..., dk, d1, ..., dk]``."""
    tensor = convert_to_tensor(input)
    rank = tensor.shape.ndims
    if not rank or rank % 2:
        raise ValueError(f"Input must have even and non-zero rank, but has rank {rank}")
    if rank == 2:
        return _tf().matrix_diag_part(tensor, name)
    sizes = _tf().shape(tensor)[: rank // 2]
    count = _tf().reduce_prod(sizes)
    flat = _tf().reshape(tensor, _tf().stack([count, count]))
    return _tf().reshape(_tf().matrix_diag_part(flat), sizes, name)


def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Any:
    """Return the rows of `params` with these numbers."""
    if isinstance(params, (list, tuple)) and len(params) == 1:
        params = params[0]
    if isinstance(params, (list, tuple)) and getattr(params[0], "shape", ()) != ():
        raise NotImplementedError("embedding_lookup takes one tensor; join the parts by tf.concat")
    if max_norm is not None:
        raise NotImplementedError("embedding_lookup takes no max_norm; use tf.clip_by_norm")
    return _tf().gather(params, ids, name=name)


def resize_image_with_pad(
    image: Any,
    target_height: int,
    target_width: int,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Any:
    """Resize images as far as they fit into a size, and center them between zeros."""
    tf = _tf()
    tensor = convert_to_tensor(image, name="image")
    sizes = tf.cast(tf.shape(tensor)[-3:-1], "float32")
    known = tensor.shape.as_list()[-3:-1] if tensor.shape.ndims else [None]
    if None not in known:
        sizes = tf.constant(known, "float32")
    target = tf.constant([target_height, target_width], "float32")
    ratio = tf.reduce_max(sizes / target)
    exact = sizes / ratio
    start = tf.maximum(tf.cast(tf.floor((target - exact) / 2), "int32"), 0)
    resized = tf.image.resize_images(
        tensor, tf.cast(tf.floor(exact), "int32"), method, align_corners
    )
    padded = tf.image.pad_to_bounding_box(resized, start[0], start[1], target_height, target_width)
    padded.set_shape([*tensor.shape.as_list()[:-3], target_height, target_width, tensor.shape[-1]])
    return padded


class Beta:
    """A Beta distribution, with TensorFlow's draws.

    Parameters
    ----------
    concentration1, concentration0 : tensor of float
        Their shapes can be broadcast to each other.
    """

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ) -> None:
        self.concentration1: Final = convert_to_tensor(concentration1, name="concentration1")
        self.concentration0: Final = convert_to_tensor(
            concentration0, self.concentration1.dtype, "concentration0"
        )
        self.total_concentration: Final = self.concentration1 + self.concentration0
        self.dtype: DType = self.total_concentration.dtype

    def mean(self) -> Any:
        """Return the mean of the distribution."""
        return self.concentration1 / self.total_concentration

    def sample(
        self, sample_shape: int | Sequence[int] = (), seed: int | None = None, name: str = "sample"
    ) -> Any:
        """Draw `sample_shape` numbers from each distribution."""
        tf = _tf()
        shape = [sample_shape] if isinstance(sample_shape, int) else list(sample_shape)
        ones = tf.ones_like(self.total_concentration)
        count = 1
        for size in shape:
            count *= int(size)
        text = f"{seed}beta".encode()
        other = None if seed is None else int(hashlib.md5(text).hexdigest()[:8], 16) & 0x7FFFFFFF
        kind = as_dtype(self.dtype)
        first = tf.random_gamma([count], ones * self.concentration1, dtype=kind, seed=seed)
        second = tf.random_gamma([count], ones * self.concentration0, dtype=kind, seed=other)
        sizes = self.total_concentration.shape.as_list()
        return tf.reshape(first / (first + second), [*shape, *sizes], name)


def space_to_batch(
    input: Any,
    paddings: Any,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: Any = None,
) -> Any:
    """Move blocks of pixels of 4-dimensional images into the first dimension."""
    tf = _tf()
    if block_shape is not None and block_size is not None:
        raise ValueError("Cannot specify both 'block_shape' and 'block_size'.")
    shape = block_size if block_shape is None else block_shape
    if shape is None:
        raise ValueError("block_size or block_shape is required")
    blocks = np.broadcast_to(np.asarray(shape), 2).tolist()
    margins = np.concatenate([[[0, 0]], np.asarray(paddings), [[0, 0]]])
    padded = tf.pad(input, margins.tolist())
    sizes = tf.shape(padded)
    rows, columns = sizes[1] // blocks[0], sizes[2] // blocks[1]
    parts = tf.reshape(padded, tf.stack([sizes[0], rows, blocks[0], columns, blocks[1], sizes[3]]))
    moved = tf.transpose(parts, [2, 4, 0, 1, 3, 5])
    count = sizes[0] * (blocks[0] * blocks[1])
    return tf.reshape(moved, tf.stack([count, rows, columns, sizes[3]]), name)


def extract_glimpse(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Any:
    """Cut a window out of each image, with noise beyond the image.

    Parameters
    ----------
    input : float32, shape (batch, height, width, channels)
    size : (height, width)
    offsets : float32, shape (batch, 2)
        The centre of each window, y and x.
    centered : bool
        Whether offset (0, 0) is the centre of an image instead of its corner.
    normalized : bool
        Whether an image is 1 high and wide (from -1 to 1, if centered).
    uniform_noise : bool
        Whether noise is uniform instead of normal.
    """
    operands = [
        convert_to_tensor(input, "float32"),
        convert_to_tensor(size, "int32"),
        convert_to_tensor(offsets, "float32"),
    ]
    noise = "uniform" if uniform_noise else "gaussian"
    how = {"centered": centered, "normalized": normalized, "noise": noise}
    return record(GLIMPSE, operands, name, **how)
