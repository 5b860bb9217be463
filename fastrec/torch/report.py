# SPDX-License-Identifier: Apache-2.0
"""Find the rank that waits longest for data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch.distributed

from .. import Batcher, Batches, Report
from .ranks import has_other_ranks

__all__ = ["report"]


def report(batches: Batches | Batcher, group: Any = None) -> Report:
    """Return the report of the rank that waits longest for data.

    In synchronous training, all ranks wait for that rank in each step. Every rank must call this
    function at the same point of the loop, and all get the same result.

    Parameters
    ----------
    batches : Batches or Batcher
        The batches of this rank. Without ``torch.distributed``, the result is ``batches.report()``.
    group : torch.distributed.ProcessGroup, optional
        The ranks to compare; by default all. With NCCL, a group of the backend gloo avoids copies
        through accelerators.

    Returns
    -------
    Report
        ``rank`` is the rank in the group, and ``ranks`` has a summary of each. ``str()`` begins
        with a line that compares this rank with the others.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_many([b"record"] * 4)
    >>> batcher = fastrec.Batcher(path)
    >>> batches = list(batcher)
    >>> report(batcher).batches
    4
    """
    if not isinstance(batches, (Batches, Batcher)):
        raise TypeError(f"batches must be Batches or a Batcher, got {type(batches).__name__}")
    own = batches.report()
    if not has_other_ranks():
        return own
    count = torch.distributed.get_world_size(group)
    values: list[Any] = [None] * count
    torch.distributed.all_gather_object(values, own.as_dict(), group=group)
    reports = [Report.from_dict(each) for each in values]
    slowest = max(range(count), key=lambda rank: reports[rank].exposed_share)
    names = ("exposed_data_loading_s", "exposed_share", "bottleneck")
    ranks = [{name: getattr(each, name) for name in names} for each in reports]
    return replace(reports[slowest], rank=slowest, ranks=ranks)
