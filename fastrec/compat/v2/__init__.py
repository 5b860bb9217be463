# SPDX-License-Identifier: Apache-2.0
"""TensorFlow 2's names for reading records, so that ``import fastrec.compat.v2 as tf`` will do.

Everything is eager and over ndarrays. docs/compat-v2.md says what is covered.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from .._tf import dtypes, errors, nest
from .._tf.composite import RaggedTensor, SparseTensor
from .._tf.dtypes import (
    DType,
    as_dtype,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .._tf.specs import RaggedTensorSpec, SparseTensorSpec, TensorSpec, TypeSpec
from .._tf.tensor import Tensor, TensorShape, convert_to_tensor
from . import data, functions, io
from . import math_ops as math
from ._around import autograph, config, device, get_logger, name_scope, version
from .array_ops import (
    broadcast_to,
    concat,
    constant,
    ensure_shape,
    expand_dims,
    fill,
    linspace,
    ones,
    ones_like,
    pad,
    range_,
    rank,
    reshape,
    reverse,
    shape,
    size,
    split,
    squeeze,
    stack,
    tile,
    transpose,
    unstack,
    zeros,
    zeros_like,
)
from .functions import (
    cond,
    executing_eagerly,
    function,
    is_tensor,
    numpy_function,
    py_function,
)
from .math_ops import (
    abs,
    add,
    add_n,
    cast,
    clip_by_value,
    cos,
    divide,
    equal,
    exp,
    floor,
    greater,
    greater_equal,
    identity,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    matmul,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    pow,
    round,
    saturate_cast,
    sign,
    sin,
    sqrt,
    square,
    stop_gradient,
    subtract,
    tanh,
    truediv,
)
from .picking import (
    boolean_mask,
    gather,
    gather_nd,
    one_hot,
    sequence_mask,
    slice_,
    unique,
    where,
)
from .reductions import (
    argmax,
    argmin,
    cumsum,
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)

if TYPE_CHECKING:
    from . import (
        compat,
        debugging,
        image,
        lookup,
        ragged,
        random,
        sparse,
        strings,
        train,
    )
    from .control import (
        Assert,
        TensorArray,
        assert_equal,
        assert_greater,
        assert_less,
        assert_rank,
        case,
        control_dependencies,
        group,
        map_fn,
        no_op,
        switch_case,
        vectorized_map,
        while_loop,
    )
    from .linear import (
        bitwise,
        einsum,
        histogram_fixed_width,
        meshgrid,
        tensor_scatter_nd_add,
        tensor_scatter_nd_update,
        tensordot,
    )
    from .ordering_ops import (
        argsort,
        eye,
        repeat,
        roll,
        sort,
    )

__all__ = [
    "Assert",
    "DType",
    "RaggedTensor",
    "RaggedTensorSpec",
    "SparseTensor",
    "SparseTensorSpec",
    "Tensor",
    "TensorArray",
    "TensorShape",
    "TensorSpec",
    "TypeSpec",
    "abs",
    "add",
    "add_n",
    "argmax",
    "argmin",
    "argsort",
    "as_dtype",
    "assert_equal",
    "assert_greater",
    "assert_less",
    "assert_rank",
    "autograph",
    "bitwise",
    "bool",
    "boolean_mask",
    "broadcast_to",
    "case",
    "cast",
    "clip_by_value",
    "compat",
    "complex64",
    "complex128",
    "concat",
    "cond",
    "config",
    "constant",
    "control_dependencies",
    "convert_to_tensor",
    "cos",
    "cumsum",
    "data",
    "debugging",
    "device",
    "divide",
    "double",
    "dtypes",
    "einsum",
    "ensure_shape",
    "equal",
    "errors",
    "executing_eagerly",
    "exp",
    "expand_dims",
    "eye",
    "fill",
    "float16",
    "float32",
    "float64",
    "floor",
    "function",
    "gather",
    "gather_nd",
    "get_logger",
    "greater",
    "greater_equal",
    "group",
    "half",
    "histogram_fixed_width",
    "identity",
    "image",
    "int8",
    "int16",
    "int32",
    "int64",
    "io",
    "is_tensor",
    "less",
    "less_equal",
    "linspace",
    "logical_and",
    "logical_not",
    "logical_or",
    "lookup",
    "map_fn",
    "math",
    "matmul",
    "maximum",
    "meshgrid",
    "minimum",
    "multiply",
    "name_scope",
    "negative",
    "nest",
    "newaxis",
    "no_op",
    "not_equal",
    "numpy_function",
    "one_hot",
    "ones",
    "ones_like",
    "pad",
    "pow",
    "print",
    "py_function",
    "ragged",
    "random",
    "range",
    "rank",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "repeat",
    "reshape",
    "reverse",
    "roll",
    "round",
    "saturate_cast",
    "sequence_mask",
    "shape",
    "sign",
    "sin",
    "size",
    "slice",
    "sort",
    "sparse",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "stop_gradient",
    "string",
    "strings",
    "subtract",
    "switch_case",
    "tanh",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_update",
    "tensordot",
    "tile",
    "train",
    "transpose",
    "truediv",
    "type_spec_from_value",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unique",
    "unstack",
    "vectorized_map",
    "version",
    "where",
    "while_loop",
    "zeros",
    "zeros_like",
]

bool = dtypes.bool_
half = float16
double = float64
newaxis = None
_OF_GRAPHS = ("Graph",)
# What is imported when it is first asked for.
_MODULES = {"compat", "debugging", "image", "lookup", "ragged", "random", "shared", "sparse"}
_MODULES |= {"strings", "train"}
_HOMES = {
    "control": "Assert TensorArray assert_equal assert_greater assert_less assert_rank case "
    "control_dependencies group map_fn no_op switch_case vectorized_map while_loop",
    "linear": "bitwise einsum histogram_fixed_width meshgrid tensor_scatter_nd_add "
    "tensor_scatter_nd_update tensordot",
    "ordering_ops": "argsort eye repeat roll sort",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
range = range_
slice = slice_
print = functions.print_

__version__ = "2.21.0"  # whose names and results these are


def type_spec_from_value(value: Any) -> TypeSpec:
    """Return the spec of a value."""
    if hasattr(value, "_spec"):
        found: TypeSpec = value._spec
        return found
    return TensorSpec.from_tensor(convert_to_tensor(value))


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _HOME_OF:
        home = importlib.import_module(f".{_HOME_OF[name]}", __name__)
        return globals().setdefault(name, getattr(home, name))
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "bfloat16":
        return dtypes.bfloat16()
    if name == "experimental":
        return SimpleNamespace(Optional=data.experimental.Optional)
    from .._tf.faces.more import IN_BOTH
    from . import shared

    if name in ("linalg", "nn"):
        return getattr(shared, name)
    if name in IN_BOTH:
        return getattr(shared.operations, name)
    if name in _OF_GRAPHS:
        from . import compat

        return getattr(compat.v1, name)
    raise AttributeError(
        f"fastrec.compat.v2 has no {name!r}: it covers what reads, writes, parses and batches "
        f"records, images and text, and what such programs call besides. The list is in "
        f"docs/compat-v2.md."
    )
