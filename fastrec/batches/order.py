# SPDX-License-Identifier: Apache-2.0
"""Which records every batch of a Batcher has, and what of that a state has to agree with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import _core
from ..errors import FastrecError
from ..records.record_files import RecordFiles, Source
from ..records.recovery import OnError
from .buckets import Buckets
from .checkpoint import Position, make_state, read_state, source_identity
from .mixture import Mixture
from .shard import find_shard

__all__ = ["Ordering"]


class Ordering:
    """The order of a Batcher over its files.

    Parameters
    ----------
    source : Source or Mixture
    fields : dict
        Of ``csrc/order.h``.
    auto_shard : bool
        Whether the shard is what :func:`find_shard` says, each time that an iterator is made.
    interleave : int or None
        Files side by side.
    buckets : Buckets or None
        What blocks of records are dealt into, for states to agree on.
    any_seed : bool
        Whether the seed was drawn at random, so that a state's takes its place.
    verify, on_error
        As of :class:`Reader`.
    """

    def __init__(
        self,
        source: Source | Mixture,
        fields: dict[str, Any],
        *,
        auto_shard: bool,
        interleave: int | None,
        buckets: tuple[Buckets, int] | None,
        any_seed: bool,
        verify: bool,
        on_error: OnError,
    ) -> None:
        self.fields = fields
        self.interleave = interleave
        self.any_seed = any_seed
        self._auto_shard = auto_shard
        self._buckets = buckets
        self.mixture = source if isinstance(source, Mixture) else None
        if isinstance(source, Mixture):
            groups = source.paths()
            self._groups = [len(group) for group in groups]
            source = [path for group in groups for path in group]
        self.files = RecordFiles(source, verify=verify, on_error=on_error)
        self._damage: dict[str, Any] = {"on_error": "raise"}
        if on_error != "raise":  # what is left out has no number
            name = on_error if isinstance(on_error, str) else "skip"
            self._damage = {"on_error": name, "verify": bool(verify)}
        self._native: _core.Order | None = None
        self._identity: dict[str, Any] | None = None

    @property
    def streams(self) -> bool:
        """Whether the records can only be had one after the other."""
        return self.files.sequential

    @property
    def dataset(self) -> _core.Dataset:
        """The records by their numbers."""
        return self.files.dataset()

    def settle(self) -> None:
        """Find out which shard this process is, if that was asked for."""
        if self._auto_shard and (shard := find_shard()) != self.fields["shard"]:
            self._change(shard=shard)

    def _change(self, **fields: Any) -> None:
        self.fields = {**self.fields, **fields}
        self._native = None

    def native(self) -> _core.Order:
        """The order as the core has it, over the files' index."""
        self.settle()
        if self._native is None:
            dataset = self.dataset
            counts = dataset.file_counts()
            self._native = _core.Order(
                len(dataset),
                self.fields,
                lanes=(counts, self.interleave) if self.interleave else None,
                parts=self._parts(counts),
                until_last=self.mixture is not None and self.mixture.until == "last",
            )
        return self._native

    def _parts(self, counts: list[int]) -> list[tuple[int, int, int]] | None:
        """First record, records and weight of each source of a mixture."""
        if self.mixture is None:
            return None
        parts, first = [], 0
        for files, weight in zip(self._groups, self.mixture.whole_weights, strict=True):
            count = sum(counts[:files])
            counts = counts[files:]
            parts.append((first, count, weight))
            first += count
        return parts

    def epoch_blocks(self) -> int:
        """Blocks of an epoch; 0 where they are not counted by epoch."""
        return 0 if self.fields["batch_across_epochs"] else self.native().epoch_batches

    def passes(self, serial: int) -> Any:
        """Which pass over its source each record of a block is of."""
        return self.native().passes(serial)

    def place_in_stream(self, number: int) -> tuple[Any, int, None]:
        """Where a record of a stream is: its file is known where there is only one."""
        return self.files.paths[0] if len(self.files.paths) == 1 else "", number, None

    # --- where it stands ------------------------------------------------------------------------

    def _described(self) -> dict[str, Any]:
        """What of the order a state depends on."""
        self.settle()
        order = {k: value for k, value in self.fields.items() if k not in ("epochs", "shard")}
        order |= {"shards": self.fields["shard"][1], "interleave": self.interleave, **self._damage}
        if self._buckets is not None:
            buckets, batch_size = self._buckets
            order["buckets"] = {**buckets.describe(), "batch_size": batch_size}
        if self.mixture is not None:
            shares = zip(self.mixture.whole_weights, self._groups, strict=True)
            order["mixture"] = [self.mixture.until, *map(list, shares)]
        return order

    def _source(self) -> dict[str, Any]:
        if self._identity is None:
            if self.files.file is not None:
                raise FastrecError(
                    "a file object is read once: name the file by its path to resume"
                )
            self._identity = source_identity(self.files.places)
        return self._identity

    def describe(self, position: Position) -> dict[str, Any]:
        """A state of this order at `position`."""
        return make_state(position, self._described(), self._source())

    def take(self, state: Mapping[str, Any]) -> Position:
        """Where a state stands; with any seed, its seed is taken over.

        Raises
        ------
        FastrecError
            With the reason, when the state is of other files, another order or another format.
        """
        position, seed = read_state(
            state, self._described(), self._source(), any_seed=self.any_seed
        )
        if seed != self.fields["seed"]:
            self._change(seed=seed)
        return position
