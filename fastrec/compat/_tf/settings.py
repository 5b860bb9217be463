# SPDX-License-Identifier: Apache-2.0
"""``tf.config``, ``tf.autograph`` and switches of ``tf.debugging``, all without an effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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


def list_logical_devices(device_type: str | None = None) -> list[Any]:
    """Return no devices: functions run on the processors that NumPy uses."""
    return []


def get_visible_devices(device_type: str | None = None) -> list[Any]:
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


def set_virtual_device_configuration(device: Any, logical_devices: Any) -> None:
    """Do nothing, since all work runs on one device."""


def functions_run_eagerly() -> bool:
    """Return False: functions of datasets are traced where possible."""
    return False


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Do nothing: whether a function is traced does not change its result."""


def experimental_functions_run_eagerly() -> bool:
    """Return False: functions of datasets are traced where possible."""
    return False


def experimental_run_functions_eagerly(run_eagerly: bool) -> None:
    """Do nothing: whether a function is traced does not change its result."""


def enable_op_determinism() -> None:
    """Do nothing: operations are deterministic."""


def get_intra_op_parallelism_threads() -> int:
    """Return 0: each operation chooses its number of threads."""
    return 0


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Do nothing: each operation chooses its number of threads."""


def get_inter_op_parallelism_threads() -> int:
    """Return 0: the number of threads follows the number of processors."""
    return 0


def set_inter_op_parallelism_threads(num_threads: int) -> None:
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


def disable_traceback_filtering() -> None:
    """Do nothing: tracebacks are those of Python."""


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Do nothing: `tf.debugging.check_numerics` checks single tensors."""


def disable_check_numerics() -> None:
    """Do nothing: `tf.debugging.check_numerics` checks single tensors."""
