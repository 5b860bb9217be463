# SPDX-License-Identifier: Apache-2.0
"""The ``awscrt`` package: checksums alone."""

from __future__ import annotations

import importlib.metadata

from awscrt import checksums

from . import crc

__all__ = ["JOBS", "versions"]

JOBS = crc.jobs(checksums.crc32c)


def versions() -> dict[str, str]:
    return {"awscrt": importlib.metadata.version("awscrt")}
