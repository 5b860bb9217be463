# SPDX-License-Identifier: Apache-2.0
"""Yield the steps of all episodes of an RLDS dataset in one order, for example shuffled.

A file of rows holds, for each step, its numbers and the locations of its images and texts within
the record of the episode. A :class:`~fastrec.Batcher` orders these rows, and its workers read and
decode only the values that the drawn steps refer to.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import fastrec

from .. import _core
from ..arguments import check_int, check_types, shown
from ..batches.option_types import TransformedOptions
from ..errors import ExampleParseError, FastrecError
from ..records.framing import FRAME_OVERHEAD
from ..records.paths import is_remote
from .columns import Column, Structure
from .dataset import check_length
from .episodes import LayoutError, layout
from .features import Dataset as DatasetFeature
from .fetch import Fetch, Source
from .images import image_feature
from .rows import RowFile, digest_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .dataset import Dataset
    from .splits import Span

__all__ = ["Offsets", "Parts", "StepPart", "make_steps", "steps_name"]


class StepOptions(TransformedOptions, total=False):
    """Keyword options of :func:`make_steps`."""

    window: int | None
    chunk: int | None
    features: Sequence[str] | None
    decode: bool | Mapping[str, Any]
    metadata: bool
    window_of: Sequence[str]
    chunk_of: Sequence[str]
    fps: int | None
    delta_timestamps: Mapping[str, Sequence[float]] | None
    names: Mapping[str, str] | None
    index: str | os.PathLike[str] | None
    transform: Callable[[Any], Any] | None


_INLINE_BYTES = 1024  # largest size of a numeric feature of one step that rows store as a copy
_ROWS = 4096  # rows that are written in one call
_FORMAT = "fastrec.steps/1"


def make_steps(
    dataset: Dataset,
    batch_size: int = 1,
    *,
    window: int | None = None,
    chunk: int | None = None,
    features: Sequence[str] | None = None,
    decode: bool | Mapping[str, Any] = True,
    metadata: bool = False,
    window_of: Sequence[str] = ("observation",),
    chunk_of: Sequence[str] = ("action", "action_dict"),
    fps: int | None = None,
    delta_timestamps: Mapping[str, Sequence[float]] | None = None,
    names: Mapping[str, str] | None = None,
    index: str | os.PathLike[str] | None = None,
    transform: Callable[[Any], Any] | None = None,
    **options: Unpack[TransformedOptions],
) -> fastrec.Batcher:
    """Return a Batcher over the steps of all episodes: shuffled together, sharded, resumable.

    Parameters
    ----------
    dataset : Dataset
        A dataset whose records are episodes: one feature is a nested dataset named ``steps``.
    batch_size : int
        Steps per batch.
    window : int, optional
        Number of steps of observations to return: the drawn step and those before it.
    chunk : int, optional
        Number of steps of actions to return: the drawn step and those after it.
    features : sequence of str, optional
        Features of a step to read, such as ``"observation/image_0"``; all by default.
    decode : bool, or mapping of str to ImageFeature
        Whether to decode images; False returns the bytes of the encoded files. A mapping gives the
        ImageFeature for each image, for example to resize it.
    metadata : bool
        Whether to add the features of the episode to each step.
    window_of, chunk_of : sequence of str
        Features of a step that are read as windows or chunks.
    fps : int, optional
        Steps per second. With it, batches have the form of LeRobot: a flat dictionary with names
        such as ``"observation.images.front"``, images of float32 from 0 to 1 with channels first,
        ``"task"`` as a list of str, and ``"timestamp"``, ``"frame_index"``, ``"episode_index"``
        and ``"index"``.
    delta_timestamps : mapping of str to sequence of float, optional
        Requires `fps`. For features by their LeRobot names, the times of the steps to return, in
        seconds from the drawn step. ``"<name>_is_pad"`` is True beyond the ends of the episode.
    names : mapping of str to str, optional
        Requires `fps`. LeRobot names of features, such as ``{"observation/proprio":
        "observation.state"}``, where the default ones are not wanted; see
        :func:`fastrec.tfds.to_lerobot`.
    index : path, optional
        A directory that keeps the rows for later runs. By default rows are written to a temporary
        directory, which requires reading every episode once.
    transform : callable, optional
        A function that is called with each batch.
    **options
        Options of :class:`~fastrec.Batcher`, such as shuffle, seed, epochs and shard.

    Returns
    -------
    Batcher
        Batches of nested columns, with ``_traj_index`` and ``_frame_index``, the numbers of the
        episode and of the step within it, and ``_len``, the number of steps of the episode. Windows
        and chunks add a dimension after that of the batch. Beyond the ends of the episode its first
        or last step is repeated, and ``_window_mask`` or ``_chunk_mask`` is False.

    Raises
    ------
    ExampleParseError, CorruptRecordError
        If an episode is damaged. The message names the file and the record.
    ValueError
        If the dataset has no steps, or a feature of a step cannot be read alone.

    Examples
    --------
    >>> import tempfile, numpy as np, fastrec.tfds
    >>> from fastrec.tfds import features
    >>> step = {"observation": {"state": np.float32}, "action": np.float32}
    >>> episodes = [
    ...     {"steps": [{"observation": {"state": t}, "action": 10 * e + t} for t in range(3)]}
    ...     for e in range(2)
    ... ]
    >>> path = fastrec.tfds.write(
    ...     tempfile.mkdtemp(), "arm", {"train": episodes}, {"steps": features.Dataset(step)})
    >>> batcher = fastrec.tfds.load(path, split="train").steps(3, window=2, chunk=2)
    >>> batch = next(iter(batcher))
    >>> batch["observation"]["state"].tolist(), batch["action"].tolist()
    ([[0.0, 0.0], [0.0, 1.0], [1.0, 2.0]], [[0.0, 1.0], [1.0, 2.0], [2.0, 2.0]])
    """
    check_types(make_steps, locals())
    check_int("batch_size", batch_size, 1, 2**31)
    for name, value in (("window", window), ("chunk", chunk)):
        if value is not None:
            check_int(name, value, 1, 65536)
    plan = _plan(dataset, features, metadata, decode)
    kind: Callable[..., Fetch] = Fetch
    if fps is not None:
        from .lerobot.items import Items, chosen

        if window is not None or chunk is not None:
            raise ValueError("fps and window or chunk are mutually exclusive: use delta_timestamps")
        kind = partial(Items, fps=fps)
        parts, masks = chosen(plan.parts, fps, delta_timestamps or {}, names)
    elif delta_timestamps is not None or names is not None:
        raise ValueError("delta_timestamps and names require fps")
    else:
        parts, masks = _around(plan.parts, (window, window_of), (chunk, chunk_of))
    paths = list(dict.fromkeys(span.path for span in dataset.files))
    sources = [Source.of(path, dataset.info.storage) for path in paths]
    rows = _rows(dataset, plan, sources, index)
    fetch = kind(rows, plan.dtype, sources, parts, masks)
    function = fetch if transform is None else _Then(fetch, transform)
    return fastrec.Batcher(rows.path, None, batch_size, transform=function, **options)


Parts = list[tuple["StepPart", "NDArray[np.int64] | None"]]
Offsets = dict[str, "NDArray[np.int64]"]


def _around(parts: Sequence[StepPart], window: Any, chunk: Any) -> tuple[Parts, Offsets]:
    """Return the features with the steps to return of each, and the masks of those."""
    masks: Offsets = {}
    if window[0] is not None:
        masks["_window_mask"] = np.arange(1 - window[0], 1)
    if chunk[0] is not None:
        masks["_chunk_mask"] = np.arange(chunk[0])

    def offsets(part: StepPart) -> NDArray[np.int64] | None:
        if part.per_episode:
            return None
        if window[0] is not None and _is_in(part.path, window[1]):
            return masks["_window_mask"]
        if chunk[0] is not None and _is_in(part.path, chunk[1]):
            return masks["_chunk_mask"]
        return None

    return [(part, offsets(part)) for part in parts], masks


def _is_in(path: tuple[str, ...], names: Sequence[str]) -> bool:
    name = "/".join(path)
    return any(name == each or name.startswith(f"{each}/") for each in names)


class _Then:
    """The composition of two functions."""

    def __init__(self, first: Callable[[Any], Any], second: Callable[[Any], Any]) -> None:
        self.first = first
        self.second = second

    def __call__(self, batch: Any) -> Any:
        return self.second(self.first(batch))


# --- what rows have -----------------------------------------------------------------------------


@dataclass(frozen=True)
class StepPart:
    """One value of a step.

    Attributes
    ----------
    path : tuple of str
        Its name in a batch.
    column : Column
        The conversion of its content.
    field : str
        The field of a row that holds the numbers, or the location of the bytes.
    is_inline : bool
        Whether the row holds the numbers.
    per_episode : bool
        Whether it is a value of the episode, not of each step.
    image : ImageFeature or None
        The feature that decodes it, if it is an image.
    decode : bool
        Whether it is decoded.
    """

    path: tuple[str, ...]
    column: Column
    field: str
    is_inline: bool
    per_episode: bool
    image: Any
    decode: bool


@dataclass(frozen=True)
class _Plan:
    parts: list[StepPart]
    dtype: np.dtype[Any]
    inline: dict[str, Any]
    of: str  # the name of the feature that contains the steps


REFERENCE = np.dtype([("offset", "<u8"), ("size", "<u4"), ("crc", "<u4")])
NUMBERS = [("step", "<u8"), ("episode", "<u8"), ("t", "<u4"), ("length", "<u4"), ("file", "<u8")]


def steps_name(dataset: Dataset) -> str:
    """Return the name of the feature that contains the steps of an episode."""
    found = dataset.features.items()
    names: list[str] = [name for name, each in found if isinstance(each, DatasetFeature)]
    if "steps" in names:
        return "steps"
    if len(names) != 1:
        raise ValueError(f"{dataset!r} must have a dataset of steps, got {names}")
    return names[0]


def _plan(dataset: Dataset, names: Sequence[str] | None, metadata: bool, decode: Any) -> _Plan:
    of = steps_name(dataset)
    wanted = [of] if names is None else [f"{of}/{name}" for name in names]
    if metadata:
        wanted += [name for name in dataset.features if name != of]
    structure = Structure(dataset.features, wanted, decode=decode is not False)
    parts: list[StepPart] = []
    fields: list[Any] = list(NUMBERS)
    inline: dict[str, Any] = {}
    for number, (path, column) in enumerate(structure.columns.items()):
        per_episode = path[0] != of
        size = _inline_size(column, per_episode)
        field = f"f{number}"
        if size is not None:
            fields.append((field, column.value.dtype.newbyteorder("<"), column.value.shape))
            inline |= column.spec()
        elif _is_referable(column, per_episode):
            fields.append((field, REFERENCE))
        elif names is None or per_episode:
            # Features whose shape varies from step to step are available through ds[i]["steps"].
            continue
        else:
            raise ValueError(
                f"feature {column.leaf.name!r} of shape {column.leaf.shape} varies from step to "
                "step: read it from ds[i]['steps']"
            )
        image = None
        if column.decodes and column.value.is_media:
            image = _image(column, path, decode)
        name = path if per_episode else path[1:]
        parts.append(
            StepPart(name, column, field, size is not None, per_episode, image, column.decodes)
        )
    known = {"/".join(part.path) for part in parts}
    for name, image in decode.items() if isinstance(decode, Mapping) else ():
        if name not in known:
            raise ValueError(f"decode must name features of a step, got {shown(name)}")
        if not isinstance(image, fastrec.ImageFeature):
            raise TypeError(f"decode must map {name!a} to an ImageFeature, got {shown(image)}")
    if all(part.per_episode for part in parts):
        raise ValueError("there must be a feature of a step to read")
    return _Plan(parts, np.dtype(fields), inline, of)


def _image(column: Column, path: tuple[str, ...], decode: Any) -> Any:
    name = "/".join(path[1:])
    if isinstance(decode, Mapping) and name in decode:
        return decode[name]
    value = column.value
    shape: tuple[int | None, ...] = value.shape
    if value.dtype == np.uint8 and len(shape) == 3 and shape[-1] in (1, 3):
        height, width = shape[:2]
        size = None if height is None or width is None else (height, width)
        return image_feature(size, shape[-1])
    return None


def _inline_size(column: Column, per_episode: bool) -> int | None:
    value = column.value
    if value.is_encoded or value.dtype.kind == "O" or None in value.shape:
        return None
    if column.rank != (0 if per_episode else 1):
        return None
    size = value.dtype.itemsize * math.prod(size or 0 for size in value.shape)
    if value.dtype.kind == "f" and size > _INLINE_BYTES:
        return None
    return size if 0 < size <= 1 << 16 else None


def _is_referable(column: Column, per_episode: bool) -> bool:
    value = column.value
    if column.rank != (0 if per_episode else 1) or value.is_dynamic:
        return False
    if value.is_encoded or (value.dtype.kind == "O" and value.shape == ()):
        return True
    return value.dtype.kind == "f" and None not in value.shape and 0 not in value.shape


# --- making rows --------------------------------------------------------------------------------


def _rows(
    dataset: Dataset, plan: _Plan, sources: list[Source], index: str | os.PathLike[str] | None
) -> RowFile:
    paths = list(dict.fromkeys(span.path for span in dataset.files))
    identity = [_FORMAT, str(plan.dtype.descr), *plan.inline]
    identity += ["/".join(part.column.leaf.path) for part in plan.parts]
    for span in dataset.files:
        identity += [os.path.basename(span.path), str(span.skip), str(span.take)]
    # States contain this digest, which is the same for copies of the files.
    stable = digest_of(identity)
    if index is None:
        return RowFile.write(_all_rows(dataset, plan, paths), plan.dtype, [stable])
    stamps = [source.stamp for source in sources]
    os.makedirs(index, exist_ok=True)
    path = os.path.join(os.fspath(index), f"{stable}-{digest_of(stamps)[:8]}.rows")
    if os.path.exists(path):
        return RowFile(path)
    return RowFile.write(_all_rows(dataset, plan, paths), plan.dtype, [stable], path)


def _all_rows(dataset: Dataset, plan: _Plan, paths: list[str]) -> Iterator[NDArray[Any]]:
    """Yield the rows of all steps, in blocks of at least `_ROWS`."""
    files = {path: number for number, path in enumerate(paths)}
    waiting: list[NDArray[Any]] = []
    episode = step = count = 0
    for span in dataset.files:
        for number, offset, record in _records(dataset, span):
            rows = _episode_rows(record, offset + 12, plan, span.path, number)
            rows["step"] = np.arange(step, step + len(rows))
            rows["episode"], rows["file"] = episode, files[span.path]
            episode, step, count = episode + 1, step + len(rows), count + len(rows)
            waiting.append(rows)
            if count >= _ROWS:
                yield _joined(waiting, plan.dtype)
                waiting, count = [], 0
    if step == 0:
        raise FastrecError(f"{dataset!r} has no steps")
    if waiting:
        yield _joined(waiting, plan.dtype)


def _joined(rows: list[NDArray[Any]], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Concatenate rows. NumPy would compare the names of their fields for each array."""
    return np.concatenate([each.view(np.uint8) for each in rows]).view(dtype)


def _records(dataset: Dataset, span: Span) -> Iterator[tuple[int, int, bytes]]:
    """Yield number, offset and bytes of each record of a range; read remote files in sequence."""
    numbers = range(span.skip, span.skip + span.take)
    if not is_remote(span.path, dataset.info.storage):
        reader, places = dataset._reader(span), fastrec.Index.build(span.path).offsets
        for number in numbers:
            yield number, int(places[number]), reader[number]
        return
    offset = count = 0
    for number, record in enumerate(_reader_of(dataset, span)):
        if number == numbers.stop and not span.is_whole:
            return
        if number in numbers:
            yield number, offset, record
        offset += len(record) + FRAME_OVERHEAD
        count += 1
    check_length(span, count)


def _reader_of(dataset: Dataset, span: Span) -> fastrec.Reader:
    return fastrec.Reader(span.path, compression=None, storage_options=dataset.info.storage)


def _episode_rows(record: bytes, offset: int, plan: _Plan, path: str, number: int) -> NDArray[Any]:
    try:
        return _laid_out(record, offset, plan)
    except (LayoutError, ExampleParseError) as error:
        problem = error if isinstance(error, ExampleParseError) else ExampleParseError(str(error))
        problem.kind = problem.kind or "malformed"
        raise problem.in_record(number, path) from error


def _laid_out(record: bytes, offset: int, plan: _Plan) -> NDArray[Any]:
    data = memoryview(record)
    columns = fastrec.parse_example([record], plan.inline) if plan.inline else {}
    refers = any(not part.is_inline for part in plan.parts)
    lists = layout(data) if refers else {}
    values: dict[str, Any] = {}
    lengths: dict[str, int] = {}
    for part in plan.parts:
        name = part.column.leaf.name
        if part.is_inline:
            found = part.column.finish(part.column.raw(columns, 0))
        else:
            found = _references(data, offset, part, lists.get(name, ("", 0, 0)))
        values[part.field] = found
        if not part.per_episode:
            lengths[name] = len(found)
    length = next(iter(lengths.values()))
    for name, other in lengths.items():
        if other != length:
            raise LayoutError(
                f"feature {name!a} has {other} steps, and {next(iter(lengths))!a} has {length}"
            )
    rows = np.zeros(length, plan.dtype)
    rows["t"], rows["length"] = np.arange(length), length
    for field, value in values.items():
        rows[field] = value
    return rows


def _references(
    data: memoryview, offset: int, part: StepPart, found: tuple[str, int, int]
) -> NDArray[Any]:
    """Return the locations of the bytes of each step, with their checksums."""
    kind, begin, end = found
    value = part.column.value
    is_bytes = value.wire_dtype.kind == "O"
    name = part.column.leaf.name
    if kind and kind != ("bytes" if is_bytes else "float"):
        raise LayoutError(f"feature {name!a} must be a list of {'bytes' if is_bytes else 'float'}")
    size = 0 if is_bytes else 4 * math.prod(size or 0 for size in value.shape)
    if size and (end - begin) % size:
        raise LayoutError(f"feature {name!a} must be of shape {part.column.leaf.shape}")
    pieces = _core.find_pieces(data, begin, end, offset + begin, size)
    if part.per_episode and len(pieces) != 1:
        raise LayoutError(f"feature {name!a} must be one value, got {len(pieces)}")
    rows = np.zeros(len(pieces), REFERENCE)
    for field in ("offset", "size", "crc"):
        rows[field] = pieces[field]
    return rows[0] if part.per_episode else rows
