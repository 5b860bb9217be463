# SPDX-License-Identifier: Apache-2.0
"""The ``google-crc32c`` package: checksums alone."""

from __future__ import annotations

import importlib.metadata

import google_crc32c

from . import crc

__all__ = ["JOBS", "versions"]

JOBS = crc.jobs(google_crc32c.value)


def versions() -> dict[str, str]:
    return {"google-crc32c": importlib.metadata.version("google-crc32c")}
