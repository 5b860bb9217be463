# SPDX-License-Identifier: Apache-2.0
"""The common base of queues in a graph: enqueue and dequeue operations, and state."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf.dtypes import DType, as_dtype, bool_, int32, resource
from .._tf.errors import invalid
from .._tf.shape import TensorShape, common_shape
from ._nodes import Operation, Tensor
from ._queueing import Queue
from .constants import constant_value, convert_to_tensor
from .graph import create_op, name_scope


def as_types(dtypes: Any) -> list[DType]:
    """Return the list of component types for one type or several."""
    given = dtypes if isinstance(dtypes, (list, tuple)) else [dtypes]
    return [as_dtype(each) for each in given]


def as_names(names: Any, dtypes: Sequence[DType]) -> list[str] | None:
    if not names:
        return None
    listed = [names] if isinstance(names, str) else list(names)
    if len(listed) != len(dtypes):
        raise ValueError(
            f"List of names must have the same length as the list of dtypes, received "
            f"len(names)={len(listed)},len(dtypes)={len(dtypes)}"
        )
    return listed


class QueueBase:
    """A queue, whose elements are tuples of tensors.

    Parameters
    ----------
    dtypes : list of DType
        Types of the components.
    shapes : list of TensorShape or None
        Shapes of the components; None if they vary.
    names : list of str or None
        Names of the components; elements are then dictionaries.
    queue_ref : Tensor
        The queue.
    """

    def __init__(self, dtypes: Any, shapes: Any, names: Any, queue_ref: Tensor) -> None:
        self._dtypes = as_types(dtypes)
        self._shapes = [TensorShape(None)] * len(self._dtypes)
        if shapes is not None:
            self._shapes = [TensorShape(shape) for shape in shapes]
        if len(self._shapes) != len(self._dtypes):
            raise ValueError(
                f"Queue shapes must have the same length as dtypes, received "
                f"len(shapes)={len(self._shapes)}, len(dtypes)={len(self._dtypes)}"
            )
        self._names = as_names(names, self._dtypes)
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.split("/")[-1]

    @staticmethod
    def from_list(index: Any, queues: list[QueueBase]) -> QueueBase:
        """Return the queue at the position that the tensor `index` holds."""
        if not (queues and isinstance(queues, list)) or not all(
            isinstance(queue, QueueBase) for queue in queues
        ):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if any(queue.dtypes != first.dtypes for queue in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if any(queue.names != first.names for queue in queues):
            raise TypeError("Queues do not have matching component names.")
        shapes = [
            functools.reduce(common_shape, each)
            for each in zip(*[queue.shapes for queue in queues], strict=True)
        ]

        def select(step: Any, number: Any, *handles: Any) -> tuple[Any]:
            if not 0 <= number < len(handles):
                raise invalid(f"indices = {int(number)} is not in [0, {len(handles)})")
            return (handles[int(number)],)

        inputs = [convert_to_tensor(index), *[queue.queue_ref for queue in queues]]
        op = create_op("Gather", inputs, [(resource, [])], select, name="GatherV2", stateful=True)
        return QueueBase(first.dtypes, shapes, first.names, op.outputs[0])

    @property
    def queue_ref(self) -> Tensor:
        """The queue's tensor."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of the queue's operation."""
        return self._queue_ref.op.name

    @property
    def dtypes(self) -> list[DType]:
        """Types of the components."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """Shapes of the components."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """Names of the components."""
        return self._names

    # Enqueue operations.

    def _components(self, vals: Any) -> list[Tensor]:
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names, key=str) != sorted(vals, key=str):
                raise ValueError(
                    f"Keys in dictionary to enqueue do not match names of Queue.  "
                    f"Dictionary: {sorted(vals)},Queue: {sorted(self._names)}"
                )
            vals = [vals[name] for name in self._names]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        if not isinstance(vals, (list, tuple)):
            vals = [vals]
        if len(vals) != len(self._dtypes):
            raise ValueError(
                f"An element of the queue {self.name!r} has {len(self._dtypes)} components, "
                f"not {len(vals)}"
            )
        pairs = zip(vals, self._dtypes, strict=True)
        return [convert_to_tensor(v, t, name=f"component_{i}") for i, (v, t) in enumerate(pairs)]

    def _op(
        self,
        type: str,
        kernel: Callable[..., tuple[Any, ...]],
        inputs: Sequence[Tensor] = (),
        outputs: Sequence[tuple[DType, Any]] = (),
        *,
        name: str | None,
        default: str,
        blocking: bool = True,
        **attrs: Any,
    ) -> Operation:
        return create_op(
            type,
            [self._queue_ref, *inputs],
            outputs,
            kernel,
            name=name or f"{self._name}_{default}",
            attrs=attrs,
            blocking=blocking,
            stateful=True,
        )

    def _elements(self, vals: Any, many: bool) -> list[Tensor]:
        """Return the components of one or many elements, after static checks."""
        tensors = self._components(vals)
        shapes = [tensor.shape for tensor in tensors]
        if many:
            count = TensorShape([None])
            for shape in shapes:
                count = count.merge_with(shape.with_rank_at_least(1)[:1])
            shapes = [shape[1:] for shape in shapes]
        for shape, wanted in zip(shapes, self._shapes, strict=True):
            shape.assert_is_compatible_with(wanted)
        return tensors

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """Return the operation that enqueues one element, waiting for space."""
        with name_scope(name, f"{self._name}_enqueue") as scope:
            tensors = self._elements(vals, False)
            return self._op("QueueEnqueueV2", _enqueue, tensors, name=scope, default="enqueue")

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """Return the operation that enqueues elements one by one, waiting for space."""
        with name_scope(name, f"{self._name}_EnqueueMany") as scope:
            tensors = self._elements(vals, True)
            return self._op(
                "QueueEnqueueManyV2", _enqueue_many, tensors, name=scope, default="EnqueueMany"
            )

    def enqueue_if(self, keep: Tensor, vals: Any, *, many: bool) -> Operation:
        """Enqueue as :meth:`enqueue` or :meth:`enqueue_many`, where `keep` holds."""
        always = constant_value(keep)
        if always is not None and not always.ndim and always:
            return self.enqueue_many(vals) if many else self.enqueue(vals)
        put = _enqueue_many if many else _enqueue

        def kernel(step: Any, queue: Queue, kept: Any, *values: Any) -> tuple[()]:
            if kept.ndim:
                put(step, queue, *[value[kept] for value in values])
            elif kept:
                put(step, queue, *values)
            return ()

        inputs = [keep, *self._elements(vals, many)]
        return self._op("QueueEnqueueIf", kernel, inputs, name=None, default="enqueue_if")

    # Dequeue operations.

    def _returned(self, op: Operation) -> Any:
        if self._names:
            return dict(zip(self._names, op.outputs, strict=True))
        return op.outputs[0] if len(op.outputs) == 1 else list(op.outputs)

    def dequeue(self, name: str | None = None) -> Any:
        """Return the tensors of one element, dequeued as soon as one is available."""
        outputs = list(zip(self._dtypes, self._shapes, strict=True))
        op = self._op("QueueDequeueV2", _dequeue, (), outputs, name=name, default="Dequeue")
        return self._returned(op)

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Return `n` elements as one batch, dequeued as soon as they are available.

        The result has the form of :meth:`dequeue`, with an additional leading dimension.
        """
        count = convert_to_tensor(n, int32)
        known = constant_value(count)
        size = None if known is None or known.ndim else int(known)
        if size is not None and size < 0:
            raise ValueError(f"Input 'n' must be >= 0, but is {size}")
        return self._batch("Many", count, size, name)

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """Dequeue as :meth:`dequeue_many` does; once the queue is closed, accept fewer elements."""
        return self._batch("UpTo", convert_to_tensor(n, int32), None, name)

    def _batch(self, which: str, count: Tensor, size: int | None, name: str | None) -> Any:
        up_to = which == "UpTo"

        def kernel(step: Any, queue: Queue, number: Any) -> tuple[Any, ...]:
            return queue.dequeue_many(int(number), step.cancellation, up_to=up_to)

        outputs = [
            (dtype, TensorShape([size]).concatenate(shape))
            for dtype, shape in zip(self._dtypes, self._shapes, strict=True)
        ]
        type, default = f"QueueDequeue{which}V2", f"Dequeue{which}"
        op = self._op(type, kernel, (count,), outputs, name=name, default=default)
        return self._returned(op)

    # State.

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Return the operation that closes the queue for new elements."""

        def kernel(step: Any, queue: Queue) -> tuple[()]:
            queue.close(step.cancellation, cancel_pending_enqueues=cancel_pending_enqueues)
            return ()

        return self._op("QueueCloseV2", kernel, name=name, default="Close")

    def is_closed(self, name: str | None = None) -> Tensor:
        """Return whether the queue is closed, as a bool."""

        def kernel(step: Any, queue: Queue) -> tuple[Any]:
            return (np.array(queue.closed),)

        outputs: list[tuple[DType, Any]] = [(bool_, [])]
        return self._op(
            "QueueIsClosedV2", kernel, (), outputs, name=name, default="Is_Closed", blocking=False
        ).outputs[0]

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements in the queue, an int32."""

        def kernel(step: Any, queue: Queue) -> tuple[Any]:
            return (np.array(queue.size(), np.int32),)

        outputs: list[tuple[DType, Any]] = [(int32, [])]
        return self._op(
            "QueueSizeV2", kernel, (), outputs, name=name, default="Size", blocking=False
        ).outputs[0]


def _enqueue(step: Any, queue: Queue, *values: Any) -> tuple[()]:
    queue.enqueue(values, step.cancellation)
    return ()


def _enqueue_many(step: Any, queue: Queue, *values: Any) -> tuple[()]:
    queue.enqueue_many(values, step.cancellation)
    return ()


def _dequeue(step: Any, queue: Queue) -> tuple[Any, ...]:
    return queue.dequeue(step.cancellation)
