# SPDX-License-Identifier: Apache-2.0
"""Return steps in the form of the items of LeRobot's datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import fastrec

from ...arguments import check_int, is_number, shown
from ...columns import Bytes
from ...image import Normalize
from ..fetch import Fetch
from .names import TASK, names_of
from .plan import MAX_FPS

if TYPE_CHECKING:
    from ..steps import Offsets, Parts, StepPart

__all__ = ["Items", "chosen"]

_TOLERANCE_S = 1e-4  # distance of a time from a step, as LeRobot allows it


def chosen(
    parts: Sequence[StepPart],
    fps: int,
    delta_timestamps: Mapping[str, Sequence[float]],
    names: Mapping[str, str] | None,
) -> tuple[Parts, Offsets]:
    """Return features under their names in LeRobot, with the steps to return of each.

    Raises
    ------
    ValueError
        If a name is unknown, or a time is between two steps.
    """
    check_int("fps", fps, 1, MAX_FPS)
    of_steps = {"/".join(part.path): part for part in parts if not part.per_episode}
    named = names_of({name: part.column.value for name, part in of_steps.items()}, names)
    known = set(named.values())
    for name in delta_timestamps:
        if name not in known or name == TASK:
            raise ValueError(
                f"delta_timestamps must be of {sorted(known - {TASK})}, got {shown(name)}"
            )
    offsets = {name: _offsets(times, fps, name) for name, times in delta_timestamps.items()}
    found: Parts = []
    for path, new in named.items():
        part = of_steps[path]
        image = None if part.image is None else _as_item(part.image, path)
        found.append((replace(part, path=(new,), image=image), offsets.get(new)))
    for part in parts:
        if part.per_episode:
            found.append((replace(part, path=(".".join(part.path),)), None))
    return found, {f"{name}_is_pad": each for name, each in offsets.items()}


def _offsets(times: Sequence[float], fps: int, name: str) -> NDArray[np.int64]:
    """Return times in seconds as numbers of steps."""
    if not isinstance(times, (Sequence, np.ndarray)) or not len(times):
        raise ValueError(f"delta_timestamps of {name!a} must be a list of times, got {times!r}")
    found = []
    for time in times:
        if not is_number(time) or abs(time * fps) >= 2**31:
            raise ValueError(f"delta_timestamps of {name!a} must be seconds, got {time!r}")
        number = round(float(time) * fps)
        if abs(float(time) - number / fps) > _TOLERANCE_S:
            raise ValueError(
                f"delta_timestamps of {name!a} must be multiples of 1/{fps} s, got {time!r}"
            )
        found.append(number)
    return np.array(found, np.int64)


def _as_item(image: fastrec.ImageFeature, name: str) -> fastrec.ImageFeature:
    """Return the feature with samples from 0 to 1 and channels first."""
    if image.shape is None:
        raise ValueError(
            f"images {name!a} have several sizes: batches of LeRobot's form require "
            f"decode={{{name!a}: fastrec.ImageFeature(shape, fit='resize')}}"
        )
    transforms = list(image.transforms)
    if not any(isinstance(each, Normalize) for each in transforms):
        zero, one = (0.0,) * image.channels, (1.0,) * image.channels
        transforms.append(Normalize(zero, one))
    return replace(
        image, transforms=transforms, dtype="float32", channels_first=True, fast_dct=False
    )


class Items(Fetch):
    """A function that reads batches of steps in LeRobot's form."""

    def __init__(self, *arguments: Any, fps: int) -> None:
        super().__init__(*arguments)
        self.fps: int = fps

    def _batch(
        self, values: dict[tuple[str, ...], Any], rows: NDArray[Any], masks: dict[str, Any]
    ) -> dict[str, Any]:
        return {
            **{part.path[0]: _item(part, values[part.path]) for part, _ in self.parts},
            **{name: ~mask for name, mask in masks.items()},
            "timestamp": (rows["t"] / self.fps).astype(np.float32),
            "frame_index": rows["t"].astype(np.int64),
            "episode_index": rows["episode"].astype(np.int64),
            "index": rows["step"].astype(np.int64),
        }


def _item(part: StepPart, value: Any) -> Any:
    if isinstance(value, Bytes):
        return value if part.column.value.is_media else _texts(value.to_list(), part)
    # LeRobot stores a number and an array of one number in the same way.
    return value[..., 0] if part.column.value.shape == (1,) else value


def _texts(values: list[Any], part: StepPart) -> list[Any]:
    if values and isinstance(values[0], list):
        return [_texts(each, part) for each in values]
    try:
        return [each.decode() for each in values]
    except UnicodeDecodeError as error:
        raise part.column.error(f"must be UTF-8: {error}") from None
