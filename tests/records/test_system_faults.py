# SPDX-License-Identifier: Apache-2.0
"""The system fails, interrupts, does half of what was asked, or loses its power.

A shim between the core and the system (tests/c/shim.c) has calls go wrong, and writes down what was
asked for.
"""

from __future__ import annotations

import errno
import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import reference
from powerloss import Disk, calls_of
from verbs import number_records

import fastrec

SOURCE = Path(__file__).parents[1] / "c" / "shim.c"
COMPILER = shutil.which(os.environ.get("CC") or "cc")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="calls are not preloaded here"),
    pytest.mark.skipif(COMPILER is None, reason="there is no C compiler"),
    pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="something else is preloaded"),
]

RECORDS = [bytes([i]) * 300_000 for i in range(10)]
OLD = reference.write_frames(number_records(3))


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    assert COMPILER is not None
    options = ("-std=gnu11", "-O1", "-shared", "-fPIC", "-o")
    subprocess.run([COMPILER, *options, library, SOURCE, "-ldl"], check=True)
    return library


def run(shim: Path, under: Path, code: str, **settings: object) -> str:
    """The output of a program that runs with the shim."""
    package = Path(fastrec.__file__).parent.parent
    environment = {
        **os.environ,
        "LD_PRELOAD": str(shim),
        "PYTHONPATH": str(package),
        "SHIM_UNDER": str(under),
        **{f"SHIM_{name.upper()}": str(value) for name, value in settings.items()},
    }
    done = subprocess.run(
        [sys.executable, "-c", code, str(under)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- Reading -----------------------------------------------------------------------------------

READ = """
import sys, fastrec, zlib
records, errors = [], []
iterator = iter(fastrec.Reader(sys.argv[1] + "/file", follow={follow}))
while True:
    try:
        records.append(next(iterator))
    except StopIteration:
        break
    except Exception as error:
        errors.append(error)
        assert len(errors) < 5, errors
print(len(records), zlib.crc32(b"".join(records)))
for error in errors:
    print(type(error).__name__, getattr(error, "errno", None), error.filename.endswith("/file"))
"""


@functools.cache
def frames() -> bytes:
    """The frames of RECORDS, computed on use because each worker imports this module."""
    return reference.write_frames(RECORDS)


def expected() -> str:
    import zlib

    return f"{len(RECORDS)} {zlib.crc32(b''.join(RECORDS))}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "under"
    folder.mkdir()
    (folder / "file").write_bytes(frames())
    return folder


@pytest.mark.parametrize("limit", [7, 100, 4097, 1 << 19])
def test_short_reads_are_gone_on_from(shim: Path, folder: Path, limit: int) -> None:
    if limit == 7:
        (folder / "file").write_bytes(OLD)
        code = READ.format(follow=False).replace("print(len", "print(records, len")
        assert str(number_records(3)) in run(shim, folder, code, no_mmap=1, limit=limit)
        return
    code = READ.format(follow=False)
    assert run(shim, folder, code, no_mmap=1, limit=limit) == expected()


@pytest.mark.parametrize(
    ("follow", "call", "turns"),
    [(False, "pread", 4), (False, "open", 2), (0.05, "read", 4), (0.05, "open", 1)],
)
def test_interrupted_calls_are_made_again(
    shim: Path, folder: Path, call: str, follow: object, turns: int
) -> None:
    code = READ.format(follow=follow)
    settings = {"no_mmap": 1, "limit": 100_000, "call": call, "errno": errno.EINTR}
    assert run(shim, folder, code, **settings, at=-2) == expected()
    for turn in range(turns):
        assert run(shim, folder, code, **settings, at=turn) == expected()


@pytest.mark.parametrize("turn", range(5))
def test_a_failed_read_is_the_systems_error_and_can_be_tried_again(
    shim: Path, folder: Path, turn: int
) -> None:
    # Never damage, and the next call goes on where the failed one stood.
    settings = {"no_mmap": 1, "limit": 700_000, "call": "pread", "errno": errno.EIO, "at": turn}
    code = READ.format(follow=False).replace(
        'iterator = iter(fastrec.Reader(sys.argv[1] + "/file", follow=False))',
        'iterator = fastrec._core.RecordReader(sys.argv[1] + "/file")',
    )
    assert run(shim, folder, code, **settings) == expected() + f"OSError {errno.EIO} True\n"


JOBS = """
import os, sys, warnings, zlib, numpy as np, fastrec
warnings.simplefilter("ignore")
os.chdir(sys.argv[1])
FEATURES = {
    "x": fastrec.FixedLenFeature((), np.int64),
    "data": fastrec.FixedLenFeature((), bytes),
}

def all_of(records):
    records = [bytes(record) for record in records]
    return len(records), zlib.crc32(b"".join(records))

def batches(source, **options):
    found = list(fastrec.Batcher(source, FEATURES, 7, seed=1, threads=2, **options))
    return zlib.crc32(np.concatenate([batch["x"] for batch in found]).tobytes())

def skipped(source):
    reader = fastrec.Reader(source, on_error="skip")
    return all_of(reader), reader.skipped

for name in ("short", "long", "empty", "torn", "bad"):
    order = np.random.default_rng(0).permutation(200)
    jobs = [
        lambda: all_of(fastrec.Reader(name)),
        lambda: all_of(fastrec.Reader(name).views()),
        lambda: all_of(r for block in fastrec.Reader(name).blocks(9) for r in block),
        lambda: len(fastrec.Reader(name)),
        lambda: all_of(fastrec.Reader(name)[i] for i in order.tolist()),
        lambda: all_of(fastrec.Reader(name)[150:20:-3]),
        lambda: all_of(fastrec.Reader(name).read_many(order)),
        lambda: all_of(fastrec.Reader(name).__getitems__(order.tolist())),
        lambda: fastrec.parse_many(fastrec.Reader(name), order, FEATURES)["x"].tolist(),
        lambda: batches(name),
        lambda: batches(name, shuffle=True),
        lambda: batches(name, shuffle="blocks"),
        lambda: batches(name, shuffle=16),
        lambda: batches([name, "short"], shuffle=True),
        lambda: fastrec.verify(name),
        lambda: fastrec.count(name),
        lambda: zlib.crc32(fastrec.Index.build(name).offsets.tobytes()),
        lambda: fastrec.Index.build(name).save(name + ".frindex"),
        lambda: len(fastrec.Reader(name)),
        lambda: batches(name, shuffle=True),
        lambda: skipped(name),
        lambda: fastrec.reshard(name, "again-" + name, shards=2, overwrite=True),
        lambda: fastrec.infer_features(name),
    ]
    for number, job in enumerate(jobs):
        try:
            print(name, number, job())
        except Exception as error:
            print(name, number, type(error).__name__, error)
"""


def test_every_function_reads_files_that_cannot_be_mapped(shim: Path, tmp_path: Path) -> None:
    outputs = []
    for number in range(2):
        folder = tmp_path / str(number) / "under"
        folder.mkdir(parents=True)
        for name, size in (("short", 50), ("long", 90_000)):
            with fastrec.Writer(folder / name) as writer:
                for i in range(200):
                    writer.write({"x": i, "data": bytes([i]) * size})
        data = (folder / "long").read_bytes()
        (folder / "empty").write_bytes(b"")
        (folder / "torn").write_bytes(data[: len(data) - 5])
        (folder / "bad").write_bytes(data[:500_000] + b"?" + data[500_001:])
        settings = {"no_mmap": 1, "limit": 60_000} if number else {}
        outputs.append(run(shim, folder, JOBS, **settings))
    assert outputs[0].splitlines() == outputs[1].splitlines()
    assert outputs[0].count("Error") < 50


SHRUNK = """
import os, sys, fastrec
path = sys.argv[1] + "/file"
reader = fastrec.Reader(path)
print(len(reader), reader[9] == bytes([9]) * 300_000)
os.truncate(path, 1_000_000)
for job in (lambda: reader[9], lambda: reader.read_many([0, 9]), lambda: reader.__getitems__([9])):
    try:
        job()
    except fastrec.TruncatedFileError as error:
        print(error.kind, error.record, error.offset)
"""


def test_a_file_that_cannot_be_mapped_and_shrinks_is_named(shim: Path, folder: Path) -> None:
    said = run(shim, folder, SHRUNK, no_mmap=1)
    assert said == "10 True\n" + 3 * f"shrunk 9 {9 * (300_000 + 16)}\n"


ADJACENT = """
import ctypes, os, sys, fastrec
path = sys.argv[1] + "/many"
shim = ctypes.CDLL(None)
with fastrec.Writer(path) as writer:
    writer.write_batch({"x": list(range(2000)), "data": [bytes(i % 90) for i in range(2000)]})
features = {"x": fastrec.FixedLenFeature((), int), "data": fastrec.FixedLenFeature((), bytes)}
batcher = fastrec.Batcher(path, features, 100, threads=1)
print(len(batcher))
shim.shim_arm(b"pread", 1 << 30, 0, False, 0)
print(sum((batch["x"].tolist() for batch in batcher), []) == list(range(2000)), shim.shim_calls())
os.truncate(path, 100_000)
delivered = 0
try:
    for batch in batcher:
        delivered += len(batch["x"])
except fastrec.TruncatedFileError as error:
    shrunk = error
try:
    fastrec.count(path)
except fastrec.TruncatedFileError as error:
    print(shrunk.kind, (shrunk.record, shrunk.offset) == (error.record, error.offset))
print(delivered == shrunk.record // 100 * 100)
"""


def test_adjacent_records_of_a_file_that_cannot_be_mapped_are_read_together(
    shim: Path, folder: Path
) -> None:
    """Twenty batches of 100 take two calls each, and an error names the first missing record."""
    said = run(shim, folder, ADJACENT, no_mmap=1)
    assert said == "20\nTrue 40\nshrunk True\nTrue\n"


MIXED = """
import ctypes, sys, fastrec
paths = [sys.argv[1] + "/small", sys.argv[1] + "/large"]
shim = ctypes.CDLL(None)
for path, size in zip(paths, (10, 90_000)):
    with fastrec.Writer(path) as writer:
        writer.write_batch({"data": [bytes(size)] * 100})
batcher = fastrec.Batcher(paths, {"data": fastrec.FixedLenFeature((), bytes)}, 200, threads=1)
len(batcher)
shim.shim_arm(b"pread", 1 << 30, 0, False, 0)
print([len(batch["data"]) for batch in batcher], shim.shim_calls())
"""


def test_large_records_after_small_ones_are_copied_a_few_at_a_time(
    shim: Path, folder: Path
) -> None:
    """The batch begins with a file of small records; each call still reads four records."""
    assert run(shim, folder, MIXED, no_mmap=1) == "[200] 50\n"


# -- File systems with few features: mounts of buckets, 9p, exFAT, SMB, Lustre ------------------

POOR = """
import sys, warnings, fastrec
from fastrec import cli
warnings.simplefilter("ignore")
at = sys.argv[1] + "/"

def write(name, count=20, **options):
    with fastrec.Writer(at + name, **options) as writer:
        writer.write_batch({"x": list(range(count))})
    return fastrec.count(writer.paths)

def damaged():
    data = bytearray(open(at + "a", "rb").read())
    data[20] ^= 1
    open(at + "bad", "wb").write(data)

def raised(*arguments, **options):
    try:
        return write(*arguments, **options)
    except OSError as error:
        return error

FEATURES = {"x": fastrec.FixedLenFeature((), int)}
jobs = [
    lambda: write("a"),
    lambda: write("i", index=True),
    lambda: len(fastrec.Index.load(at + "i")),
    lambda: raised("a"),
    lambda: write("a", 30, overwrite=True),
    lambda: write("s", shards=3),
    lambda: write("g.gz"),
    lambda: sum(len(batch["x"]) for batch in fastrec.Batcher(at + "s-*", FEATURES, 4, seed=1)),
    lambda: fastrec.verify(at + "s-*").records,
    lambda: fastrec.Index.build(at + "a").save(),
    lambda: (damaged(), fastrec.repair(at + "bad").records),
    lambda: cli.main(["repair", "--in-place", at + "bad"]),
    lambda: fastrec.reshard(at + "s-*", at + "r", shards=2).records,
    lambda: fastrec.Manifest.build(at + "s-*").save(at + "m.json"),
    lambda: fastrec.verify(at + "s-*", manifest=at + "m.json").records,
    lambda: raised("a", 7, append=True),
]
for job in jobs:
    print(job(), flush=True)
"""
APPEND = """
import sys, fastrec
writer = fastrec.Writer(f"{sys.argv[1]}/a.tfrecord", append=True)
writer.write(b"kept"), writer.close()
print(list(fastrec.Reader(f"{sys.argv[1]}/a.tfrecord")))
"""


@pytest.mark.parametrize("there", [False, True])
def test_a_file_that_was_removed_before_it_was_locked_is_opened_again(
    shim: Path, tmp_path: Path, there: bool
) -> None:
    if there:  # another process has created it, and removes it when it fails or is aborted
        (tmp_path / "a.tfrecord").touch()
    said = run(shim, tmp_path, APPEND, unlink=tmp_path / "a.tfrecord")
    assert said == "[b'kept']\n"


EVERY_FEATURE = "link renameat2 flock fallocate fsyncdir chmod utimens"


@pytest.mark.parametrize(
    "missing", ["link renameat2", "flock", "fallocate fsyncdir", "chmod utimens", EVERY_FEATURE]
)
def test_every_job_works_on_a_file_system_with_few_features(
    shim: Path, tmp_path: Path, missing: str
) -> None:
    outputs = []
    for name, settings in (("rich", {}), ("poor", {"without": missing, "no_mmap": 1})):
        folder = tmp_path / name / "under"
        folder.mkdir(parents=True)
        said = run(shim, folder, POOR, **settings)
        outputs.append(said.replace(f"{folder}/", "").splitlines())
    rich, poor = outputs
    if "flock" in missing:  # two processes that append could overwrite each other's records
        *poor, said = poor
        rich = rich[:-1]
        assert "append requires a file system with locks (flock); write a new file" in said
        assert "'a'" in said
    assert poor == rich


# -- Writing -----------------------------------------------------------------------------------

WRITE = """
import sys, fastrec
with fastrec.Writer(sys.argv[1] + "/file"{options}) as writer:
    for i in range(10):
        writer.write(bytes([i]) * 300_000)
"""


@pytest.mark.parametrize("limit", [1001, 1 << 19])
def test_short_and_interrupted_writes_are_gone_on_from(
    shim: Path, folder: Path, limit: int
) -> None:
    (folder / "file").write_bytes(OLD)
    code = WRITE.format(options=", overwrite=True")
    run(shim, folder, code, limit=limit, call="write", errno=errno.EINTR, at=-3)
    assert (folder / "file").read_bytes() == frames()


@pytest.mark.parametrize(
    "scenario",
    [
        (", overwrite=True", "file", True),
        ("", "file", False),
        (", overwrite=False", "file", False),
        (", compression='GZIP', overwrite=True", "file", True),
        (", shards=3", "file-00001-of-00003", False),
        (", shard_records=4", "file-00002-of-00003", False),
        (", verify_after_write=True, overwrite=True", "file", True),
    ],
    ids=str,
)
def test_after_a_power_failure_a_file_is_the_old_one_or_the_new_one(
    shim: Path, tmp_path: Path, scenario: tuple[str, str, bool]
) -> None:
    options, name, there = scenario
    folder = tmp_path / "under"
    states, new = states_of(shim, folder, options, name, there)
    old = OLD if there else None
    for number, found in enumerate(states):
        assert found <= {old, new}, f"after call {number}"
    assert states[0] == {old}
    assert states[-1] == {new}


def test_without_fsync_the_model_finds_what_may_be_lost(shim: Path, tmp_path: Path) -> None:
    states, new = states_of(shim, tmp_path / "under", ", fsync=False, overwrite=True", "file", True)
    assert any(found - {OLD, new} for found in states)
    assert states[-1] > {OLD, new}


@pytest.mark.parametrize("there", [True, False])
def test_what_is_appended_leaves_what_was_there_alone(
    shim: Path, tmp_path: Path, there: bool
) -> None:
    states, new = states_of(shim, tmp_path / "under", ", append=True", "file", there)
    old = OLD if there else b""
    assert new == old + frames()
    for found in states:
        assert all(content is None or content.startswith(old) for content in found)
    assert states[-1] == {new}


def states_of(
    shim: Path, folder: Path, options: str, name: str, there: bool
) -> tuple[list[set[bytes | None]], bytes]:
    """The possible contents of `name` after each call, and its contents in the end."""
    folder.mkdir()
    target = folder / name
    if there:
        target.write_bytes(OLD)
    disk, log = Disk.of(folder), folder.with_name("log")
    run(shim, folder, WRITE.format(options=options), log=log)
    states = [disk.after_a_crash(str(target))]
    for words, data in calls_of(log.read_bytes()):
        disk.call(words, data)
        states.append(disk.after_a_crash(str(target)))
    assert fastrec.verify(target).records > 0
    return states, target.read_bytes()
