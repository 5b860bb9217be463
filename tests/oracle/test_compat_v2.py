# SPDX-License-Identifier: Apache-2.0
"""The same programs under TensorFlow and under ``fastrec.compat.v2``."""

from __future__ import annotations

from typing import Any

import pytest
from v2_image_programs import PROGRAMS as IMAGE_PROGRAMS
from v2_programs import PROGRAMS, alike, results, write
from v2_published_images import PROGRAMS as PUBLISHED_IMAGES
from v2_published_programs import PROGRAMS as PUBLISHED

import fastrec.compat.v2 as ours

CLOSE = {**IMAGE_PROGRAMS, **PUBLISHED, **PUBLISHED_IMAGES}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("v2") / "rows.tfrecord")


EAGER = {
    "decisions",
    "py function",
    "window",
    "window stride",
}  # what is known of their elements differs


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_data_sets(tf: Any, path: str, name: str, fast: bool) -> None:
    expected = results(tf, PROGRAMS[name], path)
    before = ours.data.set_lowering(fast)
    try:
        found = results(ours, PROGRAMS[name], path)
    finally:
        ours.data.set_lowering(before)
    if name not in EAGER:
        assert found[0] == expected[0]
        assert found[1] == expected[1]
    assert found[2:] == expected[2:]


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("name", CLOSE)
def test_images_chance_and_published(tf: Any, path: str, name: str, fast: bool) -> None:
    program = CLOSE[name]
    expected = results(tf, program, path)
    before = ours.data.set_lowering(fast)
    try:
        found = results(ours, program, path)
    finally:
        ours.data.set_lowering(before)
    assert alike(found, expected), (found, expected)
