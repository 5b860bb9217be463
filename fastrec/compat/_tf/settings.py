# SPDX-License-Identifier: Apache-2.0
"""Settings around an input program: devices, strategies, scopes and options.

They are accepted and ignored.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging


class LogicalDeviceConfiguration:
    """The configuration of a logical device.

    Parameters
    ----------
    memory_limit : int, optional
        Megabytes.
    experimental_priority, experimental_device_ordinal : int, optional
    """

    def __init__(
        self,
        memory_limit: int | None = None,
        experimental_priority: int | None = None,
        experimental_device_ordinal: int | None = None,
    ) -> None:
        self.memory_limit = memory_limit
        self.experimental_priority = experimental_priority
        self.experimental_device_ordinal = experimental_device_ordinal


def list_physical_devices(device_type: str | None = None) -> list[Any]:
    """Return no devices: functions run on the processors that NumPy uses."""
    return []


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Do nothing, since all work runs on one device."""


def get_memory_growth(device: Any) -> bool:
    """Return False: no device reserves memory."""
    return False


def set_memory_growth(device: Any, enable: bool) -> None:
    """Do nothing: no device reserves memory."""


def get_soft_device_placement() -> bool:
    """Return False, since all work runs on one device."""
    return False


def set_soft_device_placement(enabled: bool) -> None:
    """Do nothing, since all work runs on one device."""


def get_logical_device_configuration(device: Any) -> None:
    """Return None: no device is divided."""


def set_logical_device_configuration(device: Any, logical_devices: Any) -> None:
    """Do nothing, since all work runs on one device."""


def functions_run_eagerly() -> bool:
    """Return False: functions of datasets are traced where possible."""
    return False


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Do nothing: whether a function is traced does not change its result."""


def enable_op_determinism() -> None:
    """Do nothing: operations are deterministic."""


def get_parallelism_threads() -> int:
    """Return 0: the number of threads follows the number of processors."""
    return 0


def set_parallelism_threads(num_threads: int) -> None:
    """Do nothing: the number of threads follows the number of processors."""


def get_jit() -> bool:
    """Return False: nothing is compiled by XLA."""
    return False


def set_jit(enabled: bool | str) -> None:
    """Do nothing: nothing is compiled by XLA."""


def get_experimental_options() -> dict[str, Any]:
    """Return no options."""
    return {}


def set_experimental_options(options: dict[str, Any]) -> None:
    """Do nothing, since graphs are not optimized by options."""


def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Return the function unchanged."""
    return (lambda inner: inner) if func is None else func


def set_loop_options(
    parallel_iterations: Any = None,
    swap_memory: Any = None,
    maximum_iterations: Any = None,
    shape_invariants: Any = None,
) -> None:
    """Do nothing: loops are run as they are written."""


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Do nothing: conversions are not logged."""


def set_log_device_placement(enabled: bool) -> None:
    """Do nothing, since all work runs on one device."""


def enable_traceback_filtering() -> None:
    """Do nothing: tracebacks are those of Python."""


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Do nothing: `tf.debugging.check_numerics` checks single tensors."""


def disable_check_numerics() -> None:
    """Do nothing: `tf.debugging.check_numerics` checks single tensors."""


VERSION_1 = "1.15.0"
VERSION = "2.21.0"  # the version whose names and results version 2 follows
GIT_VERSION = COMPILER_VERSION = ""


def device(device_name: Any) -> contextlib.AbstractContextManager[None]:
    """Return a context without effect, because operations run where their data is."""
    return contextlib.nullcontext()


def name_scope(name: str) -> contextlib.AbstractContextManager[str]:
    """Return a context whose value is the prefix that names of operations would have."""
    return contextlib.nullcontext(name if not name or name.endswith("/") else f"{name}/")


def get_logger() -> logging.Logger:
    """Return the logger named ``tensorflow``. This package does not write to it."""
    import logging  # importing logging is slow

    return logging.getLogger("tensorflow")


def jit_scope(
    compile_ops: Any = True, separate_compiled_gradients: bool = False
) -> contextlib.AbstractContextManager[None]:
    """Return a context without effect, because nothing is compiled."""
    return contextlib.nullcontext()


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
