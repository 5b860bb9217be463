# SPDX-License-Identifier: Apache-2.0
"""Warnings name the line of the program that led to them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec

ID = {"id": fastrec.FixedLenFeature((), np.int64)}
MISSPELT = {"idd": fastrec.FixedLenFeature((), np.int64, 0)}


def with_an_index_of_another_file(path: Path) -> Any:
    index = path.with_name("other")
    with fastrec.Writer(index, index=True) as writer:
        writer.write_many([b"a record"] * 3)
    index.with_name("other.frindex").rename(path.with_name("a.frindex"))
    return fastrec.Reader(path)[0]


CALLS: dict[str, Callable[[Path], Any]] = {
    "no record has the feature": lambda path: fastrec.parse_example(fastrec.Reader(path), MISSPELT),
    "none of a pass has it": lambda path: list(fastrec.Batcher(path, MISSPELT, 8)),
    "no full batch": lambda path: list(fastrec.Batcher(path, ID, 99, drop_remainder=True)),
    "an index of another file": with_an_index_of_another_file,
}


@pytest.mark.parametrize("call", CALLS)
def test_a_warning_names_the_line_of_the_call(tmp_path: Path, call: str) -> None:
    path = tmp_path / "a"
    with fastrec.Writer(path) as writer:
        writer.write_batch({"id": np.arange(40)})
    with pytest.warns(RuntimeWarning) as caught:
        CALLS[call](path)
    assert {warning.filename for warning in caught} == {__file__}


def test_no_module_counts_the_frames_to_its_caller() -> None:
    package = Path(fastrec.__file__).parent
    counting = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"RuntimeWarning,\s+stacklevel=", path.read_text("utf-8"))
    }
    others = {name for name in counting if not name.startswith(("compat/", "cli/"))}
    # The warning of byte_sources comes from a timer, which has no caller.
    assert others == {"errors.py", "records/byte_sources.py"}
