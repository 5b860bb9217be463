# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""TensorFlow 1's names for input pipelines, for use as ``import fastrec.compat.v1 as tf``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .._tf import dotted as _dotted
from .._tf import dtypes as _dtypes
from .._tf import errors as _errors
from .._tf import naming as _naming
from .._tf import nest as nest
from .._tf.dtypes import *
from .._tf.shape import Dimension as Dimension
from .._tf.shape import TensorShape as TensorShape
from . import _late, control_flow
from . import app as app
from . import array_ops as _array_ops
from . import compat as compat
from . import dtypes as dtypes
from . import flags as flags
from . import gfile as gfile
from . import io as io
from . import lookup as lookup
from . import math_ops as _math_ops
from . import python_io as python_io
from . import string_ops as _string_ops
from . import train as train
from .behaviour import *
from .constants import *
from .control_flow import *
from .coordinator import Coordinator as Coordinator  # some lecture notes use this name
from .decode_ops import *
from .file_ops import matching_files as matching_files
from .file_ops import read_file as read_file
from .file_ops import write_file as write_file
from .graph import *
from .indexing import *
from .lookup import tables_initializer as tables_initializer
from .loops import *
from .parsing_ops import *
from .queue_base import QueueBase as QueueBase
from .queues import *
from .ragged import *
from .random_ops import *
from .readers import *
from .scopes import *
from .script_ops import *
from .session import *
from .sparse import *
from .sparse import SPARSE as _SPARSE
from .tensor_array import TensorArray as TensorArray
from .variables import *

if TYPE_CHECKING:
    from . import contrib as contrib
    from . import data as data
    from . import estimator as estimator
    from . import image as image
    from . import logging as logging
    from . import summary as summary

globals().update(_array_ops.FUNCTIONS | _math_ops.FUNCTIONS | _string_ops.FUNCTIONS)

__version__ = VERSION = "1.15.0"

errors = _errors
bool = _dtypes.bool_
tuple = control_flow.tuple_
half = _dtypes.float16
double = _dtypes.float64
initialize_all_tables = tables_initializer
print = control_flow.print_v2
_naming.under_own_names(globals())
# Modules that are imported on first use.
_MODULES = {"contrib", "data", "estimator", "image", "logging", "summary"}

_dotted.importable(__name__)


def __dir__() -> list[str]:
    from ._names import NAMES

    return NAMES[""].split()


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _SPARSE:
        return _SPARSE[name]
    return _late.found("", name)
