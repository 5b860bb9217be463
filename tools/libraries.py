# SPDX-License-Identifier: Apache-2.0
"""Finds the C libraries that decode images; each of them is optional.

    python tools/libraries.py --cflags | --libs

FASTREC_JPEG, FASTREC_PNG, FASTREC_DEFLATE and FASTREC_ISAL are 0 to build without a library, or 1
to fail where it is missing. Otherwise a library is used if pkg-config and the compiler know it.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

COMPILER = shlex.split(os.environ.get("CC", "gcc" if sys.platform == "win32" else "cc"))

# A library's name for pkg-config and for FASTREC_*, and a program that old releases refuse.
LIBRARIES = {
    ("libjpeg", "JPEG"): """
        #include <stdio.h>
        #include <jpeglib.h>
        #if !defined(LIBJPEG_TURBO_VERSION_NUMBER) || LIBJPEG_TURBO_VERSION_NUMBER < 2000090
        #error "fastrec requires libjpeg-turbo 2.1 or newer"
        #endif
    """,
    ("libpng", "PNG"): """
        #include <png.h>
        #if PNG_LIBPNG_VER < 10600
        #error "fastrec requires libpng 1.6 or newer"
        #endif
    """,
    ("libdeflate", "DEFLATE"): """
        #include <libdeflate.h>
        #if LIBDEFLATE_VERSION_MAJOR < 1 || LIBDEFLATE_VERSION_MINOR < 14
        #error "fastrec requires libdeflate 1.14 or newer"
        #endif
    """,
    ("libisal", "ISAL"): """
        #include <isa-l.h>
        #if ISAL_MAJOR_VERSION < 2 || ISAL_MAJOR_VERSION == 2 && ISAL_MINOR_VERSION < 30
        #error "fastrec requires isa-l 2.30 or newer"
        #endif
    """,
}


def compile_probe(program: str, flags: list[str]) -> None:
    """Raise CalledProcessError if the compiler refuses `program`."""
    command = [*COMPILER, "-fsyntax-only", *flags, "-x", "c", "-"]
    subprocess.run(command, input=program, capture_output=True, text=True, check=True)


def find_flags(library: str, name: str, program: str) -> list[str]:
    """Return the flags of one library, or an empty list to build without it."""
    choice = os.environ.get(f"FASTREC_{name}")
    if choice == "0":
        return []
    command = [os.environ.get("PKG_CONFIG", "pkg-config"), "--cflags", "--libs", library]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        flags = shlex.split(done.stdout)
        compile_probe(program, [flag for flag in flags if flag.startswith("-I")])
    except (OSError, subprocess.CalledProcessError) as error:
        if choice == "1":
            reason = getattr(error, "stderr", None) or error
            raise SystemExit(f"FASTREC_{name}=1 requires {library}: {reason}") from error
        return []
    return [f"-DFASTREC_HAVE_{name}", *flags]


def library_flags() -> tuple[list[str], list[str]]:
    """Return the flags of all libraries: those of the compiler, and those of the linker."""
    flags = [flag for key, program in LIBRARIES.items() for flag in find_flags(*key, program)]
    linked = [flag for flag in flags if flag.startswith(("-l", "-L"))]
    return [flag for flag in flags if flag not in linked], linked


if __name__ == "__main__":
    print(shlex.join(library_flags()[sys.argv[1:] == ["--libs"]]))
