# SPDX-License-Identifier: Apache-2.0
"""Check distributions before they are published: version, metadata, contents, size, licences.

    python tests/tools/release_check.py [--tag v0.1.0] [--tested build/wheel/*.whl] dist/*

Needs the standard library only. What is wrong is printed, a line each; then the exit status is 1.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email.parser import BytesParser
from email.policy import default
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_MB = {".whl": 8.0, ".gz": 6.0}
IN_WHEEL = (
    "fastrec/__init__.py", "fastrec/py.typed", "fastrec/_core.pyi", "fastrec/_tensor.pyi",
    "fastrec/viewer/view.js", "fastrec/viewer/view.css",
)  # fmt: skip
IN_SDIST = (
    "LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "CITATION.cff", "Makefile", "setup.py",
    "mkdocs.yml", "pyproject.toml", "fastrec/native/_core.pyx", "fastrec/native/_tensor.pyx",
    "fastrec/native/tensor/formula.pxi", "csrc/tensor/formula.c", "fastrec/viewer/view.js",
    "docs/start.md", "docs/diagrams/record.svg", "csrc/base/status.h", "tests/cli/test_cli.py",
)  # fmt: skip
EXTENSIONS = ("_core", "_tensor")
SOURCES = re.compile(r"\.(c|h|pyx|pxd|pxi|o)$|(^|/)(tests|docs|csrc)/")
RUBBISH = re.compile(r"\.(pyc|so|DS_Store)$|__pycache__|\.egg-info/.*\.tmp|fastrec/native/_\w+\.c$")


def version() -> str:
    """The version, from the one place where it is written."""
    for node in ast.parse((ROOT / "fastrec" / "__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__":
            return str(ast.literal_eval(node.value))
    raise SystemExit("fastrec/__init__.py has no __version__")


def check_repository(tag: str | None) -> Iterator[str]:
    """What must agree with the version."""
    found = version()
    changelog = (ROOT / "CHANGELOG.md").read_text()
    if tag is not None and tag != f"v{found}":
        yield f"the tag is {tag}, the version {found}"
    if tag is not None and f"## [{found}] - " not in changelog:
        yield f"CHANGELOG.md has no section '## [{found}] - DATE'"
    if "## [Unreleased]" not in changelog:
        yield "CHANGELOG.md has no section '## [Unreleased]'"
    if f"version: {found}\n" not in (ROOT / "CITATION.cff").read_text():
        yield f"CITATION.cff is not of version {found}"


def check_metadata(data: bytes) -> Iterator[str]:
    """The fields that the index shows."""
    fields = BytesParser(policy=default).parsebytes(data)
    for name, wanted in (("Name", "fastrec-io"), ("Version", version()),
                         ("License-Expression", "Apache-2.0"), ("Requires-Python", ">=3.10"),
                         ("Description-Content-Type", "text/markdown")):  # fmt: skip
        if fields[name] != wanted:
            yield f"{name} is {fields[name]}, not {wanted}"
    if "LICENSE" not in fields.get_all("License-File", []):
        yield "License-File does not name LICENSE"
    for name in ("Summary", "Classifier", "Requires-Dist"):
        if not fields.get_all(name):
            yield f"no {name}"


def check_wheel(path: Path) -> Iterator[str]:
    """What is in a wheel: the extension, what runs, the licences of what is bundled."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        info = f"fastrec_io-{version()}.dist-info"
        yield from (f"{name} is missing" for name in IN_WHEEL if name not in names)
        yield from (f"{name} does not belong in it" for name in names if SOURCES.search(name))
        for extension in EXTENSIONS:
            if not any(re.fullmatch(rf"fastrec/{extension}\.[\w-]+\.so", name) for name in names):
                yield f"there is no extension {extension}"
        if f"{info}/METADATA" not in names:
            yield f"there is no {info}/METADATA"
            return
        yield from check_metadata(archive.read(f"{info}/METADATA"))
        begin = f"{info}/licenses/"
        licences = [name.replace("-", "") for name in names if name.startswith(begin)]
        for library in names:  # what auditwheel and delocate put in
            found = re.search(r"(?:\.libs|\.dylibs)/lib([a-z]+)", library)
            if found and not any(found[1] in name for name in licences):
                yield f"{library} is bundled without its licence in {info}/licenses"


def check_same(path: Path, tested: Path) -> Iterator[str]:
    """Yield each module and data file of a wheel that differs from that of the tested wheel."""
    mine, theirs = content_of(path), content_of(tested)
    for name in sorted(mine.keys() | theirs.keys()):
        if mine.get(name) != theirs.get(name):
            yield f"{name} differs from that in {tested.name}"


def content_of(path: Path) -> dict[str, int]:
    """Return the checksum of each module and data file, without the compiled modules."""
    with zipfile.ZipFile(path) as archive:
        return {
            member.filename: member.CRC
            for member in archive.infolist()
            if not re.search(r"\.(libs|dylibs|dist-info)/|\.so$|/$", member.filename)
        }


def check_sdist(path: Path) -> Iterator[str]:
    """What is in a source distribution: everything that builds, tests and documents it."""
    top = f"fastrec_io-{version()}/"
    with tarfile.open(path) as archive:
        members = archive.getmembers()
        names = [member.name.removeprefix(top) for member in members]
        yield from (f"{name} is missing" for name in IN_SDIST if name not in names)
        yield from (f"{name} does not belong in it" for name in names if RUBBISH.search(name))
        for member in members:
            if not (member.isfile() or member.isdir()) or not f"{member.name}/".startswith(top):
                yield f"{member.name} is no file below {top}"
        info = archive.extractfile(f"{top}PKG-INFO")
        yield from check_metadata(info.read() if info else b"")


def check(path: Path) -> Iterator[str]:
    """Everything that is wrong with one distribution."""
    size = path.stat().st_size / 1e6
    if size > MOST_MB.get(path.suffix, 0):
        yield f"{size:.1f} MB is more than {MOST_MB.get(path.suffix, 0)}"
    yield from check_wheel(path) if path.suffix == ".whl" else check_sdist(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tag", help="the tag that is released, such as v0.1.0")
    parser.add_argument("--tested", type=Path, help="a wheel that wheels must be equal to")
    parser.add_argument("files", nargs="+", type=Path)
    arguments = parser.parse_args()
    wrong = [f"repository: {text}" for text in check_repository(arguments.tag)]
    for path in arguments.files:
        found = list(check(path))
        if arguments.tested is not None and path.suffix == ".whl":
            found += check_same(path, arguments.tested)
        wrong += [f"{path.name}: {text}" for text in found]
        print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB{'' if found else ', well'}")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
