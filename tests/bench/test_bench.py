# SPDX-License-Identifier: Apache-2.0
"""The benchmark suite measures what it says, and notices who is wrong."""

from __future__ import annotations

import importlib
import math
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec.bench import cases, native, targets, warm
from fastrec.bench.cases import CASES, RAW_CASES, Case, Columns, Ragged, Strings
from fastrec.bench.digest import Digest, of_records
from fastrec.bench.engine import Comparison, Engine, Measurement, Rules, ratio
from fastrec.bench.jobs import CEILING, JOBS, OURS, Entry, case_named
from fastrec.bench.peers import large, scatter, shards
from fastrec.bench.processes import Contestant
from fastrec.bench.worker import Task

SMALL = CASES["ragged"].scaled(0.003)


def digest_of(columns: Columns, batch: int = 7, order: Any = None) -> dict[str, int]:
    """The digest of the columns' rows in batches, in `order`."""
    rows = list(cases.rows(columns, SMALL.records))
    if order is not None:
        rows = [rows[i] for i in order]
    made = Digest()
    for at in range(0, len(rows), batch):
        made.add({name: stacked([row[name] for row in rows[at : at + batch]]) for name in columns})
    return made.result()


def stacked(values: list[Any]) -> Ragged:
    splits = np.cumsum([0, *map(len, values)])
    if isinstance(values[0], list):
        return Ragged(Strings.of([string for row in values for string in row]), splits)
    return Ragged(np.concatenate(values), splits)


@pytest.fixture(scope="module")
def columns() -> Columns:
    return cases.columns_of(SMALL, 1)


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_the_same_for_the_same_seed_and_another_for_another(name: str) -> None:
    if name == "imagenet":
        pytest.importorskip("PIL")
    case = CASES[name].scaled(0.0001)
    first, again, other = (cases.columns_of(case, seed) for seed in (1, 1, 2))
    results = []
    for made in (first, again, other):
        assert list(made) == [field.name for field in case.fields]
        digest = Digest()
        digest.add(made)
        results.append(digest.result())
    assert results[0] == results[1] != results[2]
    assert results[0]["rows"] == case.records


def test_the_digest_does_not_depend_on_how_rows_are_batched(columns: Columns) -> None:
    whole = Digest()
    whole.add(columns)
    assert digest_of(columns, 7) == digest_of(columns, 50) == whole.result()


def test_the_digest_of_shuffled_rows_agrees_in_the_sum_alone(columns: Columns) -> None:
    order = np.random.default_rng(0).permutation(SMALL.records)
    straight, shuffled = digest_of(columns), digest_of(columns, order=order)
    assert straight["shuffled"] == shuffled["shuffled"]
    assert straight["ordered"] != shuffled["ordered"]


def test_the_digest_sees_a_row_doubled_in_place_of_another(columns: Columns) -> None:
    order = np.arange(SMALL.records)
    order[3] = 4
    assert digest_of(columns)["shuffled"] != digest_of(columns, order=order)["shuffled"]


def test_the_digest_sees_rows_that_are_torn(columns: Columns) -> None:
    torn = dict(columns)
    ids = columns["ids"]
    assert isinstance(ids, Ragged)
    splits = ids.splits.copy()
    splits[5] += 1 if splits[5] < splits[6] else -1
    torn["ids"] = Ragged(ids.values, splits)
    assert digest_of(columns)["shuffled"] != digest_of(torn)["shuffled"]


def test_the_digest_sees_one_value_that_differs_and_two_columns_changed_about() -> None:
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    results = []
    for a, b in ((values, values + 1), (values + 1, values), (values, values + [[0, 0, 1]] + 1)):
        digest = Digest()
        digest.add({"a": a.astype(np.float32), "b": b.astype(np.float32)})
        results.append(digest.result()["ordered"])
    assert len(set(results)) == 3


def test_records_have_a_digest_too() -> None:
    records = [b"one", b"two", b""]
    straight, turned = of_records(records), of_records(records[::-1])
    assert straight["rows"] == 3
    assert straight["shuffled"] == turned["shuffled"]
    assert straight["ordered"] != turned["ordered"]
    assert of_records([b"one", b"twp", b""])["shuffled"] != straight["shuffled"]


def test_columns_come_back_from_a_file(columns: Columns, tmp_path: Path) -> None:
    path = str(tmp_path / "columns.npz")
    Path(path).write_bytes(cases.packed(columns))
    assert digest_of(cases.load(path)) == digest_of(columns)


def test_rereading_a_file_changes_nothing_in_it(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(range(256)) * 5000)
    warm.reread(str(path))
    assert path.read_bytes() == bytes(range(256)) * 5000


def test_a_case_comes_back_from_json() -> None:
    for case in (*CASES.values(), *RAW_CASES.values()):
        assert Case.from_json(case.to_json()) == case


def test_every_case_of_every_job_is_known() -> None:
    for job in JOBS.values():
        for name in job.cases:
            assert case_named(name, 0.1).name == name


def made(seconds: list[float], records: int, entry: Entry) -> Measurement:
    return Measurement(entry, records, seconds, agrees=True)


def test_a_ratio_is_between_medians_of_a_record_with_paired_rounds_around_it() -> None:
    ours = made([1.0, 2.0, 3.0], 10, Entry(OURS))
    peer = made([2.0, 8.0, 6.0], 5, Entry("tensorflow"))
    assert ratio(peer, ours) == pytest.approx((6.0, 4.0, 8.0))
    assert math.isnan(ratio(made([], 1, Entry("bagz")), ours)[0])


def comparison(ours: Measurement, *others: Measurement) -> Comparison:
    return Comparison(JOBS["parse"], CASES["cifar"], 1000, [ours, *others])


def test_a_target_says_how_short_it_is() -> None:
    ours = made([1.0, 1.0, 1.0], 1, Entry(OURS))
    peer = made([12.0, 12.0, 12.0], 1, Entry("tensorflow"))
    copy = made([0.8, 0.8, 0.8], 1, Entry(CEILING, "memcpy"))
    rows = targets.verdicts([comparison(ours, peer, copy)], [])
    times = next(row for row in rows if row.against == "tensorflow")
    beside = next(row for row in rows if row.against == "memcpy")
    assert (times.wanted, times.text) == ("15x", "short by 20 %")
    assert (beside.wanted, beside.text) == ("within 1.6x", "reached")


def test_a_target_whose_sides_differ_is_not_reached_however_fast() -> None:
    ours = made([1.0, 1.0, 1.0], 1, Entry(OURS))
    peer = made([99.0, 99.0, 99.0], 1, Entry("tensorflow"))
    peer.agrees = False
    row = targets.verdicts([comparison(ours, peer)], [])[0]
    assert row.got == "the results differ"
    assert not row.reached


def test_a_target_without_a_peer_is_a_gap_that_says_so() -> None:
    row = targets.verdicts([comparison(made([1.0], 1, Entry(OURS)))], [])[0]
    assert row.text == "gap"
    assert row.got == "tensorflow: not here"


def test_the_driver_in_c_is_understood(tmp_path: Path) -> None:
    text = (
        "GB/s\nwarm\n size |   read |  avx512 | memcpy\n"
        "   64 |  20.0 |  18.0  90%  3.5 |  14.0\n  128 |  20.0 |  18.0  90%  4.5 |  14.0\n"
        "  256 |  20.0 |  18.0  90%  9.5 |  14.0\n"
        "cold\n size |   read |  avx512 | memcpy\n 1024 |  30.0 |  24.0  80%  40.5 |  14.0\n"
    )
    driver = tmp_path / "driver"
    driver.write_text(f"#!{sys.executable}\nprint({text!r})\n")
    driver.chmod(0o755)
    rows = native.checksums(str(driver), "avx512")
    assert [row.text for row in rows] == ["short by 11 %", "reached", "reached", "short by 16 %"]
    assert rows[0].got == "80 % (80 to 80), 24.0 GB/s"


class Fake:
    """A contestant without a process: takes its time from a list, and makes what it is told."""

    def __init__(self, digest: dict[str, int] | None, **answer: Any) -> None:
        self.digest, self.answer, self.runs = digest, answer, 0

    def variants(self, job: str) -> list[str]:
        return [""]

    def ask(self, op: str, **request: Any) -> dict[str, Any]:
        if self.answer or op == "drop":
            return self.answer
        self.runs += op == "run"
        same = {"records": 10, "seconds": 0.1, "measures_itself": False}
        return {**same, "digest": self.digest}


DIGEST = {"rows": 10, "ordered": 1, "shuffled": 2, "head": 3}


def compare(**peers: Any) -> dict[str, Measurement]:
    everybody: Any = {OURS: Fake(DIGEST), **peers}
    engine = Engine(everybody, everybody[OURS], Rules(rounds=5, budget_s=60), "")
    found = engine.compare(JOBS["parse"], CASES["cifar"], "")
    return {m.entry.peer: m for m in found.measurements}


def test_who_makes_something_else_is_found_out() -> None:
    found = compare(good=Fake(DIGEST), bad=Fake({**DIGEST, "ordered": 9}))
    assert (found["good"].agrees, found["bad"].agrees) == (True, False)
    assert len(found["good"].seconds) == 5


def test_who_did_a_part_is_held_against_the_head() -> None:
    part = {"rows": 5, "ordered": 7, "shuffled": 7, "head": 3}
    found = compare(part=Fake(part), bad=Fake({**part, "head": 4}))
    assert (found["part"].agrees, found["bad"].agrees) == (True, False)


def test_who_cannot_take_part_is_a_gap_and_who_fails_an_error() -> None:
    found = compare(absent=Fake(None, gap="not here"), broken=Fake(None, error="it died"))
    assert found["absent"].gap == "not here"
    assert found["broken"].error == "it died"
    assert not found["absent"].seconds
    assert len(found[OURS].seconds) == 5


def test_a_process_that_dies_is_an_error_and_is_started_again(tmp_path: Path) -> None:
    with open(tmp_path / "log", "wb") as log:
        contestant = Contestant(OURS, sys.executable, log)
        assert contestant.variants("parse")[0] == ""
        process = contestant._process
        assert process is not None
        process.kill()
        process.wait()
        answer = contestant.ask("run", variant="", passes=1)
        assert "KeyError" in answer["error"]  # a new one, which has prepared nothing
        contestant.close()


def test_a_process_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with open(tmp_path / "log", "wb") as log:
        contestant = Contestant(CEILING, sys.executable, log)
        process = contestant._process
        assert process is not None
        process.send_signal(signal.SIGSTOP)
        answer = contestant.ask("hello", timeout=0.1)
        assert answer == {"error": "it took too long"}
        contestant.close()


def test_a_peer_that_is_not_installed_is_a_gap(tmp_path: Path) -> None:
    blocked = tmp_path / "bagz.py"
    blocked.write_text("raise ImportError('there is none')")
    with open(tmp_path / "log", "wb") as log, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
        patch.chdir(Path(__file__).parents[2])  # the peers' programs are not installed
        contestant = Contestant("bagz", sys.executable, log)
        contestant.close()
        assert contestant.gap == "not installed (there is none)"


def test_the_first_batch_of_a_large_file_is_one_of_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "_SIZE", 40_000_000)
    task = Task("large", "", case_named(""), "", str(tmp_path / "out"), 1)
    trial = large.trial(task)
    assert (tmp_path / "out").stat().st_size > 39_000_000
    trial.once()  # which looks at what it gets
    assert trial.close is not None
    trial.close()
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="drops nothing from memory")
@pytest.mark.parametrize(
    ("peer", "variant"), [("ours", ""), ("ceiling", "pread(2)"), ("ceiling", "read(2)")]
)
def test_cold_trials_say_how_long_they_took(tmp_path: Path, peer: str, variant: str) -> None:
    case = CASES["cifar"].scaled(0.01)
    path = tmp_path / "cifar.tfrecord"
    with fastrec.Writer(path) as writer:
        columns = cases.columns_of(case, 1)
        for row in cases.rows(columns, case.records):
            writer.write(row)
    task = Task("cold", variant, case, str(path), str(tmp_path / "out"), 1)
    start = importlib.import_module(f"fastrec.bench.peers.{peer}").JOBS["cold"][variant]
    trial = start(task)
    began = time.perf_counter()
    seconds = trial.once()
    assert trial.measures_itself
    assert 0 < seconds <= time.perf_counter() - began
    assert trial.close is not None
    trial.close()
    assert not path.with_name(path.name + ".frindex").exists()


def test_small_records_are_scattered_over_one_file_and_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"_RECORDS": 6000, "_FILES": 30, "_PASS": 5000}.items():
        monkeypatch.setattr(scatter, name, value)
    for start in scatter.jobs().values():
        trial = start(Task("scatter", "", case_named(""), "", str(tmp_path / "out"), 1))
        trial.once()
        assert trial.records == 5000 // 512 * 512
        assert trial.close is not None
        trial.close()
    files = list(tmp_path.iterdir())
    assert len(files) == 1 + 30
    assert sum(map(fastrec.count, map(str, files))) == 2 * 6000
    size = next(file for file in files if file.name.endswith("-of-1")).stat().st_size
    assert size // 6000 - 16 in range(40, 45)
    trial = scatter.index_size(Task("index size", "", case_named(""), "", str(tmp_path / "out"), 1))
    assert trial.measures_itself
    assert 0 < trial.once() < 2.5 * 6000


def test_shards_are_opened_and_shuffled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"_SHARDS": 25, "_LINKS": 10, "_RECORDS": 300, "_BATCHES": 4, "_BATCH": 32}
    for name, value in sizes.items():
        monkeypatch.setattr(shards, name, value)
    for start in shards.jobs().values():
        trial = start(Task("shards", "", case_named(""), "", str(tmp_path / "out"), 1))
        found = trial.once()
        assert found > 0 if trial.measures_itself else found is None
    assert len(list(tmp_path.glob("*.tfrecord"))) == 25
    assert len({file.stat().st_ino for file in tmp_path.iterdir()}) == 2 * 3 + 1  # and the manifest
