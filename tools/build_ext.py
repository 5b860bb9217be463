# SPDX-License-Identifier: Apache-2.0
"""Compiles the C files of the extensions on all processors, and only those that changed."""

from __future__ import annotations

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

from libraries import compile_probe
from setuptools.command.build_ext import build_ext

WINDOWS = sys.platform == "win32"
QUICK = os.environ.get("FASTREC_QUICK") == "1"
UCRT = "#include <stdio.h>\n#ifndef _UCRT\n#error fastrec shares descriptors with Python\n#endif"
CLANG = "#ifndef __clang__\n#error this is GCC\n#endif"


def is_stale(object_file: Path, command: str) -> bool:
    """Tell whether an object's command, source or one of its headers has changed."""
    try:
        built = object_file.stat().st_mtime
        if object_file.with_suffix(".command").read_text() != command:
            return True
        listing = object_file.with_suffix(".d").read_text().replace("\\\n", " ").partition(":")[2]
        names = re.split(r"(?<!\\)\s+", listing.strip())
        return any(os.path.getmtime(name.replace("\\ ", " ")) > built for name in names)
    except OSError:
        return True


class BuildExt(build_ext):  # type: ignore[misc]
    """setuptools' command, which compiles one file after the other and forgets the headers."""

    compiler: Any  # its name, then the object
    parallel: Any

    def finalize_options(self) -> None:
        super().finalize_options()
        if WINDOWS and self.compiler is None:
            self.compiler = "mingw32"

    def build_extensions(self) -> None:
        if sys.byteorder != "little" or sys.maxsize < 1 << 32:
            raise SystemExit("fastrec requires a 64-bit little-endian machine")
        if WINDOWS:
            self.check_windows_compiler()
        self.compiler.compile = self.compile
        # The extensions share objects, so they are built one after the other.
        self.jobs, self.parallel = self.parallel or os.cpu_count(), None
        super().build_extensions()

    def check_windows_compiler(self) -> None:
        """Refuse a compiler without GNU's extensions to C, and a C library that is not Python's."""
        try:
            if self.compiler.compiler_type != "mingw32":
                raise ValueError(f"compiler {self.compiler.compiler_type}")
            compile_probe(UCRT, [])
        except (OSError, ValueError, CalledProcessError) as error:
            raise SystemExit(
                "fastrec requires gcc or clang with UCRT on Windows (pip install ziglang, and "
                f'CC="python -m ziglang cc"), got {error}'
            ) from error
        try:
            compile_probe(CLANG, [])
        except CalledProcessError:  # GCC assumes a stack that is aligned to its vectors
            for extension in self.extensions:
                extension.extra_compile_args += ["-Wa,-muse-unaligned-vector-move"]
                extension.extra_link_args += ["-static-libgcc"]

    def compile(
        self,
        sources: list[str],
        output_dir: str | None = None,
        macros: Any = None,
        include_dirs: Any = None,
        debug: bool = False,
        extra_preargs: Any = None,
        extra_postargs: Any = None,
        depends: Any = None,
    ) -> list[str]:
        """Do what the compiler object's method of this name does."""
        compiler = self.compiler
        _, objects, extra, options, build = compiler._setup_compile(
            output_dir, macros, include_dirs, sources, depends, extra_postargs
        )
        arguments = compiler._get_cc_args(options, debug, extra_preargs)

        def compile_one(name: str) -> None:
            source, suffix = build[name]
            flags = [*extra, "-O0"] if QUICK and "native" in Path(source).parts else extra
            command = repr((compiler.compiler_so, arguments, flags, source))
            if is_stale(Path(name), command):
                listing = ["-MMD", "-MF", str(Path(name).with_suffix(".d"))]
                compiler._compile(name, source, suffix, arguments, [*flags, *listing], options)
                Path(name).with_suffix(".command").write_text(command)

        with ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(compile_one, objects))
        return list(objects)
