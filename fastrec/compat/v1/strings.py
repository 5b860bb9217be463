# SPDX-License-Identifier: Apache-2.0
"""``tf.strings``: strings cut, joined, and taken for numbers."""

from __future__ import annotations

from typing import Any

from . import _late, regex_ops, string_ops
from .shared_ops import operations

as_string = string_ops.as_string
join = string_ops.string_join
length = string_ops.string_length
lower = string_ops.string_lower
upper = string_ops.string_upper
strip = string_ops.string_strip
reduce_join = string_ops.reduce_join
regex_full_match = regex_ops.regex_full_match
regex_replace = regex_ops.regex_replace
split = string_ops.split_v2
substr = string_ops.substr
to_hash_bucket_fast = operations.to_hash_bucket_fast
to_number = string_ops.string_to_number


def __getattr__(name: str) -> Any:
    return _late.found("strings", name)
