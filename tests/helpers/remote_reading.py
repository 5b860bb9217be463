# SPDX-License-Identifier: Apache-2.0
"""What another process does with an object: a module that spawned processes can import."""

from __future__ import annotations

from typing import Any

__all__ = ["count_in_a_process"]


def count_in_a_process(url: str, cache: str, results: Any) -> None:
    """Put the number of records into a queue, or the error."""
    import fastrec
    from fastrec.storage.options import StorageOptions

    try:
        reader = fastrec.Reader(url, storage_options=StorageOptions(cache=cache))
        results.put(len(list(iter(reader))))
    except BaseException as error:
        results.put(repr(error))
        raise
