# SPDX-License-Identifier: Apache-2.0
"""The two extensions and their flags; everything else about the package is in pyproject.toml.

FASTREC_DEBUG=1                      no optimisation, assertions on
FASTREC_QUICK=1                      no optimisation of Cython's output: 4 s in place of 27
FASTREC_SANITIZE=address,undefined   with sanitizers (or thread)
FASTREC_COVERAGE=1                   no optimisation, counting the lines that run (gcov)
FASTREC_WERROR=1                     warnings are errors
FASTREC_HOME=https://...             the repository, for the links of the metadata and of its README

tools/libraries.py describes FASTREC_JPEG, FASTREC_PNG and FASTREC_DEFLATE. On Windows CC names a
gcc or a clang that links the C library of Python, UCRT: that of `pip install ziglang` is
`CC="python -m ziglang cc"`.
"""

from __future__ import annotations

import os
import re
import sys
from glob import glob
from pathlib import Path

from setuptools import Extension, setup

sys.path.insert(0, str(Path(__file__).with_name("tools")))
from build_ext import WINDOWS, BuildExt
from libraries import library_flags

library_compile_args, library_link_args = library_flags()
compile_args = [
    "-std=gnu11", "-O3", "-g0", "-fvisibility=hidden", "-pthread", "-Wall", "-Wextra",
    "-ffp-contract=off",  # the same floats on every machine
    "-Wno-unused-parameter",  # Cython's output has many
    *library_compile_args,
]  # fmt: skip
link_args = [*library_link_args]
if WINDOWS:  # whose threads need no library; Zig's clang knows no CRC32 unless told to
    compile_args += ["-D__USE_MINGW_ANSI_STDIO=1", "-mcrc32"]
else:
    link_args += ["-pthread"]

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


def c_files(*parts: str) -> list[str]:
    """Return the C files of these parts of ``csrc/``: all whose names begin with one of them."""
    return [file for part in parts for file in glob(f"csrc/{part}*.c")]


def extension(name: str, sources: list[str]) -> Extension:
    """Return an extension of the package, whose module is ``fastrec/native/NAME.pyx``."""
    module = f"fastrec/native/{name}.pyx"
    included = re.findall(r'^include "(.*)"$', Path(module).read_text("utf-8"), re.MULTILINE)
    return Extension(
        f"fastrec.{name}",
        sources=[module, *sorted(sources)],
        depends=[
            *sorted(glob("csrc/*/*.h") + glob("fastrec/native/*.pxd")),
            *(f"fastrec/native/{file}" for file in included),
        ],
        include_dirs=["csrc", "fastrec/native"],
        extra_compile_args=[*compile_args],
        extra_link_args=[*link_args],
    )


def readme(home: str) -> str:
    """Return README.md, with links into the repository at `home` if that is known."""
    text = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    if not home:
        return text
    text = re.sub(r"(!\[[^\]]*\]\()(?!\w+:|#)", rf"\g<1>{home}/raw/HEAD/", text)
    text = re.sub(r'((?:src|srcset)=")(?!\w+:)', rf"\g<1>{home}/raw/HEAD/", text)
    return re.sub(r"((?<!!)\[[^\]]*\]\()(?!\w+:|#)", rf"\g<1>{home}/blob/HEAD/", text)


core = c_files("base/", "format/", "files/", "example/", "batch/", "image/")
# These files of the other folders are in both extensions. Their only state is freed memory that is
# kept for the next buffer, so two copies do not have to agree.
tensor = c_files(
    "tensor/", "base/bytes", "base/cpu", "base/philox", "base/platform", "base/status",
    "base/strings", "image/image_ops", "image/pixel_format", "image/resample", "image/taps",
)  # fmt: skip
home = os.environ.get("FASTREC_HOME", "").rstrip("/")
pages = {
    "Source": home,
    "Documentation": f"{home}/tree/HEAD/docs",
    "Changelog": f"{home}/blob/HEAD/CHANGELOG.md",
    "Issues": f"{home}/issues",
}
setup(
    ext_modules=[extension("_core", core), extension("_tensor", tensor)],
    cmdclass={"build_ext": BuildExt},
    project_urls=pages if home else {},
    long_description=readme(home),
    long_description_content_type="text/markdown",
)
