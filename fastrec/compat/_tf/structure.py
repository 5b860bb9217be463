# SPDX-License-Identifier: Apache-2.0
"""Nested elements: dicts, tuples and what else a program makes of the parts of an element."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["LEAF", "flatten", "from_value", "map_leaves", "pack", "packer"]

LEAF = None  # where a structure has a part


def _is_named(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _is_nested(value: Any, lists: bool) -> bool:
    return isinstance(value, (tuple, Mapping)) or (lists and isinstance(value, list))


def flatten(value: Any, lists: bool = False) -> tuple[Any, list[Any]]:
    """The structure of a value, with `LEAF` for each part, and the parts in order.

    Dicts are gone through by sorted key. A list is one part, which becomes a tensor, unless
    `lists`.
    """
    if not _is_nested(value, lists):
        return LEAF, [value]
    leaves: list[Any] = []

    def inner(each: Any) -> Any:
        structure, found = flatten(each, lists)
        leaves.extend(found)
        return structure

    if isinstance(value, Mapping):
        try:
            keys = sorted(value)
        except TypeError:
            keys = list(value)
        inside = {key: inner(value[key]) for key in keys}
        return {key: inside[key] for key in value}, leaves
    parts = [inner(each) for each in value]
    if _is_named(value):
        return type(value)(*parts), leaves
    return tuple(parts), leaves


def pack(structure: Any, leaves: Sequence[Any]) -> Any:
    """The value of a structure with these parts."""
    remaining = iter(leaves)

    def build(part: Any) -> Any:
        if part is LEAF:
            return next(remaining)
        if isinstance(part, dict):
            try:
                keys = sorted(part)
            except TypeError:
                keys = list(part)
            found = {key: build(part[key]) for key in keys}
            return {key: found[key] for key in part}
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
    if isinstance(structure, dict) and all(part is LEAF for part in structure.values()):
        keys = flatten({key: key for key in structure})[1]
        if keys == list(structure):
            return lambda leaves: dict(zip(keys, leaves, strict=True))
    return lambda leaves: pack(structure, leaves)


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """A value with `function` of each of its parts."""
    structure, leaves = flatten(value)
    return pack(structure, [function(leaf) for leaf in leaves])


def from_value(value: Any) -> tuple[Any, list[Any]]:
    """As :func:`flatten`; lists of numbers or strings are parts, a list of other things is too."""
    if isinstance(value, (list, np.ndarray)):
        return LEAF, [value]
    return flatten(value)
