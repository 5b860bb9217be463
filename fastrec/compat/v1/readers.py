# SPDX-License-Identifier: Apache-2.0
"""Readers in a graph: records of files whose names come from a queue."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from .._tf.dtypes import DType, int64, resource, string
from .._tf.errors import invalid
from .._tf.records import compression_of
from .._tf.tensor import boxed
from ._nodes import Operation, Tensor
from ._queueing import Queue
from ._reading import ReaderState
from ._sources import Fixed, Generated, Lines, Once, Records, Source, whole_file
from .constants import convert_to_tensor
from .graph import create_op


class ReaderReadUpTo(NamedTuple):
    """The result of :meth:`ReaderBase.read_up_to`."""

    keys: Tensor
    values: Tensor


class ReaderRead(NamedTuple):
    """The result of :meth:`ReaderBase.read`."""

    key: Tensor
    value: Tensor


def _reader_op(
    type: str, opens: Callable[[bytes], Source], name: str | None, *, serializable: bool = False
) -> Tensor:
    """Add the operation that returns a reader, one per session."""

    def make() -> ReaderState:
        return ReaderState(f"{type} '{op.name}'", opens, serializable=serializable)

    def kernel(step: Any) -> tuple[ReaderState]:
        return (step.resource(op, make),)

    op = create_op(type + "V2", (), [(resource, [])], kernel, name=name, attrs={}, stateful=True)
    return op.outputs[0]


class ReaderBase:
    """Reads records with keys from work items that a queue of strings holds.

    To define a reader, derive from this class and implement :meth:`records`.

    Parameters
    ----------
    reader_ref : Tensor, optional
        The reader; by default it is created from :meth:`records`.
    supports_serialize : bool
        Whether its state can be saved.
    name : str, optional

    Examples
    --------
    >>> import fastrec.compat.v1 as tf
    >>> class Words(tf.ReaderBase):
    ...     def records(self, work):
    ...         for number, word in enumerate(open(work).read().split()):
    ...             yield f"{work}:{number}", word
    """

    def __init__(
        self,
        reader_ref: Tensor | None = None,
        supports_serialize: bool = False,
        name: str | None = None,
    ) -> None:
        if reader_ref is None:
            reader_ref = _reader_op(type(self).__name__, self._generated, name)
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    def records(self, work: str) -> Iterable[tuple[str | bytes, str | bytes]]:
        """Yield the keys and values of a work item. User-defined readers implement this method."""
        raise NotImplementedError(f"{type(self).__name__} has no records()")

    def _generated(self, work: bytes) -> Source:
        return Generated(iter(self.records(work.decode(errors="surrogateescape"))))

    @property
    def reader_ref(self) -> Tensor:
        """The reader's tensor."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether :meth:`serialize_state` works."""
        return self._supports_serialize

    def _op(
        self,
        type: str,
        kernel: Callable[..., tuple[Any, ...]],
        outputs: list[tuple[DType, Any]],
        name: str | None,
        inputs: tuple[Any, ...] = (),
        *,
        blocking: bool = False,
    ) -> Operation:
        return create_op(
            type,
            (self._reader_ref, *inputs),
            outputs,
            kernel,
            name=name,
            blocking=blocking,
            stateful=True,
        )

    def read(self, queue: Any, name: str | None = None) -> ReaderRead:
        """Return the next key and value: two scalar strings."""
        op = self._op(
            "ReaderReadV2", _read, [(string, []), (string, [])], name, (_ref(queue),), blocking=True
        )
        return ReaderRead(*op.outputs)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> ReaderReadUpTo:
        """Return vectors of up to `num_records` keys and values, fewer at a work item's end."""
        count = convert_to_tensor(num_records, int64)
        vectors: list[tuple[DType, Any]] = [(string, [None]), (string, [None])]
        op = self._op(
            "ReaderReadUpToV2", _read_up_to, vectors, name, (_ref(queue), count), blocking=True
        )
        return ReaderReadUpTo(*op.outputs)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Return the number of records read, an int64."""
        op = self._op(
            "ReaderNumRecordsProducedV2",
            lambda step, reader: (np.array(reader.produced, np.int64),),
            [(int64, [])],
            name,
        )
        return op.outputs[0]

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Return the number of work items read to their end, an int64.

        The read after the last record detects the end.
        """
        op = self._op(
            "ReaderNumWorkUnitsCompletedV2",
            lambda step, reader: (np.array(reader.units_completed, np.int64),),
            [(int64, [])],
            name,
        )
        return op.outputs[0]

    def serialize_state(self, name: str | None = None) -> Tensor:
        """Return the state as a string, for readers that support it."""
        op = self._op(
            "ReaderSerializeStateV2",
            lambda step, reader: (boxed(reader.serialize(step.cancellation)),),
            [(string, [])],
            name,
        )
        return op.outputs[0]

    def restore_state(self, state: Any, name: str | None = None) -> Operation:
        """Return the operation that restores a state of :meth:`serialize_state`."""

        def kernel(step: Any, reader: ReaderState, value: Any) -> tuple[()]:
            reader.restore(value.item(), step.cancellation)
            return ()

        state = convert_to_tensor(state, string)
        if state.shape.ndims not in (0, None):
            raise ValueError(f"Shape must be rank 0 but is rank {state.shape.ndims}")
        return self._op("ReaderRestoreStateV2", kernel, [], name, (state,))

    def reset(self, name: str | None = None) -> Operation:
        """Return the operation that resets the reader and drops its current work item."""

        def kernel(step: Any, reader: ReaderState) -> tuple[()]:
            reader.reset(step.cancellation)
            return ()

        return self._op("ReaderResetV2", kernel, [], name)


def _ref(queue: Any) -> Tensor:
    found: Tensor = queue if isinstance(queue, Tensor) else queue.queue_ref
    return found


def _read(step: Any, reader: ReaderState, queue: Queue) -> tuple[Any, Any]:
    key, value = reader.read(queue, step.cancellation)
    return boxed(key), boxed(value)


def _read_up_to(step: Any, reader: ReaderState, queue: Queue, count: Any) -> tuple[Any, Any]:
    return reader.read_up_to(queue, int(count), step.cancellation)


def _not_negative(**values: int) -> None:
    for name, value in values.items():
        if value < 0:
            raise invalid(f"{name} must be >= 0 not {value}")


class TFRecordReader(ReaderBase):
    """Reads TFRecord files, with keys ``<file>:<offset>``.

    Parameters
    ----------
    name : str, optional
    options : TFRecordOptions, optional
        The compression.
    """

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        compression = compression_of(options)
        ref = _reader_op("TFRecordReader", lambda work: Records(work, compression), name)
        super().__init__(ref)


class TextLineReader(ReaderBase):
    """Reads lines of files, without line endings, with keys ``<file>:<line>``.

    Parameters
    ----------
    skip_header_lines : int, optional
        Number of lines to skip at the start of each file. They are counted.
    name : str, optional
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        skip = skip_header_lines or 0

        def opens(work: bytes) -> Source:
            _not_negative(skip_header_lines=skip)
            return Lines(work, skip)

        super().__init__(_reader_op("TextLineReader", opens, name))


class FixedLengthRecordReader(ReaderBase):
    """Reads records of one length, with keys ``<file>:<number>``.

    Parameters
    ----------
    record_bytes : int
        Size of a record.
    header_bytes, footer_bytes : int, optional
        Bytes to skip at the start and at the end of each file.
    hop_bytes : int, optional
        Distance from one record to the next; `record_bytes` if it is 0 or None.
    name : str, optional
    encoding : {None, "", "GZIP", "ZLIB"}
        The compression.
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        header, footer, hop = header_bytes or 0, footer_bytes or 0, hop_bytes or 0
        compression = compression_of(encoding)

        def opens(work: bytes) -> Source:
            _not_negative(
                header_bytes=header, record_bytes=record_bytes, footer_bytes=footer, hop_bytes=hop
            )
            return Fixed(work, record_bytes, header, footer, hop, compression)

        super().__init__(_reader_op("FixedLengthRecordReader", opens, name))


class WholeFileReader(ReaderBase):
    """Reads whole files: the key is the name, the value is the content."""

    def __init__(self, name: str | None = None) -> None:
        ref = _reader_op("WholeFileReader", whole_file, name, serializable=True)
        super().__init__(ref, supports_serialize=True)


class IdentityReader(ReaderBase):
    """Returns work items as records: both key and value."""

    def __init__(self, name: str | None = None) -> None:
        ref = _reader_op("IdentityReader", lambda work: Once(work, work), name, serializable=True)
        super().__init__(ref, supports_serialize=True)
