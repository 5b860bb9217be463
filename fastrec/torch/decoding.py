# SPDX-License-Identifier: Apache-2.0
"""Decode the images of a batch into the memory of a device, on a GPU with nvJPEG."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from .. import Bytes, ExampleParseError, ImageFeature, _core
from ..arguments import check_keys, check_types
from ..errors import one_line
from ..features.transforms import RandomResizedCrop
from .tensors import to_tensors

__all__ = ["decode"]

# A gray JPEG of 16 x 16 pixels. If a device cannot decode it, an error does not concern the images.
_SOUND_JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERX"
    "RTc4UG1RV19iZ2hnPk1xeXBkeFxlZ2P/2wBDARESEhgVGC8aGi9jQjhCY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2Nj"
    "Y2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2P/wAARCAAQABADAREAAhEBAxEB/8QAFAABAAAAAAAAAAAAAAAAAAAA"
    "AP/EABQQAQAAAAAAAAAAAAAAAAAAAAD/xAAUAQEAAAAAAAAAAAAAAAAAAAAA/8QAFBEBAAAAAAAAAAAAAAAAAAAA"
    "AP/aAAwDAQACEQMRAD8AAAAA/9k="
)

_KINDS = {"torchvision": "resized", "tensorflow": "distorted"}


def decode(
    images: Bytes | Sequence[Any],
    device: Any = "cpu",
    *,
    crop: RandomResizedCrop | None = None,
    keys: ArrayLike | None = None,
    seed: int = 0,
) -> Any:
    """Decode the images of a batch, on a GPU with torchvision's nvJPEG.

    On a CPU, the result equals the images of an :class:`~fastrec.ImageFeature`. GPUs round
    differently, and decode only JPEGs.

    Parameters
    ----------
    images : Bytes, or sequence of uint8 tensors or bytes
        Encoded images, such as a column of ``to_tensors(batch, bytes="tensor")``. They must be in
        the memory of the CPU, where nvJPEG reads them.
    device : torch.device, str or int
        Device that decodes the images, and whose memory receives them.
    crop : RandomResizedCrop, optional
        The random region of each image, and the size that it is resized to. On a GPU,
        `interpolation` must be ``"bilinear"``.
    keys : array-like of uint64, shape (n,), required with `crop`
        The key of each image, such as the number of its record. Equal keys and seeds give equal
        regions on all devices.
    seed : int
        Seed of the regions. For other regions in each epoch, pass another seed in each epoch.

    Returns
    -------
    list of uint8 tensors, shape (3, height, width), or one tensor, shape (n, 3, height, width)
        The latter with `crop`.

    Raises
    ------
    ImportError
        If the device is not a CPU, and torchvision is not installed.
    RuntimeError
        If the device cannot decode any image: torchvision was built without its decoder, or memory
        is exhausted (``torch.OutOfMemoryError``).
    ExampleParseError
        If an image cannot be decoded; the message has its number in the batch.
    LimitExceededError
        If an image has more than 134 million pixels.

    Examples
    --------
    >>> batch = to_tensors(batch, bytes="tensor")  # doctest: +SKIP
    >>> crop = fastrec.image.RandomResizedCrop(224)  # doctest: +SKIP
    >>> decode(batch["image"], "cuda", crop=crop, keys=batch["id"], seed=3)  # doctest: +SKIP
    """
    check_types(decode, locals())
    device = torch.device(device)
    encoded = [_tensor(number, each) for number, each in enumerate(_views(images))]
    seed %= 2**64
    if crop is not None and keys is None:
        raise ValueError("crop requires keys, one for each image, such as the record numbers")
    numbers = None if crop is None else check_keys(keys, len(encoded))
    if device.type != "cpu":
        return _on_device(encoded, device, crop, numbers, seed)
    feature = ImageFeature(transforms=[crop] if crop else [], channels_first=crop is not None)
    pixels = feature.decode([each.numpy().data for each in encoded], keys=numbers, seed=seed)
    if crop is not None:
        return torch.from_numpy(pixels)
    return [torch.from_numpy(each).permute(2, 0, 1) for each in pixels]


def _views(images: Bytes | Sequence[Any]) -> Sequence[Any]:
    if isinstance(images, Bytes):
        if len(images.shape) != 1:
            raise ValueError(f"images must be one in each record, got shape {images.shape}")
        return to_tensors(images, bytes="tensor")  # type: ignore[no-any-return]
    return images


def _tensor(number: int, image: Any) -> torch.Tensor:
    if isinstance(image, (bytes, bytearray, memoryview)):
        image = torch.from_numpy(np.frombuffer(image, np.uint8).copy())
    if not isinstance(image, torch.Tensor) or image.dtype != torch.uint8 or image.dim() != 1:
        raise TypeError(f"image {number} must be bytes or a uint8 tensor of one dimension")
    if image.device.type != "cpu":
        raise ValueError(
            f"image {number} must be in the memory of the CPU, got one on {image.device}: call "
            "decode() before prefetch_to()"
        )
    return image


def _on_device(
    encoded: list[torch.Tensor],
    device: torch.device,
    crop: RandomResizedCrop | None,
    keys: NDArray[np.uint64] | None,
    seed: int,
) -> Any:
    if crop is not None and crop.interpolation != "bilinear":
        raise ValueError(f"crop must have interpolation='bilinear', got {crop.interpolation!r}")
    try:
        from torchvision.io import ImageReadMode, decode_jpeg
        from torchvision.transforms.v2 import functional
    except (ImportError, RuntimeError) as error:  # RuntimeError: it is for another PyTorch
        raise ImportError(
            f"fastrec.torch.decode on {device} requires the torchvision of the installed PyTorch: "
            f"pip install torchvision ({one_line(error)})"
        ) from error
    sizes = [_size(number, each) for number, each in enumerate(encoded)]

    def decoded(batch: list[torch.Tensor]) -> list[torch.Tensor]:
        return decode_jpeg(batch, mode=ImageReadMode.RGB, device=device)  # type: ignore[no-any-return]

    try:
        pixels = decoded(encoded) if encoded else []
    except torch.cuda.OutOfMemoryError:
        raise
    except RuntimeError:
        decoded([_tensor(0, _SOUND_JPEG)])  # raises if the device or its decoder is the cause
        for number, each in enumerate(encoded):
            try:
                decoded([each])
            except torch.cuda.OutOfMemoryError:
                raise
            except RuntimeError as error:
                raise _failure(number, error) from None
        raise
    if crop is None or keys is None:
        return pixels
    size = [crop.size] * 2 if isinstance(crop.size, int) else list(crop.size)
    if not pixels:
        return torch.empty((0, 3, *size), dtype=torch.uint8, device=device)
    kind, options, cropped = _KINDS[crop.sampling], (crop.scale, crop.ratio), []
    for row, (image, sides) in enumerate(zip(pixels, sizes, strict=True)):
        [box] = _core.draw_crop(kind, *sides, *options, keys[row : row + 1], seed).tolist()
        cropped.append(functional.resized_crop(image, *box, size, antialias=crop.antialias))
    return torch.stack(cropped)


def _size(number: int, image: torch.Tensor) -> tuple[int, int]:
    """Return height and width, after the checks that torchvision does not make."""
    try:
        height, width, _, _ = _core.jpeg_header(image.numpy())
    except ExampleParseError as error:
        raise _failure(number, error) from None
    return height, width


def _failure(number: int, error: Exception) -> ExampleParseError:
    text = f"image: cannot be decoded: {one_line(error)}"
    return ExampleParseError(text, kind="image").in_record(number)
