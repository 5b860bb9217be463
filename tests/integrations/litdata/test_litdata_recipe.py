# SPDX-License-Identifier: Apache-2.0
"""The recipe of docs/coming-from.md: LitData's optimize() reads record files through fastrec."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from page_code import block_of

import fastrec

ld = pytest.importorskip("litdata", reason="litdata is not installed")

COUNT = 500
HEAD = """
import numpy as np
import fastrec

features = {
    "tokens": fastrec.FixedLenFeature((16,), np.int64),
    "text": fastrec.FixedLenFeature((), bytes),
}
"""


@pytest.fixture(autouse=True)
def tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with fastrec.Writer("tokens.tfrecord", shards=2) as writer:
        for number in range(COUNT):
            writer.write({"tokens": np.arange(number, number + 16), "text": f"text {number}"})


def optimize() -> subprocess.CompletedProcess[str]:
    """Run the recipe as a program, with two workers and parts that are small."""
    code = HEAD + block_of("coming-from", "import litdata as ld")
    code = code.replace("num_workers=4", "num_workers=2").replace("64MB", "32KB")
    code = code.replace(
        'file_ranges("tokens-*.tfrecord")', 'file_ranges("tokens-*.tfrecord", 32768)'
    )
    assert "32768" in code
    Path("recipe.py").write_text(code)
    command = [sys.executable, "recipe.py"]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_optimize_writes_each_record_once() -> None:
    done = optimize()
    assert done.returncode == 0, done.stderr
    loader = ld.StreamingDataLoader(ld.StreamingDataset("optimized", shuffle=True), batch_size=32)
    found = {}
    for batch in loader:
        for tokens, text in zip(batch["tokens"].numpy(), batch["text"], strict=True):
            found[text] = tokens
    assert len(loader.dataset) == COUNT
    assert found.keys() == {f"text {number}" for number in range(COUNT)}
    for number in range(COUNT):
        assert found[f"text {number}"].tolist() == [*range(number, number + 16)]


def test_a_damaged_record_is_named() -> None:
    [_, path] = [Path(str(path)) for path in fastrec.Reader("tokens-*.tfrecord").paths]
    data = bytearray(path.read_bytes())
    data[int(fastrec.Index.build(path).offsets[7]) + 60] ^= 4
    path.write_bytes(data)
    done = optimize()
    assert done.returncode != 0
    assert "CorruptRecordError" in done.stderr
    assert re.search(rf"{path.name}' \(record 7 of \[0:", done.stderr)
