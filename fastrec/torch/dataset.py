# SPDX-License-Identifier: Apache-2.0
"""A map-style dataset that reads and parses each batch in one native call each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import index as as_index
from typing import Any, Final

import torch
import torch.utils.data

from .. import ExampleParseError, Reader, SequenceFeatures, parse_sequence_example
from ..arguments import check_int
from ..errors import CorruptRecordError, FastrecError, call_out, warn_caller, with_remedy
from ..images.keyed import KeyedParser
from ..parsing.left_out import LeftOut
from ..parsing.parse import Misfits, ParseOnError
from ..parsing.sequence import read_sequences
from ..records.reader import record_numbers, usable_count
from ..records.recovery import Skipped
from ..records.remote_dataset import RemoteDataset
from .rows import Rows

__all__ = ["Dataset"]

_REMEDY = (
    "on_error left out all {} requested records, but a DataLoader cannot leave out a batch: use a "
    "larger batch_size, or fastrec.torch.IterableDataset"
)


class Dataset(torch.utils.data.Dataset):  # type: ignore[misc,type-arg,unused-ignore]
    """Parsed records as a map-style dataset, for any sampler and any ``DataLoader``.

    A ``DataLoader`` requests all records of a batch in one call, which makes one native read and
    one native parse. Its ``default_collate`` then creates tensors without a copy. Worker processes
    are rarely faster: copying a batch from a worker to the parent takes longer than reading and
    parsing it.

    Parameters
    ----------
    source : path, glob pattern, list of these, or Reader
        The records. A :class:`~fastrec.Reader` keeps its own options.
    features : mapping of str to feature, or SequenceFeatures
        Features to read from each record, or from the context of a ``SequenceExample``.
        :class:`~fastrec.SequenceFeatures` replace `features` and `sequence_features`.
    transform : callable, optional
        Called with each sample as a dict; its result replaces the sample. Samples are then collated
        one by one. To transform whole batches, apply a function to the output of the DataLoader.
    sequence_features : mapping of str to feature, optional
        Features of the feature lists. The records are then SequenceExamples.
    seed : int, optional
        Seed of random image transforms, which require it. An image depends only on the seed, the
        epoch and the index, and is the same as in a :class:`~fastrec.Batcher` with this seed. Call
        :meth:`set_epoch` before each pass; accelerate and Trainer call it automatically.
    on_error : {"raise", "skip"} or callable
        ``"skip"`` leaves out records with damaged data and records that do not match the features,
        so that a batch has fewer samples, and a loop over the dataset omits them. A callable gets
        the error of each such record. ``dataset[i]`` raises the error of such a record, and so does
        a batch of such records only: a DataLoader cannot leave out a batch, and a batch without
        samples would make a mean loss NaN. With ``batch_size=1``, use an :class:`IterableDataset`.
        A file that shrank or was overwritten after it was opened is an error. More than a tenth
        causes a warning, as does the first such record in each worker process.

    Attributes
    ----------
    skipped : list of Skipped
        Records left out so far by this process. Each worker process has a separate list.

    Examples
    --------
    >>> import os, tempfile, numpy as np, fastrec, fastrec.torch
    >>> from torch.utils.data import DataLoader
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_batch({"x": np.arange(6)})
    >>> dataset = Dataset(path, {"x": fastrec.FixedLenFeature((), np.int64)})
    >>> len(dataset), dataset[2]["x"]
    (6, tensor(2))
    >>> [batch["x"] for batch in DataLoader(dataset, batch_size=4)]
    [tensor([0, 1, 2, 3]), tensor([4, 5])]
    """

    def __init__(
        self,
        source: Any,
        features: Mapping[str, Any] | SequenceFeatures | None = None,
        transform: Callable[[dict[str, Any]], Any] | None = None,
        *,
        sequence_features: Mapping[str, Any] | None = None,
        seed: int | None = None,
        on_error: ParseOnError = "raise",
    ) -> None:
        if transform is not None and not callable(transform):
            raise TypeError(f"transform must be callable, got {type(transform).__name__}")
        self.reader: Final = source if isinstance(source, Reader) else Reader(source)
        if isinstance(features, SequenceFeatures):
            if sequence_features is not None:
                raise TypeError("SequenceFeatures and sequence_features are mutually exclusive")
            sequence_features = features.sequence
            features = features.context
        self.features: dict[str, Any] = dict(features or {})
        self.sequence_features: dict[str, Any] | None = (
            None if sequence_features is None else dict(sequence_features)
        )
        self.transform = transform
        self._is_prepared = False
        self._left_out = LeftOut(on_error, "Dataset")
        both = self.features.keys() & (self.sequence_features or {}).keys()
        if both:
            raise ValueError(f"{min(both)!r} is in features and in sequence_features")
        # Persistent workers read the epoch from shared memory.
        self._epoch = torch.zeros(1, dtype=torch.int64)
        if self.sequence_features is None:
            self._parse = KeyedParser(self.features, seed)
            if self._parse.is_random:
                self._epoch.share_memory_()
        else:
            # Raises an error if the features are not supported.
            parse_sequence_example([], self.features, self.sequence_features)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of random transforms; all workers follow, including persistent ones."""
        epoch = check_int("epoch", epoch, 0, 2**62 - 1)
        self._epoch[0] = epoch

    def __len__(self) -> int:
        return usable_count(self.reader)

    def __getitem__(self, index: Any) -> Any:
        return self.__getitems__([as_index(index)])[0]

    def __getitems__(self, indices: Sequence[int]) -> Sequence[Any]:
        """Return the samples with these numbers; a DataLoader and ``Subset`` call this method."""
        rows = self._usable(indices)
        if rows is None:
            try:
                rows = self._rows(indices)
            except (CorruptRecordError, ExampleParseError) as error:
                raise with_remedy(error, _REMEDY.format(len(indices))) from None
        transform = self.transform
        return rows if transform is None else [call_out(transform, dict(row)) for row in rows]

    def __iter__(self) -> Iterator[Any]:
        # Without this method, Python would end a loop at an IndexError of the transform.
        for number in range(len(self)):
            try:
                sample = self[number]
            except FastrecError:
                if number not in self._left_out:
                    raise
            else:
                yield sample

    @property
    def skipped(self) -> list[Skipped]:
        """The records left out so far, in this process."""
        return self._left_out.regions

    def _rows(self, indices: Sequence[int], misfits: Misfits | None = None) -> Rows:
        columns, lengths = self._read(indices, misfits)
        return Rows(columns, len(indices) - len(misfits or ()), lengths)

    def _usable(self, indices: Sequence[int]) -> Rows | None:
        """Return the rows of the usable records, or None if all are unusable."""
        if not self._left_out.is_active or not len(indices):
            return self._rows(indices)
        numbers: list[int] = record_numbers(indices, len(self)).tolist()
        rows, _ = self._left_out.read(self._rows, numbers, self.reader)
        return rows

    def _read(
        self, indices: Sequence[int], misfits: Misfits | None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return columns, and the frame counts of padded feature lists."""
        worker = torch.utils.data.get_worker_info()
        if not self._is_prepared:
            self._prepare(worker)
        if self.sequence_features is None:
            threads = None if worker is None else 1
            return self._parse(self.reader, indices, int(self._epoch), threads, misfits), {}
        dataset = self.reader._files.dataset()
        numbers = record_numbers(indices, len(dataset))
        context, lists, lengths = read_sequences(
            dataset, numbers, self.features, self.sequence_features, misfits
        )
        return {**context, **lists}, lengths

    def _prepare(self, worker: Any) -> None:
        """Prepare for requests for all records, which are single ranges of objects at first."""
        self._is_prepared = True
        files = self.reader._files
        dataset = files.dataset()
        if files.is_local or not isinstance(dataset, RemoteDataset):
            return
        dataset.kept.expect_all()
        if worker is None or worker.id or not dataset.kept.fits or dataset.kept.are_shared:
            return
        warn_caller(
            f"each of the {worker.num_workers} DataLoader workers fetches all "
            f"{len(dataset.files)} objects for itself: num_workers=0 or spawned workers fetch each "
            "once, and with StorageOptions(cache=...) the workers share the copies"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_is_prepared": False}

    def __repr__(self) -> str:
        return f"<fastrec.torch.Dataset of {self.reader!r}>"
