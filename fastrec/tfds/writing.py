# SPDX-License-Identifier: Apache-2.0
"""Write datasets in the layout of TFDS."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

import fastrec

from .. import _core
from ..arguments import check_int, check_types, shown
from ..columns import Bytes
from ..errors import reworded
from ..records.output_folder import output_folder
from ..records.targets import write_file
from ..storage.urls import local_path
from .documents import Document
from .features import Dataset, FeaturesDict, as_connector
from .features import Sequence as SequenceOf
from .info import DEFAULT_TEMPLATE, INFO, shard_name
from .schema import features_to_json
from .values import Connector, Value

__all__ = ["encoded", "save", "split_info", "version_folder", "write"]

_SHARD_BYTES = 256 << 20


def write(
    directory: str | os.PathLike[str],
    name: str,
    splits: Mapping[str, Iterable[Mapping[str, Any]]],
    features: Mapping[str, Any] | FeaturesDict,
    *,
    version: str = "1.0.0",
    config: str = "",
    description: str = "",
    supervised_keys: tuple[str, str] | None = None,
    shard_bytes: int = _SHARD_BYTES,
) -> str:
    """Write a dataset that TFDS, TensorFlow and :func:`load` can read.

    The complete dataset appears under ``directory/name[/config]/version``, or nothing does. The
    statistics that TFDS computes for its catalogue are not written.

    Parameters
    ----------
    directory : path
        The data directory.
    name : str
        The name of the dataset: lower-case letters, digits and ``_``.
    splits : mapping of str to iterable of mapping
        The examples of each split: nested dictionaries that match `features`. An image may be an
        array or the bytes of its file, a label may be a name, and a sequence of dictionaries may be
        a list of dictionaries or a dictionary of lists.
    features : mapping or FeaturesDict
        Connectors of :mod:`fastrec.tfds.features`, or dtypes for single values.
    version, config, description : str
        Metadata of the dataset.
    supervised_keys : (input, target), optional
        The names of the input and target features.
    shard_bytes : int
        Bytes per file: when a file has this size, the next one starts.

    Returns
    -------
    str
        The directory of the version.

    Raises
    ------
    FileExistsError
        If the directory of this version exists.
    ValueError, TypeError
        If an example does not match `features`. The message names split, example and feature.

    Examples
    --------
    >>> import tempfile
    >>> from fastrec.tfds import features, load, write
    >>> described = {"text": features.Text(), "stars": features.Tensor((), "int64")}
    >>> path = write(tempfile.mkdtemp(), "reviews", {"train": [{"text": "good", "stars": 5}]},
    ...              described)
    >>> load(path, split="train")[0]
    {'text': b'good', 'stars': np.int64(5)}
    """
    check_types(write, locals())
    check_int("shard_bytes", shard_bytes, 1, 2**62)
    described = as_connector(features)
    if not isinstance(described, FeaturesDict):
        raise TypeError(f"features must be a mapping, got {type(features).__name__}")
    target = version_folder(directory, name, config, version)
    with output_folder(target) as unfinished:
        written = [
            _write_split(unfinished, name, split, examples, described, shard_bytes)
            for split, examples in splits.items()
        ]
        info: dict[str, Any] = {
            "name": name,
            "version": version,
            "configName": config,
            "description": description,
            "fileFormat": "tfrecord",
            "splits": written,
        }
        if supervised_keys is not None:
            source, output = supervised_keys
            info["supervisedKeys"] = {"input": source, "output": output}
        save(unfinished, {key: value for key, value in info.items() if value != ""}, described)
    return target


def version_folder(directory: str | os.PathLike[str], name: str, config: str, version: str) -> str:
    """Return the directory of a version of a dataset.

    Raises
    ------
    ValueError
        If a name is not valid.
    """
    if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
        raise ValueError(f"name must be of lower-case letters, digits and '_', got {name!a}")
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ValueError(f"version must be as '1.0.0', got {version!a}")
    if config and not re.fullmatch(r"[\w.+-]+", config):
        raise ValueError(f"config must be of letters, digits, '.', '+' and '-', got {config!a}")
    return os.path.join(os.fsdecode(local_path(directory)), *filter(None, (name, config, version)))


def save(directory: str, info: dict[str, Any], features: FeaturesDict) -> None:
    """Write the metadata of a dataset."""
    files = {
        INFO: json.dumps(info, indent=2),
        "features.json": json.dumps(features_to_json(features), indent=2),
    }
    for name, labels in features.named():
        if labels._names is not None:
            files[f"{name}.labels.txt"] = "".join(f"{each}\n" for each in labels.names)
    for name, text in files.items():
        write_file(os.path.join(directory, name), text.encode())


def _write_split(
    directory: str, name: str, split: str, examples: Iterable[Mapping[str, Any]],
    features: FeaturesDict, shard_bytes: int,
) -> dict[str, Any]:  # fmt: skip
    if not isinstance(split, str) or not re.fullmatch(r"[\w-]*\w[\w-]*", split) or split == "all":
        raise ValueError(f"splits must be named by letters and digits, got {split!a}")
    if not isinstance(examples, Iterable) or isinstance(examples, (str, bytes, Mapping)):
        raise TypeError(f"splits must have lists of examples, got {shown(examples)}")
    records = encoded(split, examples, features)
    parts: list[str] = []
    lengths: list[int] = []
    size = 0
    for record in records:
        parts.append(os.path.join(directory, f"{split}.part-{len(parts)}"))
        with fastrec.Writer(parts[-1]) as writer:
            count, written = _fill(writer, itertools.chain([record], records), shard_bytes)
        lengths.append(count)
        size += written
    whole = Document(None, directory)
    for shard, part in enumerate(parts):
        file = shard_name(whole, DEFAULT_TEMPLATE, name, split, shard, len(parts))
        _core.move(part, os.path.join(directory, file), False)
    return split_info(split, lengths, size)


def split_info(split: str, lengths: list[int], size: int) -> dict[str, Any]:
    """Return the description of a split in ``dataset_info.json``."""
    return {
        "name": split,
        "shardLengths": [str(length) for length in lengths],
        "numBytes": str(size),
        "filepathTemplate": DEFAULT_TEMPLATE,
    }


def _fill(writer: fastrec.Writer, records: Iterator[bytes], most: int) -> tuple[int, int]:
    """Write records until they have `most` bytes; return their number and size."""
    count = size = 0
    for record in records:
        writer.write(record)
        count, size = count + 1, size + len(record)
        if size >= most:
            break
    return count, size


def encoded(
    split: str, examples: Iterable[Mapping[str, Any]], features: FeaturesDict, start: int = 0
) -> Iterator[bytes]:
    """Yield the records of examples, which are numbered from `start` in messages."""
    for number, example in enumerate(examples, start):
        try:
            flat: dict[str, Any] = {}
            _flatten(features, "", example, 0, flat)
            record = fastrec.encode_example(flat)
        except (ValueError, TypeError, KeyError) as error:
            text = f"split {split!r}, example {number}: {error}"
            raise (TypeError if isinstance(error, TypeError) else ValueError)(text) from error
        yield record


def _flatten(feature: Connector, name: str, value: Any, rank: int, flat: dict[str, Any]) -> None:
    """Add the stored form of a value to `flat`, by name.

    A value within `rank` sequences is a list with `rank` levels of nesting.
    """
    if isinstance(feature, FeaturesDict):
        columns = _as_columns(feature, name, value, rank)
        for key, each in feature.items():
            _flatten(each, f"{name}/{key}" if name else key, columns[key], rank, flat)
    elif isinstance(feature, SequenceOf):
        if not isinstance(feature.feature, FeaturesDict) or isinstance(value, Mapping):
            _check_lengths(feature, name, value, rank)
        if isinstance(feature, Dataset) and not isinstance(value, (Mapping, np.ndarray)):
            value = list(value)
        _flatten(feature.feature, name, value, rank + 1, flat)
    else:
        assert isinstance(feature, Value)
        try:
            _put(feature, name, value, rank, flat)
        except (ValueError, TypeError) as error:
            raise reworded(error, f"feature {name!r}: {error}") from error


def _check_lengths(feature: SequenceOf, name: str, value: Any, rank: int) -> None:
    if feature.length is None or rank or isinstance(value, Mapping):
        return
    if len(value) != feature.length:
        raise ValueError(f"feature {name!r}: must have {feature.length} elements, got {len(value)}")


def _as_columns(feature: FeaturesDict, name: str, value: Any, rank: int) -> Mapping[str, Any]:
    """Return the values of a dictionary, or of nested lists of dictionaries, by name."""
    if isinstance(value, Mapping):
        missing = [key for key in feature if key not in value]
        extra = [key for key in value if key not in feature]
        where = f"feature {name!r}" if name else "the example"
        if extra:
            raise ValueError(f"{where} has {extra[0]!r}, which features do not name")
        if missing and not all(_is_optional(feature[key]) for key in missing):
            raise ValueError(f"{where} lacks {missing[0]!r}")
        return {key: value.get(key) for key in feature}
    if rank == 0:
        raise TypeError(f"feature {name!r} must be a mapping, got {type(value).__name__}")
    rows = [_as_columns(feature, name, each, rank - 1) for each in value]
    return {key: [row[key] for row in rows] for key in feature}


def _is_optional(feature: Connector) -> bool:
    return isinstance(feature, Value) and feature.default is not None


def _put(value: Value, name: str, given: Any, rank: int, flat: dict[str, Any]) -> None:
    lengths: list[list[int]] = [[] for _ in range(max(rank - 1, 0))]
    elements = list(_leaves(given, rank, lengths)) if rank else [given]
    encoded = [value.encode(each) for each in elements]
    if rank == 0 and encoded[0] is None:
        return
    suffix = "/ragged_flat_values" if rank > 1 else ""
    parts = {name: encoded}
    if value.is_dynamic:
        shapes = [np.shape(each) for each in elements]
        parts = {f"{name}/shape": shapes, f"{name}/value": encoded}
    for key, items in parts.items():
        strings = value.wire_dtype.kind == "O" and not key.endswith("/shape")
        flat[f"{key}{suffix}"] = (
            _strings(items) if strings else _numbers(items, value.wire_dtype.kind == "f")
        )
        for level, counts in enumerate(lengths):
            flat[f"{key}/ragged_row_lengths_{level}"] = np.array(counts, np.int64)


def _leaves(given: Any, rank: int, lengths: list[list[int]]) -> Iterator[Any]:
    """Yield the elements of nested lists, and add the length of each inner list to `lengths`."""
    if rank == 1:
        yield from given
        return
    for each in given:
        inner = list(each)
        lengths[-rank + 1].append(len(inner))
        yield from _leaves(inner, rank - 1, lengths)


def _strings(items: list[Any]) -> Bytes:
    flat: list[bytes] = []
    for item in items:
        for each in item.reshape(-1).tolist() if isinstance(item, np.ndarray) else [item]:
            if not isinstance(each, (str, bytes)):
                raise TypeError(f"must be str or bytes, got {type(each).__name__}")
            flat.append(each.encode() if isinstance(each, str) else each)
    return Bytes.from_list(flat)


def _numbers(items: list[Any], is_float: bool) -> Any:
    """Convert items to one array of int64 or float32, the number types of a record."""
    arrays = [np.asarray(item).reshape(-1) for item in items]
    joined = np.concatenate(arrays) if arrays else np.empty(0)
    if joined.dtype == np.uint64:
        return joined.view(np.int64)
    with np.errstate(over="ignore"):
        return joined.astype(np.float32 if is_float else np.int64)
