# SPDX-License-Identifier: Apache-2.0
"""``tf.case``, ``tf.switch_case``, ``tf.scan`` and folds, for both versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from . import Faces, Functions, Version
from .checks import Checks


class Choosing(Faces):
    """``tf.case`` and ``tf.switch_case``.

    Parameters
    ----------
    version : Version
    cond : callable
        Takes a condition and two functions, and returns the result of one of them.
    numbered : callable
        Takes an index and functions, and returns the result of the function at that index, or of
        the last function for any other index.
    dependencies : callable
        Takes a list, and returns a context whose operations wait for the operations in the list.
    """

    def __init__(
        self,
        version: Version,
        cond: Callable[..., Any],
        numbered: Callable[[Any, Sequence[Callable[[], Any]]], Any],
        dependencies: Callable[[Any], Any],
    ) -> None:
        super().__init__(version)
        self._cond, self._numbered, self._dependencies = cond, numbered, dependencies

    def case(
        self,
        pred_fn_pairs: Any,
        default: Callable[[], Any] | None = None,
        exclusive: bool = False,
        strict: bool = False,
        name: str = "case",
    ) -> Any:
        """Return the result of the function of the first true condition."""
        pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
        checks = Checks(self._version)
        if default is None:
            last, function = pairs.pop()

            def default() -> Any:
                text = "Input error: None of conditions evaluated as True:"
                with self._dependencies([checks.Assert(last, [text, last])]):
                    return function()

        held = [self._tensor(pred) for pred, _ in pairs] if exclusive else []
        with self._dependencies([checks._at_most_one(held)] if len(held) > 1 else []):
            return self._first(pairs, default)

    def _first(self, pairs: Sequence[Any], default: Callable[[], Any]) -> Any:
        if not pairs:
            return default()
        (pred, function), *others = pairs
        return self._cond(pred, function, lambda: self._first(others, default))

    def switch_case(
        self,
        branch_index: Any,
        branch_fns: Any,
        default: Callable[[], Any] | None = None,
        name: str = "switch_case",
    ) -> Any:
        """Return the result of the function at an index, or of the last one for any other index."""
        given = branch_fns.items() if isinstance(branch_fns, dict) else branch_fns
        pairs = [each if isinstance(each, tuple) else (i, each) for i, each in enumerate(given)]
        pairs.sort(key=lambda pair: pair[0])
        if (places := [place for place, _ in pairs]) != list(range(len(pairs))):
            raise ValueError(
                f"branch indices (keys) must form contiguous range of [0 to {len(pairs)}) but "
                f"found {places}"
            )
        functions = [function for _, function in pairs]
        return self._numbered(branch_index, [*functions, *([default] if default else [])])


def _fold(reverse: bool) -> Callable[..., Any]:
    """Return the fold that begins with the first row, or with the last one."""

    def fold(
        self: Folds,
        fn: Callable[..., Any],
        elems: Any,
        initializer: Any = None,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        name: str | None = None,
    ) -> Any:
        return self._folded(fn, elems, initializer, reverse, name, False)

    return fold


class Folds(Functions):
    """``tf.scan``, ``tf.foldl`` and ``tf.foldr``.

    Parameters
    ----------
    folded : callable
        Takes a function, rows, an initial value or None, whether to begin with the last row, a
        name or None, and whether to stack all results; returns the results or the last one.
    """

    def __init__(self, folded: Callable[[Any, Any, Any, bool, str | None, bool], Any]) -> None:
        super().__init__()
        self._folded = folded

    def scan(
        self,
        fn: Callable[..., Any],
        elems: Any,
        initializer: Any = None,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        infer_shape: bool = True,
        reverse: bool = False,
        name: str | None = None,
    ) -> Any:
        """Apply `fn` to its previous result and each row, and stack all results."""
        return self._folded(fn, elems, initializer, reverse, name, True)

    foldl: Final = _fold(reverse=False)
    foldr: Final = _fold(reverse=True)
