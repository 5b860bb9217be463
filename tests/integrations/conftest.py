# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec

COUNT = 103


@pytest.fixture(scope="session")
def columns() -> dict[str, Any]:
    """Of every kind; ``id`` is the number of the record."""
    numbers = np.arange(COUNT)
    splits = np.concatenate([[0], np.cumsum(numbers % 4)])
    return {
        "id": numbers,
        "x": np.repeat(numbers[:, None], 5, axis=1).astype(np.float32),
        "name": [b"n%d" % n for n in numbers],
        "tokens": fastrec.Ragged(np.arange(splits[-1]), splits),
    }


@pytest.fixture(scope="session")
def features() -> dict[str, Any]:
    return {
        "id": fastrec.FixedLenFeature((), np.int64),
        "x": fastrec.FixedLenFeature((5,), np.float32),
        "name": fastrec.FixedLenFeature((), bytes),
        "tokens": fastrec.RaggedFeature(np.int64),
    }


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory, columns: dict[str, Any]) -> str:
    """A glob over three files of those columns."""
    folder: Path = tmp_path_factory.mktemp("records")
    for number, (begin, end) in enumerate([(0, 40), (40, 41), (41, COUNT)]):
        with fastrec.Writer(folder / f"part-{number}.tfrecord") as writer:
            writer.write_batch({name: column[begin:end] for name, column in columns.items()})
    return str(folder / "part-*.tfrecord")
