# SPDX-License-Identifier: Apache-2.0
"""Convert record files to and from table files; requires pyarrow."""

from __future__ import annotations

from .scan import Scan, scan

__all__ = ["Scan", "scan"]
