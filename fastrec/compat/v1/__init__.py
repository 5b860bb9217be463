# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""TensorFlow 1's names for reading records, so that ``import fastrec.compat.v1 as tf`` will do."""

from __future__ import annotations

from typing import Any

from .. import _dtypes, _errors
from .._dtypes import *
from .._shape import Dimension as Dimension
from .._shape import TensorShape as TensorShape
from . import _missing, control_flow
from . import image as image
from . import train as train
from .array_ops import *
from .constants import *
from .control_flow import *
from .filled_ops import *
from .graph import *
from .indexing import *
from .math_ops import *
from .parsing_ops import *
from .queues import *
from .ragged import *
from .random_ops import *
from .raw_ops import *
from .readers import *
from .reductions import *
from .session import *
from .sparse import *
from .variable_scope import *
from .variables import *

errors = _errors
bool = _dtypes.bool_
tuple = control_flow.tuple_
half = _dtypes.float16
double = _dtypes.float64


def __getattr__(name: str) -> Any:
    raise _missing.error("", name)
