# SPDX-License-Identifier: Apache-2.0
"""Open the threads that make the batches of a pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from .. import _core
from ..errors import FastrecError, warn_caller
from ..records.recovery import skips_records
from ..records.remote_dataset import RemoteDataset
from ..threads.pipeline import Pipeline
from .audit import Audit, AuditLog
from .epoch_pass import Pass
from .fetch_plans import Entries, FetchPlanner
from .options import Options
from .order import Ordering
from .pinned_memory import page_locked
from .planned import PlannedFeed, PlannedPass
from .postprocess import NativeFeed, Stage, Steps
from .remote_feed import RemoteFeed
from .stream import stream

__all__ = ["Feeds"]


class Feeds:
    """Makes the batches of a Batcher's passes, each on its own threads.

    The native loader makes batches of local files; if a step in Python follows, a pipeline takes
    its batches. Records of streams, of remote objects and of plans are parsed by a pipeline.

    Parameters
    ----------
    options : Options
    ordering : Ordering
    """

    def __init__(self, options: Options, ordering: Ordering) -> None:
        self._options, self._order = options, ordering
        self._steps = Steps(options)
        # Slabs are needed for the rings, for the batch that the consumer keeps, and for the next
        # batch that it requests.
        rings = 1 if self._steps.are_none else 2
        self._slabs = rings * options.depth + 2
        self._schema = _core.Schema(
            options.plan(), self._slabs, skips=skips_records(options.on_error)
        )
        sequences = self._steps.sequences
        self._audits = AuditLog([self._schema] if sequences is None else sequences.schemas)
        self._to_pin = bool(options.pin_memory)

    def open(self, run: Pass) -> tuple[_core.Loader | Pipeline, Audit]:
        """Start the threads of a pass; return the iterator over its batches, and its audit."""
        self._steps.begin()
        if self._options.is_planned:
            return self._open_planned(run)
        return self._open_stream(run) if self._order.streams else self._open_native(run)

    def close(self) -> None:
        """End the worker processes of the transform."""
        self._steps.close()

    def _pin(self, rows: int) -> None:
        if self._to_pin:
            self._to_pin = False
            for block in page_locked(self._schema.dense_size(rows), self._slabs):
                self._schema.lend(block)

    def _open_native(self, run: Pass) -> tuple[_core.Loader | Pipeline, Audit]:
        dataset = self._order.dataset
        if self._to_pin:
            self._pin(min(run.spec.batch_size, self._order.record_count))
        if run.spec.drop_remainder and run.native.find(0) is None:
            self._warn_if_none(run)
        stage = Stage(run, self._schema, self._steps)
        audit = Audit(self._audits, run, stage)
        if isinstance(dataset, RemoteDataset):
            entries = run.entries()
            entering = None if entries is None else Entries(run.spec.buffer, *entries)
            planner = FetchPlanner(dataset, run.native, entering, self._order.tail_of(run.spec))
            feed = RemoteFeed(dataset, planner)
            return self._pipeline(feed, stage.fetched), audit
        assert isinstance(run.native, _core.Order)
        loader = _core.Loader(
            dataset,
            self._schema,
            run.native,
            threads=self._options.workers,
            prefetch=self._options.depth,
            numbered=self._steps.need_keys,
            drop_behind=self._options.drop_behind and not self._options.selection,
        )
        if self._steps.are_none:
            return loader, audit
        return self._pipeline(NativeFeed(loader), stage.native), audit

    def _warn_if_none(self, run: Pass) -> None:
        if run.first == (run.start.begin, 0) and len(self._order.dataset):
            single = replace(run.spec, batch_size=1, epochs=1)
            warn_caller(
                f"drop_remainder=True leaves no batch of {run.spec.batch_size} records: an epoch "
                f"of this shard has {self._order.native(single).batches}"
            )

    def _open_stream(self, run: Pass) -> tuple[Pipeline, Audit]:
        order = self._order
        if order.files.file is not None and order.spec.epochs != 1:
            raise FastrecError(
                "a file object is read once: name the file by its path for more than one epoch"
            )
        if order.spec.interleave and not order.files.paths:
            raise FastrecError("interleave requires files that are named by path")
        self._pin(run.spec.batch_size)
        stage = Stage(run, self._schema, self._steps)
        return self._pipeline(stream(run), stage.streamed), Audit(self._audits, run, stage)

    def _pipeline(self, source: Any, function: Callable[[Any], Any]) -> Pipeline:
        options = self._options
        return Pipeline(source, function, threads=options.callers, depth=options.depth)

    def _open_planned(self, run: Pass) -> tuple[Pipeline, Audit]:
        assert isinstance(run, PlannedPass)
        options = self._options
        stage = Stage(run, self._schema, self._steps)
        if options.packing is not None:
            function: Any = partial(stage.packed, options.packing)
        else:
            assert options.buckets is not None
            function = partial(stage.bucketed, options.buckets)
        return self._pipeline(PlannedFeed(run), function), Audit(self._audits, run, stage)
