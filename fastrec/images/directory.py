# SPDX-License-Identifier: Apache-2.0
"""Write a directory of images to shards of records, with the names that TensorFlow's models use."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..arguments import check_int, check_types
from ..encoding.writer import Writer
from ..records.byte_sources import NamedFile
from ..records.output_rules import check_replaceable, remove_shards, stale_shards
from ..records.paths import shard_paths
from ..records.targets import write_file
from ..storage.urls import local_path
from ..threads.cpus import usable_cpus
from ..threads.pipeline import Pipeline
from .files import MAX_PIXELS, ImageError, find
from .storing import Format, Storing

__all__ = ["ImageSet", "write_directory"]

_VERSION = 2  # version of the file that lists finished shards


@dataclass
class ImageSet:
    """The result of :func:`write_directory`.

    Attributes
    ----------
    paths : list of str
        The shards.
    count : int
        Number of images in them, including those of shards from an earlier run.
    skipped : list of (str, str)
        Files that were left out, with the reason.
    labels : tuple of str
        The name of each label.
    resumed : int
        Number of shards that an earlier run had finished.
    """

    paths: list[str]
    count: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    labels: tuple[str, ...] = ()
    resumed: int = 0


@dataclass(frozen=True)
class _Image:
    path: Path
    name: str  # path relative to the directory, with forward slashes
    label: int | None


@dataclass(frozen=True)
class _Options:
    storing: Storing
    labels: tuple[str, ...]


def write_directory(
    directory: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    shards: int = 1,
    format: Format | None = None,
    resize: int | None = None,
    quality: int | None = None,
    labels: str | os.PathLike[str] | None = "directories",
    check: bool = True,
    threads: int | None = None,
    resume: bool = True,
    overwrite: bool = False,
    max_pixels: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> ImageSet:
    """Write the images below a directory to shards, several shards at a time.

    Each record has ``image/encoded`` and ``image/format``, or with the format ``"raw"``
    ``image/raw`` and ``image/shape``; ``image/height``, ``image/width``, ``image/filename``,
    ``image/source_id``, and ``image/key/sha256`` of the file; and with labels
    ``image/class/label`` and ``image/class/text``. The names of labels are written to
    ``<output>-labels.txt``.

    Parameters
    ----------
    directory : path
        The directory, searched as by :func:`fastrec.find`.
    output : path
        ``train.tfrecord`` stands for ``train-00000-of-00004.tfrecord`` and so on.
    shards : int
        Number of files. Images, sorted by name, are distributed in turn, so that every shard
        contains every label.
    format : {"jpeg", "png", "webp", "raw"}, optional
        The format to store, where ``"raw"`` is pixels. By default each image keeps its format, and
        formats that TensorFlow does not decode, such as TIFF, become PNG. A file that already
        satisfies all options is stored byte for byte. Other images are decoded as 8-bit RGB,
        upright, and encoded again.
    resize : int, optional
        Most pixels of the shorter side of an image. Larger images are made smaller, with Lanczos
        filtering and the same ratio of their sides.
    quality : int, optional
        Quality of images that are encoded as JPEG or WebP, 1 to 100; 90 by default.
    labels : "directories", path of a CSV file, or None
        The top-level sub-directories, numbered in sorted order; or a file of lines
        ``filename,label``, whose labels are numbered in sorted order unless all are integers.
    check : bool
        Whether to decode every image, which finds damage immediately. Otherwise only headers are
        read.
    threads : int, optional
        Number of threads that read, check and encode images; one per processor by default. Each
        writes a shard, or several share one.
    resume : bool
        Whether to keep shards that an earlier run finished from the same images and options.
    overwrite : bool, default False
        Whether to replace existing files and to remove shards of an earlier set with this name.
    max_pixels : int, optional
        The limit of :func:`fastrec.decode`.
    progress : callable, optional
        A function that is called with the number of finished images and of all images, from any
        thread, one call at a time.

    Raises
    ------
    FileNotFoundError
        If there are no images.
    OSError
        If the directory cannot be listed, or a shard cannot be written. Finished shards remain for
        the next run.
    ValueError
        If the file of labels is not a CSV file, or if `quality` is given without a `format` or a
        `resize` to which it applies.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from PIL import Image
    >>> folder = tempfile.mkdtemp()
    >>> for name in ("cat", "dog"):
    ...     os.mkdir(os.path.join(folder, name))
    ...     Image.fromarray(np.zeros((2, 3, 3), np.uint8)).save(f"{folder}/{name}/1.png")
    >>> written = write_directory(folder, os.path.join(folder, "pets.tfrecord"))
    >>> written.count, written.labels
    (2, ('cat', 'dog'))
    """
    check_types(write_directory, locals())
    check_int("shards", shards, 1, 99999)
    limits = {"threads": 256, "max_pixels": 2**40, "resize": 2**31 - 1, "quality": 100}
    for name, most in limits.items():
        if (value := locals()[name]) is not None:
            check_int(name, value, 1, most)
    if quality is not None and (format in ("png", "raw") or (format is None and resize is None)):
        raise ValueError("quality requires format='jpeg', format='webp' or resize")
    root, output = Path(os.fsdecode(local_path(directory))), os.fsdecode(local_path(output))
    paths = shard_paths(output, shards)
    result = ImageSet(paths)
    inputs = find(root)
    stale = stale_shards(output, paths)
    for path in stale:
        check_replaceable(path, overwrite=overwrite, records=True, inputs=inputs)
    found = [path for path in inputs if str(path) not in paths]
    if not found:
        raise FileNotFoundError(2, "no images in this directory", os.fspath(directory))
    images, result.labels = _labelled(root, found, labels, result.skipped)
    limit = MAX_PIXELS if max_pixels is None else max_pixels
    options = _Options(Storing(format, resize, quality, check, limit), result.labels)
    threads = threads or usable_cpus()
    manifest = _Manifest(output, resume, overwrite)
    work = _Work(options, manifest, progress, len(images), overwrite, -(-threads // shards))
    if result.labels:
        lines = "".join(f"{number}:{name}\n" for number, name in enumerate(result.labels))
        place = Path(_stem(output) + "-labels.txt")
        text = lines.encode("utf-8", "surrogateescape")
        if not (resume and place.is_file() and place.read_bytes() == text):
            write_file(place, text, overwrite=overwrite, inputs=inputs)
    parts = {path: images[number::shards] for number, path in enumerate(paths)}
    for done in _in_parallel(work, parts, threads):
        result.count += done["count"]
        result.skipped += [(name, reason) for name, reason in done["skipped"]]
        result.resumed += done.get("resumed", 0)
    result.skipped.sort()
    remove_shards(stale)
    return result


def _stem(output: str | os.PathLike[str]) -> str:
    return os.path.splitext(os.fspath(output))[0]


def _labelled(
    root: Path,
    found: Iterable[Path],
    labels: str | os.PathLike[str] | None,
    skipped: list[tuple[str, str]],
) -> tuple[list[_Image], tuple[str, ...]]:
    """Return the images with their label numbers, and the names of the labels."""
    named = [(path, path.relative_to(root).as_posix()) for path in found]
    if labels is None:
        return [_Image(path, name, None) for path, name in named], ()
    if labels == "directories":
        texts = {name: name.split("/")[0] for _, name in named if "/" in name}
        why = "is in no directory that could be its label"
    else:
        texts, why = _read_csv(labels), f"has no label in {os.fspath(labels)!a}"
        names = {name for _, name in named}
        skipped += [(name, "is labelled, but not there") for name in texts if name not in names]
    skipped += [(name, why) for _, name in named if name not in texts]
    numbers, known = _numbered(texts.values())
    return [_Image(path, n, numbers[texts[n]]) for path, n in named if n in texts], known


def _numbered(texts: Iterable[str]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Number the texts: by their values if all are small integers, else in sorted order."""
    distinct = sorted(set(texts))
    if distinct and all(text.isascii() and text.isdigit() for text in distinct):
        highest = max(map(int, distinct))
        if highest < 1 << 20:
            return {text: int(text) for text in distinct}, tuple(map(str, range(highest + 1)))
    return {text: number for number, text in enumerate(distinct)}, tuple(distinct)


def _read_csv(path: str | os.PathLike[str]) -> dict[str, str]:
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        name = os.fsdecode(path)
        raise ValueError(f"labels must be a CSV file of UTF-8, got {name!a}: {error}") from None
    if rows and rows[0][0].strip().lower() in ("filename", "file", "image", "path", "name"):
        rows = rows[1:]
    for number, row in enumerate(rows, 1):
        if len(row) < 2 or not row[0] or not row[1]:
            raise ValueError(
                f"{os.fspath(path)!a}: row {number} of labels must be filename,label, got "
                f"{row!a:.80}"
            )
    return {row[0].replace(os.sep, "/").removeprefix("./"): row[1].strip() for row in rows}


class _Manifest:
    """The finished shards and their sources, in a file next to them that is checked before use."""

    def __init__(self, output: str | os.PathLike[str], resume: bool, overwrite: bool) -> None:
        self._path = Path(_stem(output) + "-images.json")
        self._lock = threading.Lock()
        shards = self._load()
        if shards is None:
            check_replaceable(self._path, overwrite=overwrite)
        self._shards: dict[str, dict[str, Any]] = (shards or {}) if resume else {}

    def _load(self) -> dict[str, dict[str, Any]] | None:
        """Read the file; return None if an earlier run did not write it."""
        try:
            known = json.loads(self._path.read_bytes())
            shards = known["shards"] if known["version"] == _VERSION else {}
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if not isinstance(shards, dict):
            return {}
        return {name: entry for name, entry in shards.items() if _is_entry(entry)}

    def finished(self, path: str, plan: str) -> dict[str, Any] | None:
        """Return the entry of a shard that is unchanged and was written by the same plan."""
        entry = self._shards.get(os.path.basename(path))
        try:
            same = entry is not None and entry["plan"] == plan and entry["size"] == _size(path)
        except OSError:
            return None
        return entry if same else None

    def add(self, path: str, entry: dict[str, Any]) -> None:
        with self._lock:
            self._shards[os.path.basename(path)] = entry
            text = json.dumps({"version": _VERSION, "shards": self._shards}, indent=1)
            write_file(self._path, text.encode(), overwrite=True)


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and all(isinstance(entry.get(key), int) for key in ("size", "count"))
        and isinstance(entry.get("plan"), str)
        and isinstance(entry.get("skipped"), list)
        and all(
            isinstance(pair, list) and len(pair) == 2 and all(isinstance(t, str) for t in pair)
            for pair in entry["skipped"]
        )
    )


def _size(path: str) -> int:
    return os.stat(path).st_size


class _Work:
    """Writes shards; several threads may call it."""

    def __init__(
        self,
        options: _Options,
        manifest: _Manifest,
        progress: Callable[[int, int], object] | None,
        total: int,
        overwrite: bool,
        threads: int,
    ) -> None:
        self._options, self._manifest, self._overwrite = options, manifest, overwrite
        self._threads = threads  # number of threads for each shard
        self._progress, self._total, self._done = progress, total, 0
        self._lock = threading.Lock()
        self.stopping = threading.Event()

    def shard(self, path: str, images: list[_Image]) -> dict[str, Any]:
        plan = self._plan(images)
        finished = self._manifest.finished(path, plan)
        if finished is not None:
            self._step(len(images))
            return {**finished, "resumed": 1}
        entry: dict[str, Any] = {"plan": plan, "count": 0, "skipped": []}
        threads = min(self._threads, max(len(images), 1))
        records = Pipeline(iter(images), self._record, threads=threads, depth=2 * threads)
        with Writer(path, overwrite=self._overwrite) as writer, closing(records):
            for image, record in zip(images, records, strict=True):
                if isinstance(record, str):
                    entry["skipped"].append([image.name, record])
                else:
                    writer.write(record)
                self._step(1)
            entry["count"] = writer.count
        entry["size"] = _size(path)
        self._manifest.add(path, entry)
        return entry

    def _plan(self, images: list[_Image]) -> str:
        """Return a digest of everything that determines the content of the shard."""
        digest = hashlib.sha256(repr((_VERSION, self._options)).encode())
        for image in images:
            try:
                stat = image.path.stat()
                about: tuple[int, ...] = (stat.st_size, stat.st_mtime_ns)
            except OSError:
                about = ()
            digest.update(repr((image.name, image.label, about)).encode())
        return digest.hexdigest()

    def _record(self, image: _Image) -> Mapping[str, Any] | str:
        """Return the record of an image, or the reason why it is left out."""
        if self.stopping.is_set():
            raise InterruptedError("stopped")
        try:
            return _record(image, self._options)
        except ImageError as error:
            return str(error)
        except OSError as error:
            return error.strerror or str(error)

    def _step(self, count: int) -> None:
        with self._lock:
            self._done += count
            if self._progress is not None:
                self._progress(self._done, self._total)


def _record(image: _Image, options: _Options) -> Mapping[str, Any]:
    with NamedFile(image.path) as file:
        data = file.read()
    name = image.name.encode("utf-8", "surrogateescape")
    record: dict[str, Any] = {
        "image/filename": name,
        "image/source_id": name,
        "image/key/sha256": hashlib.sha256(data).hexdigest(),
    }
    if image.label is not None:
        record["image/class/label"] = image.label
        text = options.labels[image.label]
        record["image/class/text"] = text.encode("utf-8", "surrogateescape")
    return record | options.storing.features(image.path, data)


def _in_parallel(
    work: _Work, parts: Mapping[str, list[_Image]], threads: int
) -> list[dict[str, Any]]:
    """Yield the result of every shard in order. A failure stops the others and is raised."""
    failures: list[BaseException] = []

    def attempt(item: tuple[str, list[_Image]]) -> dict[str, Any]:
        try:
            return work.shard(*item)
        except BaseException as error:
            failures.append(error)  # the first is the failure; others are shards that it stops
            work.stopping.set()
            raise

    threads = min(threads, len(parts))
    with closing(Pipeline(iter(parts.items()), attempt, threads=threads, depth=threads)) as done:
        try:
            return list(done)
        except BaseException as error:
            first = failures[0] if failures else error
            work.stopping.set()
            raise first from None
