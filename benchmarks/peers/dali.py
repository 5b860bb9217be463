# SPDX-License-Identifier: Apache-2.0
"""DALI's operators on the processor: its reader of TFRecords, and the fused random crop."""

from __future__ import annotations

from typing import Any

import nvidia.dali
from nvidia.dali import fn, pipeline_def, tfrecord, types

from .. import photos
from ..worker import Start, Task, Trial
from .converted import spans_of

__all__ = ["JOBS", "versions"]


def versions() -> dict[str, str]:
    return {"nvidia-dali": nvidia.dali.__version__}


@pipeline_def  # type: ignore[untyped-decorator,unused-ignore]
def _pipeline(path: str, antialias: bool) -> Any:
    found = fn.readers.tfrecord(
        path=[path],
        index_path=[f"{path}.dali"],
        features={"image/encoded": tfrecord.FixedLenFeature((), tfrecord.string, "")},
        random_shuffle=True,
        initial_fill=1024,
    )
    image = fn.decoders.image_random_crop(
        found["image/encoded"], random_area=(0.08, 1.0), random_aspect_ratio=(3 / 4, 4 / 3)
    )
    image = fn.resize(image, size=(photos.SIZE, photos.SIZE), antialias=antialias)
    return fn.crop_mirror_normalize(
        image,
        mirror=fn.random.coin_flip(),
        mean=[255 * each for each in photos.MEAN],
        std=[255 * each for each in photos.STD],
        output_layout="HWC",
        dtype=types.FLOAT,
    )


def _train_images(antialias: bool) -> Start:
    def start(task: Task) -> Trial:
        with open(f"{task.path}.dali", "w", encoding="ascii") as index:
            index.writelines(f"{at} {size}\n" for at, size in spans_of(task.path))
        pipeline = _pipeline(
            task.path,
            antialias,
            batch_size=task.case.batch,
            num_threads=task.threads,
            device_id=None,
            seed=1,
        )
        pipeline.build()

        def once() -> None:
            for _ in range(-(-task.case.records // task.case.batch)):
                pipeline.run()

        return Trial(once)

    return start


JOBS: dict[str, dict[str, Start]] = {
    "train images": {"antialias": _train_images(True), "no antialias": _train_images(False)}
}
