# SPDX-License-Identifier: Apache-2.0
"""Crop, mirror, brighten and standardise images in batches, without holding the GIL."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arguments import check_fields, check_keys
from ..columns import Arrays

__all__ = ["Augment", "distort"]


@dataclass(frozen=True)
class Augment:
    """Random changes of the images of a batch, drawn independently and applied in this order.

    The arithmetic is TensorFlow's ``tf.image``: ``random_crop`` (or ``resize_with_crop_or_pad``),
    ``random_flip_left_right``, ``random_brightness``, ``random_contrast`` and
    ``per_image_standardization``. In a :class:`Batcher`, the changes of an image depend on the
    seed, the epoch and the number of its record, and not on the batch size, shards or threads. If a
    :class:`Mixture` repeats a source, each repetition counts as a new epoch of that source.

    Parameters
    ----------
    shape : (height, width), optional
        Size of the result; the size of the image by default.
    crop : {"random", "center"}, required with `shape`
        ``"random"``, for training: at a random position in the image, which must not be smaller.
        ``"center"``, for evaluation: the central region, padded with zeros if the image is smaller.
    flip : bool
        Whether to mirror half of the images, left to right.
    brightness : float
        The largest number that is added or subtracted.
    contrast : (float, float), optional
        The range of the factor for the distance from each channel's mean.
    standardize : bool
        Whether to scale to a mean of 0 and a variance of 1.
    floats : bool, optional
        Whether the result is float32 if only positions change. Changed values are always float32.

    Examples
    --------
    CIFAR-10's ``distorted_inputs``, for training, and the same size for evaluation:

    >>> train = Augment(
    ...     (24, 24), "random", flip=True, brightness=63, contrast=(0.2, 1.8), standardize=True
    ... )
    >>> evaluate = Augment((24, 24), "center", standardize=True)
    >>> images = np.arange(2 * 32 * 32 * 3, dtype=np.uint8).reshape(2, 32, 32, 3)
    >>> result = train(images, keys=[0, 1], seed=7)
    >>> result.shape, result.dtype, bool(abs(result.mean()) < 1e-5)
    ((2, 24, 24, 3), dtype('float32'), True)
    """

    shape: tuple[int, int] | None = None
    crop: Literal["random", "center"] | None = None
    flip: bool = False
    brightness: float = 0.0
    contrast: tuple[float, float] | None = None
    standardize: bool = False
    floats: bool | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        changes = bool(self.brightness or self.contrast or self.standardize)
        if self.floats is None:
            object.__setattr__(self, "floats", changes)
        if changes and not self.floats:
            raise ValueError("brightness, contrast and standardize require floats=True")
        if (self.shape is None) != (self.crop is None):
            raise ValueError("shape and crop require each other: crop='random' or crop='center'")
        if self.shape is not None:
            height, width = self.shape
            object.__setattr__(self, "shape", (int(height), int(width)))
        low, high = self.contrast or (1.0, 1.0)
        if not 0 <= low <= high or not self.brightness >= 0:
            raise ValueError(
                f"brightness must be at least 0 and contrast two ascending factors, got {self!r}"
            )

    def _fields(self, seed: int) -> dict[str, Any]:
        return {
            "size": self.shape,
            "random_crop": self.crop == "random",
            "flip": self.flip,
            "brightness": self.brightness,
            "contrast": self.contrast or (1.0, 1.0),
            "standardize": self.standardize,
            "floats": self.floats,
            "seed": index(seed) % 2**64,
        }

    def __call__(
        self, images: NDArray[np.uint8] | Arrays, keys: ArrayLike, seed: int = 0
    ) -> NDArray[Any]:
        """Return the changed images.

        Parameters
        ----------
        images : ndarray of uint8, shape (n, height, width, channels), or Arrays
            Images in :class:`Arrays` may differ in size and require `shape`.
        keys : array-like of uint64, shape (n,)
            The key of each image. Equal keys and seeds give equal changes.

        Returns
        -------
        ndarray of float32 or uint8, shape (n, height, width, channels)

        Raises
        ------
        TypeError, ValueError
            If the images cannot be changed in this way.
        """
        fields = self._fields(seed)
        keys = check_keys(keys, len(images))
        if isinstance(images, Arrays):
            if self.shape is None:
                raise ValueError("images of different sizes require shape to become a batch")
            each = [_core.augment(p[None], keys[i : i + 1], fields) for i, p in enumerate(images)]
            return np.concatenate(each)
        if images.dtype != np.uint8 or images.ndim != 4:
            raise TypeError(
                f"images must be uint8 of shape (n, height, width, channels), got "
                f"{images.dtype} of shape {images.shape}"
            )
        return _core.augment(images, keys, fields)


def distort(
    images: NDArray[Any],
    *,
    size: tuple[int, int, int] | None = None,
    starts: ArrayLike = 0,
    mirror: ArrayLike | None = None,
    brightness: ArrayLike | None = None,
    contrast: ArrayLike | None = None,
    standardize: bool = False,
) -> NDArray[np.float32]:
    """Change images as :class:`Augment` does, by given numbers: one per image, or one for all.

    Each step rounds to ``float32``, so several calls give the same result as one.

    Parameters
    ----------
    images : ndarray of uint8 or float32, shape (n, height, width, channels)
    size : (int, int, int), optional
        Height, width and channels of a crop.
    starts : array-like of int, shape (n, 3)
        The first row, column and channel of each crop.
    mirror : array-like of bool, optional
        Whether to mirror an image, left to right.
    brightness, contrast : array-like of float, optional
        The number added to all pixels, and the factor for the distance from the channel's mean.
    standardize : bool
        Whether to scale to a mean of 0 and a variance of 1.

    Returns
    -------
    ndarray of float32, shape (n, height, width, channels)

    Raises
    ------
    TypeError, ValueError
        If the images have another type, or a crop does not fit.

    Examples
    --------
    >>> distort(np.array([[[[1], [2]]]], np.uint8), mirror=True, brightness=0.5).ravel().tolist()
    [2.5, 1.5]
    """
    if images.dtype not in (np.uint8, np.float32) or images.ndim != 4:
        raise TypeError(
            f"images must be uint8 or float32 of shape (n, height, width, channels), got "
            f"{images.dtype} of shape {images.shape}"
        )
    count = len(images)

    def each(values: ArrayLike | None, dtype: Any) -> Any:
        if values is None:
            return None
        return np.ascontiguousarray(np.broadcast_to(np.asarray(values, dtype), (count,)))

    return _core.distort(
        images,
        np.broadcast_to(np.asarray(starts, np.int64), (count, 3)),
        images.shape[1:] if size is None else size,
        each(mirror, np.uint8),
        each(brightness, np.float32),
        each(contrast, np.float32),
        standardize,
    )
