# SPDX-License-Identifier: Apache-2.0
"""Names of files that accompany record files and are never read as records."""

from __future__ import annotations

import re

__all__ = ["is_leftover", "is_side_file"]

# Indexes; files that `fastrec images`, manifests and tfds write; markers and checksums of Hadoop;
# files that a killed writer, upload or repair leaves behind.
_SUFFIXES = (
    ".frindex",
    ".frcolumns",
    ".frdataset",
    ".idx",
    ".json",
    "-labels.txt",
    ".labels.txt",
    ".crc",
    ".damaged",
    ".part",
    ".tmp",
)

# Unfinished files and directories of a writer, an upload, a reshard by tasks, Spark, and Ray.
_LEFTOVER = re.compile(
    r"\..+\.[0-9a-f]{16}\.tmp|.+\.[0-9a-f]{16}\.part|.+\.reshard(\.[0-9a-f]{32})?"
    r"|_(temporary|unfinished)-[0-9a-f]{32}",
    re.DOTALL,
)


def is_side_file(name: str) -> bool:
    """Return whether a file with this base name holds something other than records.

    A pattern, a directory and a list of several words in a shell skip such files. A repaired copy
    (``x.repaired.tfrecord``) is not a side file: it is the record file after the damaged file was
    removed.

    Examples
    --------
    >>> is_side_file("train.tfrecord.frindex"), is_side_file("train.tfrecord")
    (True, False)
    """
    return name.endswith(_SUFFIXES) or name == "_SUCCESS"


def is_leftover(name: str) -> bool:
    """Return whether a base name belongs to an unfinished file or directory of a job.

    A pattern enters a directory with such a name only if the pattern contains the name itself.

    Examples
    --------
    >>> is_leftover(".a.tfrecord.0123456789abcdef.tmp"), is_leftover("a.tmp")
    (True, False)
    """
    return _LEFTOVER.fullmatch(name) is not None
