# SPDX-License-Identifier: Apache-2.0
"""Deliver batches to a training loop."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, Literal, NoReturn

from ..arguments import check_int
from ..errors import FastrecError, warn_caller
from ..features.spec import Feature, SequenceFeatures
from ..images.augment import Augment
from ..records.compression import Compression
from ..records.manifest import Manifest
from ..records.paths import PathLike
from ..records.record_files import Source
from ..records.recovery import OnError, Skipped
from ..records.shard_sets import Shards
from ..storage.options import StorageOptions
from .block_shuffle import Shuffle
from .bucket_plans import BucketPass, BucketPlans
from .buckets import Buckets
from .checkpoint import Start
from .epoch_pass import Pass
from .feeds import Feeds
from .iterator import Batches
from .mixture import Mixture
from .options import Options
from .order import Ordering
from .packing import PackedPass, Packing, RowPlans
from .progress import Progress
from .report import Report
from .selection import Split, Weights
from .shard import find_rank, shard_within, torch_worker

__all__ = ["Batcher"]

_NO_ARRAY = (
    "a Batcher is not an array: iterate over it, or, in fit(), evaluate() and predict() of Keras, "
    "use fastrec.keras.dataset(batcher, x=..., y=...)"
)


class Batcher:
    """Batches of parsed records: shuffled, sharded, parallel, reproducible.

    Each ``iter()`` starts the next epoch, with another order and other augmentation::

        for epoch in range(10):
            for batch in batcher: ...

    The batches depend only on the files, the options, the seed, the epoch and the shard, not on the
    number of threads. ``state_dict()`` returns a checkpoint, and :meth:`load_state_dict` resumes
    from it.

    Parameters
    ----------
    source : path, URL, glob pattern, directory, list of these, binary file object, or Mixture
        As for :class:`Reader`. A file object is read once, from its current position.
    features : mapping of str to feature, or SequenceFeatures, optional
        Features to read from each record. With None, batches are :class:`~fastrec.Bytes` of whole
        records. With :class:`~fastrec.SequenceFeatures`, a batch is a result of
        :func:`~fastrec.parse_sequence_example`.
    batch_size : int or None
        Number of records per batch. None yields single records, as
        :func:`~fastrec.parse_single_example` returns them.
    shuffle : bool, "blocks", BlockShuffle or int
        True reads a uniform permutation of all records, in constant memory. ``"blocks"`` keeps
        neighbouring records near each other, see :class:`BlockShuffle`. Compressed files require an
        index for either, and ``"blocks"`` is much faster for them. A number is the size of a
        shuffle buffer: records enter it in file order and are drawn at random. For a compressed
        file, the buffer holds the records themselves.
    seed : int, optional
        Seed of the shuffle and of `augment`. With None, a random seed is drawn once, when the
        Batcher is created. Shards that shuffle require a seed, which must be the same for all.
    reshuffle : bool
        Whether each epoch has another order. If False, every epoch has the order of epoch 0, but
        augmentation still differs.
    epochs : int or None
        Number of epochs in one ``iter()``; None for no end.
    drop_remainder : bool
        Whether to drop short batches: the last batch of an epoch, or of a pass.
    batch_across_epochs : bool
        Whether to fill batches across epochs, so that only the last batch of all may be short.
    shard : (index, count), "auto", optional
        Read a part of each global step, which has `batch_size` records for each shard. The shards
        are disjoint, cover all records, and differ by at most one record. The records of a step do
        not depend on `count` if `batch_size` times `count` stays the same. ``"auto"`` uses the
        result of :func:`find_shard`, from torch.distributed, Ray, JAX or the environment; each
        DataLoader worker reads a part.
    uneven : {"longer", "drop", "pad"}
        Rule for records that cannot be divided evenly: some shards are longer by one record, the
        surplus records are dropped, or records from the start of the epoch's order are repeated.
    interleave : int, optional
        Number of files to interleave: one record of each in turn, and then the same with the next
        files. Not supported with a shuffle of all records.
    augment : mapping of str to Augment, optional
        Augmentation of images, by feature.
    buckets : Buckets, optional
        Padded batches of sequences of similar length.
    packing : Packing, optional
        Rows of a fixed length that are filled with documents, see :class:`Packing`. `batch_size` is
        then a number of rows.
    where : str, optional
        Condition on the records to read, such as ``"label in (1, 2) and size(image) > 5e3"``: an
        expression of ``fastrec cat --where``. It is evaluated on the columns of the index, see
        :meth:`Index.build`. Without these columns, every record is read before the first batch.
    weights : str, (str, mapping) or array, optional
        Draw records with replacement, each in proportion to its weight: a column, the weight of
        each value of a column, or one number per record of the source. The number of draws per
        epoch is the number of records.
    balance : str or (str, mapping), optional
        Draw records with replacement so that all values of this column are equally frequent, or
        have the given proportions.
    order : str, optional
        Read records from the lowest to the highest value of this column, or in reverse with
        ``"-column"``. Records without a value come last.
    split : Split or (part, parts), optional
        Read one of several disjoint parts of the records, see :class:`Split`.
    threads : int, optional
        Number of workers that read and parse; by default the number of usable processors, up to 8.
    prefetch : int
        Maximum number of finished batches, in addition to the batches in progress on the threads.
    pin_memory : bool
        Whether to allocate columns of a fixed size in PyTorch's pinned memory, which requires
        torch. The output of `augment` and `transform` is not pinned. If the caller keeps more
        batches than can be in flight, further batches are in ordinary memory.
    drop_behind : bool
        Whether to tell the system that data will not be read again soon. A pass over more data than
        fits in memory then does not evict the files of other programs from the page cache. This
        applies to uncompressed files read in file order or by ``"blocks"``; in a shuffle of all
        records, only to records longer than a page. Linux only; no effect on other systems.
    transform : callable, optional
        Called with each batch, on several threads concurrently; its result is yielded instead, in
        order. This is faster if it releases the GIL, as most NumPy operations do.
    transform_workers : int, optional
        Number of processes that run `transform`, for Python code that holds the GIL. Arrays are
        passed in shared memory. `transform` and its results must be picklable, and each process has
        a copy of it. The processes start with the first batch, and remain for later passes until
        :meth:`close`. Linux and macOS only.
    verify : bool
        Whether to verify the CRC32C of every record.
    on_error : {"raise", "tolerate_tail", "skip"} or callable
        Policy for unusable records, see :class:`Reader`. ``"skip"`` and a callable skip damaged
        records and records that do not match `features`: a feature is missing or has another kind
        or count, or an image cannot be decoded. Such batches are shorter, and `skipped` lists the
        records. If all records are unusable, this is an error; more than a tenth causes a warning.
        Local files are read batch by batch. Remote files in a shuffled order are read once before
        the first batch, with a warning.
    on_stats : callable, optional
        Called with a :class:`Report` every `every` seconds, between two batches, and at the end of
        a pass, on the thread of the loop. The exporters of ``fastrec.metrics`` are such functions.
    every : float
        Seconds between two calls of `on_stats`.
    progress : bool
        Whether to print progress, and the time spent waiting for data, to standard error.
    storage_options : StorageOptions or mapping, optional
        Options for access to URLs, and options of the store; see :class:`StorageOptions`.
    manifest : Manifest or path, optional
        Sizes and counts of exactly these files, as for :class:`Reader`. With it, a file is opened
        when its first record is read.
    compression, shards
        As for :class:`Reader`.

    Raises
    ------
    OSError, CorruptRecordError, ExampleParseError, MissingRecordsError
        During iteration, in place of the batch that could not be made.

    Examples
    --------
    >>> import os, tempfile, numpy as np, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_batch({"x": np.arange(5)})
    >>> features = {"x": fastrec.FixedLenFeature((), np.int64)}
    >>> [batch["x"].tolist() for batch in Batcher(path, features, batch_size=2)]
    [[0, 1], [2, 3], [4]]

    Two epochs have different orders, which are the same in every run:

    >>> batcher = Batcher(path, features, batch_size=5, shuffle=True, seed=0)
    >>> [batch["x"].tolist() for epoch in range(2) for batch in batcher]
    [[0, 2, 4, 1, 3], [1, 2, 4, 3, 0]]
    """

    def __init__(
        self,
        source: Source | Mixture,
        features: Mapping[str, Feature] | SequenceFeatures | None = None,
        batch_size: int | None = 1,
        *,
        shuffle: Shuffle = False,
        seed: int | None = None,
        reshuffle: bool = True,
        epochs: int | None = 1,
        drop_remainder: bool = False,
        batch_across_epochs: bool = False,
        shard: tuple[int, int] | Literal["auto"] | None = None,
        uneven: Literal["longer", "drop", "pad"] = "longer",
        interleave: int | None = None,
        augment: Mapping[str, Augment] | None = None,
        buckets: Buckets | None = None,
        packing: Packing | None = None,
        where: str | None = None,
        weights: Weights | None = None,
        balance: str | tuple[str, Mapping[Any, float]] | None = None,
        order: str | None = None,
        split: Split | tuple[Any, Any] | None = None,
        threads: int | None = None,
        prefetch: int = 2,
        pin_memory: bool = False,
        drop_behind: bool = False,
        transform: Callable[[Any], Any] | None = None,
        transform_workers: int | None = None,
        verify: bool = True,
        on_error: OnError = "raise",
        on_stats: Callable[[Report], Any] | None = None,
        every: float = 10.0,
        progress: bool = False,
        storage_options: StorageOptions | Mapping[str, Any] | None = None,
        manifest: Manifest | PathLike | None = None,
        compression: Compression = "auto",
        shards: Shards = "complete",
    ) -> None:
        given = locals()
        options = Options(**{field.name: given[field.name] for field in fields(Options)})
        self._begin(source, options, any_seed=seed is None, rank=(0, 1))
        self._check_seed(find_rank() if shard == "auto" else self._order.spec.shard)
        # If the Batcher is created in a worker, a random seed would differ between the workers.
        if shard == "auto" and torch_worker()[1] > 1:
            self._check_seed(torch_worker())

    def _begin(
        self, source: Source | Mixture, options: Options, *, any_seed: bool, rank: tuple[int, int]
    ) -> None:
        self._source = source
        self._options = options
        self._any_seed = any_seed  # whether the seed was drawn at random, here or before pickling
        self._seed_agreed = not any_seed
        self._rank = rank  # rank of the process that pickled the Batcher
        self._order = Ordering(source, options)
        self._order.files.threads = options.workers
        self._feeds = Feeds(options, self._order)
        self._plans: Any = None
        mixture = self._order.mixture
        others = options.epochs != 1 or options.is_planned or options.buckets is not None
        if mixture is not None and mixture.is_scheduled and others:
            raise ValueError(
                f"a Mixture with until={mixture.until}, and epochs, packing or buckets, are "
                "mutually exclusive"
            )
        self._order.check_random_access()
        self._next = Start()
        self._iterators: weakref.WeakSet[Batches] = weakref.WeakSet()
        self._last_report: Report | None = None

    # --- shards ---------------------------------------------------------------------------------

    def _check_seed(self, shard: tuple[int, int]) -> None:
        if shard[1] > 1 and not self._seed_agreed and self._order.is_drawn:
            raise ValueError(
                "shards that shuffle require seed, the same for all: with seed=None each process "
                "draws one of its own, and the shards overlap"
            )

    def _shard(self) -> tuple[int, int]:
        """Return the shard of this process."""
        if self._options.shard == "auto":
            shard = shard_within(self._rank)
            self._check_seed((0, shard[1] // torch_worker()[1]))
            return shard
        if self._options.shard is None and torch_worker()[1] > 1:
            warn_caller(
                "a Batcher without shards gives every record once in each of the "
                f"{torch_worker()[1]} workers of the DataLoader: pass shard='auto'"
            )
        return self._order.spec.shard

    # --- epochs ---------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """Number of the epoch that the next ``iter()`` starts or continues."""
        return self._next.position.epoch

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch that the next ``iter()`` starts.

        If a loaded state is within the same epoch, the next ``iter()`` resumes from the state. This
        is because frameworks call this method at the start of each epoch, including a resumed one.
        """
        check_int("epoch", epoch, 0, 2**62 - 1)
        if epoch != self._next.position.epoch:
            self._next = Start.of_epoch(int(epoch))

    # --- iterating ------------------------------------------------------------------------------

    def _pass(self, start: Start) -> Pass:
        shard = self._shard()
        self._order.is_divided = shard[1] > 1
        spec = replace(self._order.spec, shard=shard)
        options = self._options
        if not options.is_planned:
            return Pass(self._order, spec, start)
        if options.packing is not None:
            self._plans = self._plans or RowPlans(self._order, options.packing)
            return PackedPass(self._order, spec, start, self._plans)
        assert options.buckets is not None
        shards = spec.shard[1]
        if shards > 1 and spec.uneven == "longer":
            raise ValueError(
                "planned buckets give all shards equal batches: uneven must be 'drop' or 'pad', "
                "got 'longer'"
            )
        if self._plans is None or self._plans[0] != shards:
            size, drop = options.batch_size or 1, options.drop_remainder
            plans = BucketPlans(self._order, options.buckets, size, shards, drop)
            self._plans = shards, plans
        return BucketPass(self._order, spec, start, self._plans[1])

    def __iter__(self) -> Batches:
        run = self._pass(self._next)
        batches = Batches(
            run,
            self._feeds.open,
            progress=Progress(self._length(run)) if self._options.progress else None,
            on_stats=self._options.on_stats,
            every=self._options.every,
            on_end=self._keep_report,
        )
        self._next = run.next_start
        self._iterators.add(batches)
        return batches

    def _keep_report(self, report: Report) -> None:
        self._last_report = report

    def report(self) -> Report:
        """Return where the time of the live iterator has gone so far: :meth:`Batches.report`.

        Without a live iterator, it is the report of the pass that ended last.

        Raises
        ------
        FastrecError
            If several iterators are live, or if no pass has ended.
        """
        live = self._live()
        if live is not None:
            return live.report()
        if self._last_report is None:
            raise FastrecError("there is no report before the first pass has ended")
        return self._last_report

    def _live(self) -> Batches | None:
        """Return the live iterator, or None without one."""
        live = [batches for batches in self._iterators if batches.is_live]
        if len(live) > 1:  # an error refers to its iterator until the garbage collector runs
            live = [batches for batches in live if not batches._has_failed] or live
        if len(live) > 1:
            raise FastrecError(
                f"{len(live)} iterators of this Batcher are live: call state_dict() or report() of "
                "one of them"
            )
        return live[0] if live else None

    def __array__(self, *arguments: object, **options: object) -> NoReturn:
        raise TypeError(_NO_ARRAY)

    @property
    def shape(self) -> NoReturn:
        """Raise AttributeError: a Batcher is not an array, but Keras tests for this attribute."""
        raise AttributeError(_NO_ARRAY, name="shape", obj=self)

    def __getitem__(self, index: object) -> NoReturn:
        raise TypeError(
            "a Batcher has no batches by index: iterate over it, or, in a DataLoader, use "
            "fastrec.torch.IterableDataset with batch_size=None"
        )

    def __len__(self) -> int:
        """Return the number of batches of one ``iter()``.

        Raises
        ------
        TypeError
            If the number is infinite, if records cannot be read by number, or if buckets distribute
            records by length.
        """
        if self._order.spec.epochs == 0:
            raise TypeError("the number of batches is unlimited with epochs=None")
        run = self._pass(Start())
        if not run.is_counted:
            raise TypeError("the number of batches is unknown for streams and for buckets")
        return run.steps_left

    @staticmethod
    def _length(run: Pass) -> int | None:
        return run.steps_left if run.is_counted and run.spec.epochs else None

    def _with_features(self, features: Mapping[str, Feature]) -> Batcher:
        """Return a Batcher that parses the same records, from this Batcher's position on."""
        rebuild, (source, options, *rest) = self.__reduce__()
        return rebuild(source, replace(options, features=features), *rest)  # type: ignore[no-any-return]

    def _batches_left(self) -> int | None:
        """Return the number of batches of the next pass; None if it is unknown."""
        return self._length(self._pass(self._next))

    def _is_over(self) -> bool:
        """Return whether every shard has delivered all batches of the next pass."""
        run = self._pass(self._next)
        return run.is_counted and bool(run.spec.epochs) and not run.most_steps_left

    # --- checkpoints ----------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return a checkpoint of the live iterator: :meth:`Batches.state_dict`.

        Without a live iterator, the checkpoint is the start of the epoch of the next ``iter()``.

        Raises
        ------
        FastrecError
            If several iterators are live: call ``state_dict()`` of the iterator instead.
        """
        live = self._live()
        if live is not None:
            return live.state_dict()
        return self._order.describe(self._next, self._shard()[1])

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume the next ``iter()`` from `state`; later ones start later epochs.

        Resuming takes the same time at any position, with two exceptions: a shuffle buffer repeats
        its draws since the start of the epoch (some nanoseconds each), and streams are read up to
        the position. If the seed was drawn at random, the seed of the state replaces it. Live
        iterators are closed.

        Raises
        ------
        FastrecError
            If the state belongs to other files, another order or another format, with the reason.
        """
        shard = self._shard()
        start, seed = self._order.take(state, shards=shard[1], any_seed=self._any_seed)
        self.close()
        self._next = start
        self._order.spec = replace(self._order.spec, seed=seed)
        self._seed_agreed = True

    get_state = state_dict
    set_state = load_state_dict

    def __reduce__(self) -> Any:
        """Pickle the Batcher: another process gets the same batches, from the same start."""
        for file in self._order.files.remote[: 1 if self._order.files.described else None]:
            file.check_secrets()
        rank = find_rank() if self._options.shard == "auto" else (0, 1)
        rank = rank if rank[1] > 1 else self._rank
        options = replace(self._options, seed=self._order.spec.seed)
        return _rebuild, (self._source, options, self._any_seed, rank, self._next)

    @property
    def skipped(self) -> list[Skipped]:
        """Regions and records skipped so far because of damage or a mismatch; each once."""
        return self._order.files.skipped

    def __repr__(self) -> str:
        names = ("batch_size", "shuffle", "seed", "epochs", "shard")
        shown = "".join(f", {name}={getattr(self._options, name)!a}" for name in names)
        return f"<fastrec.Batcher source={self._source!a}{shown}>"

    def close(self) -> None:
        """Stop the workers of all iterators, and end the iterators.

        The Batcher itself holds no resources: a later ``iter()`` starts the next epoch, or resumes
        from a state.
        """
        Batches._close_together(list(self._iterators))
        self._feeds.close()

    def __enter__(self) -> Batcher:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _rebuild(
    source: Source | Mixture, options: Options, any_seed: bool, rank: tuple[int, int], start: Start
) -> Batcher:
    batcher = Batcher.__new__(Batcher)
    batcher._begin(source, options, any_seed=any_seed, rank=rank)
    batcher._next = start
    return batcher
