# SPDX-License-Identifier: Apache-2.0
"""Dependencies point one way, in C and in Python, as docs/architecture.md says."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import fastrec

ROOT = Path(__file__).parents[2]
CSRC = ROOT / "csrc"
PACKAGE = ROOT / "fastrec"

# Folders of csrc/ with those that their files may include; what these include comes along.
FOLDERS = {
    "base": "",
    "format": "base",
    "files": "format",
    "example": "format",
    "batch": "files example",
    "image": "base",
    "tensor": "base image",
}

# Packages from left to right: a module imports from its own package and from those before it.
# The command line loads the demonstration and the benchmarks by name.
PACKAGES = (
    ("arguments", "errors"),
    ("threads",),
    ("columns",),
    ("storage",),
    ("records",),
    ("features",),
    ("parsing", "encoding"),
    ("images",),
    ("batches",),
    ("image", "train"),
    ("arrow", "events", "grain", "jax", "metrics", "tfds", "torch"),
    ("beam", "huggingface", "ray", "spark", "tables"),
    ("compat",),
    ("tensorflow",),
    ("keras",),
    ("cli",),
    ("bench", "demo", "viewer"),
)
RANK = {name: rank for rank, names in enumerate(PACKAGES) for name in names}
# Below all of them is the extension, which asks these while it runs.
NATIVE = {"errors", "columns", "records.content", "encoding.check_spec", "parsing.refusals",
          "threads.cpus"}  # fmt: skip
# Modules that must do without the extension.
PLAIN = (
    "fastrec.errors",
    "fastrec.columns",
    "fastrec.threads.clock",
    "fastrec.threads.cpus",
    "fastrec.threads.locks",
    "fastrec.threads.pipeline",
    "fastrec.features.spec",
    "fastrec.encoding.to_column",
    "fastrec.encoding.check_spec",
)
# What `import fastrec` imports of it; the rest comes with the first name that is asked for.
AT_IMPORT = ("_core", "arguments", "columns", "errors")
OPTIONAL = (
    "google.protobuf",
    "PIL",
    "rich",
    "sklearn",
    "isal",
    "simplejpeg",
    "tensorflow",
    "matplotlib",
    "torch",
    "grain",
    "jax",
    "datasets",
    "pyarrow",
    "apache_beam",
    "pyspark",
    "ray",
    "obstore",
    "fsspec",
)

# Kernels: one loop whose length is its unrolling.
KERNELS: set[str] = set()
# Tables, the file that repeats the headers of records, and the stubs of compat.
GENERATED = {"crc32c_tables.h", "_csrc.pxd", "__init__.pyi"}
FUNCTION_LINES = 60
FILE_LINES = 600  # files follow concerns; at 450 one asks whether there are two


def upstream(folder: str) -> set[str]:
    return {folder}.union(*(upstream(other) for other in FOLDERS[folder].split()))


def included(file: Path) -> list[str]:
    return re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.read_text(), re.MULTILINE)


def sources(*folders: Path) -> list[Path]:
    kinds = {".c", ".h", ".py", ".pyi", ".pyx", ".pxd", ".pxi"}
    return sorted(
        file
        for folder in folders
        for file in folder.rglob("*")
        if file.suffix in kinds and file.name not in {"_core.c", "_tensor.c"}
    )


C_FILES = [file for file in sources(CSRC) if file.suffix in {".c", ".h"}]
MODULES = [file for file in sources(PACKAGE) if file.suffix == ".py"]
EVERYTHING = [
    ROOT / "setup.py",
    ROOT / "pyspark_fastrec.py",
    *sources(CSRC, PACKAGE),
    *sources(*(ROOT / name for name in ("tests", "tools", "benchmarks", "examples"))),
]


def name_of(file: Path) -> str:
    return str(file.relative_to(ROOT))


def of_all(files: list[Path]) -> Callable[[Callable[[Path], None]], Callable[[], None]]:
    """Make one test of a check of a file: pytest takes longer for a test than most checks do."""

    def decorate(check: Callable[[Path], None]) -> Callable[[], None]:
        def run() -> None:
            wrong = []
            for file in files:
                try:
                    check(file)
                except AssertionError as error:
                    wrong.append(f"{name_of(file)}: {error}")
            assert not wrong, "\n".join(wrong)

        assert files
        return pytest.mark.sources(run)

    return decorate


@of_all(C_FILES)
def test_the_core_knows_nothing_of_python(file: Path) -> None:
    assert not re.search(r"\bPython\.h\b|\bPyObject\b|\bnumpy/", file.read_text())


@of_all(C_FILES)
def test_a_file_includes_only_from_its_folder_and_those_before_it(file: Path) -> None:
    folder = file.parent.name
    for header in included(file):
        assert (CSRC / header).exists(), f"{file.name} includes {header}, which is not in csrc/"
        other = Path(header).parent.name
        assert other in upstream(folder), f"{folder}/ must not include {header}"
        private = Path(header).stem.endswith("_internal")
        assert other == folder or not private, f"{header} is private to {other}/"


# What is not of C11 is a system's. These files are the platform, once for each system; thread.h has
# the types of its threads.
PLATFORM = {"platform_posix.c", "platform_windows.c", "thread_posix.c", "thread_windows.c"}
PLATFORM |= {"thread.h", "cpu.c"}
STANDARD = {"errno", "float", "inttypes", "limits", "math", "setjmp", "stdarg", "stdatomic"}
STANDARD |= {"stdbool", "stddef", "stdint", "stdio", "stdlib", "string"}
LIBRARIES = {
    "jpeglib",
    "jerror",
    "isa-l",
    "isa-l/igzip_lib",
    "libdeflate",
    "png",
    "cpuid",
    "emmintrin",
    "immintrin",
    "nmmintrin",
    "wmmintrin",
    "arm_acle",
}
LIBRARIES |= {"arm_neon", "sanitizer/asan_interface"}


@of_all(C_FILES)
def test_only_the_platform_layer_calls_the_system(file: Path) -> None:
    if file.name in PLATFORM:
        return
    text = file.read_text()
    headers = set(re.findall(r"#\s*include\s+<([^>]+)\.h>", text))
    assert headers <= STANDARD | LIBRARIES, f"{file.name} includes a system's header"
    assert not re.search(r"\b(_WIN32|__APPLE__|__linux__|_GNU_SOURCE)\b", text)


def test_every_folder_of_the_core_is_in_the_table() -> None:
    assert {path.name for path in CSRC.iterdir()} == set(FOLDERS)


BELONGS = ("_x86", "_arm64", "_posix", "_windows", "_internal", "_tables", "_packets")
"""Ends of the names of files that belong to the part whose name comes before."""


def test_every_file_of_the_core_is_in_the_architecture() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    names = {file.stem for file in (ROOT / "csrc").rglob("*.[ch]")}
    for end in BELONGS:
        names = {name.removesuffix(end) for name in names}
    assert sorted(name for name in names if f"`{name}`" not in page) == []


def test_headers_do_not_include_each_other_in_a_circle() -> None:
    seen: dict[Path, set[Path]] = {}

    def reached(header: Path, above: tuple[Path, ...] = ()) -> set[Path]:
        assert header not in above, " -> ".join(map(name_of, (*above, header)))
        if header not in seen:
            direct = {CSRC / name for name in included(header)}
            seen[header] = direct.union(*(reached(name, (*above, header)) for name in direct))
        return seen[header]

    for file in C_FILES:
        reached(file)


def statements(outer: ast.AST, at_import: bool = True) -> Iterator[tuple[ast.AST, bool]]:
    """Yield each statement below a node, and whether it runs when the module is imported."""
    if isinstance(outer, ast.If):
        at_import = at_import and "TYPE_CHECKING" not in ast.unparse(outer.test)
    at_import = at_import and not isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef))
    for node in ast.iter_child_nodes(outer):
        if not isinstance(node, ast.expr):
            yield node, at_import
            yield from statements(node, at_import)


@functools.cache
def imported(file: Path) -> list[tuple[str, bool]]:
    """Each absolute module name that a file imports, and whether it does so when imported."""
    found: list[tuple[str, bool]] = []
    package = ".".join(file.relative_to(ROOT).parent.parts)
    for node, at_import in statements(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found += [(alias.name, at_import) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1]
            stem = ".".join([*base, node.module or ""]).strip(".") if node.level else node.module
            assert stem is not None
            found.append((stem, at_import))
            found += [(f"{stem}.{alias.name}", at_import) for alias in node.names]
    return found


def module_of(file: Path) -> str:
    return ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def package_of(module: str) -> str:
    return module.partition(".")[0]


OWN = {module_of(file) for file in MODULES}


def imported_of_ours(file: Path) -> set[str]:
    """Modules of the package that a file imports, deferred imports too, without ``fastrec.``."""
    names = {name for name, _ in imported(file) if name.startswith("fastrec.")}
    return {name.removeprefix("fastrec.") for name in names} & OWN - {"__init__"}


@of_all(MODULES)
def test_a_module_imports_only_from_its_package_and_those_before_it(file: Path) -> None:
    own = module_of(file)
    if own in ("__init__", "__main__"):
        return
    package = package_of(own)
    assert package in RANK, f"{own} is in no package of PACKAGES"
    for name in imported_of_ours(file):
        other = package_of(name)
        assert other in RANK, f"{own} imports {name}, which is in no package of PACKAGES"
        assert other == package or RANK[other] < RANK[package], f"{own} must not import {name}"


def test_the_top_level_has_under_25_entries_beside_the_integrations() -> None:
    kept = {p.name for p in PACKAGE.iterdir() if p.suffix not in {".so", ".pyd", ".c", ".html"}}
    kept -= {"__pycache__", "_core.pyi", "_tensor.pyi"}  # the stubs of the extensions
    integrations = {
        "arrow.py",
        "beam.py",
        "events.py",
        "grain.py",
        "huggingface.py",
        "jax.py",
        "metrics.py",
        "ray",
        "spark",
    }
    integrations |= {"keras", "tensorflow", "tfds", "torch"}
    assert len(kept - integrations - {"torch", "tfds"}) < 25, sorted(kept)


def test_the_extension_asks_only_for_what_it_may_know() -> None:
    found = set()
    for text in (PACKAGE / "native").rglob("*.p*"):
        pattern = r"^ *from \.([\w.]*) import (\w+)"
        for base, name in re.findall(pattern, text.read_text(), re.MULTILINE):
            found |= {base, f"{base}.{name}".strip(".")} & OWN
    assert found - {"records", "encoding"} == NATIVE


def test_versions_of_tensorflow_share_only_what_is_common() -> None:
    for file in MODULES:
        own = module_of(file).split(".")
        for name in imported_of_ours(file):
            other = name.split(".")
            if own[0] == other[0] == "compat" and len(own) > 1 and len(other) > 1:
                common = other[1] in (own[1], "extra") or other[1].startswith("_")
                assert common, f"{module_of(file)} must not import {name}"


# What `fastrec.compat` may use of the other packages, besides all of `_tensor`.
NAMES_FOR_COMPAT = {
    "": "Batcher Bytes ExampleParseError FastrecError FixedLenFeature FixedLenSequenceFeature "
    "Index Ragged RaggedFeature RawFeature Reader ShuffleBuffer Sparse SparseFeature "
    "VarLenFeature Writer count decode_raw encode_example encode_sequence_example masked_crc32c "
    "parse_example",
    "_core": "Spares decode_jpeg decode_png empty jpeg_header jpeg_version pad_rows png_version",
    "batches.shuffle_buffer": "random_blocks ring_shuffled",
    "columns": "Arrays take_rows",
    "errors": "CorruptRecordError ExampleParseError FastrecError LimitExceededError "
    "TruncatedFileError",
    "features.image_libraries": "pillow",
    "features.row_partitions": "Partition",
    "images.augment": "distort",
    "parsing.infer": "kinds_of",
    "parsing.parse": "ExampleParser",
    "parsing.sequence": "SequenceParser",
    "records.compression": "Codec",
    "records.content.arrays": "decode_tensor",
    "records.content.messages": "message_fields",
    "records.content.wav": "read_wav",
    "records.inflated": "Inflated",
    "records.targets": "open_in_place write_file",
    "threads.cpus": "usable_cpus",
    "train": "BytesList Example Feature FeatureList FeatureLists Features FloatList Int64List "
    "SequenceExample",
}


def used_by_compat() -> dict[str, set[str]]:
    """The names that `fastrec.compat` uses of each other module of the package."""
    uses: dict[str, set[str]] = {}
    for file in (PACKAGE / "compat").rglob("*.py"):
        names = {name for name, _ in imported(file) if name.startswith("fastrec.")}
        modules = {name for name in names if any(other.startswith(f"{name}.") for other in names)}
        for name in names - modules - {"fastrec._core", "fastrec._tensor", "fastrec.compat"}:
            module, _, name = name.removeprefix("fastrec").rpartition(".")
            if module.split(".")[1:2] != ["compat"]:
                uses.setdefault(module.removeprefix("."), set()).add(name)
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                module = node.value.id.removeprefix("fastrec")
                if module in ("", "_core", "train"):
                    uses.setdefault(module, set()).add(node.attr)
    return uses


def test_compat_uses_few_names_of_the_other_packages() -> None:
    allowed = {module: set(names.split()) for module, names in NAMES_FOR_COMPAT.items()}
    assert used_by_compat() == allowed


def test_only_compat_uses_the_kernels_of_tensors() -> None:
    for file in MODULES:
        kernels = {"fastrec._tensor"} & {name for name, _ in imported(file)}
        assert not kernels or package_of(module_of(file)) == "compat", file


# Packages whose tests `make sanitize` leaves out, but for tests of what only these call in C.
UNSANITIZED = {"bench", "cli", "demo", "tables", "tfds", "viewer"}
SANITIZED = {
    "__file__",
    "crc32c_implementations",  # tests/records/test_crc32c.py
    *("riegeli_chunk", "riegeli_chunks", "riegeli_records"),  # tests/tables/test_riegeli.py
    *("PIECE", "find_pieces", "read_pieces"),  # tests/tfds/test_steps.py
}


def test_what_only_packages_without_sanitized_tests_call_in_c_has_such_tests() -> None:
    called: dict[bool, set[str]] = {False: set(), True: set()}
    for file in MODULES:
        names = {name for name, _ in imported(file)}
        found = {name.removeprefix("fastrec._core.") for name in names if "._core." in name}
        if "fastrec._core" in names:
            found.update(re.findall(r"\b_core\.(\w+)", file.read_text()))
        called[package_of(module_of(file)) in UNSANITIZED] |= found
    assert called[True] - called[False] == SANITIZED


@functools.cache
def loaded_by(statement: str) -> set[str]:
    names = "name for name, module in sys.modules.items() if module is not None"
    code = f"{statement}\nimport sys\nprint(*({names}), sep='\\n')"
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


# What the import of a drop-in module leaves to the functions that need it.
LATE_OF_V1 = {"logging", "queue", "random"}
LATE_OF_V2 = LATE_OF_V1 | {"bisect", "dataclasses", "glob", "zlib", "fastrec.features"}


@pytest.mark.parametrize(("version", "late"), [("v1", LATE_OF_V1), ("v2", LATE_OF_V2)])
def test_importing_a_drop_in_module_leaves_to_functions_what_few_programs_need(
    version: str, late: set[str]
) -> None:
    own = loaded_by(f"import fastrec.compat.{version}")
    assert f"fastrec.compat.{version}" in own
    assert not late.intersection(own - loaded_by("import numpy, threading, importlib"))
    rare = {name for name in own if name.startswith("fastrec.compat.extra")}
    assert not rare, "rare families are imported when one of their names is used"


def test_importing_version_2_loads_under_half_of_its_modules() -> None:
    loaded = loaded_by("import fastrec.compat.v2")
    whole = {"_tf", "v2"}
    shared = [name for name in loaded if set(name.split(".")[2:3]) & whole]
    modules = [file for part in whole for file in (PACKAGE / "compat" / part).rglob("*.py")]
    assert len(shared) < len(modules) / 2


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


def test_plain_modules_need_neither_the_extension_nor_protobuf() -> None:
    # A package object without its __init__ stands in, so that nothing else is imported.
    statement = (
        "import importlib.util, sys, types\n"
        "spec = importlib.util.find_spec('fastrec')\n"
        "package = types.ModuleType('fastrec')\n"
        "package.__path__ = list(spec.submodule_search_locations)\n"
        "sys.modules['fastrec'] = package\n"
        "sys.modules['fastrec._core'] = None\n"
        f"import {', '.join(PLAIN)}"
    )
    loaded = loaded_by(statement)
    assert loaded.issuperset(PLAIN)
    assert not loaded.intersection(OPTIONAL)


@of_all(EVERYTHING)
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


@of_all(C_FILES)
def test_c_functions_are_short(file: Path) -> None:
    for name, length in functions(file):
        assert length <= FUNCTION_LINES or name in KERNELS, f"{name}() has {length} lines"


def test_the_measure_of_functions_sees_them() -> None:
    for file in C_FILES:
        ends = file.read_text().splitlines().count("}")
        assert len(list(functions(file))) == ends, f"{file.name} has {ends} functions"


# With the package that a module is for, and the extra that installs it.
FRAMEWORKS = {
    "torch": ("torch", "torch"),
    "beam": ("apache_beam", "beam"),
    "grain": ("grain", "grain"),
    "huggingface": ("datasets", "hf"),
    "jax": ("jax", "jax"),
    "keras": ("keras", "keras"),
    "ray": ("ray", "ray"),
    "spark": ("pyspark", "spark"),
    "tensorflow": ("tensorflow", "tensorflow"),
}


def test_a_missing_framework_is_one_line_that_names_the_extra() -> None:
    code = """
import importlib, sys
sys.modules.update(dict.fromkeys(sys.argv[1].split()))
for module in sys.argv[2:]:
    try:
        importlib.import_module(f"fastrec.{module}")
    except ModuleNotFoundError as error:
        print(error)
"""
    hidden = " ".join(framework for framework, _ in FRAMEWORKS.values())
    run = subprocess.run(
        [sys.executable, "-c", code, hidden, *FRAMEWORKS],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert run.stdout.splitlines() == [
        f"fastrec.{module} requires {framework}: pip install 'fastrec-io[{extra}]'"
        for module, (framework, extra) in FRAMEWORKS.items()
    ]
