# SPDX-License-Identifier: Apache-2.0
"""Shards in step that stop at any batch are resumed by any other number of shards, exactly.

``tests/tools/elastic_cases.py`` goes through any number of random cases.
"""

from __future__ import annotations

from typing import Any

import pytest
from elastic import Files, check, check_random

import fastrec

pytestmark = pytest.mark.filterwarnings("ignore:drop_remainder")

OPTIONS: dict[str, Any] = {
    "batch_size": 3,
    "shuffle": True,
    "seed": 1,
    "epochs": 1,
    "uneven": "longer",
    "drop_remainder": False,
    "batch_across_epochs": False,
    "threads": 1,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("elastic"))


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"shuffle": False, "interleave": 2},
        {"shuffle": "blocks"},
        {"uneven": "drop", "epochs": 2},
        {"uneven": "pad", "epochs": 2, "batch_size": 7},
        {"drop_remainder": True},
        {"batch_across_epochs": True, "epochs": 2, "uneven": "pad"},
        {"batch_size": None},
        {"batch_size": None, "uneven": "drop", "epochs": 2},
        {"buckets": fastrec.Buckets("tokens")},
    ],
    ids=str,
)
@pytest.mark.parametrize(("before", "after"), [(1, 3), (2, 5), (7, 2)])
def test_every_record_comes_once_from_every_batch_on(
    files: Files, change: dict[str, Any], before: int, after: int
) -> None:
    options = OPTIONS | change
    last = 71 * options["epochs"] // (before * (options["batch_size"] or 1)) + 1
    for steps in range(0, last + 1, 1 if options["batch_size"] else 9):
        assert check(files.plain, options, [before, after], steps) == "elastic"


@pytest.mark.parametrize(
    "change", [{"shuffle": False}, {"shuffle": False, "uneven": "pad"}], ids=str
)
@pytest.mark.parametrize(("before", "after"), [(2, 3), (5, 1)])
def test_compressed_files_are_resumed_by_other_shards_too(
    files: Files, change: dict[str, Any], before: int, after: int
) -> None:
    for steps in range(71 // (3 * before) + 2):
        assert check(files.packed, OPTIONS | change, [before, after], steps) == "elastic"


@pytest.mark.parametrize(
    ("change", "steps"),
    [
        ({"shuffle": 7}, 1),
        ({"buckets": fastrec.Buckets("tokens", [1, 3])}, 1),
        ({"epochs": 2, "batch_size": 5}, 9),  # shard 0 of 2 makes 8 batches an epoch, shard 1 has 7
        ({"epochs": 2, "batch_across_epochs": True}, 20),
        ({"epochs": 2, "batch_size": None}, 50),
    ],
    ids=str,
)
def test_what_cannot_be_resumed_by_others_is_refused_by_name(
    files: Files, change: dict[str, Any], steps: int
) -> None:
    assert check(files.plain, OPTIONS | change, [2, 3], steps) == "refused"
    assert check(files.plain, OPTIONS | change, [2, 2], steps) == "elastic"
    assert check(files.plain, OPTIONS | change, [2, 3], 0) == "elastic"


@pytest.mark.parametrize("number", range(150))
def test_random_cases(files: Files, number: int) -> None:
    check_random(files, number)
