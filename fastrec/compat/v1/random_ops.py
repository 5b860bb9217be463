# SPDX-License-Identifier: Apache-2.0
"""Random numbers: where they are seeded, the ones that TensorFlow draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._tf.faces.draws import Draws
from .._tf.faces.image_draws import functions
from .._tf.kernels import philox
from .._tf.ops.draws import Drawing, Starts
from ._nodes import Tensor
from ._ops import GRAPHS
from .array_ops import _shape_tensor
from .graph import create_op, get_seed, name_scope

__all__ = [
    "multinomial",
    "random_crop",
    "random_normal",
    "random_shuffle",
    "random_uniform",
    "stateless_random_uniform",
    "truncated_normal",
]


def _drawn(
    op: Drawing,
    inputs: Sequence[Tensor],
    seed: int | tuple[int, int] | None,
    name: str | None = None,
    **how: Any,
) -> Any:
    """An operation with a generator of its own in each session."""
    seeds = [each or 0 for each in (seed if isinstance(seed, tuple) else get_seed(seed))]
    assert op.infer is not None
    specs = op.infer([Starts.spec, *inputs], [None, *inputs], **how)

    def kernel(step: Any, *values: Any) -> tuple[Any, ...]:
        state = step.resource(made, lambda: philox.Philox(*seeds))
        found = op.kernel(state.start(op.blocks(*values, **how)), *values, **how)
        return found if isinstance(found, tuple) else (found,)

    outputs = [(spec.dtype, spec.shape) for spec in specs]
    attrs = {"seed": seeds[0], "seed2": seeds[1], **how}
    made = create_op(op.name, inputs, outputs, kernel, name=name, stateful=True, attrs=attrs)
    made.row = op
    return made.outputs[0] if len(made.outputs) == 1 else made.outputs


draws = Draws(GRAPHS, _drawn, _shape_tensor, name_scope)
image_functions = functions(GRAPHS, draws)

random_uniform = draws.uniform
random_normal = draws.normal
truncated_normal = draws.truncated_normal
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
    """Numbers of classes, as ``tf.random.categorical`` draws them."""
    found: Tensor = draws.categorical(logits, num_samples, output_dtype, seed, name)
    return found
