# SPDX-License-Identifier: Apache-2.0
"""Regular expressions."""

from __future__ import annotations

from typing import Any

from .._tf.dtypes import bool_, string
from .._tf.patterns import compiled
from ._nodes import Tensor
from ._ops import Array, pure
from .constants import convert_to_tensor
from .string_ops import each, mapped

__all__ = ["regex_full_match", "regex_replace"]


def _bytes(value: Any) -> bytes | None:
    """The bytes of a text; None for a tensor."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    return value if isinstance(value, bytes) else None


def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    """Replace matches by `rewrite`, in which ``\\1`` stands for the first group."""
    known, new = _bytes(pattern), _bytes(rewrite)
    if known is not None and new is not None:
        pair = known, new

        def static(value: bytes) -> bytes:
            return compiled(pair[0]).replaced(value, pair[1], replace_global)

        return mapped("StaticRegexReplace", static, input, name)
    tensor = convert_to_tensor(input, string)
    inputs = [tensor, convert_to_tensor(pattern, string), convert_to_tensor(rewrite, string)]

    def kernel(values: Array, wanted: Array, by: Array) -> Array:
        found = compiled(wanted.item())
        return each(values, lambda value: found.replaced(value, by.item(), replace_global))

    return pure("RegexReplace", kernel, inputs, string, tensor.shape, name)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Whether the whole of it matches."""
    known = _bytes(pattern)
    if known is not None:
        text = known
        function = lambda value: compiled(text).full_match(value)  # noqa: E731
        return mapped("StaticRegexFullMatch", function, input, name, bool_)
    tensor = convert_to_tensor(input, string)

    def kernel(values: Array, wanted: Array) -> Array:
        return each(values, compiled(wanted.item()).full_match, bool)

    inputs = [tensor, convert_to_tensor(pattern, string)]
    return pure("RegexFullMatch", kernel, inputs, bool_, tensor.shape, name)
