# SPDX-License-Identifier: Apache-2.0
"""Read records by number, with random image transforms that depend on seed, epoch and number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ExampleParseError, printable
from ..features.image import ImageFeature
from ..features.image_errors import reason
from ..features.spec import Feature
from ..parsing.parse import parse_example, parse_many

if TYPE_CHECKING:
    from ..records.reader import Reader

__all__ = ["EPOCH_BITS", "KeyedParser"]

EPOCH_BITS = 40
"""The key of an image has the number of its record in this many bits, and the epoch above it."""


class KeyedParser:
    """Reads records by number as a map-style dataset does, and transforms them as a Batcher does.

    Parameters
    ----------
    features : mapping of str to feature
    seed : int or None
        Seed of random transforms, which also depend on the epoch and the number of the record.

    Raises
    ------
    ValueError
        If a feature has random transforms and `seed` is None.
    """

    def __init__(self, features: Mapping[str, Feature], seed: int | None) -> None:
        self._random = {
            name: feature
            for name, feature in features.items()
            if isinstance(feature, ImageFeature) and feature.is_random
        }
        if self._random and seed is None:
            raise ValueError(f"feature {min(self._random)!a} has random transforms: pass seed")
        self._seed = seed or 0
        encoded = {name: feature.encoded for name, feature in self._random.items()}
        self._features = {**features, **encoded}
        parse_example([], self._features)  # refuses unusable features

    @property
    def is_random(self) -> bool:
        """Whether results depend on the epoch."""
        return bool(self._random)

    def __call__(
        self,
        reader: Reader,
        indices: Sequence[int] | NDArray[Any],
        epoch: int,
        threads: int | None = None,
    ) -> dict[str, Any]:
        """Return the records with these numbers in an epoch, as columns."""
        columns = parse_many(reader, indices, self._features, threads=threads)
        if not self._random:
            return columns
        count = len(reader)
        numbers = np.array([range(count)[index] for index in indices], np.uint64)
        keys = numbers + np.uint64(epoch % 2**24 << EPOCH_BITS)
        for name, feature in self._random.items():

            def fail(row: int, error: Exception, name: str = name) -> None:
                failure = ExampleParseError(reason(error), kind="image", feature=printable(name))
                path, record, offset = reader._files.dataset().position_of(int(numbers[row]))
                raise failure.in_record(record, path, offset) from error

            columns[name] = feature._decoder.decode(columns[name], keys, self._seed, fail)
        return columns
