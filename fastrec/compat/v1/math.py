# SPDX-License-Identifier: Apache-2.0
"""``tf.math``: arithmetic, comparisons, sums."""

from __future__ import annotations

from typing import Any

from .._tf.faces.more import IN_MATH
from . import _late
from .math_ops import abs as abs
from .math_ops import add as add
from .math_ops import add_n as add_n
from .math_ops import ceil as ceil
from .math_ops import divide as divide
from .math_ops import equal as equal
from .math_ops import exp as exp
from .math_ops import floor as floor
from .math_ops import floordiv as floordiv
from .math_ops import floormod as floormod
from .math_ops import greater as greater
from .math_ops import greater_equal as greater_equal
from .math_ops import is_finite as is_finite
from .math_ops import is_inf as is_inf
from .math_ops import is_nan as is_nan
from .math_ops import less as less
from .math_ops import less_equal as less_equal
from .math_ops import log as log
from .math_ops import logical_and as logical_and
from .math_ops import logical_not as logical_not
from .math_ops import logical_or as logical_or
from .math_ops import logical_xor as logical_xor
from .math_ops import maximum as maximum
from .math_ops import minimum as minimum
from .math_ops import mod as mod
from .math_ops import multiply as multiply
from .math_ops import negative as negative
from .math_ops import not_equal as not_equal
from .math_ops import pow as pow
from .math_ops import rint as rint
from .math_ops import round as round
from .math_ops import sigmoid as sigmoid
from .math_ops import sign as sign
from .math_ops import sqrt as sqrt
from .math_ops import square as square
from .math_ops import squared_difference as squared_difference
from .math_ops import subtract as subtract
from .math_ops import tanh as tanh
from .math_ops import truediv as truediv
from .reductions import argmax as argmax
from .reductions import argmin as argmin
from .reductions import cumsum as cumsum
from .reductions import reduce_all as reduce_all
from .reductions import reduce_any as reduce_any
from .reductions import reduce_logsumexp as reduce_logsumexp
from .reductions import reduce_max as reduce_max
from .reductions import reduce_mean as reduce_mean
from .reductions import reduce_min as reduce_min
from .reductions import reduce_prod as reduce_prod
from .reductions import reduce_sum as reduce_sum
from .shared_ops import operations


def __getattr__(name: str) -> Any:
    if name in IN_MATH:
        return getattr(operations, name)
    return _late.found("math", name)
