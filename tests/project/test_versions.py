# SPDX-License-Identifier: Apache-2.0
"""The description of an installation."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np

import fastrec


def described() -> dict[str, str]:
    text = io.StringIO()
    fastrec.show_versions(text)
    return {
        line.split("  ")[0]: line.split("  ")[-1].strip() for line in text.getvalue().splitlines()
    }


def test_versions_name_the_package_the_processor_and_the_checksum() -> None:
    lines = described()
    assert lines["fastrec"].startswith(fastrec.__version__)
    assert lines["numpy"] == np.__version__
    assert lines["CRC32C"].startswith(fastrec.crc32c_implementation())
    assert all(lines.values())


def test_the_command_prints_versions_on_request() -> None:
    for words in (["--version", "-v"], ["-v", "--version"], ["--version", "--verbose"]):
        done = subprocess.run(
            [sys.executable, "-m", "fastrec", *words], capture_output=True, text=True, check=True
        )
        assert "CRC32C" in done.stdout
        assert not done.stderr


def test_a_package_that_is_missing_is_listed_as_such() -> None:
    from fastrec.bench.versions import _version_of

    assert _version_of("a-package-that-nobody-has-written") == "not installed"
