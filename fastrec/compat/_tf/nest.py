# SPDX-License-Identifier: Apache-2.0
"""``tf.nest``: nested lists, tuples and dicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .structure import alike
from .structure import flatten as _flatten


def is_nested(seq: Any) -> bool:
    """Return whether `seq` is a list, a tuple or a mapping."""
    return isinstance(seq, (list, tuple, Mapping))


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """Return the components; those of dicts by sorted key."""
    return _flatten(structure, lists=True, nones=True)[1]


def pack_sequence_as(
    structure: Any, flat_sequence: list[Any], expand_composites: bool = False
) -> Any:
    """Return components in the nested form of `structure`."""
    count = len(flatten(structure))
    if count != len(flat_sequence):
        raise ValueError(
            f"Structure had {count} atoms, but flat_sequence had {len(flat_sequence)} items."
        )
    remaining = iter(flat_sequence)

    def build(part: Any) -> Any:
        if isinstance(part, Mapping):
            return alike(part, {key: build(part[key]) for key in sorted(part)})
        if isinstance(part, tuple) and hasattr(part, "_fields"):
            return type(part)(*map(build, part))
        if isinstance(part, (list, tuple)):
            return type(part)(map(build, part))
        return next(remaining)

    return build(structure)


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Check that two values have the same nested form.

    Raises
    ------
    ValueError
        If the forms differ.
    """
    one, other = (_flatten(nest, lists=True, nones=True)[0] for nest in (nest1, nest2))
    if one != other:
        raise ValueError(f"The two structures don't have the same nested structure: {one}, {other}")


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Apply a function to the components of several structures; nest the result as the first."""
    for each in structure[1:]:
        assert_same_structure(structure[0], each)
    parts = zip(*map(flatten, structure), strict=True)
    return pack_sequence_as(structure[0], [func(*some) for some in parts])
