# SPDX-License-Identifier: Apache-2.0
"""Queues that runners fill with work items, epoch by epoch, optionally shuffled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._tf.dtypes import int64, string
from .._tf.shape import TensorShape
from ._graph import GraphKeys
from ._nodes import Tensor
from .array_ops import arrays, picking
from .constants import constant, convert_to_tensor
from .control_flow import Assert
from .draws import draws
from .graph import control_dependencies, name_scope
from .math_ops import math
from .queue_base import QueueBase
from .queues import FIFOQueue
from .runners import QueueRunner, add_queue_runner
from .variables import Variable, count_up_to


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Return `tensor`, which raises OutOfRangeError after `num_epochs` runs.

    The count is a local variable, which ``tf.local_variables_initializer()`` initialises.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        zero = constant(0, dtype=int64)
        collections = [GraphKeys.LOCAL_VARIABLES]
        epochs = Variable(zero, name="epochs", trainable=False, collections=collections)
        with control_dependencies([count_up_to(epochs, num_epochs)]):
            return math.identity(tensor, name=scope)


def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> QueueBase:
    """Return a queue of the rows of a tensor, with a queue runner that fills it."""
    with name_scope(name, "input_producer", [input_tensor]):
        tensor = convert_to_tensor(input_tensor, name="input_tensor")
        element = tensor.shape.with_rank_at_least(1)[1:].merge_with(TensorShape(element_shape))
        if not element.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must "
                "be specified"
            )
        if shuffle:
            tensor = draws.shuffle(tensor, seed)
        tensor = limit_epochs(tensor, num_epochs)
        queue = FIFOQueue(
            capacity,
            [tensor.dtype],
            [element],
            shared_name=shared_name,
            name=name,  # type: ignore[arg-type]
        )
        runner = QueueRunner(queue, [queue.enqueue_many([tensor])], cancel_op=cancel_op)
        add_queue_runner(runner)
        return queue


def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> QueueBase:
    """Return a queue of strings, such as file names for a reader; see :func:`input_producer`."""
    none = "string_input_producer requires a non-null input tensor"
    if not isinstance(string_tensor, (Tensor, Variable)) and not len(string_tensor):
        raise ValueError(none)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        tensor = convert_to_tensor(string_tensor, string)
        with control_dependencies([Assert(math.greater(arrays.size(tensor), 0), [none])]):
            tensor = math.identity(tensor)
        return input_producer(
            tensor,
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
            cancel_op,
        )


def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """Return a queue of the integers below `limit`; see :func:`input_producer`."""
    with name_scope(name, "input_producer", [limit]) as scope:
        return input_producer(
            arrays.range(limit),
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
        )


def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """Return one row of each tensor, with the same index; see :func:`input_producer`."""
    with name_scope(name, "input_producer", list(tensor_list)):
        tensors = [convert_to_tensor(each) for each in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        count = arrays.shape(tensors[0])[0]
        queue = range_input_producer(count, num_epochs, shuffle, seed, capacity, shared_name)
        index = queue.dequeue()
        return [picking.gather(tensor, index) for tensor in tensors]
