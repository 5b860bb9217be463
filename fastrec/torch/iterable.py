# SPDX-License-Identifier: Apache-2.0
"""A Batcher as an iterable dataset; each record goes to one worker of one rank."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import torch
import torch.distributed
import torch.utils.data

from .. import Batcher, FastrecError, Skipped, find_shard
from ..batches.block_shuffle import Shuffle
from ..errors import warn_caller
from .epochs import EpochLog, new_pass, pass_of_worker
from .ranks import RankCheck, RankedPass, has_other_ranks
from .tensors import RAGGED, Batch, RaggedAs, to_tensors
from .watch import check_not_lost, watch_starting_loader

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..batches.option_types import FurtherOptions

__all__ = ["IterableDataset"]

_TWICE = (
    "this fastrec.torch.IterableDataset already takes the share of its process (shard='auto'), and "
    "accelerate would share it out again, which loses records: give accelerate a "
    "fastrec.torch.Dataset, or do not prepare() this DataLoader and iterate over "
    "fastrec.torch.prefetch_to(loader, accelerator.device)"
)


class _Resume(NamedTuple):
    """A state from which the next pass resumes."""

    state: Mapping[str, Any]
    entry: int | None
    """In the log; None in a worker, which has a state of its own from a StatefulDataLoader."""
    has_epoch: bool = False
    """Whether set_epoch() has asked for the epoch of the state."""


class _Pass(Iterator[Any]):
    """The batches of one pass. It starts with the first batch; in workers it starts immediately.

    Frameworks create iterators that they never use, and in one process these do not count as
    passes. A worker cannot delay the start: if it were stopped before its first batch, its pass
    would not count.
    """

    def __init__(self, dataset: IterableDataset) -> None:
        self._dataset = dataset
        self._state: Mapping[str, Any] | None = None
        self._batches: Any = None
        self._is_over = False
        self._has_delivered = False
        self._error: Exception | None = None
        self._ranked: RankedPass | None = None

    def begin_in_worker(self) -> None:
        """Start; delay an error until the first batch, as it would end persistent workers here."""
        try:
            self._begin()
        except Exception as error:
            self._error = error

    def _begin(self) -> None:
        self._state = self._state or self._dataset._take_state()
        self._is_over = self._state is not None and bool(self._state.get("ended"))
        self._batches = self._dataset._begin(self._state)
        if self._batches is not None:
            self._ranked = self._dataset._compare_ranks(self._batches.epoch)

    def __next__(self) -> Any:
        if self._error is not None:
            raise self._error
        if self._batches is None and not self._is_over:
            self._begin()
        if self._is_over:
            raise StopIteration
        try:
            batch = next(self._batches)
        except StopIteration:
            self._is_over = True
            is_worker = torch.utils.data.get_worker_info() is not None
            if self._state is not None and not self._has_delivered and not is_worker:
                check_not_lost()
            if self._ranked is not None:
                self._ranked.complete()
            raise
        self._has_delivered = True
        if self._ranked is not None:
            self._ranked.count()
        tensors = self._dataset._to_tensors(batch)
        # A DataLoader collates single records, but not batches.
        return dict(tensors) if self._dataset._by_record and type(tensors) is Batch else tensors

    def position(self) -> dict[str, Any]:
        """Return the state after the last batch, and whether the pass has ended.

        The state of a finished pass is the start of the next pass.
        """
        if self._batches is not None:
            state = self._batches.state_dict()
        else:
            state = self._state or self._dataset._next_state()
        return {**state, "ended": self._is_over}

    def state_dict(self) -> dict[str, Any]:
        """Return the exact position, even at the end of a pass.

        A StatefulDataLoader calls this method; for a worker, the state of the dataset is enough.
        """
        return self.position() if torch.utils.data.get_worker_info() is None else {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if state:
            self._state, self._is_over = dict(state), bool(state.get("ended"))


class IterableDataset(torch.utils.data.IterableDataset):  # type: ignore[misc,type-arg,unused-ignore]
    """Whole batches of a :class:`~fastrec.Batcher`, as tensors.

    Iterate over it directly, or through ``DataLoader(dataset, batch_size=None)``. The dataset's own
    threads read ahead, so ``num_workers=0`` is fastest: worker processes copy every batch through
    shared memory, which can make loading 20 times slower.

    Each pass is the next epoch, even if the previous pass was stopped early. It delivers every
    record once, to one worker of one rank. In one process, a pass starts with its first batch. In
    workers, it starts when they start, so ``iter(loader)`` alone also counts as a pass.
    ``state_dict()`` and ``load_state_dict()`` resume it exactly, also if torchdata's
    ``StatefulDataLoader`` or ``nodes`` call them.

    Parameters
    ----------
    source, features, batch_size, shuffle, uneven
        As for :class:`~fastrec.Batcher`.
    shard : "auto", (index, count) or None
        The shard of this process. ``"auto"`` uses :func:`~fastrec.find_shard`; None reads all
        records. The workers of a DataLoader divide the shard among themselves.
    seed : int, optional
        Seed of the shuffle. Required if several processes shuffle, so that all use the same order.
    ragged, padding
        As for :func:`to_tensors`.
    **options
        Further options of :class:`~fastrec.Batcher`. A `transform` receives NumPy columns.

    Examples
    --------
    >>> import os, tempfile, numpy as np, fastrec, fastrec.torch
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_batch({"x": np.arange(6)})
    >>> features = {"x": fastrec.FixedLenFeature((), np.int64)}
    >>> dataset = IterableDataset(path, features, batch_size=4)
    >>> len(dataset), [batch["x"] for batch in dataset]
    (2, [tensor([0, 1, 2, 3]), tensor([4, 5])])
    """

    def __init__(
        self,
        source: Any,
        features: Mapping[str, Any] | None = None,
        batch_size: int | None = 1,
        *,
        shard: tuple[int, int] | Literal["auto"] | None = "auto",
        shuffle: Shuffle = False,
        seed: int | None = None,
        uneven: Literal["longer", "drop", "pad"] = "longer",
        ragged: RaggedAs = "nested",
        padding: Any = 0,
        **options: Unpack[FurtherOptions],
    ) -> None:
        if ragged not in RAGGED:
            raise ValueError(f"ragged must be one of {RAGGED}, got {ragged!r}")
        if isinstance(shard, str) and shard != "auto":
            raise ValueError(f"shard must be 'auto', (index, count) or None, got {shard!r}")
        self._any_seed = seed is None
        self._options: dict[str, Any] = {
            **options,
            "source": source,
            "features": features,
            "batch_size": batch_size,
            "shuffle": shuffle,
            "uneven": uneven,
            "seed": secrets.randbits(63) if seed is None else seed,
        }
        self._by_record = batch_size is None
        self._shard = shard
        self._to_tensors = partial(to_tensors, ragged=ragged, padding=padding)
        self._rank: tuple[int, int] | None = None  # rank of the process that started this worker
        self._step = options.get("epochs", 1) or 1  # number of epochs per pass
        self._log = EpochLog(self._step)
        self._resume: _Resume | None = None
        self._ranks: RankCheck | None = None
        self._expected: int | None = None  # a pass of workers without a delivered batch
        self._worker_passes = 0  # number of passes of this process, if it is a worker
        self._current: _Pass | None = None  # pass of this process, if it is a worker
        self._batcher: Batcher | None = None
        self._made_for: tuple[int, int] | None = None
        self._lengths: dict[int, int] = {}  # by number of workers
        self._get_batcher()

    # --- whose share ----------------------------------------------------------------------------

    def _find_rank(self) -> tuple[int, int]:
        """Return (index, count) of this process among training processes, without workers."""
        if self._shard is None:
            return 0, 1
        if self._shard != "auto":
            return self._shard
        worker = torch.utils.data.get_worker_info()
        if worker is not None and self._rank is not None:
            return self._rank
        index, count = find_shard()
        if worker is not None:  # in a forked worker, find_shard() counts workers, not processes
            return index // worker.num_workers, count // worker.num_workers
        return index, count

    def _get_batcher(self) -> Batcher:
        (index, count), worker = self._find_rank(), torch.utils.data.get_worker_info()
        if count > 1 and self._any_seed and self._options.get("shuffle"):
            raise ValueError("shuffle in several processes requires seed, the same in all of them")
        options = dict(self._options)
        if worker is not None:
            index, count = index * worker.num_workers + worker.id, count * worker.num_workers
            options.setdefault("threads", 1)
        if self._batcher is None or self._made_for != (index, count):
            self._batcher = Batcher(**options, shard=(index, count))
            self._made_for = index, count
        return self._batcher

    def _warn_of(self, worker: Any) -> None:
        if worker.id == 0 and self._log.is_first_warning():
            warn_caller(
                "fastrec.torch.IterableDataset reads ahead with threads of its own: DataLoader "
                "workers slow it down, up to 20 times; num_workers=0 is the fast way"
            )

    @property
    def skipped(self) -> list[Skipped]:
        """Records left out so far by this process. Each worker process has a separate list."""
        return [] if self._batcher is None else self._batcher.skipped

    @property
    def generator(self) -> Any:
        """Attribute that accelerate reads before it shards a dataset; access is rejected.

        Raises
        ------
        FastrecError
            If this dataset already reads only the shard of its process.
        """
        if self._find_rank()[1] > 1 and self._shard is not None:
            raise FastrecError(_TWICE)
        raise AttributeError(f"{type(self).__name__!r} has no attribute 'generator'")

    def _check_not_dispatched(self) -> None:
        """Raise if accelerate would read this dataset in one process and send it to the others."""
        if "accelerate" not in sys.modules or self._shard is None or self._find_rank()[1] == 1:
            return
        frame = sys._getframe(1)
        while frame is not None:
            name = type(frame.f_locals.get("self")).__name__
            if name in ("DataLoaderDispatcher", "IterableDatasetShard"):
                raise FastrecError(_TWICE)
            frame = frame.f_back  # type: ignore[assignment]

    # --- epochs ---------------------------------------------------------------------------------

    def _get_log(self) -> EpochLog:
        """Return the log of epochs of this process and its DataLoader workers."""
        if self._log.is_foreign and torch.utils.data.get_worker_info() is None:
            self._log = self._log.copy()  # another rank, which counts its own passes
        return self._log

    def _has_state(self) -> bool:
        """Return whether the next pass resumes from a loaded state."""
        entry = self._get_log().next.state
        return self._resume is not None and entry is not None and entry == self._resume.entry

    def _go_to(self, epoch: int) -> Batcher:
        """Return the Batcher after setting its epoch."""
        batcher = self._get_batcher()
        batcher.set_epoch(0 if epoch else 1)  # discards a state within the epoch
        batcher.set_epoch(epoch)
        return batcher

    def _new_key(self) -> int:
        worker = torch.utils.data.get_worker_info()
        if worker is None:
            return new_pass()
        self._worker_passes += 1
        return pass_of_worker(worker, self._worker_passes)

    def _compare_ranks(self, epoch: int) -> RankedPass | None:
        """Return the check of a pass of this process if several ranks must be in the same epoch."""
        self._compare_expected(self._expected)
        if (
            torch.utils.data.get_worker_info() is not None
            or self._shard != "auto"
            or not has_other_ranks()
            or not self._get_batcher()._order.is_drawn
        ):
            return None
        if self._ranks is None:
            self._ranks = RankCheck(self._get_batcher().state_dict())
        return self._ranks.begin(epoch)

    def _expect_pass(self, key: int | None) -> None:
        """Note that DataLoader workers of this process start the pass with this key.

        The previous pass counts even if its workers were stopped before they started it, because
        workers of other ranks may have started it.
        """
        self._compare_expected(self._expected)
        self._expected = key

    def _compare_expected(self, key: int | None) -> RankedPass | None:
        """Return the check of a pass of DataLoader workers, or None if there is no key."""
        if key is None:
            return None
        self._expected = None
        return self._compare_ranks(self._get_log().begin(key).epoch)

    def _take_state(self) -> Mapping[str, Any] | None:
        """Return the state that a StatefulDataLoader gave to this worker for the next pass."""
        if self._resume is None or self._resume.entry is not None:
            return None
        state, self._resume = self._resume.state, None
        return state

    def _begin(self, state: Mapping[str, Any] | None) -> Any:
        """Start the next pass, or resume the pass of a StatefulDataLoader's state.

        Returns
        -------
        Batches or None
            None if the pass of the state has ended.
        """
        log, key = self._get_log(), self._new_key()
        if state is not None:
            ended = bool(state.get("ended"))
            log.begin(key, state["begin"] - self._step * ended)
            if ended:
                return None
            batcher = self._get_batcher()
            batcher.load_state_dict(state)
            return iter(batcher)
        begun = log.begin(key)
        if begun.state is None:
            return iter(self._go_to(begun.epoch))
        if self._resume is None or begun.state != self._resume.entry:
            raise FastrecError(
                "load_state_dict() was called after the persistent workers of this DataLoader had "
                "started, which do not have the state: make a new DataLoader"
            )
        batcher = self._get_batcher()
        batcher.load_state_dict(self._resume.state)
        if batcher._is_over() and not self._resume.has_epoch:
            # All batches of the state's epoch were delivered. A framework that counts batches
            # would count a pass without batches as a whole epoch.
            return iter(self._go_to(log.begin(self._new_key()).epoch))
        return iter(batcher)

    def __iter__(self) -> Iterator[Any]:
        self._check_not_dispatched()
        batches = _Pass(self)
        worker = torch.utils.data.get_worker_info()
        if worker is not None:
            self._warn_of(worker)
            batches.begin_in_worker()
            self._current = batches
        return batches

    def __len__(self) -> int:
        """Return the number of batches of one ``iter()`` of this process, or of a DataLoader.

        Raises
        ------
        TypeError
            If the number is not known in advance.
        """
        caller = sys._getframe(1).f_locals.get("self")
        workers = caller.num_workers if isinstance(caller, torch.utils.data.DataLoader) else 0
        if not workers:
            return len(self._get_batcher())
        if workers not in self._lengths:  # each worker has a short batch
            index, count = self._find_rank()
            shards = [(index * workers + worker, count * workers) for worker in range(workers)]
            self._lengths[workers] = sum(len(Batcher(**self._options, shard=s)) for s in shards)
        return self._lengths[workers]

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next pass: :meth:`Batcher.set_epoch`.

        All workers follow, including persistent ones. A pass whose workers have started keeps its
        epoch.
        """
        self._get_batcher().set_epoch(epoch)
        if self._has_state() and self._resume is not None and self._resume.state["epoch"] == epoch:
            self._resume = self._resume._replace(has_epoch=True)
        else:
            self._get_log().set(epoch)
        self._forget_ranks()

    def _forget_ranks(self) -> None:
        self._expected = None
        if self._ranks is not None:
            self._ranks.forget()

    def state_dict(self) -> dict[str, Any]:
        """Return the state after the last delivered batch: :meth:`Batcher.state_dict`.

        Raises
        ------
        FastrecError
            If DataLoader workers made the last pass, because this process does not know how many of
            their batches were delivered.
        """
        if self._current is not None:
            return self._current.position()
        if self._get_log().last_was_in_workers:
            raise FastrecError(
                "the state of a fastrec.torch.IterableDataset is not known while DataLoader "
                "workers iterate over it: take the state of a "
                "torchdata.stateful_dataloader.StatefulDataLoader, or use num_workers=0"
            )
        return self._next_state()

    def _next_state(self) -> dict[str, Any]:
        if self._has_state() and self._resume is not None:
            return dict(self._resume.state)
        return self._go_to(self._log.next.epoch).state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume the next pass from `state`, as :meth:`Batcher.load_state_dict` does.

        If the state's epoch has no batches left, the next pass starts the epoch after it, unless
        :meth:`set_epoch` requests the epoch of the state.
        """
        self._get_batcher().load_state_dict(state)
        entry = None
        if torch.utils.data.get_worker_info() is None:
            entry = self._get_log().set(state["begin"], is_state=True)
            self._forget_ranks()
        self._resume = _Resume(dict(state), entry)

    def __getstate__(self) -> dict[str, Any]:
        self._check_not_dispatched()
        watch_starting_loader()
        rank = self._find_rank() if self._shard == "auto" else None
        unshared = dict.fromkeys(("_batcher", "_current", "_ranks", "_expected"))
        return {**self.__dict__, **unshared, "_rank": rank}

    def __repr__(self) -> str:
        return f"<fastrec.torch.IterableDataset of {self._get_batcher()!r}>"
