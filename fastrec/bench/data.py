# SPDX-License-Identifier: Apache-2.0
"""The files that are measured on: written by TensorFlow where it is, by fastrec otherwise."""

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
    """A file could not be made."""


@dataclass
class Folder:
    """Makes a case's files in `path` the first time they are asked for, and keeps them."""

    path: str
    seed: int
    makers: Sequence[Contestant]
    """Processes that may write the data, in order of preference; the last is fastrec's."""

    def __post_init__(self) -> None:
        os.makedirs(self.path, exist_ok=True)
        self._maker, self._ours = self.makers[0], self.makers[-1]
        self._warm: set[str] = set()

    def of(self, case: Case) -> str:
        """The path of the case's records."""
        return self._made(case, f"{case.name}-{case.records}-{self.seed}.tfrecord", "make", "")

    def gzip_of(self, case: Case, path: str) -> str:
        """The same, compressed by zlib at level 6, as TensorFlow and gzip do."""
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
        here = job != "make" or case.name == "imagenet"  # of libraries that others lack
        maker = self._ours if here else self._maker
        answer = maker.ask("prepare", task=request)
        maker.ask("drop")
        if "error" in answer:
            raise DataFailed(f"{os.path.basename(path)}: {answer['error']}")
        _core.move(path + ".part", path, True)
