# SPDX-License-Identifier: Apache-2.0
"""Parsed batches from :class:`fastrec.Batcher`, for pipelines that need nothing else.

Native threads then read, check and parse records ahead of time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import fastrec

from ..tracing.trace import Trace
from .pipeline import Node, lowering
from .sources import Records
from .streams import Blocks, passed_over, steps

__all__ = ["parsed_batches", "plain_files", "with_fallback"]

T = TypeVar("T")

# A Batcher first finds the record boundaries, which takes long for many small records.
_MOST_BYTES = 2 << 30


def plain_files(node: Node) -> list[str] | None:
    """Return the record files of a node if every file can be opened by name."""
    if not lowering() or not isinstance(node, Records) or node.compression is not None:
        return None
    paths = node.fixed_paths
    if not paths or not all(map(os.path.isfile, paths)):
        return None
    if sum(map(os.path.getsize, paths)) > _MOST_BYTES:
        return None
    reader = fastrec.Reader(paths, index=False)
    return None if any(map(reader.is_compressed, paths)) else paths


def parsed_batches(node: Node, trace: Trace, size: int) -> Blocks | None:
    """Return batches of `size` records, parsed as the first operation of `trace` requires.

    Return None if the trace or the node requires anything else.
    """
    if trace.parsing is None or (paths := plain_files(node)) is None:
        return None
    return _batches(paths, trace.parsing, size)


def _batches(paths: list[str], parsing: Any, size: int) -> Blocks:
    with fastrec.Batcher(paths, parsing.features, size) as batcher:
        for columns in batcher:
            found = parsing.columns(columns)
            yield len(next(iter(columns.values()))), list(found)


def with_fallback(fast: Iterator[T], slow: Callable[[], Iterator[T]]) -> Iterator[T]:
    """Yield from `fast`; after its first failure, continue with `slow` and raise its errors."""
    done = 0
    following: Callable[[int], T] | None = None

    def step() -> T:
        nonlocal done, following
        if following is None:
            try:
                found = next(fast)
            except StopIteration:
                raise
            except Exception:
                following = passed_over(slow(), done)
            else:
                done += 1
                return found
        return following(0)

    return steps(step)
