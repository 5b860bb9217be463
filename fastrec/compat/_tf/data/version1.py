# SPDX-License-Identifier: Apache-2.0
"""Attributes of ``tf.compat.v1`` datasets when they are iterated eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..nest import map_structure


def _refuse(shared_name: str | None = None) -> Any:
    """Raise for iterators that a session would have to initialize."""
    raise RuntimeError(
        "dataset.make_initializable_iterator is not supported when eager execution is enabled. "
        "Use `for element in dataset` instead."
    )


def _of_specs(attribute: str) -> Callable[[Any], Any]:
    return lambda data: map_structure(lambda spec: getattr(spec, attribute), data.element_spec)


#: Attributes of a dataset, by name.
OF_VERSION_1: dict[str, Callable[[Any], Any]] = {
    "filter_with_legacy_function": lambda dataset: dataset.filter,
    "make_initializable_iterator": lambda dataset: _refuse,
    "make_one_shot_iterator": lambda dataset: dataset.__iter__,
    "map_with_legacy_function": lambda dataset: dataset.map,
    "output_classes": _of_specs("value_type"),
    "output_shapes": _of_specs("shape"),
    "output_types": _of_specs("dtype"),
}
