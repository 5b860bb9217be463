# SPDX-License-Identifier: Apache-2.0
"""Write the start and size of each record of a file, one line per record.

``python -m fastrec.compat.tfrecord.tools.tfrecord2idx FILE INDEX`` or ``... DIRECTORY``.
"""

from __future__ import annotations

import glob
import os
import sys
from typing import Any

import fastrec

__all__ = ["create_index", "create_indices", "main"]

_USAGE = """Usage:
  tfrecord2idx <tfrecord path> <index path>   make the index of one file
  tfrecord2idx <tfrecord dir>                 make X.tfindex of every X.tfrecord in it"""


def create_index(tfrecord_file: Any, index_file: Any) -> None:
    """Write the index of one file.

    Raises
    ------
    OSError, CorruptRecordError, TruncatedFileError
        If the file is damaged; nothing is written then.
    """
    fastrec.Index.build(tfrecord_file).write_text(index_file, overwrite=False)


def create_indices(tfrecord_dir: Any) -> None:
    """Write ``X.tfindex`` for every ``X.tfrecord`` in a directory."""
    directory = glob.escape(os.fspath(tfrecord_dir))
    for path in sorted(glob.glob(os.path.join(directory, "*.tfrecord"))):
        create_index(path, os.path.splitext(path)[0] + ".tfindex")


def main() -> None:
    """Run the command line."""
    if len(sys.argv) not in (2, 3):
        print(_USAGE)
        sys.exit()
    try:
        if os.path.isdir(sys.argv[1]):
            create_indices(sys.argv[1])
        elif len(sys.argv) == 2:
            sys.exit(f"{sys.argv[1]}: not a directory; name the index as well\n{_USAGE}")
        else:
            create_index(sys.argv[1], sys.argv[2])
    except (OSError, fastrec.FastrecError) as error:
        sys.exit(f"Failed to parse TFRecord. {error}")


if __name__ == "__main__":
    main()
