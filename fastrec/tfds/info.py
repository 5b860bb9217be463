# SPDX-License-Identifier: Apache-2.0
"""Read ``dataset_info.json`` and find the files of a prepared dataset."""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import fastrec

from ..errors import MissingRecordsError
from ..records.paths import expand, is_remote
from ..storage.options import StorageOptions
from .documents import Document, MetadataError, read_document
from .features import FeaturesDict
from .schema import load_features
from .splits import SplitInfo, Splits

__all__ = ["DatasetInfo", "find_directory", "has_info", "load_info"]

INFO = "dataset_info.json"
DEFAULT_TEMPLATE = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"
_MAX_SHARDS = 10_000_000  # shards of a split
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True)
class DatasetInfo:
    """The description of a prepared dataset.

    Attributes
    ----------
    name, version, config_name, description, citation : str
    directory : str
        The directory of the files.
    features : FeaturesDict or None
        None if the metadata lists no features; they are then inferred from records.
    splits : Splits
    supervised_keys : tuple of str, or None
        The names of the input and target features, if any.
    disable_shuffling : bool
        Whether records keep the order of their generation.
    storage : StorageOptions
        Options for reading the directory if it is a URL.
    """

    name: str
    version: str
    config_name: str
    directory: str
    features: FeaturesDict | None
    splits: Splits
    description: str = field(default="", repr=False)
    citation: str = field(default="", repr=False)
    supervised_keys: tuple[Any, ...] | None = None
    disable_shuffling: bool = False
    storage: StorageOptions = field(default_factory=StorageOptions, repr=False, compare=False)

    @property
    def full_name(self) -> str:
        """The name in the form ``name/config/version``."""
        return "/".join(filter(None, (self.name, self.config_name, self.version)))


def load_info(directory: str, storage: StorageOptions) -> DatasetInfo:
    """Read the metadata of a directory, without reading a record.

    Raises
    ------
    OSError
        If ``dataset_info.json`` cannot be read.
    MetadataError
        If it is damaged, or the records are in a format other than TFRecord.
    """
    document = read_document(os.path.join(directory, INFO), storage)
    name = document.text("name")
    _check_format(document)
    splits = [_split(each, name, directory, storage) for each in document.list_of("splits")]
    names = [split.name for split in splits]
    if len(set(names)) != len(names):
        raise document.error(f"splits must differ by name, got {names}")
    return DatasetInfo(
        name=name,
        version=document.text("version"),
        config_name=document.text("configName"),
        directory=directory,
        features=load_features(directory, storage),
        splits=Splits(splits),
        description=document.text("description"),
        citation=document.text("citation"),
        supervised_keys=_supervised_keys(document),
        disable_shuffling=document.flag("disableShuffling"),
        storage=storage,
    )


def _check_format(document: Document) -> None:
    said = document.text("fileFormat", "tfrecord") or "tfrecord"
    others = [each.value for each in document.list_of("alternativeFileFormats")]
    if "tfrecord" not in (said, *others):
        raise document.error(
            f"the records are in the format {said!a}, and fastrec reads tfrecord; "
            "prepare the set with file_format='tfrecord'"
        )


def _supervised_keys(document: Document) -> tuple[Any, ...] | None:
    found = document.get("supervisedKeys")
    if found is None:
        return None
    nested = found.get("tuple")
    if nested is not None:
        return tuple(_supervised_tree(each) for each in nested.list_of("items"))
    return found.text("input"), found.text("output")


def _supervised_tree(found: Document) -> Any:
    inner = found.get("tuple")
    if inner is not None:
        return tuple(_supervised_tree(each) for each in inner.list_of("items"))
    inner = found.get("dict")
    if inner is not None:
        values = inner.get("dict")
        return {} if values is None else {k: _supervised_tree(v) for k, v in values.items()}
    return found.text("featureKey")


def _split(document: Document, dataset: str, directory: str, storage: StorageOptions) -> SplitInfo:
    name = document.text("name")
    if not name or re.search(r"[^\w-]", name):
        raise document.error(f"a split must be named by letters and digits, got {name!a}")
    lengths = tuple(each.integer(0) for each in document.list_of("shardLengths"))
    size = document.integer_of("numBytes", 0, 0)
    if len(lengths) > _MAX_SHARDS:
        raise document.error(f"a split must have at most {_MAX_SHARDS} shards, got {len(lengths)}")
    template = document.text("filepathTemplate") or DEFAULT_TEMPLATE
    if not lengths:  # Old metadata lacks shard lengths, so the records are counted.
        return _counted(document, name, dataset, directory, size, storage)
    files = [
        shard_name(document, template, dataset, name, shard, len(lengths))
        for shard in range(len(lengths))
    ]
    paths = sorted(os.path.join(directory, file) for file in files)
    return SplitInfo(name, tuple(paths), lengths, size)


def shard_name(
    document: Document, template: str, dataset: str, split: str, shard: int, count: int
) -> str:
    """Return the name of one file from a template of ``dataset_info.json``."""
    digits = max(5, len(str(count)))
    index, total = f"{shard:0{digits}d}", f"{count:0{digits}d}"
    known = {
        "DATASET": dataset,
        "SPLIT": split,
        "FILEFORMAT": "tfrecord",
        "SHARD_INDEX": index,
        "NUM_SHARDS": total,
        "SHARD_X_OF_Y": f"{index}-of-{total}",
    }
    left = re.sub(r"\{(\w+)\}", lambda found: known.get(found[1], found[0]), template)
    parts = left.split("/")
    if re.search(r"[{}\\\0]", left) or left.startswith("/") or ".." in parts or not parts[-1]:
        raise document.error(f"filepathTemplate {template!a} does not name files in the directory")
    return left


def _counted(
    document: Document, name: str, dataset: str, directory: str, size: int, storage: StorageOptions
) -> SplitInfo:
    shards = document.integer_of("numShards", 0, 0, _MAX_SHARDS)
    pattern = os.path.join(glob.escape(directory), f"{glob.escape(dataset)}-{name}.tfrecord*")
    try:
        paths = [os.fsdecode(path) for path in expand(pattern, storage)]
    except FileNotFoundError:
        paths = []
    if shards and len(paths) != shards:
        raise _missing(paths[0] if paths else pattern, f"{len(paths)} of {shards} shards are there")
    counts = (len(fastrec.Reader(path, storage_options=storage)) for path in paths)
    return SplitInfo(name, tuple(paths), tuple(counts), size)


def _missing(path: str, text: str) -> MissingRecordsError:
    error = MissingRecordsError(f"{path!a}: {text}")
    error.path = path
    return error


# --- finding a set ----------------------------------------------------------------------------


def find_directory(
    directory: str, name: str | None, version: str | None, storage: StorageOptions
) -> str:
    """Return the directory of one version of a dataset.

    Parameters
    ----------
    directory : str
        The directory of the version, or a parent: the directory of the configuration or dataset,
        or the data directory. A URL must name the directory of the version.
    name : str, optional
        ``"name"``, ``"name/config"``, ``"name/config:1.0.0"``.
    version : str, optional
        ``"1.0.0"`` or ``"1.*.*"``; the highest version by default.

    Raises
    ------
    FileNotFoundError
        If the directory does not exist.
    ValueError
        If there are several datasets or configurations. The message names them.
    """
    directory = os.fspath(directory)
    if name is not None:
        path, _, said = name.partition(":")
        if said and version is not None:
            raise ValueError(f"version is given twice: {said!r} and {version!r}")
        version = said or version
        if not re.fullmatch(r"[\w.+-]+(/[\w.+-]+)*", path) or ".." in path.split("/"):
            raise ValueError(f"name must be as 'name/config:1.0.0', got {name!r}")
        directory = os.path.join(directory, path)
    # Directories in a store are not searched, so the URL must be complete.
    if is_remote(directory, storage):
        return os.path.join(directory, version or "").rstrip("/")
    if not os.path.isdir(directory):
        raise FileNotFoundError(2, "no such directory", directory)
    if os.path.exists(os.path.join(directory, INFO)):
        return directory
    return _descend(directory, version, 3)


def has_info(directory: str) -> bool:
    """Return whether a directory, or one of its versions, contains a description."""
    if not os.path.isdir(directory):
        return False
    return os.path.exists(os.path.join(directory, INFO)) or any(_versions(directory, None))


def _descend(directory: str, version: str | None, levels: int) -> str:
    found = sorted(_versions(directory, version))
    if found:
        return found[-1][1]
    folders = [each for each in _folders(directory) if not _is_version(each)]
    folders = [each for each in folders if _holds_sets(each, levels - 1)]
    default = _default_config(directory)
    if default is not None and default in map(os.path.basename, folders):
        folders = [os.path.join(directory, default)]
    if len(folders) == 1 and levels > 1:
        return _descend(folders[0], version, levels - 1)
    if folders:
        names = ", ".join(map(os.path.basename, folders))
        raise ValueError(f"{directory!a} holds several datasets, name one of them: {names}")
    wanted = "" if version is None else f" of version {version}"
    raise FileNotFoundError(2, f"no {INFO}{wanted} below this directory", directory)


def _folders(directory: str) -> list[str]:
    with os.scandir(directory) as entries:
        return sorted(each.path for each in entries if each.is_dir() and each.name[0] != ".")


def _is_version(path: str) -> bool:
    return _VERSION.fullmatch(os.path.basename(path)) is not None


def _versions(directory: str, version: str | None) -> Iterator[tuple[tuple[int, ...], str]]:
    for path in _folders(directory):
        found = _VERSION.fullmatch(os.path.basename(path))
        if found is None or not _matches(found.groups(), version):
            continue
        if os.path.exists(os.path.join(path, INFO)):
            yield tuple(map(int, found.groups())), path


def _matches(parts: tuple[str, ...], version: str | None) -> bool:
    if version is None:
        return True
    wanted = version.split(".")
    return len(wanted) == len(parts) and all(
        each in ("*", part) for each, part in zip(wanted, parts, strict=True)
    )


def _holds_sets(directory: str, levels: int) -> bool:
    if os.path.exists(os.path.join(directory, INFO)):
        return True
    return levels > 0 and any(_holds_sets(each, levels - 1) for each in _folders(directory))


def _default_config(directory: str) -> str | None:
    path = os.path.join(directory, ".config", "metadata.json")
    try:
        return read_document(path).text("defaultConfigName") or None
    except (OSError, MetadataError, json.JSONDecodeError):
        return None
