# SPDX-License-Identifier: Apache-2.0
"""Random operations by threads and processes on the same files, and a check of every record.

    python tests/tools/races.py [SECONDS] [--threads 8] [--processes 4] [--seed N]

Each record says which file it is of, its number, and has a checksum of its own, so that a record of
another file, of another version of the file, or out of its place is seen. Files are replaced whole
(of more records or fewer), appended to, repaired, indexed, deleted; read in order, by number, in
batches, from states, followed.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastrec

FILES = 6
COMPRESSED = 5  # which of them is
HANG_S = 60
# What may be met where files come and go: never a wrong record, and never damage to one.
EXPECTED = (
    FileNotFoundError,
    FileExistsError,
    BlockingIOError,  # somebody else appends
    fastrec.TruncatedFileError,
    fastrec.IndexMismatchError,
    fastrec.RandomAccessError,  # of the file that is compressed
)


def record(file: int, version: int, number: int) -> bytes:
    body = b"%d %d %d %s" % (file, version, number, bytes([number % 251]) * (number * 37 % 3000))
    return b"%08x " % zlib.crc32(body) + body


class Wrong(Exception):
    """A record that cannot be where it was found."""


def check(data: bytes, file: int, number: int | None, version: int | None) -> int:
    """The version of a record, which must be of that file and number, and of the version given."""
    said, _, body = bytes(data).partition(b" ")
    if int(said, 16) != zlib.crc32(body):
        raise Wrong(f"a record of file {file} is not one: {bytes(data)[:60]!r}")
    of, made, at = map(int, body.split(b" ", 3)[:3])
    if of != file or (number is not None and at != number) or version not in (None, made):
        raise Wrong(f"{of}.{made}.{at} where {file}.{version}.{number} should be")
    return made


class Actor:
    """One thread's operations."""

    def __init__(self, folder: str, seed: int) -> None:
        self.folder, self.rng = folder, random.Random(seed)
        self.done: dict[str, int] = {}

    def pick(self) -> tuple[int, str]:
        file = self.rng.randrange(FILES)
        return file, f"{self.folder}/{file}.tfrecord"

    def act(self) -> None:
        action: Callable[[], None] = self.rng.choice(
            [self.replace, self.append, self.iterate, self.iterate, self.blocks, self.by_number,
             self.by_number, self.batches, self.resume, self.follow, self.index, self.verify,
             self.repair, self.set_of_shards]
        )  # fmt: skip
        with contextlib.suppress(*EXPECTED):
            try:
                action()
            except fastrec.CorruptRecordError as error:
                if error.kind != "changed":  # A numbered file that was replaced is refused.
                    raise
            self.done[action.__name__] = self.done.get(action.__name__, 0) + 1

    def replace(self) -> None:
        file, path = self.pick()
        version = self.rng.getrandbits(40)
        options: dict[str, Any] = self.rng.choice([{}, {"fsync": False}, {"index": True}])
        if file == COMPRESSED:
            options = {"compression": "GZIP"}
        with fastrec.Writer(path, **options) as writer:
            for number in range(self.rng.choice([0, 1, 50, 700])):
                writer.write(record(file, version, number))
                if self.rng.random() < 0.0005:
                    raise FileNotFoundError("given up")

    def append(self) -> None:
        file, path = self.pick()
        kind: Any = "GZIP" if file == COMPRESSED else None
        before = os.stat(path)
        with fastrec.Writer(path, append=True, fsync=False, compression=kind) as writer:
            found = list(fastrec.Reader(path))
            now = os.stat(path)
            if (before.st_ino, before.st_mtime_ns) != (now.st_ino, now.st_mtime_ns) or not found:
                raise FileNotFoundError("it is another file by now")
            version = check(found[0], file, 0, None)
            writer.write_many([record(file, version, len(found) + i) for i in range(20)])

    def _check_all(self, file: int, records: object) -> None:
        version = None
        for number, data in enumerate(records):  # type: ignore[arg-type,var-annotated]
            version = check(data, file, number, version)

    def iterate(self) -> None:
        file, path = self.pick()
        self._check_all(file, fastrec.Reader(path))

    def blocks(self) -> None:
        file, path = self.pick()
        blocks = fastrec.Reader(path).blocks(self.rng.choice([1, 64, 1000]))
        self._check_all(file, (data for block in blocks for data in block))

    def by_number(self) -> None:
        file, path = self.pick()
        with contextlib.suppress(IndexError):
            reader = fastrec.Reader(path)
            versions = set()
            for _ in range(20):
                number = self.rng.randrange(max(len(reader), 1))
                versions.add(check(reader[number], file, number, None))
            if len(versions) > 1:
                raise Wrong(f"versions {versions} of file {file} in one reader")

    def batches(self) -> None:
        file, path = self.pick()
        shuffle = self.rng.choice([False, 100])
        seen: list[int] = []
        for batch in fastrec.Batcher(path, batch_size=32, shuffle=shuffle, seed=1, threads=2):
            for data in batch:
                check(data, file, None, None)
                seen.append(int(bytes(data).split(b" ", 4)[3]))
        if sorted(seen) != list(range(len(seen))):
            raise Wrong(
                f"batches of file {file} have {len(seen)} records, {len(set(seen))} different"
            )

    def resume(self) -> None:
        file, path = self.pick()
        batcher = fastrec.Batcher(path, batch_size=16, shuffle=50, seed=2, threads=2)
        batches = iter(batcher)
        for _ in range(self.rng.randrange(5)):
            next(batches, None)
        with contextlib.suppress(fastrec.FastrecError):  # the files are others by now
            again = fastrec.Batcher(path, batch_size=16, shuffle=50, seed=2, threads=2)
            again.load_state_dict(batches.state_dict())
            for batch in again:
                for data in batch:
                    check(data, file, None, None)

    def follow(self) -> None:
        file, path = self.pick()
        if file != COMPRESSED:
            self._check_all(file, fastrec.Reader(path, follow=0.01))

    def index(self) -> None:
        file, path = self.pick()
        if file != COMPRESSED:
            fastrec.Index.build(path).save()

    def verify(self) -> None:
        fastrec.verify(self.pick()[1])

    def repair(self) -> None:
        file, path = self.pick()
        output = f"{self.folder}/repaired-{os.getpid()}-{threading.get_ident()}"
        repaired = fastrec.repair(path, output, overwrite=True)
        self._check_all(file, fastrec.Reader(repaired.path))

    def set_of_shards(self) -> None:
        name = f"{self.folder}/set.rec"
        version = self.rng.getrandbits(40)
        with fastrec.Writer(name, shards=3, fsync=False) as writer:
            for number in range(60):
                writer.write(record(99, version, number))
        for shard in range(3):
            for data in fastrec.Reader(writer.paths[shard]):
                check(data, 99, None, None)


warnings.simplefilter("ignore", RuntimeWarning)  # indexes of files as they were


def run(folder: str, seconds: float, threads: int, seed: int) -> int:
    until = time.monotonic() + seconds
    wrong: list[str] = []
    totals: dict[str, int] = {}
    beats = [time.monotonic()] * threads

    def work(number: int) -> None:
        actor = Actor(folder, seed * 1000 + number)
        while time.monotonic() < until and not wrong:
            beats[number] = time.monotonic()
            try:
                actor.act()
            except Exception as error:
                wrong.append(f"{type(error).__name__}: {error}")
                traceback.print_exc()
        for name, count in actor.done.items():
            totals[name] = totals.get(name, 0) + count

    workers = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(threads)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        time.sleep(0.2)
        alive = [beats[i] for i, worker in enumerate(workers) if worker.is_alive()]
        if alive and time.monotonic() - min(alive) > HANG_S:
            faulthandler.dump_traceback(all_threads=True)
            wrong.append("an operation does not end")
            break
    print(f"{sum(totals.values())} operations: {dict(sorted(totals.items()))}")
    print("\n".join(wrong))
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", type=float, nargs="?", default=60)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    if arguments.folder:
        return run(arguments.folder, arguments.seconds, arguments.threads, arguments.seed)
    folder = tempfile.mkdtemp()
    command = [sys.executable, str(Path(__file__)), str(arguments.seconds), "--folder", folder]
    command += ["--threads", str(max(1, arguments.threads // arguments.processes))]
    try:
        children = [
            subprocess.Popen([*command, "--seed", str(arguments.seed + i + 1)])
            for i in range(arguments.processes)
        ]
        limit = arguments.seconds + 2 * HANG_S
        failed = [child.wait(limit) for child in children]
        left = [name for name in os.listdir(folder) if name.endswith(".tmp")]
        if left:
            print(f"temporary files are left: {left}")
        return 1 if any(failed) or left else 0
    finally:
        for child in children:
            child.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
