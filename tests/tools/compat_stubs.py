# SPDX-License-Identifier: Apache-2.0
"""Writes the types of the public names of ``fastrec.compat.v1`` and ``v2`` to their stubs.

    python tests/tools/compat_stubs.py

``fastrec/compat/_tf/names.py`` lists the names; parameters, their defaults and annotations are
those of the functions. tests/compat/test_names.py compares the stubs with this.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

from fastrec.compat._tf.names import names_of

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "fastrec" / "compat"
BUILTINS = ["bool", "bytes", "dict", "float", "int", "list", "object", "str", "tuple", "type"]
KNOWN = {*BUILTINS, "None", "Any", "Callable", "Iterable", "Iterator", "Mapping", "Sequence"}
GENERIC = "Callable|Iterable|Iterator|Mapping|Sequence|dict|list|tuple|type"
HEAD = """# SPDX-License-Identifier: Apache-2.0
# Written by tests/tools/compat_stubs.py. A name space is a class; tensors are of type Any.
import builtins as _b
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

"""


def annotation(value: Any) -> str:
    """An annotation as text; Any if it names other types than those of ``KNOWN``."""
    if value is inspect.Parameter.empty:
        return "Any"
    text = value if isinstance(value, str) else getattr(value, "__name__", repr(value))
    unknown = set(re.findall(r"[A-Za-z_][\w.]*", text)) - KNOWN
    if unknown or re.search(rf"\b({GENERIC})\b(?!\[)", text):
        return "Any"
    return re.sub(rf"\b({'|'.join(BUILTINS)})\b", r"_b.\1", text)


def parameters(signature: inspect.Signature) -> str:
    """The parameters of a function, as a stub has them."""
    parts: list[str] = []
    starred = False
    for each in signature.parameters.values():
        stars = "*" if each.kind == each.VAR_POSITIONAL else ""
        stars = "**" if each.kind == each.VAR_KEYWORD else stars
        if each.kind == each.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        starred = starred or stars == "*"
        default = "" if each.default is each.empty else " = ..."
        parts.append(f"{stars}{each.name}: {annotation(each.annotation)}{default}")
        if each.kind == each.POSITIONAL_ONLY:
            parts = [part for part in parts if part != "/"] + ["/"]
    return ", ".join(parts)


class Stub:
    """The stub of one version.

    Parameters
    ----------
    version : {"v1", "v2"}
    """

    def __init__(self, version: str) -> None:
        self._version = version
        self._package = importlib.import_module(f"fastrec.compat.{version}")
        self._names = {space: sorted(names) for space, names in names_of(version).items()}
        self._imports: dict[tuple[str, str], str] = {}

    def text(self) -> str:
        """The whole stub."""
        body = self._space("", self._package)
        imports = [
            f"from {module} import {name} as {own}"
            for (module, name), own in sorted(self._imports.items())
        ]
        return HEAD + "\n".join([*imports, "", *body, ""])

    def _space(self, space: str, owner: Any) -> list[str]:
        lines: list[str] = []
        for name in self._names[space]:
            path = f"{space}.{name}" if space else name
            lines += self._entry(path, name, getattr(owner, name))
        return lines

    def _entry(self, path: str, name: str, value: Any) -> list[str]:
        if path in self._names:
            inner = [f"    {line}" for line in self._space(path, value)]
            if "." in path:
                return [f"class {name}:", *inner]
            # Another name than that of the module with the implementation: mypy confuses the two.
            assert not (PACKAGE / self._version / f"_{name}.py").exists(), name
            return [f"class _{name}:", *inner, f"{name} = _{name}"]
        if isinstance(value, type):
            return [f"{name}: TypeAlias = {self._imported(value)}"]
        if isinstance(value, (FunctionType, MethodType)):
            signature = inspect.signature(value)
            result = annotation(signature.return_annotation)
            if inspect.isgeneratorfunction(inspect.unwrap(value)) and hasattr(value, "__wrapped__"):
                result = result.replace("Iterator[", "AbstractContextManager[")
            line = f"def {name}({parameters(signature)}) -> {result}: ..."
            return ["@staticmethod", line] if "." in path else [line]
        if type(value).__module__ == "builtins" and not isinstance(value, ModuleType):
            kind = "None" if value is None else f"_b.{type(value).__name__}"
            kind += "[Any, ...]" if kind == "_b.tuple" else ""
            return [f"{name}: {kind}"]
        return [f"{name}: {self._imported(type(value))}"]

    def _imported(self, kind: type) -> str:
        """The private name under which the stub imports a class; Any if it cannot be imported."""
        module = sys.modules.get(kind.__module__)
        if getattr(module, kind.__qualname__, None) is not kind or kind.__module__ == "builtins":
            return "Any"
        key = kind.__module__, kind.__qualname__
        if key not in self._imports:
            taken = sum(name == kind.__qualname__ for _, name in self._imports)
            self._imports[key] = f"_{kind.__qualname__}{taken + 1 if taken else ''}"
        return self._imports[key]


def stub_of(version: str) -> tuple[Path, str]:
    """The stub of a version: its path, and the text that it should have."""
    return PACKAGE / version / "__init__.pyi", Stub(version).text()


if __name__ == "__main__":
    for version in ("v1", "v2"):
        path, text = stub_of(version)
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT), len(text.splitlines()), "lines")
