# SPDX-License-Identifier: Apache-2.0
"""The one extension; everything else about the package is in pyproject.toml.

FASTREC_DEBUG=1                      no optimisation, assertions on
FASTREC_SANITIZE=address,undefined   with sanitizers (or thread)
FASTREC_WERROR=1                     warnings are errors
"""

from __future__ import annotations

import os
from glob import glob

from setuptools import Extension, setup

compile_args = ["-std=gnu11", "-O3", "-g0", "-fvisibility=hidden", "-pthread", "-Wall", "-Wextra"]
compile_args += ["-ffp-contract=off"]  # the same floats on every machine
compile_args += ["-Wno-unused-parameter"]  # Cython's output has many
link_args = ["-pthread"]

if os.environ.get("FASTREC_DEBUG") == "1":
    compile_args += ["-O0", "-g", "-UNDEBUG"]
if sanitizers := os.environ.get("FASTREC_SANITIZE"):
    compile_args += ["-O1", "-g", "-UNDEBUG", "-fno-omit-frame-pointer"]
    compile_args += [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]
    link_args += [f"-fsanitize={sanitizers}"]
if os.environ.get("FASTREC_WERROR") == "1":
    compile_args += ["-Werror"]

core = Extension(
    "fastrec._core",
    sources=["fastrec/_core.pyx", *sorted(glob("csrc/*.c"))],
    depends=sorted(glob("csrc/*.h") + glob("fastrec/*.px[di]")),
    include_dirs=["csrc"],
    extra_compile_args=compile_args,
    extra_link_args=link_args,
)
setup(ext_modules=[core])
