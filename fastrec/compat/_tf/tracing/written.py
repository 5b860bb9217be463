# SPDX-License-Identifier: Apache-2.0
"""How functions are written: the part of a file that a code object was made of."""

from __future__ import annotations

import ast
import copy
import functools
import linecache
import types
from collections.abc import Sequence
from typing import Any

__all__ = ["Unknown", "arguments_of", "copied", "defined", "source_of"]


class Unknown(Exception):
    """Raised for what is not written anew."""


def defined(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    """A function of these arguments and statements."""
    found = ast.FunctionDef(name, arguments, body, [], None)
    if "type_params" in found._fields:
        found.type_params = []  # type: ignore[attr-defined]
    return found


def copied(nodes: Sequence[Any]) -> list[Any]:
    """Nodes that can be changed."""
    return copy.deepcopy(list(nodes))


@functools.lru_cache(maxsize=64)
def _functions_of(filename: str) -> dict[int, list[Any]]:
    """The functions of a file, by the lines on which they begin."""
    found: dict[int, list[Any]] = {}
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except SyntaxError:
        return found
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *[each.lineno for each in decorators]])
            found.setdefault(first, []).append(node)
    return found


def source_of(code: types.CodeType) -> ast.FunctionDef:
    """The function that a code object was made of.

    Raises
    ------
    Unknown
        When that is not known.
    """
    nodes = [
        node
        for node in _functions_of(code.co_filename).get(code.co_firstlineno, [])
        if getattr(node, "name", "<lambda>") == code.co_name and arguments_of(node) == _given(code)
    ]
    if len(nodes) > 1 and hasattr(code, "co_positions"):
        nodes = [node for node in nodes if _holds(node, code)]
    if len(nodes) != 1:
        raise Unknown
    node: Any = copied(nodes)[0]
    if isinstance(node, ast.Lambda):
        result = ast.copy_location(ast.Return(node.body), node)
        node = ast.copy_location(defined("_lambda", node.args, [result]), node)
    found: ast.FunctionDef = node
    return found


def arguments_of(node: Any) -> list[str]:
    """The names of all parameters of a function."""
    a = node.args
    given = [*a.posonlyargs, *a.args, *a.kwonlyargs, *[x for x in (a.vararg, a.kwarg) if x]]
    return [each.arg for each in given]


def _given(code: types.CodeType) -> list[str]:
    more = bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + more])


def _holds(node: ast.Lambda, code: types.CodeType) -> bool:
    """Whether all that a code object does is written within a function."""
    begin, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    places = [at for at in code.co_positions() if None not in at and at[3]]
    return all(begin <= (at[0], at[2]) and (at[1], at[3]) <= end for at in places)
