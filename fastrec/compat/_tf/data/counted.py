# SPDX-License-Identifier: Apache-2.0
"""As many elements as were promised."""

from __future__ import annotations

from .. import errors as _errors
from .pipeline import Node
from .streams import Value, Values, steps

__all__ = ["Counted"]


class Counted(Node):
    """The same elements, which have to be so many."""

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
                raise self._wrong("", count) from None
            count += 1
            if count > self._expected >= 0:
                raise self._wrong("at least ", count)
            return value

        return steps(step)

    def _wrong(self, how: str, count: int) -> Exception:
        noun = "element" if self._expected == 1 else "elements"
        promise = f"Input dataset was expected to contain {self._expected} {noun}"
        text = f"{promise} but contained {how}{count}."
        return _errors.FailedPreconditionError(None, None, text)
