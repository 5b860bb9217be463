# SPDX-License-Identifier: Apache-2.0
"""torchvision's transforms in a DataLoader, of JPEGs that are in memory already."""

from __future__ import annotations

import io
import sys
from types import ModuleType
from typing import Any

import torch
from PIL import Image

try:
    from torchvision.transforms import v2
except RuntimeError:  # the wheel of PyPI is built for CUDA: its operators do not load beside a
    # PyTorch without it. The transforms are Python and need none of them.
    for name in [each for each in sys.modules if each.startswith("torchvision")]:
        del sys.modules[name]
    sys.modules["torchvision._meta_registrations"] = ModuleType("torchvision._meta_registrations")
    from torchvision.transforms import v2

import torchvision
from torch.utils.data import DataLoader

from .. import photos
from ..worker import Start, Task, Trial
from .converted import jpegs_of

__all__ = ["JOBS", "versions"]


def versions() -> dict[str, str]:
    return {"torch": torch.__version__, "torchvision": torchvision.__version__}


class _Images(torch.utils.data.Dataset):  # type: ignore[misc,type-arg,unused-ignore]
    """The reference recipe of training, by Pillow and tensors of uint8."""

    def __init__(self, files: list[bytes]) -> None:
        self._files = files
        self._transform = v2.Compose(
            [
                v2.RandomResizedCrop(photos.SIZE),
                v2.RandomHorizontalFlip(),
                v2.PILToTensor(),
                v2.ToDtype(torch.float32, scale=True),
                v2.Normalize(photos.MEAN, photos.STD),
            ]
        )

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> Any:
        with Image.open(io.BytesIO(self._files[index])) as image:
            return self._transform(image.convert("RGB"))


def _train_images(task: Task) -> Trial:
    loader = DataLoader(
        _Images(jpegs_of(task.path)),
        batch_size=task.case.batch,
        shuffle=True,
        num_workers=task.threads,
        persistent_workers=True,
    )

    def once() -> None:
        for _ in loader:
            pass

    return Trial(once)


JOBS: dict[str, dict[str, Start]] = {"train images": {"DataLoader": _train_images}}
