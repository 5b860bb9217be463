# SPDX-License-Identifier: Apache-2.0
"""Detection of what files, values and records contain, for messages and labels.

Detection reads a bounded number of bytes, never raises for any content, and runs only in error
paths and in commands that describe data.
"""

from __future__ import annotations

from .content import LINE_ENDS, UNKNOWN, Content
from .files import EXAMINED, explain_damage, file_content
from .messages import message_content
from .values import image_format, image_size, value_content

__all__ = [
    "EXAMINED",
    "LINE_ENDS",
    "UNKNOWN",
    "Content",
    "explain_damage",
    "file_content",
    "image_format",
    "image_size",
    "message_content",
    "value_content",
]
