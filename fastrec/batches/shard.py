# SPDX-License-Identifier: Apache-2.0
"""Shard of this process, from the framework or the launcher that started it."""

from __future__ import annotations

import os
import sys
from typing import Any

__all__ = ["find_rank", "find_shard", "shard_within", "torch_worker"]

# Launchers write (rank, size) here; the first that is set counts.
VARIABLES = (
    ("RANK", "WORLD_SIZE"),  # torchrun and most others
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)


def find_shard() -> tuple[int, int]:
    """(index, count) of this process among those that train together; (0, 1) where it is alone.

    Asked are, in turn, ``torch.distributed``, Ray Train and JAX, each only where it is imported
    and running, and then the environment: ``RANK`` and ``WORLD_SIZE``, and what Open MPI, PMI and
    Slurm set. Each worker process of a ``torch.utils.data.DataLoader`` is a shard of its rank's.

    Raises
    ------
    ValueError
        When the environment variables are not a rank and a size.

    Examples
    --------
    >>> import fastrec
    >>> fastrec.find_shard()  # of a process by itself
    (0, 1)
    """
    return _of_worker(find_rank())


def find_rank() -> tuple[int, int]:
    """As :func:`find_shard`, of the process that trains: without the workers of a DataLoader."""
    return _torch() or _ray() or _jax() or _environment() or (0, 1)


def _of_worker(rank: tuple[int, int]) -> tuple[int, int]:
    worker, workers = torch_worker()
    return rank[0] * workers + worker, rank[1] * workers


def shard_within(known: tuple[int, int]) -> tuple[int, int]:
    """As :func:`find_shard`, in a process that may not be able to find its rank.

    A DataLoader's worker that is spawned has neither ``torch.distributed`` nor what another
    launcher than the environment's said, but comes with what its parent knew.
    """
    rank = find_rank()
    return _of_worker(rank if rank[1] > 1 else known)


def torch_worker() -> tuple[int, int]:
    """(index, count) of this worker process of a DataLoader; (0, 1) elsewhere."""
    data: Any = sys.modules.get("torch.utils.data")
    info = None if data is None else data.get_worker_info()
    return (0, 1) if info is None else (info.id, info.num_workers)


def _torch() -> tuple[int, int] | None:
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed.get_rank(), distributed.get_world_size()


def _ray() -> tuple[int, int] | None:
    train: Any = sys.modules.get("ray.train")
    if train is None:
        return None
    try:
        context = train.get_context()
        index, count = context.get_world_rank(), context.get_world_size()
    except RuntimeError:  # not inside of a training worker
        return None
    return None if index is None or count is None else (index, count)


def _jax() -> tuple[int, int] | None:
    jax: Any = sys.modules.get("jax")
    distributed = getattr(jax, "distributed", None)
    if distributed is None or not getattr(distributed, "is_initialized", lambda: False)():
        return None
    return jax.process_index(), jax.process_count()


def _environment() -> tuple[int, int] | None:
    for rank, size in VARIABLES:
        if rank not in os.environ or size not in os.environ:
            continue
        try:
            index, count = int(os.environ[rank]), int(os.environ[size])
        except ValueError:
            index, count = -1, 0
        if not 0 <= index < count:
            raise ValueError(
                f"{rank}={os.environ[rank]} and {size}={os.environ[size]} are not a rank and a "
                f"size; pass shard=(index, count)"
            )
        return index, count
    return None
