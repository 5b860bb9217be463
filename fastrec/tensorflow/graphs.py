# SPDX-License-Identifier: Apache-2.0
"""Input pipelines of fastrec.compat.v1 as tensors of TensorFlow's own graphs."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf

from ..compat import v1 as compat
from .leaves import as_array

__all__ = ["graph_tensors"]

_POLL_S = 0.05  # between checks whether the pipeline has stopped


def graph_tensors(tensors: Any, name: str | None = None) -> Any:
    """Return tensors of the current graph that take their values from an input pipeline.

    For programs of TensorFlow 1: the input code imports ``fastrec.compat.v1`` and the rest imports
    ``tensorflow.compat.v1``. A ``session.run`` that needs any of these tensors dequeues all of
    them together. ``tf.train.start_queue_runners``, also as ``MonitoredSession`` calls it, starts
    the runners of the pipeline, which stop with the program's Coordinator.

    Parameters
    ----------
    tensors : structure of tensors of fastrec.compat.v1
        Dense and sparse tensors of one graph, in dicts, lists and tuples, such as the result of
        ``shuffle_batch``.
    name : str, optional
        Name of the operation.

    Returns
    -------
    structure of tf.Tensor and tf.SparseTensor
        With the dtypes and static shapes of `tensors`. Each session of TensorFlow whose queue
        runners are started reads the pipeline from its beginning.

    Raises
    ------
    TypeError
        When one of `tensors` is not a tensor of fastrec.compat.v1.
    RuntimeError
        When no graph is being built, as in eager execution.
    tf.errors.OutOfRangeError
        From ``session.run``, at the end of the pipeline.
    tf.errors.OpError
        From ``session.run``, for any other error of the pipeline, with its text.

    Examples
    --------
    >>> images, labels = inputs(folder, 128)  # of fastrec.compat.v1  # doctest: +SKIP
    >>> images, labels = graph_tensors((images, labels))  # doctest: +SKIP
    >>> loss = tf.losses.sparse_softmax_cross_entropy(labels, model(images))  # doctest: +SKIP
    """
    if tf.executing_eagerly():
        raise RuntimeError(
            "graph_tensors() requires a graph: call it within tf.Graph().as_default(), or use "
            "fastrec.tensorflow.dataset() in programs of TensorFlow 2"
        )
    leaves = list(_dense_leaves(tensors))
    pipeline = _Pipeline(leaves)
    outputs = tf.numpy_function(
        pipeline.run, [], [tf.as_dtype(leaf.dtype.name) for leaf in leaves], name=name
    )
    for output, leaf in zip(outputs, leaves, strict=True):
        output.set_shape(leaf.shape.as_list() if leaf.shape.ndims is not None else None)
    pipeline.describe(outputs[0].op)
    tf.compat.v1.add_to_collection(tf.compat.v1.GraphKeys.QUEUE_RUNNERS, pipeline)
    return _packed(tensors, iter(outputs))


def _dense_leaves(value: Any, name: str = "") -> Iterator[Any]:
    """Yield the dense tensors of a structure, three for each sparse tensor."""
    if isinstance(value, Mapping):
        for key in value:
            yield from _dense_leaves(value[key], f"{name}[{key!r}]")
    elif isinstance(value, (list, tuple)) and not isinstance(value, compat.SparseTensor):
        for number, each in enumerate(value):
            yield from _dense_leaves(each, f"{name}[{number}]")
    elif isinstance(value, compat.SparseTensor) and hasattr(value.values, "graph"):
        yield from (value.indices, value.values, value.dense_shape)
    elif isinstance(value, compat.Tensor) and hasattr(value, "graph"):
        yield value
    else:
        raise TypeError(
            f"{name or 'the element'} must be a dense or sparse tensor of fastrec.compat.v1, got "
            f"{type(value).__name__}"
        )


def _packed(value: Any, tensors: Iterator[Any]) -> Any:
    """Return a structure with its dense tensors replaced, in the order of :func:`_dense_leaves`."""
    if isinstance(value, Mapping):
        return {key: _packed(value[key], tensors) for key in value}
    if isinstance(value, compat.SparseTensor):
        return tf.SparseTensor(*itertools.islice(tensors, 3))
    if isinstance(value, (list, tuple)):
        parts = [_packed(each, tensors) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return next(tensors)


class _Pipeline:
    """A session of the pipeline's graph; for TensorFlow's collection, a queue runner."""

    def __init__(self, tensors: list[Any]) -> None:
        self._tensors = tensors
        self._owner: Any = None  # the session of TensorFlow that this session belongs to
        self._session: Any = None
        self._lock = threading.Lock()
        self.name = "fastrec"

    def describe(self, operation: Any) -> None:
        """Set what TensorFlow stores of a queue runner with each checkpoint."""
        self.queue = self.cancel_op = self.close_op = operation
        self.enqueue_ops: list[Any] = []
        self._queue_closed_exception_types = (tf.errors.OutOfRangeError,)

    def _opened(self, owner: Any = None) -> Any:
        with self._lock:
            is_other = None not in (owner, self._owner) and owner is not self._owner
            if is_other and self._session is not None:
                self._session.close()
                self._session = None
            self._owner = owner or self._owner
            if self._session is None:
                graph = self._tensors[0].graph
                self._session = compat.Session(graph=graph)
                with graph.as_default():
                    self._session.run(
                        [
                            compat.global_variables_initializer(),
                            compat.local_variables_initializer(),
                        ]
                    )
            return self._session

    def run(self) -> list[Any]:
        """Return the next values; StopIteration is TensorFlow's OutOfRangeError."""
        try:
            values = self._opened().run(self._tensors)
        except compat.errors.OutOfRangeError as error:
            raise StopIteration(str(error)) from None
        return [as_array(value) for value in values]

    def create_threads(
        self, sess: Any, coord: Any = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Return the threads that fill the queues of the pipeline, as a QueueRunner does."""
        session = self._opened(sess)
        own = compat.train.Coordinator()
        with session.graph.as_default():
            threads = list(
                compat.train.start_queue_runners(session, own, daemon=daemon, start=start)
            )
        if coord is not None:
            watch = threading.Thread(target=_watch, args=(coord, own, threads), daemon=daemon)
            coord.register_thread(watch)
            threads.append(watch)
            if start:
                watch.start()
        return threads


def _watch(coord: Any, own: Any, threads: list[threading.Thread]) -> None:
    """Stop the pipeline's runners when the program stops, and the program when they fail."""
    fillers = [thread for thread in threads if thread is not threading.current_thread()]
    while any(thread.ident is None or thread.is_alive() for thread in fillers):
        if coord.wait_for_stop(_POLL_S) or own.should_stop():
            break
    own.request_stop()
    try:
        own.join(fillers)
    except Exception as error:
        with coord.stop_on_exception():
            raise tf.errors.UnknownError(None, None, f"{type(error).__name__}: {error}") from error
