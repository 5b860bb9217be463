# SPDX-License-Identifier: Apache-2.0
"""Make a virtual environment, or add to one.

    python tests/tools/environment.py FOLDER [--group NAME] [--extra NAME] [PACKAGE ...]

--group adds the packages of a dependency group in pyproject.toml, --extra the wheel in build/wheel
with the packages of one of its extras. uv, in build/uv, installs packages in a fifth of pip's
processor time; pip is used if uv fails.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PIP = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet")
UV_OPTIONS = {  # and the settings of pip that they stand for
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "constraint": "--constraints",
}


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the environment's lock, because targets that share it may run at the same time."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        if os.name == "posix":
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def group_packages(name: str) -> list[str]:
    try:
        import tomllib
    except ImportError:  # Python 3.10
        from pip._vendor import tomli as tomllib  # type: ignore[no-redef]
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return list(tomllib.loads(text)["dependency-groups"][name])


def pip_sources(python: Path) -> list[str]:
    """Return uv's options for the package indexes and constraints in pip's configuration."""
    command: list[str | Path] = [python, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    configured: dict[str, list[str]] = {}
    for line in sorted(listed.splitlines()):  # ":env:", which precedes files in pip, is first
        key, _, value = line.partition("=")
        configured.setdefault(key.rpartition(".")[2], ast.literal_eval(value).split())
    return ["--index-strategy", "unsafe-best-match"] + [  # as pip does
        part
        for key, option in UV_OPTIONS.items()
        for value in configured.get(key, ())
        for part in (option, value)
    ]


def run(*command: str | Path, check: bool = True) -> bool:
    """Run a command; return whether it succeeded, or raise CalledProcessError if `check`."""
    return subprocess.run(command, check=check).returncode == 0


def uv() -> Path | None:
    """Return uv, which installs packages in a quarter of pip's time; None if it is unavailable."""
    folder = ROOT / "build" / "uv"
    program = folder / "bin" / "uv"
    with locked(folder):
        if not program.exists():
            run(sys.executable, "-m", "venv", folder)
            run(folder / "bin" / "python", *PIP, "uv>=0.9", check=False)
    return program if program.exists() else None


class Environment:
    """A virtual environment that uv makes and fills, or pip where uv cannot."""

    def __init__(self, folder: Path) -> None:
        self.python = folder / "bin" / "python"
        self._uv = uv()
        if self.python.exists():
            return
        if self._uv is None:
            run(sys.executable, "-m", "venv", folder)
        else:
            made = ("--quiet", "--seed", "--allow-existing", "--python", sys.executable, folder)
            run(self._uv, "venv", *made)

    def install(self, *packages: str | Path, again: bool = False) -> None:
        """Install packages; with `again`, replace one of the same version, and nothing else."""
        if self._uv is not None:
            force = ("--reinstall", "--no-deps") if again else ()
            options = [*pip_sources(self._uv.with_name("python")), *force]
            if not os.environ.get("PIP_NO_COMPILE"):  # as pip does
                options.append("--compile-bytecode")
            python = ("--quiet", "--python", self.python)
            if run(self._uv, "pip", "install", *python, *options, *packages, check=False):
                return
            print("uv failed, so pip installs the packages", file=sys.stderr)
        force = ("--force-reinstall", "--no-deps") if again else ()
        run(self.python, *PIP, *force, *packages)


def complete(folder: Path, packages: list[str], extra: str | None) -> None:
    environment = Environment(folder)
    if packages:
        environment.install(*packages)
    if extra is None:
        return
    (wheel,) = (ROOT / "build" / "wheel").glob("*.whl")
    stamp = folder / "wheel"
    if not stamp.exists() or stamp.stat().st_mtime < wheel.stat().st_mtime:
        environment.install(wheel, again=True)
        stamp.touch()
    environment.install(f"{wheel}[{extra}]")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--group")
    parser.add_argument("--extra")
    parser.add_argument("packages", nargs="*")
    options = parser.parse_args()
    if sys.version_info < (3, 10):  # noqa: UP036 - whatever PYTHON names
        sys.exit(f"fastrec requires Python 3.10 or newer, got {sys.version} (make PYTHON=...)")
    os.environ["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    packages = [*options.packages, *(group_packages(options.group) if options.group else ())]
    with locked(options.folder):
        new = not (options.folder / "bin").exists()
        try:
            complete(options.folder, packages, options.extra)
        except subprocess.CalledProcessError as error:
            if new:  # so that the next call begins again
                shutil.rmtree(options.folder)
            sys.exit(str(error))


if __name__ == "__main__":
    main()
