# SPDX-License-Identifier: Apache-2.0
"""Parsing examples, by what is in them: in memory; protobuf and memcpy beside it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

import fastrec
from fastrec.bench.cases import Case
from fastrec.bench.peers.ceiling import memcpy
from fastrec.bench.peers.ours import features_of
from fastrec.train import Example

FileOf = Callable[[Case], str]


def test_parse(measure: Any, case: Case, file_of: FileOf) -> None:
    (records,) = fastrec.Reader(file_of(case)).blocks(case.records)
    features = features_of(case)
    blocks = [records[i : i + case.batch] for i in range(0, len(records), case.batch)]

    def once() -> None:
        for block in blocks:
            fastrec.parse_example(block, features)

    measure(once, records=case.records, size=records.nbytes)


def test_protobuf(measure: Any, case: Case, file_of: FileOf) -> None:
    records = fastrec.Reader(file_of(case))[:100]

    def once() -> None:
        for record in records:
            Example.FromString(record)

    measure(once, records=len(records), size=sum(map(len, records)))


def test_ceiling_memcpy(measure: Any, case: Case, file_of: FileOf) -> None:
    size = os.path.getsize(file_of(case))
    piece = size // case.records * case.batch
    measure(memcpy(np.ones(size, np.uint8), piece), records=case.records, size=size)
