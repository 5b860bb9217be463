# SPDX-License-Identifier: Apache-2.0
"""Results stay valid when the objects that made them are gone; and all memory is freed."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from verbs import (
    gzipped,
    native_threads,
    number_records,
    open_descriptors,
    run_python,
    write,
    write_examples,
)

import fastrec
from fastrec.records.byte_sources import NamedFile
from fastrec.records.packed import inflate_whole
from fastrec.records.record_files import RecordFiles

pytestmark = pytest.mark.slow

FEATURES: dict[str, Any] = {
    "i": fastrec.FixedLenFeature((), np.int64),
    "image": fastrec.RawFeature((8, 8), np.uint8),
    "floats": fastrec.RaggedFeature(np.float32),
    "words": fastrec.RaggedFeature(bytes),
    "name": fastrec.FixedLenFeature((), bytes),
}


def row(i: int) -> dict[str, Any]:
    return {
        "i": i,
        "image": np.full((8, 8), i % 256, np.uint8),
        "floats": [float(i)] * (i % 3),
        "words": [b"%d" % i] * (i % 4),
        "name": b"name %d" % i,
    }


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_examples(tmp_path_factory.mktemp("lifetime") / "file", map(row, range(200)))


def arrays_of(batch: dict[str, Any]) -> list[np.ndarray]:
    arrays: list[np.ndarray] = []
    for column in batch.values():
        if isinstance(column, fastrec.Ragged):
            arrays.append(column.row_splits)
            column = column.values
        arrays += [column.data, column.offsets] if isinstance(column, fastrec.Bytes) else [column]
    return arrays


def check(batch: dict[str, Any], first: int) -> None:
    rows = [row(i) for i in range(first, first + len(batch["i"]))]
    assert batch["i"].tolist() == [r["i"] for r in rows]
    assert [int(image.max()) for image in batch["image"]] == [r["i"] % 256 for r in rows]
    assert batch["floats"].to_list() == [r["floats"] for r in rows]
    assert batch["words"].to_list() == [r["words"] for r in rows]
    assert batch["name"].to_list() == [r["name"] for r in rows]


def test_batches_stay_as_they_were_after_everything_else_is_gone(path: Path) -> None:
    batcher = fastrec.Batcher(path, FEATURES, 20, threads=2, prefetch=1)
    batches = list(batcher)
    batcher.close()
    del batcher
    gc.collect()
    fastrec.parse_example(list(fastrec.Reader(path)), FEATURES)  # new memory, perhaps the old
    for k, batch in enumerate(batches):
        check(batch, 20 * k)


def test_one_array_of_a_batch_outlives_the_others(path: Path) -> None:
    kept = []
    for k, batch in enumerate(fastrec.Batcher(path, FEATURES, 10, threads=2)):
        name = list(FEATURES)[k % len(FEATURES)]
        kept.append((k, name, batch[name]))
        del batch
        gc.collect()
    for k, name, column in kept:
        expected = [row(i)[name] for i in range(10 * k, 10 * k + 10)]
        assert len(column) == 10
        found = column.tolist() if isinstance(column, np.ndarray) else column.to_list()
        assert found == [v.tolist() if isinstance(v, np.ndarray) else v for v in expected]


def test_a_view_keeps_the_memory_it_looks_at(path: Path) -> None:
    views = []
    for batch in fastrec.Batcher(path, FEATURES, 10):
        views.append(batch["image"][3:4, 2:3, ::2])
        del batch
    gc.collect()
    assert [int(view.min()) for view in views] == [(10 * k + 3) % 256 for k in range(20)]
    assert [int(view.max()) for view in views] == [(10 * k + 3) % 256 for k in range(20)]


@pytest.mark.parametrize("how", ["batcher", "parse"])
def test_arrays_are_writable_aligned_and_the_callers_own(path: Path, how: str) -> None:
    if how == "batcher":
        batches = list(fastrec.Batcher(path, FEATURES, 50, threads=2))
    else:
        records = fastrec.Reader(path)
        batches = [fastrec.parse_example(records[k : k + 50], FEATURES) for k in (0, 50, 100, 150)]
    flat = [array for batch in batches for array in arrays_of(batch)]
    for array in flat:
        assert array.flags.writeable
        assert array.flags.c_contiguous
        assert array.ctypes.data % 64 == 0
    for number, array in enumerate(flat):
        array.reshape(-1).view(np.uint8)[:] = number % 251
    for number, array in enumerate(flat):
        assert (array.reshape(-1).view(np.uint8) == number % 251).all(), "memory is shared"


def test_writing_into_a_batch_does_not_reach_the_next_epoch(path: Path) -> None:
    for k, batch in enumerate(fastrec.Batcher(path, FEATURES, 50, epochs=3)):
        check(batch, 50 * (k % 4))
        for array in arrays_of(batch):
            array.reshape(-1).view(np.uint8)[:] = 0xEE


def test_records_and_blocks_outlive_their_reader(tmp_path: Path) -> None:
    path = write(tmp_path / "file", number_records(100))
    reader = fastrec.Reader(path)
    records, blocks = reader[:], list(reader.blocks(7))
    iterator = iter(reader)
    first = next(iterator)
    reader.close()
    del reader, iterator
    path.unlink()
    gc.collect()
    assert records == [record for block in blocks for record in block] == number_records(100)
    assert first == records[0]


def test_an_iterator_keeps_its_reader_alive(tmp_path: Path) -> None:
    iterator = iter(fastrec.Reader(write(tmp_path / "file", number_records(100))))
    gc.collect()
    assert list(iterator) == number_records(100)
    batches = fastrec.Reader(tmp_path / "file").blocks(10)
    gc.collect()
    assert [record for batch in batches for record in batch] == number_records(100)


def test_parsed_columns_outlive_the_records(path: Path) -> None:
    records: list[Any] = [bytearray(record) for record in fastrec.Reader(path)]
    columns = fastrec.parse_example(records, FEATURES)
    for record in records:
        record[:] = b"\xee" * len(record)
    del records
    check(columns, 0)


def test_encoded_examples_outlive_the_values() -> None:
    values = np.arange(1000, dtype=np.int64)
    encoded = fastrec.encode_examples({"a": values})
    values[:] = -1
    del values
    gc.collect()
    found = fastrec.parse_example(encoded, {"a": fastrec.FixedLenFeature((), np.int64)})
    assert found["a"].tolist() == list(range(1000))


def test_collecting_garbage_at_any_moment_is_harmless(path: Path) -> None:
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for k, batch in enumerate(fastrec.Batcher(path, FEATURES, 20, threads=2)):
            check(batch, 20 * k)
            check(fastrec.parse_example(fastrec.Reader(path)[20 * k :][:20], FEATURES), 20 * k)
    finally:
        gc.set_threshold(*threshold)


def test_objects_in_cycles_are_collected(path: Path) -> None:
    class Holder:
        pass

    for make in (
        lambda: fastrec.Reader(path),
        lambda: fastrec.Batcher(path, FEATURES, 5),
        lambda: iter(fastrec.Batcher(path, FEATURES, 5)),
    ):
        holder = Holder()
        holder.me, holder.it = holder, make()  # type: ignore[attr-defined]
        gone = weakref.ref(holder)
        del holder
        gc.collect()
        assert gone() is None


def inflated(path: Path) -> Any:
    return inflate_whole(RecordFiles(path), 0)


def inflated_in_part(path: Path) -> Any:
    inflating = inflated(path)
    inflating.begin(100, lambda seconds: None)
    return inflating


@pytest.mark.parametrize("make", [NamedFile, inflated, inflated_in_part])
def test_the_collector_closes_files_in_a_cycle_without_a_warning(
    tmp_path: Path, make: Callable[[Path], Any]
) -> None:
    data = np.random.default_rng(0).integers(0, 256, 1 << 20, np.uint8).tobytes()
    path = tmp_path / "file"
    path.write_bytes(gzipped(data))
    before = open_descriptors()
    cycle = [make(path)]
    cycle.append(cycle)
    assert open_descriptors() > before
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        del cycle
        gc.collect()
    assert open_descriptors() == before
    assert [str(each.message) for each in seen] == []


# --- leaks --------------------------------------------------------------------------------------


def use_everything(path: Path, broken: Path, target: Path) -> None:
    reader = fastrec.Reader(path)
    next(iter(reader))
    reader[3]
    iterator = iter(fastrec.Batcher(path, FEATURES, 20, threads=2))
    next(iterator)
    del iterator
    with fastrec.Batcher(path, FEATURES, 20, threads=2) as batcher:
        next(iter(batcher))
    for use in (
        fastrec.verify,
        lambda p: list(fastrec.Reader(p)),
        lambda p: list(fastrec.Batcher(p, FEATURES, 20, threads=2)),
    ):
        with contextlib.suppress(fastrec.CorruptRecordError):
            use(broken)
    for bad in (target / "absent", target):
        with contextlib.suppress(OSError):
            fastrec.Reader(bad)
    with fastrec.Writer(target / "file", compression="GZIP", overwrite=True) as writer:
        writer.write(b"x")
    writer = fastrec.Writer(target / "file", overwrite=True)
    writer.write({"a": 1})
    writer.abort()
    with contextlib.suppress(OSError):
        fastrec.Writer(target)
    list(fastrec.Reader(target / "file"))
    next(iter(fastrec.Reader(target / "file")))


@pytest.mark.skipif(not open_descriptors(), reason="counts descriptors in /proc")
def test_descriptors_and_threads_go_back_to_where_they_were(path: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(path.read_bytes()[:-1])
    (tmp_path / "target").mkdir()
    use_everything(path, broken, tmp_path / "target")
    gc.collect()
    before = open_descriptors(), native_threads(), threading.active_count()
    for _ in range(200):
        use_everything(path, broken, tmp_path / "target")
    gc.collect()
    assert (open_descriptors(), native_threads(), threading.active_count()) == before


def test_local_files_are_opened_and_read_without_a_thread(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(thread: threading.Thread) -> None:
        raise AssertionError(f"{thread.name} was started")

    monkeypatch.setattr(threading.Thread, "start", start)
    reader = fastrec.Reader(path)
    assert reader[len(reader) - 1] == list(fastrec.Reader(path))[-1]
    assert fastrec.verify(path).records == len(reader)
    fastrec.Manifest.build([path]).check_names([str(path)])


@pytest.mark.skipif(not open_descriptors(), reason="counts mappings in /proc")
def test_memory_maps_go_back_to_where_they_were(path: Path) -> None:
    def maps() -> int:
        return Path("/proc/self/maps").read_text().count(str(path))

    reader = fastrec.Reader(path)
    reader[0]
    reader.close()
    assert maps() == 0
    readers = [fastrec.Reader(path) for _ in range(50)]
    assert [reader[0] for reader in readers]
    del readers, reader
    gc.collect()
    assert maps() == 0


LEAKS = """
    import contextlib, gc, os, sys
    import fastrec

    path, broken, target = sys.argv[1:]
    writer = fastrec.Writer(target, compression="GZIP")
    with writer:
        writer.write_many([b"abc"] * 1000)

    def use():
        reader = fastrec.Reader(path)
        reader[1], reader[1:4], len(reader), reader.read_many([2, 0]), next(iter(reader))
        next(reader.views()), next(reader.blocks(3)), fastrec.count(path), next(iter(reader))
        next(iter(fastrec.Reader(target)))
        for on_error in ("raise", "skip"):
            with contextlib.suppress(fastrec.CorruptRecordError):
                fastrec.verify(broken, on_error=on_error)
        with contextlib.suppress(fastrec.IndexMismatchError):
            fastrec.Index.build(path)
            fastrec.Index.load(path, broken)
        for record in (b"x", {"a": [1, 2], "b": "text"}):
            writer = fastrec.Writer(path + ".new", fsync=False)
            writer.write(record)
            writer.abort()

    def resident():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for _ in range(300):
        use()
    before = resident()
    for _ in range(1500):
        use()
    print(resident() - before)
"""


@pytest.mark.unsanitized
@pytest.mark.skipif(not open_descriptors(), reason="looks into /proc")
def test_memory_goes_back_to_where_it_was(tmp_path: Path) -> None:
    records = number_records(300)
    path = write(tmp_path / "file", records)
    broken = tmp_path / "broken"
    broken.write_bytes(path.read_bytes()[:100] + bytes(40) + path.read_bytes()[140:])
    done = run_python(LEAKS, path, broken, tmp_path / "target")
    assert int(done.stdout) < 1 << 20  # 700 bytes a turn


BOMB = """
    import resource, sys
    import fastrec

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    fastrec.count(sys.argv[2])
    before = peak()
    assert fastrec.count(sys.argv[1]) == 480
    assert fastrec.verify(sys.argv[1]).bytes == 480 << 20
    print(peak() - before)
"""


@pytest.mark.unsanitized
@pytest.mark.skipif(sys.platform == "darwin", reason="counts memory in other units")
def test_what_inflates_a_thousandfold_takes_no_more_memory(tmp_path: Path) -> None:
    member = gzipped(reference.write_frames([bytes(1 << 20)] * 8))
    (tmp_path / "bomb").write_bytes(member * 60)
    (tmp_path / "small").write_bytes(member)
    done = run_python(BOMB, tmp_path / "bomb", tmp_path / "small")
    assert int(done.stdout) < 16 * 1024


def test_a_failed_start_leaves_nothing_open(tmp_path: Path) -> None:
    (tmp_path / "gz").write_bytes(gzipped(reference.write_frames(number_records(3)))[:-9])
    before = open_descriptors()
    for _ in range(20):
        with contextlib.suppress(fastrec.FastrecError):
            list(fastrec.Reader(tmp_path / "gz"))
        with contextlib.suppress(OSError):
            fastrec.Reader([tmp_path / "gz", tmp_path / "absent"])
        with contextlib.suppress(OSError, fastrec.FastrecError):
            fastrec.Batcher([tmp_path / "gz", tmp_path / "absent"], batch_size=2)
    gc.collect()
    assert open_descriptors() == before


def test_blocks_that_are_kept_are_not_written_over_by_later_ones(tmp_path: Path) -> None:
    # Memory of a block that is let go of is used again: by the next, and by nobody else.
    records = [bytes([i % 251]) * (i % 700) for i in range(3000)]
    write(tmp_path / "file", records)
    kept: list[tuple[int, fastrec.Bytes]] = []
    for number, block in enumerate(fastrec.Reader(tmp_path / "file").blocks(50)):
        if number % 3:
            kept.append((50 * number, block))
    for first, each in kept:
        assert each.to_list() == records[first : first + 50]


def test_a_block_of_large_records_stays_small(tmp_path: Path) -> None:
    records = [bytes([i]) * (3 << 20) for i in range(40)]
    with fastrec.Writer(tmp_path / "file", fsync=False) as writer:
        writer.write_many(records)
    blocks = list(fastrec.Reader(tmp_path / "file").blocks(1024))
    assert max(block.nbytes for block in blocks) <= (32 << 20) + (3 << 20)
    assert len(blocks) <= 4
    assert [record for block in blocks for record in block] == records
