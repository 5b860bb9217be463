# SPDX-License-Identifier: Apache-2.0
"""``tf.contrib.training``: batches from queues, by bucket or class, and settings of a program."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..._tf.dtypes import float32, int32, int64
from .._nodes import Tensor
from ..array_ops import arrays, math, picking, reductions
from ..batching import as_given, batch, example_of, in_order, maybe_batch, restored_of
from ..constants import convert_to_tensor
from ..control_flow import group
from ..draws import draws
from ..graph import name_scope
from ..queues import PaddingFIFOQueue
from ..runners import QueueRunner, add_queue_runner
from ..variables import Variable


def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:
    """Return batches of examples, each from a single bucket, and the number of the bucket.

    Parameters
    ----------
    tensors : list or dict of Tensor
        One example.
    which_bucket : Tensor of int32
        The number of the bucket of the example.
    batch_size : int or list of int
        One size for all buckets, or a size for each.
    num_buckets : int
    bucket_capacities : list of int, optional
        The maximum number of examples in each bucket; by default `capacity`.

    Raises
    ------
    ValueError
        If the number of sizes or capacities differs from the number of buckets.
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets must be at least 1, got {num_buckets}")
    sizes = _for_each("batch_size", batch_size, num_buckets)
    rooms = _for_each("bucket_capacities", bucket_capacities or capacity, num_buckets)
    with name_scope(name, "bucket", None):
        ready, sparse, types, known = example_of(tensors, shapes)
        number = convert_to_tensor(which_bucket, convert_to_tensor(np.int32(0)).dtype)
        keep = convert_to_tensor(keep_input)
        queues = [
            in_order(room, dynamic_pad, f"{shared_name}_{i}" if shared_name else None)(types, known)
            for i, room in enumerate(rooms)
        ]
        enqueues = [
            queue.enqueue_if(
                math.logical_and(keep, math.equal(number, np.int32(i))),
                ready,
                many=False,
            )
            for i, queue in enumerate(queues)
        ]
        _run(queues[0], [group(*enqueues)] * num_threads, queues)
        whole = [None if allow_smaller_final_batch else size for size in sizes]
        same = whole[0] if len(set(whole)) == 1 else None
        top = PaddingFIFOQueue(
            capacity,
            [number.dtype, *types],
            [[], *[[same, *shape.as_list()] for shape in queues[0].shapes]],
            shared_name=shared_name,
        )
        taken = [
            (queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many)(size)
            for queue, size in zip(queues, sizes, strict=True)
        ]
        batches = [each if isinstance(each, list) else [each] for each in taken]
        moved = [
            top.enqueue([convert_to_tensor(np.int32(i)), *batch]) for i, batch in enumerate(batches)
        ]
        _run(top, moved, [top])
        which, *found = top.dequeue()
        values = restored_of(found if len(found) > 1 else found[0], sparse)
        return which, as_given(tensors, values)


def _for_each(parameter: str, value: Any, count: int) -> list[int]:
    found = list(value) if isinstance(value, (list, tuple)) else [value] * count
    if len(found) != count:
        raise ValueError(
            f"The list {parameter} must have the same number of elements as num_buckets, got "
            f"{len(found)} and {count}"
        )
    return [int(each) for each in found]


def _run(queue: Any, enqueues: Sequence[Any], closed: Sequence[Any]) -> None:
    """Add a queue runner that runs `enqueues` and finally closes the queues `closed`."""
    close = group(*[each.close() for each in closed])
    cancel = group(*[each.close(cancel_pending_enqueues=True) for each in closed])
    add_queue_runner(QueueRunner(queue, list(enqueues), close, cancel))


def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:
    """Return batches of examples of similar length, and the lengths.

    Parameters
    ----------
    input_length : Tensor of int32
        The length of one example.
    bucket_boundaries : list of int
        Lengths in ascending order. Each is the lower boundary of a bucket.

    Raises
    ------
    ValueError
        If the boundaries are not in ascending order.
    """
    limits = [int(each) for each in bucket_boundaries]
    if not limits or any(a >= b for a, b in pairwise(limits)):
        raise ValueError(f"bucket_boundaries must be ascending and not empty, got {limits}")
    with name_scope(name, "bucket_by_sequence_length", None):
        length = convert_to_tensor(input_length, convert_to_tensor(np.int32(0)).dtype)
        beyond = math.greater_equal(length, convert_to_tensor(np.array(limits, np.int32)))
        which = reductions.reduce_sum(math.cast(beyond, length.dtype))
        names = sorted(tensors, key=str) if isinstance(tensors, dict) else None
        listed = [tensors[key] for key in names] if names else list(tensors)
        _, found = bucket(
            [length, *listed],
            which,
            batch_size,
            len(limits) + 1,
            num_threads,
            capacity,
            bucket_capacities,
            None if shapes is None else [[], *shapes],
            dynamic_pad,
            allow_smaller_final_batch,
            keep_input,
            shared_name,
        )
    values = found[1:] if len(listed) > 1 else found[1]
    return found[0], as_given(tensors, values)


# Match a name and a value, a list of values, or an empty value.
_SETTING = re.compile(
    r"\s*(?P<name>[a-zA-Z]\w*)\s*=\s*(\[(?P<list>[^\]]*)\]|(?P<one>[^,\[]*))(?:,|$)"
)


class HParams:
    """Settings that are accessible as attributes.

    The initial value of a setting determines its type. All values of a list have one type.
    """

    def __init__(self, **settings: Any) -> None:
        self._names: dict[str, bool] = {}  # maps each name to whether its value is a list
        for name, value in settings.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Add a setting.

        Raises
        ------
        ValueError
            If a setting of that name exists or if a list is empty.
        """
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        several = isinstance(value, (list, tuple))
        if several and not value:
            raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
        self._names[name] = several
        setattr(self, name, list(value) if several else value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Change a setting to a value of its type."""
        several = self._names[name]
        if several != isinstance(value, (list, tuple)):
            wanted = "a list" if several else "one value"
            raise ValueError(f"{name} has to be {wanted}, got {value!r}")
        before = getattr(self, name)
        like = before[0] if several else before
        made = [_of_type(name, each, like) for each in (value if several else [value])]
        setattr(self, name, made if several else made[0])

    def del_hparam(self, name: str) -> None:
        """Remove a setting if it exists."""
        if name in self._names:
            del self._names[name]
            delattr(self, name)

    def parse(self, values: str) -> HParams:
        """Change settings according to a string such as ``name=value,other=[1,2]``.

        Raises
        ------
        ValueError
            If a name is unknown or a value has the wrong type.
        """
        at = 0
        while at < len(values):
            found = _SETTING.match(values, at)
            if found is None:
                raise ValueError(f"Malformed hyperparameter value: {values[at:]}")
            at, name = found.end(), found["name"]
            if name not in self._names:
                raise ValueError(f"Unknown hyperparameter: {name}")
            several = found["list"] is not None
            self.set_hparam(name, found["list"].split(",") if several else found["one"])
        return self

    def override_from_dict(self, values: dict[str, Any]) -> HParams:
        """Change settings to the values of a dictionary."""
        for name, value in values.items():
            self.set_hparam(name, value)
        return self

    def parse_json(self, values: str) -> HParams:
        """Change settings to the values of a JSON object."""
        return self.override_from_dict(json.loads(values))

    def to_json(self, **how: Any) -> str:
        """Return all settings as a JSON object."""
        return json.dumps(self.values(), **how)

    def values(self) -> dict[str, Any]:
        """Return all settings."""
        return {name: getattr(self, name) for name in self._names}

    def get(self, key: str, default: Any = None) -> Any:
        """Return a setting, or `default` if it does not exist."""
        return getattr(self, key) if key in self._names else default

    def __contains__(self, key: str) -> bool:
        return key in self._names

    def __repr__(self) -> str:
        return f"HParams({sorted(self.values().items())})"


def _of_type(name: str, value: Any, like: Any) -> Any:
    """Convert a value, which may be text, to the type of another value."""
    kind = type(like)
    if like is None or isinstance(value, kind) or not isinstance(value, (str, int, float)):
        return value
    if kind is bool:
        if str(value) in ("true", "True", "1"):
            return True
        if str(value) in ("false", "False", "0"):
            return False
    elif kind is not int or not isinstance(value, float) or value.is_integer():
        try:
            return kind(value)
        except ValueError:
            pass
    raise ValueError(f"Could not parse hparam {name!r} of type {kind.__name__!r} from {value!r}")


_SMOOTHING = 10  # The initial count of each class, in examples, smooths the estimated shares.


def stratified_sample(
    tensors: Sequence[Any],
    labels: Any,
    target_probs: Any,
    batch_size: int,
    init_probs: Any = None,
    enqueue_many: bool = False,
    queue_capacity: int = 16,
    threads_per_queue: int = 1,
    name: str | None = None,
) -> tuple[list[Tensor], Tensor]:
    """Return batches of examples whose class frequencies are `target_probs`.

    Examples of frequent classes are dropped at random, so that examples of the rarest class are
    always kept.

    Parameters
    ----------
    tensors : list of Tensor
        One example, or several if `enqueue_many` is True.
    labels : Tensor of int
        The class of each example.
    target_probs : list of float
        The wanted frequency of each class.
    init_probs : list of float, optional
        The frequency of each class in the data; by default, the frequency in the examples so far.
    """
    with name_scope(name, "stratified_sample"):
        wanted = convert_to_tensor(target_probs, float32)
        classes = convert_to_tensor(labels)
        if classes.dtype is not int32:
            classes = math.cast(classes, int32)
        count = wanted.shape.num_elements()
        if count is None:
            raise ValueError("target_probs must have a known number of elements")
        if init_probs is None:
            share = _shares_so_far(classes, count)
        else:
            share = convert_to_tensor(init_probs, float32)
            share.shape.assert_is_compatible_with(wanted.shape)
        ratios = math.divide_no_nan(wanted, share)
        chances = math.truediv(ratios, reductions.reduce_max(ratios))
        *alone, label = batch(
            [*tensors, classes],
            1,
            threads_per_queue,
            queue_capacity,
            enqueue_many,
        )
        example = [arrays.squeeze(each, [0]) for each in alone]
        number = arrays.squeeze(label, [0])
        keep = math.less(draws.uniform([]), picking.gather(chances, number))
        *found, kept = maybe_batch([*example, number], keep, batch_size, threads_per_queue)
        return list(found), kept


def _shares_so_far(classes: Tensor, count: int) -> Tensor:
    """Return the share of each class in the examples so far."""
    start = np.full(count, _SMOOTHING, np.int64)
    seen = Variable(start, trainable=False, name="class_count")
    now = picking.one_hot(arrays.reshape(classes, [-1]), count, dtype=int64)
    total = seen.assign_add(reductions.reduce_sum(now, 0))
    share = math.truediv(total, reductions.reduce_sum(total))
    found: Tensor = math.cast(share, float32)
    return found


def rejection_sample(
    tensors: Sequence[Any],
    accept_prob_fn: Any,
    batch_size: int,
    queue_threads: int = 1,
    enqueue_many: bool = False,
    prebatch_capacity: int = 16,
    prebatch_threads: int = 1,
    runtime_checks: bool = False,
    name: str | None = None,
) -> list[Tensor]:
    """Return batches of examples, each kept with a probability that a function computes."""
    with name_scope(name, "rejection_sample"):
        alone = batch(list(tensors), 1, prebatch_threads, prebatch_capacity, enqueue_many)
        listed = list(alone) if isinstance(alone, (list, tuple)) else [alone]
        example = [arrays.squeeze(each, [0]) for each in listed]
        keep = math.less(draws.uniform([]), accept_prob_fn(example))
        found = maybe_batch(example, keep, batch_size, queue_threads)
        return list(found) if isinstance(found, (list, tuple)) else [found]
