# SPDX-License-Identifier: Apache-2.0
"""Read Examples as dicts of arrays."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

import fastrec
from fastrec.errors import CorruptRecordError, TruncatedFileError

from . import iterator_utils
from ._columns import rows_of, string_array

__all__ = [
    "example_loader",
    "extract_feature_dict",
    "multi_tfrecord_loader",
    "process_feature",
    "sequence_loader",
    "tfrecord_iterator",
    "tfrecord_loader",
]

Description = list[str] | dict[str, str] | None
Shard = tuple[int, int] | None
TYPES = {"byte": "bytes_list", "float": "float_list", "int": "int64_list"}

_BLOCK = 256
_HEADER = 12


class ReadError(RuntimeError, CorruptRecordError):
    """Damage; an error of both libraries."""


class TruncatedReadError(RuntimeError, TruncatedFileError):
    """A file that ends within a record; an error of both libraries."""


def _raised(error: CorruptRecordError, compressed: bool) -> Exception:
    """Return the error that programs for ``tfrecord`` catch, with its message where it has one."""
    if not isinstance(error, TruncatedFileError):
        found: Any = ReadError(str(error))
    else:
        part = {"torn-data": "record", "torn-footer": "end token"}.get(error.kind, "record size")
        if error.kind == "torn-header" and not compressed and error.path is not None:
            left = os.path.getsize(error.path) - (error.offset or 0)
            part = "start token" if 8 <= left < _HEADER else part
        found = TruncatedReadError(f"Failed to read the {part}.")
    found.__dict__.update(vars(error))
    return found  # type: ignore[no-any-return]


def _reader(data_path: Any, compression_type: str | None) -> fastrec.Reader:
    if compression_type not in (None, "gzip"):
        raise ValueError("compression_type should be either 'gzip' or None")
    path = os.fspath(data_path)
    with open(path, "rb"):  # the name of one file, not a pattern
        pass
    return fastrec.Reader([path], compression="GZIP" if compression_type else None, index=False)


def _lines(index_path: Any) -> int:
    """Return the number of records in a text index, whose positions are not used."""
    with open(index_path, "rb") as file:
        parts = [line.split() for line in file if line.strip()]
    if any(len(each) != 2 or not all(part.isdigit() for part in each) for each in parts):
        raise ValueError(f"the index {os.fspath(index_path)!r} is not lines of two numbers")
    return len(parts)


def _check_shard(which: int, count: int) -> None:
    if count < 1:
        raise ValueError(f"there are no {count} shards")
    if not 0 <= which < count:
        raise IndexError(f"shard {which} of {count}")


def _numbers(data_path: Any, index_path: Any, shard: Shard, streams: bool) -> slice | None:
    """Return the records of a shard; None for all records."""
    if shard is None:
        return None
    which, count = shard
    _check_shard(which, count)
    if index_path is None and streams:
        return slice(which, None, count)  # the number of records is unknown
    if streams:
        total = _lines(index_path)
    elif index_path is None:
        total = fastrec.count(os.fspath(data_path))
    else:
        total = len(fastrec.Index.read_text(data_path, index_path))
    last = streams and which == count - 1  # the last shard includes records that the index lacks
    return slice(total * which // count, None if last else total * (which + 1) // count)


def _blocks(
    data_path: Any, index_path: Any, shard: Shard, compression_type: str | None
) -> Iterator[fastrec.Bytes]:
    """Yield the records of a file, or of one of its shards, in order."""
    streams = compression_type is not None
    reader = _reader(data_path, compression_type)
    numbers = _numbers(data_path, index_path, shard, streams)
    try:
        if numbers is None:
            yield from reader.blocks(_BLOCK)
        elif streams:
            picked = itertools.islice(reader, numbers.start, numbers.stop, numbers.step)
            while block := list(itertools.islice(picked, _BLOCK)):
                yield fastrec.Bytes.from_list(block)
        else:
            for first in range(numbers.start, numbers.stop, _BLOCK):
                yield reader.read_many(np.arange(first, min(first + _BLOCK, numbers.stop)))
    except CorruptRecordError as error:
        raise _raised(error, streams) from error


def tfrecord_iterator(
    data_path: Any,
    index_path: Any = None,
    shard: Shard = None,
    compression_type: str | None = None,
) -> Iterator[memoryview]:
    """Yield the records of a file as memoryviews that the caller may keep.

    Parameters
    ----------
    data_path : path
    index_path : path, optional
        An index that ``tfrecord2idx`` wrote.
    shard : (int, int), optional
        Read only part ``index`` of ``count``; a part consists of consecutive records.
    compression_type : {None, "gzip"}

    Raises
    ------
    RuntimeError
        If the file is damaged or ends within a record. The error is also a
        :class:`fastrec.CorruptRecordError`.
    """
    for block in _blocks(data_path, index_path, shard, compression_type):
        data, offsets = block.data.data, block.offsets.tolist()
        for begin, end in itertools.pairwise(offsets):
            yield data[begin:end]


def process_feature(
    feature: Any, typename: str | None, typename_mapping: Mapping[str, str], key: str
) -> Any:
    """Return the value of a feature: bytes, or an array of one dimension.

    Raises
    ------
    TypeError
        If the feature does not have the type `typename`.
    """
    kind = feature.WhichOneof("kind")
    if kind is None:
        raise KeyError(f"Key {key} doesn't exist (it has no kind)!")
    if typename is not None and typename_mapping[typename] != kind:
        names = {name: word for word, name in typename_mapping.items()}
        raise TypeError(f"Incompatible type '{typename}' for `{key}` (should be '{names[kind]}').")
    values = getattr(feature, kind).value
    if kind == "bytes_list":
        return values[0] if len(values) == 1 else string_array(list(values))
    return np.array(values, dtype=np.float32 if kind == "float_list" else np.int64)


def _wanted(description: Description, keys: list[str]) -> dict[str, str | None]:
    if not description:
        return dict.fromkeys(keys)
    return dict.fromkeys(description) if isinstance(description, list) else {**description}


def extract_feature_dict(
    features: Any, description: Description, typename_mapping: Mapping[str, str]
) -> dict[str, Any]:
    """Return the values of a ``Features`` or ``FeatureLists`` message, by name.

    Raises
    ------
    KeyError
        If a feature of `description` is missing.
    TypeError
        If a feature has another type than in `description`.
    """
    found: dict[str, Any]
    if hasattr(features, "feature_list"):
        found = {key: each.feature for key, each in features.feature_list.items()}

        def value_of(key: str, typename: str | None) -> Any:
            return [process_feature(f, typename, typename_mapping, key) for f in found[key]]
    elif hasattr(features, "feature"):
        # A feature without a kind counts as missing.
        found = {key: f for key, f in features.feature.items() if f.WhichOneof("kind")}

        def value_of(key: str, typename: str | None) -> Any:
            return process_feature(found[key], typename, typename_mapping, key)
    else:
        raise TypeError(
            "Incompatible type: features should be either of type example_pb2.Features or "
            f"example_pb2.FeatureLists and not {type(features)}"
        )
    values = {}
    for key, typename in _wanted(description, list(found)).items():
        if key not in found:
            raise KeyError(f"Key {key} doesn't exist (select from {list(found)})!")
        values[key] = value_of(key, typename)
    return values


def example_loader(
    data_path: Any,
    index_path: Any,
    description: Description = None,
    shard: Shard = None,
    compression_type: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the features of each Example of a file.

    Parameters
    ----------
    data_path, index_path, shard, compression_type
        As for :func:`tfrecord_iterator`.
    description : list of str or dict of str, optional
        The features to read; all by default. The values of a dict are ``"byte"``, ``"float"`` or
        ``"int"``, and are checked.

    Yields
    ------
    dict of str to value
        ``bytes`` for one bytes value; otherwise an array of one dimension, of dtype ``S`` (object
        if a value ends with a zero byte), float32 or int64.

    Raises
    ------
    RuntimeError
        If the file is damaged.
    KeyError, TypeError
        If a record does not match `description`.
    """
    wanted = _wanted(description, []) if description else None
    names = {key: word and TYPES.get(word, word) for key, word in (wanted or {}).items()}
    for block in _blocks(data_path, index_path, shard, compression_type):
        rows = rows_of(block, names if wanted else None)
        yield from _one_by_one(block, description) if rows is None else rows


def _one_by_one(records: Iterable[bytes], description: Description) -> Iterator[dict[str, Any]]:
    from fastrec.train import Example

    for record in records:
        features = Example.FromString(record).features
        yield extract_feature_dict(features, description, TYPES)


def sequence_loader(
    data_path: Any,
    index_path: Any,
    context_description: Description = None,
    features_description: Description = None,
    shard: Shard = None,
    compression_type: str | None = None,
) -> Iterator[tuple[dict[str, Any], dict[str, list[Any]]]]:
    """Yield the context and the feature lists of each SequenceExample of a file.

    Parameters
    ----------
    data_path, index_path, shard, compression_type
        As for :func:`tfrecord_iterator`.
    context_description, features_description : list of str or dict of str, optional
        As `description` of :func:`example_loader`.

    Yields
    ------
    context : dict of str to value
        As for :func:`example_loader`.
    features : dict of str to list of value
        One value per step.
    """
    from fastrec.train import SequenceExample

    for block in _blocks(data_path, index_path, shard, compression_type):
        for record in block:
            message = SequenceExample.FromString(record)
            context = extract_feature_dict(message.context, context_description, TYPES)
            lists = extract_feature_dict(message.feature_lists, features_description, TYPES)
            yield context, lists


def tfrecord_loader(
    data_path: Any,
    index_path: Any,
    description: Description = None,
    shard: Shard = None,
    sequence_description: Description = None,
    compression_type: str | None = None,
) -> Iterator[Any]:
    """Call :func:`sequence_loader` if `sequence_description` is set, or :func:`example_loader`."""
    if sequence_description is None:
        return example_loader(data_path, index_path, description, shard, compression_type)
    return sequence_loader(
        data_path, index_path, description, sequence_description, shard, compression_type
    )


def multi_tfrecord_loader(
    data_pattern: str,
    index_pattern: str | None,
    splits: Mapping[str, float],
    description: Description = None,
    sequence_description: Description = None,
    compression_type: str | None = None,
    infinite: bool = True,
    shard: Shard = None,
) -> Iterator[Any]:
    """Yield records of several files, drawn by weight.

    Parameters
    ----------
    data_pattern, index_pattern : str
        Patterns with ``{}`` for the name of a split; the index is optional.
    splits : dict of str to float
        The weight of each split.
    description, sequence_description, compression_type, shard
        As for :func:`tfrecord_loader`.
    infinite : bool
        Whether to restart each file at its end.
    """
    loaders = [
        functools.partial(
            tfrecord_loader,
            data_path=data_pattern.format(split),
            index_path=None if index_pattern is None else index_pattern.format(split),
            description=description,
            shard=shard,
            sequence_description=sequence_description,
            compression_type=compression_type,
        )
        for split in splits
    ]
    return iterator_utils.sample_iterators(loaders, list(splits.values()), infinite=infinite)
