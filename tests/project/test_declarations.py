# SPDX-License-Identifier: Apache-2.0
"""The declarations in _csrc.pxd and _ctensor.pxd equal those of the C headers.

The C compiler checks the declarations only where Cython's output happens to use them, and converts
silently between integers; here every one is compared, type by type. `make lint` runs stubtest,
which compares `_core.pyi` and `_tensor.pyi` with the extensions except for constructors: Python
cannot see the signature of a ``__cinit__``, so that is compared here.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytestmark = pytest.mark.sources
ROOT = Path(__file__).parents[2]
PXDS = [ROOT / "fastrec" / "native" / name for name in ("_csrc.pxd", "_ctensor.pxd")]

NOISE = r"\b(?:const|struct|enum|extern|static|inline|noexcept|nogil|FR_NODISCARD)\b"


@dataclass
class Declarations:
    functions: dict[str, tuple[str, ...]] = field(default_factory=dict)  # result, parameters
    fields: dict[str, dict[str, str]] = field(default_factory=dict)  # struct -> field -> type
    constants: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    variables: dict[str, str] = field(default_factory=dict)


def spell(declarator: str) -> tuple[str, str]:
    """Name and type of ``const uint8_t *const data`` or ``int x[256]``: data, uint8_t*."""
    text = re.sub(NOISE, " ", declarator)
    if found := re.match(r"(.*)\(\s*\*\s*(\w+)\s*\)\s*\((.*)\)", text.strip(), re.DOTALL):
        result, name, parameters = found.groups()
        return name, f"{spell(result + ' x')[1]}(*)({','.join(spell_all(parameters))})"
    text, arrays = re.subn(r"\[[^\]]*\]", " ", text)
    words = re.findall(r"\w+|\*", text)
    name = words.pop() if len(words) > 1 and words[-1] != "*" and words[-1] not in BARE else ""
    words = ["bool" if word == "bint" else word for word in words]
    return name, " ".join(words).replace(" *", "*") + "*" * arrays


BARE = {"int", "unsigned", "long", "char", "void", "double", "float", "size_t", "bool", "bint"}


def spell_all(parameters: str) -> tuple[str, ...]:
    pieces = [piece for piece in split(parameters) if piece.strip() not in {"", "void"}]
    return tuple(spell(piece)[1] for piece in pieces)


def split(text: str) -> list[str]:
    """At the commas that are not inside parentheses."""
    pieces, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += char
    return pieces


def declare_fields(body: str) -> dict[str, str]:
    fields = {}
    for statement in filter(str.strip, body.split(";")):
        first, *others = split(statement)
        name, kind = spell(first)
        fields[name] = kind
        base = kind.rstrip("*")
        fields.update(spell(f"{base} {other}") for other in others)
    return fields


def read_header(text: str) -> Declarations:
    found = Declarations()
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    found.constants.update(re.findall(r"^\s*#\s*define\s+(FR_\w+)\s+\S", text, re.MULTILINE))
    text = re.sub(r"^\s*#(?:.*\\\n)*.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\b(?:FR_PRINTF|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)", "", text)
    for body, name in re.findall(r"\benum\s*\{([^}]*)\}\s*(\w*)\s*;", text):
        found.constants.update(re.findall(r"(?:^|,)\s*(\w+)", body))
        found.types.add(name)
    for body, name in re.findall(r"\b(?:struct|union)\s*\w*\s*\{([^}]*)\}\s*(\w+)\s*;", text):
        found.fields[name] = declare_fields(body)
        found.types.add(name)
    found.types.update(re.findall(r"typedef\s+struct\s+\w+\s+(\w+)\s*;", text))
    text = re.sub(r"(?:typedef\s+)?(?:enum|struct|union)\s*\w*\s*\{[^}]*\}\s*\w*\s*;", "", text)
    while re.search(r"\{[^{}]*\}", text):
        text = re.sub(r"\{[^{}]*\}", ";", text)
    for statement in text.split(";"):
        if call := re.match(r"\s*([\w\s*]+?)\b(\w+)\s*\((.*)\)\s*$", statement, re.DOTALL):
            result, name, parameters = call.groups()
            found.functions[name] = (spell(result + " x")[1], *spell_all(parameters))
        elif statement.strip().startswith("extern"):
            name, kind = spell(statement)
            found.variables[name] = kind
    return found


def read_pxd(text: str) -> dict[str, Declarations]:
    """Header -> what the pxd says of it."""
    found: dict[str, Declarations] = {}
    text = re.sub(r"#.*", "", text)
    text = re.sub(r"^from \w+ cimport \([^)]*\)", "", text, flags=re.MULTILINE)
    text = re.sub(r"\(\s*\n\s*", "(", re.sub(r",\s*\n\s*", ", ", text))
    header, block, name = Declarations(), "", ""
    for line in filter(str.strip, text.splitlines()):
        depth, words = len(line) - len(line.lstrip()), line.strip()
        if opened := re.match(r'cdef extern from "([^"]+)"', words):
            header, block = found.setdefault(opened.group(1), Declarations()), ""
        elif depth == 0:
            assert re.match(r"from|cimport|import", words), f"not understood: {words}"
        elif depth == 4:
            block = ""
            if opened := re.match(r"(?:ctypedef|cdef)\s+struct\s+(\w+)\s*(:?)", words):
                block, name = "struct", opened.group(1)
                header.types.add(name)
                header.fields.setdefault(name, {})
            elif opened := re.match(r"(?:(?:ctypedef|cdef)\s+)?enum\b\s*(\w*)\s*:", words):
                block, name = "enum", opened.group(1)
                header.types.add(name)
            elif call := re.match(r"(?:cdef\s+)?([\w\s*]+?)\b(\w+)\s*\((.*)\)([^()]*)$", words):
                result, name, parameters, _ = call.groups()
                header.functions[name] = (spell(result + " x")[1], *spell_all(parameters))
            else:
                name, kind = spell(words.removeprefix("cdef "))
                header.variables[name] = kind
        elif block == "enum":
            header.constants.update(re.findall(r"(?:^|,)\s*(\w+)", words))
        elif block == "struct" and words != "pass":
            header.fields[name].update(declare_fields(words))
    return found


PROMISED = {  # the compiler holds the pxd to what C itself has
    header: each
    for pxd in PXDS
    for header, each in read_pxd(pxd.read_text()).items()
    if header[0] != "<"
}


@pytest.mark.parametrize("header", sorted(PROMISED))
def test_the_pxd_agrees_with_the_header(header: str) -> None:
    promised = PROMISED[header]
    real = read_header((ROOT / "csrc" / header).read_text())
    for name, signature in promised.functions.items():
        assert real.functions.get(name) == signature, name
    for name, fields in promised.fields.items():
        assert name in real.types, f"no type {name}"
        for member, kind in fields.items():
            assert real.fields[name].get(member) == kind, f"{name}.{member}"
    for name, kind in promised.variables.items():
        # A macro has a name but no type to compare.
        assert name in real.constants or real.variables.get(name) == kind, name
    assert promised.constants <= real.constants
    assert promised.types <= real.types | {""}


def test_the_pxd_declares_every_header_it_uses_and_is_read_whole() -> None:
    text = re.sub(r"#.*", "", "".join(pxd.read_text() for pxd in PXDS))
    named = set(re.findall(r"\bfr_\w+(?=\s*\()", text)) | set(re.findall(r"\bFR_[A-Z]\w*", text))
    seen: set[str] = set()
    for promised in PROMISED.values():
        seen |= promised.functions.keys() | promised.constants | promised.variables.keys()
    assert named <= seen, "not understood by this test"


def test_each_extension_declares_the_headers_of_its_own_folders() -> None:
    for pxd in PXDS:
        folders = {header.partition("/")[0] for header in read_pxd(pxd.read_text())}
        assert ("tensor" in folders) == (pxd.name == "_ctensor.pxd")
        assert pxd.name == "_csrc.pxd" or folders == {"tensor"}


def test_headers_are_read_as_a_compiler_reads_them() -> None:
    found = read_header(
        """
        /* int no(void); */
        #define FR_SIZE 12
        enum { FR_A = 1u << 0, FR_B = 2 };
        typedef enum { FR_C = 0, /* , FR_NOT */ FR_D } fr_kind;
        typedef struct fr_pool fr_pool;
        typedef struct { const uint8_t *data; size_t size, count; char text[8];
                         bool (*is)(void); } fr_x;
        extern const fr_x fr_all[];
        FR_NODISCARD int fr_x_do(fr_x *x, const char *const *paths, size_t, fr_pool **out);
        static inline bool fr_is(void) { if (1) { return true; } return false; }
        """
    )
    assert found.constants == {"FR_SIZE", "FR_A", "FR_B", "FR_C", "FR_D"}
    assert found.types >= {"fr_kind", "fr_pool", "fr_x"}
    assert found.fields["fr_x"] == {
        "data": "uint8_t*",
        "size": "size_t",
        "count": "size_t",
        "text": "char*",
        "is": "bool(*)()",
    }
    assert found.functions == {
        "fr_x_do": ("int", "fr_x*", "char**", "size_t", "fr_pool**"),
        "fr_is": ("bool",),
    }
    assert found.variables == {"fr_all": "fr_x*"}


def constructors_of_sources(text: str) -> dict[str, list[str]]:
    """Class -> parameters of its ``__cinit__``: ``name``, ``name=default`` or ``*``, ``*name``."""
    found = {}
    text = re.sub(r"\[[:1, ]+\]", "", text)  # of the types of memory views
    for body in re.split(r"^(?=\S)", text, flags=re.MULTILINE):
        if opened := re.match(r"cdef class (\w+)", body):
            call = re.search(r"def __cinit__\(\s*(.*?)\s*\):$", body, re.MULTILINE | re.DOTALL)
            pieces = [piece.strip() for piece in split(call.group(1))[1:]] if call else []
            found[opened.group(1)] = [
                re.sub(r"^[\w\s.]*?(\w+)( not None| or None)?(=.*)?$", r"\1\3", piece)
                for piece in pieces
            ]
    return found


def constructors_of_stub(text: str) -> dict[str, list[str]]:
    """Class -> parameters of its ``__new__``, in the same form."""
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            arguments = ast.arguments([], [], None, [], [], None, [])
            for each in node.body:
                if isinstance(each, ast.FunctionDef) and each.name == "__new__":
                    arguments = each.args
            for argument in ast.walk(arguments):
                if isinstance(argument, ast.arg):
                    argument.annotation = None
            found[node.name] = [piece.strip() for piece in split(ast.unparse(arguments))[1:]]
    return found


@pytest.mark.parametrize("name", ["_core", "_tensor"])
def test_the_stub_has_the_parameters_of_each_constructor(name: str) -> None:
    native = ROOT / "fastrec" / "native"
    included = re.findall(r'^include "(.*)"$', (native / f"{name}.pyx").read_text(), re.MULTILINE)
    assert included
    real = constructors_of_sources("".join((native / file).read_text() for file in included))
    promised = constructors_of_stub((ROOT / "fastrec" / f"{name}.pyi").read_text())
    for kind in promised.keys() & real.keys():
        assert promised[kind] == real[kind], kind
    assert len(promised.keys() & real.keys()) >= 3
