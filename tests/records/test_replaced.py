# SPDX-License-Identifier: Apache-2.0
"""Files that are replaced between two passes of one reader."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from verbs import gzipped, number_records, write, zlibbed

import fastrec

OLD, NEW = number_records(100), number_records(200, 1000)

PASSES: dict[str, Callable[[fastrec.Reader], Any]] = {
    "iter": list,
    "views": lambda reader: list(reader.views()),
    "blocks": lambda reader: list(reader.blocks(7)),
}


@pytest.mark.parametrize("one_pass", PASSES.values(), ids=PASSES)
@pytest.mark.parametrize("pack", [bytes, gzipped, zlibbed])
@pytest.mark.parametrize("replace", [True, False])
def test_a_pass_agrees_with_the_numbers_of_the_records(
    tmp_path: Path,
    one_pass: Callable[[fastrec.Reader], Any],
    pack: Callable[[bytes], bytes],
    replace: bool,
) -> None:
    old, path, other = (tmp_path / name for name in ("old", "a", "b"))
    path.write_bytes(pack(write(old, OLD).read_bytes()))
    write(other, NEW)
    reader = fastrec.Reader([path, other])
    if pack is not bytes:
        reader = fastrec.Reader(path)
    assert reader[99] == OLD[99]
    one_pass(reader)
    new = pack(write(tmp_path / "new", NEW).read_bytes())
    if replace:
        (tmp_path / "c").write_bytes(new)
        os.replace(tmp_path / "c", path)
    else:
        path.unlink()
        path.write_bytes(new)
    with pytest.raises(
        fastrec.CorruptRecordError, match=r"a. was replaced or written to"
    ) as caught:
        one_pass(reader)
    assert (caught.value.kind, caught.value.path) == ("changed", str(path))
    assert list(fastrec.Reader(path)) == NEW
    path.unlink()
    with pytest.raises(FileNotFoundError):
        one_pass(reader)


def test_a_reader_without_numbers_reads_the_files_as_they_are(tmp_path: Path) -> None:
    path = write(tmp_path / "a", OLD)
    reader = fastrec.Reader(path)
    assert list(reader.views()) == OLD
    write(tmp_path / "b", NEW)
    os.replace(tmp_path / "b", path)
    assert list(reader.views()) == NEW
    assert len(reader) == 200
