# SPDX-License-Identifier: Apache-2.0
"""Nested elements: dicts, tuples and other containers of an element's components.

A structure contains `LEAF` at the place of each component. None is not a component, and represents
itself.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class _Leaf(enum.Enum):
    """The place of a component in a structure; copies are identical."""

    LEAF = "*"


LEAF = _Leaf.LEAF


def alike(value: Any, parts: Mapping[Any, Any]) -> Any:
    """Return a mapping with the class and order of `value`, created as TensorFlow creates it.

    If the class cannot be created from pairs, the result is a dict.
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


def flatten(value: Any, lists: bool = False, nones: bool = False) -> tuple[Any, list[Any]]:
    """Return the structure of a value, with `LEAF` for each component, and the components in order.

    Dicts are visited by sorted key. A list is one component, which becomes a tensor, unless `lists`
    is True; None is a component if `nones` is True.
    """
    if value is None and not nones:
        return None, []
    if not (isinstance(value, (tuple, Mapping)) or (lists and isinstance(value, list))):
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
    """Return the value of a structure with these components, and with `none` for None."""
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
    """Return a function that applies :func:`pack` to one structure repeatedly."""
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
    """Apply `function` to each component of a value."""
    structure, leaves = flatten(value)
    return pack(structure, [function(leaf) for leaf in leaves])


def parts_along(value: Any, structure: Any) -> list[Any]:
    """Return the components of a value whose nesting may be deeper than that of `structure`.

    Raises
    ------
    ValueError, TypeError, KeyError
        If the value has another structure.
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
