# SPDX-License-Identifier: Apache-2.0
"""``filter``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..columns import taken
from ..dtypes import as_dtype
from ..errors import OpError
from ..specs import TypeSpec
from ..structure import LEAF, pack
from .functions import Function, failed
from .pipeline import INFINITE, UNKNOWN, Node, loose_spec
from .streams import Block, Blocks, Value, Values, in_blocks

__all__ = ["Filter", "Predicate"]

_BOOL = as_dtype("bool")


class Predicate:
    """Function that decides whether an element is kept.

    Raises
    ------
    ValueError
        If the result is not a single truth value.
    """

    def __init__(self, function: Callable[..., Any], node: Node) -> None:
        self._function = Function(function, node.structure)
        known = all(isinstance(spec, TypeSpec) for spec in node.specs)
        found = self._function.trace(node.specs) if known else None
        if found is not None:
            self._check(found[1], found[0].specs)
        self.trace = found[0] if found and not found[0].draws else None

    def __call__(self, value: Value) -> bool:
        try:
            return self._decide(value)
        except OpError as error:
            raise failed(error, "Filter") from error.__cause__

    def _decide(self, value: Value) -> bool:
        if self.trace is not None:
            return bool(self.trace(value)[0])
        structure, parts = self._function(value)
        self._check(structure, [loose_spec(part) for part in parts])
        return bool(np.asarray(parts[0]))

    def _check(self, structure: Any, specs: Sequence[Any]) -> None:
        if structure is LEAF and specs[0].dtype == _BOOL and specs[0].shape.sizes in ((), None):
            return
        shown = pack(structure, specs)
        raise ValueError(
            "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its "
            f"return type is {shown}."
        )


class Filter(Node):
    """Node that drops the elements if a function returns False for them."""

    def __init__(self, node: Node, function: Callable[..., Any]) -> None:
        super().__init__(node)
        self._keeps = Predicate(function, node)
        self._trace = self._keeps.trace

    @property
    def pure(self) -> bool:
        return super().pure and self._trace is not None and self._trace.is_pure

    def cardinality(self) -> int:
        return INFINITE if self.inputs[0].cardinality() == INFINITE else UNKNOWN

    def values(self, fast: bool = True) -> Values:
        return filter(self._keeps, self.inputs[0].stream(fast))

    def blocks(self, count: int) -> Blocks | None:
        if not self.pure or (blocks := self.inputs[0].gathered(count)) is None:
            return None
        return in_blocks(blocks, self._of_block, lambda values: filter(self._keeps, values))

    def _of_block(self, count: int, columns: list[Any]) -> Block:
        assert self._trace is not None
        mask = np.asarray(self._trace.run_block(count, columns)[0]).reshape(count)
        if mask.all():
            return count, columns
        rows = np.flatnonzero(mask)
        return len(rows), [taken(column, rows) for column in columns]
