# SPDX-License-Identifier: Apache-2.0
"""Records have the same numbers by index and in sequence, also after records were lost."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Captured, objects

import fastrec
from fastrec import _core, cli

FEATURES = {"id": fastrec.FixedLenFeature((), np.int64)}
COUNT = 60
OTHER = "other-file"

pytestmark = pytest.mark.filterwarnings("ignore:on_error left out")


def write(path: Path, damaged: set[int], misfits: set[int]) -> Path:
    """Write records of which some have damaged data, and others lack the feature."""
    blocks = []
    for number in range(COUNT):
        name = "other" if number in misfits else "id"
        block = bytearray(_core.frame(fastrec.encode_example({name: number})))
        block[14] ^= number in damaged
        blocks.append(bytes(block))
    path.write_bytes(b"".join(blocks))
    return path


def compressed(path: Path) -> Path:
    path.write_bytes(gzip.compress(path.read_bytes(), 1))
    return path


SOURCES: dict[str, Callable[[Path], Any]] = {
    "by number": lambda path: path,
    "bytes": lambda path: io.BytesIO(path.read_bytes()),
    "compressed": compressed,
    "two files": lambda path: [*map(compressed, (path, write(path.with_name(OTHER), set(), {7})))],
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_batcher_numbers_losses_in_the_same_way(
    tmp_path: Path, shuffle: bool, source: str, seed: int
) -> None:
    drawn = np.random.default_rng(seed).permutation(COUNT).tolist()
    damaged, misfits = set(drawn[:9]), set(drawn[9:18])
    path = write(tmp_path / "a", damaged, misfits)
    way = 20 if source == "bytes" else True  # a stream is shuffled through a buffer
    options: dict[str, Any] = {"shuffle": way, "seed": seed} if shuffle else {}
    batcher = fastrec.Batcher(SOURCES[source](path), FEATURES, 7, on_error="skip", **options)
    ids = [number for batch in batcher for number in batch["id"].tolist()]
    kept = [number for number in range(COUNT) if number not in damaged | misfits]
    assert set(ids) >= set(kept)
    assert shuffle or ids[: len(kept)] == kept
    losses = [(lost.record, lost.kind) for lost in batcher.skipped if not lost.path.endswith(OTHER)]
    expected = [(n, "data-crc") for n in damaged] + [(n, "schema") for n in misfits]
    assert sorted(losses) == sorted(expected)
    if source == "two files":
        assert [lost.record for lost in batcher.skipped if lost.path.endswith(OTHER)] == [7]


def test_each_way_to_read_in_sequence_counts_lost_records(tmp_path: Path) -> None:
    damaged, misfits = {0, 4, 8, 9, 40}, {2, 10, 41}
    path = write(tmp_path / "a", damaged, misfits)
    reader = fastrec.Reader(path, on_error="skip")
    assert len(list(reader)) == COUNT - len(damaged)
    assert {lost.record for lost in reader.skipped} == damaged
    assert {
        each.record
        for report in fastrec.verify(path, on_error="skip").reports
        for each in report.skipped
    } == damaged
    errors: list[Any] = []
    write(path, damaged, set())
    features = fastrec.infer_features(path, on_error=errors.append)
    assert list(features) == ["id"]
    assert {error.record for error in errors} == damaged


def test_an_inferred_contradiction_names_both_records(tmp_path: Path) -> None:
    records = [_core.frame(fastrec.encode_example({"x": each})) for each in (1, 2, 3, "text", 4)]
    path = tmp_path / "a"
    for lost in ({0}, {0, 2}):
        frames = [bytearray(each) for each in records]
        for number in lost:
            frames[number][14] ^= 1
        path.write_bytes(b"".join(frames))
        with pytest.raises(fastrec.ExampleParseError, match=r"in record 1, and .* in record 3 of"):
            fastrec.infer_features(path, on_error="skip")


def test_a_table_counts_lost_records(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from fastrec import arrow

    path = write(tmp_path / "a", {0, 4, 8, 9, 40}, {2, 10, 41})
    table = arrow.table(path, FEATURES, on_error="skip")
    assert len(pyarrow.table(table)) == COUNT - 8
    assert sorted(lost.record for lost in table.skipped) == [0, 2, 4, 8, 9, 10, 40, 41]


def test_a_command_selects_records_by_their_numbers(tmp_path: Path, capsys: Captured) -> None:
    path = write(tmp_path / "a", {0, 4}, set())
    words = ("cat", "--skip-damage", "--json", "--records", "3:7", path)
    assert objects(capsys, *words, status=1) == [{"id": [3]}, {"id": [5]}, {"id": [6]}]
    assert objects(capsys, "cat", "--json", "--record", 5, path) == [{"id": [5]}]


def test_a_command_that_ends_early_reports_what_it_skipped(
    tmp_path: Path, capsys: Captured
) -> None:
    path = write(tmp_path / "a", {0, 4}, set())
    assert cli.main(["head", "-n", "2", "--skip-damage", str(path)]) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines() == ['{"id": 1}', '{"id": 2}']
    assert "record 0 at offset 0" in printed.err
    assert "record 4" not in printed.err
