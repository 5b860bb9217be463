# SPDX-License-Identifier: Apache-2.0
"""Choose what to read of a dataset of episodes, and describe it as LeRobot does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arguments import check_int, check_types
from ...columns import Arrays
from ...errors import ExampleParseError, printable
from ..columns import Column, Structure
from ..dataset import Dataset
from ..images import image_feature
from ..steps import steps_name
from ..values import Value
from .layout import OF_RLDS
from .names import NUMBERS, TASK, kind_of, names_of, shape_of, step_leaves
from .video import CODEC, PIXELS

__all__ = ["MAX_FPS", "Camera", "Plan", "lerobot_features", "text_of"]

MAX_FPS = 100_000


class Camera:
    """Images of one feature, which must all have the size of the first image.

    Parameters
    ----------
    column : Column
        The feature.
    channels : {1, 3}
        The channels of decoded images.
    """

    def __init__(self, column: Column, channels: int) -> None:
        self.column = column
        self.channels = channels
        self.size: tuple[int, int] | None = None

    def decode(self, images: list[bytes]) -> NDArray[np.uint8]:
        """Decode images to one array.

        Raises
        ------
        ExampleParseError
            If an image is damaged, or of another size than the first one.
        """
        name = f"feature {printable(self.column.leaf.name)!a}"
        found = image_feature(None, self.channels).decode(images, name)
        assert isinstance(found, Arrays)
        shapes = {tuple(shape) for shape in found.shapes.tolist()}
        if self.size is None:
            self.size = min(shapes)[:2]
        if others := shapes - {(*self.size, self.channels)}:
            height, width = self.size
            got = min(others)
            raise self.column.error(
                f"all images must be {height}x{width} as the first one, got {got[0]}x{got[1]}"
            )
        return found.values.reshape(-1, *self.size, self.channels)


class Plan:
    """The features of a dataset to convert, and their names in LeRobot."""

    def __init__(self, dataset: Dataset, names: Mapping[str, str] | None, videos: bool) -> None:
        self.of: str = steps_name(dataset)
        leaves = step_leaves(dataset.features, self.of)
        present = dataset._structure.columns.keys()
        leaves = {name: leaf for name, leaf in leaves.items() if leaf.path in present}
        values = {name: leaf.value for name, leaf in leaves.items()}
        self.names: dict[str, str] = names_of(values, names)
        self.left_out: list[str] = [name for name in leaves if name not in self.names]
        if not self.names:
            raise ValueError(f"{dataset!r} has no feature of a step that LeRobot has a form for")
        about = {
            leaf.name: leaf.value
            for leaf in dataset.features.leaves()
            if leaf.path in present and not leaf.lengths and not leaf.value.shape
        }
        self.about: list[str] = [name for name, value in about.items() if kind_of(value)]
        wanted = [*(leaves[name].name for name in self.names), *self.about]
        self.structure: Structure = Structure(dataset.features, wanted, decode=False)
        self.dataset: Dataset = type(dataset)(
            dataset.info, dataset.split, dataset.files, self.structure
        )
        self.kinds: dict[str, str | None] = {
            new: kind_of(values[name]) for name, new in self.names.items()
        }
        self.values: dict[str, Value] = {new: values[name] for name, new in self.names.items()}
        self.videos = videos
        self.cameras: dict[str, Camera] = {}
        for name, new in self.names.items():
            if self.kinds[new] == "image":
                channels = 3 if videos else values[name].shape[-1] or 3
                column = self.structure.columns[leaves[name].path]
                self.cameras[new] = Camera(column, channels)

    def columns(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of the steps of an episode, by their names in LeRobot."""
        steps = example[self.of].columns()
        found = {}
        for name, new in self.names.items():
            value = steps
            for part in name.split("/"):
                value = value[part]
            found[new] = value
        return found

    def about_of(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of an episode, by their names."""
        found = {}
        for name in self.about:
            value: Any = example
            for part in name.split("/"):
                value = value[part]
            found[f"{OF_RLDS}{name}"] = text_of(value, name) if isinstance(value, bytes) else (
                value.item()
            )  # fmt: skip
        return found

    def features(self, fps: int) -> dict[str, Any]:
        """Return the description of the features as LeRobot has it."""
        found: dict[str, Any] = {}
        for name, value in self.values.items():
            if name == TASK:
                continue
            if (camera := self.cameras.get(name)) is None:
                shape = list(shape_of(value))
                found[name] = {"dtype": self.kinds[name], "shape": shape, "names": None}
                continue
            height, width = camera.size or value.shape[:2]
            found[name] = {
                "dtype": "video" if self.videos else "image",
                "shape": [height, width, camera.channels],
                "names": ["height", "width", "channels"],
            }
            if self.videos:
                found[name]["info"] = {
                    "video.height": height,
                    "video.width": width,
                    "video.codec": CODEC,
                    "video.pix_fmt": PIXELS,
                    "video.is_depth_map": False,
                    "video.fps": fps,
                    "video.channels": camera.channels,
                    "has_audio": False,
                }
        for name, dtype in NUMBERS.items():
            found[name] = {"dtype": dtype, "shape": [1], "names": None}
        return found

    def measure(self) -> None:
        """Find out the sizes of images from the first episode."""
        if any(camera.size is None for camera in self.cameras.values()):
            columns = self.columns(self.dataset[0])
            for name, camera in self.cameras.items():
                camera.decode(list(columns[name][:1]))


def text_of(value: bytes, name: str) -> str:
    """Return a text, or raise an error that names its feature."""
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise ExampleParseError(
            f"must be UTF-8: {error}", kind="schema", feature=printable(name)
        ) from None


def lerobot_features(
    dataset: Dataset, *, fps: int, names: Mapping[str, str] | None = None
) -> dict[str, dict[str, Any]]:
    """Return the features of steps as LeRobot describes them, for the configuration of a policy.

    Parameters
    ----------
    dataset : Dataset
        A dataset of episodes.
    fps : int
        Steps per second.
    names : mapping of str to str, optional
        As for :func:`to_lerobot`.

    Returns
    -------
    dict of str to dict
        The entry ``features`` of LeRobot's ``info.json``: ``dtype``, ``shape`` and ``names`` of
        each feature.

    Examples
    --------
    >>> import tempfile, fastrec.tfds
    >>> from fastrec.tfds import features
    >>> step = {"observation": {"state": features.Tensor((2,))}, "action": features.Tensor((3,))}
    >>> episodes = [{"steps": [{"observation": {"state": [0, 1]}, "action": [0, 1, 2]}]}]
    >>> path = fastrec.tfds.write(
    ...     tempfile.mkdtemp(), "arm", {"train": episodes}, {"steps": features.Dataset(step)})
    >>> found = fastrec.tfds.lerobot_features(fastrec.tfds.load(path, split="train"), fps=10)
    >>> found["observation.state"]
    {'dtype': 'float32', 'shape': [2], 'names': None}
    """
    check_types(lerobot_features, locals())
    check_int("fps", fps, 1, MAX_FPS)
    plan = Plan(dataset, names, videos=False)
    plan.measure()
    return plan.features(fps)
