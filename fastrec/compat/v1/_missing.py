# SPDX-License-Identifier: Apache-2.0
"""Error message for names that are not covered."""

from __future__ import annotations

__all__ = ["error"]


def error(where: str, name: str) -> AttributeError:
    """The error for ``tf.name``, or ``tf.where.name``."""
    full = f"fastrec.compat.v1.{where}" if where else "fastrec.compat.v1"
    return AttributeError(
        f"{full} has no {name!r}: it covers what reads, writes, parses, queues and batches "
        f"records, images and text, and what such programs call besides. The list is in "
        f"docs/compat-v1.md."
    )
