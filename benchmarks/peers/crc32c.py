# SPDX-License-Identifier: Apache-2.0
"""The ``crc32c`` package: checksums alone."""

from __future__ import annotations

import importlib.metadata

import crc32c

from . import crc

__all__ = ["JOBS", "versions"]

JOBS = crc.jobs(crc32c.crc32c)


def versions() -> dict[str, str]:
    return {"crc32c": importlib.metadata.version("crc32c")}
