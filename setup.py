# SPDX-License-Identifier: Apache-2.0
"""The two extensions; everything else about the package is in pyproject.toml.

FASTREC_DEBUG=1                      no optimisation, assertions on
FASTREC_SANITIZE=address,undefined   with sanitizers (or thread)
FASTREC_WERROR=1                     warnings are errors
FASTREC_JPEG=0 or 1                  without libjpeg-turbo, or not without it (by default: if found)
FASTREC_PNG=0 or 1                   the same of libpng 1.6
FASTREC_DEFLATE=0 or 1               the same of libdeflate 1.14, which halves the time of most PNGs
FASTREC_HOME=https://...             the repository, for the links of the metadata and of its README
FASTREC_COVERAGE=1                   no optimisation, counting the lines that run (gcov)

On Windows CC names a gcc or a clang that links the C library that Python has, UCRT: that of `pip
install ziglang` is `CC="python -m ziglang cc"`.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

WINDOWS = sys.platform == "win32"

compile_args = ["-std=gnu11", "-O3", "-g0", "-fvisibility=hidden", "-pthread", "-Wall", "-Wextra"]
compile_args += ["-ffp-contract=off"]  # the same floats on every machine
compile_args += ["-Wno-unused-parameter"]  # Cython's output has many
link_args = [] if WINDOWS else ["-pthread"]  # whose own threads need no library
if WINDOWS:  # Zig's clang knows no CRC32 unless told to
    compile_args += ["-D__USE_MINGW_ANSI_STDIO=1", "-mcrc32"]

if os.environ.get("FASTREC_DEBUG") == "1":
    compile_args += ["-O0", "-g", "-UNDEBUG"]
if sanitizers := os.environ.get("FASTREC_SANITIZE"):
    compile_args += ["-O1", "-g", "-UNDEBUG", "-fno-omit-frame-pointer"]
    compile_args += [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]
    link_args += [f"-fsanitize={sanitizers}"]
if os.environ.get("FASTREC_COVERAGE") == "1":
    compile_args += ["-O0", "-g", "--coverage", "-fprofile-update=atomic"]
    link_args += ["--coverage"]
if os.environ.get("FASTREC_WERROR") == "1":
    compile_args += ["-Werror"]


PROBES = {
    "libjpeg": """
        #include <stdio.h>
        #include <jpeglib.h>
        #if !defined(LIBJPEG_TURBO_VERSION_NUMBER) || LIBJPEG_TURBO_VERSION_NUMBER < 2000090
        #error "libjpeg-turbo is too old"
        #endif
    """,
    "ucrt": """
        #include <stdio.h>
        #if !defined(_UCRT)
        #error "descriptors of Python are those of UCRT"
        #endif
    """,
    "clang": """
        #if !defined(__clang__)
        #error "it is gcc"
        #endif
    """,
    "libpng": """
        #include <png.h>
        #if PNG_LIBPNG_VER < 10600
        #error "libpng is too old"
        #endif
    """,
    "libdeflate": """
        #include <libdeflate.h>
        #if LIBDEFLATE_VERSION_MAJOR < 1 || LIBDEFLATE_VERSION_MINOR < 14
        #error "libdeflate is too old"
        #endif
    """,
}


def compiles(probe: str, flags: list[str]) -> None:
    """Ask the compiler; what it refuses is a CalledProcessError."""
    compiler = shlex.split(os.environ.get("CC", "gcc" if WINDOWS else "cc"))
    command = [*compiler, "-fsyntax-only", *flags, "-x", "c", "-"]
    subprocess.run(command, input=PROBES[probe], capture_output=True, text=True, check=True)


def flags_of(library: str, variable: str) -> list[str] | None:
    """The flags that pkg-config has for a library, if that is one that will do."""
    if os.environ.get(variable) == "0":
        return None
    program = os.environ.get("PKG_CONFIG", "pkg-config")
    try:
        found = subprocess.run(
            [program, "--cflags", "--libs", library], capture_output=True, text=True, check=True
        )
        flags = shlex.split(found.stdout)
        compiles(library, [flag for flag in flags if flag.startswith("-I")])
    except (OSError, subprocess.CalledProcessError) as error:
        if os.environ.get(variable) == "1":
            raise SystemExit(f"{variable}=1 requires {library}: {error}") from error
        return None
    return flags


for library, name in {"libjpeg": "JPEG", "libpng": "PNG", "libdeflate": "DEFLATE"}.items():
    if (found := flags_of(library, f"FASTREC_{name}")) is not None:
        compile_args += [f"-DFASTREC_HAVE_{name}"]
        compile_args += [flag for flag in found if not flag.startswith(("-l", "-L"))]
        link_args += [flag for flag in found if flag.startswith(("-l", "-L"))]


def check_windows_compiler(kind: str) -> None:
    """Refuse compilers that lack GNU's extensions to C, and C libraries that are not Python's."""
    try:
        if kind != "mingw32":
            raise ValueError(f"compiler {kind}")
        compiles("ucrt", [])
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        raise SystemExit(
            "fastrec requires gcc or clang with UCRT on Windows (pip install ziglang, and "
            f'CC="python -m ziglang cc"), got {error}'
        ) from error
    try:
        compiles("clang", [])
    except subprocess.CalledProcessError:  # gcc takes the stack to be aligned to its vectors
        for each in (core, tensor):
            each.extra_compile_args += ["-Wa,-muse-unaligned-vector-move"]
            each.extra_link_args += ["-static-libgcc"]


def is_stale(object_file: Path, command: str) -> bool:
    """Whether an object must be compiled: its command, source or a header has changed."""
    try:
        built = object_file.stat().st_mtime
        if object_file.with_suffix(".command").read_text() != command:
            return True
        listed = object_file.with_suffix(".d").read_text().replace("\\\n", " ").partition(":")[2]
        names = re.split(r"(?<!\\)\s+", listed.strip())
        return any(os.path.getmtime(name.replace("\\ ", " ")) > built for name in names)
    except OSError:
        return True


class build_in_parallel(build_ext):  # type: ignore[misc]
    """Compiles on all processors, and only what changed since the last time."""

    compiler: Any  # its name, then itself
    parallel: Any

    def finalize_options(self) -> None:
        super().finalize_options()
        if WINDOWS and self.compiler is None:
            self.compiler = "mingw32"

    def build_extensions(self) -> None:
        if sys.byteorder != "little" or sys.maxsize < 1 << 32:
            raise SystemExit("fastrec requires a 64-bit little-endian machine")
        if WINDOWS:
            check_windows_compiler(self.compiler.compiler_type)
        self.compiler.compile = self._compile
        self._jobs, self.parallel = self.parallel or os.cpu_count(), None  # they share objects
        super().build_extensions()

    def _compile(
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
        compiler: Any = self.compiler
        _, objects, extra, options, build = compiler._setup_compile(
            output_dir, macros, include_dirs, sources, depends, extra_postargs
        )
        arguments = compiler._get_cc_args(options, debug, extra_preargs)

        def compile_one(name: str) -> None:
            target = Path(name)
            source, suffix = build[name]
            command = repr((compiler.compiler_so, arguments, extra, source))
            if is_stale(target, command):
                listing = ["-MMD", "-MF", str(target.with_suffix(".d"))]
                compiler._compile(name, source, suffix, arguments, [*extra, *listing], options)
                target.with_suffix(".command").write_text(command)

        with ThreadPoolExecutor(self._jobs) as pool:
            list(pool.map(compile_one, objects))
        return list(objects)


def project_urls(home: str) -> dict[str, str]:
    """The links beside the package's page."""
    return {
        "Source": home,
        "Documentation": f"{home}/tree/HEAD/docs",
        "Changelog": f"{home}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{home}/issues",
    }


def readme(home: str) -> str:
    """README.md; its links lead to the repository at `home`, when that is known."""
    text = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    if not home:
        return text
    text = re.sub(r"(!\[[^\]]*\]\()(?!\w+:|#)", rf"\g<1>{home}/raw/HEAD/", text)
    return re.sub(r"((?<!!)\[[^\]]*\]\()(?!\w+:|#)", rf"\g<1>{home}/blob/HEAD/", text)


def extension(name: str, sources: list[str], depends: list[str]) -> Extension:
    """An extension of the package, whose module is declared in ``fastrec/native``."""
    return Extension(
        f"fastrec.{name}",
        sources=[f"fastrec/native/{name}.pyx", *sorted(sources)],
        depends=sorted(glob("csrc/*/*.h") + depends),
        include_dirs=["csrc", "fastrec/native"],
        extra_compile_args=[*compile_args],
        extra_link_args=[*link_args],
    )


def c_files(*parts: str) -> list[str]:
    """The C files of these parts of ``csrc/``, each with those whose names begin with its own."""
    return [file for part in parts for file in glob(f"csrc/{part}*.c")]


shared = glob("fastrec/native/*.p*[di]")
folders = ("base", "format", "files", "example", "batch", "image")
core = extension("_core", c_files(*(f"{folder}/" for folder in folders)), shared)
# These files of the other folders are in both extensions. Their only state is freed memory that is
# kept for the next buffer, so two copies do not have to agree.
tensor = extension(
    "_tensor",
    c_files(
        "tensor/", "base/bytes", "base/cpu", "base/philox", "base/platform", "base/status",
        "base/strings", "image/image_ops", "image/pixel_format", "image/resample", "image/taps",
    ),
    [*shared, *glob("fastrec/native/tensor/*.pxi")],
)  # fmt: skip
home = os.environ.get("FASTREC_HOME", "").rstrip("/")
setup(
    ext_modules=[core, tensor],
    cmdclass={"build_ext": build_in_parallel},
    project_urls=project_urls(home) if home else {},
    long_description=readme(home),
    long_description_content_type="text/markdown",
)
