# SPDX-License-Identifier: Apache-2.0
"""A file appears whole or not at all, whatever happens on the way."""

from __future__ import annotations

import errno
import gc
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verbs import files_limited_to, number_records, read, run_python, write

import fastrec

OLD = [b"what was there before"]
RECORDS = number_records(5)


def fill(writer: fastrec.Writer, records: list[bytes] = RECORDS) -> None:
    for record in records:
        writer.write(record)


@pytest.fixture(params=["absent", "present"])
def target(request: Any, tmp_path: Path) -> Path:
    """A path to write to, with and without an existing file."""
    path = tmp_path / "train.tfrecord"
    return write(path, OLD) if request.param == "present" else path


def assert_untouched(target: Path) -> None:
    """The directory is as it was before the writer came."""
    names = os.listdir(target.parent)
    if names:
        assert names == [target.name]
        assert read(target) == (OLD, None)


def test_the_target_appears_when_the_writer_closes(target: Path) -> None:
    writer = fastrec.Writer(target, overwrite=True)
    fill(writer, number_records(20_000))
    writer.flush()
    assert not target.exists() or read(target) == (OLD, None)
    writer.close()
    assert read(target) == (number_records(20_000), None)
    assert os.listdir(target.parent) == [target.name]
    assert [os.fspath(path) for path in writer.paths] == [str(target)]


def test_an_exception_inside_publishes_nothing(target: Path) -> None:
    class Trouble(Exception):
        pass

    def write_some() -> None:
        with fastrec.Writer(target, overwrite=True) as writer:
            fill(writer)
            raise Trouble

    with pytest.raises(Trouble):
        write_some()
    assert_untouched(target)


def test_aborting_publishes_nothing(target: Path) -> None:
    writer = fastrec.Writer(target, overwrite=True)
    fill(writer, number_records(20_000))
    writer.abort()
    writer.abort()
    assert_untouched(target)
    with pytest.raises(ValueError, match=r"closed|aborted"):
        writer.write(b"more")


def test_a_record_that_cannot_be_written_leaves_the_others(target: Path) -> None:
    with fastrec.Writer(target, overwrite=True) as writer:
        writer.write(RECORDS[0])
        for bad in ({"a": object()}, {"a": 2**64}, 3, None, "text", [b"list"]):
            with pytest.raises((TypeError, ValueError, OverflowError)):
                writer.write(bad)
        writer.write(RECORDS[1])
        assert writer.count == 2
    assert read(target) == (RECORDS[:2], None)


def test_a_closed_writer_says_so(target: Path) -> None:
    with fastrec.Writer(target, overwrite=True) as writer:
        fill(writer)
    writer.close()
    uses: list[Callable[[], None]] = [
        lambda: writer.write(b"x"),
        lambda: writer.write({"a": 1}),
        lambda: writer.write_batch({"a": [1]}),
        writer.flush,
    ]
    for use in uses:
        with pytest.raises(ValueError, match="closed"):
            use()
    assert writer.count == 5
    assert read(target) == (RECORDS, None)


def test_a_writer_dropped_unclosed_warns_and_publishes_nothing(target: Path) -> None:
    def drop() -> None:
        writer = fastrec.Writer(target, overwrite=True)
        fill(writer)
        del writer
        gc.collect()

    with pytest.warns(ResourceWarning, match=r"train\.tfrecord"):
        drop()
    assert_untouched(target)


def test_a_writer_alive_at_exit_publishes_nothing(target: Path) -> None:
    code = "import sys, fastrec; w = fastrec.Writer(sys.argv[1], overwrite=True); w.write(b'lost')"
    command = [sys.executable, "-c", code, str(target)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert_untouched(target)


# --- where it cannot be written -----------------------------------------------------------------


def test_a_missing_directory_is_an_os_error_that_names_the_target(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        fastrec.Writer(tmp_path / "absent" / "file")
    assert caught.value.filename == str(tmp_path / "absent" / "file")


def test_a_directory_in_the_way_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()

    def write_one() -> None:
        with fastrec.Writer(tmp_path / "file") as writer:
            writer.write(b"x")

    with pytest.raises(OSError, match="irectory") as caught:
        write_one()
    assert caught.value.filename == str(tmp_path / "file")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_may_not_be_written_is_an_os_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError) as caught:
        fastrec.Writer(tmp_path / "file")
    assert caught.value.filename == str(tmp_path / "file")


def test_what_is_there_can_be_protected(tmp_path: Path) -> None:
    path = write(tmp_path / "file", OLD)
    with pytest.raises(FileExistsError) as caught:
        fastrec.Writer(path, overwrite=False)
    assert caught.value.filename == str(path)
    with fastrec.Writer(tmp_path / "new", overwrite=False) as writer:
        fill(writer)
    assert read(path) == (OLD, None)
    assert read(tmp_path / "new") == (RECORDS, None)


def test_a_file_that_appears_meanwhile_is_protected_too(tmp_path: Path) -> None:
    writer = fastrec.Writer(tmp_path / "file", overwrite=False)
    fill(writer)
    write(tmp_path / "file", OLD)
    with pytest.raises(FileExistsError):
        writer.close()
    assert read(tmp_path / "file") == (OLD, None)
    assert os.listdir(tmp_path) == ["file"]


FULL = """
    import errno, resource, signal, sys
    import fastrec

    target, how = sys.argv[1:]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    sys.dont_write_bytecode = True  # the limit would cut it off
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    options = {"compression": "GZIP"} if how == "gzip" else {}
    import random
    try:
        with fastrec.Writer(target, overwrite=True, **options) as writer:
            for i in range(200_000):
                writer.write(random.randbytes(20))
                if how == "flush":
                    writer.flush()
                elif how == "keep on":
                    try:
                        writer.write_batch({"a": [i] * 1000})
                    except OSError:
                        continue
    except OSError as error:
        assert error.errno in (errno.EFBIG, errno.ENOSPC), error
        assert error.filename == target, error.filename
    else:
        sys.exit("no error")
"""


@pytest.mark.parametrize("how", ["write", "flush", "gzip", "keep on"])
def test_a_full_disk_is_an_os_error_and_the_old_file_stays(target: Path, how: str) -> None:
    run_python(FULL, target, how)
    assert_untouched(target)


@pytest.mark.skipif(os.geteuid() != 0 or sys.platform == "darwin", reason="mounting needs root")
def test_a_disk_without_space_is_an_os_error_and_leaves_nothing(tmp_path: Path) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:

        def write_much() -> None:
            with fastrec.Writer(tmp_path / "file") as writer:
                for _ in range(100):
                    writer.write(bytes(10_000))

        with pytest.raises(OSError, match="space") as caught:
            write_much()
        assert caught.value.filename == str(tmp_path / "file")
        assert os.listdir(tmp_path) == []
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


# --- what is replaced ---------------------------------------------------------------------------


def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    path = write(tmp_path / "file", OLD)
    path.chmod(0o640)
    with fastrec.Writer(path, overwrite=True) as writer:
        fill(writer)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    with fastrec.Writer(tmp_path / "file") as writer:
        fill(writer)
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    real = write(tmp_path / "there" / "real", OLD)
    (tmp_path / "link").symlink_to(real)
    with fastrec.Writer(tmp_path / "link", overwrite=True) as writer:
        fill(writer)
    assert (tmp_path / "link").is_symlink()
    assert read(real) == (RECORDS, None)
    assert os.listdir(tmp_path / "there") == ["real"]


def test_of_two_writers_on_one_target_the_last_to_close_wins_whole(tmp_path: Path) -> None:
    first, second = (fastrec.Writer(tmp_path / "file", overwrite=True) for _ in range(2))
    for i in range(2000):
        first.write(b"first %d" % i)
        second.write(b"second %d" % i)
    second.close()
    assert read(tmp_path / "file")[0][-1] == b"second 1999"
    first.close()
    assert read(tmp_path / "file") == ([b"first %d" % i for i in range(2000)], None)
    assert os.listdir(tmp_path) == ["file"]


# --- shards -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shards", [1, 3, 10])
def test_shards_take_records_in_turn_and_appear_together(tmp_path: Path, shards: int) -> None:
    records = number_records(20)
    names = [f"train-{i:05d}-of-{shards:05d}.tfrecord" for i in range(shards)]
    with fastrec.Writer(tmp_path / "train.tfrecord", shards=shards) as writer:
        fill(writer, records)
        assert not any((tmp_path / name).exists() for name in names)
        assert writer.count == 20
    assert sorted(os.listdir(tmp_path)) == names
    assert [Path(path).name for path in writer.paths] == names
    for i, path in enumerate(writer.paths):
        assert read(path) == (records[i::shards], None)
    assert sorted(fastrec.Reader(str(tmp_path / "train-*.tfrecord"))) == sorted(records)


@pytest.mark.parametrize(
    "options", [{"shards": 4}, {"shard_records": 5000}, {"shard_bytes": 99_000}]
)
def test_shards_take_blocks_of_records_without_a_loop_in_python(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    block = fastrec.Bytes.from_list([b"%05d" % i for i in range(20_000)])
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    with fastrec.Writer(tmp_path / "a.tfrecord", **options) as writer:
        sys.setprofile(count)
        try:
            writer.write_many(block)
        finally:
            sys.setprofile(None)
    assert writer.count == len(block)
    assert calls < 1000


CALLS: list[Callable[[list[bytes]], Any]] = [list, tuple, iter, fastrec.Bytes.from_list]


@settings(deadline=None)
@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.sampled_from(CALLS), st.lists(st.binary(max_size=40), max_size=12))),
)
def test_the_shards_are_the_same_however_the_records_are_passed(
    shards: int, calls: list[tuple[Callable[[list[bytes]], Any], list[bytes]]]
) -> None:
    records = [record for _, some in calls for record in some]
    with tempfile.TemporaryDirectory() as folder:
        with fastrec.Writer(f"{folder}/a.tfrecord", shards=shards, fsync=False) as writer:
            for form, some in calls:
                writer.write_many(form(some))
            assert writer.count == len(records)
        for shard, path in enumerate(writer.paths):
            assert read(path) == (records[shard::shards], None)


def test_the_shard_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    writer = fastrec.Writer(tmp_path / "a.tfrecord", shards=3)
    with files_limited_to(1 << 20), pytest.raises(OSError, match="a-00001-of-00003") as caught:
        writer.write_many([b"", b"", b"", b"", bytes(3 << 20)])
    writer.abort()
    assert caught.value.errno == errno.EFBIG
    assert os.listdir(tmp_path) == []


def test_shards_take_the_rows_of_a_batch_in_turn(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "train.tfrecord", shards=3) as writer:
        writer.write({"i": 0})
        writer.write_batch({"i": list(range(1, 11))})
    features = {"i": fastrec.FixedLenFeature((), int)}
    for shard, path in enumerate(writer.paths):
        found = fastrec.parse_example(fastrec.Reader(path)[:], features)["i"]
        assert found.tolist() == list(range(shard, 11, 3))


def test_shards_are_published_together_or_not_at_all(tmp_path: Path) -> None:
    def write_some() -> None:
        with fastrec.Writer(tmp_path / "train.tfrecord", shards=3) as writer:
            fill(writer)
            raise KeyError

    with pytest.raises(KeyError):
        write_some()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("shards", [0, -1, 1.5, "3"])
def test_a_number_of_shards_that_cannot_be_is_refused(tmp_path: Path, shards: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        fastrec.Writer(tmp_path / "train.tfrecord", shards=shards)
    assert os.listdir(tmp_path) == []


# --- death --------------------------------------------------------------------------------------

ENDLESS = """
    import sys, fastrec
    for round in range(10**9):
        with fastrec.Writer(sys.argv[1], overwrite=True) as writer:
            for i in range(5000):
                writer.write(b"record %d" % i * 10)
        print(round, flush=True)
"""


@pytest.mark.slow
def test_killing_the_writer_leaves_the_old_file_or_a_whole_new_one(tmp_path: Path) -> None:
    path = write(tmp_path / "file", OLD)
    whole = [b"record %d" % i * 10 for i in range(5000)]
    code = [sys.executable, "-c", "\n".join(line[4:] for line in ENDLESS.splitlines()), str(path)]
    for trial in range(8):
        with subprocess.Popen(code, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            if trial % 2:
                process.stdout.readline()
            time.sleep(0.003 * trial)
            process.send_signal(signal.SIGKILL)
        records, error = read(path)
        assert error is None
        assert records in (OLD, whole)


@pytest.mark.parametrize(
    "options",
    [
        {"features": {"a": fastrec.FixedLenFeature((), np.float32)}},
        {"shapes": {"a": "shape"}},
        {"shards": 2},
        {"shard_records": 2},
        {"compression": "GZIP"},
        {},
    ],
)
def test_a_row_is_the_same_by_every_way_to_the_file(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    rows: list[dict[str, Any]] = [{"a": np.arange(i + 2, dtype=np.uint8)} for i in range(5)]
    if "features" in options:
        rows = [{"a": np.float32(i)} for i in range(5)]
    keep = {k: v for k, v in options.items() if k in ("features", "shapes")}
    with fastrec.Writer(tmp_path / "file", **options) as writer:
        for row in rows:
            writer.write(row)
        assert writer.count == 5
    found = sorted(record for path in writer.paths for record in fastrec.Reader(path))
    assert found == sorted(fastrec.encode_example(row, **keep) for row in rows)
    with pytest.raises(ValueError, match="closed"):
        writer.write(rows[0])


def test_a_row_that_cannot_be_stored_leaves_the_others(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "file") as writer:
        writer.write({"a": 1})
        with pytest.raises(OverflowError):
            writer.write({"a": 2**63})
        writer.write({"a": 3})
    assert writer.count == fastrec.verify(tmp_path / "file").records == 2
