# SPDX-License-Identifier: Apache-2.0
"""Mix several sources in one stream of batches, each by its weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, lcm
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from ..arguments import check_fields, check_int, check_types
from ..records.paths import expand
from ..records.shard_sets import Shards
from ..storage.options import StorageOptions
from ..storage.remote import RemoteFile

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Mixture"]


class MixtureOptions(TypedDict, total=False):
    """Fields of a :class:`Mixture` except the sources and their weights."""

    until: Literal["first", "last"] | int
    schedule: Sequence[tuple[int, Sequence[float]]]
    linear: bool
    by: str | None


_MOST = 4096  # FR_WEIGHTS_MAX
_ROUND = 1024  # records per round if weights are rounded
_LINEAR_STAGES = 32  # stages of constant weights that approximate a linear change


@dataclass(frozen=True)
class Mixture:
    """A mixture of sources with the same features; a source for a :class:`Batcher`.

    Records are read in rounds. The weights are converted to whole numbers, and their sum is the
    number of records in a round. A round contains exactly each source's share, in random order. A
    source that is exhausted starts again, with ``shuffle=True`` in another order. A source that is
    not exhausted at the end of an epoch continues in the next epoch.

    Parameters
    ----------
    sources : sequence of sources
        Each one is a path, a pattern or a list of these. Either all or none are compressed.
    weights : sequence of numbers
        Share of each source; 0.7 and 0.3 are the same as 7 and 3.
    until : {"first", "last"} or int
        End of an epoch: when the first source is exhausted, when the last source is, or after this
        number of global steps. With a number, which `schedule` requires, there is only one epoch.
    schedule : sequence of (int, sequence of numbers)
        Pairs of a global step and the weights from this step on, in ascending order. A global
        step is a batch of all shards. A weight may be 0.
    linear : bool
        Whether to change the weights evenly from one entry of `schedule` to the next, in 32 stages,
        instead of in one step.
    by : str, optional
        The quantity to share out: records by default, or the sum of a column of the index, such as
        ``"len(tokens)"``.

    Examples
    --------
    >>> Mixture(["web-*.tfrecord", "books.tfrecord"], [0.75, 0.25]).whole_weights
    [3, 1]
    >>> changing = Mixture(
    ...     ["web-*.tfrecord", "code.tfrecord"], [3, 1], until=50_000, schedule=[(40_000, [1, 1])]
    ... )
    >>> changing.stages
    [(0, [3, 1]), (40000, [1, 1])]
    """

    sources: Sequence[Any]
    weights: Sequence[float]
    until: Literal["first", "last"] | int = "first"
    schedule: Sequence[tuple[int, Sequence[float]]] = ()
    linear: bool = False
    by: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("sources", "weights", "schedule"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if not self.sources or len(self.sources) != len(self.weights):
            raise ValueError(
                f"weights must be one number a source, got {len(self.weights)} for "
                f"{len(self.sources)} sources"
            )
        if self.until not in ("first", "last"):
            object.__setattr__(self, "until", check_int("until", self.until, 1, 2**40))
        elif self.schedule:
            raise ValueError(f"schedule requires until, the number of steps, got {self.until!r}")
        least = 0 if self.schedule else 2**-1074  # a source may start in a later stage
        valid = all(least <= weight < float("inf") for weight in self.weights)
        if not valid or not any(self.weights):
            raise ValueError(f"weights must be above 0, got {list(self.weights)!r}")
        self._check_schedule()
        self.stages  # noqa: B018 - refuses weights that cannot be

    def _check_schedule(self) -> None:
        before, schedule = 0, []
        for step, weights in self.schedule:
            step = check_int("a step of schedule", step, -(2**62), 2**62)
            schedule.append((step, weights))
            if step <= before:
                raise ValueError(f"schedule must have ascending steps above 0, got {step!r}")
            if len(weights) != len(self.sources):
                raise ValueError(
                    f"schedule must have {len(self.sources)} weights at step {step}, got "
                    f"{weights!r}"
                )
            if not all(0 <= weight < float("inf") for weight in weights) or not any(weights):
                raise ValueError(
                    f"schedule must have weights of at least 0, not all 0, got {list(weights)!r}"
                )
            before = step
        object.__setattr__(self, "schedule", tuple(schedule))

    @classmethod
    def by_size(
        cls, sources: Sequence[Any], *, temperature: float = 1.0, **options: Unpack[MixtureOptions]
    ) -> Mixture:
        """Return a mixture of sources weighted by their number of records, which is counted now.

        Parameters
        ----------
        sources : sequence of sources
        temperature : float
            Weights are ``records ** (1 / temperature)``: 1 mixes in proportion to the size, and a
            large number mixes evenly.
        **options
            The other parameters of a Mixture.
        """
        check_types(Mixture.by_size, {"sources": sources, "temperature": temperature})
        from ..records.verify import count

        if temperature <= 0:
            raise ValueError(f"temperature must be above 0, got {temperature!r}")
        weights = [count(source) ** (1 / temperature) for source in sources]
        total = sum(weights)
        return cls(sources, [max(w / total, 1 / (_MOST // 4)) for w in weights], **options)

    @property
    def is_scheduled(self) -> bool:
        """Whether the mixture ends after a number of global steps."""
        return isinstance(self.until, int)

    @property
    def whole_weights(self) -> list[int]:
        """The first weights as whole numbers, as small as possible."""
        return self._whole(self.weights)

    @property
    def stages(self) -> list[tuple[int, list[int]]]:
        """The first global step of each stage, and its weights as whole numbers."""
        return self._stages_of([1.0] * len(self.sources))

    def _stages_of(self, sizes: Sequence[float]) -> list[tuple[int, list[int]]]:
        """Return the stages for sources whose records have these sizes on average."""
        entries = [(0, self.weights), *self.schedule]
        stages: list[tuple[int, Sequence[float]]] = []
        for number, (step, weights) in enumerate(entries):
            stages.append((step, weights))
            if self.linear and number + 1 < len(entries):
                end, later = entries[number + 1]
                pieces = min(_LINEAR_STAGES, end - step)
                for piece in range(1, pieces):
                    part = piece / pieces
                    between = [a + (b - a) * part for a, b in zip(weights, later, strict=True)]
                    stages.append((step + (end - step) * piece // pieces, between))
        scaled = []
        for step, weights in stages:
            scaled.append((step, self._whole([w / s for w, s in zip(weights, sizes, strict=True)])))
        return scaled

    def _whole(self, weights: Sequence[float]) -> list[int]:
        """Return weights as whole numbers, as small as possible."""
        from fractions import Fraction

        ratios = [Fraction(weight) for weight in weights]
        total = sum(ratios)
        limit = _MOST // 2 if not (self.is_scheduled or self.by) else _ROUND
        ratios = [(ratio / total).limit_denominator(limit) for ratio in ratios]
        common = lcm(*(ratio.denominator for ratio in ratios))
        if common > _MOST and (self.is_scheduled or self.by):  # rounds must have a fixed size
            common = _ROUND
        whole = [round(ratio * common) for ratio in ratios]
        whole = [
            max(weight, 1) if ratio else 0 for weight, ratio in zip(whole, ratios, strict=True)
        ]
        whole = [weight // gcd(*whole) for weight in whole]
        if min(whole) < (not self.is_scheduled) or sum(whole) > _MOST:
            raise ValueError(
                f"weights must have a ratio of whole numbers that sum up to at most {_MOST}, got "
                f"{list(weights)!r}; round them"
            )
        return whole

    def _paths(
        self, storage: StorageOptions | None, shards: Shards
    ) -> list[list[str | bytes | RemoteFile]]:
        """Return the files of each source."""
        late = storage is None or storage.cache is None
        return [expand(source, storage, shards=shards, late=late) for source in self.sources]
