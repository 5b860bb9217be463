# SPDX-License-Identifier: Apache-2.0
"""``tf.distribute`` for one process without accelerators, as far as input pipelines use it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

__all__ = ["InputContext", "Strategy", "TPUClusterResolver", "get_strategy", "has_strategy"]


class InputContext:
    """The number of this input pipeline among several, and the number of replicas.

    Parameters
    ----------
    num_input_pipelines, input_pipeline_id, num_replicas_in_sync : int
    """

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ) -> None:
        self._pipelines, self._id = num_input_pipelines, input_pipeline_id
        self._replicas = num_replicas_in_sync

    @property
    def num_input_pipelines(self) -> int:
        """The number of input pipelines."""
        return self._pipelines

    @property
    def input_pipeline_id(self) -> int:
        """The number of this input pipeline, from 0."""
        return self._id

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas that process batches together."""
        return self._replicas

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Return the size of one replica's part of a batch.

        Raises
        ------
        ValueError
            If `global_batch_size` is not divisible by the number of replicas.
        """
        if global_batch_size % self._replicas:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size!r} is not divisible by "
                f"`num_replicas_in_sync` {self._replicas!r} "
            )
        return global_batch_size // self._replicas

    def __str__(self) -> str:
        return f"tf.distribute.InputContext(input pipeline id {self._id}, total: {self._pipelines})"


class Strategy:
    """The default strategy: one replica, which receives every batch unchanged."""

    num_replicas_in_sync = 1

    def scope(self) -> contextlib.AbstractContextManager[Strategy]:
        """Return a context without effect."""
        return contextlib.nullcontext(self)

    def run(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Call `fn`."""
        return fn(*args, **kwargs or {})

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """Return the dataset unchanged."""
        return dataset

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: Any = None
    ) -> Any:
        """Return the dataset that `dataset_fn` creates for the only input pipeline."""
        return dataset_fn(InputContext())


_DEFAULT = Strategy()


def get_strategy() -> Strategy:
    """Return the default strategy."""
    return _DEFAULT


def has_strategy() -> bool:
    """Return False, because no other strategy is supported."""
    return False


class TPUClusterResolver:
    """The resolver of a TPU; creating one raises ValueError, as TensorFlow without a TPU."""

    def __init__(self, tpu: Any = None, *_: Any, **__: Any) -> None:
        raise ValueError("Please provide a TPU Name to connect to.")

    @staticmethod
    def connect(tpu: Any = None, *_: Any, **__: Any) -> TPUClusterResolver:
        """Raise ValueError, as TensorFlow does without a TPU."""
        return TPUClusterResolver(tpu)
