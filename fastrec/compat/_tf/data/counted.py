# SPDX-License-Identifier: Apache-2.0
"""``assert_cardinality``."""

from __future__ import annotations

from .. import errors as _errors
from .pipeline import Node
from .streams import Value, Values, steps

__all__ = ["Counted"]


class Counted(Node):
    """Node that raises an error unless its input has the promised number of elements."""

    def __init__(self, node: Node, expected: int) -> None:
        super().__init__(node)
        self._expected = expected

    def cardinality(self) -> int:
        return self._expected

    def values(self, fast: bool = True) -> Values:
        stream, count, ended = self.inputs[0].stream(fast), 0, False

        def step() -> Value:
            nonlocal count, ended
            try:
                value = next(stream)
            except StopIteration:
                if ended or count == self._expected:
                    raise
                ended = True
                raise self._wrong("only ", count) from None
            count += 1
            if count > self._expected >= 0:
                raise self._wrong("at least ", count)
            return value

        return steps(step)

    def _wrong(self, how: str, count: int) -> Exception:
        wanted = (
            "an infinite number of elements" if self._expected < 0 else _elements(self._expected)
        )
        text = f"Input dataset was expected to contain {wanted} but contained {how}"
        return _errors.FailedPreconditionError(None, None, f"{text}{_elements(count)}.")


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count} elements"
