# SPDX-License-Identifier: Apache-2.0
"""Batches out of files, by what is in them: in order, shuffled, on one thread, compressed."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastrec
from fastrec.bench.cases import Case
from fastrec.bench.peers.ours import features_of

FileOf = Callable[[Case], str]


def exhausted(case: Case, path: str, **options: Any) -> Callable[[], None]:
    features = features_of(case)

    def once() -> None:
        for _ in fastrec.Batcher(path, features, case.batch, **options):
            pass

    return once


def test_in_order(measure: Any, case: Case, file_of: FileOf) -> None:
    path = file_of(case)
    measure(exhausted(case, path), records=case.records, size=os.path.getsize(path))


def test_one_thread(measure: Any, case: Case, file_of: FileOf) -> None:
    path = file_of(case)
    measure(exhausted(case, path, threads=1), records=case.records, size=os.path.getsize(path))


def test_shuffled(measure: Any, case: Case, file_of: FileOf) -> None:
    path = file_of(case)
    once = exhausted(case, path, shuffle=True, seed=1)
    measure(once, records=case.records, size=os.path.getsize(path))


def test_unverified(measure: Any, case: Case, file_of: FileOf) -> None:
    path = file_of(case)
    once = exhausted(case, path, verify=False)
    measure(once, records=case.records, size=os.path.getsize(path))


def test_gzip(measure: Any, case: Case, file_of: FileOf, tmp_path: Path) -> None:
    plain = Path(file_of(case)).read_bytes()
    path = tmp_path / "compressed.tfrecord.gz"
    path.write_bytes(gzip.compress(plain, 6))
    measure(exhausted(case, str(path)), records=case.records, size=len(plain))
