# SPDX-License-Identifier: Apache-2.0
"""Functions of both versions that parse Examples and SequenceExamples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .features import Checked, checked_context, checked_example, checked_sequence
from .ops import Op, parsing

__all__ = ["Parsers"]

_Columns = dict[Any, Any]

# Preparing the features takes longer than parsing one Example.
_OPS: dict[Any, Op] = {}
_MOST_OPS = 64


def _kept(key: Any, make: Callable[[], Op]) -> Op:
    try:
        found = _OPS.get(key)
    except TypeError:  # a default that has no hash
        return make()
    if found is None:
        if len(_OPS) >= _MOST_OPS:
            _OPS.clear()
        found = _OPS[key] = make()
    return found


def _described(features: Any) -> Any:
    if not isinstance(features, dict):
        return None
    return tuple((key, type(feature), feature, repr(feature)) for key, feature in features.items())


def _keys(checked: Checked, frames: bool = False) -> list[Any]:
    return parsing.Outputs(checked, frames).keys


class Parsers:
    """The functions, for one of the versions.

    Parameters
    ----------
    apply : callable
        Of an operation, tensors and a name; gives the sequence of its outputs.
    tensor : callable
        Of serialized messages, or of their names; gives a tensor.
    """

    def __init__(
        self,
        apply: Callable[[Op, Sequence[Any], str | None], Sequence[Any]],
        tensor: Callable[[Any], Any],
    ) -> None:
        self._apply, self._tensor = apply, tensor

    def _scalar(self, serialized: Any) -> Any:
        record = self._tensor(serialized)
        if record.shape.ndims not in (0, None):
            raise ValueError("Input serialized must be a scalar")
        return record

    def _inputs(self, records: Any, names: Any) -> list[Any]:
        return [records] if names is None else [records, self._tensor(names)]

    def single_example(self, serialized: Any, features: Any, name: str | None = None) -> _Columns:
        """One Example as tensors, by feature."""
        checked = checked_example(features, single=True)
        return self._single(self._scalar(serialized), features, checked, name)

    def _single(self, record: Any, features: Any, checked: Checked, name: str | None) -> _Columns:
        op = _kept(("single", _described(features)), lambda: parsing.single_example(checked))
        return dict(zip(_keys(checked), self._apply(op, [record], name), strict=True))

    def example(
        self, serialized: Any, features: Any, names: Any = None, name: str | None = None
    ) -> _Columns:
        """Examples as tensors, by feature; a scalar is a single one."""
        checked, records = checked_example(features), self._tensor(serialized)
        rank = records.shape.ndims
        if rank is not None and rank > 1:
            raise ValueError(
                f"Shape must be at most rank 1 but is rank {rank} for 'ParseExampleV2'"
            )
        if rank == 0:
            return self._single(records, features, checked, name or "ParseExample")
        named = names is not None
        op = _kept(("batch", named, _described(features)), lambda: parsing.examples(checked, named))
        found = self._apply(op, self._inputs(records, names), name or "ParseExample")
        return dict(zip(_keys(checked), found, strict=True))

    def sequence(
        self,
        serialized: Any,
        context: Any,
        frames: Any,
        names: Any = None,
        name: str | None = None,
        *,
        single: bool,
    ) -> list[_Columns]:
        """SequenceExamples as tensors: of contexts, of feature lists, and how long these are."""
        if not (context or frames):
            raise ValueError(
                "Both `context_features` and `sequence_features` argument are None, but at least "
                "one should have values."
            )
        before, lists = checked_context(context), checked_sequence(frames)
        records = self._scalar(serialized) if single else self._tensor(serialized)
        make = parsing.single_sequence if single else parsing.sequences
        key = "sequence", single, _described(context or {}), _described(frames or {})
        op = _kept(key, lambda: make(before, lists))
        found = iter(self._apply(op, self._inputs(records, names), name))
        counted = [] if single else [item.key for item in lists.dense]
        groups = (_keys(before), _keys(lists, True), counted)
        return [{key: next(found) for key in keys} for keys in groups]
