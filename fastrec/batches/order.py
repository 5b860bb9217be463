# SPDX-License-Identifier: Apache-2.0
"""The order of a Batcher: the records of its source, and their positions in an epoch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import CorruptRecordError, FastrecError, RandomAccessError, warn_caller
from ..parsing.dataset_columns import columns_of
from ..parsing.index_columns import names_of
from ..records.inflated_dataset import InflatedDataset
from ..records.record_files import RecordFiles, Source
from ..records.recovery import samples, skips_records, spread
from ..records.remote_dataset import RemoteDataset
from ..storage.options import StorageOptions
from .block_shuffle import BLOCK_BYTES, plan_blocks, plan_tail
from .buckets import Buckets
from .checkpoint import Start, make_state, read_state, source_identity
from .late_order import LateOrder
from .mixture import Mixture
from .selection import Selected

if TYPE_CHECKING:
    from .epoch_pass import HasPlaces
    from .options import Options

__all__ = ["OrderSpec", "Ordering"]

_MANY = 32  # minimum number of index requests that cause a warning
_FEW_BYTES = 16 << 20  # bytes of a dataset that every shard may read
_MOST_LANES = 16  # of a virtual shard, as in csrc/batch/sampler_blocks.c


@dataclass(frozen=True)
class OrderSpec:
    """Options that determine the records of each batch: ``fr_order`` of ``csrc/batch/order.h``.

    Attributes
    ----------
    shuffle : {"none", "records", "blocks", "buffer"}
    block, window, virtual_shards : int
        For ``"blocks"``: most records per block, blocks per window, and number of virtual shards.
        :func:`plan_blocks` chooses the number of virtual shards, and `block` if it is 0.
    buffer : int
        For ``"buffer"``: number of records in the buffer.
    epochs : int
        Number of epochs per pass; 0 for no end.
    shard : (index, count)
    batch_size : int
        Number of records to parse together: a batch, or a window of buckets.
    interleave : int or None
        Number of interleaved files.
    by_row : bool
        Whether single records are delivered.
    """

    shuffle: str = "none"
    block: int = 0
    window: int = 0
    virtual_shards: int = 0
    buffer: int = 0
    seed: int = 0
    reshuffle: bool = True
    epochs: int = 1
    shard: tuple[int, int] = (0, 1)
    uneven: str = "longer"
    batch_size: int = 1
    drop_remainder: bool = False
    batch_across_epochs: bool = False
    interleave: int | None = None
    by_row: bool = False

    @property
    def deal(self) -> int:
        """Number of positions that each shard takes per step; see ``csrc/batch/order.h``."""
        drifts = self.batch_across_epochs and self.uneven == "longer" and self.shard[1] > 1
        return 1 if self.by_row or drifts else self.batch_size

    def describe(self) -> dict[str, Any]:
        """Return the fields that must be equal in a state, in JSON types."""
        omitted = ("epochs", "shard", "by_row", "virtual_shards")
        return {key: value for key, value in vars(self).items() if key not in omitted}

    def epochs_from(self, first: int) -> Iterator[int]:
        """Yield the numbers of the epochs from `first` on, `epochs` of them."""
        epoch = first
        while self.epochs == 0 or epoch < first + self.epochs:
            yield epoch
            epoch += 1


class Ordering:
    """The records of a source in the order of a specification.

    Parameters
    ----------
    source : Source or Mixture
    options : Options

    Attributes
    ----------
    is_divided : bool
        Whether this process reads one of several shards.
    """

    def __init__(self, source: Source | Mixture, options: Options) -> None:
        self.spec: OrderSpec = options.order_spec()
        self._packing = None if options.packing is None else options.packing.describe()
        self._planned_batches = options.is_planned
        self.selection: Final = options.selection
        self.buckets: tuple[Buckets, int] | None = None
        if options.buckets is not None:
            self.buckets = options.buckets, options.batch_size or 1
        self.by_row: bool = options.batch_size is None
        self._parses = options.features is not None
        self._has_warned = False
        self.is_divided: bool = self.spec.shard[1] > 1
        self._indexes_for: bool | None = None
        self._finds_indexes = False
        self.mixture: Final = source if isinstance(source, Mixture) else None
        if self.mixture is not None and (self.selection.is_weighted or self.selection.order):
            raise ValueError("a Mixture, and weights, balance or order, are mutually exclusive")
        shards, on_error = options.shards, options.on_error
        if isinstance(source, Mixture):
            named = shards if options.manifest is None else "any"
            groups = source._paths(StorageOptions.of(options.storage_options), named)
            self._groups = [len(group) for group in groups]
            source = [path for group in groups for path in group]
            shards = "any"  # mixture._paths() has checked each source
        self.files: Final = RecordFiles(
            source,
            verify=options.verify,
            on_error=on_error,
            storage_options=options.storage_options,
            manifest=options.manifest,
            compression=options.compression,
            shards=shards,
            counts_damaged=True,
        )
        self._damage: dict[str, Any] = {"on_error": "raise"}
        if on_error != "raise":  # skipped records are not numbered
            name = on_error if isinstance(on_error, str) else "skip"
            self._damage = {"on_error": name, "verify": bool(options.verify)}

    @property
    def streams(self) -> bool:
        """Whether the records are read in sequence, by necessity or because it is faster.

        Remote and compressed files without an index are read in sequence if the order allows it.
        One of several shards reads them by number if they have indexes next to them: it then
        fetches and inflates little more than its shard.
        """
        by_number = self.is_drawn or self._is_planned
        if not by_number and self.files.remote and not self._has_indexes:
            return True  # whether the objects are compressed or not
        if self.files.sequential_source() is not None:
            return True
        if by_number:
            return False
        if self.files.are_packed:
            return not (self.is_divided and self.files.has_checkpoints)
        return not self._has_indexes

    @property
    def _has_indexes(self) -> bool:
        if self._indexes_for != self.is_divided:
            self._indexes_for = self.is_divided
            beside = self.is_divided and self.files.on_error == "raise"
            self._finds_indexes = self.files.is_indexed or (beside and self.files.has_index_beside)
        return self._finds_indexes

    @property
    def may_skip(self) -> bool:
        """Whether records with a position in the order may be skipped."""
        return skips_records(self.files.on_error) and (self._parses or not self.streams)

    @property
    def _is_planned(self) -> bool:
        """Whether records are selected by the columns of an index."""
        return bool(self.selection) or self._planned_batches

    @property
    def is_drawn(self) -> bool:
        """Whether the records of a shard depend on the seed."""
        shuffled = self.spec.shuffle in ("records", "blocks") or self.selection.is_weighted
        return shuffled or self.mixture is not None

    def check_random_access(self) -> None:
        """Raise if the source does not support the order.

        Raises
        ------
        RandomAccessError
            With the name of the first file that can only be read in sequence.
        """
        by_number = self.is_drawn or self._is_planned
        if by_number and (name := self.files.sequential_source()) is not None:
            what, hint = "a mixture", ""
            if self._is_planned:
                what = self.selection.option
                if self._planned_batches:
                    what = "buckets=" if self._packing is None else "packing="
            elif self.mixture is None:
                what = "shuffle=True" if self.spec.shuffle == "records" else "shuffle='blocks'"
                hint = "; shuffle=10000 shuffles through a buffer of that many records"
            raise RandomAccessError(
                f"{what} requires regular files given by path, all of them compressed or none, "
                f"and {name} can only be read in sequence{hint}"
            )
        if self.spec.shuffle == "records" and not self._fits_into_window:
            warn_caller(
                "shuffle=True asks an object store for every record by itself: shuffle='blocks' "
                "fetches whole blocks, StorageOptions(cache=...) makes local copies"
            )

    @property
    def _fits_into_window(self) -> bool:
        files = self.files
        self._warn_of_counting()  # with an index next to each object, their sizes are in these
        return files.is_local or files.remote_size <= files.storage.window_bytes

    @property
    def dataset(self) -> _core.Dataset | RemoteDataset:
        """The records by number."""
        return self.files.dataset()

    def _planned(self, spec: OrderSpec, count: int) -> OrderSpec:
        """Return the specification with the blocks of this dataset."""
        if spec.shuffle != "blocks":
            return spec
        # For a subset of the records, this size is approximate.
        size = self.dataset.size * count // max(1, len(self.dataset))
        least = (
            self.dataset.block_bytes if isinstance(self.dataset, InflatedDataset) else BLOCK_BYTES
        )
        block, shards = plan_blocks(spec.block, spec.window, count, size, least)
        lanes = shards * min(spec.window, _MOST_LANES)
        if spec.shard[1] > lanes and size > _FEW_BYTES and not self._has_warned:
            self._has_warned = True
            warn_caller(
                f"{spec.shard[1]} shards share {lanes} lanes of shuffle='blocks', so "
                "several of them read the same blocks; use fewer shards or smaller blocks: "
                f"BlockShuffle(block=...) below {block} records"
            )
        return replace(spec, block=block, virtual_shards=shards)

    def tail_of(self, spec: OrderSpec) -> int | None:
        """Return the number of records that are known in advance, None without blocks."""
        if self.selection or spec.shuffle != "blocks":
            return None
        spec = self._planned(spec, self.record_count)
        if spec.batch_across_epochs or spec.shard[1] == 1:
            return 0
        return plan_tail(spec.block, spec.window, spec.virtual_shards, spec.shard[1])

    def native(self, spec: OrderSpec, epoch: int = 0, used: int = 0) -> _core.Order:
        """Return the native order over the files' index, starting at a position of an epoch."""
        if epoch and self.mixture is not None and self.mixture.is_scheduled:
            raise FastrecError(
                f"a Mixture with until={self.mixture.until} has one epoch, got epoch {epoch}; a "
                "larger number of steps goes on"
            )
        selected = self.selected
        counts = selected.counts
        return _core.Order(
            counts,
            self._planned(spec, sum(counts)),
            selected=selected.subset,
            draws=selected.draws,
            first_epoch=epoch,
            start=used,
            parts=self._parts(counts),
            until_last=self.mixture is not None and self.mixture.until == "last",
            stages=self._stages(spec),
        )

    def late(self, spec: OrderSpec, epoch: int, used: int) -> LateOrder | None:
        """Return the order if objects can be counted as they are needed, otherwise None."""
        in_file_order = spec.shuffle in ("none", "buffer") and spec.interleave is None
        others = self.by_row or spec.batch_across_epochs or self.mixture or self._is_planned
        dataset = self.dataset if in_file_order and not others else None
        if not isinstance(dataset, RemoteDataset) or not dataset.uncounted:
            return None
        return LateOrder(dataset, spec, epoch, used, partial(self.native, spec, epoch, used))

    def _warn_of_counting(self) -> None:
        if self.files.is_local or self.files.on_error != "raise":
            return  # all objects are read, or copied
        dataset = self.dataset
        if isinstance(dataset, RemoteDataset) and dataset.uncounted >= _MANY:
            warn_caller(
                f"the order requires the number of all records, so the indexes of "
                f"{dataset.uncounted} objects are fetched with one request each; a dataset index, "
                "which fastrec index --dataset builds, takes a few requests for any number of "
                "objects"
            )

    @cached_property
    def selected(self) -> Selected:
        """The records to read: all, or the records that the selection contains.

        Raises
        ------
        FastrecError
            If the selection is empty.
        """
        self._warn_of_counting()
        counts = self.dataset.file_counts()
        if not self.selection:
            return Selected(None, counts, None, None)
        names = self.selection.names
        columns = columns_of(self.files, names, self.selection.option) if names else {}
        return self.selection.resolve(columns, self.files.paths, counts)

    @property
    def record_count(self) -> int:
        """Number of records to read, each counted once."""
        return sum(self.selected.counts)

    @cached_property
    def _mixture_stages(self) -> list[tuple[int, list[int]]]:
        """First step and weights of each stage of the mixture."""
        mixture = self.mixture
        assert mixture is not None
        if mixture.by is None:
            return mixture.stages
        [name] = names_of(mixture.by)
        column = columns_of(self.files, [name], "by=")[str(name)].values.astype(np.float64)
        if self.selected.numbers is not None:
            column = column[self.selected.numbers]
        sizes, first = [], 0
        counts = self.selected.counts
        for files in self._groups:
            count = sum(counts[:files])
            counts = counts[files:]
            sizes.append(float(column[first : first + count].mean()) if count else 1.0)
            first += count
        if min(sizes) <= 0:
            raise FastrecError(
                f"by must be a column with a sum above 0 in each source, got {sizes}"
            )
        return mixture._stages_of(sizes)

    def _stages(self, spec: OrderSpec) -> tuple[list[tuple[int, list[int]]], int] | None:
        """Return the first position of each stage of a mixture, and the positions in the epoch."""
        if self.mixture is None or not self.mixture.is_scheduled:
            return None
        size = spec.batch_size * spec.shard[1]
        stages = [(step * size, weights) for step, weights in self._mixture_stages]
        return stages, int(self.mixture.until) * size

    def _parts(self, counts: list[int]) -> list[tuple[int, int, int]] | None:
        """Return first record, number of records and weight of each source of a mixture."""
        if self.mixture is None:
            return None
        parts, first = [], 0
        weights = [max(weight, 1) for weight in self._mixture_stages[0][1]]
        for files, weight in zip(self._groups, weights, strict=True):
            count = sum(counts[:files])
            counts = counts[files:]
            parts.append((first, count, weight))
            first += count
        return parts

    def spread(self, count: int) -> NDArray[np.uint64]:
        """Return the numbers of up to `count` records from all parts of the source."""
        return self._numbers_at(spread(self.record_count, count))

    def samples(self) -> Iterator[NDArray[np.uint64]]:
        """Yield the numbers of records that represent the source, in a few parts."""
        is_remote = isinstance(self.dataset, RemoteDataset)
        return map(self._numbers_at, samples(self.record_count, is_remote=is_remote))

    def _numbers_at(self, places: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the numbers of the records at these places among the selected records."""
        selected = self.selected.numbers
        return places if selected is None else selected[places]

    def valid(self, numbers: NDArray[np.uint64]) -> tuple[list[bytes], NDArray[np.uint64]]:
        """Return the undamaged records among some records, and their numbers."""
        records, sound = [], []
        for number in numbers:
            try:
                records += list(self.dataset.take(np.array([number], np.uint64)))
            except CorruptRecordError:
                continue
            sound.append(number)
        return records, np.array(sound, np.uint64)

    def position_of(self, number: int, chain: HasPlaces | None) -> tuple[Any, int, int | None]:
        """Return file or range, number in it and offset of a record, as far as they are known.

        `chain` has returned the records of a stream.
        """
        if not self.streams:
            return self.dataset.position_of(number)
        if chain is None:
            return "", number, None
        file, record = chain.place_of(number)
        return self.files.place(file) if file < len(self.files.paths) else "", record, None

    # --- states ---------------------------------------------------------------------------------

    def _described(self, shards: int) -> dict[str, Any]:
        order = self.spec.describe() | self._damage | {"shards": shards}
        if self.buckets is not None:
            buckets, batch_size = self.buckets
            order["buckets"] = {**buckets.describe(), "batch_size": batch_size}
        if self._packing is not None:
            order["packing"] = dict(self._packing)
        if self.selection:
            order["selection"] = self._selection_identity
        if self.mixture is not None:
            if self.mixture.is_scheduled:
                order["mixture"] = self._groups
                order["schedule"] = [list(stage) for stage in self._mixture_stages]
            else:
                shares = zip(self._mixture_stages[0][1], self._groups, strict=True)
                order["mixture"] = [self.mixture.until, *map(list, shares)]
        return order

    @cached_property
    def _selection_identity(self) -> dict[str, Any]:
        """Options of the selection, and a checksum of the selected records."""
        numbers = self.selected.numbers
        crc = None if numbers is None else _core.crc32c(numbers.tobytes())
        return {**self.selection.describe(), "crc32c": crc}

    @cached_property
    def _source(self) -> dict[str, Any]:
        if self.files.file is not None:
            raise FastrecError("a file object is read once: name the file by its path to resume")
        return source_identity(self.files)

    def describe(self, start: Start, shards: int | None = None) -> dict[str, Any]:
        """Return a state of this order with the position `start`, for one of `shards` shards."""
        shards = self.spec.shard[1] if shards is None else shards
        return make_state(start, self._described(shards), self._source)

    def take(self, state: Mapping[str, Any], *, shards: int, any_seed: bool) -> tuple[Start, int]:
        """Return the position of a state, and its seed.

        Raises
        ------
        FastrecError
            If the state belongs to other files, another order or another format, with the reason.
        """
        return read_state(state, self._described(shards), self._source, any_seed=any_seed)
