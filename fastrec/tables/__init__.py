# SPDX-License-Identifier: Apache-2.0
"""Record files converted to and from tables' files; requires pyarrow."""

from __future__ import annotations

from .scan import Scan, scan

__all__ = ["Scan", "scan"]
