# SPDX-License-Identifier: Apache-2.0
"""Queues of ``tf.train``: batches of examples, and producers of file names and numbers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import fastrec

from .._tf.columns import batch_of
from .._tf.dtypes import DType, int64, resource, string
from .._tf.errors import invalid
from .._tf.naming import named
from .._tf.ops import Array
from .._tf.shape import TensorShape, as_shape
from .._tf.tensor import boxed
from ._composites import is_sparse, parts_of, pieces
from ._nodes import Tensor
from .array_ops import arrays, math, picking
from .constants import constant, convert_to_tensor
from .control_flow import Assert
from .draws import draws
from .graph import GraphKeys, control_dependencies, create_op, name_scope
from .queue_base import QueueBase
from .queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from .runners import QueueRunner, add_queue_runner
from .variables import Variable, count_up_to

MakeQueue = Callable[[list[DType], Any], QueueBase]


def _listed(tensors: Any) -> list[Any]:
    """Return the tensors of one example; a dictionary is sorted by key."""
    if isinstance(tensors, dict):
        return [tensors[key] for key in sorted(tensors, key=str)]
    return list(tensors)


def as_given(tensors: Any, values: Any) -> Any:
    """Return `values` in the structure of `tensors`."""
    if not isinstance(tensors, dict):
        return values
    if len(tensors) == 1:
        values = [values]
    return dict(zip(sorted(tensors, key=str), values, strict=True))


def _keep(keep_input: Any, enqueue_many: bool) -> Tensor:
    keep = convert_to_tensor(keep_input)
    rank = keep.shape.ndims
    if rank is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not enqueue_many and rank == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if rank > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep


def _types(examples: Sequence[Sequence[Tensor]]) -> list[DType]:
    first = [tensor.dtype for tensor in examples[0]]
    for other in examples[1:]:
        found = [tensor.dtype for tensor in other]
        if found != first:
            raise TypeError(
                f"Expected types to be consistent: {', '.join(t.name for t in first)} vs. "
                f"{', '.join(t.name for t in found)}."
            )
    return first


def _shapes(examples: Sequence[Sequence[Tensor]], given: Any, many: bool) -> list[Any]:
    if given is not None:
        return list(given)
    for example in examples:
        for tensor in example:
            if tensor.shape.ndims is None:
                raise ValueError(f"Cannot infer Tensor's rank: {tensor}")
    return [_merged([e[i] for e in examples], many) for i in range(len(examples[0]))]


def _merged(tensors: Sequence[Tensor], many: bool) -> Any:
    shapes = [as_shape(tensor.shape) for tensor in tensors]
    if many:
        shapes = [shape.with_rank_at_least(1)[1:] for shape in shapes]
    for shape in shapes[1:]:
        shapes[0].merge_with(shape)  # raises if the shapes are incompatible
    return shapes[0]


class _Several(list[Any]):
    """The examples of a ``*_join``: a list of tensors for each thread."""


def batched(
    scope_name: str,
    make_queue: MakeQueue,
    tensors: Any,
    threads: int,
    batch_size: Any,
    keep_input: Any,
    *,
    enqueue_many: bool,
    shapes: Any,
    allow_smaller_final_batch: bool,
    name: str | None,
) -> Any:
    """Batch examples, with one or more threads for each list of tensors."""
    several = isinstance(tensors, _Several)
    examples = tensors if several else [tensors]
    scope_name = f"{scope_name}_join" if several else scope_name
    given = examples[0]
    listed = [_listed(example) for example in examples]
    values = [value for example in listed for value in example if isinstance(value, Tensor)]
    with name_scope(name, scope_name, values) as scope:
        if not all(listed):
            raise ValueError("Expected at least one tensor in batch().")
        keep = _keep(keep_input, enqueue_many)
        sparse = [value if is_sparse(value) else None for value in listed[0]]
        ready = [_with_sparse_stored(example, sparse, enqueue_many) for example in listed]
        queue = make_queue(_types(ready), _shapes(ready, shapes, enqueue_many))
        enqueues = [queue.enqueue_if(keep, example, many=enqueue_many) for example in ready]
        add_queue_runner(QueueRunner(queue, enqueues * threads))
        take = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
        taken = take(batch_size, name=scope)
        return as_given(given, restored_of(taken, sparse, enqueue_many))


def example_of(tensors: Any, shapes: Any) -> tuple[list[Tensor], list[Any], list[DType], list[Any]]:
    """Return the tensors of one example for a queue, with sparse tensors, types and shapes."""
    listed = _listed(tensors)
    if not listed:
        raise ValueError("Expected at least one tensor.")
    sparse = [value if is_sparse(value) else None for value in listed]
    ready = _with_sparse_stored(listed, sparse, False)
    return ready, sparse, _types([ready]), _shapes([ready], shapes, False)


def _with_sparse_stored(example: list[Any], sparse: list[Any], many: bool) -> list[Tensor]:
    if len(example) != len(sparse) or any(
        is_sparse(value) != (like is not None) for value, like in zip(example, sparse, strict=True)
    ):
        raise ValueError(f"Inconsistent SparseTensors list: {sparse} vs. {example}")
    return [
        stored(value, many) if is_sparse(value) else convert_to_tensor(value) for value in example
    ]


def restored_of(taken: Any, sparse: list[Any], many: bool = False) -> Any:
    """Return dequeued tensors after restoring the sparse ones."""
    if not any(like is not None for like in sparse):
        return taken
    values = taken if isinstance(taken, list) else [taken]
    found = [
        value if like is None else restored(value, like, many)
        for value, like in zip(values, sparse, strict=True)
    ]
    return found if isinstance(taken, list) else found[0]


def all_alike(tensors_list: Any) -> list[Any]:
    """Return the examples of a ``*_join``, which must have the same keys."""
    if not tensors_list:
        raise ValueError("Expected at least one set of tensors")
    examples = list(tensors_list)
    if isinstance(examples[0], dict) and any(set(e) != set(examples[0]) for e in examples[1:]):
        raise ValueError("All dictionaries in tensors_list must have the same keys")
    return examples


def in_order(capacity: int, dynamic_pad: bool, shared_name: str | None) -> MakeQueue:
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    return lambda types, shapes: kind(capacity, types, shapes, shared_name=shared_name)


def at_random(
    capacity: int, min_after_dequeue: int, seed: int | None, shared_name: str | None
) -> MakeQueue:
    if capacity <= min_after_dequeue:
        raise ValueError(
            f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}."
        )
    return lambda types, shapes: RandomShuffleQueue(
        capacity, min_after_dequeue, types, shapes, seed=seed, shared_name=shared_name
    )


def _one(step: Any, indices: Array, values: Array, sizes: Array) -> tuple[Array]:
    return (boxed(fastrec.Sparse(indices, values, tuple(sizes.tolist()))),)


def _many(step: Any, indices: Array, values: Array, sizes: Array) -> tuple[Array]:
    if not len(sizes):
        raise invalid("Rank of a batch of sparse examples must be at least 1")
    rows = np.empty(int(sizes[0]), object)
    order = np.argsort(indices[:, 0], kind="stable")
    bounds = np.searchsorted(indices[order, 0], np.arange(len(rows) + 1))
    for i in range(len(rows)):
        which = order[bounds[i] : bounds[i + 1]]
        rows[i] = fastrec.Sparse(indices[which, 1:], values[which], tuple(sizes[1:].tolist()))
    return (rows,)


def stored(sparse: Any, many: bool) -> Tensor:
    """Return a sparse tensor as an element of a queue; with `many`, each row is an element."""
    kind = "AddManySparseToTensorsMap" if many else "AddSparseToTensorsMap"
    shape = [None] if many else []
    op = create_op(kind, pieces(sparse), [(resource, shape)], _many if many else _one)
    return op.outputs[0]


def restored(elements: Tensor, like: Any, many: bool) -> Any:
    """Return the batch of the stored sparse tensors, with the type of `like`."""
    dtype = like.values.dtype
    size = like.dense_shape.shape.num_elements()
    rank = None if size is None else size + (not many)

    def kernel(step: Any, rows: Array) -> tuple[Any, ...]:
        listed: list[fastrec.Sparse] = rows.tolist()
        ranks = {len(row.dense_shape) for row in listed}
        if len(ranks) > 1:
            raise invalid(f"Inconsistent rank across SparseTensors: {sorted(ranks)}")
        if not listed:
            inner = (rank or 1) - 1
            none = np.empty((0, inner + 1), np.int64), np.empty(0, dtype.numpy)
            return (*none, np.zeros(inner + 1, np.int64))
        return tuple(parts_of(batch_of(listed)))

    op = create_op(
        "TakeManySparseFromTensorsMap",
        (elements,),
        [(int64, [None, rank]), (dtype, [None]), (int64, [rank])],
        kernel,
    )
    return type(like)(*op.outputs)


def _of_all(maybe: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function for all examples, without the parameter `keep_input`."""
    signature = inspect.signature(maybe)
    others = [each for each in signature.parameters.values() if each.name != "keep_input"]
    without = signature.replace(parameters=others)

    def function(*arguments: Any, **named: Any) -> Any:
        return maybe(keep_input=True, **without.bind(*arguments, **named).arguments)

    function.__signature__ = without  # type: ignore[attr-defined]
    name = maybe.__name__.removeprefix("maybe_")
    return named(function, name, doc=f"Do what :func:`{maybe.__name__}` does, for all examples.")


def _of_several(maybe: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function for several lists of tensors, each with one thread."""
    signature = inspect.signature(maybe)
    parameters = [
        each.replace(name="tensors_list") if each.name == "tensors" else each
        for each in signature.parameters.values()
        if each.name != "num_threads"
    ]
    joining = signature.replace(parameters=parameters)

    def function(*arguments: Any, **named: Any) -> Any:
        given = joining.bind(*arguments, **named).arguments
        examples = _Several(all_alike(given.pop("tensors_list")))
        return maybe(tensors=examples, **given)

    function.__signature__ = joining  # type: ignore[attr-defined]
    doc = f"Batch as :func:`{maybe.__name__}` does, with one thread for each list of tensors."
    return named(function, f"{maybe.__name__}_join", doc=doc)


def maybe_batch(
    tensors: Any,
    keep_input: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batch the examples for which `keep_input` holds, in the order of their arrival."""
    return batched(
        "batch",
        in_order(capacity, dynamic_pad, shared_name),
        tensors,
        num_threads,
        batch_size,
        keep_input,
        enqueue_many=enqueue_many,
        shapes=shapes,
        allow_smaller_final_batch=allow_smaller_final_batch,
        name=name,
    )


def maybe_shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batch as :func:`maybe_batch` does, drawing examples at random from the queue."""
    return batched(
        "shuffle_batch",
        at_random(capacity, min_after_dequeue, seed, shared_name),
        tensors,
        num_threads,
        batch_size,
        keep_input,
        enqueue_many=enqueue_many,
        shapes=shapes,
        allow_smaller_final_batch=allow_smaller_final_batch,
        name=name,
    )


maybe_batch_join: Final = _of_several(maybe_batch)
maybe_shuffle_batch_join: Final = _of_several(maybe_shuffle_batch)
batch: Final = _of_all(maybe_batch)
batch_join: Final = _of_all(maybe_batch_join)
shuffle_batch: Final = _of_all(maybe_shuffle_batch)
shuffle_batch_join: Final = _of_all(maybe_shuffle_batch_join)


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
