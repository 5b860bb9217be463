# SPDX-License-Identifier: Apache-2.0
"""Files to measure: written by TensorFlow if it is installed, and by fastrec otherwise."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import _core
from .cases import Case
from .processes import Contestant
from .warm import reread

__all__ = ["DataFailed", "Folder"]


class DataFailed(Exception):
    """Raised if a file could not be created."""


@dataclass
class Folder:
    """Creates a case's files in `path` on first use, and keeps them."""

    path: str
    seed: int
    makers: Sequence[Contestant]
    """Processes that may write the data, in order of preference; the last is fastrec's."""

    def __post_init__(self) -> None:
        os.makedirs(self.path, exist_ok=True)
        self._maker, self._ours = self.makers[0], self.makers[-1]
        self._warm: set[str] = set()

    def of(self, case: Case) -> str:
        """Return the path of the case's records."""
        return self._made(case, f"{case.name}-{case.records}-{self.seed}.tfrecord", "make", "")

    def gzip_of(self, case: Case, path: str) -> str:
        """Return the path of the records, compressed at level 6, the default of TensorFlow."""
        return self._made(case, os.path.basename(path) + ".gz", "compress", path)

    def _made(self, case: Case, name: str, job: str, source: str) -> str:
        path = os.path.join(self.path, name)
        if not os.path.exists(path):
            self._make(case, path, job, source)
        if path not in self._warm:
            reread(path)
            self._warm.add(path)
        return path

    def _make(self, case: Case, path: str, job: str, source: str) -> None:
        request: dict[str, Any] = {
            "job": job,
            "variant": "",
            "case": case.to_json(),
            "path": source,
            "out": path + ".part",
            "seed": self.seed,
        }
        # These need libraries that the peers' interpreters lack.
        here = job != "make" or case.name == "imagenet"
        maker = self._ours if here else self._maker
        answer = maker.ask("prepare", task=request)
        maker.ask("drop")
        if "error" in answer:
            raise DataFailed(f"{os.path.basename(path)}: {answer['error']}")
        _core.move(path + ".part", path, True)
