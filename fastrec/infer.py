# SPDX-License-Identifier: Apache-2.0
"""What is in record files that nobody described."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from .errors import ExampleParseError
from .features import Feature, FixedLenFeature, RaggedFeature, RawFeature
from .records import Reader, Source

__all__ = ["infer_features"]

_DTYPES: dict[str, Any] = {"bytes_list": bytes, "float_list": np.float32, "int64_list": np.int64}
_MAX_FEATURES = 65536


class _Survey:
    """What was seen of one feature."""

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self.counts: set[int] = set()
        self.sizes: list[int] = []  # of single bytes values, one a record
        self.values: list[tuple[int, ...]] = []  # of short int64 lists, one a record
        self.present = 0

    def add(self, kind: str, values: Any) -> None:
        self.kinds.add(kind)
        self.counts.add(len(values))
        self.present += 1
        if kind == "bytes_list" and len(values) == 1:
            self.sizes.append(len(values[0]))
        if kind == "int64_list" and 1 <= len(values) <= 8:
            self.values.append(tuple(values))

    def is_raw(self, shapes: _Survey) -> bool:
        """Whether every record's one bytes value is as long as that feature says, as a shape."""
        return (
            len(self.sizes) == self.present == shapes.present == len(shapes.values)
            and max(shapes.counts) >= 2
            and all(min(dims) > 0 for dims in shapes.values)
            and self.sizes == [math.prod(dims) for dims in shapes.values]
        )


def _survey(source: Source, limit: int) -> tuple[dict[str, _Survey], int]:
    from google.protobuf.message import DecodeError

    from .train import Example

    seen: dict[str, _Survey] = {}
    total = 0
    for record in itertools.islice(Reader(source), limit):
        try:
            example = Example.FromString(record)
        except DecodeError as error:
            wrong = ExampleParseError(f"record {total} is no tf.train.Example: {error}")
            wrong.record, wrong.kind = total, "malformed"
            raise wrong from None
        total += 1
        for key, feature in example.features.feature.items():
            kind = feature.WhichOneof("kind")
            if kind is not None:
                seen.setdefault(key, _Survey()).add(kind, getattr(feature, kind).value)
        if len(seen) > _MAX_FEATURES:
            raise ExampleParseError(f"more than {_MAX_FEATURES} different features")
    return seen, total


def _raw(key: str, seen: dict[str, _Survey]) -> RawFeature | None:
    """The feature as a uint8 array, when another one gives its shape in every record."""
    for other in (f"{key}/shape", f"{key}_shape", "shape", "image/shape"):
        shapes = seen.get(other)
        if shapes is not None and seen[key].is_raw(shapes):
            distinct = set(shapes.values)
            return RawFeature(distinct.pop() if len(distinct) == 1 else None, np.uint8)
    return None


def _feature(key: str, seen: dict[str, _Survey], total: int) -> Feature:
    survey = seen[key]
    if len(survey.kinds) > 1:
        kinds = " and ".join(sorted(survey.kinds))
        raise ExampleParseError(f"feature {key!a} is {kinds} in different records")
    raw = _raw(key, seen)
    if raw is not None:
        return raw
    dtype = _DTYPES[next(iter(survey.kinds))]
    if len(survey.counts) > 1 or survey.present < total or survey.counts == {0}:
        return RaggedFeature(dtype)
    count = next(iter(survey.counts))
    return FixedLenFeature(() if count == 1 else (count,), dtype)


def infer_features(source: Source, limit: int | None = 1000) -> dict[str, Feature]:
    """Describe the Examples in record files, ready for :class:`Batcher` or :func:`parse_example`.

    A feature with the same number of values in every record becomes a :class:`FixedLenFeature`,
    any other a :class:`RaggedFeature`. A bytes feature whose length is the product of an int64
    feature named ``shape`` (or ``<name>/shape``, ``<name>_shape``) in every record becomes a
    :class:`RawFeature` of uint8, of that shape when it is always the same.

    Parameters
    ----------
    source : path, glob pattern, list of these, or binary file object
    limit : int or None
        Records to look at, from the first on; None for all.

    Returns
    -------
    dict of str to feature
        By name, sorted.

    Raises
    ------
    ExampleParseError
        When a record is no Example, or a feature is of two kinds.

    Examples
    --------
    >>> import os, tempfile, numpy as np, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "one.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     image = np.zeros((2, 3), np.uint8)
    ...     writer.write({"image": image, "shape": image.shape, "label": 7})
    >>> for name, feature in infer_features(path).items():
    ...     print(name, feature)
    image RawFeature(shape=(2, 3), dtype=<class 'numpy.uint8'>, little_endian=True, ...)
    label FixedLenFeature(shape=(), dtype=<class 'numpy.int64'>, default_value=None)
    shape FixedLenFeature(shape=(2,), dtype=<class 'numpy.int64'>, default_value=None)
    """
    seen, total = _survey(source, _check_limit(limit))
    return {key: _feature(key, seen, total) for key in sorted(seen)}


def _check_limit(limit: int | None) -> Any:
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    return limit
