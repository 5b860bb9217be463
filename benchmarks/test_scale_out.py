# SPDX-License-Identifier: Apache-2.0
"""The model of many readers, in a size of seconds: its plan is what processes fetch."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from fastrec.batches.block_shuffle import Shuffle

pytest.importorskip("obstore")
sys.path.insert(0, str(Path(__file__).parent))

import scale_model
import scale_out
from scale_model import Dataset, Store, plan_reading


def test_the_model_says_what_processes_fetch(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--megabytes", "8", "--objects", "2", "--readers", "2", "--mbytes-per-s", "1000"]
    page = scale_out.main([*words, "--latency-ms", "0", "--large", "1000", "--many", "8"])
    shares = re.findall(r"([\d.]+) \(([\d.]+)\) \| (\d+) \((\d+)\)", page)
    assert len(shares) == 2
    for measured, planned, requests, planned_requests in shares:
        assert float(measured) == pytest.approx(float(planned), rel=0.1)
        assert int(requests) == pytest.approx(int(planned_requests), abs=2)


@pytest.mark.parametrize("readers", [1, 8])
@pytest.mark.parametrize("shuffle", [False, "blocks"])
def test_a_sample_of_an_epoch_stands_for_all_of_it(
    shuffle: Shuffle, readers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = Dataset(50, 40_000, 100_000)
    monkeypatch.setattr(scale_model, "_SAMPLE_ROWS", 10**9)
    whole = plan_reading(dataset, shuffle, 0, readers, 64)
    monkeypatch.undo()
    monkeypatch.setattr(scale_model, "_SAMPLE_ROWS", 12_000 // readers)
    sample = plan_reading(dataset, shuffle, 0, readers, 64)
    assert sample.size == pytest.approx(whole.size, rel=0.1)
    assert sample.requests == pytest.approx(whole.requests, rel=0.2)


def test_a_store_answers_so_many_requests_a_second() -> None:
    store = Store(latency_s=0.01, bytes_per_s=1e9, requests_per_s=1000, prefixes=2)
    assert store.seconds(16, 0, 1) == pytest.approx(0.02)
    assert store.seconds(16, 5e9, 1) == pytest.approx(5.01)
    assert store.seconds(200, 0, 100) == pytest.approx(10.01)
    assert store.price(1_000_000, 10) == pytest.approx(4.0)
