# SPDX-License-Identifier: Apache-2.0
"""Convert episodes of a TFDS dataset to a LeRobot dataset, in format v3."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ...arguments import check_int, check_types
from ...errors import ExampleParseError, FastrecError, warn_caller
from ...records.output_folder import resumable_folder
from ...records.targets import write_file
from ...storage.urls import local_path
from ..dataset import Dataset
from .layout import (
    CHUNK_FILES,
    DATA,
    EPISODES,
    INFO,
    STATS,
    TASKS,
    VERSION,
    VIDEO,
    arrow_array,
    parquet_bytes,
    place,
    tasks_table,
)
from .names import TASK
from .plan import MAX_FPS, Plan, text_of
from .statistics import Total, of_images, of_numbers, sampled
from .video import VideoWriter

__all__ = ["to_lerobot"]

_FORMAT = "fastrec.lerobot/1"
_IMAGE_BYTES, _VIDEO_BYTES = 100 << 20, 1 << 30  # records of the episodes in one file
_FRAMES = 64  # frames that are decoded together
Progress = Callable[[int, "int | None"], object]


def to_lerobot(
    dataset: Dataset,
    target: str | os.PathLike[str],
    *,
    fps: int,
    videos: bool = False,
    names: Mapping[str, str] | None = None,
    shard_bytes: int | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> str:
    """Convert episodes to a LeRobot dataset in format v3, which appears complete or not at all.

    Requires pyarrow. Images keep the bytes of their files. A feature that LeRobot cannot store,
    because its shape varies or its images are not RGB or grey with 8 bits, is left out with a
    warning.

    Parameters
    ----------
    dataset : Dataset
        The episodes of a split, or of a part of one.
    target : path
        The new directory.
    fps : int
        Steps per second, which RLDS does not state.
    videos : bool
        Whether to store images as MP4 videos (H.264) instead of in the Parquet files, which is
        smaller and loses details. Requires PyAV.
    names : mapping of str to str, optional
        LeRobot names of features of a step, such as ``{"observation/proprio":
        "observation.state"}``. By default ``/`` becomes ``.``, images of observations are
        ``observation.images.<name>``, ``reward`` is ``next.reward`` and ``is_last`` is
        ``next.done``. The first text whose name ends in ``instruction`` is ``task``.
    shard_bytes : int, optional
        Bytes of the records whose episodes share a file; 100 MiB by default, and 1 GiB with
        `videos`.
    resume : bool
        Whether to keep the finished files if the call fails. Another call with the same arguments
        then continues after them.
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of episodes.

    Returns
    -------
    str
        The directory.

    Raises
    ------
    FileExistsError
        If the directory exists.
    ExampleParseError, CorruptRecordError
        If an episode is damaged. The message names the file and the record.
    ValueError
        If a name is not valid, or unfinished work has other arguments.

    Examples
    --------
    >>> import os, tempfile, fastrec.tfds
    >>> from fastrec.tfds import features
    >>> step = {"observation": {"state": features.Tensor((2,))}, "action": features.Tensor((3,))}
    >>> episodes = [{"steps": [{"observation": {"state": [0, 1]}, "action": [0, 1, 2]}]}]
    >>> folder = tempfile.mkdtemp()
    >>> path = fastrec.tfds.write(
    ...     folder, "arm", {"train": episodes}, {"steps": features.Dataset(step)})
    >>> dataset = fastrec.tfds.load(path, split="train")
    >>> path = to_lerobot(dataset, os.path.join(folder, "lerobot"), fps=10)
    >>> sorted(os.listdir(path))
    ['data', 'meta']
    """
    check_types(to_lerobot, locals())
    check_int("fps", fps, 1, MAX_FPS)
    most = shard_bytes or (_VIDEO_BYTES if videos else _IMAGE_BYTES)
    check_int("shard_bytes", most, 1, 2**62)
    plan = Plan(dataset, names, videos)
    if not len(plan.dataset):
        raise ValueError(f"{dataset!r} has no episodes")
    if plan.left_out:
        names_left = ", ".join(map(ascii, plan.left_out))
        warn_caller(f"features without a form in LeRobot are left out: {names_left}")
    identity = {
        "format": _FORMAT,
        "files": [[os.path.basename(s.path), s.skip, s.take] for s in dataset.files],
        "options": [fps, videos, most, plan.names],
    }
    path = os.fsdecode(local_path(target))
    with resumable_folder(path, identity, resume=resume) as folder:
        plan.measure()
        _Job(folder, plan, fps, most, progress).run()
    return path


class _Job:
    """The files of a dataset. A data file is complete once its list of episodes exists."""

    def __init__(
        self, folder: str, plan: Plan, fps: int, most: int, progress: Progress | None
    ) -> None:
        self._folder, self._plan, self._fps, self._most = folder, plan, fps, most
        self._progress = progress
        self._features = plan.features(fps)
        self._tasks: dict[str, int] = {}
        self._totals: dict[str, Total] = {}
        self._files = self._episodes = self._steps = 0

    def run(self) -> None:
        """Write the files that do not exist yet."""
        self._restore()
        total = len(self._plan.dataset)
        while self._episodes < total:
            self._write_file(total)
        info = {
            "codebase_version": VERSION,
            "robot_type": None,
            "total_episodes": self._episodes,
            "total_frames": self._steps,
            "total_tasks": len(self._tasks),
            "chunks_size": CHUNK_FILES,
            "data_files_size_in_mb": _IMAGE_BYTES >> 20,
            "video_files_size_in_mb": 200,
            "fps": self._fps,
            "splits": {"train": f"0:{self._episodes}"},
            "data_path": DATA,
            "video_path": VIDEO if self._plan.videos and self._plan.cameras else None,
            "features": self._features,
        }
        stats = {name: total.result() for name, total in self._totals.items()}
        self._write(TASKS, parquet_bytes(tasks_table(list(self._tasks))))
        self._write(STATS, json.dumps(stats, indent=4).encode())
        self._write(INFO, json.dumps(info, indent=4, ensure_ascii=False).encode())

    def _path(self, template: str, **keys: str) -> str:
        return os.path.join(self._folder, place(template, self._files, **keys))

    def _write(self, template: str, data: Any, **keys: str) -> None:
        path = self._path(template, **keys)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_file(path, data, overwrite=True)

    def _restore(self) -> None:
        """Continue after the files of an earlier call."""
        import pyarrow.parquet

        while os.path.exists(path := self._path(EPISODES)):
            for row in pyarrow.parquet.read_table(path, partitioning=None).to_pylist():
                self._count(row)
            self._files += 1

    def _count(self, row: Mapping[str, Any]) -> None:
        """Add an episode, as its row describes it, to the totals."""
        for task in row["tasks"]:
            self._tasks.setdefault(task, len(self._tasks))
        for name in self._features:
            stats = {
                key.rpartition("/")[2]: value
                for key, value in row.items()
                if key.startswith(f"stats/{name}/")
            }
            if stats:
                self._totals.setdefault(name, Total()).add(stats)
        self._episodes += 1
        self._steps += row["length"]

    # --- one file -------------------------------------------------------------------------------

    def _write_file(self, total: int) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        data = io.BytesIO()
        rows: list[dict[str, Any]] = []
        size = 0
        with contextlib.ExitStack() as stack:
            videos = {}
            if self._plan.videos:
                for name, camera in self._plan.cameras.items():
                    assert camera.size is not None
                    videos[name] = VideoWriter(self._fps, *camera.size)
                    stack.callback(videos[name].abort)
            writer = None
            while self._episodes < total and size < self._most:
                number = self._episodes
                with self._located(number):
                    table, row = self._episode(number, videos)
                if writer is None:
                    writer = stack.enter_context(pq.ParquetWriter(data, table.schema))
                writer.write_table(table, row_group_size=len(table))
                size += table.nbytes + sum(row.pop("video_bytes", [0]))
                rows.append(row)
                self._count(row)
                if self._progress is not None:
                    self._progress(self._episodes, total)
            stack.pop_all()
            assert writer is not None
            writer.close()
            self._write(DATA, data.getbuffer())
            for name, video in videos.items():
                self._write(VIDEO, video.close(), video_key=name)
        columns = {key: [row[key] for row in rows] for key in rows[0]}
        self._write(EPISODES, parquet_bytes(pa.Table.from_pydict(columns)))
        self._files += 1

    @contextlib.contextmanager
    def _located(self, number: int) -> Iterator[None]:
        """Name the file and the record of an episode in errors."""
        try:
            yield
        except ExampleParseError as error:
            if error.path is not None:
                raise
            span, record = self._plan.dataset._place(number)
            raise error.in_record(record, span.path) from error

    def _episode(self, number: int, videos: Mapping[str, VideoWriter]) -> tuple[Any, Any]:
        """Return the table of the steps of an episode, and its row in the list of episodes."""
        import pyarrow as pa

        example = self._plan.dataset[number]
        columns = self._plan.columns(example)
        length = len(next(iter(columns.values())))
        if not length:
            raise FastrecError(f"episode {number} has no steps, and LeRobot requires one")
        tasks = [""] * length
        if TASK in columns:
            tasks = [text_of(each, TASK) for each in columns.pop(TASK)]
        known = dict(self._tasks)
        for task in tasks:
            known.setdefault(task, len(known))
        steps = np.arange(length)
        columns |= {
            "timestamp": (steps / self._fps).astype(np.float32),
            "frame_index": steps,
            "episode_index": np.full(length, number),
            "index": self._steps + steps,
            "task_index": np.array([known[task] for task in tasks]),
        }
        chunk, file = divmod(self._files, CHUNK_FILES)
        row: dict[str, Any] = {
            "episode_index": number,
            "tasks": list(dict.fromkeys(tasks)),
            "length": length,
            "data/chunk_index": chunk,
            "data/file_index": file,
            "dataset_from_index": self._steps,
            "dataset_to_index": self._steps + length,
        }
        arrays: dict[str, Any] = {}
        stats: dict[str, Any] = {}
        for name, values in columns.items():
            feature = self._features[name]
            if name in self._plan.cameras:
                stats[name] = self._images(name, values, videos.get(name), row)
                if name in videos:
                    continue
            elif feature["dtype"] != "string":
                stats[name] = of_numbers(values)
            else:
                values = [text_of(each, name) for each in values]
            arrays[name] = arrow_array(values, feature)
        for name, each in stats.items():
            row |= {f"stats/{name}/{key}": value for key, value in each.items()}
        row |= self._plan.about_of(example)
        row |= {"meta/episodes/chunk_index": chunk, "meta/episodes/file_index": file}
        return pa.table(arrays), row

    def _images(
        self, name: str, images: Any, video: VideoWriter | None, row: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the statistics of the images of an episode; add them to the video."""
        camera, images = self._plan.cameras[name], list(images)
        if video is not None:
            row.setdefault("video_bytes", []).append(sum(map(len, images)))
            chunk, file = divmod(self._files, CHUNK_FILES)
            row |= {
                f"videos/{name}/chunk_index": chunk,
                f"videos/{name}/file_index": file,
                f"videos/{name}/from_timestamp": video.frames / self._fps,
                f"videos/{name}/to_timestamp": (video.frames + len(images)) / self._fps,
            }
            for begin in range(0, len(images), _FRAMES):
                video.add(camera.decode(images[begin : begin + _FRAMES]))
        return of_images(camera.decode([images[at] for at in sampled(len(images))]))
