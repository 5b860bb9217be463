# SPDX-License-Identifier: Apache-2.0
"""Source code of functions: find the syntax tree of a code object, and compile a changed one."""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import linecache
import types
from collections.abc import Sequence
from typing import Any


class Unknown(Exception):
    """Raised if a function cannot be rewritten."""


def parameters(names: Sequence[str]) -> ast.arguments:
    return ast.arguments([], [ast.arg(each) for each in names], None, [], [], None, [])


def defined(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    """Return the syntax tree of a function with these parameters and statements."""
    found = ast.FunctionDef(name, arguments, body, [], None)
    if "type_params" in found._fields:
        found.type_params = []  # type: ignore[attr-defined]
    return found


def copied(nodes: Sequence[Any]) -> list[Any]:
    """Return a copy of nodes that may be modified."""
    return copy.deepcopy(list(nodes))


@functools.lru_cache(maxsize=64)
def _functions_of(filename: str, flags: int) -> dict[int, tuple[list[Any], list[Any]]]:
    """Return the functions of a file and their code objects, by first line."""
    found: dict[int, tuple[list[Any], list[Any]]] = {}
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
        # Notebook cells may run statements separately, so also compile each on its own.
        parts = [tree, *[ast.Module([each], []) for each in tree.body]]
        made = [compile(part, filename, "exec", flags, dont_inherit=True) for part in parts]
    except (SyntaxError, ValueError, RecursionError):
        return found
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *[each.lineno for each in decorators]])
            found.setdefault(first, ([], []))[0].append(node)
    while made:
        code = made.pop()
        made.extend(each for each in code.co_consts if isinstance(each, types.CodeType))
        if code.co_firstlineno in found:
            found[code.co_firstlineno][1].append(code)
    return found


def source_of(code: types.CodeType) -> ast.FunctionDef:
    """Return the syntax tree of the function that a code object was compiled from.

    Raises
    ------
    Unknown
        If it cannot be found, for example because the file was changed.
    """
    flags = code.co_flags & __future__.annotations.compiler_flag
    known = _functions_of(code.co_filename, flags).get(code.co_firstlineno, ([], []))
    if code not in known[1]:
        raise Unknown
    nodes = [
        node
        for node in known[0]
        if getattr(node, "name", "<lambda>") == code.co_name and arguments_of(node) == _given(code)
    ]
    if len(nodes) > 1 and hasattr(code, "co_positions"):
        nodes = [node for node in nodes if _holds(node, code)]
    if len(nodes) != 1:
        raise Unknown
    node: Any = copied(nodes)[0]
    node.decorator_list, node.returns = [], None
    node.args.defaults, node.args.kw_defaults = [], [None] * len(node.args.kwonlyargs)
    if isinstance(node, ast.Lambda):
        result = ast.copy_location(ast.Return(node.body), node)
        node = ast.copy_location(defined("_lambda", node.args, [result]), node)
    found: ast.FunctionDef = node
    return found


def compiled(
    node: ast.stmt, name: str, free: Sequence[str], code: types.CodeType
) -> types.CodeType:
    """Compile a function whose names in `free` are closure variables.

    `code` is the original code object, which provides the file name and compiler flags.
    """
    itself = [] if name in free else [ast.Global([name])]  # so that the function can call itself
    outer = defined("_outer", parameters(free), [*itself, node])
    module = ast.fix_missing_locations(ast.Module([outer], []))
    flags = code.co_flags & __future__.annotations.compiler_flag
    made = compile(module, code.co_filename, "exec", flags, dont_inherit=True)
    return _code_within(_code_within(made, "_outer"), name)


def _code_within(code: types.CodeType, name: str) -> types.CodeType:
    return next(
        each for each in code.co_consts if isinstance(each, types.CodeType) and each.co_name == name
    )


def arguments_of(node: Any) -> list[str]:
    """Return the names of all parameters of a function."""
    a = node.args
    given = [*a.posonlyargs, *a.args, *a.kwonlyargs, *[x for x in (a.vararg, a.kwarg) if x]]
    return [each.arg for each in given]


def _given(code: types.CodeType) -> list[str]:
    more = bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + more])


def _holds(node: ast.Lambda, code: types.CodeType) -> bool:
    """Return whether all instructions of a code object come from within a function."""
    begin, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    places = [at for at in code.co_positions() if None not in at and at[3]]
    return all(begin <= (at[0], at[2]) and (at[1], at[3]) <= end for at in places)
