# SPDX-License-Identifier: Apache-2.0
"""Nested elements: dicts, tuples and what else a program makes of the parts of an element.

A structure has `LEAF` where a value has a part. None is no part, and stands for itself.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["LEAF", "alike", "flatten", "map_leaves", "pack", "packer", "parts_along"]


class _Leaf(enum.Enum):
    """Where a structure has a part; copies of it are the same."""

    LEAF = "*"


LEAF = _Leaf.LEAF


def alike(value: Any, parts: Mapping[Any, Any]) -> Any:
    """Return a mapping of the class and order of `value`, made as TensorFlow makes it.

    A class that cannot be made of pairs becomes a dict.
    """
    ordered = [(key, parts[key]) for key in value]
    kind = type(value)
    if isinstance(value, defaultdict):
        return kind(value.default_factory, ordered)
    try:
        return kind(ordered)
    except TypeError:
        return dict(ordered)


def _is_named(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _is_nested(value: Any, lists: bool) -> bool:
    return isinstance(value, (tuple, Mapping)) or (lists and isinstance(value, list))


def flatten(value: Any, lists: bool = False, nones: bool = False) -> tuple[Any, list[Any]]:
    """The structure of a value, with `LEAF` for each part, and the parts in order.

    Dicts are gone through by sorted key. A list is one part, which becomes a tensor, unless
    `lists`; None is one if `nones`.
    """
    if value is None and not nones:
        return None, []
    if not _is_nested(value, lists):
        return LEAF, [value]
    leaves: list[Any] = []

    def inner(each: Any) -> Any:
        structure, found = flatten(each, lists, nones)
        leaves.extend(found)
        return structure

    if isinstance(value, Mapping):
        try:
            keys = sorted(value)
        except TypeError:
            keys = list(value)
        inside = {key: inner(value[key]) for key in keys}
        return alike(value, inside), leaves
    parts = [inner(each) for each in value]
    if _is_named(value):
        return type(value)(*parts), leaves
    return tuple(parts), leaves


def pack(structure: Any, leaves: Sequence[Any], none: Any = None) -> Any:
    """The value of a structure with these parts, and with `none` for None."""
    remaining = iter(leaves)

    def build(part: Any) -> Any:
        if part is LEAF:
            return next(remaining)
        if part is None:
            return none
        if isinstance(part, Mapping):
            try:
                keys = sorted(part)
            except TypeError:
                keys = list(part)
            return alike(part, {key: build(part[key]) for key in keys})
        if _is_named(part):
            return type(part)(*[build(each) for each in part])
        return tuple(build(each) for each in part)

    return build(structure)


def packer(structure: Any) -> Callable[[Sequence[Any]], Any]:
    """As :func:`pack` for one structure, many times over."""
    if structure is LEAF:
        return lambda leaves: leaves[0]
    if type(structure) is tuple and all(part is LEAF for part in structure):
        return tuple
    if type(structure) is dict and all(part is LEAF for part in structure.values()):
        keys = flatten({key: key for key in structure})[1]
        if keys == list(structure):
            return lambda leaves: dict(zip(keys, leaves, strict=True))
    return lambda leaves: pack(structure, leaves)


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """A value with `function` of each of its parts."""
    structure, leaves = flatten(value)
    return pack(structure, [function(leaf) for leaf in leaves])


def parts_along(value: Any, structure: Any) -> list[Any]:
    """The parts of a value that may be nested further than `structure` is, or be None.

    Raises
    ------
    ValueError, TypeError, KeyError
        When it has another structure.
    """
    if structure is None:
        return []
    if structure is LEAF:
        return [value]
    if value is None:
        return [None] * len(flatten(structure)[1])
    if isinstance(structure, Mapping):
        return [p for key in sorted(structure) for p in parts_along(value[key], structure[key])]
    pairs = zip(value, structure, strict=True)
    return [p for part, inner in pairs for p in parts_along(part, inner)]
