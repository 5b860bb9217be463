# SPDX-License-Identifier: Apache-2.0
"""The memory of batches: taken by others without a copy, used again, bounded; and bad records."""

from __future__ import annotations

import gc
import os
import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import reference
from verbs import flip, gzipped, offsets_of, write_examples

import fastrec
from fastrec import Batcher

pytestmark = pytest.mark.slow

FEATURES = {
    "i": fastrec.FixedLenFeature((), np.int64),
    "x": fastrec.RawFeature((64, 3), np.uint8),
    "f": fastrec.FixedLenFeature((5,), np.float32),
}


def row(i: int) -> dict[str, Any]:
    return {"i": i, "x": np.full((64, 3), i % 256, np.uint8), "f": [float(i)] * 5}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_examples(tmp_path_factory.mktemp("memory") / "file", map(row, range(400)))


def test_every_column_can_be_taken_through_dlpack_without_a_copy(path: Path) -> None:
    for batch in Batcher(path, FEATURES, 32):
        for column in batch.values():
            taken = np.from_dlpack(column)
            assert np.shares_memory(taken, column)
            assert column.ctypes.data % 64 == 0
            assert column.flags.writeable
            assert column.flags.c_contiguous


def test_torch_takes_every_column_without_a_copy(path: Path) -> None:
    torch = pytest.importorskip("torch")
    kept = []
    for batch in Batcher(path, FEATURES, 32, shuffle=True, threads=3):
        for column in batch.values():
            for tensor in (torch.from_numpy(column), torch.from_dlpack(column)):
                assert tensor.data_ptr() == column.ctypes.data
        kept.append((torch.from_numpy(batch["x"]), torch.from_numpy(batch["i"])))
    for x, i in kept:  # tensors keep their memory, however long
        assert (x[:, 0, 0].numpy() == (i.numpy() % 256)).all()


class FakeTorch(ModuleType):
    """As much of torch as page-locked memory takes."""

    uint8 = np.uint8

    def __init__(self, accelerator: bool) -> None:
        super().__init__("torch")
        self.cuda = SimpleNamespace(is_available=lambda: accelerator)
        self.blocks: list[Any] = []

    def empty(self, size: int, *, dtype: Any, pin_memory: bool) -> Any:
        assert pin_memory
        room = np.empty(size + 64, dtype)
        begin = -room.ctypes.data % 64
        self.blocks.append(room[begin : begin + size])
        return SimpleNamespace(numpy=lambda: self.blocks[-1])

    def owns(self, column: Any) -> bool:
        return any(np.shares_memory(column, block) for block in self.blocks)


@pytest.mark.filterwarnings("ignore:none of 1200 records has feature 'j'")
@pytest.mark.parametrize("options", [{}, {"shuffle": True}, {"transform": dict, "threads": 3}])
def test_pinned_batches_are_made_in_memory_of_torch(
    path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    torch = FakeTorch(accelerator=True)
    monkeypatch.setitem(sys.modules, "torch", torch)
    options = {"seed": 3, "threads": 2, "prefetch": 1, **options}
    features = {**FEATURES, "j": fastrec.VarLenFeature(np.int64)}
    expected = list(Batcher(path, features, 30, epochs=3, **options))
    batcher = Batcher(path, features, 30, epochs=3, pin_memory=True, **options)
    assert not torch.blocks
    for batch, other in zip(batcher, expected, strict=True):
        for name in FEATURES:
            assert torch.owns(batch[name])
            assert (batch[name] == other[name]).all()
        assert not torch.owns(batch["j"].indices)
        del batch
    assert len(torch.blocks) <= 2 * (3 + 1) + 2
    batcher.set_epoch(0)
    kept = list(batcher)  # more than there are blocks: the others are in ordinary memory
    assert sum(torch.owns(batch["x"]) for batch in kept) == len(torch.blocks)
    torch.blocks.clear()
    del batcher
    gc.collect()
    for batch, other in zip(kept, expected, strict=True):
        assert all((batch[name] == other[name]).all() for name in FEATURES)


def test_pinned_batches_of_a_stream_are_too(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = FakeTorch(accelerator=True)
    monkeypatch.setitem(sys.modules, "torch", torch)
    (tmp_path / "gz").write_bytes(gzipped(path.read_bytes()))
    for batch in Batcher(tmp_path / "gz", FEATURES, 30, pin_memory=True):
        assert all(map(torch.owns, batch.values()))


def test_without_torch_or_an_accelerator_nothing_is_pinned(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="requires torch"):
        next(iter(Batcher(path, FEATURES, 30, pin_memory=True)))
    monkeypatch.setitem(sys.modules, "torch", FakeTorch(accelerator=False))
    with pytest.warns(RuntimeWarning, match="no accelerator"):
        batches = list(Batcher(path, FEATURES, 30, pin_memory=True))
    assert sum(len(batch["i"]) for batch in batches) == 400


def test_torch_itself_pins_batches(path: Path) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no accelerator here")
    for batch in Batcher(path, FEATURES, 30, pin_memory=True):
        for name in FEATURES:
            tensor = torch.from_numpy(batch[name])
            assert tensor.is_pinned()
            assert (tensor.to("cuda", non_blocking=True).cpu().numpy() == batch[name]).all()


def test_memory_of_dropped_batches_is_used_again(path: Path) -> None:
    seen: set[int] = set()
    batches = iter(Batcher(path, FEATURES, 10, epochs=5, threads=2, prefetch=2))
    for batch in batches:
        seen.add(batch["x"].ctypes.data)
        del batch
    assert len(seen) <= 2 + 2 + 2


def test_batches_that_are_kept_stay_as_they_are(path: Path) -> None:
    kept = list(Batcher(path, FEATURES, 10, shuffle=True, threads=3, epochs=2))
    assert len({batch["x"].ctypes.data for batch in kept}) == len(kept)
    for batch in kept:
        assert (batch["x"] == (batch["i"] % 256).astype(np.uint8)[:, None, None]).all()


@pytest.mark.unsanitized
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
@pytest.mark.parametrize("options", [{}, {"transform": len}, {"buckets": None, "batch_size": None}])
def test_a_soak_leaves_memory_threads_and_descriptors_flat(path: Path, options: Any) -> None:
    def look() -> tuple[int, int, int]:
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * 4096, threading.active_count(), len(os.listdir("/proc/self/fd"))

    batches = iter(
        Batcher(
            path, FEATURES, **{"batch_size": 8, **options}, shuffle=True, epochs=None, threads=2
        )
    )
    for _ in range(2000):
        next(batches)
    before = look()
    for _ in range(8000):
        next(batches)
    after = look()
    batches.close()
    assert after[1:] == before[1:]
    assert after[0] - before[0] < 2 << 20


@pytest.mark.parametrize("kind", ["plain", "packed"])
@pytest.mark.parametrize("options", [{}, {"shuffle": 20}, {"interleave": 2}], ids=str)
def test_bad_records_are_left_out_when_asked(tmp_path: Path, kind: str, options: Any) -> None:
    records = [reference.encode(row(i)) for i in range(50)]
    data = flip(reference.write_frames(records), 8 * (offsets_of(records)[33] + 40))
    path = tmp_path / "file"
    path.write_bytes(data if kind == "plain" else gzipped(data))
    with pytest.raises(fastrec.CorruptRecordError):
        list(Batcher(path, FEATURES, 10, **options))
    batcher = Batcher(path, FEATURES, 10, on_error="skip", seed=1, **options)
    seen = [i for batch in batcher for i in batch["i"].tolist()]
    assert sorted(seen) == [i for i in range(50) if i != 33]
    assert len(batcher.skipped) == 1


# --- pages that were read -------------------------------------------------------------------------


def referenced(path: Path) -> int:
    """Bytes of the file's mapping that the system takes to be in use."""
    total, here = 0, False
    with open("/proc/self/smaps") as lines:
        for line in lines:
            if "-" in line.split(" ", 1)[0]:
                here = str(path) in line
            elif here and line.startswith("Referenced:"):
                total += int(line.split()[1]) * 1024
    return total


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps"), reason="needs Linux")
@pytest.mark.parametrize(
    "order", [{}, {"shuffle": fastrec.BlockShuffle(64, 4), "seed": 0}], ids=str
)
def test_what_was_read_is_let_go(tmp_path: Path, order: dict[str, Any]) -> None:
    path = tmp_path / "file"
    with fastrec.Writer(path) as writer:
        writer.write_many(os.urandom(1000) for _ in range(8000))
    sizes, found = {}, {}
    for drop in (False, True):
        batcher = Batcher(path, None, 50, threads=1, drop_behind=drop, **order)
        found[drop] = [list(batch) for batch in batcher]
        sizes[drop] = referenced(path)
        batcher.close()
        del batcher
        gc.collect()
    assert found[False] == found[True]
    assert sizes[False] > 6_000_000
    assert sizes[True] < sizes[False] / 4
