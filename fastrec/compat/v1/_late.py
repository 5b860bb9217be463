# SPDX-License-Identifier: Apache-2.0
"""Rarely used names of graphs, imported on use."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from .._tf import around, specs
from .._tf.distribute import Distribute
from .._tf.faces import in_order, sparse
from .._tf.faces.late import Late, Names
from .._tf.naming import renamed
from .._tf.uncovered import uncovered
from ._composites import RaggedTensor
from ._ops import GRAPHS

__all__ = ["found"]

_LATE = Late(GRAPHS, RaggedTensor)
# Names of other namespaces that ``tf`` has, too.
_AT_TOP = {
    **dict.fromkeys(
        {
            "accumulate_n",
            "angle",
            "betainc",
            "digamma",
            "igamma",
            "igammac",
            "lbeta",
            "polygamma",
            "zeta",
            "confusion_matrix",
            "conj",
            "cumprod",
            "erfc",
            "imag",
            "is_non_decreasing",
            "is_strictly_increasing",
            "lgamma",
            "log_sigmoid",
            "real",
            "unsorted_segment_sqrt_n",
        },
        "math",
    ),
    "ensure_shape": "debugging",
    "is_numeric_tensor": "debugging",
    "check_numerics": "debugging",
    "cholesky": "linalg",
    "cross": "linalg",
    "extract_image_patches": "image",
    "matrix_set_diag": "linalg",
    "matrix_solve": "linalg",
    "matrix_transpose": "linalg",
    "string_to_hash_bucket": "strings",
    "string_to_hash_bucket_strong": "strings",
}


# Functions whose parameters differ from those of version 2.
_OTHERWISE = {
    "confusion_matrix": "labels predictions num_classes dtype name weights",
    "extract_patches": "images ksizes=sizes strides rates padding name",
    "in_top_k": "predictions targets k name",
    "to_hash_bucket": "string_tensor=input num_buckets name",
}


_RARE = frozenset(
    {
        "batch_gather",
        "diag",
        "diag_part",
        "distributions.Beta",
        "edit_distance",
        "image.extract_glimpse",
        "image.resize_image_with_pad",
        "nn.embedding_lookup",
        "space_to_batch",
        "verify_tensor_all_finite",
    }
)
_SPECS = frozenset({"RaggedTensorSpec", "SparseTensorSpec", "TensorSpec", "TypeSpec"})
_ELSEWHERE = ("assert_all_finite", "assert_shapes")  # only in ``tf.debugging``
_METHODS = {
    "extract_image_patches": "extract_patches",
    "matrix_set_diag": "set_diag",
    "matrix_solve": "solve",
}
_REST = ("data", "summarize", "message", "name")


@functools.cache
def _as_before(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the parameters of version 1."""
    order, known = _OTHERWISE.get(function.__name__), inspect.signature(function).parameters
    if order is None and set(_REST) <= set(known):  # a check function
        order = " ".join([*(name for name in known if name not in _REST), *_REST])
    return function if order is None else in_order(function, order)


@functools.cache
def _namespace(name: str) -> Names | None:
    from ._namespaces import MADE  # depends on the other modules

    return Names(found, name, **MADE[name]()) if name in MADE else None


def _rare(path: str) -> Any:
    if path not in _RARE:
        return None
    from .rare_ops import RARE  # depends on the other modules

    return RARE[path]


@functools.cache
def _keras() -> Names:
    from .._tf.keras import keras_of

    return keras_of(sys.modules[__package__], found)


def found(where: str, name: str) -> Any:
    """Return the function ``tf.where.name``.

    Raises
    ------
    AttributeError
        If there is no such function.
    """
    if not where and (space := _namespace(name)) is not None:
        return space
    if (function := _rare(f"{where}.{name}".lstrip("."))) is not None:
        return function
    if not where and name == "distributions":
        return Names(found, name)
    if not where and name == "keras":
        return _keras()
    if not where and name == "distribute":
        return Distribute("v1")
    if not where and name == "IndexedSlices":
        return sparse.IndexedSlices
    if not where and name in ("get_logger", "xla"):
        return getattr(around, name)
    if not where and name in _SPECS:
        return getattr(specs, name)
    check = name.startswith("assert_") and name not in _ELSEWHERE
    place = where or ("debugging" if check else _AT_TOP.get(name, ""))
    method = name.removeprefix("string_") if place == "strings" else _METHODS.get(name, name)
    function = _LATE.find(place, method)
    if function is None:
        raise uncovered("v1", where, name)
    return renamed(_as_before(function), name)
