# SPDX-License-Identifier: Apache-2.0
"""Found by Spark by its name: makes ``format("fastrec")`` known without an import."""

from __future__ import annotations

from fastrec.spark import TFRecordSource as DefaultSource

__all__ = ["DefaultSource"]
