# SPDX-License-Identifier: Apache-2.0
"""``tf.random``: random numbers."""

from __future__ import annotations

from typing import Any

from . import _missing, around_ops, graph, random_ops

set_random_seed = graph.set_random_seed
categorical = around_ops.categorical
multinomial = around_ops.multinomial
get_seed = graph.get_seed
normal = random_ops.random_normal
shuffle = random_ops.random_shuffle
stateless_uniform = random_ops.stateless_random_uniform
truncated_normal = random_ops.truncated_normal
uniform = random_ops.random_uniform


def __getattr__(name: str) -> Any:
    raise _missing.error("random", name)
