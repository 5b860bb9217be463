# SPDX-License-Identifier: Apache-2.0
"""Names of files that accompany record files and are never read as records."""

from __future__ import annotations

import re

__all__ = ["is_side_file", "is_side_folder"]

# Indexes; what `fastrec images`, manifests and tfds write; markers and checksums of Hadoop;
# files that a killed writer, upload or repair leaves behind.
_SIDE_FILE = re.compile(
    r"(?s).*(?:\.frindex|\.idx|\.json|[-.]labels\.txt|\.crc|\.damaged|\.part|\.tmp)|_SUCCESS"
)


def is_side_file(name: str) -> bool:
    """Return whether a file with this base name holds something other than records.

    A pattern, a directory and a list of several words in a shell pass over such files. A repaired
    copy (``x.repaired.tfrecord``) is not one of them: it is the record file once the damaged one
    is gone.

    Examples
    --------
    >>> is_side_file("train.tfrecord.frindex"), is_side_file("train.tfrecord")
    (True, False)
    """
    return _SIDE_FILE.fullmatch(name) is not None


def is_side_folder(name: str) -> bool:
    """Return whether a directory with this base name holds the unfinished work of a reshard."""
    return name.endswith(".reshard")
