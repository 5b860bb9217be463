# SPDX-License-Identifier: Apache-2.0
"""Find the shard of this process, from the framework or the launcher that started it."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any, NamedTuple

__all__ = ["find_rank", "find_shard", "shard_within", "torch_worker"]

# Launchers write (rank, size) to these variables; the first pair that is set counts.
VARIABLES = (
    ("RANK", "WORLD_SIZE"),  # torchrun and most other launchers
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    # The number of tasks in the step. SLURM_NTASKS is the number in the job, even in the batch
    # script, which is one process.
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
# Steps with one process: the batch script and the shell of an interactive job.
_SINGLE_STEPS = ("4294967291", "4294967290", "batch", "interactive")

_logger = logging.getLogger("fastrec")
_reported: set[str] = set()


class _Rank(NamedTuple):
    rank: int
    size: int
    origin: str


def find_shard() -> tuple[int, int]:
    """Return (index, count) of this process among the processes that train together.

    The result comes from the first of these that is imported and running: ``torch.distributed``,
    Ray Train, JAX. Otherwise it comes from environment variables: ``RANK`` and ``WORLD_SIZE``, or
    the variables of Open MPI, PMI or Slurm. Without any of them, the process is alone: (0, 1). Each
    worker process of a ``torch.utils.data.DataLoader`` has a separate shard. The result is logged
    once, at level INFO of the logger ``fastrec``, because programs that a rank starts inherit its
    environment variables.

    Raises
    ------
    ValueError
        If the environment variables are not a valid rank and size.

    Examples
    --------
    >>> import fastrec
    >>> fastrec.find_shard()  # in a process by itself
    (0, 1)
    """
    return _of_worker(find_rank())


def find_rank() -> tuple[int, int]:
    """Return (index, count) as :func:`find_shard` does, but ignore the workers of a DataLoader."""
    rank = _torch() or _ray() or _jax() or _environment()
    if rank is None:
        return 0, 1
    if rank.size > 1 and torch_worker()[1] == 1:
        report = f"shard {rank.rank} of {rank.size}, found in {rank.origin}"
        if report not in _reported:
            _reported.add(report)
            _logger.info("%s", report)
    return rank.rank, rank.size


def _of_worker(rank: tuple[int, int]) -> tuple[int, int]:
    worker, workers = torch_worker()
    return rank[0] * workers + worker, rank[1] * workers


def shard_within(known: tuple[int, int]) -> tuple[int, int]:
    """Return (index, count) as :func:`find_shard` does, where `known` is the rank of the parent.

    A spawned DataLoader worker can find its rank only in the environment.
    """
    rank = find_rank()
    return _of_worker(rank if rank[1] > 1 else known)


def torch_worker() -> tuple[int, int]:
    """Return (index, count) of this DataLoader worker; (0, 1) in other processes."""
    data: Any = sys.modules.get("torch.utils.data")
    info = None if data is None else data.get_worker_info()
    return (0, 1) if info is None else (info.id, info.num_workers)


def _torch() -> _Rank | None:
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return _Rank(distributed.get_rank(), distributed.get_world_size(), "torch.distributed")


def _ray() -> _Rank | None:
    train: Any = sys.modules.get("ray.train")
    if train is None:
        return None
    try:
        context = train.get_context()
        index, count = context.get_world_rank(), context.get_world_size()
    except RuntimeError:  # not in a training worker
        return None
    return None if index is None or count is None else _Rank(index, count, "Ray Train")


def _jax() -> _Rank | None:
    jax: Any = sys.modules.get("jax")
    distributed = getattr(jax, "distributed", None)
    if distributed is None or not getattr(distributed, "is_initialized", lambda: False)():
        return None
    return _Rank(jax.process_index(), jax.process_count(), "jax.distributed")


def _environment() -> _Rank | None:
    for rank, size in VARIABLES:
        if rank not in os.environ or size not in os.environ:
            continue
        if rank == "SLURM_PROCID" and _is_single_step(size):
            return None
        try:
            index, count = int(os.environ[rank]), int(os.environ[size])
        except ValueError:
            index, count = -1, 0
        if not 0 <= index < count:
            raise ValueError(
                f"{rank}={os.environ[rank]} and {size}={os.environ[size]} are not a rank and a "
                "size: pass shard=(index, count)"
            )
        return _Rank(index, count, f"{rank} and {size}")
    return None


def _is_single_step(size: str) -> bool:
    """Return whether this Slurm process is alone in its step, whatever `size` says of the job."""
    step = os.environ.get("SLURM_STEP_ID", os.environ.get("SLURM_STEPID"))
    # srun numbers its steps. Without a number, process 0 is the batch script, and others are not.
    is_batch = size == "SLURM_NTASKS" and step is None and os.environ["SLURM_PROCID"] == "0"
    return is_batch or step in _SINGLE_STEPS
