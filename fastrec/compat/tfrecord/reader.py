# SPDX-License-Identifier: Apache-2.0
"""Reading Examples as dicts of arrays."""

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
    """Damage, as both libraries report it."""


class TruncatedReadError(RuntimeError, TruncatedFileError):
    """A file that ends inside of a record, as both libraries report it."""


def _raised(error: CorruptRecordError, compressed: bool) -> Exception:
    """The error that programs written for ``tfrecord`` catch, with its text where it has one."""
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
    compression = None if compression_type is None else "GZIP"
    path = os.fspath(data_path)
    with open(path, "rb"):  # the name of one file, never a pattern
        pass
    return fastrec.Reader([path], compression=compression, index=False)


def _lines(index_path: Any) -> int:
    """Number of records that a text index lists; the positions in it are not used."""
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
    """The records that a shard has; None for all."""
    if shard is None:
        return None
    which, count = shard
    _check_shard(which, count)
    if index_path is None and streams:
        return slice(which, None, count)  # the number of records is not known
    if streams:
        total = _lines(index_path)
    elif index_path is None:
        total = fastrec.count(os.fspath(data_path))
    else:
        total = len(fastrec.Index.read_text(data_path, index_path))
    last = streams and which == count - 1  # which has what an index does not know of
    return slice(total * which // count, None if last else total * (which + 1) // count)


def _blocks(
    data_path: Any, index_path: Any, shard: Shard, compression_type: str | None
) -> Iterator[fastrec.Bytes]:
    """The records of a file, or of one shard of it, in order."""
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
    """The records of a file as memoryviews, each the caller's to keep.

    Parameters
    ----------
    data_path : path
    index_path : path, optional
        Made by ``tfrecord2idx``.
    shard : (int, int), optional
        Read only part ``index`` of ``count``, of neighbouring records.
    compression_type : {None, "gzip"}

    Raises
    ------
    RuntimeError
        When the file is damaged or ends inside of a record: a
        :class:`fastrec.CorruptRecordError`, too.
    """
    for block in _blocks(data_path, index_path, shard, compression_type):
        data, offsets = block.data.data, block.offsets.tolist()
        for begin, end in itertools.pairwise(offsets):
            yield data[begin:end]


def process_feature(
    feature: Any, typename: str | None, typename_mapping: Mapping[str, str], key: str
) -> Any:
    """The value of a feature: bytes, or an array of one dimension.

    Raises
    ------
    TypeError
        When `typename` is another than it has.
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
    """The values of the features of a ``Features`` or ``FeatureLists`` message, by name.

    Raises
    ------
    KeyError
        When `description` names a feature that there is not.
    TypeError
        When one is of another type than `description` says.
    """
    found: dict[str, Any]
    if hasattr(features, "feature_list"):
        found = {key: each.feature for key, each in features.feature_list.items()}

        def value_of(key: str, typename: str | None) -> Any:
            return [process_feature(f, typename, typename_mapping, key) for f in found[key]]
    elif hasattr(features, "feature"):
        # A feature without a kind is one that is not there.
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
    """The features of each Example of a file.

    Parameters
    ----------
    data_path, index_path, shard, compression_type
        As for :func:`tfrecord_iterator`.
    description : list of str or dict of str, optional
        The features to read; with ``"byte"``, ``"float"`` or ``"int"`` as the values of a dict,
        which are checked. All by default.

    Yields
    ------
    dict of str to value
        ``bytes`` for one bytes value, an array of dtype ``S`` for any other number (of objects,
        where a value ends with a zero byte), of float32 or of int64; of one dimension.

    Raises
    ------
    RuntimeError
        When the file is damaged.
    KeyError, TypeError
        When a record is not as described.
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
    """The context and the feature lists of each SequenceExample of a file.

    Parameters
    ----------
    data_path, index_path, shard, compression_type
        As for :func:`tfrecord_iterator`.
    context_description, features_description : list of str or dict of str, optional
        As `description` of :func:`example_loader`.

    Yields
    ------
    context : dict of str to value
        As :func:`example_loader` has it.
    features : dict of str to list of value
        A value for each step.
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
    """:func:`example_loader`; :func:`sequence_loader` when `sequence_description` is not None."""
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
    """Records drawn from several files by weight.

    Parameters
    ----------
    data_pattern, index_pattern : str
        With a ``{}`` for the name of each split; there may be no index.
    splits : dict of str to float
        The weight of each.
    description, sequence_description, compression_type, shard
        As for :func:`tfrecord_loader`.
    infinite : bool
        Begin each file anew at its end.
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
