# SPDX-License-Identifier: Apache-2.0
"""The arrows of docs/architecture.md: who may know whom, and how large a room may grow."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fastrec

ROOT = Path(__file__).parent.parent
CSRC = ROOT / "csrc"
PACKAGE = ROOT / "fastrec"

# A room is the .c and .h of one name, with parts named after it (crc32c_x86.c). Each is listed
# with the rooms that it is built on; what those are built on comes along.
ROOMS = {
    "status": "",
    "cpu": "",
    "bytes": "status",
    "crc32c": "bytes cpu",
    "frame": "crc32c",
    "map": "bytes",
    "source": "map",
    "index": "frame",
    "resync": "frame",
    "reader": "resync source",
    "dataset": "index reader",
    "thread": "",
    "crew": "status thread",
    "scan": "crew dataset",
    "writer": "frame",
    "wire": "bytes",
    "varint": "cpu wire",
    "raw": "bytes",
    "schema": "raw wire",
    "columns": "schema",
    "splits": "",
    "fit": "schema",
    "feature": "columns crc32c fit varint",
    "hint": "schema",
    "survey": "feature hint",
    "parse": "feature hint",
    "sequence": "parse",
    "team": "parse thread",
    "pack": "cpu raw wire",
    "encode": "frame schema pack",
    "bulk": "encode crew",
    "permutation": "",
    "philox": "",
    "augment": "bytes philox",
    "distort": "bytes",
    "lanes": "bytes",
    "order": "lanes",
    "cursor": "order permutation philox",
    "readahead": "dataset",
    "pool": "columns",
    "assembler": "cursor parse pool readahead",
    "loader": "assembler thread",
}

# Python modules that nothing inside the package may import, and those that must do without the
# extension. The extension imports errors.py; the faces import the extension.
FACES_FOR_OTHERS = ("fastrec.bench", "fastrec.cli", "fastrec.compat", "fastrec.__main__")
# Who may for all that: the command line is where the benchmarks are started, and these measure what
# speaks TensorFlow 1's language.
INSIDERS = {"fastrec.bench": "fastrec.cli.bench", "fastrec.compat": "fastrec.bench.peers.ours"}
PLAIN = (
    "fastrec.errors",
    "fastrec.features",
    "fastrec.arrays",
    "fastrec.cooking",
    "fastrec.values",
    "fastrec.pins",
)
# What `import fastrec` imports of it; the rest comes with the first name that is asked for.
AT_IMPORT = ("_core", "arrays", "errors", "hints")
OPTIONAL = (
    "google.protobuf",
    "PIL",
    "rich",
    "sklearn",
    "isal",
    "simplejpeg",
    "tensorflow",
    "matplotlib",
)

# Kernels: one loop whose length is its unrolling.
KERNELS: set[str] = set()
# Tables, and the one file that repeats every header.
GENERATED = {"crc32c_tables.h", "_csrc.pxd"}
FUNCTION_LINES = 60
FILE_LINES = 450


def room_of(file: Path) -> str:
    return file.stem if file.stem in ROOMS else file.stem.rsplit("_", 1)[0]


def upstream(room: str) -> set[str]:
    direct = ROOMS[room].split()
    return {room}.union(*(upstream(other) for other in direct))


def included(file: Path) -> list[str]:
    return re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.read_text(), re.MULTILINE)


def sources(*folders: Path) -> list[Path]:
    kinds = {".c", ".h", ".py", ".pyi", ".pyx", ".pxd", ".pxi"}
    return sorted(
        file
        for folder in folders
        for file in folder.rglob("*")
        if file.suffix in kinds and file.name != "_core.c"
    )


C_FILES = [file for file in sources(CSRC) if file.suffix in {".c", ".h"}]
MODULES = [file for file in sources(PACKAGE) if file.suffix == ".py"]
EVERYTHING = [
    ROOT / "setup.py",
    *sources(CSRC, PACKAGE, *(ROOT / name for name in ("tests", "benchmarks", "examples"))),
]


def name_of(file: Path) -> str:
    return str(file.relative_to(ROOT))


@pytest.mark.parametrize("file", C_FILES, ids=name_of)
def test_the_core_knows_nothing_of_python(file: Path) -> None:
    assert not re.search(r"\bPython\.h\b|\bPyObject\b|\bnumpy/", file.read_text())


@pytest.mark.parametrize("file", C_FILES, ids=name_of)
def test_a_room_includes_only_rooms_upstream_of_it(file: Path) -> None:
    room = room_of(file)
    assert room in ROOMS, f"{file.name} is in no room: give it one in ROOMS"
    for header in included(file):
        other = room_of(Path(header))
        assert (CSRC / header).exists(), f"{file.name} includes {header}, which is not in csrc/"
        assert other in upstream(room), f"{file.name} includes {header}, which is not upstream"
        assert other == room or Path(header).stem == other, f"{header} is private to {other}"


def test_every_room_has_its_two_files() -> None:
    for room in ROOMS:
        assert (CSRC / f"{room}.h").exists(), f"no {room}.h"
        assert (CSRC / f"{room}.c").exists(), f"no {room}.c"


def test_no_arrow_is_superfluous() -> None:
    for room, direct in ROOMS.items():
        for other in direct.split():
            others = [o for o in direct.split() if o != other]
            assert not any(other in upstream(o) for o in others), f"{room}: {other} comes anyway"


def test_the_map_in_the_documents_is_this_map() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| ([\w, ]*?) ?\|", page, re.MULTILINE)
    assert {room: direct.replace(",", "") for room, direct in rows} == ROOMS


def imported(file: Path) -> Iterator[tuple[str, bool]]:
    """Each absolute module name that a file imports, and whether it does so when imported."""
    package = ".".join(file.relative_to(ROOT).parent.parts)
    tree = ast.parse(file.read_text())
    deferred = {
        id(inner)
        for outer in ast.walk(tree)
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        or (isinstance(outer, ast.If) and "TYPE_CHECKING" in ast.unparse(outer.test))
        for inner in ast.walk(outer)
    }
    for node in ast.walk(tree):
        at_import = id(node) not in deferred
        if isinstance(node, ast.Import):
            yield from ((alias.name, at_import) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1]
            stem = ".".join([*base, node.module or ""]).strip(".") if node.level else node.module
            assert stem is not None
            yield stem, at_import
            yield from ((f"{stem}.{alias.name}", at_import) for alias in node.names)


@pytest.mark.parametrize("file", MODULES, ids=name_of)
def test_nothing_imports_what_stands_around_the_faces(file: Path) -> None:
    own = ".".join(file.relative_to(ROOT).with_suffix("").parts)
    for name, _ in imported(file):
        for outside in FACES_FOR_OTHERS:
            inside = own.startswith(outside) or own in ("fastrec.__main__", INSIDERS.get(outside))
            assert inside or not (name + ".").startswith(outside + "."), f"imports {name}"


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules, sep='\\n')"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


def test_importing_the_package_loads_no_optional_dependency() -> None:
    loaded = loaded_by("import fastrec")
    assert "fastrec" in loaded
    assert not loaded.intersection(OPTIONAL)


def test_importing_the_package_loads_little_but_numpy() -> None:
    loaded = loaded_by("import fastrec")
    own = {name for name in loaded if name.partition(".")[0] == "fastrec"}
    assert own == {"fastrec", *(f"fastrec.{name}" for name in AT_IMPORT)}
    others = loaded - own - loaded_by("import numpy, numpy.typing, threading, importlib")
    others = {name for name in others if "cython" not in name}
    assert others <= {"__future__", "errno", "atexit"}


def test_a_name_is_imported_from_where_the_type_checker_finds_it() -> None:
    init = PACKAGE / "__init__.py"
    typed = {
        alias.name: node.module
        for block in ast.parse(init.read_text()).body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }
    assert typed == fastrec._HOME_OF
    for name in fastrec.__all__:
        assert name in dir(fastrec)
        assert getattr(fastrec, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = fastrec.nothing


@pytest.mark.parametrize("module", PLAIN)
def test_plain_modules_need_neither_the_extension_nor_protobuf(module: str) -> None:
    # A package object without its __init__ stands in, so that nothing else is imported.
    statement = (
        "import importlib.util, sys, types\n"
        "spec = importlib.util.find_spec('fastrec')\n"
        "package = types.ModuleType('fastrec')\n"
        "package.__path__ = list(spec.submodule_search_locations)\n"
        "sys.modules['fastrec'] = package\n"
        "sys.modules['fastrec._core'] = None\n"
        f"import {module}"
    )
    loaded = loaded_by(statement)
    assert module in loaded
    assert not loaded.intersection(OPTIONAL)


@pytest.mark.parametrize("file", EVERYTHING, ids=name_of)
def test_a_file_says_its_licence_first_and_stays_readable_at_one_sitting(file: Path) -> None:
    lines = file.read_text().splitlines()
    if not lines:
        return
    first = lines[1] if lines[0].startswith("#!") else lines[0]
    assert first in (
        "/* SPDX-License-Identifier: Apache-2.0 */",
        "# SPDX-License-Identifier: Apache-2.0",
    )
    assert len(lines) <= FILE_LINES or file.name in GENERATED, f"{len(lines)} lines"


def functions(file: Path) -> Iterator[tuple[str, int]]:
    """Name and length of every C function: from its opening line to a brace in column 0."""
    name, start = "", 0
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if found := re.match(r"[A-Za-z_][^;={]*?(\w+)\([^;]*$", line):
            name, start = found.group(1), number
        elif line == "}" and name:
            yield name, number - start + 1
            name = ""


@pytest.mark.parametrize("file", C_FILES, ids=name_of)
def test_c_functions_are_short(file: Path) -> None:
    for name, length in functions(file):
        assert length <= FUNCTION_LINES or name in KERNELS, f"{name}() has {length} lines"


def test_the_measure_of_functions_sees_them() -> None:
    for file in C_FILES:
        ends = file.read_text().splitlines().count("}")
        assert len(list(functions(file))) == ends, f"{file.name} has {ends} functions"
