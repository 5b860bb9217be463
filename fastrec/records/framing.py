# SPDX-License-Identifier: Apache-2.0
"""Sizes of the parts of a record's frame."""

from __future__ import annotations

__all__ = ["FRAME_OVERHEAD", "HEADER_SIZE", "HEAD_SIZE"]

HEADER_SIZE = 12
HEAD_SIZE = 512  # number of initial bytes that show the compression of a file
"""Bytes of the length and of the checksum of the length."""
FRAME_OVERHEAD = 16
"""Bytes of the header and of the checksum of the data."""
