# SPDX-License-Identifier: Apache-2.0
"""``tf.data.Options``: settings of TensorFlow's runtime, stored but without effect."""

from __future__ import annotations

import enum
from typing import Any, ClassVar


class AutoShardPolicy(enum.IntEnum):
    """Ways to split a dataset among workers; here datasets are not split automatically."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(enum.Enum):
    """Handling of state outside of a dataset when it is serialized."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class AutotuneAlgorithm(enum.Enum):
    """TensorFlow's algorithms for tuning parameters that are set to ``AUTOTUNE``."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class _Settings:
    """Named settings, each of one type and None by default."""

    _types: ClassVar[dict[str, Any]] = {}
    _groups: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        groups = {name: kind() for name, kind in self._groups.items()}
        self.__dict__["_values"] = {**dict.fromkeys(self._types), **groups}

    def __getattr__(self, name: str) -> Any:
        if name == "_values" or name not in self._values:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._values:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        wanted: Any = self._groups.get(name, self._types.get(name))
        if value is not None and not isinstance(value, wanted):
            raise TypeError(
                f"Property {name!r} must be of type {wanted}, got: {value} (type: {type(value)})"
            )
        self._values[name] = value

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values == other._values

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__: ClassVar[None] = None  # type: ignore[assignment]


class AutotuneOptions(_Settings):
    """``Options.autotune``."""

    _types: ClassVar[dict[str, Any]] = {
        "enabled": bool,
        "cpu_budget": int,
        "ram_budget": int,
        "autotune_algorithm": AutotuneAlgorithm,
        "initial_parallelism": int,
        "min_parallelism": int,
    }


class DistributeOptions(_Settings):
    """``Options.experimental_distribute``."""

    _types: ClassVar[dict[str, Any]] = {"auto_shard_policy": AutoShardPolicy, "num_devices": int}

    def __init__(self) -> None:
        super().__init__()
        self.auto_shard_policy = AutoShardPolicy.AUTO


class OptimizationOptions(_Settings):
    """``Options.experimental_optimization``."""

    _types: ClassVar[dict[str, Any]] = dict.fromkeys(
        [
            "apply_default_optimizations",
            "filter_fusion",
            "filter_parallelization",
            "inject_prefetch",
            "seq_interleave_prefetch",
            "map_and_batch_fusion",
            "map_and_filter_fusion",
            "map_fusion",
            "map_parallelization",
            "noop_elimination",
            "parallel_batch",
            "shuffle_and_repeat_fusion",
        ],
        bool,
    )


class ThreadingOptions(_Settings):
    """``Options.threading``."""

    _types: ClassVar[dict[str, Any]] = {
        "max_intra_op_parallelism": int,
        "private_threadpool_size": int,
    }


class Options(_Settings):
    """Options of a dataset; they are stored and have no effect."""

    _types: ClassVar[dict[str, Any]] = {
        "dataset_name": str,
        "deterministic": bool,
        "experimental_deterministic": bool,
        "experimental_external_state_policy": ExternalStatePolicy,
        "experimental_slack": bool,
        "experimental_symbolic_checkpoint": bool,
        "experimental_warm_start": bool,
        "framework_type": list,
    }
    _groups: ClassVar[dict[str, Any]] = {
        "autotune": AutotuneOptions,
        "experimental_distribute": DistributeOptions,
        "experimental_optimization": OptimizationOptions,
        "threading": ThreadingOptions,
    }
    _renamed: ClassVar[dict[str, Any]] = {
        "experimental_deterministic": "deterministic",
        "experimental_threading": "threading",
    }

    def __getattr__(self, name: str) -> Any:
        return super().__getattr__(self._renamed.get(name, name))

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(self._renamed.get(name, name), value)

    def merge(self, options: Options) -> Options:
        """Return these options, overridden by `options` where both are set."""
        made: Options = merged(self, options)
        return made


def merged(one: Any, other: Any) -> Any:
    """Return the settings of `one`, overridden by those of `other` where both are set."""
    made = type(one)()
    for name, value in one._values.items():
        later = other._values[name]
        if isinstance(value, _Settings) and isinstance(later, _Settings):
            made._values[name] = merged(value, later)
        else:
            made._values[name] = value if later is None else later
    return made
