# SPDX-License-Identifier: Apache-2.0
"""Describe the installation and the machine, for reports of problems and of measurements."""

from __future__ import annotations

import importlib.metadata
import mmap
import os
import platform
import sys
from collections.abc import Iterator
from typing import TextIO

from .. import __version__, _core
from ..features.image_libraries import decoders
from ..threads.cpus import usable_cpus
from .machine import cpu_name, memory_text

__all__ = ["show_versions"]

_PACKAGES = (
    "numpy", "protobuf", "isal", "google-re2", "pyarrow", "obstore", "fsspec", "pillow",
    "simplejpeg", "ml-dtypes", "rich", "torch", "torchdata", "tensorflow", "keras", "jax", "grain",
    "datasets", "ray", "pyspark", "polars", "duckdb",
)  # fmt: skip


def show_versions(file: TextIO | None = None) -> None:
    """Print the versions of fastrec and its libraries, and the properties of the machine.

    Include the output in a report of a problem or of a measurement.

    Parameters
    ----------
    file : text file, optional
        The destination; standard output by default.

    Examples
    --------
    >>> import io, fastrec
    >>> text = io.StringIO()
    >>> fastrec.show_versions(text)
    >>> "CRC32C" in text.getvalue()
    True
    """
    rows = list(_rows())
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}", file=file or sys.stdout)


def _rows() -> Iterator[tuple[str, str]]:
    yield "fastrec", f"{__version__}, {os.path.dirname(_core.__file__)}"
    yield "Python", f"{platform.python_implementation()} {platform.python_version()}"
    yield "system", f"{platform.system()} {platform.release()}, {platform.machine()}"
    yield "processor", cpu_name()
    yield "usable processors", str(usable_cpus())
    yield "memory", memory_text() or "unknown"
    yield "page size", f"{mmap.PAGESIZE} bytes"
    yield "file system here", _file_system(os.getcwd())
    yield (
        "CRC32C",
        f"{_core.crc32c_implementation()} of {', '.join(_core.crc32c_implementations())}",
    )
    for name, library in decoders().items():
        yield f"images: {name}", library or "no library"
    for name in _PACKAGES:
        yield name, _version_of(name)


def _version_of(package: str) -> str:
    """Return the version of an installed package, without importing it."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _file_system(path: str) -> str:
    """Return the type of the file system that holds a path; "unknown" outside Linux."""
    path = os.path.realpath(path)
    best, kind = "", "unknown"
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:
            for line in file:
                _, point, name, *_ = line.split()
                # The kernel writes spaces and similar characters in octal.
                point = point.encode("latin-1", "replace").decode("unicode_escape")
                inside = path == point or path.startswith(point.rstrip("/") + "/")
                if inside and len(point) >= len(best):
                    best, kind = point, name
    except (OSError, ValueError):
        pass
    return kind
