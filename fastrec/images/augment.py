# SPDX-License-Identifier: Apache-2.0
"""Images cut, mirrored, brightened and standardised, a batch at a time, without the lock."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..columns import Arrays

__all__ = ["Augment", "distort"]


@dataclass(frozen=True)
class Augment:
    """Random changes of the images of a batch, in this order, each drawn by itself.

    The arithmetic is TensorFlow's ``tf.image``: ``random_crop`` (or ``resize_with_crop_or_pad``),
    ``random_flip_left_right``, ``random_brightness``, ``random_contrast`` and
    ``per_image_standardization``. In a :class:`Batcher`, what becomes of an image follows from
    seed, epoch and the number of its record, whatever the batch size, shards and threads; for a
    source that a :class:`Mixture` repeats, each time through counts as an epoch of its own.

    Parameters
    ----------
    shape : (height, width), optional
        Size of the result; the size of the image by default.
    crop : {"random", "center"}, required with `shape`
        ``"random"``, for training: anywhere in the image, which must not be smaller. ``"center"``,
        for evaluation: around the middle, with zeros around an image that is smaller.
    flip : bool
        Mirror half of the images, left to right.
    brightness : float
        Add a number between minus and plus this.
    contrast : (float, float), optional
        Move away from each channel's mean by a factor between these.
    standardize : bool
        To a mean of 0 and a variance of 1.
    floats : bool, optional
        Whether the result is float32 where values stay what they were; it is, where they do not.

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
        changes = bool(self.brightness or self.contrast or self.standardize)
        if self.floats is None:
            object.__setattr__(self, "floats", changes)
        if changes and not self.floats:
            raise ValueError("brightness, contrast and standardize require floats=True")
        if self.crop not in (None, "random", "center"):
            raise ValueError(f"crop must be 'random' or 'center', got {self.crop!r}")
        if (self.shape is None) != (self.crop is None):
            raise ValueError("shape and crop require each other: crop='random' or crop='center'")
        if self.shape is not None:
            if len(self.shape) != 2:
                raise ValueError(f"shape must be (height, width), got {self.shape!r}")
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
        """The images, changed.

        Parameters
        ----------
        images : ndarray of uint8, shape (n, height, width, channels), or Arrays
            Those of :class:`Arrays` may have different sizes, and need `shape`.
        keys : array-like of uint64, shape (n,)
            The same key and seed do the same.

        Returns
        -------
        ndarray of float32 or uint8, shape (n, height, width, channels)

        Raises
        ------
        TypeError, ValueError
            For images that cannot be changed in this way.
        """
        fields = self._fields(seed)
        keys = np.asarray(keys, np.uint64)
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
    """Change images as :class:`Augment` does, by given numbers: one for each image, or for all.

    Each step rounds to ``float32``, so that several calls give what one does.

    Parameters
    ----------
    images : ndarray of uint8 or float32, shape (n, height, width, channels)
    size : (int, int, int), optional
        Of a cut.
    starts : array-like of int, shape (n, 3)
        Where it begins.
    mirror : array-like of bool, optional
        Which images are mirrored, left to right.
    brightness, contrast : array-like of float, optional
        What is added to the pixels, and what their distance from the mean of their channel is
        multiplied with.
    standardize : bool
        To a mean of 0 and a variance of 1.

    Returns
    -------
    ndarray of float32, shape (n, height, width, channels)

    Raises
    ------
    TypeError, ValueError
        For images of another type, and for a cut that does not fit.

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
