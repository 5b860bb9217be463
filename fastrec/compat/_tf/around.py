# SPDX-License-Identifier: Apache-2.0
"""Devices, scopes, threads and other settings of TensorFlow, which have no effect here."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging

__all__ = ["autograph", "config", "device", "get_logger", "name_scope", "version"]


def device(device_name: Any) -> contextlib.AbstractContextManager[None]:
    """Everything is where it is."""
    return contextlib.nullcontext()


def name_scope(name: str) -> contextlib.AbstractContextManager[str]:
    """Nothing has a name."""
    return contextlib.nullcontext(name)


def get_logger() -> logging.Logger:
    """The logger named ``tensorflow``, to which nothing here writes."""
    import logging  # which takes as long as many of these modules

    return logging.getLogger("tensorflow")


def _nothing(*_: Any, **__: Any) -> None:
    """Taken, and without effect."""


def _none(*_: Any, **__: Any) -> list[Any]:
    """There is no such device."""
    return []


def _no(*_: Any, **__: Any) -> bool:
    """It is not so."""
    return False


def _zero() -> int:
    """As many as there are."""
    return 0


def _same(func: Any = None) -> Any:
    """The function as it is."""
    return (lambda f: f) if func is None else func


_threads = SimpleNamespace(
    get_intra_op_parallelism_threads=_zero,
    get_inter_op_parallelism_threads=_zero,
    set_intra_op_parallelism_threads=_nothing,
    set_inter_op_parallelism_threads=_nothing,
)
config = SimpleNamespace(
    list_physical_devices=_none,
    list_logical_devices=_none,
    get_visible_devices=_none,
    set_visible_devices=_nothing,
    set_soft_device_placement=_nothing,
    get_soft_device_placement=_no,
    LogicalDeviceConfiguration=SimpleNamespace,
    set_logical_device_configuration=_nothing,
    get_logical_device_configuration=_nothing,
    run_functions_eagerly=_nothing,
    functions_run_eagerly=_no,
    experimental_run_functions_eagerly=_nothing,
    experimental_functions_run_eagerly=_no,
    threading=_threads,
    optimizer=SimpleNamespace(
        set_jit=_nothing,
        get_jit=_no,
        set_experimental_options=_nothing,
        get_experimental_options=dict,
    ),
    experimental=SimpleNamespace(
        list_physical_devices=_none,
        get_memory_growth=_no,
        set_memory_growth=_nothing,
        VirtualDeviceConfiguration=SimpleNamespace,
        set_virtual_device_configuration=_nothing,
        get_visible_devices=_none,
        set_visible_devices=_nothing,
        enable_op_determinism=_nothing,
    ),
)
autograph = SimpleNamespace(
    experimental=SimpleNamespace(do_not_convert=_same, set_loop_options=_nothing),
    set_verbosity=_nothing,
)
version = SimpleNamespace(VERSION="2.21.0", GIT_VERSION="", COMPILER_VERSION="")
