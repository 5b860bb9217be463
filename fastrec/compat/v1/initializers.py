# SPDX-License-Identifier: Apache-2.0
"""``tf.initializers``: what variables begin with."""

from __future__ import annotations

from typing import Any

from .._tf.uncovered import uncovered
from . import scopes
from . import variables as _variables

global_variables = _variables.global_variables_initializer
local_variables = _variables.local_variables_initializer
variables = _variables.variables_initializer
constant = scopes.constant_initializer
ones = scopes.ones_initializer
zeros = scopes.zeros_initializer
random_uniform = scopes.random_uniform_initializer
random_normal = scopes.random_normal_initializer
truncated_normal = scopes.truncated_normal_initializer


def __getattr__(name: str) -> Any:
    raise uncovered("v1", "initializers", name)
