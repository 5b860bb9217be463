# SPDX-License-Identifier: Apache-2.0
"""Describe the processing of an image from its bytes to a batch.

Transforms are data: :class:`ImageFeature` converts a sequence of them to one pass of the native
core. Random transforms depend only on the seed, the epoch and the number of the record. Each kind
draws from a separate stream, so that adding one does not change the draws of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Union

from ..arguments import check_fields

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Flip",
    "Normalize",
    "RandomCrop",
    "RandomResizedCrop",
    "Resize",
    "Transform",
    "lower",
]

_SIDE_MAX = 65536  # pixels of the longest side of an output image

Interpolation = Literal[
    "nearest", "bilinear", "bicubic", "bicubic_torch", "area",
    "lanczos3", "lanczos5", "gaussian", "mitchellcubic",
]  # fmt: skip
Size = Union[int, tuple[int, int]]  # noqa: UP007
Range = Union[float, tuple[float, float]]  # noqa: UP007


def _pair(size: Any, name: str) -> tuple[int, int]:
    height, width = (size, size) if isinstance(size, int) else size
    if not (0 < height <= _SIDE_MAX and 0 < width <= _SIDE_MAX):
        raise ValueError(f"{name} must be 1 to {_SIDE_MAX} or two such numbers, got {size!r}")
    return int(height), int(width)


def _ascending(values: Any, name: str, low: float, high: float) -> tuple[float, float]:
    first, second = (float(value) for value in values)
    if not low <= first <= second <= high:
        raise ValueError(
            f"{name} must be two ascending numbers from {low:g} to {high:g}, got {values!r}"
        )
    return first, second


@dataclass(frozen=True)
class Resize:
    """Resize the whole image.

    Parameters
    ----------
    size : int or (height, width)
        An int is the length of the shorter side; the aspect ratio is kept, and a
        :class:`CenterCrop` must follow.
    interpolation : str
        ``"bilinear"``, ``"bicubic"``, ``"nearest"``, ``"area"``, ``"lanczos3"``, ``"lanczos5"``,
        ``"gaussian"``, ``"mitchellcubic"`` by TensorFlow's formulas; ``"bicubic_torch"`` is
        PyTorch's bicubic without antialias.
    antialias : bool
        Whether to widen the kernel for reductions, as Pillow and torchvision do. False is the
        default of ``tf.image.resize``.
    """

    size: Size
    interpolation: Interpolation = "bilinear"
    antialias: bool = True

    def __post_init__(self) -> None:
        check_fields(self)
        _pair(self.size, "size")


@dataclass(frozen=True)
class CenterCrop:
    """Crop the central region, padding small images with zeros, as torchvision does."""

    size: Size

    def __post_init__(self) -> None:
        check_fields(self)
        _pair(self.size, "size")


@dataclass(frozen=True)
class RandomCrop:
    """Crop a region of this size at a random position. A smaller image is an error."""

    size: Size

    def __post_init__(self) -> None:
        check_fields(self)
        _pair(self.size, "size")


@dataclass(frozen=True)
class RandomResizedCrop:
    """Crop a random region and resize it: the training crop of ImageNet.

    Parameters
    ----------
    size : int or (height, width)
        The size of the result.
    scale : (float, float)
        The range of the region's area, relative to the image's area.
    ratio : (float, float)
        The range of width / height of the region.
    interpolation, antialias :
        As for :class:`Resize`.
    sampling : {"torchvision", "tensorflow"}
        The distribution of regions. ``"torchvision"`` follows ``RandomResizedCrop.get_params``:
        area and logarithm of the ratio are drawn uniformly, in up to ten attempts, then the largest
        central region is used. ``"tensorflow"`` follows ``tf.image.sample_distorted_bounding_box``
        for the whole image: ratio and then height are drawn uniformly, in up to a hundred attempts,
        then the whole image is used.
    """

    size: Size
    scale: tuple[float, float] = (0.08, 1.0)
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    interpolation: Interpolation = "bilinear"
    antialias: bool = True
    sampling: Literal["torchvision", "tensorflow"] = "torchvision"

    def __post_init__(self) -> None:
        check_fields(self)
        _pair(self.size, "size")
        _ascending(self.scale, "scale", 1e-9, 1)
        _ascending(self.ratio, "ratio", 1e-6, 1e6)
        if self.sampling not in ("torchvision", "tensorflow"):
            raise ValueError(
                f"sampling must be 'torchvision' or 'tensorflow', got {self.sampling!r}"
            )


@dataclass(frozen=True)
class Flip:
    """Mirror a fraction `p` of the images, left to right."""

    p: float = 0.5

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 <= self.p <= 1:
            raise ValueError(f"p must be 0 to 1, got {self.p!r}")


@dataclass(frozen=True)
class ColorJitter:
    """Change brightness, contrast, saturation and hue, in a random order, as torchvision does.

    Parameters
    ----------
    brightness, contrast, saturation : float or (float, float)
        The range of the factors; a number x means (max(0, 1 - x), 1 + x).
    hue : float or (float, float)
        The range of rotations of the colour circle, in turns from -0.5 to 0.5; a number x means
        (-x, x).
    """

    brightness: Range = 0.0
    contrast: Range = 0.0
    saturation: Range = 0.0
    hue: Range = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        self.ranges()

    def ranges(self) -> tuple[tuple[float, float], ...]:
        """The four ranges, lowest and highest."""
        names = ("brightness", "contrast", "saturation")
        found = [self._range(name, getattr(self, name), 1, 0, 1e6) for name in names]
        return (*found, self._range("hue", self.hue, 0, -0.5, 0.5))

    @staticmethod
    def _range(name: str, value: Any, middle: float, low: float, high: float) -> Any:
        if isinstance(value, (int, float)):
            if value < 0:
                raise ValueError(f"{name} must be at least 0 or a range, got {value!r}")
            value = (max(low, middle - value), middle + value)
        return _ascending(value, name, low, high)


@dataclass(frozen=True)
class Normalize:
    """Subtract the mean and divide by the standard deviation of each channel.

    Both are of values from 0 to 1, as torchvision has them: ``(x / 255 - mean) / std``.

    Examples
    --------
    >>> Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)).std[0]
    0.229
    """

    mean: Sequence[float]
    std: Sequence[float]

    def __post_init__(self) -> None:
        check_fields(self)
        if len(self.mean) != len(self.std) or not all(each > 0 for each in self.std):
            raise ValueError(
                f"mean and std must be one number a channel, std positive, got {self!r}"
            )
        if any(each > 2 for each in self.mean):
            raise ValueError(
                f"Normalize works on x / 255, so mean must be about 0 to 1, got {self.mean!r}; "
                f"divide mean and std by 255"
            )
        object.__setattr__(self, "mean", tuple(float(each) for each in self.mean))
        object.__setattr__(self, "std", tuple(float(each) for each in self.std))


Transform = Union[  # noqa: UP007
    Resize, CenterCrop, RandomCrop, RandomResizedCrop, Flip, ColorJitter, Normalize
]

_GEOMETRY = (Resize, CenterCrop, RandomCrop, RandomResizedCrop)


def _geometry(steps: Sequence[Any]) -> dict[str, Any]:
    """Return the fields of the native options that select the region."""
    first, then = steps[0], steps[1:]
    sampled = isinstance(first, (Resize, RandomResizedCrop))
    fields: dict[str, Any] = {
        "size": _pair(first.size, "size"),
        "shorter": 0,
        "interpolation": first.interpolation if sampled else "bilinear",
        "antialias": first.antialias if sampled else True,
    }
    if isinstance(first, RandomResizedCrop):
        kind = "resized" if first.sampling == "torchvision" else "distorted"
        fields |= {"crop": kind, "scale": first.scale, "ratio": first.ratio}
    elif isinstance(first, CenterCrop):
        fields["crop"] = "center"
    elif isinstance(first, RandomCrop):
        fields["crop"] = "random"
    elif not isinstance(first.size, int):
        fields["crop"] = "whole"
    else:
        if not then or not isinstance(then[0], CenterCrop):
            raise ValueError(
                f"Resize({first.size}) keeps the aspect ratio: CenterCrop must follow, "
                "or the size must be (height, width)"
            )
        fields |= {"crop": "center", "size": _pair(then[0].size, "size"), "shorter": first.size}
        if max(fields["size"]) > first.size:
            raise ValueError(f"CenterCrop({then[0].size!r}) must be within Resize({first.size})")
        then = then[1:]
    if then:
        raise ValueError(f"{type(then[0]).__name__} cannot follow {type(first).__name__}")
    return fields


def lower(transforms: Sequence[Any], channels: int) -> dict[str, Any]:
    """Return the fields of native options for the transforms.

    Raises
    ------
    ValueError
        If transforms are not in the order crop and size, Flip, ColorJitter, Normalize, or repeat.
    """
    order = (*_GEOMETRY, Flip, ColorJitter, Normalize)
    fields: dict[str, Any] = {"flip": 0.0, "jitter": None, "normalize": None}
    for each in transforms:
        if not isinstance(each, order):
            raise TypeError(f"transforms must be of fastrec.image, got {type(each).__name__}")
    ranks = [0 if isinstance(each, _GEOMETRY) else order.index(type(each)) for each in transforms]
    later = [rank for rank in ranks if rank]
    if ranks != sorted(ranks) or len(later) != len(set(later)):
        raise ValueError(
            "transforms must be in this order, each once: Resize, CenterCrop, RandomCrop or "
            "RandomResizedCrop; Flip; ColorJitter; Normalize"
        )
    geometry = [each for each in transforms if isinstance(each, _GEOMETRY)]
    if geometry:
        fields |= _geometry(geometry)
    for each in transforms:
        if isinstance(each, Flip):
            fields["flip"] = each.p
        elif isinstance(each, ColorJitter):
            if channels != 3:
                raise ValueError("ColorJitter requires channels=3")
            fields["jitter"] = each.ranges()
        elif isinstance(each, Normalize):
            if len(each.mean) != channels:
                raise ValueError(f"Normalize must have {channels} numbers, got {len(each.mean)}")
            fields["normalize"] = [
                (1 / (255 * std), -mean / std)
                for mean, std in zip(each.mean, each.std, strict=True)
            ]
    return fields
