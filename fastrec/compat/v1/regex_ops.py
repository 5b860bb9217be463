# SPDX-License-Identifier: Apache-2.0
"""Regular expressions."""

from __future__ import annotations

from typing import Any

from .._tf.dtypes import string
from .._tf.ops import strings as rows
from ._nodes import Tensor
from ._ops import record
from .constants import convert_to_tensor

__all__ = ["regex_full_match", "regex_replace"]


def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    """Replace matches by `rewrite`, in which ``\\1`` stands for the first group."""
    known, new = rows.pattern_of(pattern), rows.pattern_of(rewrite)
    if known is None or new is None:
        inputs = [convert_to_tensor(each, string) for each in (input, pattern, rewrite)]
        return record(rows.REGEX_REPLACE, inputs, name, replace_global=replace_global)
    given = convert_to_tensor(input, string)
    how: dict[str, Any] = {"pattern": known, "rewrite": new, "replace_global": replace_global}
    return record(rows.REGEX_REPLACE, (given,), name, "StaticRegexReplace", **how)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Whether the whole of it matches."""
    known = rows.pattern_of(pattern)
    if known is None:
        inputs = [convert_to_tensor(each, string) for each in (input, pattern)]
        return record(rows.REGEX_FULL_MATCH, inputs, name)
    given = convert_to_tensor(input, string)
    return record(rows.REGEX_FULL_MATCH, (given,), name, "StaticRegexFullMatch", pattern=known)
