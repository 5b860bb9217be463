# SPDX-License-Identifier: Apache-2.0
"""Names that few programs use, of graphs."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from .._tf import around, specs
from .._tf.distribute import Distribute
from .._tf.faces import composites, functions_of, in_order
from .._tf.faces.late import Late, Names
from .._tf.uncovered import uncovered
from ._composites import RaggedTensor
from ._ops import GRAPHS

__all__ = ["found"]

_LATE = Late(GRAPHS, RaggedTensor)
#: What ``tf`` itself has of the other name spaces.
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


#: What has other parameters than in version 2.
_OTHERWISE = {
    "confusion_matrix": "labels predictions num_classes dtype name weights",
    "extract_patches": "images ksizes=sizes strides rates padding name",
    "in_top_k": "predictions targets k name",
    "to_hash_bucket": "string_tensor=input num_buckets name",
}


_SPECS = frozenset({"RaggedTensorSpec", "SparseTensorSpec", "TensorSpec", "TypeSpec"})
_NAMESPACES = frozenset(
    {"audio", "autograph", "bitwise", "config", "debugging", "linalg", "raw_ops"}
)
_ELSEWHERE = ("assert_all_finite", "assert_shapes")  # only in ``tf.debugging``
_OF_LINALG = ("einsum", "eye", "matmul", "norm", "tensordot")
_METHODS = {
    "extract_image_patches": "extract_patches",
    "matrix_set_diag": "set_diag",
    "matrix_solve": "solve",
}
_OF_DEBUGGING = (
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_strictly_increasing",
)
_REST = ("data", "summarize", "message", "name")


@functools.cache
def _as_before(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the parameters of version 1."""
    order, known = _OTHERWISE.get(function.__name__), inspect.signature(function).parameters
    if order is None and set(_REST) <= set(known):  # a check
        order = " ".join([*(name for name in known if name not in _REST), *_REST])
    return function if order is None else in_order(function, order)


@functools.cache
def _namespace(name: str) -> Names:
    """Name spaces that have functions of others."""
    if name == "audio":
        return Names(found, name)
    if name == "raw_ops":
        from .control_flow_ops import merge, switch

        return Names(found, name, Merge=merge, Switch=switch)
    if name == "bitwise":
        from .math_ops import bitwise

        return Names(found, name, **functions_of(bitwise))
    if name == "linalg":
        from .math_ops import matrices

        shared = {each: getattr(sys.modules[__package__], each) for each in _OF_LINALG}
        return Names(found, name, **functions_of(matrices), **shared)
    if name in ("autograph", "config"):
        return Names(found, name, **vars(getattr(around, name)))
    top = sys.modules[__package__]
    return Names(found, name, **{each: getattr(top, each) for each in _OF_DEBUGGING})


def found(where: str, name: str) -> Any:
    """The function ``tf.where.name``.

    Raises
    ------
    AttributeError
        When there is none.
    """
    if not where and name in _NAMESPACES:
        return _namespace(name)
    if not where and name == "distribute":
        return Distribute("v1")
    if not where and name == "IndexedSlices":
        return composites.IndexedSlices
    if not where and name == "get_logger":
        return around.get_logger
    if not where and name in _SPECS:
        return getattr(specs, name)
    check = name.startswith("assert_") and name not in _ELSEWHERE
    place = where or ("debugging" if check else _AT_TOP.get(name, ""))
    method = name.removeprefix("string_") if place == "strings" else _METHODS.get(name, name)
    function = _LATE.find(place, method)
    if function is None:
        raise uncovered("v1", where, name)
    return _as_before(function)
