# SPDX-License-Identifier: Apache-2.0
"""Read records by number, with random image transforms that depend on seed, epoch and number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ..columns import take_rows
from ..errors import ExampleParseError, FastrecError, printable
from ..features.image import ImageFeature, encoded_images
from ..features.image_errors import reason
from ..features.spec import Feature
from ..parsing.by_number import read_columns, without
from ..parsing.parse import Misfits, parse_example
from ..records.reader import record_numbers

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
        self._images = {
            name: each for name, each in features.items() if isinstance(each, ImageFeature)
        }
        random = [name for name, image in self._images.items() if image.is_random]
        if random and seed is None:
            raise ValueError(f"feature {min(random)!a} has random transforms: pass seed")
        self.is_random: Final = bool(random)
        self._seed = seed or 0
        self._features = encoded_images(features)
        parse_example([], self._features)  # refuses unusable features

    def __call__(
        self,
        reader: Reader,
        indices: Sequence[int] | NDArray[Any],
        epoch: int,
        threads: int | None = None,
        misfits: Misfits | None = None,
    ) -> dict[str, Any]:
        """Return the records with these numbers in an epoch, as columns.

        With `misfits`, records that cannot be used are left out, and their places in `indices` and
        errors are added to it.
        """
        dataset = reader._files.dataset()
        numbers = record_numbers(indices, len(dataset))
        columns = read_columns(dataset, numbers, self._features, threads, misfits)
        if not self._images:
            return columns
        rows = without(np.arange(len(numbers)), misfits)
        keys = numbers[rows] + np.uint64(epoch % 2**24 << EPOCH_BITS)
        bad: dict[int, FastrecError] = {}
        for name, feature in self._images.items():

            def fail(row: int, error: Exception, name: str = name) -> None:
                failure = ExampleParseError(reason(error), kind="image", feature=printable(name))
                path, record, offset = dataset.position_of(int(numbers[rows[row]]))
                failure = failure.in_record(record, path, offset)
                if misfits is None:
                    raise failure from error
                bad.setdefault(row, failure)

            columns[name] = feature._decoder.decode(columns[name], keys, self._seed, fail)
        if misfits is not None and bad:
            kept = np.delete(np.arange(len(rows)), [*bad])
            columns = {name: take_rows(column, kept) for name, column in columns.items()}
            misfits += [(int(rows[row]), failure) for row, failure in bad.items()]
            misfits.sort(key=itemgetter(0))
        return columns
