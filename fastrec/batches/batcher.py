# SPDX-License-Identifier: Apache-2.0
"""Batches for a training loop."""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Callable, Mapping
from operator import index
from typing import Any, Literal

from .. import _core
from ..errors import FastrecError, RandomAccessError
from ..features.column_spec import RECORD, ReadPlan
from ..features.image import ImageFeature
from ..features.spec import Feature, FixedLenFeature, RawFeature, plan_example
from ..images.augment import Augment
from ..records.reader import Source
from ..records.recovery import OnError, Skipped
from ..threads import usable_cpus
from .buckets import Buckets
from .checkpoint import Position
from .iterator import Batches
from .mixture import Mixture
from .order import Ordering
from .pinned_memory import page_locked
from .postprocess import Maker, NativeFeed, Painter, Stage
from .progress import Progress
from .shuffle_buffer import Shuffle, order_fields
from .stream import stream
from .thread_map import Pipeline

__all__ = ["Batcher"]

_BATCH_MAX = 2**40
_SINGLES = 64  # records that are read together where they are given one by one


def _check_shard(shard: Any) -> tuple[int, int]:
    if shard is None or shard == "auto":  # which is found out later
        return 0, 1
    if not isinstance(shard, (tuple, list)) or len(shard) != 2:
        raise ValueError(f"shard must be (index, count), 'auto' or None, got {shard!r}")
    number, count = (_check("a number of shard", each, 0, 2**63 - 1) for each in shard)
    if number >= count:
        raise ValueError(f"shard must be (index, count) with index < count, got {shard!r}")
    return number, count


def _check(name: str, value: Any, least: int, most: int) -> int:
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"{name} must be an int, got {value!r}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
    if number > most:
        raise ValueError(f"{name} must be at most {most}, got {value}")
    return number


def _seed_of(seed: int | None) -> int:
    return int.from_bytes(os.urandom(8), "little") if seed is None else index(seed) % 2**64


def _check_image(key: str, feature: Feature) -> None:
    """Raise unless a feature's values are arrays that can be images."""
    if isinstance(feature, FixedLenFeature) and len(feature.shape) == 3:
        return
    if not isinstance(feature, (RawFeature, ImageFeature)):
        raise TypeError(
            f"augment {key!r} requires an ImageFeature (encoded images) or a RawFeature (pixels), "
            f"got {feature!r}"
        )


def _check_named(what: str, key: str, features: Mapping[str, Feature] | None) -> None:
    if key not in (features or {}):
        raise ValueError(f"{what} of {key!r}, which features does not name")


class Batcher:
    """Batches of parsed records: shuffled, sharded, in parallel, in a fixed order.

    Each ``iter()`` starts at the beginning, with threads of its own. The batches are a function of
    the files, the options, the seed and the shard alone: the number of threads does not change
    them. ``state_dict()`` of the iterator says where it stands, :meth:`load_state_dict` goes on
    from there.

    Parameters
    ----------
    source : path, glob pattern, list of these, binary file object, or Mixture
        A file object is read from where it stands, once.
    features : mapping of str to feature, optional
        What to read from each record. None: batches are :class:`~fastrec.Bytes` of whole records.
    batch_size : int or None
        None: single records, as :func:`parse_single_example` gives them.
    shuffle : bool, "blocks", BlockShuffle or int
        True: a fresh uniform permutation of all records every epoch, in constant memory.
        ``"blocks"``: neighbours stay near each other, see :class:`BlockShuffle`. Both need
        uncompressed files. A number: each record is drawn from a buffer of so many, which they
        pass through as they stand; of a compressed file the buffer holds the records themselves.
    seed : int, optional
        Of the shuffle; drawn at random, once, when None.
    epochs : int or None
        Passes over the data; None for ever.
    drop_remainder : bool
        Leave out batches that are short: the last one of an epoch, or of all epochs.
    batch_across_epochs : bool
        Fill batches across epochs, so that only the very last may be short.
    shard : (index, count), "auto", optional
        Take every ``count``-th record of the epoch's order, from ``index`` on: the shards are
        disjoint, cover everything, and are equal to within one record. ``"auto"``: as
        :func:`find_shard` says, from torch.distributed, Ray, JAX or the environment.
    uneven : {"longer", "drop", "pad"}
        Give every shard the same number of records: by dropping those left over, or by repeating
        some from the start of the epoch.
    interleave : int, optional
        Take a record of each of so many files in turn, and then of the next so many. Not with a
        shuffle that goes over all records.
    augment : mapping of str to Augment, optional
        What happens to the pictures of a batch, by feature.
    buckets : Buckets, optional
        Batches of sequences of similar length, padded.
    threads : int, optional
        Workers that read and parse; the usable processors, up to 8, by default.
    prefetch : int
        Batches to have ready, beyond those being made.
    pin_memory : bool
        Make batches in page-locked memory of torch's, which must be installed: of their columns,
        those of a fixed size, as they are before `augment`. When more are kept than can
        be in flight, the others are in ordinary memory.
    transform : callable, optional
        Called with each batch, by several threads at once; what it returns is yielded instead, in
        order. It pays where it gives up the interpreter's lock, as NumPy does.
    verify : bool
        Check the CRC32C of every record.
    on_error : {"raise", "tolerate_tail", "skip"} or callable
        What to do about damaged records, see :class:`Reader`; `skipped` lists them. Records whose
        images cannot be decoded are left out too, which makes their batches shorter.
        Those of plain files are found before the first batch, by reading everything once.
    progress : bool
        Say on standard error how far it is, and how long it waited for data.

    Raises
    ------
    OSError, CorruptRecordError, ExampleParseError
        From iterating, in place of the batch that could not be made.

    Examples
    --------
    >>> import os, tempfile, numpy as np, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_batch({"x": np.arange(5)})
    >>> features = {"x": fastrec.FixedLenFeature((), np.int64)}
    >>> [batch["x"].tolist() for batch in Batcher(path, features, batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        source: Source | Mixture,
        features: Mapping[str, Feature] | None = None,
        batch_size: int | None = 1,
        *,
        shuffle: Shuffle = False,
        seed: int | None = None,
        epochs: int | None = 1,
        drop_remainder: bool = False,
        batch_across_epochs: bool = False,
        shard: tuple[int, int] | str | None = None,
        uneven: Literal["longer", "drop", "pad"] = "longer",
        interleave: int | None = None,
        augment: Mapping[str, Augment] | None = None,
        buckets: Buckets | None = None,
        threads: int | None = None,
        prefetch: int = 2,
        pin_memory: bool = False,
        transform: Callable[[Any], Any] | None = None,
        verify: bool = True,
        on_error: OnError = "raise",
        progress: bool = False,
    ) -> None:
        self._arguments = {name: value for name, value in locals().items() if name != "self"}
        if uneven not in ("longer", "drop", "pad"):
            raise ValueError(f"uneven must be 'longer', 'drop' or 'pad', got {uneven!r}")
        if buckets is not None and batch_size is None:
            raise ValueError("buckets are of batches: batch_size is None")
        if transform is not None and not callable(transform):
            raise TypeError(f"transform is to be called, not {type(transform).__name__}")
        if isinstance(features, int):
            raise TypeError(
                f"features must be a mapping or None, got {features}; batch_size is the third "
                f"argument: Batcher(source, features, {features})"
            )
        plan = RECORD if features is None else plan_example(features)
        if buckets is not None:
            _check_named("buckets are by the length", buckets.by, features)
        self._threads = (
            min(usable_cpus(), 8) if threads is None else _check("threads", threads, 1, 256)
        )
        self._prefetch = _check("prefetch", prefetch, 0, 2**16)
        self._progress = progress
        self._maker = Maker(transform, buckets, batch_size, drop_remainder)
        self._single = batch_size is None
        size = _check("batch_size", _SINGLES if batch_size is None else batch_size, 1, _BATCH_MAX)
        order = {
            **order_fields(shuffle),
            "seed": _seed_of(seed),
            "epochs": 0 if epochs is None else _check("epochs", epochs, 1, 2**62),
            "shard": _check_shard(shard),
            "uneven": uneven,
            "batch_size": size if buckets is None else buckets.window_of(size),
            "drop_remainder": bool(drop_remainder) and buckets is None and batch_size is not None,
            "batch_across_epochs": bool(batch_across_epochs),
        }
        self._augment = dict(augment or {})
        for key, each in self._augment.items():
            _check_named("augment is", key, features)
            if not isinstance(each, Augment):
                raise TypeError(f"augment has an Augment a feature, not {type(each).__name__}")
            assert features is not None
            _check_image(key, features[key])
        self._images = {
            key: feature
            for key, feature in (features or {}).items()
            if isinstance(feature, ImageFeature)
        }
        # What the rings hold, what the consumer holds, and what it holds while it asks for more.
        rings = 1 if self._is_native else 2
        self._slabs = rings * (self._threads + self._prefetch) + 2
        self._schema = _core.Schema(self._without_decoding(plan), self._slabs)
        self._unpinned = bool(pin_memory)
        self._order = Ordering(
            source,
            order,
            auto_shard=shard == "auto",
            interleave=interleave and _check("interleave", interleave, 1, 256),
            buckets=None if buckets is None else (buckets, size),
            any_seed=seed is None,
            verify=verify,
            on_error=on_error,
        )
        if order["shuffle"] in ("records", "blocks"):
            self._check_random_access(shuffle)
        self._resume = Position()
        self._last: weakref.ref[Batches] | None = None
        self._iterators: weakref.WeakSet[Batches] = weakref.WeakSet()

    def _check_random_access(self, shuffle: Shuffle) -> None:
        name = self._order.files.sequential_source()
        if name is not None:
            raise RandomAccessError(
                f"shuffle={shuffle!r} requires uncompressed files given by path, and {name} can "
                f"only be read in sequence; shuffle=10000 shuffles through a buffer of that many "
                f"records"
            )

    def _without_decoding(self, plan: ReadPlan) -> ReadPlan:
        """Pictures stay encoded until a worker of Python has them."""
        outputs = [
            output._replace(build=None) if output.name in self._images else output
            for output in plan.outputs
        ]
        return plan._replace(outputs=tuple(outputs))

    # --- iterating ------------------------------------------------------------------------------

    def _pin(self, rows: int) -> None:
        if self._unpinned:
            self._unpinned = False
            for block in page_locked(self._schema.dense_size(rows), self._slabs):
                self._schema.lend(block)

    def _painter(self, position: Callable[[int], tuple[Any, int, int | None]]) -> Painter | None:
        if not self._images and not self._augment:
            return None
        order = self._order
        damage = order.files.policy()
        seed = order.fields["seed"]
        return Painter(self._images, self._augment, seed, position, order.passes, damage)

    def _start_native(self, position: Position) -> _core.Loader | Pipeline:
        order = self._order
        self._pin(min(order.fields["batch_size"], len(order.dataset)))
        if order.fields["drop_remainder"] and not order.native().epoch_batches:
            warnings.warn(
                f"drop_remainder=True leaves no batch of {order.fields['batch_size']} records: an "
                f"epoch of this shard has {order.native().shard_size}",
                RuntimeWarning,
                stacklevel=4,
            )
        serial = min(position.epoch * order.epoch_blocks() + position.block, 2**63)
        loader = _core.Loader(
            order.dataset,
            self._schema,
            order.native(),
            threads=self._threads,
            prefetch=self._threads + self._prefetch,
            start=serial,
            numbered=bool(self._images or self._augment),
        )
        if self._is_native:
            return loader
        stage = Stage(
            self._schema, self._maker, order.epoch_blocks, self._painter(order.dataset.position_of)
        )
        return self._pipeline(NativeFeed(loader, serial), stage.native)

    def _start_stream(self, position: Position) -> Pipeline:
        order = self._order
        if order.files.file is not None and order.fields["epochs"] != 1:
            raise FastrecError(
                "a file object is read once: name the file by its path for more than one epoch"
            )
        if order.mixture is not None:
            raise FastrecError("a mixture needs uncompressed files that are named by path")
        if order.interleave and not order.files.paths:
            raise FastrecError("a file object has nothing to be interleaved with")
        self._pin(order.fields["batch_size"])
        blocks = stream(order.files, order.fields, position, order.interleave)
        paint = self._painter(order.place_in_stream)
        stage = Stage(self._schema, self._maker, lambda: 0, paint)
        return self._pipeline(blocks, stage.streamed)

    @property
    def _is_native(self) -> bool:
        """Whether the native loader's batches are what is wanted."""
        return self._maker.is_idle and not self._images and not self._augment

    def _pipeline(self, source: Any, function: Callable[[Any], Any]) -> Pipeline:
        depth = self._threads + self._prefetch
        return Pipeline(source, function, threads=self._threads, depth=depth)

    def __repr__(self) -> str:
        said = ("source", "batch_size", "shuffle", "seed", "epochs", "shard")
        shown = ", ".join(f"{name}={self._arguments[name]!a}" for name in said)
        return f"<fastrec.Batcher {shown}>"

    def __iter__(self) -> Batches:
        self._order.settle()
        position, self._resume = self._resume, Position()
        streams = self._order.streams
        batches = Batches(
            self._start_stream if streams else self._start_native,
            position,
            self._order.describe,
            None if streams else self._order.epoch_blocks,
            single=not streams and self._is_native,
            progress=Progress(self._length()) if self._progress else None,
        )
        self._iterators.add(batches)
        self._last = weakref.ref(batches)
        return batches

    def __len__(self) -> int:
        """Batches in all epochs.

        Raises
        ------
        TypeError
            When there is no end to them, when the source has no random access, and with buckets.
        """
        epochs = self._order.fields["epochs"]
        if epochs == 0:
            raise TypeError("epochs is None: there is no end to the batches")
        if self._order.streams or self._arguments["buckets"] is not None:
            raise TypeError("the number of batches is known when they are made, not beforehand")
        order = self._order.native()
        return int(order.shard_size * epochs if self._single else order.batches or 0)

    def _length(self) -> int | None:
        try:
            return len(self)
        except (TypeError, OverflowError):
            return None

    # --- where it stands ------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Where the iterator that was made last stands: :meth:`Batches.state_dict`."""
        batches = None if self._last is None else self._last()
        return self._order.describe(self._resume if batches is None else batches.position)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Have the next ``iter()`` go on where `state` says; those after it start anew.

        It takes the same time wherever that is, but for a shuffle buffer, whose draws since the
        epoch began are repeated (some nanoseconds each), and for streams, which are read up to
        there. With a seed that was drawn at random, the state's takes its place.

        Raises
        ------
        FastrecError
            With the reason, when the state is of other files, another order or another format.
        """
        self._resume = self._order.take(state)
        self._last = None

    get_state = state_dict
    set_state = load_state_dict

    def __reduce__(self) -> Any:
        """Another process gets the same batches, from where this Batcher would start."""
        arguments = {**self._arguments, "seed": self._order.fields["seed"]}
        return _rebuild, (arguments, self._order.any_seed, self._resume)

    @property
    def skipped(self) -> list[Skipped]:
        """Damaged regions skipped so far, each once."""
        return self._order.files.skipped

    def close(self) -> None:
        """Stop every iterator's workers, and end the iterators.

        The Batcher itself says what to read and holds nothing that has to be given up: a later
        ``iter()`` starts anew, at the beginning or where a state says.
        """
        for batches in list(self._iterators):
            batches.close()

    def __enter__(self) -> Batcher:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _rebuild(arguments: dict[str, Any], any_seed: bool, resume: Position) -> Batcher:
    batcher = Batcher(**arguments)
    batcher._order.any_seed, batcher._resume = any_seed, resume
    return batcher
