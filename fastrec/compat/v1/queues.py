# SPDX-License-Identifier: Apache-2.0
"""The kinds of queues in a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tf.dtypes import DType, int64, resource, short_name
from .._tf.errors import invalid
from .._tf.shape import Dimension, TensorShape, as_shape
from ._nodes import Tensor
from ._queueing import FifoQueue, PaddingQueue, Queue, ShuffleQueue, shape_text
from ._queueing import PriorityQueue as RankedQueue
from .draws import get_seed
from .graph import create_op
from .queue_base import QueueBase, as_names, as_types


def as_shapes(shapes: Any, *, partial: bool = False) -> list[TensorShape] | None:
    """Return component shapes for a list of shapes or a single one."""
    sequence = isinstance(shapes, (list, tuple))
    if partial and not (sequence and shapes and not any(map(_is_size, shapes))):
        raise ValueError("When providing partial shapes, a list of shapes must be provided.")
    if shapes is None:
        return None
    if isinstance(shapes, TensorShape):
        shapes = [shapes]
    elif not sequence:
        raise TypeError(
            f"Shapes must be a TensorShape or a list or tuple of TensorShapes, got {type(shapes)} "
            f"instead."
        )
    elif all(map(_is_size, shapes)):
        shapes = [shapes]
    found = [as_shape(each) for each in shapes]
    if not partial and not all(shape.is_fully_defined() for shape in found):
        raise ValueError(f"All shapes must be fully defined: {found}")
    if any(shape.ndims is None for shape in found):
        raise ValueError(f"All shapes must have a defined rank: {found}")
    return found


def _is_size(value: Any) -> bool:
    return value is None or isinstance(value, (int, np.integer, Dimension))


def _ready(
    dtypes: Sequence[DType], shapes: Sequence[TensorShape] | None
) -> tuple[list[np.dtype[Any]], list[tuple[int | None, ...]] | None]:
    """Return types and shapes in the form that the queue implementation takes."""
    if not dtypes:
        raise ValueError("A queue needs at least one component.")
    sizes = None if shapes is None else [tuple(shape.as_list()) for shape in shapes]
    return [dtype.numpy for dtype in dtypes], sizes


def _queue_op(
    type: str,
    make: Callable[..., Queue],
    dtypes: Sequence[DType],
    shapes: Sequence[TensorShape] | None,
    capacity: int,
    shared_name: str | None,
    name: str | None,
    **settings: Any,
) -> Tensor:
    """Add the operation that returns the queue, one per session or per `shared_name` in it."""
    numpy, sizes = _ready(dtypes, shapes)
    attrs = {
        "capacity": capacity,
        "types": ", ".join(short_name(dtype) for dtype in dtypes),
        "shapes": "[" + ",".join(shape_text(size) for size in sizes or ()) + "]",
        **settings,
    }

    def make_one() -> Queue:
        queue = make(capacity, numpy, sizes, name=shared_name, op_name=op.name)
        queue.settings = attrs
        return queue

    def kernel(step: Any) -> tuple[Queue]:
        queue: Queue = step.resource(f"queue {shared_name}" if shared_name else op, make_one)
        if queue.settings is not attrs:
            _check_same(queue, type, attrs, shared_name)
        return (queue,)

    shared = {"shared_name": (shared_name or "").encode()}
    op = create_op(
        type, (), [(resource, [])], kernel, name=name, attrs=attrs | shared, stateful=True
    )
    return op.outputs[0]


_MISMATCH = {
    "capacity": "has capacity {} but requested capacity was {}",
    "types": "has component types {} but requested component types were {}",
    "shapes": "has component shapes {} but requested component shapes were {}",
    "min_after_dequeue": "has min_after_dequeue {} but requested min_after_dequeue was {}.",
    "seeds": "has random seeds {} but requested seeds are {}.",
}


def _check_same(queue: Queue, type: str, wanted: dict[str, Any], name: str | None) -> None:
    if type.removesuffix("V2") != queue.kind:
        raise invalid(f"Expected {queue.kind}, found {type}")
    for what, value in wanted.items():
        found = queue.settings[what]
        unseeded = what == "seeds" and value == (0, 0)  # an unseeded queue accepts any seeds
        if found != value and not unseeded:
            text = _MISMATCH[what].format(found, value)
            raise invalid(f"Shared queue '{name}' {text}")


class FIFOQueue(QueueBase):
    """A queue whose elements leave in the order of arrival.

    Parameters
    ----------
    capacity : int
        Largest number of elements; negative means unlimited.
    dtypes : DType or list of DType
        Types of the components.
    shapes : list of shapes, optional
        Shapes of an element's components. Without them, elements can only be dequeued one by one.
    names : list of str, optional
        Names of the components; elements are then dictionaries.
    shared_name : str, optional
        Queues with the same shared name are one queue within a session.
    name : str
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        types, known = as_types(dtypes), as_shapes(shapes)
        labels = as_names(names, types)
        ref = _queue_op("FIFOQueueV2", FifoQueue, types, known, capacity, shared_name, name)
        super().__init__(types, known, labels, ref)


class RandomShuffleQueue(QueueBase):
    """A queue with random order, equal to TensorFlow's for the same seed and contents.

    Parameters
    ----------
    capacity : int
        Largest number of elements; negative means unlimited.
    min_after_dequeue : int
        Number of elements that remain until the queue is closed.
    dtypes, shapes, names : optional
        As for :class:`FIFOQueue`.
    seed : int, optional
        See ``tf.set_random_seed``.
    shared_name, name : str
        As for :class:`FIFOQueue`.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        types, known = as_types(dtypes), as_shapes(shapes)
        labels = as_names(names, types)
        seeds = _seeds(seed, shared_name)

        def make(limit: int, *parts: Any, **names: Any) -> Queue:
            if min_after_dequeue < 0:
                text = f"min_after_dequeue {min_after_dequeue} must be >= 0"
                raise invalid(text)
            if 0 <= limit <= min_after_dequeue:
                text = f"min_after_dequeue {min_after_dequeue} must be < capacity {limit}"
                raise invalid(text)
            return ShuffleQueue(limit, min_after_dequeue, seeds, *parts, **names)

        ref = _queue_op(
            "RandomShuffleQueueV2",
            make,
            types,
            known,
            capacity,
            shared_name,
            name,
            min_after_dequeue=min_after_dequeue,
            seeds=seeds,
        )
        super().__init__(types, known, labels, ref)


def _seeds(seed: int | None, shared_name: str | None) -> tuple[int, int]:
    first, second = get_seed(seed)
    if first is None or second is None:
        return first or 0, second or 0
    if seed is None and shared_name is not None:
        import hashlib

        # The seed is the same in every graph with this seed, wherever the queue is created.
        text = str(first) + shared_name
        second = (
            int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:8], 16) & 0x7FFFFFFF
        )
    return first, second


class PaddingFIFOQueue(QueueBase):
    """A queue in order of arrival; a batch is padded to its largest element in unknown dimensions.

    Parameters
    ----------
    capacity : int
        Largest number of elements; negative means unlimited.
    dtypes : DType or list of DType
        Types of the components.
    shapes : list of shapes
        Shapes of an element's components; dimensions may be None.
    names, shared_name, name : optional
        As for :class:`FIFOQueue`.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        types = as_types(dtypes)
        labels = as_names(names, types)
        known = as_shapes(shapes, partial=True)
        if known is None or len(known) != len(types):
            raise ValueError(
                f"Shapes must be provided for all components, but received {len(types)} dtypes "
                f"and {len(known or ())} shapes."
            )
        ref = _queue_op(
            "PaddingFIFOQueueV2", PaddingQueue, types, known, capacity, shared_name, name
        )
        super().__init__(types, known, labels, ref)


class PriorityQueue(QueueBase):
    """A queue with the lowest priority first; each element begins with an int64, its priority.

    Parameters
    ----------
    capacity : int
        Largest number of elements; negative means unlimited.
    types : list of DType
        Types of the components after the priority.
    shapes : list of shapes
        Shapes of the components after the priority.
    names, shared_name, name : optional
        As for :class:`FIFOQueue`.
    """

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        known = as_shapes(shapes)
        if known is None:
            raise TypeError("A PriorityQueue needs the shapes of its components, not None.")
        kinds = [int64, *as_types(types)]
        sizes = [TensorShape([]), *known]
        if len(sizes) != len(kinds):
            raise ValueError(
                f"Queue shapes must have the same length as dtypes, received "
                f"len(shapes)={len(sizes)}, len(dtypes)={len(kinds)}"
            )
        labels = as_names(names, kinds)
        ref = _queue_op("PriorityQueueV2", RankedQueue, kinds, sizes, capacity, shared_name, name)
        super().__init__(kinds, sizes, labels, ref)
