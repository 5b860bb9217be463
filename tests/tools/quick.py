# SPDX-License-Identifier: Apache-2.0
"""Runs the tests that belong to the files changed since the last commit on the main branch.

    python tests/tools/quick.py [PYTEST ARGUMENT ...]

The tests of a folder of the package or of the core are those in the folders that ``TESTS`` names;
the checks of the project itself always run. Tests marked as slow are left out.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
# Of folders of csrc/ and modules of fastrec/; a package is tested by the folder of its name.
TESTS = {
    "csrc/base": ("records", "batches"),
    "csrc/format": ("records", "encoding"),
    "csrc/files": ("records",),
    "csrc/example": ("parsing", "encoding"),
    "csrc/batch": ("batches",),
    "csrc/image": ("images",),
    "csrc/tensor": ("compat",),
    "fastrec/native": ("records", "parsing", "batches"),
    "fastrec/errors.py": ("records",),
    "fastrec/columns.py": ("parsing",),
    "fastrec/image.py": ("images",),
}


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.splitlines()


def changed() -> set[str]:
    base = next(iter(git("merge-base", "HEAD", "main")), "HEAD")
    return {*git("diff", "--name-only", base), *git("ls-files", "--others", "--exclude-standard")}


def tests_of(name: str) -> list[str]:
    path = PurePosixPath(name)
    if path.parts[0] == "tests":
        return [name] if path.name.startswith("test_") and path.suffix == ".py" else []
    folders = TESTS.get(name) or TESTS.get("/".join(path.parts[:2]))
    if folders is None:
        folders = path.parts[1:2] if path.parts[0] == "fastrec" else ()
    return [f"tests/{folder}" for folder in folders]


def main() -> int:
    wanted = {"tests/project", *(test for name in changed() for test in tests_of(name))}
    found = sorted(test for test in wanted if (ROOT / test).exists())
    found = [test for test in found if PurePosixPath(test).parent.as_posix() not in found]
    print("quick:", *found, flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "-m", "not slow"]
    return subprocess.run([*command, *sys.argv[1:], *found], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
