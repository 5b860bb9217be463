# SPDX-License-Identifier: Apache-2.0
"""The jobs that faults.py makes fail, over the files of one folder."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import random
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import fastrec
from fastrec import _core, cli

__all__ = ["JOBS", "Found", "Job", "armed", "furnish"]

Found = list[Any]


class Job(NamedTuple):
    """`run` adds what it finds, piece by piece; `writes` says that it makes files."""

    run: Callable[[str, Found], None]
    writes: bool = False


# -- What there is -----------------------------------------------------------------------------

ROWS = [{"i": i, "x": [i / 2] * 5, "s": f"row {i}" * (i % 7)} for i in range(150)]
FEATURES = {
    "i": fastrec.FixedLenFeature((), np.int64),
    "x": fastrec.FixedLenFeature((5,), np.float32),
    "s": fastrec.FixedLenFeature((), bytes),
}
RECORDS = [fastrec.encode_example(row) for row in ROWS]
FRAMES = b"".join(map(_core.frame, RECORDS))
NEW = [bytes([i]) * 30_000 for i in range(60)]  # more than a buffer


def furnish(folder: str) -> None:
    """The files that jobs find."""
    noise = random.Random(0).randbytes(30_000)
    long = b"".join(_core.frame(bytes([i]) + noise) for i in range(40))  # enough for a thread
    for name, data in {
        "a.tfrecord": FRAMES,
        "b.tfrecord": FRAMES[: len(_core.frame(RECORDS[0]))],
        "c.gz": gzip.compress(FRAMES + long, 1, mtime=0),
        "d.zlib": zlib.compress(FRAMES + long, 1),
        "damaged.rec": FRAMES[:5000] + b"\xff" + FRAMES[5001:],
        "old-00000-of-00003.rec": FRAMES,
        "old-00002-of-00003.rec": FRAMES,
    }.items():
        with open(f"{folder}/{name}", "wb") as file:
            file.write(data)
    fastrec.Index.build(f"{folder}/a.tfrecord").save()
    fastrec.Manifest.build([f"{folder}/a.tfrecord"]).save(f"{folder}/manifest.json", overwrite=True)


# -- Reading -----------------------------------------------------------------------------------


def reading(name: str, **options: Any) -> dict[str, Job]:
    def iterate(folder: str, found: Found) -> None:
        for record in fastrec.Reader(f"{folder}/{name}", **options):
            found.append(zlib.crc32(record))

    def blocks(folder: str, found: Found) -> None:
        for block in fastrec.Reader(f"{folder}/{name}", **options).blocks(40):
            found += [zlib.crc32(record) for record in block]

    def views(folder: str, found: Found) -> None:
        for view in fastrec.Reader(f"{folder}/{name}", **options).views():
            found.append(zlib.crc32(view))

    def verify(folder: str, found: Found) -> None:
        found.append(str(fastrec.verify(f"{folder}/{name}")))

    def count(folder: str, found: Found) -> None:
        found.append(fastrec.count(f"{folder}/{name}"))

    jobs = {"iterate": iterate, "blocks": blocks, "views": views, "verify": verify, "count": count}
    return {f"{job} {name}": Job(run) for job, run in jobs.items()}


def by_number(folder: str, found: Found) -> None:
    with fastrec.Reader([f"{folder}/a.tfrecord", f"{folder}/b.tfrecord"]) as reader:
        found.append(len(reader))
        found += [zlib.crc32(reader[i]) for i in (0, 77, 150, -1)]
        found.append(reader.read_many([3, 149, 0]).to_list())


def without_an_index(folder: str, found: Found) -> None:
    found += fastrec.Reader(f"{folder}/a.tfrecord", index=False)[10:20]


def follow(folder: str, found: Found) -> None:
    for record in fastrec.Reader(f"{folder}/a.tfrecord", follow=0.01):
        found.append(zlib.crc32(record))


def skip_damage(folder: str, found: Found) -> None:
    reader = fastrec.Reader(f"{folder}/damaged.rec", on_error="skip")
    for record in reader:
        found.append(zlib.crc32(record))
    found.append([each.begin for each in reader.skipped])


def infer(folder: str, found: Found) -> None:
    found.append(str(fastrec.infer_features(f"{folder}/a.tfrecord")))


def load_index(folder: str, found: Found) -> None:
    found.append(len(fastrec.Index.load(f"{folder}/a.tfrecord")))


def check_manifest(folder: str, found: Found) -> None:
    manifest = f"{folder}/manifest.json"
    found.append(str(fastrec.verify([f"{folder}/a.tfrecord"], manifest=manifest)))


def batches(**options: Any) -> Job:
    names = options.pop("names", ["a.tfrecord", "b.tfrecord"])

    def run(folder: str, found: Found) -> None:
        paths = [f"{folder}/{name}" for name in names]
        features = None if names[0].endswith("z") or "z" in names[0][-4:] else FEATURES
        batcher = fastrec.Batcher(paths, features, batch_size=16, seed=3, threads=2, **options)
        iterator = iter(batcher)
        for number, batch in enumerate(iterator):
            rows = batch["i"].tolist() if features else [zlib.crc32(each) for each in batch]
            found.append(rows)
            if number == 2:
                found.append(json.dumps(iterator.state_dict(), sort_keys=True, default=str))

    return Job(run)


# -- Writing -----------------------------------------------------------------------------------


def writing(name: str, **options: Any) -> Job:
    def run(folder: str, found: Found) -> None:
        with fastrec.Writer(f"{folder}/{name}", **options) as writer:
            writer.write_many(NEW[:30])
            for record in NEW[30:]:
                writer.write(record)
            writer.write_batch({"i": np.arange(50)})
        found.append(writer.count)

    return Job(run, writes=True)


def repair(folder: str, found: Found) -> None:
    found.append(fastrec.repair(f"{folder}/damaged.rec").records)


def repair_in_place(folder: str, found: Found) -> None:
    found.append(fastrec.repair(f"{folder}/damaged.rec", in_place=True).records)


def build_index(folder: str, found: Found) -> None:
    found.append(len(fastrec.Index.build(f"{folder}/b.tfrecord").save()) > 0)


def build_manifest(folder: str, found: Found) -> None:
    fastrec.Manifest.build([f"{folder}/a.tfrecord"]).save(f"{folder}/manifest.json", overwrite=True)


class _Armed:
    """The errno of the fault that may come now."""

    errno = 0


armed = _Armed()


def command(*words: str, writes: bool = False) -> Job:
    def run(folder: str, found: Found) -> None:
        out, err = io.StringIO(), io.StringIO()
        arguments = [word.replace("@", folder + "/") for word in words]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.main(arguments)
        said = out.getvalue() + err.getvalue()
        if code and os.strerror(armed.errno) in said and folder in said:
            raise OSError(armed.errno, said, folder)
        if code and "memory" in said:
            raise MemoryError(said)
        found.append((code, out.getvalue()))

    return Job(run, writes)


JOBS: dict[str, Job] = {
    **reading("a.tfrecord"),
    **reading("[ab].tfrecord"),
    **reading("c.gz"),
    **reading("d.zlib"),
    "by number": Job(by_number),
    "without an index": Job(without_an_index),
    "follow": Job(follow),
    "skip damage": Job(skip_damage),
    "infer": Job(infer),
    "load index": Job(load_index),
    "check manifest": Job(check_manifest),
    "batches in order": batches(),
    "batches shuffled": batches(shuffle=True),
    "batches by blocks": batches(shuffle="blocks"),
    "batches through a buffer": batches(shuffle=64),
    "batches interleaved": batches(interleave=2),
    "batches of gzip": batches(names=["c.gz"]),
    "batches of gzip shuffled": batches(names=["c.gz", "d.zlib"], shuffle=64),
    "batches skipping": batches(names=["a.tfrecord"], on_error="skip"),
    "write": writing("new.rec"),
    "overwrite": writing("a.tfrecord", overwrite=True),
    "write exclusively": writing("new.rec", overwrite=False),
    "write gzip": writing("new.gz", compression="GZIP"),
    "write checked": writing("new.rec", verify_after_write=True),
    "write gzip checked": writing("new.gz", compression="GZIP", verify_after_write=True),
    "write shards": writing("old.rec", shards=3, overwrite=True),
    "write shards with index": writing("old.rec", shards=3, index=True, overwrite=True),
    "write rolling shards": writing("rolling.rec", shard_records=40),
    "write with index": writing("a.tfrecord", index=True, overwrite=True),
    "append": writing("a.tfrecord", append=True),
    "append to nothing": writing("new.rec", append=True),
    "append to gzip": writing("c.gz", append=True, compression="GZIP"),
    "repair": Job(repair, writes=True),
    "repair in place": Job(repair_in_place, writes=True),
    "build index": Job(build_index, writes=True),
    "build manifest": Job(build_manifest, writes=True),
    "fastrec verify": command("verify", "@a.tfrecord", "@c.gz"),
    "fastrec count": command("count", "@[ab].tfrecord"),
    "fastrec schema": command("schema", "@a.tfrecord"),
    "fastrec repair": command("repair", "@damaged.rec", writes=True),
}
