# SPDX-License-Identifier: Apache-2.0
"""Convert a LeRobot dataset in format v3 to a TFDS dataset of episodes."""

from __future__ import annotations

import contextlib
import glob
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

import fastrec

from ...arguments import check_types
from ...errors import one_line
from ...records.framing import FRAME_OVERHEAD
from ...records.output_folder import resumable_folder
from ...storage.urls import local_path
from .. import writing
from ..documents import Document, MetadataError, read_document
from ..features import Dataset, FeaturesDict, Image, Tensor, Text
from ..info import DEFAULT_TEMPLATE, shard_name
from ..values import Connector, dtype_of
from .layout import DATA, INFO, OF_RLDS, TASKS, VIDEO
from .names import NUMBERS, TASK, path_of
from .plan import MAX_FPS
from .video import frames_of

__all__ = ["from_lerobot"]

_FORMAT = "fastrec.rlds/1"
_SPLIT = "train"
_ROWS = 256  # rows that are read together
_MAX_EPISODES = 1 << 28
_JPEG = b"\xff\xd8\xff"
# The features of a step that RLDS requires, and whether they are set in a step of an episode.
_FLAGS: dict[str, Callable[[int, int], bool]] = {
    "is_first": lambda step, length: step == 0,
    "is_last": lambda step, length: step == length - 1,
    "is_terminal": lambda step, length: step == length - 1,
}
Progress = Callable[[int, "int | None"], object]


def from_lerobot(
    source: str | os.PathLike[str],
    directory: str | os.PathLike[str],
    name: str,
    *,
    version: str = "1.0.0",
    task: str = "language_instruction",
    encoding_format: Literal["png", "jpeg"] = "png",
    resume: bool = False,
    progress: Progress | None = None,
) -> str:
    """Convert a LeRobot dataset in format v3 to a dataset that :func:`load` reads.

    Requires pyarrow, and PyAV for videos. Images keep the bytes of their files. The only split is
    ``"train"``, and each data file becomes one record file.

    Parameters
    ----------
    source : path
        The directory that holds ``meta/info.json``.
    directory, name, version
        As for :func:`write`.
    task : str
        The name of the text in a step that says what the robot is to do.
    encoding_format : {"png", "jpeg"}
        The format of the images that are made from the frames of videos.
    resume : bool
        Whether to keep the finished files if the call fails. Another call with the same arguments
        then continues after them.
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of episodes.

    Returns
    -------
    str
        The directory of the version.

    Raises
    ------
    FileExistsError
        If the directory of this version exists.
    MetadataError
        If a file of the dataset is damaged, or of another format. The message names the file.
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
    >>> path = fastrec.tfds.to_lerobot(dataset, os.path.join(folder, "lerobot"), fps=10)
    >>> path = from_lerobot(path, folder, "back")
    >>> next(iter(fastrec.tfds.load(path, split="train")[0]["steps"]))["action"]
    array([0., 1., 2.], dtype=float32)
    """
    check_types(from_lerobot, locals())
    folder = os.fsdecode(local_path(source))
    reader = _Reader(folder, task, encoding_format)
    target = writing.version_folder(directory, name, "", version)
    plan = {
        "format": _FORMAT,
        "files": [[file, len(episodes)] for file, episodes in reader.files],
        "options": [os.path.abspath(folder), task, encoding_format],
    }
    whole = Document(None, target)
    names = [
        shard_name(whole, DEFAULT_TEMPLATE, name, _SPLIT, number, len(reader.files))
        for number in range(len(reader.files))
    ]
    lengths = [len(episodes) for _, episodes in reader.files]
    with resumable_folder(target, plan, resume=resume) as unfinished:
        size = done = 0
        for shard, (file, episodes) in zip(names, reader.files, strict=True):
            path = os.path.join(unfinished, shard)
            if not os.path.exists(path):
                read = reader.episodes(file, episodes)
                with fastrec.Writer(path) as writer:
                    records = writing.encoded(_SPLIT, read, reader.features, done)
                    for number, record in enumerate(records, done + 1):
                        writer.write(record)
                        if progress is not None:
                            progress(number, reader.total)
            done += len(episodes)
            size += os.path.getsize(path) - FRAME_OVERHEAD * len(episodes)
        split = writing.split_info(_SPLIT, lengths, size)
        info = {"name": name, "version": version, "fileFormat": "tfrecord", "splits": [split]}
        writing.save(unfinished, info, reader.features)
    return target


class _Reader:
    """The metadata of a dataset, and its episodes as nested values.

    Attributes
    ----------
    features : FeaturesDict
        The connectors of the records.
    files : list of ((int, int), list of dict)
        The numbers of the data files, each with the rows of its episodes.
    total : int
        The number of episodes.
    """

    def __init__(self, folder: str, task: str, encoding_format: str) -> None:
        self._folder = folder
        self._task = task
        info = read_document(os.path.join(folder, INFO))
        if not info.text("codebase_version").startswith("v3."):
            found = info.text("codebase_version")
            raise info.error(f"codebase_version must be 'v3.0', got {found!a}")
        if info.text("data_path") != DATA or info.text("video_path", VIDEO) != VIDEO:
            raise info.error(f"data_path must be {DATA!a}, and video_path {VIDEO!a}")
        self._fps = info.integer_of("fps", 0, 1, MAX_FPS)
        described = info.get("features")
        if described is None or not self._fps:
            raise info.error("must have features and fps")
        self._described = dict(described.items())
        for key in self._described:
            if not key or "/" in key or "\\" in key or "\0" in key:
                raise described.error(f"the name of a feature must have no '/', got {key!a}")
        if TASK in self._described:
            raise described.error("must have no feature 'task', which tasks.parquet has")
        self._encoding = encoding_format
        self._tasks = self._read_tasks()
        rows = self._read_episodes()
        self.total: int = len(rows)
        self.files: list[tuple[tuple[int, int], list[dict[str, Any]]]] = [
            (file, list(group))
            for file, group in itertools.groupby(rows, key=lambda row: row["data"])
        ]
        if len({file for file, _ in self.files}) != len(self.files) or not rows:
            raise info.error("must be of episodes in the order of their files, and not empty")
        self._deep = self._deep_images()
        self.features: FeaturesDict = self._connectors(rows[0])

    # --- metadata -------------------------------------------------------------------------------

    def _read_tasks(self) -> list[str]:
        path = os.path.join(self._folder, TASKS)
        with _parquet(path) as file:
            table = file.read()
        names = [name for name in table.column_names if name != "task_index"]
        if "task_index" not in table.column_names or len(names) != 1:
            raise Document(None, path).error("must have the columns task_index and task")
        numbers, texts = (table[name].to_pylist() for name in ("task_index", names[0]))
        known = dict(zip(numbers, texts, strict=True))
        if sorted(map(repr, known)) != sorted(map(repr, range(len(numbers)))) or not all(
            isinstance(text, str) for text in texts
        ):
            raise Document(None, path).error("must number its texts from 0")
        return [known[number] for number in range(len(known))]

    def _read_episodes(self) -> list[dict[str, Any]]:
        pattern = os.path.join(glob.escape(self._folder), "meta", "episodes", "*", "*.parquet")
        paths = sorted(glob.glob(pattern))
        if not paths:
            raise FileNotFoundError(2, "the dataset has no list of episodes", pattern)
        rows: list[dict[str, Any]] = []
        for path in paths:
            with _parquet(path) as file:
                names = [each for each in file.schema_arrow.names if not each.startswith("stats/")]
                found = file.read(columns=names).to_pylist()
            for row in found:
                rows.append(self._checked(path, row, len(rows)))
        return rows

    def _checked(self, path: str, row: dict[str, Any], number: int) -> dict[str, Any]:
        """Return an episode after checking its numbers."""
        where = Document(row, path)
        if row.get("episode_index") != number or number > _MAX_EPISODES:
            raise where.error(f"episode_index must be {number}, got {row.get('episode_index')!r}")
        row["length"] = where.integer_of("length", 0, 0)
        if not row["length"]:
            raise where.error("length must be at least 1")
        keys = ["data", *(f"videos/{name}" for name in self._of_kind("video"))]
        for key in keys:
            chunk = where.integer_of(f"{key}/chunk_index", -1, 0, 1 << 30)
            file = where.integer_of(f"{key}/file_index", -1, 0, 1 << 30)
            row[key] = (chunk, file)
            if chunk < 0 or file < 0:
                raise where.error(f"must have {key}/chunk_index and {key}/file_index")
        for key in keys[1:]:
            begin = row.get(f"{key}/from_timestamp")
            if not isinstance(begin, float) or not 0 <= begin < 1e12:
                raise where.error(f"{key}/from_timestamp must be seconds, got {begin!r}")
        return row

    def _of_kind(self, kind: str) -> list[str]:
        return [name for name, each in self._described.items() if each.text("dtype") == kind]

    def _deep_images(self) -> set[str]:
        """Return the features whose first image has samples of 16 bits, as maps of depth have.

        LeRobot describes all images alike.
        """
        names = self._of_kind("image")
        chunk, file = self.files[0][0]
        path = os.path.join(self._folder, DATA.format(chunk_index=chunk, file_index=file))
        if not names:
            return set()
        where = Document(None, path)
        with _parquet(path) as data:
            if missing := [name for name in names if name not in data.schema_arrow.names]:
                raise where.error(f"must have a column {missing[0]!a}")
            first = next(data.iter_batches(1, columns=names), None)
        rows = [] if first is None else first.to_pylist()
        return {name for row in rows for name in names if _is_deep(_image(where, name, row[name]))}

    def _connectors(self, first: Mapping[str, Any]) -> FeaturesDict:
        names = [name for name in self._described if name not in NUMBERS]
        step: dict[str, Any] = {}
        self._paths: dict[str, tuple[str, ...]] = {}
        for name in names:
            self._paths[name] = path_of(name, names)
            _put(step, self._paths[name], self._connector(name))
        if self._task in step:
            raise ValueError(f"task must not be the name of a feature, got {self._task!a}")
        step[self._task] = Text()
        self._flags = [flag for flag in _FLAGS if flag not in step]
        step |= dict.fromkeys(self._flags, Tensor((), "bool"))
        found: dict[str, Any] = {"steps": Dataset(FeaturesDict(_as_features(step)))}
        self._about = {
            key: tuple(key.removeprefix(OF_RLDS).split("/"))
            for key in first
            if key.startswith(OF_RLDS)
        }
        kinds = {bool: "bool", int: "int64", float: "float64", str: "string"}
        about: dict[str, Any] = {}
        for key, path in self._about.items():
            kind = kinds.get(type(first[key]))
            if kind is None or path[0] == "steps":
                raise MetadataError(f"column {key!a} of episodes must be of numbers or texts")
            _put(about, path, Text() if kind == "string" else _array((), np.dtype(kind)))
        return FeaturesDict(found | _as_features(about))

    def _connector(self, name: str) -> Connector:
        described = self._described[name]
        kind = described.text("dtype")
        shape = tuple(each.integer(1) for each in described.list_of("shape"))
        if kind in ("image", "video"):
            names = [each.value for each in described.list_of("names")]
            if len(shape) != 3:
                raise described.error(f"shape of an image must have 3 sizes, got {shape}")
            if names[:1] in (["channels"], ["channel"]):
                shape = (*shape[1:], shape[0])
            if shape[2] not in (1, 3):
                raise described.error(f"an image must have 1 or 3 channels, got {shape[2]}")
            samples = np.uint16 if name in self._deep else np.uint8
            return Image(shape, samples, self._encoding if kind == "video" else "")
        if kind == "string":
            return Text()
        try:
            dtype = dtype_of(kind)
        except (TypeError, ValueError) as error:
            raise described.error(f"dtype: {one_line(error)}") from None
        if dtype.kind == "O":
            raise described.error(f"dtype must be a number's, got {kind!a}")
        return _array(() if shape == (1,) else shape, dtype)

    # --- episodes -------------------------------------------------------------------------------

    def episodes(
        self, file: tuple[int, int], rows: Sequence[Mapping[str, Any]]
    ) -> Iterator[dict[str, Any]]:
        """Yield the episodes of one data file as nested values."""
        path = os.path.join(self._folder, DATA.format(chunk_index=file[0], file_index=file[1]))
        tables = self._slices(path, [row["length"] for row in rows])
        for row, table in zip(rows, tables, strict=True):
            where = Document(None, path)
            length = row["length"]
            numbers = {name: self._values(where, table, name, (length,)) for name in NUMBERS}
            if (numbers["episode_index"] != row["episode_index"]).any() or (
                numbers["frame_index"] != np.arange(length)
            ).any():
                raise where.error(
                    f"must have the {length} steps of episode {row['episode_index']} in order"
                )
            columns: dict[str, Any] = {}
            for name, step_path in self._paths.items():
                columns[name] = (step_path, self._column(where, table, name, row))
            known = numbers["task_index"]
            if known.min() < 0 or known.max() >= len(self._tasks):
                raise where.error(f"task_index must be below {len(self._tasks)}")
            yield self._nested(row, columns, known)

    def _slices(self, path: str, lengths: Sequence[int]) -> Iterator[Any]:
        """Yield tables of the given lengths from the rows of a file."""
        import pyarrow as pa

        where = Document(None, path)
        names = [*NUMBERS, *(n for n in self._paths if self._described[n].text("dtype") != "video")]
        with _parquet(path) as file:
            missing = [name for name in names if name not in file.schema_arrow.names]
            if missing:
                raise where.error(f"must have a column {missing[0]!a}")
            batches = file.iter_batches(_ROWS, columns=names)
            held = pa.table({})
            for length in lengths:
                while held.num_rows < length:
                    batch = next(batches, None)
                    if batch is None:
                        raise where.error(f"must have {sum(lengths)} rows, got fewer")
                    new = pa.Table.from_batches([batch])
                    held = pa.concat_tables([held, new]) if held.num_rows else new
                yield held.slice(0, length)
                held = held.slice(length)
            if held.num_rows or next(batches, None) is not None:
                raise where.error(f"must have {sum(lengths)} rows, got more")

    def _column(self, where: Document, table: Any, name: str, row: Mapping[str, Any]) -> Any:
        """Return the values of a feature in the steps of an episode."""
        described = self._described[name]
        kind = described.text("dtype")
        if kind == "video":
            chunk, file = row[f"videos/{name}"]
            video = VIDEO.format(video_key=name, chunk_index=chunk, file_index=file)
            begin = row[f"videos/{name}/from_timestamp"]
            frames = frames_of(os.path.join(self._folder, video), begin, row["length"], self._fps)
            image = self._connector(name)
            return [image.encode(frame) for frame in frames]  # type: ignore[attr-defined]
        if kind == "image":
            images = [_image(where, name, each) for each in table[name].to_pylist()]
            if len({name in self._deep, *map(_is_deep, images)}) > 1:
                raise where.error(f"column {name!a} must not mix images of 8 and of 16 bits")
            return images
        if kind == "string":
            found = table[name].to_pylist()
            if not all(isinstance(each, str) for each in found):
                raise where.error(f"column {name!a} must be of texts")
            return found
        shape = tuple(each.integer(1) for each in described.list_of("shape"))
        inner = () if shape == (1,) else shape
        values = self._values(where, table, name, (row["length"], *inner))
        return values.astype(dtype_of(kind))

    @staticmethod
    def _values(where: Document, table: Any, name: str, shape: tuple[int, ...]) -> Any:
        """Return a column of numbers, or of nested lists of numbers, as an array."""
        import pyarrow as pa

        found = table[name].combine_chunks()
        while True:
            if isinstance(found, pa.ChunkedArray):
                found = pa.concat_arrays(found.chunks)
            if found.null_count:
                raise where.error(f"column {name!a} must have no null")
            if isinstance(found, pa.ExtensionArray):
                found = found.storage
            elif hasattr(found, "flatten") and pa.types.is_nested(found.type):
                found = found.flatten()
            else:
                break
        values = found.to_numpy(zero_copy_only=False)
        if values.dtype.kind not in "biuf" or values.size != np.prod(shape, dtype=np.int64):
            raise where.error(f"column {name!a} must be of numbers of shape {shape[1:]}")
        return values.reshape(shape)

    def _nested(
        self, row: Mapping[str, Any], columns: Mapping[str, Any], tasks: Any
    ) -> dict[str, Any]:
        """Return an episode as the nested values of a record."""
        length = row["length"]
        steps: dict[str, Any] = {}
        for path, values in columns.values():
            _put(steps, path, values)
        steps[self._task] = [self._tasks[number] for number in tasks.tolist()]
        for flag in self._flags:
            steps[flag] = [_FLAGS[flag](step, length) for step in range(length)]
        found: dict[str, Any] = {"steps": steps}
        for key, path in self._about.items():
            _put(found, path, row[key])
        return found


@contextlib.contextmanager
def _parquet(path: str) -> Iterator[Any]:
    """Open a Parquet file; an error of its content names it."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield file
    except MetadataError:
        raise
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise Document(None, path).error(f"must be Parquet: {one_line(error)}") from error


def _array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
    # Records store floats as float32; other floats require encoded arrays.
    return Tensor(shape, dtype, "bytes" if dtype == np.float64 else "none")


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value


def _as_features(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: FeaturesDict(_as_features(each)) if isinstance(each, dict) else each
        for name, each in tree.items()
    }


def _is_deep(image: bytes) -> bool:
    """Return whether an image is a PNG with samples of 16 bits."""
    return image[:8] == b"\x89PNG\r\n\x1a\n" and image[24:25] == b"\x10"


def _image(where: Document, name: str, value: Any) -> bytes:
    data = value.get("bytes") if isinstance(value, dict) else None
    if not isinstance(data, bytes):
        raise where.error(
            f"column {name!a} must hold the bytes of images; embed them in the file first"
        )
    return data
