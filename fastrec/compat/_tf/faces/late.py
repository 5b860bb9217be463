# SPDX-License-Identifier: Apache-2.0
"""Rarely used functions, by namespace. Their modules are loaded on first use."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ..naming import under_own_names
from . import Version

__all__ = ["Late", "Names"]

# The names in each namespace whose class is shared with other namespaces.
_IN_MATH = """
    accumulate_n acosh angle asinh atanh bessel_i0 bessel_i0e bessel_i1 bessel_i1e betainc
    confusion_matrix conj cumprod cumulative_logsumexp digamma erfc erfcinv erfinv igamma
    igammac imag in_top_k is_non_decreasing is_strictly_increasing lbeta lgamma log_sigmoid
    ndtri nextafter polygamma polyval real reciprocal_no_nan reduce_euclidean_norm scalar_mul
    softsign unsorted_segment_sqrt_n xdivy xlog1py xlogy zero_fraction zeta
"""
_IN_NN = "elu gelu in_top_k leaky_relu relu6 selu silu softsign swish zero_fraction"
_AT_TOP = """
    acosh asinh atanh bitcast broadcast_dynamic_shape broadcast_static_shape clip_by_norm
    complex identity_n realdiv scalar_mul shape_n tensor_scatter_nd_max tensor_scatter_nd_min
    tensor_scatter_nd_sub timestamp truncatemod unravel_index
"""
_IN_RAW_OPS = "ImageProjectiveTransformV2 ImageProjectiveTransformV3"

#: By namespace: the module, the class, and the names, where an empty string means all names.
_TOPICS: dict[str, tuple[str, str, str]] = {
    "": ("extra.special_functions", "Various", _AT_TOP),
    "audio": ("extra.signal", "Audio", ""),
    "debugging": ("_tf.faces.checks", "Checks", ""),
    "image": ("extra.measure_functions", "Measures", ""),
    "linalg": ("_tf.faces.matrices", "RareMatrices", ""),
    "math": ("extra.special_functions", "Special", _IN_MATH),
    "nn": ("extra.special_functions", "Special", _IN_NN),
    "raw_ops": ("extra.warps", "Warps", _IN_RAW_OPS),
    "signal": ("extra.signal", "Signals", ""),
    "strings": ("_tf.faces.characters", "Characters", ""),
}


class Late:
    """Rarely used functions, for one of the versions.

    Parameters
    ----------
    version : Version
    ragged : type
        The class of ragged tensors.
    """

    def __init__(self, version: Version, ragged: Any) -> None:
        self._version, self._ragged = version, ragged
        self._topics: dict[str, Any] = {}

    def find(self, where: str, name: str) -> Any:
        """Return the function ``tf.where.name``, or None if it does not exist."""
        if not where and name in ("make_ndarray", "make_tensor_proto"):
            from .. import tensor_messages  # this module needs protobuf

            return getattr(tensor_messages, name)
        if where == "nn" and name in ("depthwise_conv2d", "max_pool", "max_pool2d"):
            return getattr(self._topic("raw_ops"), name)
        if where not in _TOPICS or name.startswith("_"):
            return None
        if (names := _TOPICS[where][2].split()) and name not in names:
            return None
        return getattr(self._topic(where), name, None)

    def _topic(self, where: str) -> Any:
        module, kind, _ = _TOPICS[where]
        if kind not in self._topics:
            faces = importlib.import_module(f"fastrec.compat.{module}")
            more = [self._ragged] if where == "strings" else []
            self._topics[kind] = getattr(faces, kind)(self._version, *more)
        return self._topics[kind]


class Names(SimpleNamespace):
    """A namespace: some names, and a function that finds the others.

    Parameters
    ----------
    found : callable
        Takes the namespace and a name in it, and returns the value or raises AttributeError.
    where : str
        The namespace.
    """

    def __init__(self, found: Callable[[str, str], Any], where: str, **names: Any) -> None:
        super().__init__(**under_own_names(names))
        self._found, self._where = found, where

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._found(self._where, name)

    def __dir__(self) -> list[str]:
        version = self._found.__module__.rpartition(".")[0]
        names: str = importlib.import_module(f"{version}._names").NAMES.get(self._where, "")
        return names.split()
