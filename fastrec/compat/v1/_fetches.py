# SPDX-License-Identifier: Apache-2.0
"""Convert the fetches and feeds of a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from .._tf.arrays import as_typed, strings_of
from .._tf.dtypes import DType, resource, string
from ._graph import Graph
from ._nodes import Operation, Tensor

Fetched = Callable[[Iterator[Any]], Any]
"""Takes as many values as it needs and gives them in the structure that was asked for."""


def fetched(fetch: Any, graph: Graph, flat: list[Tensor | Operation]) -> Fetched:
    """Add the tensors of `fetch` to `flat`; return a function from their values to the result.

    Raises
    ------
    TypeError
        If `fetch` cannot be fetched.
    ValueError
        If it is not in `graph`.
    """
    if isinstance(fetch, (Tensor, Operation)) or not isinstance(fetch, (list, tuple, Mapping)):
        return _single(fetch, graph, flat)
    if isinstance(fetch, Mapping):
        parts = [fetched(value, graph, flat) for value in fetch.values()]
        keys = list(fetch)
        kind: Any = type(fetch)
        made = dict if kind is dict or not isinstance(fetch, dict) else kind
        return lambda values: made(
            [(key, part(values)) for key, part in zip(keys, parts, strict=True)]
        )
    parts = [fetched(value, graph, flat) for value in fetch]
    if isinstance(fetch, list):
        return lambda values: [part(values) for part in parts]
    if hasattr(fetch, "_fields"):
        named: Any = type(fetch)
        return lambda values: named(*[part(values) for part in parts])
    return lambda values: tuple([part(values) for part in parts])


def _single(fetch: Any, graph: Graph, flat: list[Tensor | Operation]) -> Fetched:
    if hasattr(fetch, "_fetch_parts"):
        parts, rebuild = fetch._fetch_parts()
        inner = fetched(list(parts), graph, flat)
        return lambda values: rebuild(*inner(values))
    if fetch is None:
        raise TypeError('Argument `fetch` = None has invalid type "NoneType". Cannot be None')
    try:
        flat.append(graph.as_graph_element(fetch))
    except TypeError as error:
        raise TypeError(
            f'Argument `fetch` = {fetch} has invalid type "{type(fetch).__name__}" must be a '
            f"string or Tensor. ({error})"
        ) from None
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({error})"
        ) from None
    return next


def feeds_of(feed_dict: Any, graph: Graph) -> tuple[list[Tensor], list[Any]]:
    """Return the fed tensors, and their values as arrays.

    Raises
    ------
    TypeError
        If a key or a value cannot be fed.
    ValueError
        If a value has another shape.
    """
    tensors: list[Tensor] = []
    values: list[Any] = []
    for key, value in dict(feed_dict or {}).items():
        if hasattr(key, "_feed_parts"):
            for tensor, part in key._feed_parts(value):
                tensors.append(tensor)
                values.append(fed_array(tensor, part))
            continue
        try:
            found = graph.as_graph_element(key, allow_operation=False)
        except (KeyError, TypeError, ValueError) as error:
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}") from None
        assert isinstance(found, Tensor)
        tensors.append(found)
        values.append(fed_array(found, value))
    return tensors, values


def fed_array(tensor: Tensor, value: Any) -> Any:
    """Convert `value` to an array of the type of `tensor`.

    Raises
    ------
    TypeError
        If `value` is a tensor, or a number that the type cannot represent.
    ValueError
        If `value` has another shape.
    """
    if isinstance(value, Tensor):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include "
            "Python scalars, strings, lists, numpy ndarrays, or TensorHandles. For reference, the "
            f"tensor object was {value} which was passed to the argument `feed_dict` with key "
            f"{tensor}."
        )
    if tensor.dtype is resource:
        return value
    array = _array_of(value, tensor.dtype)
    if not tensor.shape.is_compatible_with(array.shape):
        raise ValueError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name}, which has shape "
            f"{tensor.shape}"
        )
    # The caller's array is never modified.
    array = array.view()
    array.flags.writeable = False
    return array


def _array_of(value: Any, dtype: DType) -> np.ndarray[Any, Any]:
    if dtype is string:
        return strings_of(value)
    try:
        return as_typed(value, dtype.numpy)
    except OverflowError:
        pass
    raise TypeError(
        f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type "
        f"{dtype.as_numpy_dtype}. Try explicitly setting the type of the feed tensor to a larger "
        f"type (e.g. int64)."
    )
