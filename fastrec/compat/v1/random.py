# SPDX-License-Identifier: Apache-2.0
"""``tf.random``: random numbers."""

from __future__ import annotations

from typing import Any

from .._tf.uncovered import uncovered
from . import graph, random_ops

set_random_seed = graph.set_random_seed
get_seed = graph.get_seed
categorical = random_ops.draws.categorical
fold_in = random_ops.draws.fold_in
gamma = random_ops.random_gamma
multinomial = random_ops.multinomial
normal = random_ops.random_normal
shuffle = random_ops.random_shuffle
split = random_ops.draws.split
stateless_categorical = random_ops.draws.stateless_categorical
stateless_normal = random_ops.draws.stateless_normal
stateless_shuffle = random_ops.draws.stateless_shuffle
stateless_truncated_normal = random_ops.draws.stateless_truncated_normal
stateless_uniform = random_ops.draws.stateless_uniform
truncated_normal = random_ops.truncated_normal
uniform = random_ops.random_uniform


def __getattr__(name: str) -> Any:
    raise uncovered("v1", "random", name)
