# SPDX-License-Identifier: Apache-2.0
"""Names of files that accompany record files and are never read as records."""

from __future__ import annotations

__all__ = ["is_side_file", "is_side_folder"]

# Indexes; what `fastrec images`, manifests and tfds write; markers and checksums of Hadoop;
# files that a killed writer, upload or repair leaves behind.
_SUFFIXES = (
    ".frindex",
    ".frcolumns",
    ".idx",
    ".json",
    "-labels.txt",
    ".labels.txt",
    ".crc",
    ".damaged",
    ".part",
    ".tmp",
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
    return name.endswith(_SUFFIXES) or name == "_SUCCESS"


def is_side_folder(name: str) -> bool:
    """Return whether a directory with this base name holds the unfinished work of a reshard."""
    return name.endswith(".reshard")
