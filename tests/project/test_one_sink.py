# SPDX-License-Identifier: Apache-2.0
"""Every file is written by the sink: nothing else in the package opens, renames or links one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import fastrec

pytestmark = pytest.mark.sources
PACKAGE = Path(fastrec.__file__).parent
MODULES = sorted(file.relative_to(PACKAGE).as_posix() for file in PACKAGE.rglob("*.py"))

# The sink. Files of the system are opened by the core; these modules choose what is written where.
SINK = {
    "records/output_folder.py",
    "records/output_rules.py",
    "records/targets.py",
    "storage/adapters.py",  # objects: what a library of a store calls a file
}
# Modules that write otherwise, each for a reason that the sink cannot serve.
REASONS = {
    "compat/_tf/files.py": "TensorFlow's functions of files, whose programs choose every mode",
    "records/dealing.py": "thousands of private files of a job, each cut back to a known size",
    "records/remote_dataset.py": "memory with the interface of a file, which has no name",
    "tables/npz.py": "lays out a ZIP file, whose bytes go to the sink",
    "storage/cache.py": "lock files, which stay empty",
    "bench/peers/ceiling.py": "measures what the system's own calls take",
    "bench/peers/large.py": "makes a file of holes in a directory of its own",
    "bench/peers/ours.py": "links its own data, and compresses it as other programs do",
    "bench/peers/shards.py": "makes a million files, most of them links, in its own directory",
}
OF_OS = {"replace", "rename", "renames", "link", "symlink", "truncate", "chmod", "umask", "mkfifo"}
OF_SHUTIL = {"copy", "copy2", "copyfile", "copytree", "move"}
OF_NUMPY = {"save", "savez", "savez_compressed", "savetxt"}
OF_TEMPFILE = {"mkstemp", "NamedTemporaryFile"}
METHODS = {"write_bytes", "write_text", "touch", "tofile", "hardlink_to", "symlink_to",
           "open_output_stream", "open_append_stream"}  # fmt: skip
FUNCTIONS = {"", "io", "gzip", "bz2", "lzma", "tarfile", "zipfile", "codecs"}
OPENERS = {"open", "GzipFile", "TarFile", "ZipFile", "FileIO", "BZ2File", "LZMAFile"}

NAMES = {"open", "replace"} | OF_OS | OF_SHUTIL | OF_NUMPY | OF_TEMPFILE | METHODS | OPENERS


def mode_of(call: ast.Call, is_function: bool) -> str:
    """Return the mode of a call that opens a file; "?" if a function's is not a constant."""
    place = 1 if is_function else 0  # a path's method has the mode first
    mode = next((each.value for each in call.keywords if each.arg == "mode"), None)
    if mode is None:
        mode = call.args[place] if len(call.args) > place else ast.Constant("r")
    if isinstance(mode, ast.Constant):
        return str(mode.value) if set(str(mode.value)) <= set("rwxabt+") else "r"
    return "?" if is_function else "r"


def writes(tree: ast.AST) -> Iterator[str]:
    """Yield each call of a module that creates, changes, renames or links a file."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        if (getattr(call.func, "attr", None) or getattr(call.func, "id", None)) not in NAMES:
            continue
        owner, _, name = ast.unparse(call.func).rpartition(".")
        if owner == "os" and name == "open":
            writing = any(flag in ast.unparse(call) for flag in ("O_RDWR", "O_CREAT", "O_APPEND"))
            writing |= "O_WRONLY" in ast.unparse(call) and "os.devnull" not in ast.unparse(call)
        elif name in OPENERS:
            writing = bool(set(mode_of(call, owner in FUNCTIONS)) & set("wax+?"))
        else:
            writing = (
                (owner == "os" and name in OF_OS)
                or (owner == "shutil" and name in OF_SHUTIL)
                or (owner == "tempfile" and name in OF_TEMPFILE)
                or (owner in ("np", "numpy") and name in OF_NUMPY and not is_memory(call))
                or (name in METHODS and not any(each.arg == "overwrite" for each in call.keywords))
                or (name == "replace" and len(call.args) == 1 and not call.keywords)
            )
        if writing:
            yield f"line {call.lineno}: {ast.unparse(call)}"


def is_memory(call: ast.Call) -> bool:
    """Return whether NumPy saves to the variable `file`, which is memory."""
    return ast.unparse(call.args[0]) == "file"


@pytest.fixture(scope="module")
def writing() -> dict[str, list[str]]:
    """Return each module with the calls by which it writes; of modules that do."""
    found = {name: list(writes(ast.parse((PACKAGE / name).read_text()))) for name in MODULES}
    return {name: calls for name, calls in found.items() if calls}


def test_only_the_sink_writes_files(writing: dict[str, list[str]]) -> None:
    others = {name: calls for name, calls in writing.items() if name not in SINK | REASONS.keys()}
    assert not others, "these must write by records.targets"


def test_every_exception_is_needed(writing: dict[str, list[str]]) -> None:
    unneeded = (SINK | REASONS.keys()) - writing.keys()
    assert unneeded <= {"records/output_rules.py", "records/output_folder.py"}


@pytest.mark.parametrize(
    "text",
    [
        "open(path, 'w')",
        "open(path, mode='xb')",
        "open(path, mode)",
        "Path(path).open('a')",
        "io.open(path, 'r+b')",
        "gzip.open(path, 'wb', 6)",
        "os.open(path, os.O_WRONLY | os.O_CREAT)",
        "os.replace(a, b)",
        "os.rename(a, b)",
        "Path(a).replace(b)",
        "Path(a).write_text('x')",
        "np.savez(path, a=a)",
        "array.tofile(path)",
        "shutil.move(a, b)",
    ],
)
def test_a_call_that_writes_is_seen(text: str) -> None:
    assert list(writes(ast.parse(text)))


@pytest.mark.parametrize(
    "text",
    ["open(path)", "open(path, 'rb')", "text.replace('a', 'b')", "os.open(path, os.O_RDONLY)",
     "dataclasses.replace(order, seed=1)", "np.savez(file, a=a)", "writer.rename(path)",
     "index.write_text(path, overwrite=False)", "RemoteFile.open(url, options)"],
)  # fmt: skip
def test_a_call_that_does_not_write_is_not_seen(text: str) -> None:
    assert not list(writes(ast.parse(text)))
