# SPDX-License-Identifier: Apache-2.0
"""Several sources in one stream of batches, each by its weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, lcm
from typing import Any, Literal

from ..records.paths import expand
from ..records.shard_sets import Shards
from ..storage.options import StorageOptions
from ..storage.remote import RemoteFile

__all__ = ["Mixture"]

_MOST = 4096  # FR_WEIGHTS_MAX


@dataclass(frozen=True)
class Mixture:
    """Sources to be mixed: a source for a :class:`Batcher`, all of them with the same features.

    Records come in rounds of as many as the weights, brought to whole numbers, sum up to; a round
    has exactly each source's share, in random order. A source that is through begins again, with
    ``shuffle=True`` in another order, and one that is not through when the epoch ends goes on in
    the next.

    Parameters
    ----------
    sources : sequence of sources
        Each a path, a pattern or a list of these; all of them compressed or none.
    weights : sequence of numbers
        How often each is drawn; 0.7 and 0.3 are the same as 7 and 3.
    until : {"first", "last"}
        An epoch ends when the first of the sources is through, or when the last is.

    Examples
    --------
    >>> Mixture(["web-*.tfrecord", "books.tfrecord"], [0.75, 0.25]).whole_weights
    [3, 1]
    """

    sources: Sequence[Any]
    weights: Sequence[float]
    until: Literal["first", "last"] = "first"

    def __post_init__(self) -> None:
        if isinstance(self.sources, (str, bytes)):
            raise TypeError(f"sources must be a list of sources, got {self.sources!r}")
        if not self.sources or len(self.sources) != len(self.weights):
            raise ValueError(
                f"weights must be one number a source, got {len(self.weights)} for "
                f"{len(self.sources)} sources"
            )
        if self.until not in ("first", "last"):
            raise ValueError(f"until must be 'first' or 'last', got {self.until!r}")
        if not all(weight > 0 and weight < float("inf") for weight in self.weights):
            raise ValueError(f"weights must be above 0, got {list(self.weights)!r}")
        self.whole_weights  # noqa: B018 - refuses those that cannot be

    @property
    def whole_weights(self) -> list[int]:
        """The weights as whole numbers, as small as can be."""
        from fractions import Fraction

        ratios = [Fraction(weight) for weight in self.weights]
        total = sum(ratios)
        ratios = [(ratio / total).limit_denominator(_MOST // 2) for ratio in ratios]
        common = lcm(*(ratio.denominator for ratio in ratios))
        whole = [int(ratio * common) for ratio in ratios]
        whole = [weight // gcd(*whole) for weight in whole]
        if min(whole) < 1 or sum(whole) > _MOST:
            raise ValueError(
                f"weights must have a ratio of whole numbers that sum up to at most {_MOST}, got "
                f"{list(self.weights)!r}; round them"
            )
        return whole

    def paths(
        self, storage: StorageOptions | None, shards: Shards
    ) -> list[list[str | bytes | RemoteFile]]:
        """Return the files of each source."""
        return [expand(source, storage, shards=shards) for source in self.sources]
