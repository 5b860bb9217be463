# SPDX-License-Identifier: Apache-2.0
"""Processes of a torch.distributed group that run one function after another."""

from __future__ import annotations

import multiprocessing
import tempfile
import traceback
import warnings
from collections.abc import Callable
from typing import Any

SECONDS = 900


class RankPool:
    """The ranks of one process group.

    Starting a rank takes longer than most tests, so all tests of a session share the ranks. They
    are started again after an error, which may have left them at different barriers.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._processes: list[Any] = []
        self._pipes: list[Any] = []

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        store = tempfile.mktemp(prefix="fastrec-ranks-")
        for rank in range(self._count):
            ours, theirs = context.Pipe()
            # Not a daemon, which may not have DataLoader workers.
            process = context.Process(target=_serve, args=(rank, self._count, store, theirs))
            process.start()
            theirs.close()
            self._processes.append(process)
            self._pipes.append(ours)

    def run(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return ``function(rank, *arguments)`` of each rank.

        Raises
        ------
        AssertionError
            With the traceback of the first rank that failed, or that has not answered in time.
        """
        if not self._processes:
            self._start()
        for pipe in self._pipes:
            pipe.send((function, arguments))
        results = []
        for rank, pipe in enumerate(self._pipes):
            error, result = f"no answer within {SECONDS} s", None
            try:
                if pipe.poll(SECONDS):
                    error, result = pipe.recv()
            except EOFError:
                error = "its process ended"
            if error:
                self.kill()
                raise AssertionError(f"rank {rank}: {error}")
            results.append(result)
        return results

    def kill(self) -> None:
        """End the processes as they are."""
        for process in self._processes:
            process.kill()
            process.join()
        self._processes, self._pipes = [], []

    def close(self) -> None:
        """Let the processes leave the group and end."""
        for pipe in self._pipes:
            pipe.send(None)
        for process in self._processes:
            process.join(SECONDS)
        self.kill()


def _serve(rank: int, count: int, store: str, pipe: Any) -> None:
    import torch.distributed

    warnings.simplefilter("ignore")
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=count
    )
    while (call := pipe.recv()) is not None:
        function, arguments = call
        error, result = "", None
        try:
            result = function(rank, *arguments)
        except Exception:
            error = traceback.format_exc()
        pipe.send((error, result))
    torch.distributed.destroy_process_group()
