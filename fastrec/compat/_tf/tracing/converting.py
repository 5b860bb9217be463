# SPDX-License-Identifier: Apache-2.0
"""Source rewriting of Python functions, so that their branches and loops can be recorded.

The bodies of ``if``, ``for`` and ``while`` become functions of the variables that they assign;
:mod:`.statements` calls or traces these. If only some paths reach a ``return``, ``continue`` or
``break``, the statements after it are moved into the other paths, as AutoGraph does.
"""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import itertools
import linecache
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple


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


RUNTIME = "_of_fastrec"  # name through which rewritten functions find :mod:`.statements`

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_INNER = (*_SCOPES, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_NEW = (ast.Dict, ast.List, ast.DictComp, ast.ListComp)
_REFUSED = (
    ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.Delete, ast.NamedExpr,
    ast.AsyncFor, ast.AsyncWith, ast.AsyncFunctionDef, ast.ClassDef,
)  # fmt: skip
_OWN_NAMES = {"super", "locals", "globals", "vars", "eval", "exec", "dir"}
_MOST_NODES = 20_000  # limit for a rewritten function


class _Ends(NamedTuple):
    """How to end the rewritten function or loop body."""

    values: Callable[[bool], ast.Return]  # takes whether a loop is left
    loops: bool


def _within(nodes: Sequence[ast.AST], stop: tuple[type, ...]) -> Iterator[ast.AST]:
    """Yield nodes and their descendants, but not the descendants of nodes of the `stop` types."""
    left = list(nodes)
    while left:
        node = left.pop()
        yield node
        if not isinstance(node, stop):
            left.extend(ast.iter_child_nodes(node))


def _stored(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names of the variables that statements assign."""
    found = set()
    for node in _within(nodes, _INNER):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
    return found


def _made(nodes: Sequence[ast.AST]) -> set[str]:
    """Return variables that are first, and only, bound to new dicts or lists."""
    new: set[str] = set()
    other: set[str] = set()
    seen: set[str] = set()
    for node in nodes:
        found = node.targets if isinstance(node, ast.Assign) else []
        target = found[0] if len(found) == 1 else None
        if isinstance(target, ast.Name) and isinstance(node.value, _NEW):  # type: ignore[attr-defined]
            names = {target.id}
            new |= names - seen
            other |= names & seen - new
        else:
            other |= _stored([node])
        seen |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return new - other


def _writes(nodes: Sequence[ast.AST]) -> bool:
    """Return whether statements modify objects that are visible outside of the function."""
    own = _made(nodes)
    return any(
        isinstance(node, (ast.Attribute, ast.Subscript))
        and isinstance(node.ctx, ast.Store)
        and not (isinstance(node.value, ast.Name) and node.value.id in own)
        for node in _within(nodes, _INNER)
    )


def _returns(nodes: Sequence[ast.AST]) -> bool:
    return any(isinstance(node, ast.Return) for node in _within(nodes, _SCOPES))


def _jumps(nodes: Sequence[ast.stmt], loops: bool) -> bool:
    """Return whether statements may leave the function or loop body that contains them."""
    for node in nodes:
        if isinstance(node, _SCOPES):
            continue
        if isinstance(node, ast.Return) or (loops and isinstance(node, (ast.Break, ast.Continue))):
            return True
        inner = loops and not isinstance(node, (ast.For, ast.While))
        if _jumps([n for n in ast.iter_child_nodes(node) if isinstance(n, ast.stmt)], inner):
            return True
    return False


def _always_jumps(nodes: Sequence[ast.stmt]) -> bool:
    if not nodes:
        return False
    last = nodes[-1]
    if isinstance(last, ast.If):
        return _always_jumps(last.body) and _always_jumps(last.orelse)
    if isinstance(last, ast.With):
        return _always_jumps(last.body)
    return isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break))


def _keeps_variables(body: Sequence[ast.AST], names: Sequence[str]) -> bool:
    """Return whether functions created in a loop outlive their iteration and use its variables."""
    inner = list(_within(body, (ast.For, ast.While, ast.FunctionDef, ast.Lambda)))
    calls = [node for node in inner if isinstance(node, ast.Call)]
    done = {
        id(value)
        for call in calls
        if getattr(call.func, "attr", "") != "append"
        for value in [*call.args, *[each.value for each in call.keywords]]
    }
    for node in inner:
        if isinstance(node, (ast.Lambda, ast.FunctionDef)) and id(node) not in done:
            content = node.body if isinstance(node, ast.FunctionDef) else [node.body]
            used = {each.id for each in _within(content, ()) if isinstance(each, ast.Name)}
            if used.difference(arguments_of(node)).intersection(names):
                return True
    return False


def _name(name: str, store: bool = False) -> ast.Name:
    return ast.Name(name, ast.Store() if store else ast.Load())


def _tuple(names: Sequence[str], store: bool = False) -> ast.Tuple:
    return ast.Tuple([_name(each, store) for each in names], ast.Store() if store else ast.Load())


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    function = ast.Attribute(_name(RUNTIME), name, ast.Load())
    return ast.Call(function, list(arguments), [])


def _deferred(value: ast.expr) -> ast.Lambda:
    return ast.Lambda(parameters([]), value)


class _Expressions(ast.NodeTransformer):
    """Rewriter of calls and of conditional expressions."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        node.func = ast.copy_location(_call("function", node.func), node.func)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        how = "both" if isinstance(node.op, ast.And) else "either"
        first, *others = node.values
        for other in others:
            first = _call(how, first, _deferred(other))
        return ast.copy_location(first, node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not):
            return node
        return ast.copy_location(_call("contrary", node.operand), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        sides = [_deferred(node.body), _deferred(node.orelse)]
        return ast.copy_location(_call("chosen", node.test, *sides), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        _Function(node)
        return node


class _Function:
    """Rewriter of the statements of a function, in place."""

    def __init__(self, node: ast.FunctionDef) -> None:
        self._numbers = itertools.count()
        arguments = node.args
        given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        given += [each for each in (arguments.vararg, arguments.kwarg) if each]
        self._unset: set[str] = set()
        body = self._block(node.body, _Ends(lambda _: ast.Return(ast.Constant(None)), False))
        unset = sorted(self._unset - {each.arg for each in given})
        first = [
            ast.Assign([_name(each, True)], _call("Unset", ast.Constant(each))) for each in unset
        ]
        at = 1 if ast.get_docstring(node, clean=False) is not None else 0
        node.body = [*body[:at], *first, *body[at:]]

    def _block(
        self, statements: Sequence[ast.stmt], ends: _Ends, tail: bool = False
    ) -> list[ast.stmt]:
        """Return rewritten statements, ending with the assigned values if they end a function."""
        found: list[ast.stmt] = []
        for at, node in enumerate(statements):
            rest = statements[at + 1 :]
            if isinstance(node, (ast.Continue, ast.Break)) and ends.loops:
                return [*found, ends.values(isinstance(node, ast.Break))]
            if isinstance(node, (ast.Return, ast.Raise)):
                return [*found, _Expressions().visit(node)]
            if isinstance(node, ast.If) and _jumps([node], ends.loops):
                return [*found, *self._last_if(node, rest, ends)]
            if isinstance(node, ast.With) and _jumps([node], ends.loops):
                if not _always_jumps(node.body) and rest:
                    raise Unknown
                node.items = [_Expressions().visit(each) for each in node.items]
                node.body = self._block(node.body, ends, True)
                return [*found, node]
            found.extend(self._statement(node, ends))
        return [*found, ends.values(False)] if tail else found

    def _statement(self, node: ast.stmt, ends: _Ends) -> list[ast.stmt]:
        if isinstance(node, ast.If):
            return self._if(node, ends)
        if isinstance(node, (ast.For, ast.While)) and not node.orelse and not _returns([node]):
            return self._loop(node)
        if isinstance(node, ast.With):
            node.items = [_Expressions().visit(each) for each in node.items]
            node.body = self._block(node.body, ends)
            return [node]
        if ends.loops and _jumps([node], True):
            raise Unknown
        return [_Expressions().visit(node)]

    def _part(
        self, kind: str, names: Sequence[str], body: list[ast.stmt], node: ast.stmt
    ) -> ast.FunctionDef:
        name = f"_{kind}_{next(self._numbers)}"
        return ast.copy_location(defined(name, parameters(names), body), node)

    def _assigned(self, nodes: Sequence[ast.AST]) -> list[str]:
        names = sorted(_stored(nodes))
        self._unset.update(names)
        return names

    def _sides(self, node: ast.If, ends: Sequence[tuple[list[ast.stmt], _Ends]]) -> Any:
        names = self._assigned([*ends[0][0], *ends[1][0]])
        writes = ast.Constant(any(_writes(body) for body, _ in ends))
        parts = [
            self._part(kind, names, self._block(body, end, True), node)
            for kind, (body, end) in zip(("then", "otherwise"), ends, strict=True)
        ]
        test = _Expressions().visit(node.test)
        functions = [_name(part.name) for part in parts]
        return names, parts, [test, *functions, _tuple(names), writes]

    def _if(self, node: ast.If, ends: _Ends) -> list[ast.stmt]:
        """Rewrite an ``if`` after which execution always continues with the next statement."""
        names = sorted(_stored([*node.body, *node.orelse]))
        inner = _Ends(lambda _: ast.Return(_tuple(names)), False)
        names, parts, arguments = self._sides(node, [(node.body, inner), (node.orelse, inner)])
        call = _call("assigned", *arguments)
        done = ast.Assign([_tuple(names, True)], call) if names else ast.Expr(call)
        return [*parts, ast.copy_location(done, node)]

    def _last_if(self, node: ast.If, rest: Sequence[ast.stmt], ends: _Ends) -> list[ast.stmt]:
        """Rewrite an ``if`` with a branch that leaves the function or loop body."""
        bodies = [
            (body if _always_jumps(body) else [*body, *copied(rest)], ends)
            for body in (node.body, node.orelse)
        ]
        _, parts, arguments = self._sides(node, bodies)
        how = "ended" if ends.loops else "returned"
        return [*parts, ast.copy_location(ast.Return(_call(how, *arguments)), node)]

    def _loop(self, node: ast.For | ast.While) -> list[ast.stmt]:
        targets = [node.target] if isinstance(node, ast.For) else []
        names = self._assigned([*targets, *node.body])
        if _keeps_variables(node.body, names):
            raise Unknown
        ends = _Ends(
            lambda broken: ast.Return(ast.Tuple([_tuple(names), ast.Constant(broken)], ast.Load())),
            True,
        )
        inner = _within(node.body, (*_SCOPES, ast.For, ast.While))
        breaks = any(isinstance(each, ast.Break) for each in inner)
        writes = ast.Constant(_writes([*targets, *node.body]))
        body = self._block(node.body, ends, True)
        if isinstance(node, ast.For):
            value = f"_each_{next(self._numbers)}"
            body = [ast.copy_location(ast.Assign([node.target], _name(value)), node), *body]
            parts = [self._part("body", [value, *names], body, node)]
            begin, how = _Expressions().visit(node.iter), "each"
        else:
            test: list[ast.stmt] = [ast.Return(_Expressions().visit(node.test))]
            parts = [
                self._part("test", names, test, node),
                self._part("body", names, body, node),
            ]
            begin, how = _name(parts[0].name), "while_"
        rest = [_name(parts[-1].name), _tuple(names), writes, ast.Constant(breaks)]
        call = _call(how, begin, *rest)
        done = ast.Assign([_tuple(names, True)], call) if names else ast.Expr(call)
        return [*parts, ast.copy_location(done, node)]


@functools.lru_cache(maxsize=1024)
def converted_code(code: types.CodeType) -> types.CodeType | None:
    """Return the code of a rewritten function; None if it cannot be rewritten.

    Its free variables are those of `code`, plus :data:`RUNTIME`.
    """
    try:
        node = source_of(code)
        inner = list(_within(node.body, ()))
        if any(isinstance(each, _REFUSED) for each in inner) or any(
            name in _OWN_NAMES or (name.startswith("__") and not name.endswith("__"))
            for name in _names(inner)
        ):
            return None
        _Function(node)
        if sum(1 for _ in ast.walk(node)) > _MOST_NODES:
            return None
        return compiled(node, node.name, [*code.co_freevars, RUNTIME], code)
    except (Unknown, SyntaxError, ValueError, RecursionError):
        return None


def _names(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
