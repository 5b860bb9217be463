# SPDX-License-Identifier: Apache-2.0
"""Regular expressions: Python's, as near to RE2's as they come.

A dot is a character of UTF-8, classes such as ``\\d`` are of ASCII, ``[[:alpha:]]`` is known, and
what matches nothing does not match right behind what matched something.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .._tf.dtypes import bool_
from ._nodes import Tensor
from ._ops import invalid
from .string_ops import mapped

__all__ = ["regex_full_match", "regex_replace"]

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else bytes(value).decode("utf-8", "surrogateescape")


def _pattern(pattern: Any) -> re.Pattern[str]:
    text = _text(pattern)
    known = re.sub(r"\[:(\w+):\]", lambda m: _CLASSES.get(m[1], m[0]), text)
    try:
        return re.compile(known, re.ASCII)
    except re.error as error:
        raise invalid(f"Invalid pattern: {text}, error: {error}") from error


def _rewriter(compiled: re.Pattern[str], rewrite: str) -> Callable[[re.Match[str]], str] | None:
    """Function that rewrites a match; None when `rewrite` uses a group that does not exist."""
    parts: list[Any] = []
    for piece in re.findall(r"\\.|\\\Z|[^\\]+", rewrite, re.DOTALL):
        if piece[0] != "\\":
            parts.append(piece)
        elif piece[1:].isdigit():
            parts.append(int(piece[1:]))
        elif piece == "\\\\":
            parts.append("\\")
        else:
            break  # as RE2 does with what it does not know
    if any(isinstance(part, int) and part > compiled.groups for part in parts):
        return None
    return lambda m: "".join(p if isinstance(p, str) else m[p] or "" for p in parts)


def _replaced(text: str, compiled: re.Pattern[str], made: Any, once: bool) -> str:
    parts: list[str] = []
    end = -1
    at = 0
    for match in compiled.finditer(text):
        if match.start() == match.end() == end:
            continue
        parts += [text[at : match.start()], made(match)]
        at = end = match.end()
        if once:
            break
    return "".join([*parts, text[at:]])


def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    """Replace matches by `rewrite`, in which ``\\1`` stands for the first group."""
    compiled = _pattern(pattern)
    made = _rewriter(compiled, _text(rewrite))

    def function(value: bytes) -> bytes:
        if made is None:
            return value
        found = _replaced(_text(value), compiled, made, not replace_global)
        return found.encode("utf-8", "surrogateescape")

    return mapped("RegexReplace", function, input, name)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Whether the whole of it matches."""
    compiled = _pattern(pattern)
    return mapped(
        "RegexFullMatch", lambda s: compiled.fullmatch(_text(s)) is not None, input, name, bool_
    )
