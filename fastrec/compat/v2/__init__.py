# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""TensorFlow 2's names for input pipelines, for use as ``import fastrec.compat.v2 as tf``.

Everything is eager, over ndarrays. docs/compat-v2.md lists the supported names.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from .._tf import dotted as _dotted
from .._tf import dtypes as _dtypes
from .._tf import errors as errors
from .._tf import naming as _naming
from .._tf import nest as nest
from .._tf.around import device as device
from .._tf.around import get_logger as get_logger
from .._tf.around import name_scope as name_scope
from .._tf.around import version as version
from .._tf.around import xla as xla
from .._tf.composite import RaggedTensor as RaggedTensor
from .._tf.composite import SparseTensor as SparseTensor
from .._tf.dtypes import *
from .._tf.settings import autograph as autograph
from .._tf.settings import config as config
from .._tf.specs import NoneTensorSpec as NoneTensorSpec
from .._tf.specs import RaggedTensorSpec as RaggedTensorSpec
from .._tf.specs import SparseTensorSpec as SparseTensorSpec
from .._tf.specs import TensorArraySpec as TensorArraySpec
from .._tf.specs import TensorSpec as TensorSpec
from .._tf.specs import TypeSpec as TypeSpec
from .._tf.tensor import Tensor as Tensor
from .._tf.tensor import TensorShape as TensorShape
from .._tf.tensor import convert_to_tensor as convert_to_tensor
from . import data as data
from . import functions as functions
from . import math_ops as math
from .array_ops import FUNCTIONS as _FUNCTIONS
from .array_ops import constant as constant
from .functions import cond as cond
from .functions import executing_eagerly as executing_eagerly
from .functions import function as function
from .functions import get_static_value as get_static_value
from .functions import is_tensor as is_tensor
from .functions import numpy_function as numpy_function
from .functions import py_function as py_function

if TYPE_CHECKING:
    from . import compat as compat
    from . import dtypes as dtypes
    from . import image as image
    from . import io as io
    from . import lookup as lookup
    from . import ragged as ragged
    from . import random as random
    from . import sparse as sparse
    from . import strings as strings
    from . import train as train
    from .control import case as case
    from .control import control_dependencies as control_dependencies
    from .control import group as group
    from .control import no_op as no_op
    from .control import switch_case as switch_case
    from .loops import foldl as foldl
    from .loops import foldr as foldr
    from .loops import map_fn as map_fn
    from .loops import scan as scan
    from .loops import vectorized_map as vectorized_map
    from .loops import while_loop as while_loop
    from .shared import bitwise as bitwise
    from .shared import linalg as linalg
    from .shared import nn as nn
    from .tensor_array import TensorArray as TensorArray

# Names of ``tf.math`` that ``tf`` has, too.
_OF_MATH = """
    abs acos add add_n argmax argmin asin atan atan2 cast clip_by_value cos cosh cumsum divide
    equal exp floor greater greater_equal histogram_fixed_width
    identity less less_equal logical_and logical_not logical_or matmul maximum minimum multiply
    negative norm not_equal pow reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean
    reduce_min reduce_prod reduce_sum round saturate_cast
    sigmoid sign sin sinh sqrt square subtract tan tanh truediv truncatediv
"""
globals().update(_FUNCTIONS)
globals().update({name: math.FUNCTIONS[name] for name in _OF_MATH.split()})
stop_gradient = math.FUNCTIONS["identity"]

bool = _dtypes.bool_
half = _dtypes.float16
double = _dtypes.float64
newaxis = None
_OF_GRAPHS = ("Graph",)
# Modules that are imported on first use.
_MODULES = {"compat", "image", "io", "lookup", "ragged", "random", "sparse", "strings"}
_MODULES |= {"dtypes", "train"}
_HOMES = {
    "control": "case control_dependencies group no_op switch_case",
    "loops": "foldl foldr map_fn scan vectorized_map while_loop",
    "math_ops": "argsort dynamic_partition dynamic_stitch repeat reverse_sequence roll scatter_nd "
    "searchsorted sort unique_with_counts",
    "shared": "bitwise linalg nn",
    "tensor_array": "TensorArray",
    "data_experimental": "OptionalSpec",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
print = functions.print_
_naming.under_own_names(globals())

_dotted.importable(__name__)

__version__ = "2.21.0"  # the version whose names and results this package follows


def type_spec_from_value(value: Any) -> Any:
    """Return the spec of a value."""
    if isinstance(value, data.Dataset):
        return data.DatasetSpec.from_value(value)
    return TypeSpec.from_value(value)


def __dir__() -> list[str]:
    from ._names import NAMES

    return NAMES[""].split()


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _HOME_OF:
        home = importlib.import_module(f".{_HOME_OF[name]}", __name__)
        return globals().setdefault(name, getattr(home, name))
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "experimental":
        return SimpleNamespace(Optional=data.experimental.Optional)
    if name in _OF_GRAPHS:
        from . import compat

        return getattr(compat.v1, name)
    from ._late import found

    return found("", name)
