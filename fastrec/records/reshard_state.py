# SPDX-License-Identifier: Apache-2.0
"""Progress of :func:`fastrec.reshard`, which a JSON file in the job's directory stores."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any

from numpy.typing import NDArray

from .. import _core
from .byte_sources import NamedFile

__all__ = ["STATE_FILE", "JobState"]

STATE_FILE = "state.json"
_LISTS, _NUMBERS = ("counts", "sizes", "shards"), ("bytes", "dealt")


@dataclass
class JobState:
    """Arguments and progress of a job.

    Attributes
    ----------
    plan : dict
        Arguments, and the identity of each source; a resumed job must have the same.
    counts : list of int
        Number of records in each source.
    bytes : int
        Size of all records.
    seed : int or None
        Seed of the order; None keeps the order of the sources.
    dealt : int
        Number of records in buckets at the last checkpoint.
    sizes : list of int
        Size of each bucket at that checkpoint, in bytes.
    shards : list of int
        Number of records in each finished file.
    publishing : bool
        Whether files may have been published already.
    """

    plan: dict[str, Any]
    counts: list[int]
    bytes: int
    seed: int | None
    dealt: int = 0
    sizes: list[int] = field(default_factory=list)
    shards: list[int] = field(default_factory=list)
    publishing: bool = False

    @classmethod
    def load(cls, folder: str) -> JobState | None:
        """Return the state in a directory; None if the job was killed before it wrote one.

        Raises
        ------
        ValueError
            If the file is damaged.
        """
        try:
            with NamedFile(os.path.join(folder, STATE_FILE)) as file:
                state = cls(**json.loads(file.read()))
            if not state._is_valid():
                raise ValueError("a value is missing or has a wrong type")
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"{folder!a} has no valid state, remove it: {error}") from None
        return state

    def save(self, folder: str) -> None:
        """Replace the file in a directory."""
        writer = _core.RecordWriter(os.path.join(folder, STATE_FILE))
        writer.write_frames(json.dumps(asdict(self)).encode(), 0)
        writer.close()

    @property
    def total(self) -> int:
        """Number of records of all sources."""
        return sum(self.counts)

    def permuted(self, begin: int, end: int) -> NDArray[Any]:
        """Return the numbers of the records at output positions `begin` to `end`."""
        assert self.seed is not None
        return _core.permuted(self.total, self.seed, 0, begin, end)

    def places_of(self, begin: int, end: int) -> NDArray[Any]:
        """Return the output positions of the records numbered `begin` to `end`."""
        assert self.seed is not None
        return _core.places_of(self.total, self.seed, 0, begin, end)

    def _is_valid(self) -> bool:
        """Check the types and the sums of a loaded state."""
        values = vars(self)
        lists = [values[name] for name in _LISTS]
        if not (isinstance(self.plan, dict) and all(isinstance(each, list) for each in lists)):
            return False
        numbers = [values[name] for name in _NUMBERS] + [n for each in lists for n in each]
        if not all(type(each) is int and 0 <= each < 2**63 for each in numbers):
            return False
        files = self.plan.get("files")
        if not (isinstance(files, list) and all(isinstance(each, list) for each in files)):
            return False
        if len(files) != len(self.counts) or self.dealt > self.total:
            return False
        seeded = self.seed is None or (type(self.seed) is int and 0 <= self.seed < 2**64)
        done = sum(self.shards)
        return seeded and (done == self.total if self.publishing else done <= self.total)
