# SPDX-License-Identifier: Apache-2.0
"""Names and types that the features of a step have in LeRobot, and back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ...arguments import shown
from ..features import Dataset as DatasetFeature
from ..features import FeaturesDict
from ..media import Image
from ..values import Leaf, Value

__all__ = ["NUMBERS", "TASK", "kind_of", "names_of", "path_of", "shape_of", "step_leaves"]

TASK = "task"
"""The name of the text that says what the robot is to do."""

NUMBERS = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}
"""The features with which LeRobot numbers steps, and their dtypes."""

_RENAMED = {"reward": "next.reward", "is_last": "next.done"}
_MAX_DIMENSIONS = 5  # of the arrays that LeRobot reads


def kind_of(value: Value) -> str | None:
    """Return the dtype of a feature in LeRobot: a number's, ``"string"`` or ``"image"``.

    None means that LeRobot cannot store it: its shape varies, or it is a sound or an image with
    other samples than 8-bit RGB or grey.
    """
    if isinstance(value, Image):
        plain = value.dtype == np.uint8 and len(value.shape) == 3 and value.channels in (1, 3)
        return "image" if plain else None
    if value.is_media:
        return None
    if value.dtype.kind == "O":
        return "string" if value.shape == () else None
    if None in value.shape or 0 in value.shape or len(value.shape) > _MAX_DIMENSIONS:
        return None
    return value.dtype.name


def shape_of(value: Value) -> tuple[Any, ...]:
    """Return the shape of a feature in LeRobot, where a single value has the shape ``(1,)``."""
    return value.shape or (1,)


def step_leaves(features: FeaturesDict, of: str) -> dict[str, Leaf]:
    """Return the features with one value per step, by their names within the step."""
    assert isinstance(features[of], DatasetFeature)
    return {
        "/".join(leaf.path[1:]): leaf
        for leaf in features[of].leaves((of,))
        if len(leaf.lengths) == 1
    }


def names_of(values: Mapping[str, Value], names: Mapping[str, str] | None) -> dict[str, str]:
    """Return the names in LeRobot of those features of a step that it has a form for.

    Parameters
    ----------
    values : mapping of str to Value
        The features of a step, by name, such as ``"observation/image"``.
    names : mapping of str to str, optional
        Names to use instead of the default ones.

    Raises
    ------
    ValueError
        If `names` has an unknown feature, or two features would have one name.
    """
    names = names or {}
    for name in names:
        if name not in values:
            raise ValueError(f"names must be of features of a step, got {shown(name)}")
        if kind_of(values[name]) is None:
            raise ValueError(f"names: LeRobot has no form for {values[name]!r} of {name!a}")
    found: dict[str, str] = {}
    taken: dict[str, str] = {}
    has_task = TASK in names.values()
    for name, value in values.items():
        kind = kind_of(value)
        if kind is None:
            continue
        if name in names:
            new = names[name]
        elif kind == "string" and not has_task and name.endswith("instruction"):
            new, has_task = TASK, True
        else:
            new = _default(name, kind)
        if new in NUMBERS or not new or "/" in new or (new == TASK and kind != "string"):
            raise ValueError(
                f"{new!a} cannot be the name of {name!a} in LeRobot; "
                f"choose another one: names={{{name!a}: ...}}"
            )
        if new in taken:
            raise ValueError(
                f"{taken[new]!a} and {name!a} would both be {new!a} in LeRobot; "
                f"choose another name: names={{{name!a}: ...}}"
            )
        taken[new] = name
        found[name] = new
    return found


def _default(name: str, kind: str) -> str:
    if kind == "image" and name.startswith("observation/"):
        name = f"observation.images.{name.removeprefix('observation/')}"
    return _RENAMED.get(name, name).replace("/", ".")


def path_of(name: str, names: Collection[str]) -> tuple[str, ...]:
    """Return the path of a feature of LeRobot in a step.

    A point separates the name of a dictionary from a name in it. If the part before a point is in
    `names`, the names of all features, it is a feature, and the point is part of the name.
    """
    for old, renamed in _RENAMED.items():
        if name == renamed:
            return (old,)
    name = name.replace("observation.images.", "observation.", 1)
    path: list[str] = []
    done = ""
    for part in name.split("."):
        if path and done in names:
            path[-1] += f".{part}"
        else:
            path.append(part)
        done = f"{done}.{part}" if done else part
    return tuple(path)
