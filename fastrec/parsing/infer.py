# SPDX-License-Identifier: Apache-2.0
"""Inference of feature specifications from record files."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .. import _core
from ..errors import ExampleParseError
from ..features.column_spec import Feature
from ..features.raw import RawFeature
from ..features.spec import FixedLenFeature, RaggedFeature, plan_example
from ..records.reader import Reader, Source
from ..records.recovery import OnError
from ..records.shard_sets import Shards
from ..storage.options import StorageOptions
from .feature_stats import KINDS, Features, FeatureStats, shape_sources
from .parse import Records

__all__ = ["Features", "infer_features", "kinds_of"]

_MAX_FEATURES = 65536
_CHUNK_RECORDS = 128
_CHUNK_BYTES = 1 << 24
_DTYPES: tuple[Any, ...] = (bytes, np.float32, np.int64)


def _chunks(source: Source, limit: int | None, options: Any) -> Iterator[list[bytes]]:
    """Records, some at a time, not too many bytes of them."""
    chunk: list[bytes] = []
    size = 0
    for record in itertools.islice(Reader(source, **options), limit):
        chunk.append(record)
        size += len(record)
        if len(chunk) == _CHUNK_RECORDS or size >= _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _survey(
    source: Source, limit: int | None, options: dict[str, Any]
) -> tuple[dict[str, FeatureStats], int]:
    seen: dict[str, FeatureStats] = {}
    total = 0
    for chunk in _chunks(source, limit, options):
        survey = _core.Survey(total)
        survey.add(chunk)
        for raw_key, counts in survey.sightings().items():
            key = raw_key.decode("utf-8", "surrogateescape")
            seen.setdefault(key, FeatureStats()).add_kinds(counts)
            if len(seen) > _MAX_FEATURES:
                raise ExampleParseError(f"more than {_MAX_FEATURES} different features")
        _check_kinds(seen)
        _measure(seen, chunk)
        total += len(chunk)
    return seen, total


def _check_kinds(seen: dict[str, FeatureStats]) -> None:
    for key, stats in seen.items():
        kinds = stats.kinds
        if len(kinds) > 1:
            raise ExampleParseError(
                f"feature {key!a} is {' and '.join(kinds)} in different records"
            )


def _measure(seen: dict[str, FeatureStats], chunk: list[bytes]) -> None:
    """Measure counts, ranges and sizes of values, and find the shapes of arrays."""
    features: dict[str, Feature] = {
        key: RaggedFeature(_DTYPES[KINDS.index(stats.kinds[0])])
        for key, stats in seen.items()
        if stats.kinds
    }
    columns = _core.Schema(plan_example(features)).parse(chunk) if features else {}
    for key, column in columns.items():
        seen[key].add_values(column)
    for key, column in columns.items():
        if seen[key].is_one_string():
            sizes = np.diff(column.values.offsets)
            for shape in shape_sources(key, columns):
                seen[key].add_shape(shape, sizes)


def _feature(stats: FeatureStats, total: int) -> Feature:
    dtype = _DTYPES[KINDS.index(stats.kinds[0])]
    shape = stats.shape(total)
    if shape is not None and shape.item_size == 1:
        if shape.constant is not None:
            return RawFeature(shape.constant, np.uint8)
        return RawFeature(shape.names, np.uint8, shape_dtype=shape.dtype)
    if stats.fewest != stats.most or stats.present < total or stats.most == 0:
        return RaggedFeature(dtype)
    return FixedLenFeature(() if stats.most == 1 else (stats.most,), dtype)


def infer_features(
    source: Source,
    limit: int | None = 1000,
    *,
    on_error: OnError = "raise",
    storage_options: StorageOptions | Mapping[str, Any] | None = None,
    compression: str | None = "auto",
    shards: Shards = "complete",
) -> Features:
    """Describe the Examples in record files, ready for :class:`Batcher` or :func:`parse_example`.

    A feature with the same number of values in every record becomes a :class:`FixedLenFeature`,
    any other a :class:`RaggedFeature`. A bytes feature whose length is, in every record, what
    another feature says is an array of bytes becomes a :class:`RawFeature` of uint8: one named
    ``shape`` (or ``<name>/shape``, ``<name>_shape``), of integers or of raw int32, or several named
    ``height``, ``width`` and, where there are channels, ``channels`` or ``depth``. It has that
    shape when it is always the same, and takes it from those features otherwise.

    Parameters
    ----------
    source : path, glob pattern, list of these, or binary file object
    limit : int or None
        Records to look at, from the first on; None for all.
    on_error, storage_options, compression, shards
        As for :class:`Reader`.

    Returns
    -------
    Features
        A dict of features by name, sorted; ``print`` shows a table of what was seen, and its
        ``stats`` has that by name.

    Raises
    ------
    ExampleParseError
        When a record is no Example, or a feature is of two kinds.

    Examples
    --------
    >>> import os, tempfile, numpy as np, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "one.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     for label in range(3):
    ...         image = np.zeros((2, 3), np.uint8)
    ...         writer.write({"image": image, "shape": image.shape, "label": label})
    >>> features = infer_features(path)
    >>> print(features)
    name   kind        values  present  range   read as
    image  bytes_list       1    100 %  6 bytes RawFeature((2, 3), uint8)
    label  int64_list       1    100 %  0 to 2  FixedLenFeature((), int64)
    shape  int64_list       2    100 %  2 to 3  FixedLenFeature((2,), int64)
    >>> next(iter(fastrec.Batcher(path, features, batch_size=3)))["image"].shape
    (3, 2, 3)
    """
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}")
    options = {
        "on_error": on_error,
        "storage_options": storage_options,
        "compression": compression,
        "shards": shards,
    }
    seen, total = _survey(source, limit, options)
    found = {key: _feature(seen[key], total) for key in sorted(seen) if seen[key].kinds}
    return Features(found, {key: seen[key] for key in found}, total)


def kinds_of(records: Records) -> dict[str, tuple[int, int, int, int]]:
    """In how many records each feature is without a kind, of bytes, of floats and of integers.

    Parameters
    ----------
    records : iterable of bytes-like, or Bytes
        Serialized Examples.

    Returns
    -------
    dict
        By feature. Of several values of one feature in a record the last counts.

    Raises
    ------
    ExampleParseError
        When a record is no Example.

    Examples
    --------
    >>> import fastrec
    >>> kinds_of([fastrec.encode_example({"a": 1}), fastrec.encode_example({"a": [2.0, 3.0]})])
    {'a': (0, 0, 1, 1)}
    """
    survey = _core.Survey()
    survey.add(_core.as_records(records))
    return {
        key.decode("utf-8", "surrogateescape"): counts for key, counts in survey.sightings().items()
    }
