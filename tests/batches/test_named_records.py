# SPDX-License-Identifier: Apache-2.0
"""An error about a record names its file and its number there, in every order of every source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastrec

FEATURES = {"x": fastrec.FixedLenFeature((), np.int64)}
SOUND = fastrec.encode_example({"x": 1})
MISFIT = fastrec.encode_example({"x": [1, 2]})

ORDERS: list[dict[str, Any]] = [
    {},
    {"interleave": 2},
    {"interleave": 3},
    {"shuffle": 7, "seed": 1},
    {"shuffle": 7, "seed": 1, "interleave": 2},
    {"shuffle": "blocks", "seed": 1},
    {"threads": 3, "interleave": 2},
    {"transform": dict, "interleave": 2},
    {"shuffle": 5, "seed": 1, "batch_across_epochs": True, "epochs": 2},
]


@pytest.mark.parametrize("compression", [None, "GZIP"])
@pytest.mark.parametrize("options", ORDERS, ids=str)
@settings(max_examples=15)
@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=5), draw=st.data())
def test_an_error_names_the_file_of_its_record(
    tmp_path: Path, compression: Any, options: dict[str, Any], counts: list[int], draw: Any
) -> None:
    file = draw.draw(st.integers(0, len(counts) - 1))
    counts[file] += 1
    row = draw.draw(st.integers(0, counts[file] - 1))
    paths = []
    for number, count in enumerate(counts):
        paths.append(str(tmp_path / f"{number}.tfrecord"))
        with fastrec.Writer(paths[-1], compression=compression, overwrite=True) as writer:
            writer.write_many(
                MISFIT if (number, each) == (file, row) else SOUND for each in range(count)
            )
    batches = fastrec.Batcher(paths, FEATURES, 4, **options)
    with pytest.raises(fastrec.ExampleParseError, match="expected 1 value, found 2") as caught:
        list(batches)
    assert (caught.value.path, caught.value.record) == (paths[file], row)


@pytest.mark.parametrize("compression", [None, "GZIP"])
@pytest.mark.parametrize("options", ORDERS, ids=str)
def test_skipped_records_have_their_file(
    tmp_path: Path, compression: Any, options: dict[str, Any]
) -> None:
    paths = []
    for number in range(5):
        paths.append(str(tmp_path / f"{number}.tfrecord"))
        with fastrec.Writer(paths[-1], compression=compression) as writer:
            writer.write_many([SOUND] * (3 + number) + [MISFIT] + [SOUND] * 20)
    batcher = fastrec.Batcher(paths, FEATURES, 4, on_error="skip", **options)
    list(batcher)
    found = {(each.path, each.record) for each in batcher.skipped}
    assert found == {(path, 3 + number) for number, path in enumerate(paths)}
