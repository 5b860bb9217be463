# SPDX-License-Identifier: Apache-2.0
"""The same program under TensorFlow's compat.v1 and under ours gives the same."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from queue_programs import PROGRAMS, Program

import fastrec.compat.v1 as ours


def run(program: Program, tf: Any, folder: Path) -> Any:
    folder.mkdir()
    with warnings.catch_warnings(), tf.Graph().as_default():
        warnings.simplefilter("ignore")  # TensorFlow advises against all of this
        return program(tf, folder)


def same(theirs: Any, mine: Any) -> None:
    if isinstance(theirs, (list, tuple)):
        assert len(theirs) == len(mine)
        for a, b in zip(theirs, mine, strict=True):
            same(a, b)
        return
    a, b = np.asarray(theirs), np.asarray(mine)
    assert a.shape == b.shape
    if a.dtype.kind == "f":
        np.testing.assert_allclose(b, a, rtol=2e-5, atol=2e-5)
    else:
        np.testing.assert_array_equal(b, a)


@pytest.mark.parametrize("name", list(PROGRAMS))
@pytest.mark.parametrize("lowered", [True, False])
def test_a_program_gives_what_tensorflow_gives(
    tf: Any, tmp_path: Path, name: str, lowered: bool
) -> None:
    from fastrec.compat.v1 import lowering

    before = lowering.set_lowering(lowered)
    try:
        mine = run(PROGRAMS[name], ours, tmp_path / "of_us")
    finally:
        lowering.set_lowering(before)
    same(run(PROGRAMS[name], tf.compat.v1, tmp_path / "of_tf"), mine)
