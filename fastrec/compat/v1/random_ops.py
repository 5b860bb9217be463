# SPDX-License-Identifier: Apache-2.0
"""Random numbers; with a seed, they equal TensorFlow's."""

from __future__ import annotations

from typing import Any

from .._tf.faces.draws import Draws
from .._tf.faces.image_draws import functions
from ._draws import drawn
from ._nodes import Tensor
from ._ops import GRAPHS
from .array_ops import _shape_tensor
from .graph import name_scope

__all__ = [
    "multinomial",
    "random_crop",
    "random_gamma",
    "random_normal",
    "random_shuffle",
    "random_uniform",
    "stateless_random_uniform",
    "truncated_normal",
]

draws = Draws(GRAPHS, drawn, _shape_tensor, name_scope)
image_functions = functions(GRAPHS, draws)

random_uniform = draws.uniform
random_normal = draws.normal
truncated_normal = draws.truncated_normal
random_gamma = draws.gamma
random_shuffle = draws.shuffle
stateless_random_uniform = draws.stateless_uniform
random_crop = image_functions["random_crop"]


def multinomial(
    logits: Any,
    num_samples: int,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: Any = None,
) -> Tensor:
    """Draw class numbers, as ``tf.random.categorical`` does."""
    found: Tensor = draws.categorical(logits, num_samples, output_dtype, seed, name)
    return found
