# SPDX-License-Identifier: Apache-2.0
"""Input pipelines of fastrec.compat.v1 as tensors of TensorFlow's own graphs."""

from __future__ import annotations

import threading
from typing import Any

import tensorflow as tf

from ..compat import v1 as compat
from .leaves import as_array, pack, walk

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
        Dense tensors of one graph, such as the result of ``shuffle_batch``.
    name : str, optional
        Name of the operation.

    Returns
    -------
    structure of tf.Tensor
        With the dtypes and static shapes of `tensors`.

    Raises
    ------
    TypeError
        When one of `tensors` is not a dense tensor of fastrec.compat.v1.
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
    leaves = [leaf for _, leaf in walk(tensors)]
    for path, leaf in walk(tensors):
        if not isinstance(leaf, compat.Tensor) or not hasattr(leaf, "graph"):
            raise TypeError(
                f"{path} must be a dense tensor of fastrec.compat.v1, got {type(leaf).__name__}"
            )
    pipeline = _Pipeline(leaves)
    outputs = tf.numpy_function(
        pipeline.run, [], [tf.as_dtype(leaf.dtype.name) for leaf in leaves], name=name
    )
    for output, leaf in zip(outputs, leaves, strict=True):
        output.set_shape(leaf.shape.as_list() if leaf.shape.ndims is not None else None)
    tf.compat.v1.add_to_collection(tf.compat.v1.GraphKeys.QUEUE_RUNNERS, pipeline)
    return pack(tensors, iter(outputs))


class _Pipeline:
    """A session of the pipeline's graph; for TensorFlow's collection, a queue runner."""

    def __init__(self, tensors: list[Any]) -> None:
        self._tensors = tensors
        self._session: Any = None
        self._lock = threading.Lock()
        self.name = "fastrec"

    def _opened(self) -> Any:
        with self._lock:
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
        session = self._opened()
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
