# SPDX-License-Identifier: Apache-2.0
"""Random numbers; with a seed, they equal TensorFlow's."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Final

from .._tf.faces.draws import Draws, Stateless
from .._tf.faces.images import random_functions
from .._tf.kernels import philox
from .._tf.ops.draws import Drawing, Starts
from .._tf.seeds import combined, kept_for_run, running
from ._nodes import Operation, SessionOp, Tensor
from ._ops import GRAPHS
from .array_ops import _shape_tensor
from .graph import add_operation, get_default_graph, name_scope


def set_random_seed(seed: int | None) -> None:
    """Set the seed of the default graph."""
    get_default_graph().seed = seed


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Return the two seeds of an operation with the seed `op_seed`; None if no seed is set.

    In a graph with a seed, operations without a seed are numbered.
    """
    graph = get_default_graph()

    def number() -> int:
        found: int = graph.extras.get("unseeded", 0)
        graph.extras["unseeded"] = found + 1
        return found

    return combined(graph.seed, op_seed, number) or (None, None)


def first_state(op: Operation) -> philox.Philox:
    """Return the state before the first draw."""
    return philox.Philox(op.attrs["seed"], op.attrs["seed2"])


def state_of(op: Operation, step: Any) -> philox.Philox:
    """Return the generator of an operation: one per session, and per iteration over a dataset."""
    if step is None or running.get() is not None:
        return kept_for_run(op, lambda: first_state(op))
    found: philox.Philox = step.resource(op, lambda: first_state(op))
    return found


def attributes_of(op: Operation) -> dict[str, Any]:
    """Return the attributes of the operation of the registry."""
    return {name: value for name, value in op.attrs.items() if name not in ("seed", "seed2")}


def drawn(
    op: Drawing,
    inputs: Sequence[Tensor],
    seed: int | tuple[int, int] | None,
    name: str | None = None,
    **how: Any,
) -> Any:
    """Add an operation that draws random numbers; `seed` is its own seed, or both seeds."""
    seeds = [each or 0 for each in (seed if isinstance(seed, tuple) else get_seed(seed))]
    specs = op.infer([Starts.spec, *inputs], [None, *inputs], **how)

    def kernel(step: Any, *values: Any) -> tuple[Any, ...]:
        state = state_of(made, step)
        found = op.kernel(state.start(op.blocks(*values, **how) or 0), *values, **how)
        return found if isinstance(found, tuple) else (found,)

    outputs = [(spec.dtype, spec.shape) for spec in specs]
    attrs = {"seed": seeds[0], "seed2": seeds[1], **how}
    stateful = SessionOp(op.name, kernel, pure=False)
    stateful.drawing = op
    made = add_operation(stateful, inputs, outputs, attrs, name)
    return made.outputs[0] if len(made.outputs) == 1 else made.outputs


draws: Final = Draws(GRAPHS, drawn, _shape_tensor, name_scope)
stateless: Final = Stateless(draws)
image_draws: Final = SimpleNamespace(**random_functions(draws, stateless))
