# SPDX-License-Identifier: Apache-2.0
"""Makes a virtual environment, or adds to one.

    python tests/tools/environment.py FOLDER [--group NAME] [--extra NAME] [PACKAGE ...]

--group adds the packages of a dependency group in pyproject.toml, --extra the wheel in build/wheel
with the packages of one of its extras.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the environment's lock, because targets that share it may run at the same time."""
    folder.mkdir(exist_ok=True)
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


def complete(folder: Path, packages: list[str], extra: str | None) -> None:
    python = folder / "bin" / "python"
    pip: list[str | Path] = [
        python,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--quiet",
    ]
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    if packages:
        subprocess.run([*pip, *packages], check=True)
    if extra is None:
        return
    (wheel,) = (ROOT / "build" / "wheel").glob("*.whl")
    stamp = folder / "wheel"
    # A wheel of the version that is installed already replaces it only by force.
    if not stamp.exists() or stamp.stat().st_mtime < wheel.stat().st_mtime:
        subprocess.run([*pip, "--no-deps", "--force-reinstall", wheel], check=True)
        stamp.touch()
    subprocess.run([*pip, f"{wheel}[{extra}]"], check=True)


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
